//! The live zone in the words of the template engine: what to ask for, and one list of records per server.

use connect::Record;
use dns::{LiveServer, LiveZone};
use model::configure::LiveRecord;
use std::net::IpAddr;

/// Questions (absolute name, type) that show how the expected records stand, what is in their way, and where copies of
/// them may have gone.
pub(super) fn questions(expected: &[Record], domain: &str) -> Vec<(String, String)> {
    let mut asked: Vec<(String, String)> = Vec::new();
    let mut ask = |name: String, kind: &str| {
        let pair = (name, kind.to_string());
        if !asked.contains(&pair) {
            asked.push(pair);
        }
    };
    for record in expected {
        let name = absolute(&owner(record), domain);
        // A full host name typed where the provider appends the zone ends up here.
        let twice = format!("{name}.{domain}");
        let kinds: &[&str] = match record.kind.as_str() {
            "CNAME" => &["CNAME", "A", "AAAA", "TXT"],
            "APEXCNAME" | "A" | "AAAA" => &["A", "AAAA"],
            "REDIR301" | "REDIR302" => &[],
            _ => &[],
        };
        kinds.iter().for_each(|kind| ask(name.clone(), kind));
        match record.kind.as_str() {
            "APEXCNAME" => ask(twice, "CNAME"),
            "REDIR301" | "REDIR302" => {}
            kind => {
                ask(name, kind);
                ask(twice, kind);
            }
        }
    }
    asked
}

/// The owner name, relative to the zone, with the labels of an SRV record.
pub(super) fn owner(record: &Record) -> String {
    connect::export::owner_name(record)
}

/// The absolute name of one relative to the zone.
pub(super) fn absolute(name: &str, domain: &str) -> String {
    if name == "@" { domain.to_string() } else { format!("{name}.{domain}") }
}

/// The records of one server. Values that mean the same as an expected one are written like it. `gateways`: what the
/// targets of expected ALIAS records resolve to; addresses among them count as the ALIAS record, which no server shows.
pub(super) fn records(
    server: &LiveServer,
    expected: &[Record],
    gateways: &[(String, Vec<IpAddr>)],
    domain: &str,
) -> Vec<Record> {
    let mut live: Vec<Record> = server.records.iter().filter_map(|r| read(r, domain)).collect();
    for record in &mut live {
        let same = |e: &&Record| e.kind == record.kind && e.name == record.name && plain(e) == plain(record);
        if let Some(same) = expected.iter().find(same) {
            record.data.clone_from(&same.data);
        }
    }
    for alias in expected.iter().filter(|r| r.kind == "APEXCNAME") {
        let target = alias.data.trim_end_matches('.');
        let Some((_, addresses)) = gateways.iter().find(|(name, _)| name == target) else { continue };
        let is_address = |r: &Record| r.name == alias.name && matches!(r.kind.as_str(), "A" | "AAAA");
        let own: Vec<&Record> = live.iter().filter(|r| is_address(r)).collect();
        let follows =
            |r: &&Record| r.data.parse::<IpAddr>().is_ok_and(|address| addresses.contains(&address));
        if !own.is_empty() && own.iter().all(follows) {
            let ttl = own.iter().filter_map(|r| r.ttl).min();
            live.retain(|r| !is_address(r));
            live.push(Record { ttl, ..alias.clone() });
        }
    }
    live
}

/// A record of the engine, relative to the zone.
fn read(record: &model::dns::Record, domain: &str) -> Option<Record> {
    let (name, ttl, kind) = (&record.name, record.ttl, &record.rtype);
    if matches!(kind.as_str(), "HTTPS" | "SVCB") {
        let relative = match name.strip_suffix(domain) {
            Some("") => "@",
            Some(labels) => labels.trim_end_matches('.'),
            None => name.as_str(),
        };
        return Some(Record::new(kind, relative, record.data.clone(), Some(ttl)));
    }
    let line = format!("{name}. {ttl} IN {kind} {}", record.data);
    let mut read = connect::zonefile::parse(&line, domain).ok()?.pop()?;
    if read.kind == "TXT" {
        // Presentation format again: quotes inside the text would be taken for those around it.
        read.data = format!("\"{}\"", read.data.replace('\\', "\\\\").replace('"', "\\\""));
    }
    Some(read)
}

/// Data in one spelling: host names without the final dot, parameters without quotes.
fn plain(record: &Record) -> String {
    let numbers =
        [record.priority, record.weight, record.port].map(|n| n.map_or(String::new(), |n| n.to_string()));
    let data = match record.kind.as_str() {
        "TXT" => record.text(),
        "AAAA" => {
            record.data.parse::<std::net::Ipv6Addr>().map_or_else(|_| record.data.clone(), |a| a.to_string())
        }
        "HTTPS" | "SVCB" | "CAA" => record.data.replace('"', ""),
        _ => record.data.trim_end_matches('.').to_lowercase(),
    };
    format!("{} {data}", numbers.join(" "))
}

/// A record as people read it.
pub(super) fn shown(record: &Record, domain: &str) -> LiveRecord {
    LiveRecord {
        name: absolute(&owner(record), domain),
        rtype: record.kind.clone(),
        value: connect::export::value(record),
        ttl: record.ttl,
    }
}

/// Servers that answered, with their places in the list.
pub(super) fn answered(zone: &LiveZone) -> impl Iterator<Item = (usize, &LiveServer)> {
    zone.servers.iter().enumerate().filter(|(_, s)| s.answered)
}
