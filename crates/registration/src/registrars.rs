//! Registrar names by IANA registrar id, from `data/registrars.toml`: so that two spellings of one registrar are seen
//! to be one. In: an id; out: the name of record.

use serde::Deserialize;
use std::sync::LazyLock;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    id: String,
    name: String,
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers of the file; a test asks for it"))]
    source: String,
}

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct File {
        registrar: Vec<Row>,
    }
    toml::from_str::<File>(include_str!("../data/registrars.toml"))
        .unwrap_or_else(|e| panic!("data/registrars.toml is checked by a test: {e}"))
        .registrar
});

/// The name of the registrar with this IANA id, where the table has it.
pub fn registrar_name(iana_id: &str) -> Option<&'static str> {
    ROWS.iter().find(|r| r.id == iana_id).map(|r| r.name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_table_loads() {
        let mut seen = HashSet::new();
        for r in ROWS.iter() {
            assert!(seen.insert(&r.id), "{} twice", r.id);
            assert!(r.id.bytes().all(|b| b.is_ascii_digit()) && !r.name.is_empty() && !r.source.is_empty());
        }
        assert!(ROWS.len() >= 50);
        assert_eq!(registrar_name("292"), Some("MarkMonitor Inc."));
    }
}
