//! Public resolvers: those a comparison asks by default, a manual list, then the others.

use super::{Counts, Input, Table, head};
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::net::IpAddr;

/// A row of the facts.
struct Fact {
    name: String,
    operator: String,
    country: String,
    filtering: String,
    ecs: String,
    doh: String,
    dot: String,
    addresses: Vec<IpAddr>,
    agree: usize,
    source: String,
}

impl Fact {
    /// Whether it is named by this DoH URL, DoT host or first address.
    fn is(&self, key: &str) -> bool {
        self.doh == key || self.dot == key || self.addresses.first().is_some_and(|a| a.to_string() == key)
    }

    /// Another entry of the same service: it shares an address or a host of an encrypted transport.
    fn same_service(&self, other: &Fact) -> bool {
        self.addresses.iter().any(|a| other.addresses.contains(a))
            || !self.dot.is_empty() && self.dot == other.dot
            || !self.doh.is_empty() && self.doh == other.doh
    }

    /// Whether the facts say all that a row states.
    fn is_complete(&self) -> bool {
        let known = ["none", "malware", "ads", "family"].contains(&self.filtering.as_str());
        // Rows with a two-letter country come from one list that has outdated names of services listed elsewhere.
        let reachable = !self.addresses.is_empty() || !self.doh.is_empty() || !self.dot.is_empty();
        known && !self.operator.is_empty() && self.country.len() > 2 && reachable
    }
}

fn facts(input: &Input) -> Result<Vec<Fact>> {
    let columns =
        ["name", "operator", "country", "filtering", "ecs", "doh", "dot", "ipv4", "ipv6", "agree", "source"];
    let mut all = Vec::new();
    for [name, operator, country, filtering, ecs, doh, dot, v4, v6, agree, source] in
        input.facts("public-resolvers.tsv", columns)?
    {
        let mut addresses: Vec<IpAddr> = Vec::new();
        for text in v4.split_whitespace().chain(v6.split_whitespace()) {
            let ip = text.parse().with_context(|| format!("{name}: {text} is no address"))?;
            if !addresses.contains(&ip) {
                addresses.push(ip);
            }
        }
        let dot = dot.strip_suffix(":853").unwrap_or(&dot).to_owned();
        let doh = if doh == "-" { String::new() } else { doh };
        let agree = agree.parse().unwrap_or(0);
        all.push(Fact { name, operator, country, filtering, ecs, doh, dot, addresses, agree, source });
    }
    Ok(all)
}

/// A stable id of a name: "Cisco OpenDNS / FamilyShield" is `cisco-opendns-familyshield`.
fn id(name: &str) -> String {
    let words = name.to_lowercase();
    let words: Vec<&str> =
        words.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty()).collect();
    words.join("-")
}

pub fn resolvers(input: &Input) -> Result<Table> {
    let facts = facts(input)?;
    let mut counts = Counts::default();
    let mut used: Vec<&Fact> = Vec::new();
    let mut ids = BTreeSet::new();
    let mut text = head(
        "Public recursive resolvers, in the order in which they are shown. A copy of one's own: --resolvers FILE.",
    );
    text.push_str(
        "#\n\
         #   id         short stable word                    filtering  none | malware | ads | family\n\
         #   name       as people know it                    ecs        tells authoritative servers the client's network (RFC 7871)\n\
         #   operator   who runs it                          doh        RFC 8484 URL\n\
         #   country    of the operator, or Global anycast   json       JSON form with CORS, for browsers; only where known\n\
         #   dot        RFC 7858 host, :port if not 853      addresses  for UDP and TCP\n\
         #   default    false: asked with --resolvers all    source     the operator's page, and the lists that have it\n",
    );
    let columns =
        ["id", "name", "operator", "country", "filtering", "ecs", "json", "match", "addresses", "source"];
    for [id, name, operator, country, filtering, ecs, json, key, addresses, page] in
        input.by_hand("resolvers.tsv", columns)?
    {
        let found: Vec<&Fact> = facts.iter().filter(|f| f.is(&key)).collect();
        let [fact] = found.as_slice() else { bail!("{id}: {} rows of the facts match {key}", found.len()) };
        let listed = fact.source.replace(';', ", ");
        let source = format!("{page}; listed by {listed}");
        let row = Fact {
            name,
            operator,
            country,
            filtering,
            ecs,
            doh: fact.doh.clone(),
            dot: fact.dot.clone(),
            addresses: if addresses == "-" { Vec::new() } else { fact.addresses.clone() },
            agree: fact.agree,
            source,
        };
        counts.add(row.agree);
        used.push(fact);
        write_row(&mut text, &id, &row, &json, true)?;
        ids.insert(id);
    }
    for fact in facts.iter().filter(|f| f.is_complete()) {
        if used.iter().any(|u| u.same_service(fact)) {
            continue;
        }
        let id = id(&fact.name);
        if !ids.insert(id.clone()) {
            bail!("two resolvers have the id {id}");
        }
        counts.add(fact.agree);
        write_row(&mut text, &id, fact, "", false)?;
        used.push(fact);
    }
    Ok(Table { path: "crates/dns/data/resolvers.toml", text, counts })
}

fn write_row(text: &mut String, id: &str, row: &Fact, json: &str, default: bool) -> Result<()> {
    let source =
        if default { row.source.clone() } else { format!("listed by {}", row.source.replace(';', ", ")) };
    let cells = [&row.name, &row.operator, &row.country, &row.doh, &row.dot, &source];
    if cells.iter().any(|cell| cell.contains(['"', '\\'])) || row.operator.is_empty() {
        bail!("resolver {id}: a cell with a quotation mark or backslash, or no operator");
    }
    let _ = write!(
        text,
        "\n[[resolver]]\nid = \"{id}\"\nname = \"{}\"\noperator = \"{}\"\ncountry = \"{}\"\nfiltering = \"{}\"\n",
        row.name.replace(" / ", ": "),
        row.operator,
        row.country,
        row.filtering,
    );
    let _ = writeln!(text, "ecs = {}", row.ecs == "yes");
    for (key, value) in [("doh", row.doh.as_str()), ("json", json), ("dot", row.dot.as_str())] {
        if !value.is_empty() {
            let _ = writeln!(text, "{key} = \"{value}\"");
        }
    }
    if !row.addresses.is_empty() {
        let list: Vec<String> = row.addresses.iter().map(|a| format!("\"{a}\"")).collect();
        let _ = writeln!(text, "addresses = [{}]", list.join(", "));
    }
    if !default {
        text.push_str("default = false\n");
    }
    let _ = writeln!(text, "source = \"{source}\"");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_words() {
        assert_eq!(id("Cisco OpenDNS / FamilyShield"), "cisco-opendns-familyshield");
        assert_eq!(id("ControlD / Block malware + ads"), "controld-block-malware-ads");
    }
}
