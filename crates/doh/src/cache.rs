//! The cache: bounded by weight, each entry for its TTL and no longer (nothing stale is served), the longest unused
//! leaves first (a second chance for what was asked again). In: keys and entries. Out: entries with their age.

use crate::entry::Entry;
use dns::wire::{Name, Rtype};
use jiff::Timestamp;
use std::collections::hash_map::{DefaultHasher, Entry as Place};
use std::collections::{HashMap, VecDeque};
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

/// Parts with a lock of their own.
const SHARDS: usize = 16;

/// What an entry is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub name: Name,
    pub rtype: Rtype,
    /// The client validates by itself; matters only where another resolver validates for us.
    pub unchecked: bool,
}

struct Slot {
    entry: Arc<Entry>,
    /// Asked for again since it was last passed over.
    used: bool,
}

#[derive(Default)]
struct Shard {
    map: HashMap<Key, Slot>,
    /// Every key of `map` once, the next to be dropped in front.
    ring: VecDeque<Key>,
    weight: usize,
}

/// The cache.
pub(crate) struct Cache {
    shards: Vec<Mutex<Shard>>,
    /// Weight one shard may have.
    limit: usize,
}

impl Cache {
    /// A cache of about this many octets.
    pub(crate) fn new(octets: usize) -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Cache { shards, limit: octets / SHARDS }
    }

    fn shard(&self, key: &Key) -> &Mutex<Shard> {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        &self.shards[(hasher.finish() % SHARDS as u64) as usize]
    }

    /// What is known and still holds.
    pub(crate) fn get(&self, key: &Key, now: Timestamp) -> Option<Arc<Entry>> {
        let mut shard = self.shard(key).lock().unwrap_or_else(PoisonError::into_inner);
        let slot = shard.map.get_mut(key)?;
        if slot.entry.age(now) >= slot.entry.ttl {
            return None;
        }
        slot.used = true;
        Some(slot.entry.clone())
    }

    /// Keeps an entry for its TTL; one that holds for no time is not kept.
    pub(crate) fn put(&self, key: Key, entry: Arc<Entry>) {
        let weight = entry.weight();
        if entry.ttl == 0 || weight > self.limit {
            return;
        }
        let mut shard = self.shard(&key).lock().unwrap_or_else(PoisonError::into_inner);
        let shard = &mut *shard;
        match shard.map.entry(key.clone()) {
            Place::Occupied(mut place) => {
                shard.weight -= place.get().entry.weight();
                place.insert(Slot { entry, used: false });
            }
            Place::Vacant(place) => {
                place.insert(Slot { entry, used: false });
                shard.ring.push_back(key);
            }
        }
        shard.weight += weight;
        while shard.weight > self.limit {
            let Some(oldest) = shard.ring.pop_front() else { break };
            match shard.map.get_mut(&oldest) {
                Some(slot) if slot.used => {
                    slot.used = false;
                    shard.ring.push_back(oldest);
                }
                _ => {
                    if let Some(slot) = shard.map.remove(&oldest) {
                        shard.weight -= slot.entry.weight();
                    }
                }
            }
        }
    }

    /// Entries and octets now.
    pub(crate) fn size(&self) -> (usize, usize) {
        self.shards.iter().fold((0, 0), |(entries, octets), shard| {
            let shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            (entries + shard.map.len(), octets + shard.weight)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: usize) -> Key {
        Key { name: Name::from_text(&format!("n{n}.example")).unwrap(), rtype: Rtype::A, unchecked: false }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn entry(ttl: u32) -> Arc<Entry> {
        Arc::new(Entry { ttl, ..Entry::failure(at(1000), 0, "") })
    }

    #[test]
    fn an_entry_is_there_for_its_ttl_and_no_longer() {
        let cache = Cache::new(1 << 20);
        cache.put(key(1), entry(30));
        assert!(cache.get(&key(1), at(1000)).is_some());
        assert!(cache.get(&key(1), at(1029)).is_some());
        assert!(cache.get(&key(1), at(1030)).is_none());
        assert!(cache.get(&key(1), at(900)).is_some(), "a clock put back");
        cache.put(key(2), entry(0));
        assert!(cache.get(&key(2), at(1000)).is_none());
    }

    #[test]
    fn the_weight_stays_within_its_bound_and_what_is_used_stays() {
        let cache = Cache::new(SHARDS * 10 * entry(60).weight());
        cache.put(key(0), entry(60));
        for n in 1..5000 {
            assert!(cache.get(&key(0), at(1000)).is_some(), "asked for all the time, gone at {n}");
            cache.put(key(n), entry(60));
            cache.put(key(n), entry(60));
        }
        let (entries, octets) = cache.size();
        assert!(entries <= SHARDS * 10 && entries > SHARDS * 8, "{entries}");
        assert!(octets <= SHARDS * 10 * entry(60).weight(), "{octets}");
    }
}
