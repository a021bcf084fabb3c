//! The name server sets of the specification "MethodsV2". In: the zone and the walk to its parent. Out: names with
//! addresses of the parent's servers, of the delegation, and of the zone itself; `None` is undetermined.

use super::context::Context;
use super::walk::is_referral;
use crate::resolve::classify::{ns_names, referral_zone};
use crate::resolve::{MAX_SERVERS, address, alias};
use crate::wire::{Name, Reply, Rtype};
use futures::future::{BoxFuture, join_all};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// Name servers with their addresses.
pub(crate) type NsMap = BTreeMap<Name, BTreeSet<IpAddr>>;

/// `name/address`, or the name alone when it has none.
pub(crate) fn entries(map: &NsMap) -> Vec<String> {
    map.iter()
        .flat_map(|(name, ips)| {
            let bare = ips.is_empty().then(|| name.to_string());
            ips.iter().map(move |ip| format!("{name}/{ip}")).chain(bare)
        })
        .collect()
}

/// All addresses of a set.
pub(crate) fn ips(map: &NsMap) -> BTreeSet<IpAddr> {
    map.values().flatten().copied().collect()
}

impl Context<'_> {
    /// Get-Parent-NS-Names-and-IPs.
    pub async fn parent_ns(&self) -> &Option<NsMap> {
        self.parent
            .get_or_init(|| async {
                if self.zone.is_root() || self.is_undelegated() {
                    return Some(NsMap::new());
                }
                let walk = self.methods_walk().await;
                let mut out = NsMap::new();
                for (name, ip, zone) in &walk.met {
                    if walk.knowing.contains(&(*ip, zone.clone())) {
                        out.entry(name.clone()).or_default().insert(*ip);
                    }
                }
                (!out.is_empty()).then_some(out)
            })
            .await
    }

    /// Get-Delegation: names with glue of in-bailiwick names.
    pub async fn delegation(&self) -> &Option<NsMap> {
        self.delegation.get_or_init(|| self.find_delegation()).await
    }

    async fn find_delegation(&self) -> Option<NsMap> {
        if let Some(servers) = self.stated() {
            return Some(
                servers
                    .iter()
                    .map(|(name, ips)| {
                        let inside = name.is_at_or_below(&self.zone);
                        (name.clone(), if inside { ips.clone() } else { BTreeSet::new() })
                    })
                    .collect(),
            );
        }
        if self.zone.is_root() {
            let hints = self.session.settings.root_hints.servers().iter();
            return Some(
                hints
                    .filter_map(|s| {
                        Some((Name::from_text(&s.name).ok()?, s.addresses.iter().copied().collect()))
                    })
                    .collect(),
            );
        }
        let parents = ips(self.parent_ns().await.as_ref()?);
        let (mut delegated, mut answered) = (NsMap::new(), NsMap::new());
        for (ip, asked) in self.ask_each(&parents, &self.zone, Rtype::NS).await {
            let Some(reply) = asked.reply().filter(|r| r.rcode == 0) else { continue };
            if is_referral(reply) && referral_zone(reply) == Some(&self.zone) {
                self.collect(reply, ns_names(&reply.authority, &self.zone), &mut delegated);
            } else if reply.aa {
                let names = ns_names(&reply.answers, &self.zone);
                self.collect(reply, names.clone(), &mut answered);
                for name in names.iter().filter(|n| n.is_at_or_below(&self.zone)) {
                    if answered.get(name).is_some_and(BTreeSet::is_empty) {
                        let found = self.chase(ip, name).await;
                        answered.entry(name.clone()).or_default().extend(found);
                    }
                }
            }
        }
        Some(if delegated.is_empty() { answered } else { delegated })
    }

    fn collect(&self, reply: &Reply, names: Vec<Name>, into: &mut NsMap) {
        for name in names.into_iter().take(MAX_SERVERS) {
            let glue: Vec<IpAddr> = reply
                .additional
                .iter()
                .filter(|rr| rr.name == name && name.is_at_or_below(&self.zone))
                .filter_map(address)
                .collect();
            into.entry(name).or_default().extend(glue);
        }
    }

    /// Addresses of a name by asking one server, following referrals below the zone and aliases.
    pub(super) async fn chase(&self, ip: IpAddr, name: &Name) -> BTreeSet<IpAddr> {
        let (v4, v6) = futures::join!(
            self.chase_type(ip, name.clone(), Rtype::A, 0),
            self.chase_type(ip, name.clone(), Rtype::AAAA, 0)
        );
        v4.into_iter().chain(v6).collect()
    }

    fn chase_type(&self, ip: IpAddr, name: Name, rtype: Rtype, depth: u8) -> BoxFuture<'_, BTreeSet<IpAddr>> {
        Box::pin(async move {
            let asked = self.ask(ip, &name, rtype).await;
            let Some(reply) = asked.reply().filter(|r| r.rcode == 0 && depth < 8) else {
                return BTreeSet::new();
            };
            if let Some(below) = referral_zone(reply).filter(|z| is_referral(reply) && z.is_below(&self.zone))
            {
                let names = ns_names(&reply.authority, below);
                let servers = self.with_addresses(reply, names, below).await;
                let next: BTreeSet<IpAddr> = servers.into_iter().map(|(_, ip, _)| ip).collect();
                let mut out = BTreeSet::new();
                for ip in next {
                    out.extend(self.chase_type(ip, name.clone(), rtype, depth + 1).await);
                }
                return out;
            }
            if !reply.aa {
                return BTreeSet::new();
            }
            if let Some(target) = alias(reply, &name) {
                let here: BTreeSet<IpAddr> =
                    reply.answers.iter().filter(|rr| rr.name == target).filter_map(address).collect();
                if here.is_empty() {
                    let found = self.lookup(&target, rtype).await;
                    let records = found.as_ref().and_then(|f| f.asked.reply()).map(|r| r.answers.as_slice());
                    return records.unwrap_or_default().iter().filter_map(address).collect();
                }
                return here;
            }
            reply.answers.iter().filter(|rr| rr.name == name).filter_map(address).collect()
        })
    }

    /// Get-OOB-IPs: what the user gave, else what the DNS says.
    async fn add_out_of_bailiwick(&self, map: &mut NsMap) {
        let mut unknown = Vec::new();
        for (name, ips) in map.iter_mut().filter(|(n, _)| !n.is_at_or_below(&self.zone)) {
            match self.undelegated.servers.get(name) {
                Some(given) if !given.is_empty() => ips.extend(given),
                _ => unknown.push(name.clone()),
            }
        }
        let found = self.session.hosts(unknown.clone()).await;
        for (name, found) in unknown.into_iter().zip(found) {
            map.entry(name).or_default().extend(found.addresses);
        }
    }

    /// Get-Del-NS-Names-and-IPs.
    pub async fn del_ns(&self) -> &Option<NsMap> {
        self.del
            .get_or_init(|| async {
                let mut map = self.delegation().await.clone()?;
                self.add_out_of_bailiwick(&mut map).await;
                Some(map)
            })
            .await
    }

    /// True when no server of the delegation can be asked from here, though some have addresses: it says nothing of them.
    pub async fn is_out_of_reach(&self) -> bool {
        let servers = self.del_ns().await.as_ref().map(ips).unwrap_or_default();
        !servers.is_empty() && servers.iter().all(|ip| self.is_disabled(*ip))
    }

    /// Get-Zone-NS-Names.
    pub async fn zone_ns_names(&self) -> &Option<BTreeSet<Name>> {
        self.zone_names
            .get_or_init(|| async {
                let servers = ips(self.del_ns().await.as_ref()?);
                let mut names = BTreeSet::new();
                for (_, asked) in self.ask_each(&servers, &self.zone, Rtype::NS).await {
                    if let Some(reply) = asked.reply().filter(|r| r.aa) {
                        names.extend(ns_names(&reply.answers, &self.zone));
                    }
                }
                Some(names.into_iter().take(MAX_SERVERS).collect())
            })
            .await
    }

    /// Get-Zone-NS-Names-and-IPs.
    pub async fn zone_ns(&self) -> &Option<NsMap> {
        self.zone_servers
            .get_or_init(|| async {
                let names = self.zone_ns_names().await.as_ref()?;
                let servers = ips(self.del_ns().await.as_ref()?);
                let mut map: NsMap = names.iter().map(|n| (n.clone(), BTreeSet::new())).collect();
                for name in names.iter().filter(|n| n.is_at_or_below(&self.zone)) {
                    let found = join_all(servers.iter().map(|ip| self.chase(*ip, name))).await;
                    map.entry(name.clone()).or_default().extend(found.into_iter().flatten());
                }
                self.add_out_of_bailiwick(&mut map).await;
                Some(map)
            })
            .await
    }

    /// Method4 of version 1, which Delegation01 and Consistency05 go by: it asks for the addresses of the delegation's
    /// names, so inside the zone they are what the names resolve to, and glue only where they resolve to nothing.
    pub async fn del_resolved(&self) -> NsMap {
        let mut map = self.del_ns().await.clone().unwrap_or_default();
        // What a person gave stands for the delegation as it will be, and the hints for that of the root.
        if self.is_undelegated() || self.zone.is_root() {
            return map;
        }
        let zone = self.zone_ns().await.clone().unwrap_or_default();
        let inside = map.keys().filter(|name| name.is_at_or_below(&self.zone)).cloned();
        let (listed, unknown): (Vec<Name>, Vec<Name>) = inside.partition(|name| zone.contains_key(name));
        let looked_up = self.session.hosts(unknown.clone()).await;
        let looked_up = looked_up.into_iter().map(|found| found.addresses.into_iter().collect());
        let known: Vec<BTreeSet<IpAddr>> = listed.iter().map(|name| zone[name].clone()).collect();
        let found = listed.into_iter().zip(known).chain(unknown.into_iter().zip(looked_up));
        map.extend(found.filter(|(_, ips)| !ips.is_empty()));
        map
    }

    /// Both sets together: what most test cases ask.
    pub async fn all_ns(&self) -> NsMap {
        let mut map = self.del_ns().await.clone().unwrap_or_default();
        for (name, ips) in self.zone_ns().await.iter().flatten() {
            map.entry(name.clone()).or_default().extend(ips);
        }
        map
    }

    /// Addresses of both sets that can be asked from here.
    pub async fn all_ips(&self) -> BTreeSet<IpAddr> {
        let mut all = ips(&self.all_ns().await);
        all.retain(|ip| !self.is_disabled(*ip));
        all
    }
}
