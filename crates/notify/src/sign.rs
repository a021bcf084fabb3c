//! Signatures of webhooks after the Standard Webhooks specification: HMAC-SHA256 over `id.timestamp.body`.

use data_encoding::BASE64;
use jiff::Timestamp;
use ring::hmac;

/// What a signing secret begins with.
const PREFIX: &str = "whsec_";
/// Octets of a new secret; the specification asks for 24 to 64.
const OCTETS: usize = 32;

/// A new signing secret of these random octets.
pub fn new_secret(random: [u8; OCTETS]) -> String {
    format!("{PREFIX}{}", BASE64.encode(&random))
}

/// The value of the `webhook-signature` field; `None` when the secret is not `whsec_` and base64.
pub fn signature(secret: &str, id: &str, at: Timestamp, body: &[u8]) -> Option<String> {
    let key = BASE64.decode(secret.strip_prefix(PREFIX)?.as_bytes()).ok()?;
    let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
    let mut signed = hmac::Context::with_key(&key);
    signed.update(format!("{id}.{}.", at.as_second()).as_bytes());
    signed.update(body);
    Some(format!("v1,{}", BASE64.encode(signed.sign().as_ref())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_specification() {
        // From the reference implementation of the specification.
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let at = Timestamp::from_second(1_614_265_330).unwrap();
        let made = signature(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", at, br#"{"test": 2432232314}"#);
        assert_eq!(made.as_deref(), Some("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="));
        assert_eq!(signature("secret", "m", at, b""), None);
        assert!(signature(&new_secret([7; 32]), "m", at, b"").is_some());
    }
}
