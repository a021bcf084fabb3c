//! A resolver's memory (RFC 1034 7.4, 2181 5, 2308 5). In: what authoritative servers said, and the time.
//! Out: RRsets with TTLs that count down, negative answers with the SOA they came with; nothing that has ended.

use std::collections::BTreeMap;

use hickory_proto::rr::{Name, RData, Record, RecordType};
use jiff::Timestamp;

/// Entries kept at most; when it is full, what has ended goes, then nothing new is learnt.
const CAP: usize = 100_000;

/// What is known about a name.
#[derive(Clone, Debug)]
pub(crate) enum Known {
    /// An RRset, and its signatures.
    Records(Vec<Record>),
    /// Nothing: the name (NXDOMAIN) or only the type; with the authority section that said so.
    Nothing { nxdomain: bool, authority: Vec<Record> },
}

#[derive(Clone, Debug)]
struct Entry {
    learnt: Timestamp,
    ttl: u32,
    known: Known,
}

impl Entry {
    fn left(&self, now: Timestamp) -> Option<u32> {
        let age = now.duration_since(self.learnt).as_secs().max(0);
        u32::try_from(i64::from(self.ttl) - age).ok().filter(|left| *left > 0)
    }
}

/// The TTL of a negative answer: the smaller of the SOA's TTL and its minimum (RFC 2308 5). None without an SOA.
pub(crate) fn negative_ttl(authority: &[Record]) -> Option<u32> {
    authority.iter().find_map(|r| match &r.data {
        RData::SOA(soa) => Some(r.ttl.min(soa.minimum)),
        _ => None,
    })
}

/// Limits that a resolver puts on the TTLs it is given.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clamp {
    pub min: Option<u32>,
    pub max: Option<u32>,
    pub max_negative: Option<u32>,
}

/// The memory. A name that does not exist is kept without a type: it exists for none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cache(BTreeMap<(Name, Option<RecordType>), Entry>);

impl Cache {
    /// What is known, with the TTLs that are left.
    pub(crate) fn get(&self, name: &Name, rtype: RecordType, now: Timestamp) -> Option<Known> {
        let name = name.to_lowercase();
        let keys = [Some(rtype), Some(RecordType::CNAME), None];
        let (entry, left) = keys.into_iter().find_map(|key| {
            let entry = self.0.get(&(name.clone(), key))?;
            let negative = matches!(entry.known, Known::Nothing { .. });
            // "No CNAME here" says nothing of other types.
            if key == Some(RecordType::CNAME) && rtype != RecordType::CNAME && negative {
                return None;
            }
            entry.left(now).map(|left| (entry, left))
        })?;
        let mut known = entry.known.clone();
        let (Known::Records(records) | Known::Nothing { authority: records, .. }) = &mut known;
        for record in records {
            record.ttl = left;
        }
        Some(known)
    }

    /// Learns, and returns how long it will be kept: zero is not kept at all.
    pub(crate) fn put(
        &mut self,
        name: &Name,
        rtype: RecordType,
        known: Known,
        now: Timestamp,
        clamp: Clamp,
    ) -> u32 {
        let name = name.to_lowercase();
        let (key, ttl) = match &known {
            Known::Records(records) => {
                let ttl = records.iter().map(|r| r.ttl).min().unwrap_or(0);
                let rtype = records.first().map_or(rtype, Record::record_type);
                (Some(rtype), ttl.max(clamp.min.unwrap_or(0)))
            }
            Known::Nothing { nxdomain, authority } => {
                let ttl = negative_ttl(authority).unwrap_or(0);
                (if *nxdomain { None } else { Some(rtype) }, ttl.min(clamp.max_negative.unwrap_or(ttl)))
            }
        };
        let ttl = ttl.min(clamp.max.unwrap_or(ttl));
        if self.0.len() >= CAP {
            self.0.retain(|_, entry| entry.left(now).is_some());
        }
        // What contradicts the new knowledge goes (RFC 2181 5.4.1, trust in the newer of equals).
        match key {
            None => self.0.retain(|(n, _), _| *n != name),
            Some(_) => drop(self.0.remove(&(name.clone(), None))),
        }
        if ttl > 0 && self.0.len() < CAP {
            self.0.insert((name, key), Entry { learnt: now, ttl, known });
        } else {
            self.0.remove(&(name, key));
        }
        ttl
    }

    /// Forgets a name and all below it, or everything; how many entries went.
    pub(crate) fn flush(&mut self, name: Option<&Name>) -> usize {
        let before = self.0.len();
        match name {
            Some(name) => self.0.retain(|(n, _), _| !name.zone_of(n)),
            None => self.0.clear(),
        }
        before - self.0.len()
    }

    /// Everything that has not ended: name, type (none for NXDOMAIN), seconds left, positive.
    pub(crate) fn rows(
        &self,
        now: Timestamp,
    ) -> impl Iterator<Item = (&Name, Option<RecordType>, u32, &Known)> {
        self.0.iter().filter_map(move |((name, rtype), entry)| {
            entry.left(now).map(|left| (name, *rtype, left, &entry.known))
        })
    }
}

#[cfg(test)]
mod tests {
    use hickory_proto::rr::rdata::{A, SOA};
    use jiff::SignedDuration;

    use super::*;

    fn name(text: &str) -> Name {
        Name::from_ascii(text).unwrap()
    }

    fn records(ttl: u32) -> Known {
        Known::Records(vec![Record::from_rdata(name("a.example."), ttl, RData::A(A::new(192, 0, 2, 1)))])
    }

    fn nothing(nxdomain: bool, ttl: u32, minimum: u32) -> Known {
        let soa = SOA::new(name("ns.example."), name("h.example."), 1, 1, 1, 1, minimum);
        Known::Nothing {
            nxdomain,
            authority: vec![Record::from_rdata(name("example."), ttl, RData::SOA(soa))],
        }
    }

    fn later(seconds: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH.checked_add(SignedDuration::from_secs(seconds)).unwrap()
    }

    fn ttl(known: &Known) -> u32 {
        match known {
            Known::Records(r) | Known::Nothing { authority: r, .. } => r[0].ttl,
        }
    }

    #[test]
    fn what_has_ended_is_not_known() {
        let mut cache = Cache::default();
        cache.put(&name("a.example."), RecordType::A, records(300), later(0), Clamp::default());
        assert_eq!(ttl(&cache.get(&name("A.Example."), RecordType::A, later(299)).unwrap()), 1);
        assert!(cache.get(&name("a.example."), RecordType::A, later(300)).is_none());
        assert!(cache.get(&name("a.example."), RecordType::MX, later(0)).is_none());
        assert_eq!(cache.rows(later(300)).count(), 0);
    }

    #[test]
    fn zero_is_not_kept_and_answers_without_soa_neither() {
        let mut cache = Cache::default();
        let a = name("a.example.");
        assert_eq!(cache.put(&a, RecordType::A, records(0), later(0), Clamp::default()), 0);
        let bare = Known::Nothing { nxdomain: true, authority: Vec::new() };
        assert_eq!(cache.put(&a, RecordType::A, bare, later(0), Clamp::default()), 0);
        assert!(cache.get(&a, RecordType::A, later(0)).is_none());
    }

    #[test]
    fn a_missing_name_is_missing_for_all_types_and_a_missing_type_is_not() {
        let mut cache = Cache::default();
        let a = name("a.example.");
        // RFC 2308 5: the smaller of the two counts, whichever it is.
        assert_eq!(cache.put(&a, RecordType::A, nothing(false, 1800, 60), later(0), Clamp::default()), 60);
        assert!(cache.get(&a, RecordType::MX, later(0)).is_none());
        assert_eq!(cache.put(&a, RecordType::A, nothing(true, 30, 60), later(0), Clamp::default()), 30);
        assert!(matches!(
            cache.get(&a, RecordType::MX, later(0)),
            Some(Known::Nothing { nxdomain: true, .. })
        ));
        // It has appeared: the newer knowledge replaces the older.
        cache.put(&a, RecordType::A, records(300), later(1), Clamp::default());
        assert!(cache.get(&a, RecordType::MX, later(1)).is_none());
    }

    #[test]
    fn limits_are_put_on_what_is_learnt() {
        let clamp = Clamp { min: Some(60), max: Some(3600), max_negative: Some(100) };
        let mut cache = Cache::default();
        let a = name("a.example.");
        assert_eq!(cache.put(&a, RecordType::A, records(5), later(0), clamp), 60);
        assert_eq!(cache.put(&a, RecordType::A, records(86_400), later(0), clamp), 3600);
        assert_eq!(cache.put(&a, RecordType::A, nothing(true, 900, 900), later(0), clamp), 100);
        assert_eq!(cache.flush(Some(&name("example."))), 1);
    }
}
