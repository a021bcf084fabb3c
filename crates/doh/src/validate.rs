//! DNSSEC validation of a reply: the chain of trust from a trust anchor to the keys of the zone, cached; `signed` judges the
//! reply by them (RFC 4035 section 5).

use crate::cache::{Cache, CacheValue};
use crate::codes::{ExtendedError, extended};
use crate::entry::{BOGUS, FAILURE, Security};
use crate::signed::{apex, check, code, is_unsigned, not_computed, shortest, valid_for};
use dns::dnssec::denial::{Denials, Proof};
use dns::dnssec::verifier::Verifier;
use dns::dnssec::verify::{entry_keys, keys, signatures, usable};
use dns::wire::{Data, Dnskey, Name, Rr, Rtype};
use dns::{Engine, Error, Fetched, QuestionBudget};
use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use model::registration::Ds;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::OnceCell;

/// Octets of the cache of zone keys.
const KEY_CACHE: usize = 4 << 20;
/// Names below a signed zone that are checked for an insecure delegation. Each costs queries, and the client chooses how
/// many labels a name has.
const MAX_CUTS: usize = 16;
/// Cap on the time keys are cached, in seconds.
const MAX_KEY_TTL: u32 = 3600;

/// Trust in a zone: its validated keys, or why it has none.
#[derive(Debug, Clone)]
enum Trust {
    Secure(Arc<Vec<Dnskey>>),
    Insecure,
    /// Its keys cannot be believed or fetched.
    Failed(ExtendedError),
}

/// The result of a validation.
pub(crate) struct Validation {
    pub security: Security,
    /// Why it is bogus or indeterminate.
    pub explained: Option<ExtendedError>,
    /// Seconds for which the result may be cached.
    pub seconds: u32,
}

impl Validation {
    fn good(security: Security, seconds: u32) -> Self {
        Validation { security, explained: None, seconds }
    }

    fn failed(why: ExtendedError) -> Self {
        let seconds = if why.0 == extended::NO_REACHABLE_AUTHORITY { FAILURE } else { BOGUS };
        let security = match why.0 {
            extended::INDETERMINATE => Security::Indeterminate(why.1.clone()),
            _ => Security::Bogus(why.1.clone()),
        };
        Validation { security, explained: Some(why), seconds }
    }
}

fn out_of_reach(why: String) -> (Trust, u32) {
    (Trust::Failed((extended::NO_REACHABLE_AUTHORITY, why)), FAILURE)
}

/// A failure and the seconds it is kept: one that comes from the budget of this lookup is not kept for others.
fn failed(why: ExtendedError) -> (Trust, u32) {
    let seconds = if why.0 == extended::INDETERMINATE { 0 } else { BOGUS };
    (Trust::Failed(why), seconds)
}

/// A zone's keys as cached.
#[derive(Debug)]
struct Known {
    trust: Trust,
    until: Timestamp,
}

impl CacheValue for Known {
    fn weight(&self) -> usize {
        // The name is stored twice, 255 octets each at most.
        let content = match &self.trust {
            Trust::Secure(keys) => keys.iter().map(|key| size_of::<Dnskey>() + key.public_key.len()).sum(),
            Trust::Insecure => 0,
            Trust::Failed((_, why)) => why.len(),
        };
        512 + size_of::<Self>() + content
    }

    fn is_fresh(&self, now: Timestamp) -> bool {
        now < self.until
    }
}

/// The budget ran out before the keys of a zone were found. Not cached: the next lookup has its own budget.
#[derive(Debug)]
struct OutOfQuestions;

type KeyLookup = Arc<OnceCell<Arc<Known>>>;
type KeyLookups = Mutex<HashMap<Name, KeyLookup>>;

/// Participation in the lookup of a zone's keys; the last participant removes it from the table.
struct Participant<'a> {
    lookups: &'a KeyLookups,
    zone: Name,
    lookup: KeyLookup,
}

impl<'a> Participant<'a> {
    fn join(lookups: &'a KeyLookups, zone: &Name) -> Self {
        let mut table = lookups.lock().unwrap_or_else(PoisonError::into_inner);
        let lookup = table.entry(zone.clone()).or_default().clone();
        Participant { lookups, zone: zone.clone(), lookup }
    }
}

impl Drop for Participant<'_> {
    fn drop(&mut self) {
        let mut table = self.lookups.lock().unwrap_or_else(PoisonError::into_inner);
        // The table holds one reference and this participant the other.
        if Arc::strong_count(&self.lookup) <= 2 {
            table.remove(&self.zone);
        }
    }
}

/// Validates with the anchors of an engine.
pub(crate) struct Validator {
    engine: Engine,
    anchors: Vec<(Name, Ds)>,
    known: Cache<Name, Known>,
    lookups: KeyLookups,
}

impl Validator {
    pub(crate) fn new(engine: Engine) -> Self {
        let anchors = &engine.settings().trust_anchors.0;
        let anchors = anchors.iter().filter_map(|(o, ds)| Some((Name::from_text(o).ok()?, ds.clone())));
        Validator {
            anchors: anchors.collect(),
            known: Cache::new(KEY_CACHE),
            lookups: Mutex::default(),
            engine,
        }
    }

    /// Judges an answer about `name`; the questions this takes are counted in `budget`, and all signatures are verified
    /// within one budget of verifications.
    pub(crate) async fn validate(
        &self,
        name: &Name,
        rtype: Rtype,
        fetched: &Fetched,
        now: Timestamp,
        budget: &QuestionBudget,
    ) -> Validation {
        self.validate_within(name, rtype, fetched, &Verifier::new(now), budget).await.unwrap_or_else(
            |OutOfQuestions| {
                let why = format!("validating {name} takes more than {} queries", budget.sent());
                Validation::failed((extended::NO_REACHABLE_AUTHORITY, why))
            },
        )
    }

    async fn validate_within(
        &self,
        name: &Name,
        rtype: Rtype,
        fetched: &Fetched,
        verifier: &Verifier,
        budget: &QuestionBudget,
    ) -> Result<Validation, OutOfQuestions> {
        let (reply, now) = (&fetched.reply, verifier.now());
        let zone = apex(reply, name, &fetched.zone);
        let keys = match self.trust(zone.clone(), verifier, budget).await? {
            Trust::Insecure => return Ok(Validation::good(Security::Insecure, u32::MAX)),
            Trust::Failed(why) => return Ok(Validation::failed(why)),
            Trust::Secure(keys) => keys,
        };
        let keys: Vec<&Dnskey> = keys.iter().collect();
        match check(reply, name, rtype, &zone, &keys, verifier) {
            Ok(Proof::Holds) => Ok(Validation::good(Security::Secure, valid_for(reply, now))),
            Ok(_) => Ok(Validation::good(Security::Insecure, valid_for(reply, now))),
            Err(why) => {
                // The DS set of a name belongs to the zone above it.
                let lowest = if rtype == Rtype::DS { name.parent() } else { name.clone() };
                if is_unsigned(reply, name) && self.unsigned_below(&zone, &lowest, verifier, budget).await? {
                    Ok(Validation::good(Security::Insecure, MAX_KEY_TTL))
                } else {
                    Ok(Validation::failed(why))
                }
            }
        }
    }

    /// Returns whether a zone between `zone` and `name` is proved to be unsigned. Servers of both zones answer from the
    /// lower one without a referral, and an unsigned answer does not show which zone it comes from.
    async fn unsigned_below(
        &self,
        zone: &Name,
        name: &Name,
        verifier: &Verifier,
        budget: &QuestionBudget,
    ) -> Result<bool, OutOfQuestions> {
        for count in (zone.labels().len() + 1..=name.labels().len()).take(MAX_CUTS) {
            if let Trust::Insecure = self.trust(name.trim_to(count), verifier, budget).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns trust in a zone: from the cache, or from the lookup in progress, or from a new one.
    fn trust<'a>(
        &'a self,
        zone: Name,
        verifier: &'a Verifier,
        budget: &'a QuestionBudget,
    ) -> BoxFuture<'a, Result<Trust, OutOfQuestions>> {
        Box::pin(async move {
            let now = verifier.now();
            if let Some(known) = self.known.get(&zone, now) {
                return Ok(known.trust.clone());
            }
            let participant = Participant::join(&self.lookups, &zone);
            let found = participant.lookup.get_or_try_init(|| async {
                let (trust, seconds) = self.learn(&zone, verifier, budget).await?;
                let until = now.checked_add(SignedDuration::from_secs(seconds.into())).unwrap_or(now);
                let known = Arc::new(Known { trust, until });
                self.known.put(zone.clone(), known.clone());
                Ok(known)
            });
            found.await.map(|known| known.trust.clone())
        })
    }

    /// Fetches within the budget; the inner result is that of the engine.
    async fn fetch(
        &self,
        name: &Name,
        rtype: Rtype,
        budget: &QuestionBudget,
    ) -> Result<Result<Fetched, Error>, OutOfQuestions> {
        match self.engine.fetch(name, rtype, budget).await {
            Err(Error::Exhausted { .. }) if budget.left() == 0 => Err(OutOfQuestions),
            fetched => Ok(fetched),
        }
    }

    async fn learn(
        &self,
        zone: &Name,
        verifier: &Verifier,
        budget: &QuestionBudget,
    ) -> Result<(Trust, u32), OutOfQuestions> {
        let anchored: Vec<&Ds> = self.anchors.iter().filter(|(o, _)| o == zone).map(|(_, ds)| ds).collect();
        if !anchored.is_empty() {
            return self.enter(zone, &anchored, MAX_KEY_TTL, verifier, budget).await;
        }
        if !self.anchors.iter().any(|(owner, _)| zone.is_below(owner)) {
            return Ok((Trust::Insecure, MAX_KEY_TTL));
        }
        let fetched = match self.fetch(zone, Rtype::DS, budget).await? {
            Ok(fetched) => fetched,
            Err(e) => return Ok(out_of_reach(format!("the DS records of {zone} could not be fetched: {e}"))),
        };
        let parent = apex(&fetched.reply, zone, &fetched.zone);
        if !zone.is_below(&parent) {
            return Ok(out_of_reach(format!("no zone above {zone} answers for its DS records")));
        }
        let trusted = match self.trust(parent.clone(), verifier, budget).await? {
            Trust::Secure(keys) => keys,
            Trust::Insecure => return Ok((Trust::Insecure, MAX_KEY_TTL)),
            Trust::Failed(why) => return Ok(failed(why)),
        };
        let trusted: Vec<&Dnskey> = trusted.iter().collect();
        let reply = &fetched.reply;
        let set: Vec<&Rr> = reply.answers_of(zone, Rtype::DS).collect();
        if set.is_empty() {
            let denials = Denials::of(&reply.authority, &parent, &trusted, verifier);
            return Ok(if denials.unsigned_cut(zone) {
                (Trust::Insecure, MAX_KEY_TTL.min(shortest(&reply.authority)))
            } else if denials.is_undecided() {
                failed(not_computed(&parent))
            } else {
                let why = format!("{parent} does not prove that {zone} is unsigned");
                failed((extended::NSEC_MISSING, why))
            });
        }
        let sigs: Vec<_> = signatures(&reply.answers, zone, Rtype::DS).collect();
        if let Err(fault) = verifier.check_set(&set, &sigs, &trusted, &parent) {
            let why = format!("the DS set of {zone} does not validate: {}", fault.words());
            return Ok(failed((code(&fault), why)));
        }
        let ds: Vec<&Ds> =
            set.iter().filter_map(|rr| if let Data::Ds(ds) = &rr.data { Some(ds) } else { None }).collect();
        self.enter(zone, &ds, MAX_KEY_TTL.min(shortest(&reply.answers)), verifier, budget).await
    }

    /// From validated DS records to the keys of their zone.
    async fn enter(
        &self,
        zone: &Name,
        ds: &[&Ds],
        ttl: u32,
        verifier: &Verifier,
        budget: &QuestionBudget,
    ) -> Result<(Trust, u32), OutOfQuestions> {
        let ds = usable(ds.iter().copied());
        if ds.is_empty() {
            return Ok((Trust::Insecure, ttl));
        }
        let fetched = match self.fetch(zone, Rtype::DNSKEY, budget).await? {
            Ok(fetched) => fetched,
            Err(e) => return Ok(out_of_reach(format!("the keys of {zone} could not be fetched: {e}"))),
        };
        let answers = &fetched.reply.answers;
        let set: Vec<&Rr> = fetched.reply.answers_of(zone, Rtype::DNSKEY).collect();
        let all: Vec<&Dnskey> = keys(answers, zone).collect();
        let entry = entry_keys(&ds, zone, &all);
        if entry.is_empty() {
            let why = format!("no DNSKEY of {zone} matches its DS records");
            return Ok(failed((extended::DNSKEY_MISSING, why)));
        }
        let sigs: Vec<_> = signatures(answers, zone, Rtype::DNSKEY).collect();
        Ok(match verifier.check_set(&set, &sigs, &entry, zone) {
            Ok(()) => {
                let seconds =
                    ttl.min(shortest(answers)).min(valid_for(&fetched.reply, verifier.now())).max(1);
                (Trust::Secure(Arc::new(all.into_iter().cloned().collect())), seconds)
            }
            Err(fault) => {
                let why = format!("the DNSKEY set of {zone} does not validate: {}", fault.words());
                failed((code(&fault), why))
            }
        })
    }
}
