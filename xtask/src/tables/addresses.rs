//! Special address blocks and the zones that resolvers serve themselves.

use super::{Counts, Input, Table, head};
use anyhow::{Result, bail};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::IpAddr;

/// The class of a block in IANA's special-purpose registries, by its name and its "Globally Reachable" column.
fn class(name: &str, global: &str) -> &'static str {
    const LOCAL: [&str; 6] =
        ["Private-Use", "Shared Address Space", "Loopback", "Link Local", "Link-Local", "Unique-Local"];
    if global.starts_with("True") {
        "global"
    } else if name.starts_with("Documentation") {
        "documentation"
    } else if LOCAL.iter().any(|local| name.starts_with(local)) {
        "local"
    } else {
        "other"
    }
}

pub fn special_addresses(input: &Input) -> Result<Table> {
    let mut counts = Counts::default();
    let mut blocks: Vec<(IpAddr, u8, &str, String)> = Vec::new();
    let mut add = |prefix: &str, class, source: String| {
        let (ip, length) = prefix.split_once('/').unwrap_or((prefix, ""));
        let (Ok(ip), Ok(length)) = (ip.parse(), length.parse()) else { bail!("{prefix} is no block") };
        blocks.push((ip, length, class, source));
        Ok(())
    };
    for [prefix, name, rfc, global] in
        input.facts("special-addresses.tsv", ["prefix", "name", "rfc", "global"])?
    {
        let rfc =
            rfc.replace("][", "] [").replace(['[', ']'], "").replace("RFC", "RFC ").replace("RFC -", "RFC-");
        add(&prefix, class(&name, &global), format!("{name}, {}", rfc.replace("RFC  ", "RFC ")))?;
        counts.single += 1;
    }
    for [prefix, class, source] in input.by_hand("special-addresses.tsv", ["prefix", "class", "source"])? {
        let known = ["documentation", "local", "other", "global"].into_iter().find(|c| **c == class);
        let Some(known) = known else { bail!("{prefix}: unknown class {class}") };
        add(&prefix, known, source)?;
        counts.by_hand += 1;
    }
    blocks.sort();
    blocks.dedup_by_key(|(ip, length, ..)| (*ip, *length));
    if blocks.len() != counts.total() {
        bail!("a block of special addresses is named twice");
    }
    let mut text =
        head("Address blocks that are not, or not all, globally reachable. The most specific block decides.");
    text.push_str(
        "# IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890); source: name there and RFC.\n\
         # class: documentation, local, other, global.\nblock = [\n",
    );
    for (ip, length, class, source) in blocks {
        let _ =
            writeln!(text, "  {{ prefix = \"{ip}/{length}\", class = \"{class}\", source = \"{source}\" }},");
    }
    text.push_str("]\n");
    Ok(Table { path: "crates/dns/data/special-addresses.toml", text, counts })
}

pub fn local_zones(input: &Input) -> Result<Table> {
    let mut actions = BTreeMap::new();
    for [zone, action, source] in input.by_hand("local-zones.tsv", ["zone", "action", "source"])? {
        if !matches!(action.as_str(), "public" | "skip") || source.is_empty() {
            bail!("local-zones.tsv: {zone} has no action or no source");
        }
        actions.insert(zone, (action, source));
    }
    let mut counts = Counts::default();
    let mut rows = Vec::new();
    for [zone, reference, agree, source] in
        input.facts("special-zones.tsv", ["zone", "reference", "agree", "source"])?
    {
        let action = actions.get(&zone);
        if action.is_some_and(|(action, _)| action == "skip") {
            continue;
        }
        let rfc = match action {
            Some((_, own)) => own.split(':').next().unwrap_or(own),
            None => &reference,
        };
        if !rfc.starts_with("RFC ") {
            bail!("{zone}: no RFC reserves it");
        }
        // A source that only names the zone in a comment does not serve it.
        let served: Vec<&str> = source.split(';').filter(|s| !s.contains('(')).collect();
        let source = if served.is_empty() {
            counts.by_hand += 1;
            rfc.to_owned()
        } else {
            counts.add(agree.parse().unwrap_or(0));
            format!("{rfc}; served by {}", served.join(", "))
        };
        rows.push((action.is_none(), order(&zone), zone, source));
    }
    rows.sort();
    let mut text = head(
        "Names that are answered here and not asked anywhere, each as a zone without records (RFC 6303 section 3).",
    );
    text.push_str(
        "# private = true: a network of one's own may serve it, and then its own data wins (see docs/operations.md).\n\
         # source: the document that reserves the name, and the resolvers that serve it themselves.\n",
    );
    for (private, _, zone, source) in rows {
        let private = if private { "private = true\n" } else { "" };
        let _ = write!(text, "\n[[zone]]\nname = \"{zone}\"\n{private}source = \"{source}\"\n");
    }
    Ok(Table { path: "crates/doh/data/local-zones.toml", text, counts })
}

/// Labels from the right, numbers by value, so that 2.0.192 stands before 10.
fn order(zone: &str) -> Vec<(u32, String)> {
    zone.rsplit('.').map(|label| (label.parse().unwrap_or(u32::MAX), label.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_classed_by_name_and_reach() {
        assert_eq!(class("Documentation (TEST-NET-1)", "False"), "documentation");
        assert_eq!(class("Loopback Address", "False [1]"), "local");
        assert_eq!(class("AMT", "True"), "global");
        assert_eq!(class("Deprecated (6to4 Relay Anycast)", ""), "other");
        assert_eq!(class("TEREDO", "N/A [2]"), "other");
    }
}
