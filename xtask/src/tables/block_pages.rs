//! What filtering resolvers answer with for a blocked name.

use super::{Counts, Input, Table, head};
use anyhow::{Result, bail};
use std::fmt::Write;

pub fn block_pages(input: &Input) -> Result<Table> {
    let mut counts = Counts::default();
    let (mut pages, mut soas) = (Vec::new(), Vec::new());
    for [kind, value, operator, agree, source] in
        input.facts("block-pages.tsv", ["kind", "value", "operator", "agree", "source"])?
    {
        // "Yandex DNS Safe (infected sites)": what it blocks is not who it is.
        let operator = operator.split(" (").next().unwrap_or(&operator).to_owned();
        if source.is_empty() || source.contains('"') || operator.contains('"') {
            bail!("block-pages.tsv: {value} has no source, or one with a quotation mark");
        }
        let list = match kind.as_str() {
            "address" => &mut pages,
            "soa" => &mut soas,
            // Answers are recognised by address and by SOA only.
            "cname" => continue,
            other => bail!("block-pages.tsv: unknown kind {other}"),
        };
        counts.add(agree.parse().unwrap_or(0));
        list.push((operator, value, source));
    }
    let mut text =
        head("What filtering resolvers answer with instead of the real answer: pages that say \"blocked\".");
    text.push_str("# 0.0.0.0, :: and loopback need no row. Numbers name stored public files by their id in the index of the facts.\n");
    for (table, key, mut rows) in [("page", "address", pages), ("soa", "mname", soas)] {
        rows.sort();
        for (operator, value, source) in rows {
            let _ = write!(
                text,
                "\n[[{table}]]\n{key} = \"{value}\"\noperator = \"{operator}\"\nsource = \"{source}\"\n"
            );
        }
    }
    Ok(Table { path: "crates/model/data/block_pages.toml", text, counts })
}
