//! The name server sets of the specification "MethodsV2", and the walk from the root that it shares with Basic01.

use super::context::{Context, authoritative};
use crate::classify::{ns_names, referral_zone};
use crate::resolve::{address, alias};
use crate::wire::{Data, Name, Reply, Rr, Rtype};
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

/// What a parent's server said of the child.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Word {
    Delegation,
    Soa,
    NxDomain,
    Cname,
    CnameWithReferral,
    Dname(Name),
    NoData,
}

/// What the walk from the root found.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    /// Server address, the zone it was asked for, and what it said of the child.
    pub words: BTreeSet<(IpAddr, Name, Word)>,
    /// Every server that was met: name, address, zone.
    pub met: BTreeSet<(Name, IpAddr, Name)>,
    /// Unexpected answers: query name, type, address.
    pub errors: BTreeSet<(Name, Rtype, IpAddr)>,
}

#[derive(Default)]
struct Stop {
    words: Vec<(Name, Word)>,
    servers: Vec<(Name, IpAddr, Name)>,
    error: Option<(Name, Rtype)>,
}

/// A referral as the specification has it: NOERROR, no AA, NS in the authority section, aliases at most as answers.
pub(crate) fn is_referral(reply: &Reply) -> bool {
    reply.rcode == 0
        && !reply.aa
        && referral_zone(reply).is_some()
        && reply.answers.iter().all(|rr| matches!(rr.rtype, Rtype::CNAME | Rtype::RRSIG))
}

impl Context<'_> {
    /// The walk, done once.
    pub async fn parent_walk(&self) -> &Walk {
        self.walk.get_or_init(|| self.walk_down()).await
    }

    async fn walk_down(&self) -> Walk {
        let mut walk = Walk::default();
        let mut handled: BTreeSet<(IpAddr, Name)> = BTreeSet::new();
        let mut remaining: BTreeSet<(Name, IpAddr, Name)> = BTreeSet::new();
        for server in self.session.settings.root_hints.servers() {
            let Ok(name) = Name::from_text(&server.name) else { continue };
            remaining.extend(server.addresses.iter().map(|ip| (name.clone(), *ip, Name::root())));
        }
        while !remaining.is_empty() {
            let wave: Vec<(Name, IpAddr, Name)> = std::mem::take(&mut remaining).into_iter().collect();
            walk.met.extend(wave.iter().cloned());
            let fresh: BTreeSet<(IpAddr, Name)> = wave
                .into_iter()
                .map(|(_, ip, zone)| (ip, zone))
                .filter(|key| handled.insert(key.clone()))
                .collect();
            let stops = join_all(fresh.iter().map(|(ip, zone)| self.visit(*ip, zone.clone()))).await;
            for ((ip, _), stop) in fresh.iter().zip(stops) {
                walk.words.extend(stop.words.into_iter().map(|(zone, word)| (*ip, zone, word)));
                walk.errors.extend(stop.error.map(|(name, rtype)| (name, rtype, *ip)));
                for server in stop.servers {
                    if !walk.met.contains(&server) {
                        remaining.insert(server);
                    }
                }
            }
        }
        walk
    }

    /// Asks one server of a zone its way down to the child.
    async fn visit(&self, ip: IpAddr, mut zone: Name) -> Stop {
        let mut stop = Stop::default();
        let soa = self.ask(ip, &zone, Rtype::SOA).await;
        if authoritative(soa.reply(), &zone, Rtype::SOA).is_none_or(|set| set.len() != 1) {
            stop.error = Some((zone, Rtype::SOA));
            return stop;
        }
        match self.servers_of(ip, &zone).await {
            Some(servers) => stop.servers.extend(servers),
            None => {
                stop.error = Some((zone, Rtype::NS));
                return stop;
            }
        }
        let mut depth = zone.labels().len();
        while depth < self.zone.labels().len() {
            depth += 1;
            let name = self.zone.trim_to(depth);
            let last = name == self.zone;
            let asked = self.ask(ip, &name, Rtype::SOA).await;
            let Some(reply) = asked.reply() else {
                stop.error = Some((name, Rtype::SOA));
                return stop;
            };
            let soas = authoritative(Some(reply), &name, Rtype::SOA).map_or(0, |set| set.len());
            if soas == 1 {
                if last {
                    stop.words.push((zone, Word::Soa));
                    return stop;
                }
                let Some(servers) = self.servers_of(ip, &name).await else {
                    stop.error = Some((name, Rtype::NS));
                    return stop;
                };
                stop.servers.extend(servers);
                zone = name;
            } else if reply.rcode == 3 && reply.aa {
                stop.words.push((zone, Word::NxDomain));
                return stop;
            } else if is_referral(reply) && referral_zone(reply) == Some(&name) {
                if last {
                    stop.words.push((zone, Word::Delegation));
                } else {
                    let names = ns_names(&reply.authority, &name);
                    stop.servers.extend(self.with_addresses(reply, names, &name).await);
                }
                return stop;
            } else if reply.rcode == 0 && reply.aa {
                if last {
                    let word =
                        if alias(reply, &name).is_some() { Word::Cname } else { self.dname_word(ip).await };
                    stop.words.push((zone, word));
                    return stop;
                }
            } else if is_referral(reply) && alias(reply, &self.zone).is_some() {
                stop.words.push((zone, Word::CnameWithReferral));
                return stop;
            } else {
                stop.error = Some((name, Rtype::SOA));
                return stop;
            }
        }
        stop
    }

    async fn dname_word(&self, ip: IpAddr) -> Word {
        let asked = self.ask(ip, &self.zone, Rtype::DNAME).await;
        let target = authoritative(asked.reply(), &self.zone, Rtype::DNAME).and_then(|set| {
            set.iter().find_map(|rr| match &rr.data {
                Data::Dname(target) => Some(target.clone()),
                _ => None,
            })
        });
        target.map_or(Word::NoData, Word::Dname)
    }

    /// The zone's own NS set as one of its servers gives it, with addresses.
    async fn servers_of(&self, ip: IpAddr, zone: &Name) -> Option<Vec<(Name, IpAddr, Name)>> {
        let asked = self.ask(ip, zone, Rtype::NS).await;
        let reply = asked.reply().filter(|r| r.rcode == 0 && r.aa)?;
        let all: Vec<&Rr> = reply.answers.iter().filter(|rr| rr.rtype == Rtype::NS).collect();
        if all.is_empty() || all.iter().any(|rr| rr.name != *zone) {
            return None;
        }
        let names = ns_names(&reply.answers, zone);
        Some(self.with_addresses(reply, names, zone).await)
    }

    async fn with_addresses(
        &self,
        reply: &Reply,
        names: Vec<Name>,
        zone: &Name,
    ) -> Vec<(Name, IpAddr, Name)> {
        let found = join_all(names.into_iter().map(|name| async move {
            let mut ips: BTreeSet<IpAddr> =
                reply.additional.iter().filter(|rr| rr.name == name).filter_map(address).collect();
            if ips.is_empty() {
                ips = self.addresses(&name).await;
            }
            (name, ips)
        }))
        .await;
        found
            .into_iter()
            .flat_map(|(n, ips)| ips.into_iter().map(move |ip| (n.clone(), ip, zone.clone())))
            .collect()
    }

    /// Get-Parent-NS-Names-and-IPs.
    pub async fn parent_ns(&self) -> &Option<NsMap> {
        self.parent
            .get_or_init(|| async {
                if self.zone.is_root() || self.is_undelegated() {
                    return Some(NsMap::new());
                }
                let walk = self.parent_walk().await;
                let mut out = NsMap::new();
                for (ip, _, word) in &walk.words {
                    if matches!(word, Word::Delegation | Word::Soa) {
                        for (name, _, _) in walk.met.iter().filter(|(_, a, _)| a == ip) {
                            out.entry(name.clone()).or_default().insert(*ip);
                        }
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
        if self.is_undelegated() {
            let servers = self.undelegated.servers.iter();
            return Some(
                servers
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
        for name in names {
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

    /// Get-OOB-IPs for one name.
    async fn out_of_bailiwick(&self, name: &Name) -> BTreeSet<IpAddr> {
        match self.undelegated.servers.get(name) {
            Some(given) if !given.is_empty() => given.clone(),
            _ => self.addresses(name).await,
        }
    }

    async fn add_out_of_bailiwick(&self, map: &mut NsMap) {
        let names: Vec<Name> = map.keys().filter(|n| !n.is_at_or_below(&self.zone)).cloned().collect();
        let found = join_all(names.iter().map(|n| self.out_of_bailiwick(n))).await;
        for (name, ips) in names.into_iter().zip(found) {
            map.entry(name).or_default().extend(ips);
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
                Some(names)
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

    /// Both sets together: what most test cases ask.
    pub async fn all_ns(&self) -> NsMap {
        let mut map = self.del_ns().await.clone().unwrap_or_default();
        for (name, ips) in self.zone_ns().await.iter().flatten() {
            map.entry(name.clone()).or_default().extend(ips);
        }
        map
    }

    /// Addresses of both sets.
    pub async fn all_ips(&self) -> BTreeSet<IpAddr> {
        ips(&self.all_ns().await)
    }
}
