//! Which server most findings of a check come from: one refusing server makes a dozen test cases complain, and a person
//! has one thing to do. In: findings with Zonemaster's arguments. Out: the server and how much it accounts for; and for
//! one finding, what to type to see it oneself (dig, RFC 9499 terms).

use crate::finding::{Finding, Level};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// A server that most of what is wrong is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Culprit {
    /// Its name.
    pub server: String,
    /// Findings, WARNING and above, that are about this server alone.
    pub findings: usize,
    /// All findings of these levels.
    pub of: usize,
}

impl Culprit {
    /// What to make of it, in a sentence.
    pub fn sentence(&self, before_a_move: bool) -> String {
        let todo = if before_a_move {
            "mend it before you switch, or leave it out"
        } else {
            "mend it, or take it out of the delegation, before you look at the rest"
        };
        let many = if self.findings == self.of {
            format!("All {} are about one server", self.of)
        } else {
            format!("{} of these {} are about one server", self.findings, self.of)
        };
        format!("{many}, {}: {todo}.", self.server)
    }
}

/// The server that at least three findings, and half of all, are about.
pub fn culprit(findings: &[Finding]) -> Option<Culprit> {
    let bad: Vec<&Finding> = findings.iter().filter(|f| f.level >= Level::Warning).collect();
    let names = names_by_address(findings);
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for finding in &bad {
        let servers = servers_of(finding, &names);
        if servers.len() == 1 {
            for server in servers {
                *counts.entry(server).or_default() += 1;
            }
        }
    }
    let (server, n) = counts.into_iter().max_by_key(|(_, n)| *n)?;
    (n >= 3 && n * 2 >= bad.len()).then_some(Culprit { server, findings: n, of: bad.len() })
}

/// The arguments that name servers: `name`, `name/address` or an address, several with `;` between.
const SERVERS: [&str; 7] = ["ns", "ns_list", "ns_ip", "ns_ip_list", "nsname", "nsname_list", "extra"];

fn parts(finding: &Finding) -> impl Iterator<Item = &str> {
    SERVERS
        .iter()
        .filter_map(|key| finding.args.get(*key)?.as_str())
        .flat_map(|text| text.split([';', ',']).map(str::trim).filter(|t| !t.is_empty()))
}

/// Name and address of `name/address`, in whichever of the three forms.
fn read(part: &str) -> (Option<&str>, Option<IpAddr>) {
    match part.split_once('/') {
        Some((name, address)) => (Some(name), address.parse().ok()),
        None => match part.parse() {
            Ok(ip) => (None, Some(ip)),
            Err(_) => (Some(part), None),
        },
    }
}

/// Addresses stand alone in some findings; others say whose they are.
fn names_by_address(findings: &[Finding]) -> BTreeMap<IpAddr, String> {
    let pairs = findings.iter().flat_map(parts).filter_map(|p| match read(p) {
        (Some(name), Some(ip)) => Some((ip, name.to_string())),
        _ => None,
    });
    pairs.collect()
}

fn servers_of(finding: &Finding, names: &BTreeMap<IpAddr, String>) -> BTreeSet<String> {
    parts(finding)
        .map(|part| match read(part) {
            (Some(name), _) => name.to_string(),
            (None, Some(ip)) => names.get(&ip).cloned().unwrap_or_else(|| ip.to_string()),
            (None, None) => part.to_string(),
        })
        .collect()
}

/// What to type to see a finding oneself: the question that was asked, to the first server it names. None where no
/// single question shows it. The zone has been read as a name and an address is one, so the line can be pasted.
pub fn command(finding: &Finding) -> Option<String> {
    let server = parts(finding).find_map(|p| read(p).1)?;
    let (tag, case) = (finding.tag.as_str(), finding.test_case.as_str());
    let zone = if finding.zone.is_empty() { "." } else { finding.zone.as_str() };
    if !is_plain(zone) {
        return None;
    }
    if case == "Nameserver15" {
        return Some(format!("dig @{server} version.bind CH TXT"));
    }
    if case.starts_with("Address") {
        return Some(format!("dig -x {server}"));
    }
    if case == "Delegation05" {
        // It is the server's own name that was asked for.
        let name = finding.args.get("nsname")?.as_str().filter(|n| is_plain(n))?;
        return Some(format!("dig @{server} {name} A +norecurse"));
    }
    let rtype = rtype_of(tag, case)?;
    let tcp = tag.ends_with("_TCP") || finding.args.get("proto").and_then(|p| p.as_str()) == Some("TCP");
    let mut options = vec!["+norecurse"];
    if tcp {
        options.push("+tcp");
    }
    if case.starts_with("DNSSEC") {
        options.push("+dnssec");
    }
    match case {
        "Nameserver10" => options.push("+edns=1"),
        "Nameserver11" => options.push("+ednsopt=137"),
        "Nameserver12" => options.push("+ednsflags=0x40"),
        "Nameserver13" => options.extend(["+dnssec", "+bufsize=512", "+ignore"]),
        _ => {}
    }
    Some(format!("dig @{server} {zone} {rtype} {}", options.join(" ")))
}

fn is_plain(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'))
}

/// The type that was asked for.
fn rtype_of(tag: &str, case: &str) -> Option<&'static str> {
    let in_tag = |word: &str| tag.split('_').any(|w| w == word);
    for known in ["NSEC3PARAM", "NSEC", "CDNSKEY", "CDS", "DNSKEY", "SOA", "AXFR", "AAAA", "MX"] {
        if in_tag(known) {
            return Some(known);
        }
    }
    match case {
        "Connectivity01" | "Connectivity02" if in_tag("NS") => Some("NS"),
        "Consistency02" | "Consistency04" | "Delegation07" => Some("NS"),
        "Nameserver03" => Some("AXFR"),
        "Nameserver05" if in_tag("A") => Some("A"),
        "Nameserver05" => Some("AAAA"),
        "Nameserver13" => Some("DNSKEY"),
        "Zone09" => Some("MX"),
        "Zone11" => Some("TXT"),
        // The parent's servers are asked for the zone's DS records.
        "DNSSEC01" => Some("DS"),
        "DNSSEC03" => Some("NSEC3PARAM"),
        "DNSSEC15" | "DNSSEC16" | "DNSSEC18" => Some("CDS"),
        "DNSSEC17" => Some("CDNSKEY"),
        "Domainscope" => None,
        c if c.starts_with("DNSSEC") => Some("DNSKEY"),
        c if c.starts_with("Syntax") || c == "Delegation03" => None,
        _ => Some("SOA"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn finding(level: Level, case: &str, tag: &str, args: serde_json::Value) -> Finding {
        let serde_json::Value::Object(args) = args else { unreachable!("arguments are an object") };
        Finding {
            broken: false,
            tag: tag.into(),
            level,
            args,
            test_case: case.into(),
            zone: "alder.example".into(),
            message: String::new(),
            fix: String::new(),
        }
    }

    #[test]
    fn one_refusing_server_is_named_whichever_way_its_findings_name_it() {
        let mut findings = vec![
            finding(Level::Error, "Delegation07", "EXTRA_NAME_PARENT", json!({"extra": "old.example"})),
            finding(Level::Warning, "Connectivity01", "A", json!({"ns": "old.example/192.0.2.9"})),
            finding(Level::Warning, "Nameserver02", "B", json!({"ns_ip_list": "192.0.2.9"})),
            finding(
                Level::Warning,
                "Zone09",
                "C",
                json!({"ns_list": "a.example/192.0.2.1;b.example/192.0.2.2"}),
            ),
            finding(Level::Notice, "Zone02", "D", json!({"ns": "a.example/192.0.2.1"})),
        ];
        let told = culprit(&findings).unwrap();
        assert_eq!(told, Culprit { server: "old.example".into(), findings: 3, of: 4 });
        assert!(
            told.sentence(false)
                .starts_with("3 of these 4 are about one server, old.example: mend it, or take")
        );
        assert!(told.sentence(true).contains("before you switch"));
        findings.remove(3);
        assert!(culprit(&findings).unwrap().sentence(false).starts_with("All 3 are about one server"));
    }

    #[test]
    fn nobody_is_named_for_little_or_for_what_is_spread() {
        let at = |ns: &str| finding(Level::Warning, "Zone01", "A", json!({ "ns": ns }));
        assert_eq!(culprit(&[]), None);
        assert_eq!(culprit(&[at("a.example/192.0.2.1"), at("a.example/192.0.2.1")]), None);
        let spread: Vec<_> = ["a", "a", "a", "b", "b", "c", "c"].map(|n| at(&format!("{n}.example"))).into();
        assert_eq!(culprit(&spread), None);
    }

    #[test]
    fn what_to_type() {
        let typed = |case: &str, tag: &str, args| command(&finding(Level::Warning, case, tag, args));
        let ns = || json!({"ns": "old.example/192.0.2.9"});
        assert_eq!(
            typed("Connectivity02", "CN02_UNEXPECTED_RCODE_NS_QUERY_TCP", ns()).unwrap(),
            "dig @192.0.2.9 alder.example NS +norecurse +tcp"
        );
        assert_eq!(
            typed(
                "Delegation04",
                "IS_NOT_AUTHORITATIVE",
                json!({"ns": "o.example/2001:db8::9", "proto": "TCP"})
            )
            .unwrap(),
            "dig @2001:db8::9 alder.example SOA +norecurse +tcp"
        );
        assert_eq!(
            typed("DNSSEC14", "NO_RESPONSE_DNSKEY", json!({"ns_list": "o.example/192.0.2.9"})).unwrap(),
            "dig @192.0.2.9 alder.example DNSKEY +norecurse +dnssec"
        );
        assert_eq!(
            typed("DNSSEC01", "DS01_DS_ALGO_DEPRECATED", json!({"ns_ip_list": "192.0.2.1"})).unwrap(),
            "dig @192.0.2.1 alder.example DS +norecurse +dnssec"
        );
        assert_eq!(typed("Nameserver15", "N15_X", ns()).unwrap(), "dig @192.0.2.9 version.bind CH TXT");
        let of_name = json!({"ns": "o.example/192.0.2.9", "nsname": "ns.other.example"});
        assert_eq!(
            typed("Delegation05", "UNEXPECTED_RCODE", of_name).unwrap(),
            "dig @192.0.2.9 ns.other.example A +norecurse"
        );
        assert!(
            typed("Nameserver05", "A_UNEXPECTED_RCODE", ns())
                .unwrap()
                .ends_with("alder.example A +norecurse")
        );
        // Nothing to ask, no one to ask, or a name that a shell could read as more than a name.
        assert_eq!(typed("Syntax01", "NON_ALLOWED_CHARS", ns()), None);
        assert_eq!(typed("Zone02", "REFRESH_MINIMUM_VALUE_LOWER", json!({"refresh": 7200})), None);
        let mut odd = finding(Level::Warning, "Zone01", "A", ns());
        odd.zone = "a;b.example".into();
        assert_eq!(command(&odd), None);
    }
}
