//! Passkeys with an authenticator of our own: what is accepted once, and what never is.

use super::*;
use data_encoding::BASE64URL_NOPAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};

const SITE: &str = "https://scope.example";
const VERIFIED: u8 = 0x05;
const PRESENT_ONLY: u8 = 0x01;
const WITH_KEY: u8 = 0x40;

fn sha256(bytes: &[u8]) -> Vec<u8> {
    ring::digest::digest(&ring::digest::SHA256, bytes).as_ref().to_vec()
}

fn base64(bytes: &[u8]) -> String {
    BASE64URL_NOPAD.encode(bytes)
}

/// An authenticator with one key (ES256) and the browser around it.
struct Authenticator {
    key: EcdsaKeyPair,
    id: Vec<u8>,
    handle: String,
    counter: u32,
}

impl Authenticator {
    fn new(id: u8) -> Self {
        let random = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).unwrap();
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, pkcs8.as_ref(), &random).unwrap();
        Authenticator { key, id: vec![id; 16], handle: String::new(), counter: 0 }
    }

    /// Authenticator data (WebAuthn section 6.1) for a host.
    fn data(&mut self, host: &str, flags: u8) -> Vec<u8> {
        self.counter += 1;
        let mut data = sha256(host.as_bytes());
        data.push(flags);
        data.extend(self.counter.to_be_bytes());
        if flags & WITH_KEY != 0 {
            data.extend([0; 16]);
            data.extend(u16::try_from(self.id.len()).unwrap().to_be_bytes());
            data.extend(&self.id);
            // COSE_Key: EC2, ES256, P-256.
            let point = self.key.public_key().as_ref();
            data.extend([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20]);
            data.extend(&point[1..33]);
            data.extend([0x22, 0x58, 0x20]);
            data.extend(&point[33..]);
        }
        data
    }

    /// The answer to `navigator.credentials.create`.
    fn create(&mut self, options: &str, origin: &str) -> String {
        let options: Value = serde_json::from_str(options).unwrap();
        let options = &options["publicKey"];
        assert_eq!(options["authenticatorSelection"]["residentKey"], "required");
        assert_eq!(options["authenticatorSelection"]["userVerification"], "required");
        self.handle = options["user"]["id"].as_str().unwrap().to_string();
        let data = self.data(options["rp"]["id"].as_str().unwrap(), VERIFIED | WITH_KEY);
        let mut object = vec![0xa3, 0x63];
        object.extend(b"fmt\x64none\x67attStmt\xa0\x68authData\x58");
        object.push(u8::try_from(data.len()).unwrap());
        object.extend(data);
        let client = client_data("webauthn.create", &options["challenge"], origin);
        json!({
            "id": base64(&self.id), "rawId": base64(&self.id), "type": "public-key",
            "response": { "attestationObject": base64(&object), "clientDataJSON": base64(client.as_bytes()) },
            "clientExtensionResults": {},
        })
        .to_string()
    }

    /// The answer to `navigator.credentials.get`.
    fn get(&mut self, options: &str, origin: &str, flags: u8) -> String {
        let options: Value = serde_json::from_str(options).unwrap();
        let options = &options["publicKey"];
        let data = self.data(options["rpId"].as_str().unwrap(), flags);
        let client = client_data("webauthn.get", &options["challenge"], origin);
        let mut signed = data.clone();
        signed.extend(sha256(client.as_bytes()));
        let signature = self.key.sign(&SystemRandom::new(), &signed).unwrap();
        json!({
            "id": base64(&self.id), "rawId": base64(&self.id), "type": "public-key",
            "response": {
                "authenticatorData": base64(&data), "clientDataJSON": base64(client.as_bytes()),
                "signature": base64(signature.as_ref()), "userHandle": self.handle,
            },
            "clientExtensionResults": {},
        })
        .to_string()
    }
}

fn client_data(kind: &str, challenge: &Value, origin: &str) -> String {
    json!({ "type": kind, "challenge": challenge, "origin": origin, "crossOrigin": false }).to_string()
}

impl Place {
    /// Ada with a passkey.
    async fn with_passkey(&self) -> (Caller, Authenticator) {
        let session = self.set_up().await;
        let caller = self.caller(&session).await.unwrap();
        let mut key = Authenticator::new(1);
        let options = self.identity.begin_passkey(&caller, PASSWORD, SITE).await.unwrap();
        let answer = key.create(&options, SITE);
        self.identity.finish_passkey(&caller, " Laptop ", &answer, SITE).await.unwrap();
        (caller, key)
    }

    async fn sign_in_with(&self, secret: &Secret, answer: &str) -> Result<Secret, SignInError> {
        self.identity.passkey_sign_in(secret.expose(), answer, SITE, &client()).await
    }
}

#[tokio::test]
async fn a_passkey_signs_in_without_password_and_code() {
    let place = Place::new().await;
    let (caller, mut key) = place.with_passkey().await;
    let user = caller.user.clone().unwrap();
    let (secret, options) = place.identity.begin_passkey_sign_in(SITE).await.unwrap();
    let answer = key.get(&options, SITE, VERIFIED);
    let session = place.sign_in_with(&secret, &answer).await.unwrap();
    let signed_in = place.caller(&session).await.unwrap();
    assert_eq!((signed_in.user.as_ref(), signed_in.org), (Some(&user), caller.org));
    let sessions = place.store.sessions(&user, signed_in.session.as_deref().unwrap()).await.unwrap();
    let own = sessions.iter().find(|s| s.is_current).unwrap();
    assert_eq!(own.method, SignInMethod::Passkey);
    let listed = place.identity.passkeys(&user).await.unwrap();
    assert_eq!((listed[0].name.as_str(), listed[0].last_used_at.is_some()), ("Laptop", true));
    // The same answer again, with its cookie: the challenge is used up.
    assert_eq!(place.sign_in_with(&secret, &answer).await.unwrap_err(), SignInError::WrongPasskey);
    let log =
        place.store.audit_log(caller.org, &AuditQuery { limit: 50, ..AuditQuery::default() }).await.unwrap();
    let actions: Vec<_> =
        log.entries.iter().map(|e| (e.action.as_str(), e.new.as_deref().unwrap_or_default())).collect();
    assert!(actions.contains(&("account.passkey_add", "Laptop")), "{actions:?}");
    assert!(actions.contains(&("session.sign_in", "passkey “Laptop”")), "{actions:?}");
}

#[tokio::test]
async fn an_answer_for_another_site_challenge_or_moment_is_refused() {
    let place = Place::new().await;
    let (caller, mut key) = place.with_passkey().await;
    let begin = || place.identity.begin_passkey_sign_in(SITE);
    let wrong = Err(SignInError::WrongPasskey);
    // The browser was on another site, which passes the challenge on.
    for origin in [
        "https://evil.example",
        "http://scope.example",
        "https://a.scope.example",
        "https://scope.example:8443",
    ] {
        let (secret, options) = begin().await.unwrap();
        let answer = key.get(&options, origin, VERIFIED);
        assert_eq!(place.sign_in_with(&secret, &answer).await.map(drop), wrong, "{origin}");
    }
    // The cookie of one visitor with the answer of another.
    let (first, options) = begin().await.unwrap();
    let (second, _) = begin().await.unwrap();
    let answer = key.get(&options, SITE, VERIFIED);
    assert_eq!(place.sign_in_with(&second, &answer).await.map(drop), wrong);
    assert!(place.sign_in_with(&first, &answer).await.is_ok(), "the right cookie still works");
    // Presence without user verification would be one factor.
    let (secret, options) = begin().await.unwrap();
    let answer = key.get(&options, SITE, PRESENT_ONLY);
    assert_eq!(place.sign_in_with(&secret, &answer).await.map(drop), wrong);
    // Too late.
    let (secret, options) = begin().await.unwrap();
    let answer = key.get(&options, SITE, VERIFIED);
    place.pass(SignedDuration::from_mins(6));
    assert_eq!(place.sign_in_with(&secret, &answer).await.map(drop), wrong);
    // A signature by another key under the same identifier, and a counter that went back: a copy.
    let mut forger = Authenticator { handle: key.handle.clone(), counter: 1000, ..Authenticator::new(1) };
    let (secret, options) = begin().await.unwrap();
    let answer = forger.get(&options, SITE, VERIFIED);
    assert_eq!(place.sign_in_with(&secret, &answer).await.map(drop), wrong);
    key.counter = 0;
    let (secret, options) = begin().await.unwrap();
    let answer = key.get(&options, SITE, VERIFIED);
    assert_eq!(place.sign_in_with(&secret, &answer).await.map(drop), wrong);
    // Adding one: a wrong password, a wrong origin, an answer that comes twice.
    assert!(place.identity.begin_passkey(&caller, "wrong", SITE).await.is_err());
    let mut other = Authenticator::new(2);
    let options = place.identity.begin_passkey(&caller, PASSWORD, SITE).await.unwrap();
    let answer = other.create(&options, "https://evil.example");
    assert!(place.identity.finish_passkey(&caller, "x", &answer, SITE).await.is_err());
    let options = place.identity.begin_passkey(&caller, PASSWORD, SITE).await.unwrap();
    let answer = other.create(&options, SITE);
    assert!(place.identity.finish_passkey(&caller, "x", &answer, SITE).await.is_ok());
    assert!(place.identity.finish_passkey(&caller, "x", &answer, SITE).await.is_err());
    assert!(place.identity.begin_passkey(&caller, PASSWORD, "https://192.0.2.1").await.is_err());
}

#[tokio::test]
async fn a_removed_passkey_and_one_of_another_account_do_not_sign_in() {
    let place = Place::new().await;
    let (caller, mut key) = place.with_passkey().await;
    let user = caller.user.clone().unwrap();
    let id = place.identity.passkeys(&user).await.unwrap()[0].id.clone();
    // Another person: can't remove it, can't add the same one, and their handle does not open Ada's account.
    let ben = place.identity.ensure_person("ben@birch.example", "Ben").await.unwrap();
    place.store.add_member(caller.org, &ben, Role::Viewer, place.clock.now(), None).await.unwrap();
    let stranger = Caller { user: Some(ben.clone()), session: Some("other".into()), ..caller.clone() };
    assert!(place.identity.remove_passkey(&stranger, &id).await.is_err());
    let (secret, options) = place.identity.begin_passkey_sign_in(SITE).await.unwrap();
    let own = std::mem::replace(&mut key.handle, base64(&[7; 16]));
    let answer = key.get(&options, SITE, VERIFIED);
    assert_eq!(place.sign_in_with(&secret, &answer).await.unwrap_err(), SignInError::WrongPasskey);
    key.handle = own;
    // The answer to one session's challenge is not taken from another session.
    let options = place.identity.begin_passkey(&caller, PASSWORD, SITE).await.unwrap();
    let answer = Authenticator::new(3).create(&options, SITE);
    assert!(place.identity.finish_passkey(&stranger, "mine", &answer, SITE).await.is_err());
    assert!(place.identity.passkeys(&ben).await.unwrap().is_empty());

    let (secret, options) = place.identity.begin_passkey_sign_in(SITE).await.unwrap();
    let answer = key.get(&options, SITE, VERIFIED);
    place.identity.remove_passkey(&caller, &id).await.unwrap();
    assert_eq!(place.sign_in_with(&secret, &answer).await.unwrap_err(), SignInError::WrongPasskey);
    assert!(place.identity.remove_passkey(&caller, &id).await.is_err(), "removed already");
    let log =
        place.store.audit_log(caller.org, &AuditQuery { limit: 50, ..AuditQuery::default() }).await.unwrap();
    let removed = log.entries.iter().find(|e| e.action == "account.passkey_remove").unwrap();
    assert_eq!(removed.old.as_deref(), Some("Laptop"));
}
