//! The walk from the root to a zone's parent, all servers of all zones on the way asked: Basic01 step 6 and, of
//! "MethodsV2", Get-Parent-NS-Names-and-IPs step 5 (both of 2024, the methods with the server names of 2025).
//! In: the zone. Out: [`Walk`], what each server said of it.

use super::context::{Context, authoritative, serves};
use crate::resolve::classify::{ns_names, referral_zone};
use crate::resolve::{address, alias};
use crate::wire::{Data, Name, Reply, Rr, Rtype};
use futures::future::join_all;
use std::collections::BTreeSet;
use std::net::IpAddr;

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
    /// Servers, each as one of a zone, whose way down from there led to the child.
    pub knowing: BTreeSet<(IpAddr, Name)>,
    /// Unexpected answers: query name, type, address.
    pub errors: BTreeSet<(Name, Rtype, IpAddr)>,
}

/// The two specifications part where a server denies a name above the child: Basic01 takes that for the parent's word,
/// the methods go on below it (servers that deny empty non-terminals are common).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Denial {
    Ends,
    IsPassed,
}

#[derive(Default)]
struct Stop {
    /// Names this server was asked about.
    asked: Vec<Name>,
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
    /// The walk of Basic01, done once.
    pub async fn parent_walk(&self) -> &Walk {
        self.walk.get_or_init(|| self.walk_down(Denial::Ends)).await
    }

    /// True when a walk was made and no server said a word about the zone.
    pub fn walk_found_no_server(&self) -> bool {
        self.walk.get().is_some_and(|walk| walk.words.is_empty())
    }

    /// The walk of the methods, done once; nearly all its answers are in the session's memory by then.
    pub async fn methods_walk(&self) -> &Walk {
        self.methods_walk.get_or_init(|| self.walk_down(Denial::IsPassed)).await
    }

    async fn walk_down(&self, denial: Denial) -> Walk {
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
            let stops = join_all(fresh.iter().map(|(ip, zone)| self.visit(*ip, zone.clone(), denial))).await;
            for ((ip, zone), stop) in fresh.iter().zip(stops) {
                // Basic01 keeps query names in "Handled Servers", the methods the zones of servers alone: there a server
                // is asked again about a zone whose server it turned out to be.
                if denial == Denial::Ends {
                    handled.extend(stop.asked.into_iter().map(|name| (*ip, name)));
                }
                if stop.words.iter().any(|(_, word)| matches!(word, Word::Delegation | Word::Soa)) {
                    walk.knowing.insert((*ip, zone.clone()));
                }
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
    async fn visit(&self, ip: IpAddr, mut zone: Name, denial: Denial) -> Stop {
        let mut stop = Stop::default();
        let soa = self.ask(ip, &zone, Rtype::SOA).await;
        // One SOA record in all, whatever its owner, and that of the zone.
        let soas = soa.reply().map_or(0, |r| r.answers.iter().filter(|rr| rr.rtype == Rtype::SOA).count());
        if soas != 1 || !serves(soa.reply(), &zone) {
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
            stop.asked.push(name.clone());
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
                if last || denial == Denial::Ends {
                    stop.words.push((zone, Word::NxDomain));
                    return stop;
                }
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

    pub(super) async fn with_addresses(
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
}
