//! What all test cases share: the zone, the undelegated data, the questions of the specification, and the name
//! server sets, each worked out once.

use super::CheckOptions;
use super::methods::NsMap;
use super::tags::Findings;
use crate::dnssec::verifier::Verifier;
use crate::dnssec::verify::digest;
use crate::error::Error;
pub(crate) use crate::resolve::classify::{authoritative, plain, serves};
use crate::session::{QueryMode, QueryResult, Session};
use crate::wire::{Dnskey, Edns, Name, Question, Rtype};
use futures::future::join_all;
use model::dns::{Delegation, NsName};
use model::registration::Ds;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
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
            servers.entry(crate::input::wire_name(name)?).or_default().extend(address);
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
    /// Names and glue of the parent's referral, where it was read before this check.
    referral: Option<NsMap>,
    pub asn_zone: String,
    pub now: jiff::Timestamp,
    /// Verifies signatures within one budget for the whole check.
    pub verifier: Verifier,
    /// Digests of the zone's keys by digest type.
    digests: Mutex<HashMap<u8, HashMap<Dnskey, Option<String>>>>,
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
            referral: None,
            asn_zone: if options.asn_zone.is_empty() {
                session.settings.asn_zone.clone()
            } else {
                options.asn_zone.clone()
            },
            now: options.now,
            verifier: Verifier::new(options.now),
            digests: Mutex::default(),
            walk: OnceCell::new(),
            methods_walk: OnceCell::new(),
            parent: OnceCell::new(),
            delegation: OnceCell::new(),
            del: OnceCell::new(),
            zone_names: OnceCell::new(),
            zone_servers: OnceCell::new(),
        }
    }

    /// Takes the parent's side from an observation of the delegation in place of a walk to the parent.
    pub fn observe(&mut self, delegation: &Delegation) {
        let glue = |s: &NsName| if s.glue { s.addresses.iter().copied().collect() } else { BTreeSet::new() };
        let servers = delegation.parent_ns.iter();
        self.referral =
            Some(servers.filter_map(|s| Some((Name::from_text(&s.name).ok()?, glue(s)))).collect());
    }

    /// Servers of the delegation that need not be asked for: given by a person, or read from the parent before.
    pub fn stated(&self) -> Option<&NsMap> {
        if self.is_undelegated() { Some(&self.undelegated.servers) } else { self.referral.as_ref() }
    }

    pub fn findings(&self, test_case: &'static str) -> Findings<'_> {
        Findings::new(test_case, &self.text, &self.session.budget)
    }

    pub fn is_undelegated(&self) -> bool {
        !self.undelegated.servers.is_empty()
    }

    /// A "DNS Query" of the specification: UDP, no EDNS, TCP when truncated.
    pub async fn ask(&self, ip: IpAddr, name: &Name, rtype: Rtype) -> Arc<QueryResult> {
        self.session.ask(ip, &plain(name, rtype), QueryMode::Exact).await
    }

    /// A "DNSSEC Query": EDNS with DO and a payload of 1232.
    pub async fn ask_dnssec(&self, ip: IpAddr, name: &Name, rtype: Rtype) -> Arc<QueryResult> {
        let edns = Edns { version: 0, payload: 1232, dnssec_ok: true, z: 0, options: Vec::new() };
        let question = Question { edns: Some(edns), ..plain(name, rtype) };
        self.session.ask(ip, &question, QueryMode::Exact).await
    }

    /// True when the DS record is the digest of this key of the zone. Each key is digested once for each digest type: a
    /// hostile zone has hundreds of keys and DS records with one tag.
    pub fn ds_matches(&self, ds: &Ds, key: &Dnskey) -> bool {
        if ds.key_tag != key.key_tag || ds.algorithm != key.algorithm {
            return false;
        }
        let mut known = self.digests.lock().unwrap_or_else(PoisonError::into_inner);
        let of_type = known.entry(ds.digest_type).or_default();
        if !of_type.contains_key(key) {
            of_type.insert(key.clone(), digest(&self.zone, key, ds.digest_type));
        }
        let digest = of_type.get(key).and_then(Option::as_ref);
        digest.is_some_and(|d| d.eq_ignore_ascii_case(&ds.digest))
    }

    /// True for an address of a closed network's own ([`crate::Settings::own_networks`]).
    pub fn is_own(&self, ip: IpAddr) -> bool {
        let own = &self.session.settings.own_networks;
        own.iter().any(|(block, length)| crate::resolve::origin::within(ip, *block, *length))
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
    ) -> Vec<(IpAddr, Arc<QueryResult>)> {
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
        let all = ips.iter().map(|ip| self.session.ask(*ip, &question, QueryMode::Resolver));
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

/// Items joined as Zonemaster joins lists.
pub(crate) fn joined<T: ToString>(items: impl IntoIterator<Item = T>) -> Value {
    items.into_iter().map(|i| i.to_string()).collect::<Vec<_>>().join(";").into()
}
