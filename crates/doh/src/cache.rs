//! The cache: bounded by weight, the longest unused leaves first (a second chance for what was asked again). What it
//! keeps says itself until when it holds. In: keys and values. Out: values.

use jiff::Timestamp;
use std::borrow::Borrow;
use std::collections::hash_map::{Entry as Place, RandomState};
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, Hash};
use std::sync::{Arc, Mutex, PoisonError};

/// Parts with a lock of their own.
const SHARDS: usize = 16;

/// What is worth keeping, and for how long.
pub(crate) trait Kept {
    /// Octets it takes in memory, roughly.
    fn weight(&self) -> usize;
    /// Still right at this time.
    fn holds(&self, now: Timestamp) -> bool;
}

struct Slot<V> {
    value: Arc<V>,
    /// Asked for again since it was last passed over.
    used: bool,
}

struct Shard<K, V> {
    map: HashMap<K, Slot<V>>,
    /// Every key of `map` once, the next to be dropped in front.
    ring: VecDeque<K>,
    weight: usize,
}

impl<K, V> Default for Shard<K, V> {
    fn default() -> Self {
        Shard { map: HashMap::new(), ring: VecDeque::new(), weight: 0 }
    }
}

/// The cache.
pub(crate) struct Cache<K, V> {
    shards: Vec<Mutex<Shard<K, V>>>,
    /// Which part a key is in: not for strangers to foresee.
    places: RandomState,
    /// Weight one shard may have.
    limit: usize,
}

impl<K: Hash + Eq + Clone, V: Kept> Cache<K, V> {
    /// A cache of about this many octets.
    pub(crate) fn new(octets: usize) -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Cache { shards, places: RandomState::new(), limit: octets / SHARDS }
    }

    fn shard<Q: Hash + ?Sized>(&self, key: &Q) -> &Mutex<Shard<K, V>> {
        &self.shards[(self.places.hash_one(key) % SHARDS as u64) as usize]
    }

    /// What is known and still holds.
    pub(crate) fn get<Q>(&self, key: &Q, now: Timestamp) -> Option<Arc<V>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.last(key).filter(|value| value.holds(now))
    }

    /// What was known last, whether or not it still holds.
    pub(crate) fn last<Q>(&self, key: &Q) -> Option<Arc<V>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let mut shard = self.shard(key).lock().unwrap_or_else(PoisonError::into_inner);
        let slot = shard.map.get_mut(key)?;
        slot.used = true;
        Some(slot.value.clone())
    }

    /// Keeps a value until it is displaced.
    pub(crate) fn put(&self, key: K, value: Arc<V>) {
        let weight = value.weight();
        if weight > self.limit {
            // What was known before is not what is known now.
            return self.forget(&key);
        }
        let mut shard = self.shard(&key).lock().unwrap_or_else(PoisonError::into_inner);
        let shard = &mut *shard;
        match shard.map.entry(key.clone()) {
            Place::Occupied(mut place) => {
                shard.weight -= place.get().value.weight();
                place.insert(Slot { value, used: false });
            }
            Place::Vacant(place) => {
                place.insert(Slot { value, used: false });
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
                        shard.weight -= slot.value.weight();
                    }
                }
            }
        }
    }

    /// Keeps nothing under this key.
    pub(crate) fn forget<Q>(&self, key: &Q)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let mut shard = self.shard(key).lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = shard.map.remove(key) {
            shard.weight -= slot.value.weight();
            shard.ring.retain(|other| other.borrow() != key);
        }
    }

    /// Values and octets now.
    pub(crate) fn size(&self) -> (usize, usize) {
        self.shards.iter().fold((0, 0), |(values, octets), shard| {
            let shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            (values + shard.map.len(), octets + shard.weight)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many octets until so many seconds.
    struct Thing(usize, i64);

    impl Kept for Thing {
        fn weight(&self) -> usize {
            self.0
        }

        fn holds(&self, now: Timestamp) -> bool {
            now.as_second() < self.1
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_value_is_there_while_it_holds_and_remembered_after() {
        let cache = Cache::new(1 << 20);
        cache.put(1, Arc::new(Thing(100, 1030)));
        assert!(cache.get(&1, at(1029)).is_some());
        assert!(cache.get(&1, at(1030)).is_none());
        assert!(cache.get(&1, at(900)).is_some(), "a clock put back");
        assert!(cache.last(&1).is_some());
        cache.put(1, Arc::new(Thing(1 << 20, 2000)));
        assert!(cache.last(&1).is_none(), "too heavy to keep, and what it replaces is no longer true");
        assert_eq!(cache.size(), (0, 0));
    }

    #[test]
    fn the_weight_stays_within_its_bound_and_what_is_used_stays() {
        let cache = Cache::new(SHARDS * 1000);
        let thing = || Arc::new(Thing(100, 2000));
        cache.put(0, thing());
        for n in 1..5000 {
            assert!(cache.get(&0, at(1000)).is_some(), "asked for all the time, gone at {n}");
            cache.put(n, thing());
            cache.put(n, thing());
            if n % 7 == 0 {
                cache.forget(&n);
                cache.put(n, thing());
            }
        }
        let (values, octets) = cache.size();
        assert!(values <= SHARDS * 10 && values > SHARDS * 8, "{values}");
        assert!(octets <= SHARDS * 1000, "{octets}");
        let rings: usize = cache.shards.iter().map(|s| s.lock().unwrap().ring.len()).sum();
        assert_eq!(rings, values, "nothing stands in the order of leaving that is not there");
    }
}
