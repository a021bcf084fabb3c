//! WHOIS servers by suffix, and encodings by server.

use super::sources::{self, Source};
use super::{Counts, Input, Table, head};
use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// In the order in which their word counts where the newest disagree one to one: IANA's own data first.
const SOURCES: [Source; 9] = [
    (
        "domain-look-up-servers-2025-11",
        "iana2511",
        "IANA root zone database, crawled 2025-11-11 (angelxmoreno/domain-look-up-servers, MIT)",
    ),
    ("rfc1036-whois-5.6.6", "debian", "rfc1036/whois 5.6.6, 2026-02-16 (GPL-2.0-or-later; facts only)"),
    (
        "zonedb-2026-07",
        "zonedb",
        "zonedb/zonedb, 2026-07-01 (ODbL 1.0; agrees or disagrees, no row rests on it alone)",
    ),
    ("weppos-whois-2025-10", "weppos", "weppos/whois, 2025-10-15 (MIT)"),
    (
        "whoisserver-world-1.0.31",
        "iana2504",
        "IANA root zone database, crawled 2025-04 (npm whoisserver-world 1.0.31, ISC)",
    ),
    (
        "asyncwhois-iana-2024-09",
        "iana2409",
        "IANA root zone database of 2024-09-20 (PyPI asyncwhois 1.1.15, MIT)",
    ),
    ("node-whois-2.16.2", "node", "npm whois 2.16.2 (BSD-2-Clause)"),
    ("php-whois-2023-01", "php", "io-developer/php-whois, 2023-01-25 (MIT)"),
    ("net-whois-raw-2.43", "raw", "Debian libnet-whois-raw-perl 2.43 (Artistic or GPL-1+)"),
];
/// Says which host is asked by convention, not that it answers: no evidence.
const CONVENTION: &str = "rfc1036-new-gtld-convention";
/// Words of the `current` column, for the newest three of [`SOURCES`].
const CURRENT: [&str; 3] = ["iana-crawl", "rfc1036", "zonedb"];

/// What sources say about one suffix.
struct Claim {
    host: String,
    query: String,
    query_agree: usize,
    current: Vec<usize>,
    sources: Vec<&'static str>,
}

/// The claim that counts: what most of the three newest sources say; where they disagree one to one, IANA's word.
fn best(claims: &[Claim]) -> Option<&Claim> {
    let usable = claims.iter().filter(|c| !c.current.is_empty() && c.sources != ["zonedb"]);
    usable.min_by_key(|c| (std::cmp::Reverse(c.current.len()), c.current.first().copied()))
}

pub fn servers(input: &Input) -> Result<Table> {
    let tlds = delegated(input)?;
    let mut claims: BTreeMap<String, Vec<Claim>> = BTreeMap::new();
    let columns = ["tld", "host", "query", "query_agree", "current", "source"];
    for [suffix, host, query, query_agree, current, source] in input.facts("whois-servers.tsv", columns)? {
        let source: String = source.split(';').filter(|s| *s != CONVENTION).collect::<Vec<_>>().join(";");
        let current = CURRENT.iter().enumerate().filter(|(_, c)| current.split(',').any(|x| x == **c));
        let claim = Claim {
            current: current.map(|(i, _)| i).collect(),
            sources: sources::short(&source, &SOURCES)?,
            query_agree: query_agree.parse().unwrap_or(0),
            host,
            query,
        };
        // A crawl cut one host short: a server is a name below a TLD that exists.
        let exists = claim.host == "-" || claim.host.rsplit('.').next().is_some_and(|t| tlds.contains(t));
        if exists && suffix.rsplit('.').next().is_some_and(|t| tlds.contains(t)) {
            claims.entry(suffix).or_default().push(claim);
        }
    }
    // One form per host. A form that one source alone states counts when it is maintained manually, with the reason.
    let mut forms: BTreeMap<String, String> = BTreeMap::new();
    for claim in claims.values().flatten().filter(|c| !c.query.is_empty() && c.query_agree >= 2) {
        forms.insert(claim.host.clone(), claim.query.clone());
    }
    for [host, query, source] in input.by_hand("whois-queries.tsv", ["host", "query", "source"])? {
        if source.is_empty() || query.matches("%s").count() != 1 {
            bail!("whois-queries.tsv: {host} needs one %s and a source");
        }
        forms.insert(host, query);
    }
    let mut counts = Counts::default();
    let mut rows = BTreeMap::new();
    for suffix in claims.keys().chain(&tlds) {
        let Some(claim) = claims.get(suffix).and_then(|c| best(c)) else {
            if tlds.contains(suffix) && rows.insert(suffix.clone(), format!("{suffix}\t-\t\tnone")).is_none()
            {
                counts.single += 1;
            }
            continue;
        };
        let query = forms.get(&claim.host).map_or("", String::as_str);
        let row = format!("{suffix}\t{}\t{query}\t{}", claim.host, claim.sources.join(","));
        if rows.insert(suffix.clone(), row).is_none() {
            counts.add(claim.sources.len());
        }
    }
    let mut text =
        head("WHOIS servers (port 43) of every TLD, and of second levels that have one of their own.");
    text.push_str(
        "# host \"-\": there is none, by the newest sources. query: form of the question, %s is the name in A-labels; empty: the name alone.\n\
         # The value that most of iana2511, debian and zonedb give; where they disagree one to one, the first of them in this order.\n",
    );
    text.push_str(&sources::legend(&SOURCES));
    text.push_str("#   none       no source names a server\nsuffix\thost\tquery\tsource\n");
    for row in rows.values() {
        let _ = writeln!(text, "{row}");
    }
    Ok(Table { path: "crates/registration/data/whois-servers.tsv", text, counts })
}

pub fn charsets(input: &Input) -> Result<Table> {
    let mut found: BTreeMap<String, BTreeMap<String, Vec<&'static str>>> = BTreeMap::new();
    for [host, charset, source] in input.facts("whois-charsets.tsv", ["host", "charset", "source"])? {
        found.entry(host).or_default().insert(charset, sources::short(&source, &SOURCES)?);
    }
    let mut counts = Counts::default();
    let mut by_hand = Vec::new();
    for [host, charset, source] in input.by_hand("whois-charsets.tsv", ["host", "charset", "source"])? {
        if source.is_empty() || found.contains_key(&host) && found[&host].keys().any(|c| c != "utf-8") {
            bail!(
                "whois-charsets.tsv (manually maintained): {host} has no source, or the facts give its encoding"
            );
        }
        found.entry(host.clone()).or_default().insert(charset, vec!["hand"]);
        by_hand.push((host, source));
    }
    let mut text = head("Encodings of WHOIS answers that are not UTF-8, by server.");
    text.push_str(
        "# Consulted only for bytes that are not UTF-8. A server that newer sources say sends UTF-8 keeps the encoding it had.\n",
    );
    text.push_str(&sources::legend(&SOURCES));
    for (host, source) in &by_hand {
        let _ = writeln!(text, "#   hand       {host}: {source}");
    }
    text.push_str("host\tcharset\tsource\n");
    for (host, mut charsets) in found {
        charsets.remove("utf-8");
        let Some((charset, sources)) = charsets.pop_first() else { continue };
        if !charsets.is_empty() {
            bail!("whois-charsets.tsv: {host} has two encodings besides UTF-8");
        }
        if sources == ["hand"] {
            counts.by_hand += 1;
        } else {
            counts.add(sources.len());
        }
        let _ = writeln!(text, "{host}\t{charset}\t{}", sources.join(","));
    }
    Ok(Table { path: "crates/registration/data/whois-charsets.tsv", text, counts })
}

/// The TLDs that exist.
pub fn delegated(input: &Input) -> Result<BTreeSet<String>> {
    let rows = input.facts("tlds.tsv", ["tld", "state"])?;
    let tlds: BTreeSet<String> =
        rows.into_iter().filter(|[_, state]| state == "delegated").map(|[tld, _]| tld).collect();
    tlds.contains("com").then_some(tlds).context("tlds.tsv has no delegated .com")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(host: &str, current: &[usize], sources: &[&'static str]) -> Claim {
        Claim {
            host: host.into(),
            query: String::new(),
            query_agree: 0,
            current: current.to_vec(),
            sources: sources.to_vec(),
        }
    }

    #[test]
    fn the_newest_sources_decide_and_iana_breaks_a_tie() {
        let host = |claims: &[Claim]| best(claims).map(|c| c.host.clone());
        let many_old = claim("whois.old.test", &[], &["weppos", "node", "php", "raw"]);
        let off = claim("-", &[1, 2], &["debian", "zonedb"]);
        let iana = claim("whois.nic.test", &[0], &["iana2511"]);
        assert_eq!(
            host(&[many_old, off, iana]).as_deref(),
            Some("-"),
            "two of three say it was switched off"
        );
        let iana = claim("whois.nic.test", &[0], &["iana2511"]);
        let other = claim("whois.other.test", &[1], &["debian", "node"]);
        assert_eq!(host(&[other, iana]).as_deref(), Some("whois.nic.test"));
        let alone = claim("whois.alone.test", &[2], &["zonedb"]);
        assert_eq!(host(&[alone]), None, "the licence of zonedb allows agreement only");
    }
}
