//! Which names can be claimed and what a proof covers, by the Public Suffix List.

use super::Method;
use serde::{Deserialize, Serialize};

/// What a proof for a name covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The name and everything below it, inside the same organisation.
    NameAndBelow,
    /// The name alone: a suffix under which others have names of their own, or a proof for one host.
    NameOnly,
}

/// Why a name can't be claimed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(tag = "rule", rename_all = "snake_case")]
pub enum ClaimRefusal {
    /// A suffix of the ICANN section: registries operate it, no organisation owns it.
    #[error("“{name}” is a public suffix run by a registry: claim a name registered below it")]
    RegistrySuffix {
        /// The suffix.
        name: String,
    },
    /// A suffix of the private section, by something other than DNS.
    #[error(
        "“{name}” is a suffix with other people's names below it: it can be claimed by a DNS record only"
    )]
    SuffixNeedsDns {
        /// The suffix.
        name: String,
    },
}

/// Whether `name` (A-labels, lower case) can be claimed by a method, and what the proof then covers.
///
/// # Errors
/// Says which rule refuses it.
pub fn claimable(name: &str, method: Method) -> Result<Scope, ClaimRefusal> {
    let suffix = psl::suffix(name.as_bytes());
    let is_suffix = suffix.is_some_and(|s| s.as_bytes() == name.as_bytes());
    let is_private = suffix.is_some_and(|s| s.typ() == Some(psl::Type::Private));
    match (is_suffix, is_private, method.is_dns()) {
        (true, false, _) => Err(ClaimRefusal::RegistrySuffix { name: name.to_string() }),
        (true, true, false) => Err(ClaimRefusal::SuffixNeedsDns { name: name.to_string() }),
        (true, true, true) | (false, _, false) => Ok(Scope::NameOnly),
        (false, _, true) => Ok(Scope::NameAndBelow),
    }
}

/// The proven name, among those of one organisation, that covers `name`: itself, or the nearest one above it whose
/// proof covers what is below. Never one below it.
pub fn covering<'a>(proven: &'a [(String, Method)], name: &str) -> Option<&'a str> {
    proven
        .iter()
        .filter(|(held, method)| match claimable(held, *method) {
            Ok(Scope::NameOnly) => held == name,
            Ok(Scope::NameAndBelow) => {
                (held == name || name.strip_suffix(held.as_str()).is_some_and(|rest| rest.ends_with('.')))
                    && !stands_alone(held, name)
            }
            Err(_) => false,
        })
        .map(|(held, _)| held.as_str())
        .max_by_key(|held| held.len())
}

/// True when a suffix of the private section lies between the two: names below it stand on their own.
fn stands_alone(held: &str, name: &str) -> bool {
    psl::suffix(name.as_bytes()).is_some_and(|suffix| suffix.as_bytes().len() > held.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_of_registries_are_nobodys() {
        for name in ["com", "co.uk", "jp"] {
            assert!(
                matches!(claimable(name, Method::Txt), Err(ClaimRefusal::RegistrySuffix { .. })),
                "{name}"
            );
        }
    }

    #[test]
    fn a_private_suffix_is_claimed_by_dns_and_covers_itself_only() {
        assert_eq!(claimable("github.io", Method::Txt), Ok(Scope::NameOnly));
        assert!(matches!(claimable("github.io", Method::Http), Err(ClaimRefusal::SuffixNeedsDns { .. })));
        let proven = [("github.io".to_string(), Method::Txt)];
        assert_eq!(covering(&proven, "github.io"), Some("github.io"));
        assert_eq!(covering(&proven, "me.github.io"), None);
    }

    #[test]
    fn a_proof_covers_what_is_below_and_never_what_is_above() {
        let proven =
            [("shop.example.com".to_string(), Method::Txt), ("example.com".to_string(), Method::Txt)];
        assert_eq!(covering(&proven, "a.b.example.com"), Some("example.com"));
        assert_eq!(covering(&proven, "x.shop.example.com"), Some("shop.example.com"));
        assert_eq!(covering(&proven[..1], "example.com"), None);
        assert_eq!(covering(&proven, "badexample.com"), None);
    }

    #[test]
    fn a_file_on_a_web_server_proves_that_host_only() {
        let proven = [("example.com".to_string(), Method::Http)];
        assert_eq!(covering(&proven, "example.com"), Some("example.com"));
        assert_eq!(covering(&proven, "www.example.com"), None);
    }

    #[test]
    fn names_below_a_private_suffix_stand_on_their_own() {
        let proven = [("amazonaws.com".to_string(), Method::Txt)];
        assert_eq!(covering(&proven, "bucket.s3.amazonaws.com"), None);
    }
}
