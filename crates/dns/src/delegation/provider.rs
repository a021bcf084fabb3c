//! Who runs a zone's name servers, told by the servers' names. A table of patterns, then the names themselves.

use model::dns::{Provider, ProviderKind};
use serde::Deserialize;
use std::sync::LazyLock;

/// A row of the table.
#[derive(Debug, Deserialize)]
struct Row {
    /// A suffix (`digitalocean.com`) or a glob in which `*` stands for any characters (`ns-*.awsdns-*`).
    pattern: String,
    name: String,
    /// Where the row comes from; the loader test wants it, the program does not.
    #[allow(dead_code)]
    source: String,
}

#[derive(Deserialize)]
struct Table {
    provider: Vec<Row>,
}

static TABLE: LazyLock<Vec<Row>> = LazyLock::new(|| {
    // Part of the program; the loader test keeps it readable.
    toml::from_str::<Table>(include_str!("../../data/providers.toml")).map(|t| t.provider).unwrap_or_default()
});

fn matches(pattern: &str, host: &str) -> bool {
    if pattern.contains('*') {
        return glob(pattern.as_bytes(), host.as_bytes());
    }
    host.strip_suffix(pattern).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// How much of a name a pattern states: the longest pattern that matches counts.
fn specificity(pattern: &str) -> usize {
    pattern.bytes().filter(|b| *b != b'*').count()
}

fn glob(pattern: &[u8], text: &[u8]) -> bool {
    match pattern.split_first() {
        None => text.is_empty(),
        Some((b'*', rest)) => (0..=text.len()).any(|i| glob(rest, &text[i..])),
        Some((c, rest)) => text.first() == Some(c) && glob(rest, &text[1..]),
    }
}

/// The operator of one server: its name, and how it was told.
fn operator(host: &str, zone: &str) -> (String, ProviderKind) {
    let fits = TABLE.iter().filter(|row| matches(&row.pattern, host));
    if let Some(row) = fits.max_by_key(|row| specificity(&row.pattern)) {
        return (row.name.clone(), ProviderKind::Known);
    }
    if matches(zone, host) {
        return ("Self-hosted".into(), ProviderKind::SelfHosted);
    }
    let domain = model::names::Fqdn::trusted(host).registrable();
    (domain.map_or_else(|| host.to_string(), |d| d.to_string()), ProviderKind::OperatorDomain)
}

/// Who runs the servers of `zone`; `None` when it has none.
pub fn provider(ns: &[String], zone: &str) -> Option<Provider> {
    let zone = zone.trim_end_matches('.').to_ascii_lowercase();
    let mut found: Vec<(String, ProviderKind)> = Vec::new();
    for host in ns {
        let told = operator(&host.trim_end_matches('.').to_ascii_lowercase(), &zone);
        if !found.contains(&told) {
            found.push(told);
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    match found.len() {
        0 => None,
        1 => found.pop().map(|(name, kind)| Provider { name, kind }),
        _ => {
            let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
            Some(Provider { name: names.join(" + "), kind: ProviderKind::Mixed })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn told(ns: &[&str], zone: &str) -> Option<(String, ProviderKind)> {
        let ns: Vec<String> = ns.iter().map(|s| (*s).to_string()).collect();
        provider(&ns, zone).map(|p| (p.name, p.kind))
    }

    #[test]
    fn the_table_reads_and_has_a_source_in_every_row() {
        let table: Table =
            toml::from_str(include_str!("../../data/providers.toml")).expect("the table is TOML");
        assert!(table.provider.len() >= 500, "{}", table.provider.len());
        let mut seen = BTreeSet::new();
        for row in &table.provider {
            assert!(!row.source.is_empty() && !row.name.is_empty(), "{row:?}");
            assert!(!row.source.contains("memory"), "{row:?}");
            assert!(row.pattern == row.pattern.to_ascii_lowercase() && row.pattern.contains('.'), "{row:?}");
            assert!(seen.insert(row.pattern.clone()), "{} stands twice", row.pattern);
        }
    }

    #[test]
    fn the_longest_pattern_counts() {
        for row in TABLE.iter() {
            let example = row.pattern.replace('*', "7");
            let (name, kind) = operator(&example, "zone.example");
            assert_eq!((name.as_str(), kind), (row.name.as_str(), ProviderKind::Known), "{}", row.pattern);
        }
    }

    #[test]
    fn known_providers_are_told_by_their_servers() {
        use ProviderKind::{Known, Mixed, OperatorDomain, SelfHosted};
        for (ns, zone, name, kind) in [
            (vec!["ns1.digitalocean.com", "NS2.DigitalOcean.com."], "q7.io", "Digital Ocean", Known),
            (vec!["ns-12.awsdns-34.org", "ns-2000.awsdns-59.co.uk"], "a.example", "Amazon Route 53", Known),
            (vec!["ada.ns.cloudflare.com", "bob.ns.cloudflare.com"], "a.example", "Cloudflare", Known),
            // Names that an earlier table gave to another operator.
            (vec!["ns1.nameserver.net.au"], "a.example", "Synergy Wholesale", Known),
            (vec!["ns1.syrahost.com"], "a.example", "Crazy Domains", Known),
            (vec!["ns1.meridian-dns.example"], "a.example", "Meridian DNS", Known),
            (vec!["a.quarry-dns.example"], "a.example", "Quarry DNS", Known),
            (vec!["ns1.anycast-one.example"], "a.example", "Anycast One", Known),
            (vec!["ns1.a.example", "ns2.dns.a.example"], "a.example", "Self-hosted", SelfHosted),
            (vec!["ns1.small.co.uk", "ns2.small.co.uk"], "a.example", "small.co.uk", OperatorDomain),
            (
                vec!["ns1.digitalocean.com", "ns1.a.example"],
                "a.example",
                "Digital Ocean + Self-hosted",
                Mixed,
            ),
            (vec!["ns1.notdigitalocean.com"], "a.example", "notdigitalocean.com", OperatorDomain),
        ] {
            assert_eq!(told(&ns, zone), Some((name.to_string(), kind)), "{ns:?}");
        }
        assert_eq!(told(&[], "a.example"), None);
    }
}
