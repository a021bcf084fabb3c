//! Delegation01 (enough servers), Delegation02 (distinct addresses), Delegation03 (referral fits 512 octets).

use super::context::{Context, joined};
use super::methods::NsMap;
use crate::wire::Name;
use model::finding::Finding;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

pub(super) async fn delegation01(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Delegation01");
    let mut del = c.del_ns().await.clone().unwrap_or_default();
    // A server whose glue lacks a family is still reached over it when its name resolves.
    for (name, ips) in c.del_resolved().await {
        del.entry(name).or_default().extend(ips);
    }
    let child = c.zone_ns().await.clone().unwrap_or_default();
    for (side, servers) in [("DEL", &del), ("CHILD", &child)] {
        let enough = if servers.len() >= 2 { "ENOUGH" } else { "NOT_ENOUGH" };
        let args =
            [("count", servers.len().into()), ("minimum", 2.into()), ("nsname_list", joined(servers.keys()))];
        out.add(&format!("{enough}_NS_{side}"), &args);
        for (family, v4) in [("IPV4", true), ("IPV6", false)] {
            let names: Vec<&Name> = servers
                .iter()
                .filter(|(_, ips)| ips.iter().any(|ip| ip.is_ipv4() == v4))
                .map(|(n, _)| n)
                .collect();
            let what = match names.len() {
                0 => "NO",
                1 => "NOT_ENOUGH",
                _ => "ENOUGH",
            };
            let args = [("count", names.len().into()), ("minimum", 2.into()), ("ns_list", joined(&names))];
            out.add(&format!("{what}_{family}_NS_{side}"), &args);
        }
    }
    out.list
}

pub(super) async fn delegation02(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Delegation02");
    let del = c.del_ns().await.clone().unwrap_or_default();
    let child = c.zone_ns().await.clone().unwrap_or_default();
    for (side, servers) in [("DEL", &del), ("CHILD", &child)] {
        let mut by_ip: BTreeMap<IpAddr, BTreeSet<&Name>> = BTreeMap::new();
        for (name, ips) in servers {
            for ip in ips {
                by_ip.entry(*ip).or_default().insert(name);
            }
        }
        let mut shared = false;
        for (ip, names) in by_ip.iter().filter(|(_, names)| names.len() > 1) {
            shared = true;
            let args = [("ns_ip", ip.to_string().into()), ("nsname_list", joined(names))];
            out.add(&format!("{side}_NS_SAME_IP"), &args);
        }
        if !shared && !by_ip.is_empty() {
            out.add(&format!("{side}_DISTINCT_NS_IP"), &[]);
        }
    }
    out.list
}

pub(super) async fn delegation03(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Delegation03");
    let servers = c.del_ns().await.clone().unwrap_or_default();
    let parent = parent_zone(c).await;
    let size = referral_size(&c.zone, &parent, &servers);
    let tag = if size > 512 { "REFERRAL_SIZE_TOO_LARGE" } else { "REFERRAL_SIZE_OK" };
    out.add(tag, &[("size", size.into())]);
    out.list
}

async fn parent_zone(c: &Context<'_>) -> Name {
    if c.is_undelegated() || c.zone.is_root() {
        return c.zone.parent();
    }
    let walk = c.parent_walk().await;
    let zones: Vec<&Name> = walk.words.iter().map(|(_, zone, _)| zone).collect();
    zones.into_iter().max_by_key(|z| z.labels().len()).cloned().unwrap_or_else(|| c.zone.parent())
}

/// Octets of a referral for the longest possible name below the zone, names compressed (RFC 1035 section 4.1.4).
fn referral_size(zone: &Name, parent: &Name, servers: &NsMap) -> usize {
    let mut message = Compressor { size: 12, ..Compressor::default() };
    message.longest(zone);
    message.size += 4;
    for name in servers.keys() {
        message.name(zone);
        message.size += 10;
        message.name(name);
    }
    for v4 in [true, false] {
        let with: Vec<&Name> = servers
            .iter()
            .filter(|(_, ips)| ips.iter().any(|ip| ip.is_ipv4() == v4))
            .map(|(n, _)| n)
            .collect();
        if let Some(first) = with.first().filter(|_| with.iter().all(|n| n.is_at_or_below(parent))) {
            message.name(first);
            message.size += 10 + if v4 { 4 } else { 16 };
        }
    }
    message.size
}

/// Counts the octets of names as a compressing encoder writes them.
#[derive(Default)]
struct Compressor {
    size: usize,
    known: HashMap<Name, usize>,
}

impl Compressor {
    fn name(&mut self, name: &Name) {
        let mut rest = name.clone();
        while !rest.is_root() {
            if self.known.contains_key(&rest) {
                self.size += 2;
                return;
            }
            if self.size < 0x4000 {
                self.known.insert(rest.clone(), self.size);
            }
            self.size += rest.labels().next().map_or(0, <[u8]>::len) + 1;
            rest = rest.parent();
        }
        self.size += 1;
    }

    /// A name of 255 octets that ends in the zone.
    fn longest(&mut self, zone: &Name) {
        let start = self.size;
        self.size += 255 - zone.wire_len();
        self.name(zone);
        debug_assert_eq!(self.size - start, 255);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_a_referral_is_counted_with_compression() {
        let name = |t: &str| Name::from_text(t).unwrap();
        let servers: NsMap = [
            (name("ns1.example.com"), BTreeSet::from(["192.0.2.1".parse().unwrap()])),
            (name("ns2.example.com"), BTreeSet::from(["2001:db8::1".parse().unwrap()])),
        ]
        .into();
        // 12 header, 255+4 question, 2 × (2+10+ 4+2) NS, A: 2+10+4, AAAA: 2+10+16.
        assert_eq!(referral_size(&name("example.com"), &name("com"), &servers), 12 + 259 + 36 + 16 + 28);
        // A server outside the parent: no glue is counted for its family.
        let mut more = servers.clone();
        more.insert(name("ns.example.net"), BTreeSet::from(["192.0.2.9".parse().unwrap()]));
        assert!(referral_size(&name("example.com"), &name("com"), &more) < 12 + 259 + 36 + 16 + 28 + 30);
    }
}
