//! The zone `asn.lab`: which autonomous system announces an address, in the form that Team Cymru's DNS service gave it.
//! In: networks of providers and of the scenario. Out: TXT records `ASN | prefix | country | registry | date` under
//! reversed addresses (`origin.` for IPv4, `origin6.` for IPv6), and one per system (`AS64500.asn.lab`).

use std::net::{IpAddr, Ipv4Addr};

use hickory_proto::rr::{RData, rdata::TXT};

use super::{Domain, LAB_TLD, RecordLine, World};
use crate::{
    Error, names,
    scenario::{Network, Scenario},
};

/// The zone's name.
pub(crate) const ASN_ZONE: &str = "asn.lab";
const DAY: u32 = 86_400;

/// Networks of the lab itself: every kind of server has one; numbers are those for documentation (RFC 5398).
const OWN: &[(Ipv4Addr, u32, &str)] = &[
    (Ipv4Addr::new(127, 53, 0, 0), 64_496, "LAB-DNS"),
    (Ipv4Addr::new(127, 43, 0, 0), 64_497, "LAB-WHOIS"),
    (Ipv4Addr::new(127, 44, 0, 0), 64_498, "LAB-RDAP"),
    (Ipv4Addr::new(127, 80, 0, 0), 64_499, "LAB-WEB"),
    (Ipv4Addr::new(127, 8, 0, 0), 64_500, "LAB-RESOLVERS"),
];

/// Labels of the prefix in reverse order, and the zone's half that they belong to.
fn reversed(ip: IpAddr, length: u8) -> String {
    match ip {
        IpAddr::V4(ip) => {
            let octets = ip.octets();
            let kept = octets.iter().take(usize::from(length / 8)).rev();
            kept.map(|o| format!("{o}.")).collect::<String>() + "origin"
        }
        IpAddr::V6(ip) => {
            let nibbles = ip.octets().into_iter().flat_map(|o| [o >> 4, o & 15]);
            let kept: Vec<u8> = nibbles.take(usize::from(length / 4)).collect();
            kept.iter().rev().map(|n| format!("{n:x}.")).collect::<String>() + "origin6"
        }
    }
}

fn text(owner: &str, text: String) -> RecordLine {
    let data = RData::TXT(TXT::new(vec![text]));
    RecordLine { name: names::wire(owner), ttl: DAY, rtype: data.record_type(), data }
}

impl World {
    /// Adds the zone; the servers of `lab` hold it.
    pub(super) fn add_origins(&mut self, scenario: &Scenario) -> Result<(), Error> {
        let own = OWN.iter().map(|(ip, asn, name)| Network {
            prefix: format!("{ip}/16"),
            asn: *asn,
            country: "ZZ".into(),
            registry: "lab".into(),
            date: "2020-01-01".into(),
            name: (*name).into(),
        });
        let given = scenario.provider.iter().flat_map(|p| &p.networks).chain(&scenario.origin).cloned();
        let mut records: Vec<RecordLine> = Vec::new();
        for network in own.chain(given) {
            let (ip, length) =
                network.parts().map_err(|reason| Error::Scenario { file: scenario.file.clone(), reason })?;
            let whole = length == if ip.is_ipv4() { 32 } else { 128 };
            let star = if whole { "" } else { "*." };
            let owner = format!("{star}{}.{ASN_ZONE}", reversed(ip, length));
            let Network { prefix, asn, country, registry, date, name } = network;
            records.push(text(&owner, format!("{asn} | {prefix} | {country} | {registry} | {date}")));
            if !name.is_empty() {
                let owner = format!("as{asn}.{ASN_ZONE}");
                records.push(text(&owner, format!("{asn} | {country} | {registry} | {date} | {name}")));
            }
        }
        records.sort_by(|a, b| (&a.name, a.data.to_string()).cmp(&(&b.name, b.data.to_string())));
        records.dedup();
        let servers = self.tld_servers.get(LAB_TLD).cloned().unwrap_or_default();
        let domain = Domain {
            story: "which autonomous system announces an address".into(),
            served_by: servers.iter().cloned().collect(),
            nameservers: servers,
            records,
            hostmaster: "hostmaster.nic.lab".into(),
            ..Domain::bare(ASN_ZONE, self.first_serial())
        };
        self.domains.insert(ASN_ZONE.into(), domain);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_become_names() {
        assert_eq!(reversed("127.61.3.0".parse().unwrap(), 24), "3.61.127.origin");
        assert_eq!(reversed("2001:db8:80::".parse().unwrap(), 48), "0.8.0.0.8.b.d.0.1.0.0.2.origin6");
    }
}
