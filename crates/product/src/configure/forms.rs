//! What the forms of DNS providers are like: how each names the apex, whether it wants final dots, which TTLs it offers,
//! whether it has ALIAS. A table of facts with their sources; what is not in it is said in general words.

use model::configure::{FormHints, ProviderForm};
use model::dns::{Provider, ProviderKind};
use serde::Deserialize;
use std::sync::LazyLock;

/// A row of the table. Empty texts and absent values are not known.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Row {
    /// Name in the table of providers.
    pub name: String,
    /// What is typed for the apex: `@`, nothing, or the domain itself.
    pub apex: String,
    /// `yes`, `no`, `apex` (only at the apex).
    pub alias: String,
    /// What ALIAS is called.
    pub alias_type: String,
    /// Final dot of targets: `required`, `accepted`, `refused`.
    pub dot: String,
    /// Least TTL that can be set, seconds.
    pub least_ttl: Option<u32>,
    /// How a TTL of five minutes is chosen, when it is not typed as a number.
    pub ttl_words: String,
    /// Label of the field for the name.
    pub host_label: String,
    /// Label of the field for the value.
    pub value_label: String,
    /// Quotes around the value of a TXT record: `required`.
    pub quotes: String,
    /// Whether Domain Connect works: `yes`, `no`.
    pub domain_connect: String,
    /// Where records are edited.
    pub place: String,
    /// Anything else to mind.
    pub note: String,
    /// Where the facts come from.
    pub source: String,
}

#[derive(Deserialize)]
struct Table {
    #[serde(default)]
    provider: Vec<Row>,
}

static TABLE: LazyLock<Vec<Row>> = LazyLock::new(|| {
    // Part of the program; the loader test keeps it readable.
    toml::from_str::<Table>(include_str!("../../data/provider_forms.toml"))
        .map(|t| t.provider)
        .unwrap_or_default()
});

/// The row of a provider; an empty one when the table does not have it.
pub(super) fn row(provider: Option<&Provider>) -> Row {
    let known = provider.filter(|p| p.kind == ProviderKind::Known);
    let row = known.and_then(|p| TABLE.iter().find(|row| row.name == p.name)).cloned();
    let name = known.map(|p| p.name.clone()).unwrap_or_default();
    row.unwrap_or(Row { name, ..Row::default() })
}

impl Row {
    /// Whether ALIAS or the like exists; `None`: not known.
    pub fn has_alias(&self) -> Option<bool> {
        match self.alias.as_str() {
            "" => None,
            "no" => Some(false),
            _ => Some(true),
        }
    }

    /// What ALIAS is called here.
    pub fn alias_type(&self) -> String {
        if self.alias_type.is_empty() { "ALIAS".into() } else { self.alias_type.clone() }
    }

    /// The host as it is typed for `name`, which is relative to the zone, `@` at the apex.
    pub fn host(&self, name: &str, domain: &str) -> String {
        match (name, self.apex.as_str()) {
            ("@", "domain") => domain.to_string(),
            ("@", "empty") => String::new(),
            _ => name.to_string(),
        }
    }

    /// A value with or without its final dot, as the provider wants it.
    pub fn target(&self, value: &str) -> String {
        if self.dot == "required" { format!("{value}.") } else { value.to_string() }
    }

    /// A text as it is typed.
    pub fn text(&self, value: String) -> String {
        if self.quotes == "required" { format!("\"{value}\"") } else { value }
    }

    /// A TTL the provider accepts, not below `ttl`.
    pub fn ttl(&self, ttl: u32) -> u32 {
        ttl.max(self.least_ttl.unwrap_or(0))
    }

    /// What to mind beside the fields of the form.
    pub fn hints(&self, name: &str, rtype: &str, domain: &str) -> FormHints {
        let who = if self.name.is_empty() { "The provider" } else { self.name.as_str() };
        let host = match (name, self.apex.as_str()) {
            ("@", "empty") => "leave the field empty: the domain itself".to_string(),
            ("@", _) => "the domain itself".to_string(),
            _ => format!("{who} adds .{domain}; do not type it"),
        };
        let names_host = matches!(rtype, "CNAME" | "MX" | "NS" | "SRV" | "APEXCNAME");
        let value = match (names_host, self.dot.as_str(), rtype) {
            (true, "required", _) => "keep the dot at the end".to_string(),
            (true, "refused", _) => "without a dot at the end".to_string(),
            (false, _, "TXT") if self.quotes == "required" => "with the quotes".to_string(),
            (false, _, "TXT") => "without quotes".to_string(),
            _ => String::new(),
        };
        let ttl = match self.ttl_words.as_str() {
            "" => String::new(),
            words => format!("shown as “{words}”"),
        };
        FormHints { host, value, ttl }
    }

    /// What pages show of the provider.
    pub fn form(&self) -> ProviderForm {
        let mut notes = Vec::new();
        match (self.has_alias(), self.name.as_str()) {
            (Some(true), name) => {
                notes.push(format!("{name} offers {} at the domain itself.", self.alias_type()));
            }
            (Some(false), name) => notes.push(format!(
                "{name} has no ALIAS: the domain itself needs the gateway’s addresses, which have to be changed when the gateway’s do."
            )),
            (None, _) => {}
        }
        if let Some(least) = self.least_ttl.filter(|t| *t > 1) {
            notes.push(format!("The shortest TTL is {least} s."));
        }
        if self.domain_connect == "no" {
            notes.push(format!("{} does not support Domain Connect.", self.name));
        }
        if !self.note.is_empty() {
            notes.push(self.note.clone());
        }
        ProviderForm {
            name: self.name.clone(),
            place: self.place.clone(),
            alias: self.has_alias(),
            alias_type: self.alias_type(),
            host_label: self.host_label.clone(),
            value_label: self.value_label.clone(),
            notes,
            source: self.source.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_reads_and_has_a_source_in_every_row() {
        let table: Table =
            toml::from_str(include_str!("../../data/provider_forms.toml")).expect("the table is TOML");
        let mut seen = std::collections::BTreeSet::new();
        for row in &table.provider {
            assert!(!row.name.is_empty() && !row.source.is_empty(), "{row:?}");
            assert!(seen.insert(row.name.clone()), "{} is there twice", row.name);
            assert!(matches!(row.apex.as_str(), "" | "@" | "empty" | "domain"), "{row:?}");
            assert!(matches!(row.alias.as_str(), "" | "yes" | "no" | "apex"), "{row:?}");
            assert!(matches!(row.dot.as_str(), "" | "required" | "accepted" | "refused"), "{row:?}");
            assert!(matches!(row.domain_connect.as_str(), "" | "yes" | "no"), "{row:?}");
            assert!(matches!(row.quotes.as_str(), "" | "required"), "{row:?}");
            // A row is found by the name that the name servers give the provider.
            let known = include_str!("../../../dns/data/providers.toml");
            assert!(known.contains(&format!("name = \"{}\"\n", row.name)), "{} is no provider", row.name);
        }
        assert!(seen.len() >= 25, "{}", seen.len());
    }
}
