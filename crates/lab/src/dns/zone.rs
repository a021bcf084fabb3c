//! A zone as a server holds it: names in canonical order (RFC 4034 6.1), glue apart, signatures made on demand.
//! In: records. Out: RRsets, cuts, closest enclosers, and RRSIGs that are kept once made.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    ops::Bound,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use hickory_proto::{
    dnssec::rdata::{DNSSECRData, RRSIG},
    rr::{Name, RData, Record, RecordType, rdata::SOA},
};
use jiff::{SignedDuration, Timestamp};

use super::{denial::Chain, keys::ZoneKeys};
use crate::scenario::Signing;

/// A signature is made again after a day, so that a lab can run for weeks.
const RENEWAL: SignedDuration = SignedDuration::from_hours(24);

/// Records of one owner and type.
#[derive(Clone, Debug)]
pub(crate) struct RrSet {
    pub ttl: u32,
    pub data: Vec<RData>,
}

/// RRsets of one owner.
pub(crate) type Node = BTreeMap<RecordType, RrSet>;

/// A zone.
pub(crate) struct Zone {
    pub origin: Name,
    /// Authoritative data and the NS and DS of delegations; nothing below a cut.
    pub nodes: BTreeMap<Name, Node>,
    /// Addresses that go with referrals.
    pub glue: BTreeMap<Name, Vec<RData>>,
    /// Host names of the servers that hold this zone.
    pub servers: BTreeSet<String>,
    pub signing: Signing,
    pub keys: Option<Arc<ZoneKeys>>,
    /// Made when first needed: listing every name of a large zone costs.
    pub chain: OnceLock<Chain>,
    pub signatures: Mutex<HashMap<(Name, RecordType), (Timestamp, RRSIG)>>,
}

impl Zone {
    pub(crate) fn new(origin: Name, servers: BTreeSet<String>) -> Self {
        Self {
            origin,
            nodes: BTreeMap::new(),
            glue: BTreeMap::new(),
            servers,
            signing: Signing::None,
            keys: None,
            chain: OnceLock::new(),
            signatures: Mutex::default(),
        }
    }

    /// Adds one record; the smallest TTL of the set counts for all.
    pub(crate) fn add(&mut self, name: Name, ttl: u32, data: RData) {
        let set = self
            .nodes
            .entry(name)
            .or_default()
            .entry(data.record_type())
            .or_insert_with(|| RrSet { ttl, data: Vec::new() });
        set.ttl = set.ttl.min(ttl);
        if !set.data.contains(&data) {
            set.data.push(data);
        }
    }

    /// Takes out a name with its glue, so that it can be delegated again; all signatures are made afresh.
    pub(crate) fn forget(&mut self, name: &Name, serial: u32) {
        self.nodes.remove(name);
        let below: Vec<Name> = self
            .glue
            .range::<Name, _>((Bound::Included(name), Bound::Unbounded))
            .map(|(host, _)| host.clone())
            .take_while(|host| name.zone_of(host))
            .collect();
        for host in below {
            self.glue.remove(&host);
        }
        let soa = self.nodes.get_mut(&self.origin).and_then(|node| node.get_mut(&RecordType::SOA));
        if let Some(RData::SOA(soa)) = soa.and_then(|set| set.data.first_mut()) {
            soa.serial = serial;
        }
        self.chain = OnceLock::new();
        self.signatures = Mutex::default();
    }

    pub(crate) fn is_signed(&self) -> bool {
        self.keys.is_some()
    }

    pub(crate) fn get(&self, name: &Name, rtype: RecordType) -> Option<&RrSet> {
        self.nodes.get(name)?.get(&rtype)
    }

    pub(crate) fn soa(&self) -> Option<(u32, &SOA)> {
        let set = self.get(&self.origin, RecordType::SOA)?;
        match set.data.first() {
            Some(RData::SOA(soa)) => Some((set.ttl, soa)),
            _ => None,
        }
    }

    /// The TTL of negative answers (RFC 2308 5).
    pub(crate) fn negative_ttl(&self) -> u32 {
        self.soa().map_or(0, |(ttl, soa)| ttl.min(soa.minimum))
    }

    /// The name exists, be it only because something lies below it (RFC 4592 2.2.2).
    pub(crate) fn exists(&self, name: &Name) -> bool {
        self.nodes
            .range::<Name, _>((Bound::Included(name), Bound::Unbounded))
            .next()
            .is_some_and(|(found, _)| name.zone_of(found))
    }

    /// The delegation at or above a name, if there is one below the apex.
    pub(crate) fn cut_above(&self, name: &Name) -> Option<Name> {
        let depth = self.origin.num_labels();
        let mut cut = None;
        let mut at = name.clone();
        while labels(&at) > usize::from(depth) {
            if self.get(&at, RecordType::NS).is_some() {
                cut = Some(at.clone());
            }
            at = at.base_name();
        }
        cut
    }

    /// The longest existing ancestor of a name that does not exist, and the name one label below it.
    pub(crate) fn encloser(&self, name: &Name) -> (Name, Name) {
        let mut next = name.clone();
        let mut at = name.base_name();
        while !self.exists(&at) && at != self.origin && !at.is_root() {
            next = at.clone();
            at = at.base_name();
        }
        (at, next)
    }

    /// The records of an RRset under the owner that the question calls for.
    pub(crate) fn records(owner: &Name, set: &RrSet) -> Vec<Record> {
        set.data.iter().map(|d| Record::from_rdata(owner.clone(), set.ttl, d.clone())).collect()
    }

    /// The signature of an RRset, put under `shown` (which differs from `owner` for wildcards).
    pub(crate) fn rrsig(&self, owner: &Name, shown: &Name, set: &RrSet, now: Timestamp) -> Option<Record> {
        let keys = self.keys.as_ref()?;
        let rtype = set.data.first()?.record_type();
        let key = (owner.clone(), rtype);
        let mut kept = self.signatures.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = |made: Timestamp| now.duration_since(made) < RENEWAL;
        let signature = match kept.get(&key) {
            Some((made, signature)) if fresh(*made) => signature.clone(),
            _ => {
                let made = keys.sign(&self.origin, owner, &Self::records(owner, set), self.signing, now)?;
                kept.insert(key, (now, made.clone()));
                made
            }
        };
        Some(Record::from_rdata(shown.clone(), set.ttl, RData::DNSSEC(DNSSECRData::RRSIG(signature))))
    }
}

/// Number of labels, wildcards included (hickory's own count leaves `*` out).
pub(crate) fn labels(name: &Name) -> usize {
    name.iter().count()
}
