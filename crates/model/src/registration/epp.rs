//! EPP status codes (RFC 5731, RFC 3915) and what they mean to an owner. The table is `data/epp.toml`.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::LazyLock;

/// A status code of a domain in EPP's camelCase. Codes outside the table are kept as the source wrote them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EppStatus(String);

impl EppStatus {
    /// Reads any usual spelling (`Client Transfer Prohibited`, `client_transfer_prohibited`, the RDAP words of
    /// RFC 8056, `active`) into the EPP code; an unknown word is kept, trimmed.
    pub fn new(word: &str) -> Self {
        let folded: String =
            word.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
        TABLE
            .status
            .iter()
            .find(|s| s.code.eq_ignore_ascii_case(&folded) || s.alias.contains(&folded))
            .map_or_else(|| EppStatus(word.trim().to_string()), |s| EppStatus(s.code.clone()))
    }

    /// The code.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What the code means, from the table; `None` for codes of a registry's own.
    pub fn explained(&self) -> Option<&'static StatusMeaning> {
        TABLE.status.iter().find(|s| s.code == self.0)
    }
}

impl fmt::Display for EppStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for EppStatus {
    fn from(s: &str) -> Self {
        EppStatus::new(s)
    }
}

/// A row of the table of status codes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatusMeaning {
    /// EPP code.
    pub code: String,
    /// Who sets it: `registrar` or `registry`.
    pub set_by: String,
    /// One sentence: what it means for the owner.
    pub means: String,
    /// What to do about it; empty when nothing is needed.
    #[serde(default)]
    pub todo: String,
    /// Other spellings: lower case, letters and digits only (RFC 8056 words and registries' own).
    #[serde(default)]
    pub alias: Vec<String>,
    /// Where this row comes from.
    pub source: String,
}

#[derive(Deserialize)]
struct Table {
    status: Vec<StatusMeaning>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    serde_json::from_slice(include_bytes!(concat!(env!("OUT_DIR"), "/epp.json")))
        .expect("data/epp.toml is checked by a test")
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_loads_and_is_complete() {
        assert!(TABLE.status.len() >= 22);
        for s in &TABLE.status {
            assert!(!s.means.is_empty() && !s.source.is_empty(), "{}", s.code);
            assert!(matches!(s.set_by.as_str(), "registrar" | "registry"), "{}", s.code);
        }
    }

    #[test]
    fn spellings_fold_to_the_code() {
        for (w, code) in [
            ("client transfer prohibited", "clientTransferProhibited"),
            ("CLIENT-HOLD", "clientHold"),
            ("active", "ok"),
            ("auto renew period", "autoRenewPeriod"),
            ("Registry Special Lock", "Registry Special Lock"),
        ] {
            assert_eq!(EppStatus::new(w).as_str(), code);
        }
    }
}
