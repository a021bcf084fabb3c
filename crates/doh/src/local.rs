//! Local zones: special-use names and reverse zones of private networks, answered without a lookup (RFC 6303, RFC 6761,
//! RFC 7686, RFC 8375).

use crate::codes::rcode;
use dns::wire::{Data, Name, Rr, Rtype, SoaData};
use serde::Deserialize;
use std::collections::HashMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

/// TTL of the synthesised SOA and NS records and of negative answers (RFC 6303 section 3).
const TTL: u32 = 10_800;
/// TTL of the records of `localhost`.
const LOOPBACK_TTL: u32 = 3600;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    zone: Vec<Row>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    #[serde(default)]
    private: bool,
    #[expect(dead_code, reason = "documents the row; a test requires it")]
    source: String,
}

/// The file is compiled in and a test parses it, so the fallback is never used.
static TABLE: LazyLock<Table> = LazyLock::new(|| {
    toml::from_str(include_str!("../data/local-zones.toml")).unwrap_or(Table { zone: Vec::new() })
});

/// An answer from a local zone.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Local {
    pub rcode: u16,
    pub answers: Vec<Rr>,
    pub authority: Vec<Rr>,
}

impl Local {
    pub(crate) fn lifetime(&self) -> u32 {
        self.answers.iter().chain(&self.authority).map(|rr| rr.ttl).min().unwrap_or(0)
    }
}

/// The local zones; the flag marks those of private networks.
pub(crate) struct LocalZones(HashMap<Name, bool>);

impl LocalZones {
    /// All zones, or without those that a private network may serve itself.
    pub(crate) fn new(private: bool) -> Self {
        let rows = TABLE.zone.iter().filter(|row| private || !row.private);
        LocalZones(rows.filter_map(|row| Some((Name::from_text(&row.name).ok()?, row.private))).collect())
    }

    /// Returns the answer for a name in one of the zones.
    pub(crate) fn answer(&self, name: &Name, rtype: Rtype) -> Option<Local> {
        let labels = name.labels().len();
        let (apex, private) = (1..=labels).find_map(|count| {
            let zone = name.trim_to(count);
            self.0.get(&zone).map(|private| (zone, *private))
        })?;
        if private && rtype == Rtype::DS && apex == *name {
            // The parent zone answers for DS: downstream validators need the proof that the zone is unsigned.
            return None;
        }
        let own = records(&apex, name, rtype);
        let denied = !exists(&apex, name);
        let authority = if own.is_empty() { vec![soa(&apex)] } else { Vec::new() };
        let rcode = if denied { rcode::NXDOMAIN } else { rcode::NOERROR };
        Some(Local { rcode, answers: own, authority })
    }
}

fn is(name: &Name, text: &str) -> bool {
    Name::from_text(text).is_ok_and(|other| other == *name)
}

/// Reverse names of the loopback addresses, the only ones with a PTR record.
fn loopbacks() -> [Option<Name>; 2] {
    ["1.0.0.127.in-addr.arpa".to_string(), format!("1.{}ip6.arpa", "0.".repeat(31))]
        .map(|text| Name::from_text(&text).ok())
}

fn exists(apex: &Name, name: &Name) -> bool {
    // A resolver without designated resolvers answers NODATA below resolver.arpa (RFC 9462 section 4).
    apex == name
        || is(apex, "localhost")
        || is(apex, "resolver.arpa")
        || loopbacks().iter().flatten().any(|owner| owner.is_at_or_below(name))
}

fn records(apex: &Name, name: &Name, rtype: Rtype) -> Vec<Rr> {
    let record = |ttl, raw, data| vec![Rr { name: name.clone(), rtype, class: 1, ttl, raw, data }];
    let localhost = is(apex, "localhost");
    match rtype {
        Rtype::A if localhost => {
            let address = Ipv4Addr::LOCALHOST;
            record(LOOPBACK_TTL, address.octets().to_vec(), Data::A(address))
        }
        Rtype::AAAA if localhost => {
            let address = Ipv6Addr::LOCALHOST;
            record(LOOPBACK_TTL, address.octets().to_vec(), Data::Aaaa(address))
        }
        Rtype::PTR if loopbacks().iter().flatten().any(|owner| owner == name) => record(
            LOOPBACK_TTL,
            b"\x09localhost\0".to_vec(),
            Data::Ptr(Name::from_text("localhost").unwrap_or_default()),
        ),
        Rtype::SOA if apex == name => vec![soa(apex)],
        Rtype::NS if apex == name => record(TTL, apex.to_wire(), Data::Ns(apex.clone())),
        _ => Vec::new(),
    }
}

/// Returns the SOA record proposed by RFC 6303 section 3.
fn soa(apex: &Name) -> Rr {
    let rname = Name::from_text("nobody.invalid").unwrap_or_default();
    let (refresh, retry, expire) = (3600, 1200, 604_800);
    let mut raw = [apex.to_wire(), rname.to_wire()].concat();
    for number in [1, refresh, retry, expire, TTL] {
        raw.extend(number.to_be_bytes());
    }
    let mname = apex.clone();
    let data = Data::Soa(SoaData { mname, rname, serial: 1, refresh, retry, expire, minimum: TTL });
    Rr { name: apex.clone(), rtype: Rtype::SOA, class: 1, ttl: TTL, raw, data }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(zones: &LocalZones, name: &str, rtype: Rtype) -> Option<(u16, usize, usize)> {
        let local = zones.answer(&Name::from_text(name).unwrap(), rtype)?;
        Some((local.rcode, local.answers.len(), local.authority.len()))
    }

    #[test]
    fn every_row_of_the_table_is_a_zone_with_a_source() {
        let table: Table = toml::from_str(include_str!("../data/local-zones.toml")).unwrap();
        assert!(table.zone.len() > 100);
        let all = LocalZones::new(true);
        assert_eq!(all.0.len(), table.zone.len(), "readable, and each once");
        for row in &table.zone {
            assert_eq!(asked(&all, &row.name, Rtype::SOA), Some((0, 1, 0)), "{}", row.name);
            let below = format!("x.y.{}", row.name);
            let denied = if ["localhost", "resolver.arpa"].contains(&row.name.as_str()) { 0 } else { 3 };
            assert_eq!(asked(&all, &below, Rtype::TXT), Some((denied, 0, 1)), "{below}");
        }
        let text = include_str!("../data/local-zones.toml");
        assert_eq!(text.matches("source = \"RFC ").count(), table.zone.len());
    }

    #[test]
    fn addresses_of_private_networks_have_no_names_here() {
        let all = LocalZones::new(true);
        for (name, rtype, want) in [
            ("1.0.0.10.in-addr.arpa", Rtype::PTR, Some((3, 0, 1))),
            ("1.1.16.172.in-addr.arpa", Rtype::PTR, Some((3, 0, 1))),
            ("1.1.15.172.in-addr.arpa", Rtype::PTR, None),
            ("1.1.32.172.in-addr.arpa", Rtype::PTR, None),
            ("1.1.64.100.in-addr.arpa", Rtype::PTR, Some((3, 0, 1))),
            ("1.1.128.100.in-addr.arpa", Rtype::PTR, None),
            ("1.0.0.127.in-addr.arpa", Rtype::PTR, Some((0, 1, 0))),
            ("1.0.0.127.in-addr.arpa", Rtype::A, Some((0, 0, 1))),
            ("0.0.127.in-addr.arpa", Rtype::PTR, Some((0, 0, 1))),
            ("2.0.0.127.in-addr.arpa", Rtype::PTR, Some((3, 0, 1))),
            ("8.8.8.8.in-addr.arpa", Rtype::PTR, None),
            ("in-addr.arpa", Rtype::NS, None),
            ("home.arpa", Rtype::NS, Some((0, 1, 0))),
            ("home.arpa", Rtype::DS, None),
            ("_dns.resolver.arpa", Rtype::A, Some((0, 0, 1))),
            ("x.home.arpa", Rtype::DS, Some((3, 0, 1))),
            ("printer.local", Rtype::A, Some((3, 0, 1))),
            ("localhost", Rtype::A, Some((0, 1, 0))),
            ("a.b.localhost", Rtype::AAAA, Some((0, 1, 0))),
            ("localhost", Rtype::MX, Some((0, 0, 1))),
            ("notlocalhost", Rtype::A, None),
            (".", Rtype::NS, None),
        ] {
            assert_eq!(asked(&all, name, rtype), want, "{name} {rtype}");
        }
    }

    #[test]
    fn a_network_that_serves_them_itself_is_asked() {
        let few = LocalZones::new(false);
        for name in
            ["1.0.0.10.in-addr.arpa", "1.0.0.127.in-addr.arpa", "nas.home.arpa", "www.test", "x.local"]
        {
            assert_eq!(asked(&few, name, Rtype::A), None, "{name}");
        }
        for name in ["x.invalid", "x.onion", "x.alt"] {
            assert_eq!(asked(&few, name, Rtype::A), Some((3, 0, 1)), "{name}");
        }
        assert_eq!(asked(&few, "localhost", Rtype::A), Some((0, 1, 0)));
    }
}
