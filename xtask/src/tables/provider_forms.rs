//! Forms of DNS providers: facts kept here with their sources, because no public table has them all.

use super::{Counts, Input, Table, head};
use anyhow::{Result, bail};
use std::collections::BTreeMap;
use std::fmt::Write;

const COLUMNS: [&str; 14] = [
    "provider",
    "apex",
    "alias",
    "alias_type",
    "dot",
    "least_ttl",
    "ttl_words",
    "host_label",
    "value_label",
    "quotes",
    "domain_connect",
    "place",
    "note",
    "source",
];

pub fn provider_forms(input: &Input) -> Result<Table> {
    let mut counts = Counts::default();
    let mut rows = BTreeMap::new();
    for row in input.by_hand("provider-forms.tsv", COLUMNS)? {
        let name = row[0].clone();
        if name.is_empty() || row[13].is_empty() || row.iter().any(|cell| cell.contains(['"', '\\'])) {
            bail!("provider form {name}: a name and a source are needed, and no quotation mark or backslash");
        }
        counts.by_hand += 1;
        if rows.insert(name.clone(), row).is_some() {
            bail!("provider form {name} is there twice");
        }
    }
    let mut text = head("Forms of DNS providers: how each names the apex, ALIAS, dots, TTLs.");
    text.push_str(
        "# An absent key is a fact that no source states. xtask/tables/README.md lists the sources.\n",
    );
    for row in rows.into_values() {
        text.push_str("\n[[provider]]\n");
        for (column, cell) in COLUMNS.into_iter().zip(&row).filter(|(_, cell)| !cell.is_empty()) {
            let key = if column == "provider" { "name" } else { column };
            let _ = match column {
                "least_ttl" => writeln!(text, "{key} = {cell}"),
                _ => writeln!(text, "{key} = \"{cell}\""),
            };
        }
    }
    Ok(Table { path: "crates/product/data/provider_forms.toml", text, counts })
}
