//! RDAP servers by TLD.

use super::sources::{self, Source};
use super::{Counts, Input, Table, head, whois};
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::fmt::Write;

const SOURCES: [Source; 10] = [
    ("iana-2026-03-23", "iana", "IANA dns.json, publication 2026-03-23 (public domain)"),
    ("iana-2025-12-11", "iana2512", "IANA dns.json of 2025-12-11"),
    ("iana-2025-11-06", "iana2511", "IANA dns.json of 2025-11-06"),
    ("iana-2024-04-24", "iana2404", "IANA dns.json of 2024-04-24"),
    (
        "zonedb-2026-07",
        "zonedb",
        "zonedb/zonedb, 2026-07-01 (ODbL 1.0; agrees only, no row rests on it alone)",
    ),
    ("iana-root-crawl-2025-11", "rootdb", "IANA root zone database, crawled 2025-11-11 (MIT)"),
    ("who-dat-seeds", "whodat", "Lissy93/who-dat, 2026: verified against a live domain by its author (MIT)"),
    ("whoisit-2026-01", "whoisit", "meeb/whoisit, 2026-01-05: the same (BSD-3-Clause)"),
    ("rdap-cctld-ts-2025-11", "rdapcc", "case/rdap-cctld-ts, 2025-11: the same (MIT)"),
    (
        "domain-hoarding-probe-2026-10-08",
        "probe",
        "a registered name answered 200 and a nonsense name 404 on 2026-10-08",
    ),
];

pub fn servers(input: &Input) -> Result<Table> {
    let tlds = whois::delegated(input)?;
    let mut rejected = BTreeMap::new();
    for [tld, url, reason, source] in
        input.by_hand("rdap-rejected.tsv", ["tld", "url", "reason", "source"])?
    {
        if reason.is_empty() || source.is_empty() {
            bail!("rdap-rejected.tsv: {tld} needs a reason and a source");
        }
        rejected.insert(tld, url);
    }
    let mut counts = Counts::default();
    let mut rows = BTreeMap::new();
    for [tld, url, listed, source] in input.facts("rdap-bootstrap.tsv", ["tld", "url", "listed", "source"])? {
        let sources = sources::short(&source, &SOURCES).with_context(|| format!("RDAP of {tld}"))?;
        let listed = match listed.as_str() {
            "iana" => true,
            // A wrong server would call every name available: two sources must name one that IANA does not list.
            "not-listed" if sources.len() >= 2 && rejected.get(&tld) != Some(&url) => false,
            _ => continue,
        };
        // IANA lists a few by http; no other source is believed about one.
        let scheme = url.starts_with("https://") || (listed && url.starts_with("http://"));
        if !scheme || !url.ends_with('/') {
            bail!("RDAP of {tld}: {url} is no https base URL with a final slash");
        }
        if tlds.contains(&tld) {
            counts.add(sources.len());
            let listed = if listed { "yes" } else { "no" };
            let row = format!("{tld}\t{url}\t{listed}\t{}", sources.join(","));
            if rows.insert(tld.clone(), row).is_some() {
                bail!("RDAP of {tld}: two URLs");
            }
        }
    }
    for tld in &tlds {
        rows.entry(tld.clone()).or_insert_with(|| {
            counts.single += 1;
            format!("{tld}\t-\tno\tiana")
        });
    }
    let mut text = head("RDAP servers of every TLD (RFC 9224).");
    text.push_str(
        "# url \"-\": IANA's newest file lists none, and no two other sources agree on one. listed: in IANA's file; rows with \"no\"\n\
         # are asked beside it, for TLDs that run RDAP without being listed.\n",
    );
    text.push_str(&sources::legend(&SOURCES));
    text.push_str("tld\turl\tlisted\tsource\n");
    for row in rows.values() {
        let _ = writeln!(text, "{row}");
    }
    Ok(Table { path: "crates/registration/data/rdap-servers.tsv", text, counts })
}
