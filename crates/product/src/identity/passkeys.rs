//! Passkeys (WebAuthn): adding one to an account, and sign-in with one. In: answers of browsers as JSON, and the origin at
//! which people reach this server; out: options for browsers as JSON, a stored passkey, or a session's secret.
//!
//! A challenge is kept in the store, so that any replica can judge the answer, under the hash of what the answer has to
//! come with: the session (adding) or a cookie (sign-in). It is deleted before it is judged and works once.

use super::links::refused;
use super::profile::own;
use super::sign_in::{SignInError, person};
use super::{Client, Identity};
use crate::unavailable;
use accounts::{Secret, SecretKind, ThrottleRule, random_id};
use data_encoding::{BASE64URL_NOPAD, HEXLOWER};
use jiff::SignedDuration;
use model::account::{PasskeyInfo, SignInMethod, UserId};
use model::ids::Caller;
use serde::{Deserialize, Serialize};
use serde_json::json;
use service::{ApiError, ApiResult};
use webauthn_rs::prelude::{
    CredentialID, DiscoverableAuthentication, Passkey, PasskeyRegistration, PublicKeyCredential,
    RegisterPublicKeyCredential, Url, Uuid, Webauthn, WebauthnBuilder, WebauthnError,
};

/// How long a person has to answer their browser.
const PATIENCE: SignedDuration = SignedDuration::from_mins(5);
/// Passkeys of one account at most.
const PASSKEYS_MAX: usize = 20;
/// Longest name, characters.
const NAME_MAX: usize = 60;

/// What is kept until the browser answers.
#[derive(Serialize, Deserialize)]
struct Challenge<T> {
    /// The origin it was made for.
    site: String,
    state: T,
}

/// The relying party of an origin.
fn relying_party(site: &str) -> ApiResult<(Webauthn, String)> {
    let wrong = || {
        ApiError::invalid(
            "Passkeys need a host name: open Domainscope by its name over HTTPS (or as localhost), not by an IP address.",
        )
    };
    let url: Url = site.parse().map_err(|_| wrong())?;
    let host = url.domain().ok_or_else(wrong)?;
    let party = WebauthnBuilder::new(host, &url).map_err(|_| wrong())?.rp_name("Domainscope");
    Ok((party.build().map_err(|_| wrong())?, url.origin().ascii_serialization()))
}

fn sha256(text: &str) -> Vec<u8> {
    ring::digest::digest(&ring::digest::SHA256, text.as_bytes()).as_ref().to_vec()
}

/// What an authenticator knows an account by: a hash, so that it stores nothing of a person.
fn handle(user: &UserId) -> Uuid {
    let hash = sha256(&format!("passkey handle {user}"));
    Uuid::from_slice(&hash[..16]).unwrap_or_default()
}

/// The challenge of a session that adds a passkey.
fn key_of_session(session: &str) -> String {
    HEXLOWER.encode(&sha256(&format!("passkey of session {session}")))
}

fn session(caller: &Caller) -> ApiResult<&str> {
    let words = "Passkeys belong to a person who signed in: this visit has no session.";
    caller.session.as_deref().ok_or_else(|| ApiError::invalid(words))
}

fn rejected(e: &WebauthnError) -> ApiError {
    tracing::info!(error = %e, "a passkey was refused");
    ApiError::invalid("The passkey was not accepted. Start again on this page.")
}

fn shown(stored: store::Passkey) -> PasskeyInfo {
    PasskeyInfo {
        id: stored.id,
        name: stored.name,
        created_at: stored.created_at,
        last_used_at: stored.last_used_at,
    }
}

impl Identity {
    pub(crate) async fn passkeys(&self, user: &UserId) -> ApiResult<Vec<PasskeyInfo>> {
        let all = self.store.passkeys(user).await.map_err(unavailable)?;
        Ok(all.into_iter().map(shown).collect())
    }

    /// Options for `navigator.credentials.create`, once the password is right.
    pub(crate) async fn begin_passkey(
        &self,
        caller: &Caller,
        password: &str,
        site: &str,
    ) -> ApiResult<String> {
        let (user, session) = (own(caller)?, session(caller)?);
        let (party, origin) = relying_party(site)?;
        let found = self.confirm(user, password).await.map_err(|e| refused(&e))?;
        let stored = self.store.passkeys(user).await.map_err(unavailable)?;
        if stored.len() >= PASSKEYS_MAX {
            let words = format!("An account has {PASSKEYS_MAX} passkeys at most: remove one first.");
            return Err(ApiError::invalid(words));
        }
        // An authenticator that has one of these already is refused by the browser.
        let known: Vec<CredentialID> =
            stored.iter().filter_map(|p| BASE64URL_NOPAD.decode(p.credential.as_bytes()).ok()).collect();
        let (options, state) = party
            .start_passkey_registration(handle(user), &found.user.email, &found.user.name, Some(known))
            .map_err(|e| rejected(&e))?;
        self.keep_passkey_challenge(&key_of_session(session), Challenge { site: origin, state }).await?;
        let mut options = serde_json::to_value(options).map_err(|_| ApiError::internal())?;
        // Sign-in names no account: the authenticator has to find the passkey by itself.
        options["publicKey"]["authenticatorSelection"]["residentKey"] = json!("required");
        options["publicKey"]["authenticatorSelection"]["requireResidentKey"] = json!(true);
        Ok(options.to_string())
    }

    /// Stores the passkey that a browser made for the challenge of this session.
    pub(crate) async fn finish_passkey(
        &self,
        caller: &Caller,
        name: &str,
        answer: &str,
        site: &str,
    ) -> ApiResult<PasskeyInfo> {
        let (user, session) = (own(caller)?, session(caller)?);
        let (party, origin) = relying_party(site)?;
        let name = name.trim();
        if name.is_empty() || name.chars().count() > NAME_MAX {
            return Err(ApiError::invalid(format!("A passkey needs a name of 1 to {NAME_MAX} characters.")));
        }
        let expired = || ApiError::invalid("This took too long, or was answered already. Start again.");
        let challenge: Challenge<PasskeyRegistration> =
            self.take_passkey_challenge(&key_of_session(session)).await?.ok_or_else(expired)?;
        let answer: RegisterPublicKeyCredential = serde_json::from_str(answer)
            .map_err(|_| ApiError::invalid("The answer of the browser can't be read."))?;
        if challenge.site != origin {
            return Err(expired());
        }
        let made = party.finish_passkey_registration(&answer, &challenge.state).map_err(|e| rejected(&e))?;
        let new = store::Passkey {
            id: random_id(),
            user: user.clone(),
            credential: BASE64URL_NOPAD.encode(made.cred_id()),
            site: origin,
            name: name.to_string(),
            data: serde_json::to_string(&made).map_err(|_| ApiError::internal())?,
            created_at: self.now(),
            last_used_at: None,
        };
        let log = self.entry(caller, "account.passkey_add", &caller.who, Some(name.into()));
        if !self.store.add_passkey(&new, Some(&log)).await.map_err(unavailable)? {
            return Err(ApiError::invalid("This passkey belongs to an account already."));
        }
        Ok(shown(new))
    }

    pub(crate) async fn remove_passkey(&self, caller: &Caller, id: &str) -> ApiResult<()> {
        let user = own(caller)?;
        let log = self.entry(caller, "account.passkey_remove", &caller.who, None);
        match self.store.remove_passkey(user, id, Some(&log)).await.map_err(unavailable)? {
            true => Ok(()),
            false => Err(ApiError::not_found("This passkey was removed already.")),
        }
    }

    /// Options for `navigator.credentials.get`, and the secret that the answer has to come with.
    ///
    /// # Errors
    /// When the origin can't have passkeys, or too many challenges are open.
    pub async fn begin_passkey_sign_in(&self, site: &str) -> ApiResult<(Secret, String)> {
        let (party, origin) = relying_party(site)?;
        let (options, state) = party.start_discoverable_authentication().map_err(|e| rejected(&e))?;
        let secret = Secret::generate(SecretKind::OneTimeLink);
        self.keep_passkey_challenge(secret.hash().as_str(), Challenge { site: origin, state }).await?;
        let mut options = serde_json::to_value(options).map_err(|_| ApiError::internal())?;
        // A person pressed a button: the browser asks at once instead of waiting for a field to be filled.
        if let Some(options) = options.as_object_mut() {
            options.remove("mediation");
        }
        Ok((secret, options.to_string()))
    }

    /// Signs in the owner of a passkey; the secret of the new session. User verification makes it two factors.
    ///
    /// # Errors
    /// Says what to do; never whether an account or a passkey exists.
    pub async fn passkey_sign_in(
        &self,
        secret: &str,
        answer: &str,
        site: &str,
        client: &Client,
    ) -> Result<Secret, SignInError> {
        let address = client.prefix.as_ref().map(|prefix| format!("passkey:{prefix}"));
        if let Some(key) = &address {
            self.count_attempt(&[(key, ThrottleRule::ADDRESS)]).await?;
        }
        let (party, origin) = relying_party(site).map_err(|_| SignInError::WrongPasskey)?;
        let secret = Secret::read(SecretKind::OneTimeLink, secret).ok_or(SignInError::WrongPasskey)?;
        let challenge: Challenge<DiscoverableAuthentication> = self
            .take_passkey_challenge(secret.hash().as_str())
            .await
            .map_err(|_| SignInError::Unavailable)?
            .ok_or(SignInError::WrongPasskey)?;
        let answer: PublicKeyCredential =
            serde_json::from_str(answer).map_err(|_| SignInError::WrongPasskey)?;
        let (claimed, id) =
            party.identify_discoverable_authentication(&answer).map_err(|_| SignInError::WrongPasskey)?;
        let stored = self.store.passkey(&BASE64URL_NOPAD.encode(id)).await?;
        let is_of_here =
            |p: &store::Passkey| handle(&p.user) == claimed && p.site == origin && challenge.site == origin;
        let stored = stored.filter(is_of_here).ok_or(SignInError::WrongPasskey)?;
        let mut key: Passkey = serde_json::from_str(&stored.data).map_err(|e| {
            tracing::error!(error = %e, "a stored passkey can't be read");
            SignInError::Unavailable
        })?;
        let result =
            party.finish_discoverable_authentication_v2(&answer, challenge.state, &key).map_err(|e| {
                tracing::info!(error = %e, "a passkey was refused");
                SignInError::WrongPasskey
            })?;
        if !result.user_verified() {
            return Err(SignInError::WrongPasskey);
        }
        key.update_credential(&result);
        let data = serde_json::to_string(&key).map_err(|_| SignInError::Unavailable)?;
        // Removed meanwhile: it no longer signs in.
        if !self.store.passkey_used(&stored.id, &data, self.now()).await? {
            return Err(SignInError::WrongPasskey);
        }
        if let Some(key) = &address {
            self.store.clear_failures(key).await?;
        }
        let found = self.store.credentials_of(&stored.user).await?.ok_or(SignInError::WrongPasskey)?;
        let memberships = self.store.memberships(&stored.user).await?;
        let Some(first) = memberships.first() else { return Err(SignInError::NoOrganisation) };
        let who = person(&stored.user, &found.user.name, (first.org, first.role), client);
        let words = format!("{} “{}”", SignInMethod::Passkey.as_str(), stored.name);
        let log = self.entry(&who, "session.sign_in", &found.user.email, Some(words));
        self.begin_session(&stored.user, first.org, client, SignInMethod::Passkey, Some(&log))
            .await
            .map_err(|_| SignInError::Unavailable)
    }

    async fn keep_passkey_challenge<T: Serialize>(
        &self,
        hash: &str,
        challenge: Challenge<T>,
    ) -> ApiResult<()> {
        let state = serde_json::to_string(&challenge).map_err(|_| ApiError::internal())?;
        let now = self.now();
        if self.store.keep_challenge(hash, &state, now + PATIENCE, now).await.map_err(unavailable)? {
            return Ok(());
        }
        Err(ApiError::unavailable("Too many sign-ins have begun at this moment. Try again in a few minutes."))
    }

    async fn take_passkey_challenge<T: for<'de> Deserialize<'de>>(
        &self,
        hash: &str,
    ) -> ApiResult<Option<Challenge<T>>> {
        let state = self.store.take_challenge(hash, self.now()).await.map_err(unavailable)?;
        Ok(state.and_then(|state| serde_json::from_str(&state).ok()))
    }
}
