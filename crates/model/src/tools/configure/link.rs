//! A link to the page on which a person without an account sets a service up on their domain.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// How long a link works at most, in days.
pub const MAX_LINK_DAYS: u32 = 90;
/// Longest name of a brand, in characters.
pub const MAX_BRAND: usize = 60;

/// What a link leads to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectLink {
    /// The service that is set up.
    pub service: String,
    /// Its domain, A-labels.
    pub domain: String,
    /// In whose name the page speaks (`Northlake Shops`).
    pub brand: String,
    /// Accent colour of the page, `#rrggbb`; empty: ours.
    #[serde(default)]
    pub accent: String,
    /// Address of help: a mailbox or an https URL; empty: none.
    #[serde(default)]
    pub help: String,
    /// From then on the link does not work.
    pub expires_at: Timestamp,
}

impl ConnectLink {
    /// Checks the parts that are shown.
    ///
    /// # Errors
    /// A sentence that names the part and the rule.
    pub fn check(&self) -> Result<(), String> {
        let brand = self.brand.trim();
        if brand.is_empty() || brand.chars().count() > MAX_BRAND || brand.chars().any(char::is_control) {
            return Err(format!("brand must have 1 to {MAX_BRAND} characters."));
        }
        let accent = self.accent.strip_prefix('#').unwrap_or("-");
        let is_colour = accent.len() == 6 && accent.bytes().all(|b| b.is_ascii_hexdigit());
        if !self.accent.is_empty() && !is_colour {
            return Err(format!("accent is “{}”; it must be a colour like #1f6feb.", self.accent));
        }
        let is_url = self.help.starts_with("https://");
        let is_mail = self.help.contains('@') && !self.help.contains([' ', ':', '/']);
        if !self.help.is_empty() && !is_url && !is_mail || self.help.len() > 200 {
            return Err("help must be a mailbox or an https address.".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_customer_sees_is_checked() {
        let link = |brand: &str, accent: &str, help: &str| ConnectLink {
            service: "1".into(),
            domain: "a.example".into(),
            brand: brand.into(),
            accent: accent.into(),
            help: help.into(),
            expires_at: "2026-11-27T00:00:00Z".parse().unwrap(),
        };
        assert_eq!(link("Northlake", "#1f6feb", "help@northlake.example").check(), Ok(()));
        assert_eq!(link("Northlake", "", "https://northlake.example/help").check(), Ok(()));
        for (bad, word) in [
            (link("", "", ""), "brand"),
            (link("N", "red;}", ""), "accent"),
            (link("N", "#12345", ""), "accent"),
            (link("N", "", "javascript:alert(1)"), "help"),
        ] {
            assert!(bad.check().unwrap_err().contains(word), "{bad:?}");
        }
    }
}
