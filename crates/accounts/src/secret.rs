//! Opaque secrets: 256 random bits in base64url behind a prefix that says what they are, so that a scanner of leaked
//! secrets recognises them. Only the SHA-256 of one is stored: with 256 random bits a slow hash adds nothing.

use data_encoding::{BASE32_NOPAD, BASE64URL_NOPAD, HEXLOWER};
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Random octets of a secret.
pub const OCTETS: usize = 32;

/// An identifier that can't be guessed, which is still no secret and no authorisation: 128 random bits in lower-case
/// base32.
pub fn random_id() -> String {
    BASE32_NOPAD.encode(&rand::random::<[u8; 16]>()).to_lowercase()
}

/// What a secret is for. One kind is never accepted in place of another: the prefix is part of what is hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SecretKind {
    /// A session of a browser.
    Session,
    /// An API token.
    ApiToken,
    /// An invitation to an organisation.
    Invitation,
    /// The link of the first start, or one to set a new password.
    OneTimeLink,
    /// The address of a calendar or feed.
    Feed,
    /// The link of a customer page.
    ConnectLink,
    /// The token with which a point of presence joins.
    AgentJoin,
}

impl SecretKind {
    /// Every kind.
    pub const ALL: [SecretKind; 7] = [
        SecretKind::Session,
        SecretKind::ApiToken,
        SecretKind::Invitation,
        SecretKind::OneTimeLink,
        SecretKind::Feed,
        SecretKind::ConnectLink,
        SecretKind::AgentJoin,
    ];

    /// The prefix.
    pub fn prefix(self) -> &'static str {
        match self {
            SecretKind::Session => "dss_",
            SecretKind::ApiToken => "dst_",
            SecretKind::Invitation => "dsi_",
            SecretKind::OneTimeLink => "dsl_",
            SecretKind::Feed => "dsf_",
            SecretKind::ConnectLink => "dsc_",
            SecretKind::AgentJoin => "dsj_",
        }
    }
}

/// A secret in the clear: shown once, never logged (its `Debug` form hides it) and never stored.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// What is stored of a secret: the SHA-256 of its text, in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SecretHash(String);

impl Secret {
    /// A new secret from the system's random source.
    pub fn generate(kind: SecretKind) -> Secret {
        Secret::new(kind, rand::random())
    }

    /// The secret of given random octets.
    pub fn new(kind: SecretKind, random: [u8; OCTETS]) -> Secret {
        Secret(format!("{}{}", kind.prefix(), BASE64URL_NOPAD.encode(&random)))
    }

    /// Reads a secret of one kind that a client presented; `None` when it can't be one.
    pub fn read(kind: SecretKind, text: &str) -> Option<Secret> {
        let body = text.strip_prefix(kind.prefix())?;
        let octets = BASE64URL_NOPAD.decode(body.as_bytes()).ok()?;
        (octets.len() == OCTETS).then(|| Secret(text.to_string()))
    }

    /// The text, to be shown or sent to its owner.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// What is stored and looked up.
    pub fn hash(&self) -> SecretHash {
        SecretHash(HEXLOWER.encode(digest(&SHA256, self.0.as_bytes()).as_ref()))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(hidden)")
    }
}

impl SecretHash {
    /// Takes a hash from the store; no check is made.
    pub fn trusted(text: &str) -> Self {
        SecretHash(text.to_string())
    }

    /// The hexadecimal text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_read_back_as_its_own_kind_only() {
        for kind in SecretKind::ALL {
            let secret = Secret::new(kind, [7; OCTETS]);
            for other in SecretKind::ALL {
                assert_eq!(Secret::read(other, secret.expose()).is_some(), kind == other);
            }
        }
        for wrong in ["", "dss_", "dss_AAAA", "dss_!!!!", &format!("dss_{}", "A".repeat(500))] {
            assert_eq!(Secret::read(SecretKind::Session, wrong), None, "{wrong}");
        }
    }

    #[test]
    fn two_secrets_differ_and_none_is_printed() {
        let (a, b) = (Secret::generate(SecretKind::Session), Secret::generate(SecretKind::Session));
        assert_ne!(a.hash(), b.hash());
        assert!(!format!("{a:?}").contains(&a.expose()[4..]));
        assert_eq!(a.hash().as_str().len(), 64);
    }
}
