//! What all test cases share: the zone, the undelegated data, the questions of the specification, and the name
//! server sets, each worked out once.

use super::CheckOptions;
use super::methods::NsMap;
use super::tags::Findings;
use crate::error::Error;
use crate::session::{Asked, Manner, Session};
use crate::wire::{Edns, Name, Question, Reply, Rr, Rtype};
use futures::future::join_all;
use model::dns::NsName;
use model::registration::Ds;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use tokio::sync::OnceCell;

/// Name servers and DS records a person gave.
#[derive(Debug, Clone, Default)]
pub(crate) struct Undelegated {
    pub servers: BTreeMap<Name, BTreeSet<IpAddr>>,
    pub ds: Vec<Ds>,
}

impl Undelegated {
    pub fn new(options: &CheckOptions) -> Result<Self, Error> {
        let mut servers: BTreeMap<Name, BTreeSet<IpAddr>> = BTreeMap::new();
        for (name, address) in &options.undelegated_ns {
            servers.entry(crate::engine::wire_name(name)?).or_default().extend(address);
        }
        Ok(Undelegated { servers, ds: options.undelegated_ds.clone() })
    }
}

/// Shared by the test cases of one run.
pub(crate) struct Context<'s> {
    pub session: &'s Session,
    pub zone: Name,
    /// The zone as text, for findings.
    pub text: String,
    pub undelegated: Undelegated,
    pub asn_zone: String,
    pub now: jiff::Timestamp,
    pub(super) walk: OnceCell<super::walk::Walk>,
    pub(super) methods_walk: OnceCell<super::walk::Walk>,
    pub(super) parent: OnceCell<Option<NsMap>>,
    pub(super) delegation: OnceCell<Option<NsMap>>,
    pub(super) del: OnceCell<Option<NsMap>>,
    pub(super) zone_names: OnceCell<Option<BTreeSet<Name>>>,
    pub(super) zone_servers: OnceCell<Option<NsMap>>,
}

impl<'s> Context<'s> {
    pub fn new(session: &'s Session, zone: Name, undelegated: Undelegated, options: &CheckOptions) -> Self {
        if !undelegated.servers.is_empty() {
            // Look-ups must see the tree as it would be after the move.
            let servers = undelegated.servers.iter().map(|(name, addresses)| NsName {
                name: name.to_string(),
                addresses: addresses.iter().copied().collect(),
                glue: !addresses.is_empty(),
            });
            session.learn_zone(&zone, servers.collect(), 0);
        }
        Context {
            session,
            text: zone.to_string(),
            zone,
            undelegated,
            asn_zone: if options.asn_zone.is_empty() {
                session.settings.asn_zone.clone()
            } else {
                options.asn_zone.clone()
            },
            now: options.now,
            walk: OnceCell::new(),
            methods_walk: OnceCell::new(),
            parent: OnceCell::new(),
            delegation: OnceCell::new(),
            del: OnceCell::new(),
            zone_names: OnceCell::new(),
            zone_servers: OnceCell::new(),
        }
    }

    pub fn findings(&self, test_case: &'static str) -> Findings<'_> {
        Findings::new(test_case, &self.text)
    }

    pub fn is_undelegated(&self) -> bool {
        !self.undelegated.servers.is_empty()
    }

    /// A "DNS Query" of the specification: UDP, no EDNS, TCP when truncated.
    pub async fn ask(&self, ip: IpAddr, name: &Name, rtype: Rtype) -> Arc<Asked> {
        self.session.ask(ip, &plain(name, rtype), Manner::Exact).await
    }

    /// A "DNSSEC Query": EDNS with DO and a payload of 1232.
    pub async fn ask_dnssec(&self, ip: IpAddr, name: &Name, rtype: Rtype) -> Arc<Asked> {
        let edns = Edns { version: 0, payload: 1232, dnssec_ok: true, z: 0, options: Vec::new() };
        let question = Question { edns: Some(edns), ..plain(name, rtype) };
        self.session.ask(ip, &question, Manner::Exact).await
    }

    /// True for an address of a closed network's own ([`crate::Settings::own_networks`]).
    pub fn is_own(&self, ip: IpAddr) -> bool {
        let own = &self.session.settings.own_networks;
        own.iter().any(|(block, length)| super::address::within(ip, *block, *length))
    }

    /// True for an address over which this host cannot ask anything: the specifications then skip it.
    pub fn is_disabled(&self, ip: IpAddr) -> bool {
        if ip.is_ipv6() { self.session.lacks_v6() } else { self.session.lacks_v4() }
    }

    /// The same plain question to many addresses at once; those that cannot be asked from here are left out.
    pub async fn ask_each(
        &self,
        ips: &BTreeSet<IpAddr>,
        name: &Name,
        rtype: Rtype,
    ) -> Vec<(IpAddr, Arc<Asked>)> {
        let all = ips.iter().map(|ip| async move { (*ip, self.ask(*ip, name, rtype).await) });
        let mut asked = join_all(all).await;
        asked.retain(|(ip, _)| !self.is_disabled(*ip));
        asked
    }

    /// A "DNS Lookup": records of the name, aliases followed.
    pub async fn lookup(&self, name: &Name, rtype: Rtype) -> Option<crate::resolve::Resolved> {
        self.session.resolve(name.clone(), rtype, true, Vec::new()).await.ok()
    }

    /// Whether a look-up that led nowhere was answered at all: by any server of the closest zone, with whatever.
    pub async fn is_answered(&self, name: &Name, rtype: Rtype) -> bool {
        let (_, servers) = self.session.closest_zone(name);
        // The question as the look-up asked it: its answers are remembered.
        let question = Question {
            edns: Some(Edns::ordinary(self.session.signatures)),
            ..Question::new(name.clone(), rtype)
        };
        let ips: BTreeSet<IpAddr> = servers.iter().flat_map(|s| s.addresses.iter().copied()).collect();
        let all = ips.iter().map(|ip| self.session.ask(*ip, &question, Manner::Resolver));
        join_all(all).await.iter().any(|asked| asked.reply().is_some())
    }

    /// IPv4 and IPv6 addresses by look-up, aliases followed.
    pub async fn addresses(&self, name: &Name) -> BTreeSet<IpAddr> {
        self.session.host(name.clone(), Vec::new()).await.addresses.into_iter().collect()
    }

    /// `name/address` for every server name that has the address, `;` between them.
    pub async fn ns_list<'i>(&self, ips: impl IntoIterator<Item = &'i IpAddr>) -> Value {
        let servers = self.all_ns().await;
        let mut list = Vec::new();
        for ip in ips {
            let names: Vec<&Name> = servers.iter().filter(|(_, a)| a.contains(ip)).map(|(n, _)| n).collect();
            if names.is_empty() {
                list.push(ip.to_string());
            }
            list.extend(names.iter().map(|n| format!("{n}/{ip}")));
        }
        list.sort();
        list.dedup();
        list.join(";").into()
    }
}

/// A plain question.
pub(crate) fn plain(name: &Name, rtype: Rtype) -> Question {
    Question { edns: None, ..Question::new(name.clone(), rtype) }
}

/// Records of exactly this name and type in the answer section of a NOERROR reply with AA; `None` for other replies.
pub(crate) fn authoritative<'r>(reply: Option<&'r Reply>, name: &Name, rtype: Rtype) -> Option<Vec<&'r Rr>> {
    let reply = reply.filter(|r| r.rcode == 0 && r.aa)?;
    Some(reply.answers.iter().filter(|rr| rr.rtype == rtype && rr.name == *name).collect())
}

/// True when the reply is an authoritative answer with the SOA of the zone: the server serves it.
pub(crate) fn serves(reply: Option<&Reply>, zone: &Name) -> bool {
    authoritative(reply, zone, Rtype::SOA).is_some_and(|set| !set.is_empty())
}

/// Items joined as Zonemaster joins lists.
pub(crate) fn joined<T: ToString>(items: impl IntoIterator<Item = T>) -> Value {
    items.into_iter().map(|i| i.to_string()).collect::<Vec<_>>().join(";").into()
}
