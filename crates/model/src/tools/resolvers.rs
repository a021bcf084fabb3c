//! Public recursive resolvers: who runs them, what they filter, how they are asked. In: rows of a TOML table
//! (`[[resolver]]`). Out: [`PublicResolver`]. DoH is RFC 8484, DoT RFC 7858, client subnet (ECS) RFC 7871.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::net::IpAddr;

/// What a resolver leaves out on purpose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Filtering {
    /// Answers as the authoritative servers do.
    #[default]
    None,
    /// Blocks names of malware and phishing.
    Malware,
    /// Blocks advertising and tracking (most such resolvers block malware too).
    Ads,
    /// Blocks what is not for children (and malware).
    Family,
}

impl Filtering {
    /// A few words for a label; `None` where nothing is filtered.
    pub fn words(self) -> Option<&'static str> {
        match self {
            Filtering::None => None,
            Filtering::Malware => Some("filters malware"),
            Filtering::Ads => Some("filters ads"),
            Filtering::Family => Some("filters for families"),
        }
    }
}

/// One public recursive resolver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublicResolver {
    /// Short stable word (`cloudflare`).
    pub id: String,
    /// Name as people know it.
    pub name: String,
    /// Who runs it.
    pub operator: String,
    /// Country of the operator, or `Global anycast`.
    pub country: String,
    /// What it leaves out on purpose.
    #[serde(default)]
    pub filtering: Filtering,
    /// Whether it tells authoritative servers the client's network: answers by location are to be expected.
    #[serde(default)]
    pub ecs: bool,
    /// URL of RFC 8484 questions.
    #[serde(default)]
    pub doh: Option<String>,
    /// URL of the JSON form that browsers may ask from any page (CORS); `?name=&type=` is added.
    #[serde(default)]
    pub json: Option<String>,
    /// Host name (and `:port`, 853 where left out) of DNS over TLS.
    #[serde(default)]
    pub dot: Option<String>,
    /// Addresses for UDP and TCP.
    #[serde(default)]
    pub addresses: Vec<IpAddr>,
    /// Whether a comparison asks it without being told to; rows of a table of one's own are asked unless they say no.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub default: bool,
    /// The operator's page and the public lists the row comes from.
    #[serde(default)]
    pub source: String,
}

fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out a reference")]
fn is_yes(default: &bool) -> bool {
    *default
}

impl PublicResolver {
    /// Where it is and what is special about it, for a second line: `Switzerland · filters malware · sends ECS`.
    pub fn place(&self) -> String {
        let mut parts = vec![self.country.clone()];
        parts.extend(self.filtering.words().map(str::to_string));
        if self.ecs {
            parts.push("sends ECS".into());
        }
        parts.retain(|p| !p.is_empty());
        parts.join(" · ")
    }

    /// A row for a resolver of the asking machine, known by its address alone.
    pub fn of_machine(address: IpAddr) -> Self {
        PublicResolver {
            id: format!("system-{address}"),
            name: address.to_string(),
            operator: "this machine’s settings".into(),
            country: String::new(),
            filtering: Filtering::None,
            ecs: false,
            doh: None,
            json: None,
            dot: None,
            addresses: vec![address],
            default: true,
            source: "the system’s resolver configuration".into(),
        }
    }
}

/// Why a table of resolvers can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// The text is not TOML, or a key is missing or unknown: mend the file.
    #[error("the table of resolvers can't be read: {0}")]
    Format(String),
    /// A row breaks a rule: mend the row.
    #[error("resolver “{id}”: {rule}")]
    Row {
        /// The row's id.
        id: String,
        /// What is wrong, in words.
        rule: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(default)]
    resolver: Vec<PublicResolver>,
}

/// Reads a table. Ids must be unique, every resolver reachable somehow, URLs `https` (`http` only to a literal loopback
/// address, for closed networks).
///
/// # Errors
/// [`TableError`], naming the row and the rule.
pub fn parse(text: &str) -> Result<Vec<PublicResolver>, TableError> {
    let table: Table = toml::from_str(text).map_err(|e| TableError::Format(e.to_string()))?;
    let mut seen = BTreeSet::new();
    for row in &table.resolver {
        let bad = |rule: &str| Err(TableError::Row { id: row.id.clone(), rule: rule.to_string() });
        let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if row.id.is_empty() || !row.id.chars().all(word) {
            return bad("an id has lower-case letters, digits and hyphens only");
        }
        if !seen.insert(row.id.clone()) {
            return bad("the id stands twice");
        }
        if row.name.trim().is_empty() {
            return bad("the name is empty");
        }
        if row.doh.is_none() && row.dot.is_none() && row.addresses.is_empty() {
            return bad("it has neither a DoH URL nor a DoT host nor an address");
        }
        for url in row.doh.iter().chain(&row.json) {
            if !(url.starts_with("https://") || is_loopback_http(url)) {
                return bad("a URL must be https (http only to a loopback address)");
            }
        }
    }
    Ok(table.resolver)
}

/// `http://` to a literal loopback address or `localhost`.
pub fn is_loopback_http(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or("");
    if authority.contains('@') {
        return false;
    }
    let host = match authority.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or(""),
        None => authority.split(':').next().unwrap_or(""),
    };
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
        [[resolver]]
        id = "one"
        name = "One"
        operator = "One Ltd"
        country = "Iceland"
        filtering = "malware"
        ecs = true
        doh = "https://dns.one.example/dns-query"
        addresses = ["192.0.2.1", "2001:db8::1"]
        source = "https://one.example/"
    "#;

    #[test]
    fn a_row_reads_and_says_where_it_is() {
        let rows = parse(GOOD).unwrap();
        assert_eq!(rows[0].place(), "Iceland · filters malware · sends ECS");
        assert_eq!(rows[0].addresses.len(), 2);
    }

    #[test]
    fn rows_that_break_a_rule_are_named() {
        for (text, words) in [
            (format!("{GOOD}{GOOD}"), "stands twice"),
            (GOOD.replace("https://dns", "http://dns"), "must be https"),
            (GOOD.replace("\"one\"", "\"One!\""), "an id has"),
            (GOOD.replace("malware", "everything"), "can't be read"),
            (GOOD.replace("ecs =", "esc ="), "can't be read"),
            (GOOD.replace("192.0.2.1", "192.0.2.300"), "can't be read"),
            (
                "[[resolver]]\nid = \"x\"\nname = \"X\"\noperator = \"\"\ncountry = \"\"".to_string(),
                "neither a DoH URL",
            ),
        ] {
            let e = parse(&text).unwrap_err().to_string();
            assert!(e.contains(words), "{e}");
        }
    }

    #[test]
    fn clear_text_is_for_loopback_only() {
        for good in ["http://127.0.0.1:8053/q", "http://[::1]/q", "http://127.4.5.6/q", "http://localhost:1/"]
        {
            assert!(is_loopback_http(good), "{good}");
        }
        for bad in [
            "http://192.0.2.1/",
            "http://127.0.0.1@evil.example/",
            "https://127.0.0.1/",
            "http://127.0.0.1.x/",
        ] {
            assert!(!is_loopback_http(bad), "{bad}");
        }
    }
}
