//! Ed25519 keys (RFC 8032) of servers and agents.

use data_encoding::BASE64URL_NOPAD;
use ring::rand::SystemRandom;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};

/// A key that can't be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the key is not an Ed25519 key (PKCS #8, base64url)")]
pub struct KeyError;

/// A key pair. Its `Debug` form shows the public half only.
pub struct KeyPair {
    pair: Ed25519KeyPair,
    pkcs8: Vec<u8>,
}

impl std::fmt::Debug for KeyPair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KeyPair({})", self.public())
    }
}

impl KeyPair {
    /// A new pair from the system's random source.
    ///
    /// # Errors
    /// When the system has no random source.
    pub fn generate() -> Result<Self, KeyError> {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).map_err(|_| KeyError)?;
        Self::of(document.as_ref().to_vec())
    }

    fn of(pkcs8: Vec<u8>) -> Result<Self, KeyError> {
        let pair = Ed25519KeyPair::from_pkcs8(&pkcs8).map_err(|_| KeyError)?;
        Ok(KeyPair { pair, pkcs8 })
    }

    /// Reads a pair that [`KeyPair::secret_text`] wrote.
    ///
    /// # Errors
    /// For anything else.
    pub fn read(text: &str) -> Result<Self, KeyError> {
        Self::of(BASE64URL_NOPAD.decode(text.trim().as_bytes()).map_err(|_| KeyError)?)
    }

    /// The private half, to be kept where only its owner reads it.
    pub fn secret_text(&self) -> String {
        BASE64URL_NOPAD.encode(&self.pkcs8)
    }

    /// The public half.
    pub fn public(&self) -> String {
        BASE64URL_NOPAD.encode(self.pair.public_key().as_ref())
    }

    /// Signs a text.
    pub fn sign(&self, text: &str) -> String {
        BASE64URL_NOPAD.encode(self.pair.sign(text.as_bytes()).as_ref())
    }
}

/// Whether a signature is that of the public key on the text.
pub fn verify(public: &str, text: &str, signature: &str) -> bool {
    let read = |t: &str| BASE64URL_NOPAD.decode(t.as_bytes()).ok();
    let (Some(key), Some(signature)) = (read(public), read(signature)) else { return false };
    UnparsedPublicKey::new(&ED25519, key).verify(text.as_bytes(), &signature).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_of_one_key_and_one_text() {
        let (a, b) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
        let again = KeyPair::read(&a.secret_text()).unwrap();
        let signature = again.sign("text");
        assert!(verify(&a.public(), "text", &signature));
        assert!(!verify(&a.public(), "other", &signature) && !verify(&b.public(), "text", &signature));
        assert!(!verify("", "text", &signature) && !verify(&a.public(), "text", "?"));
        assert!(KeyPair::read("x").is_err() && !format!("{a:?}").contains(&a.secret_text()));
    }
}
