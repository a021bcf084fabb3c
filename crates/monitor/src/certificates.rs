//! Certificates of a domain's web servers: which hosts are asked, and at which addresses. In: the zone as a scan has just
//! read it. Out: what each host presents.

use jiff::Timestamp;
use model::certificate::hosts::HostCertificate;
use model::dns::{RrSet, ZoneSnapshot};
use model::names::DomainName;
use std::net::IpAddr;

/// What the hosts of a domain present.
pub(crate) async fn observe(
    web: &net::Dialer,
    name: &DomainName,
    zone: &ZoneSnapshot,
    now: Timestamp,
) -> Vec<HostCertificate> {
    let hosts = hosts_of(name, zone);
    let looks = hosts.iter().map(|host| probe::host_certificate(web, host, addresses_in(zone, host), now));
    futures::future::join_all(looks).await
}

/// The apex and `www`, where the zone gives them addresses or an alias.
fn hosts_of(name: &DomainName, zone: &ZoneSnapshot) -> Vec<String> {
    let has_address = |host: &String| {
        let of_host = |r: &&RrSet| r.name.trim_end_matches('.').eq_ignore_ascii_case(host);
        zone.rrsets.iter().filter(of_host).any(|r| matches!(r.rtype.as_str(), "A" | "AAAA" | "CNAME"))
    };
    [name.as_str().to_string(), format!("www.{}", name.as_str())].into_iter().filter(has_address).collect()
}

/// The addresses that the zone has just given a host; none where it is an alias, or its servers did not answer for both
/// families.
fn addresses_in(zone: &ZoneSnapshot, host: &str) -> Vec<IpAddr> {
    let of_host = |name: &str| name.trim_end_matches('.').eq_ignore_ascii_case(host);
    let is_whole = !zone.unanswered.iter().any(|what| what.split(' ').next().is_some_and(of_host));
    let mut found: Vec<IpAddr> =
        zone.addresses().filter(|(set, _)| is_whole && of_host(&set.name)).map(|(_, ip)| ip).collect();
    found.sort();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(name: &str, rtype: &str, data: &[&str]) -> RrSet {
        let data = data.iter().map(|d| (*d).to_string()).collect();
        RrSet { name: name.into(), rtype: rtype.into(), ttl: 60, data }
    }

    #[test]
    fn addresses_are_those_of_the_zone_unless_something_is_missing() {
        let rrsets = vec![
            set("q7.io", "A", &["192.0.2.9", "192.0.2.7"]),
            set("q7.io", "AAAA", &["2001:db8::7"]),
            set("www.q7.io", "CNAME", &["host.elsewhere.test."]),
        ];
        let mut zone = ZoneSnapshot { rrsets, ..ZoneSnapshot::default() };
        let texts = |zone: &ZoneSnapshot, host: &str| -> Vec<String> {
            addresses_in(zone, host).iter().map(ToString::to_string).collect()
        };
        assert_eq!(hosts_of(&DomainName::trusted("q7.io"), &zone), ["q7.io", "www.q7.io"]);
        assert_eq!(texts(&zone, "q7.io"), ["192.0.2.7", "192.0.2.9", "2001:db8::7"]);
        assert!(texts(&zone, "www.q7.io").is_empty(), "an alias is followed");
        zone.unanswered = vec!["www.q7.io A".into()];
        assert_eq!(texts(&zone, "q7.io").len(), 3);
        zone.unanswered.push("q7.io AAAA".into());
        assert!(texts(&zone, "q7.io").is_empty(), "a part would pass for the whole");
    }
}
