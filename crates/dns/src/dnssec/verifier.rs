//! Verification of signatures within one budget for a whole operation: a hostile zone can have thousands of keys and
//! signatures computed for every answer (CVE-2023-50387 "KeyTrap", CVE-2023-50868). In: sets, signatures and keys. Out:
//! whether one holds; [`Fault::OutOfBudget`] where that was not computed, which says nothing about the set.

use super::denial;
use super::verify::{Fault, public_key, signed_data, signs_zones, within_time};
use crate::wire::{Dnskey, Name, Rr, Rrsig};
use hickory_proto::dnssec::{DigestType, PublicKey, crypto::Digest};
use jiff::Timestamp;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};

/// Public-key operations one operation makes. Two for every zone of a chain are usual.
pub const MAX_VERIFICATIONS: u32 = 64;
/// Public-key operations for one set, and keys of one tag that are tried for a signature: one hostile set leaves
/// something for the others.
const MAX_PER_SET: u32 = 16;
const KEYS_TRIED: usize = 4;
/// Signatures looked at, those known already included: finding out that one is known costs a digest over its set.
const MAX_COMPARISONS: u32 = 4_096;
/// Names hashed for NSEC3, each with many iterations: one for every label of a name, and a few more for each zone.
const MAX_HASHES: u32 = 512;
/// Verifications after which an operation makes way for others: its next ones leave the worker of the runtime. An
/// ordinary chain of trust needs fewer.
const LIGHT: u32 = 8;

/// Verifies signatures for one operation. Clones share the budget and what is known.
#[derive(Clone)]
pub struct Verifier {
    now: Timestamp,
    state: Arc<Mutex<State>>,
}

type Sha256 = Vec<u8>;

/// See [`verifications`].
static MADE: AtomicU64 = AtomicU64::new(0);

/// Public-key operations made by this process so far.
pub fn verifications() -> u64 {
    MADE.load(Ordering::Relaxed)
}

#[derive(Default)]
struct State {
    made: u32,
    comparisons: u32,
    hashes: u32,
    /// Signatures that were not looked at because the budget was used up.
    skipped: u32,
    /// What came of each signature, key and set.
    known: HashMap<Sha256, bool>,
    /// NSEC3 hashes by name, salt and iterations.
    hashed: HashMap<(Name, Vec<u8>, u16), Option<Vec<u8>>>,
}

impl Verifier {
    /// A fresh budget; `now` is what signatures are judged by.
    pub fn new(now: Timestamp) -> Self {
        Verifier { now, state: Arc::default() }
    }

    /// The instant signatures are judged by.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Public-key operations made so far, at most [`MAX_VERIFICATIONS`].
    pub fn verifications(&self) -> u32 {
        self.lock().made
    }

    /// One sentence when something was not verified for want of budget.
    pub fn note(&self) -> Option<String> {
        let state = self.lock();
        (state.skipped > 0).then(|| {
            format!(
                "{} signatures were verified, as many as one operation may; the others were not: the zone has too many \
                 keys of one tag or too many signatures",
                state.made
            )
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Checks one signature over a set with one key, times included.
    ///
    /// # Errors
    /// Why it does not hold.
    pub fn check_signature(&self, set: &[&Rr], sig: &Rrsig, key: &Dnskey) -> Result<(), Fault> {
        within_time(sig, self.now)?;
        let public_key = public_key(key)?;
        {
            let mut state = self.lock();
            if state.made >= MAX_VERIFICATIONS || state.comparisons >= MAX_COMPARISONS {
                state.skipped += 1;
                return Err(Fault::OutOfBudget);
            }
            state.comparisons += 1;
        }
        let data = signed_data(set, sig).ok_or(Fault::Invalid(sig.key_tag))?;
        let holds = |holds: bool| if holds { Ok(()) } else { Err(Fault::Invalid(sig.key_tag)) };
        // Every server of a zone sends the same signatures: each is computed once.
        let id = identity(&data, sig, key);
        let made = {
            let mut state = self.lock();
            if let Some(known) = id.as_ref().and_then(|id| state.known.get(id)) {
                return holds(*known);
            }
            if id.as_ref().is_some_and(|id| lock(&VALID).contains(id)) {
                return Ok(());
            }
            state.made += 1;
            state.made
        };
        MADE.fetch_add(1, Ordering::Relaxed);
        let good = off_the_worker(made > LIGHT, || public_key.verify(&data, &sig.signature).is_ok());
        if let Some(id) = id {
            if good {
                lock(&VALID).insert(id.clone());
            }
            self.lock().known.insert(id, good);
        }
        holds(good)
    }

    /// Finds one signature over the set that holds.
    ///
    /// # Errors
    /// The most telling fault; [`Fault::OutOfBudget`] where a signature that was not computed might hold.
    pub fn check_set(
        &self,
        set: &[&Rr],
        signatures: &[&Rrsig],
        keys: &[&Dnskey],
        zone: &Name,
    ) -> Result<(), Fault> {
        let mut fault = Fault::Unsigned;
        let mut seen = HashSet::new();
        let keys: Vec<&Dnskey> = keys.iter().copied().filter(|k| signs_zones(k) && seen.insert(*k)).collect();
        let mut seen = HashSet::new();
        let mut left = MAX_PER_SET;
        for sig in signatures.iter().filter(|s| s.signer == *zone && seen.insert(**s)) {
            let of_tag = |k: &&&Dnskey| k.key_tag == sig.key_tag && k.algorithm == sig.algorithm;
            let mut candidates = keys.iter().filter(of_tag).peekable();
            if candidates.peek().is_none() {
                fault = fault.or(Fault::NoKey(sig.key_tag));
            }
            for (tried, key) in candidates.enumerate() {
                if tried == KEYS_TRIED || left == 0 {
                    self.lock().skipped += 1;
                    fault = fault.or(Fault::OutOfBudget);
                    break;
                }
                let Err(new) = self.check_signature(set, sig, key) else { return Ok(()) };
                // Only what was computed counts: a date costs nothing to look at.
                left -= u32::from(matches!(new, Fault::Invalid(_)));
                fault = fault.or(new);
            }
        }
        Err(fault)
    }

    /// The NSEC3 hash of a name; the inner `None` when it has more iterations than anybody computes.
    ///
    /// # Errors
    /// [`Fault::OutOfBudget`].
    pub fn nsec3_hash(&self, name: &Name, salt: &[u8], iterations: u16) -> Result<Option<Vec<u8>>, Fault> {
        let key = (name.clone(), salt.to_vec(), iterations);
        let mut state = self.lock();
        if let Some(known) = state.hashed.get(&key) {
            return Ok(known.clone());
        }
        if state.hashes >= MAX_HASHES {
            state.skipped += 1;
            return Err(Fault::OutOfBudget);
        }
        state.hashes += 1;
        let heavy = state.hashes > MAX_HASHES / 8;
        drop(state);
        let hash = off_the_worker(heavy, || denial::nsec3_hash(name, salt, iterations));
        self.lock().hashed.insert(key, hash.clone());
        Ok(hash)
    }
}

/// Signatures remembered in one half of [`Valid`].
const REMEMBERED: usize = 4_096;

/// Signatures that were computed and hold, for all operations: every chain begins with those of the root and of a
/// top-level domain. Only the arithmetic is remembered; whether a signature is within its time is judged each time.
#[derive(Default)]
struct Valid {
    /// When this half is full it becomes `old`, and what is not used again is forgotten with it.
    new: HashSet<Sha256>,
    old: HashSet<Sha256>,
}

static VALID: LazyLock<Mutex<Valid>> = LazyLock::new(Mutex::default);

impl Valid {
    fn contains(&mut self, id: &Sha256) -> bool {
        let found = self.new.contains(id) || self.old.contains(id);
        if found && !self.new.contains(id) {
            self.insert(id.clone());
        }
        found
    }

    fn insert(&mut self, id: Sha256) {
        if self.new.len() >= REMEMBERED {
            self.old = std::mem::take(&mut self.new);
        }
        self.new.insert(id);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A digest over all that decides whether a signature holds.
fn identity(data: &[u8], sig: &Rrsig, key: &Dnskey) -> Option<Sha256> {
    let key = key.to_wire();
    let lengths = [(key.len() as u32).to_be_bytes(), (sig.signature.len() as u32).to_be_bytes()].concat();
    let all = [&lengths, &key, &sig.signature, data].concat();
    Some(Digest::new(&all, DigestType::SHA256).ok()?.as_ref().to_vec())
}

/// Threads that verify at once, besides the light work of the workers themselves.
static SLOTS: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

/// Runs what takes long where it does not hold up other tasks: outside the runtime's workers, and no more of it at once
/// than there are processors.
fn off_the_worker<T>(heavy: bool, work: impl FnOnce() -> T) -> T {
    use tokio::runtime::{Handle, RuntimeFlavor};
    let elsewhere = Handle::try_current().is_ok_and(|h| h.runtime_flavor() == RuntimeFlavor::MultiThread);
    // A runtime of one thread has nowhere else to run it.
    if !heavy || !elsewhere {
        return work();
    }
    let (busy, freed) = &SLOTS;
    let most = std::thread::available_parallelism().map_or(1, usize::from);
    tokio::task::block_in_place(|| {
        let lock = busy.lock().unwrap_or_else(PoisonError::into_inner);
        let mut count = freed.wait_while(lock, |n| *n >= most).unwrap_or_else(PoisonError::into_inner);
        *count += 1;
        drop(count);
        let done = work();
        *busy.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        freed.notify_one();
        done
    })
}

#[cfg(test)]
#[path = "verifier_tests.rs"]
mod tests;
