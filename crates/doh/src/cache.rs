//! A cache bounded by octets that evicts by CLOCK (second chance): an entry used since the last pass stays once more.
//! Values know how long they are fresh; expired ones stay until evicted, for serve-stale (RFC 8767).

use jiff::Timestamp;
use std::borrow::Borrow;
use std::collections::hash_map::{Entry as Place, RandomState};
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, Hash};
use std::sync::{Arc, Mutex, PoisonError};

/// Number of shards, each with its own lock.
const SHARDS: usize = 16;

/// A value that knows its size and its freshness.
pub(crate) trait CacheValue {
    /// Returns the approximate number of octets the entry takes in memory, key included.
    fn weight(&self) -> usize;
    /// Returns whether the value may be used at `now`.
    fn is_fresh(&self, now: Timestamp) -> bool;
}

struct Slot<V> {
    value: Arc<V>,
    /// Read since eviction last passed over it.
    used: bool,
}

struct Shard<K, V> {
    map: HashMap<K, Slot<V>>,
    /// Every key of `map` once, the next candidate for eviction in front.
    ring: VecDeque<K>,
    weight: usize,
}

impl<K, V> Default for Shard<K, V> {
    fn default() -> Self {
        Shard { map: HashMap::new(), ring: VecDeque::new(), weight: 0 }
    }
}

/// The cache. Shared by reference; each shard has its own lock.
pub(crate) struct Cache<K, V> {
    shards: Vec<Mutex<Shard<K, V>>>,
    /// Assigns keys to shards; seeded at random, so that clients cannot fill one shard on purpose.
    hasher: RandomState,
    /// Octets per shard.
    limit: usize,
}

impl<K: Hash + Eq + Clone, V: CacheValue> Cache<K, V> {
    /// A cache of about `octets` octets.
    pub(crate) fn new(octets: usize) -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Cache { shards, hasher: RandomState::new(), limit: octets / SHARDS }
    }

    fn shard<Q: Hash + ?Sized>(&self, key: &Q) -> &Mutex<Shard<K, V>> {
        &self.shards[(self.hasher.hash_one(key) % SHARDS as u64) as usize]
    }

    /// Returns the value if it is fresh.
    pub(crate) fn get<Q>(&self, key: &Q, now: Timestamp) -> Option<Arc<V>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.get_any(key).filter(|value| value.is_fresh(now))
    }

    /// Returns the value, fresh or expired.
    pub(crate) fn get_any<Q>(&self, key: &Q) -> Option<Arc<V>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let mut shard = self.shard(key).lock().unwrap_or_else(PoisonError::into_inner);
        let slot = shard.map.get_mut(key)?;
        slot.used = true;
        Some(slot.value.clone())
    }

    /// Stores a value. One larger than a shard is not stored, and removes the value it would have replaced.
    pub(crate) fn put(&self, key: K, value: Arc<V>) {
        let weight = value.weight();
        if weight > self.limit {
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

    /// Removes a value.
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

    /// Returns the number of values and their octets.
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

    /// Octets, and the second at which it expires.
    struct Thing(usize, i64);

    impl CacheValue for Thing {
        fn weight(&self) -> usize {
            self.0
        }

        fn is_fresh(&self, now: Timestamp) -> bool {
            now.as_second() < self.1
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn an_expired_value_is_found_only_as_a_stale_one() {
        let cache = Cache::new(1 << 20);
        cache.put(1, Arc::new(Thing(100, 1030)));
        assert!(cache.get(&1, at(1029)).is_some());
        assert!(cache.get(&1, at(1030)).is_none());
        assert!(cache.get(&1, at(900)).is_some(), "the clock was set back");
        assert!(cache.get_any(&1).is_some());
        cache.put(1, Arc::new(Thing(1 << 20, 2000)));
        assert!(cache.get_any(&1).is_none(), "too large to store, and the value it replaces is outdated");
        assert_eq!(cache.size(), (0, 0));
    }

    #[test]
    fn the_size_is_bounded_and_used_values_stay() {
        let cache = Cache::new(SHARDS * 1000);
        let thing = || Arc::new(Thing(100, 2000));
        cache.put(0, thing());
        for n in 1..5000 {
            assert!(cache.get(&0, at(1000)).is_some(), "read all the time, evicted at {n}");
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
        assert_eq!(rings, values, "the eviction order has no removed keys");
    }
}
