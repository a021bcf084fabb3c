//! Operators of name servers, by the servers' names.

use super::{Counts, Input, Table, head};
use anyhow::{Result, bail};
use std::collections::BTreeMap;
use std::fmt::Write;

pub fn providers(input: &Input) -> Result<Table> {
    let mut counts = Counts::default();
    let mut rows = BTreeMap::new();
    for [pattern, name, agree, source] in
        input.facts("dns-providers.tsv", ["pattern", "provider", "agree", "source"])?
    {
        counts.add(agree.parse().unwrap_or(0));
        rows.insert(pattern, (name, source.replace(';', ", ")));
    }
    for [pattern, name, source] in input.by_hand("providers.tsv", ["pattern", "name", "source"])? {
        match rows.get_mut(&pattern) {
            Some(row) => row.0 = name,
            None => {
                counts.by_hand += 1;
                rows.insert(pattern, (name, source));
            }
        }
    }
    let mut text = head("Operators of name servers, by the servers' names.");
    text.push_str(
        "# A pattern is a suffix of whole labels, or a glob with `*`; the longest that matches counts. xtask/tables/README.md\n\
         # says what the sources are.\n",
    );
    for (pattern, (name, source)) in rows {
        if [&pattern, &name, &source].iter().any(|cell| cell.is_empty() || cell.contains(['"', '\\'])) {
            bail!("provider {pattern}: an empty cell, or one with a quotation mark or backslash");
        }
        let _ = write!(
            text,
            "\n[[provider]]\npattern = \"{pattern}\"\nname = \"{name}\"\nsource = \"{source}\"\n"
        );
    }
    Ok(Table { path: "crates/dns/data/providers.toml", text, counts })
}
