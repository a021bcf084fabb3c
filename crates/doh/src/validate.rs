//! Validation of what a zone's servers said: the chain of keys from a trust anchor, kept while it holds, then the
//! signatures of the answer or the proof of its absence (RFC 4035 section 5).

use crate::backend::extended;
use crate::entry::{BOGUS, Explained, FAILURE, Security};
use dns::dnssec::denial::{Denials, Proof};
use dns::dnssec::verify::{Fault, check_set, ds_matches, keys, signatures, usable};
use dns::wire::{Data, Dnskey, Name, Reply, Rr, Rtype};
use dns::{Engine, Fetched};
use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use model::registration::Ds;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::OnceCell;

/// Zones whose keys are remembered.
const ZONES: usize = 10_000;
/// Names below a signed zone at which an unsigned one is looked for: each costs questions, and whoever asks chooses how
/// many labels a name has.
const CUTS: usize = 16;
/// Keys are not believed longer without asking again.
const LONGEST: u32 = 3600;

/// What is known about the keys of a zone.
#[derive(Debug, Clone)]
enum Trust {
    Secure(Arc<Vec<Dnskey>>),
    Insecure,
    Bogus(Explained),
}

/// What validation found.
pub(crate) struct Judged {
    pub security: Security,
    /// Why it is bogus.
    pub explained: Option<Explained>,
    /// Seconds the judgement may be relied on.
    pub seconds: u32,
}

impl Judged {
    fn good(security: Security, seconds: u32) -> Self {
        Judged { security, explained: None, seconds }
    }

    fn bogus(why: Explained) -> Self {
        let seconds = if why.0 == extended::NO_REACHABLE_AUTHORITY { FAILURE } else { BOGUS };
        Judged { security: Security::Bogus(why.1.clone()), explained: Some(why), seconds }
    }
}

/// The extended error that says the same (RFC 8914 section 4).
fn code(fault: &Fault) -> u16 {
    match fault {
        Fault::Unsigned => extended::RRSIGS_MISSING,
        Fault::NoKey(_) => extended::DNSKEY_MISSING,
        Fault::Expired(_) => extended::SIGNATURE_EXPIRED,
        Fault::NotYet(_) => extended::SIGNATURE_NOT_YET_VALID,
        Fault::Invalid(_) => extended::BOGUS,
        Fault::Unsupported(_) => extended::UNSUPPORTED_ALGORITHM,
    }
}

fn out_of_reach(why: String) -> (Trust, u32) {
    (Trust::Bogus((extended::NO_REACHABLE_AUTHORITY, why)), FAILURE)
}

type Learned = Arc<OnceCell<(Trust, Timestamp)>>;

/// Validates with the anchors of an engine.
pub(crate) struct Validator {
    engine: Engine,
    anchors: Vec<(Name, Ds)>,
    zones: Mutex<HashMap<Name, Learned>>,
}

impl Validator {
    pub(crate) fn new(engine: Engine) -> Self {
        let anchors = &engine.settings().trust_anchors.0;
        let anchors = anchors.iter().filter_map(|(o, ds)| Some((Name::from_text(o).ok()?, ds.clone())));
        Validator { anchors: anchors.collect(), zones: Mutex::default(), engine }
    }

    /// Judges an answer about `name`.
    pub(crate) async fn judge(&self, name: &Name, rtype: Rtype, fetched: &Fetched, now: Timestamp) -> Judged {
        let reply = &fetched.reply;
        let zone = apex(reply, name, &fetched.zone);
        match self.trust(zone.clone(), now).await {
            Trust::Insecure => Judged::good(Security::Insecure, u32::MAX),
            Trust::Bogus(why) => Judged::bogus(why),
            Trust::Secure(keys) => {
                let keys: Vec<&Dnskey> = keys.iter().collect();
                match check(reply, name, rtype, &zone, &keys, now) {
                    Ok(Proof::Holds) => Judged::good(Security::Secure, valid_for(reply, now)),
                    Ok(_) => Judged::good(Security::Insecure, valid_for(reply, now)),
                    Err(why) => {
                        // The DS set of a name belongs to the zone above it.
                        let lowest = if rtype == Rtype::DS { name.parent() } else { name.clone() };
                        if is_unsigned(reply, name) && self.unsigned_below(&zone, &lowest, now).await {
                            Judged::good(Security::Insecure, LONGEST)
                        } else {
                            Judged::bogus(why)
                        }
                    }
                }
            }
        }
    }

    /// Whether a zone between `zone` and `name` is proved to be unsigned: servers that serve both answer from the lower
    /// one without a referral, and an answer without signatures does not say from which.
    async fn unsigned_below(&self, zone: &Name, name: &Name, now: Timestamp) -> bool {
        for count in (zone.labels().len() + 1..=name.labels().len()).take(CUTS) {
            if let Trust::Insecure = self.trust(name.trim_to(count), now).await {
                return true;
            }
        }
        false
    }

    /// The keys of a zone, found once at a time and kept while they hold.
    fn trust(&self, zone: Name, now: Timestamp) -> BoxFuture<'_, Trust> {
        Box::pin(async move {
            let cell = {
                let mut zones = self.zones.lock().unwrap_or_else(PoisonError::into_inner);
                if zones.len() >= ZONES && !zones.contains_key(&zone) {
                    zones.clear();
                }
                let cell = zones.entry(zone.clone()).or_default();
                if cell.get().is_some_and(|(_, until)| *until <= now) {
                    *cell = Learned::default();
                }
                cell.clone()
            };
            let found = cell.get_or_init(|| async {
                let (trust, seconds) = self.learn(&zone, now).await;
                let until = now.checked_add(SignedDuration::from_secs(seconds.into())).unwrap_or(now);
                (trust, until)
            });
            found.await.0.clone()
        })
    }

    async fn learn(&self, zone: &Name, now: Timestamp) -> (Trust, u32) {
        let anchored: Vec<&Ds> = self.anchors.iter().filter(|(o, _)| o == zone).map(|(_, ds)| ds).collect();
        if !anchored.is_empty() {
            return self.enter(zone, &anchored, LONGEST, now).await;
        }
        if !self.anchors.iter().any(|(owner, _)| zone.is_below(owner)) {
            return (Trust::Insecure, LONGEST);
        }
        let fetched = match self.engine.fetch(zone, Rtype::DS).await {
            Ok(fetched) => fetched,
            Err(e) => return out_of_reach(format!("the DS records of {zone} can't be had: {e}")),
        };
        let parent = apex(&fetched.reply, zone, &fetched.zone);
        if !zone.is_below(&parent) {
            return out_of_reach(format!("no zone above {zone} answers for its DS records"));
        }
        let trusted = match self.trust(parent.clone(), now).await {
            Trust::Secure(keys) => keys,
            Trust::Insecure => return (Trust::Insecure, LONGEST),
            Trust::Bogus(why) => return (Trust::Bogus(why), BOGUS),
        };
        let trusted: Vec<&Dnskey> = trusted.iter().collect();
        let reply = &fetched.reply;
        let set: Vec<&Rr> = reply.answers_of(zone, Rtype::DS).collect();
        if set.is_empty() {
            let denials = Denials::of(&reply.authority, &parent, &trusted, now);
            return if denials.unsigned_cut(zone) {
                (Trust::Insecure, LONGEST.min(shortest(&reply.authority)))
            } else {
                let why = format!("{parent} does not prove that {zone} is unsigned");
                (Trust::Bogus((extended::NSEC_MISSING, why)), BOGUS)
            };
        }
        let sigs: Vec<_> = signatures(&reply.answers, zone, Rtype::DS).collect();
        if let Err(fault) = check_set(&set, &sigs, &trusted, &parent, now) {
            let why = format!("the DS set of {zone} does not validate: {}", fault.words());
            return (Trust::Bogus((code(&fault), why)), BOGUS);
        }
        let ds: Vec<&Ds> =
            set.iter().filter_map(|rr| if let Data::Ds(ds) = &rr.data { Some(ds) } else { None }).collect();
        self.enter(zone, &ds, LONGEST.min(shortest(&reply.answers)), now).await
    }

    /// From DS records that are believed to the keys of their zone.
    async fn enter(&self, zone: &Name, ds: &[&Ds], ttl: u32, now: Timestamp) -> (Trust, u32) {
        let ds = usable(ds.iter().copied());
        if ds.is_empty() {
            return (Trust::Insecure, ttl);
        }
        let fetched = match self.engine.fetch(zone, Rtype::DNSKEY).await {
            Ok(fetched) => fetched,
            Err(e) => return out_of_reach(format!("the keys of {zone} can't be had: {e}")),
        };
        let answers = &fetched.reply.answers;
        let set: Vec<&Rr> = fetched.reply.answers_of(zone, Rtype::DNSKEY).collect();
        let all: Vec<&Dnskey> = keys(answers, zone).collect();
        let entry: Vec<&Dnskey> =
            all.iter().copied().filter(|key| ds.iter().any(|ds| ds_matches(ds, zone, key))).collect();
        if entry.is_empty() {
            let why = format!("no DNSKEY of {zone} matches its DS records");
            return (Trust::Bogus((extended::DNSKEY_MISSING, why)), BOGUS);
        }
        let sigs: Vec<_> = signatures(answers, zone, Rtype::DNSKEY).collect();
        match check_set(&set, &sigs, &entry, zone, now) {
            Ok(()) => {
                let seconds = ttl.min(shortest(answers)).min(valid_for(&fetched.reply, now)).max(1);
                (Trust::Secure(Arc::new(all.into_iter().cloned().collect())), seconds)
            }
            Err(fault) => {
                let why = format!("the DNSKEY set of {zone} does not validate: {}", fault.words());
                (Trust::Bogus((code(&fault), why)), BOGUS)
            }
        }
    }
}

/// The zone an answer is from: the lowest signer or SOA owner on the path to the name, when servers that serve several
/// zones of the path answered without a referral. Made-up ones gain nothing: each zone has to be proved.
fn apex(reply: &Reply, name: &Name, zone: &Name) -> Name {
    let spoken = reply.answers.iter().chain(&reply.authority).filter_map(|rr| match &rr.data {
        // A DS set at an apex belongs to the zone above.
        Data::Rrsig(sig) => Some(&sig.signer),
        Data::Soa(_) => Some(&rr.name),
        _ => None,
    });
    let on_path = spoken.filter(|apex| name.is_at_or_below(apex) && apex.is_at_or_below(zone));
    on_path.max_by_key(|apex| apex.labels().len()).unwrap_or(zone).clone()
}

/// No signature anywhere that could concern the name.
fn is_unsigned(reply: &Reply, name: &Name) -> bool {
    let signed = |rr: &Rr| matches!(&rr.data, Data::Rrsig(sig) if name.is_at_or_below(&sig.signer));
    !reply.answers.iter().chain(&reply.authority).any(signed)
}

fn shortest(section: &[Rr]) -> u32 {
    section.iter().map(|rr| rr.ttl).min().unwrap_or(0)
}

/// Seconds until the first signature ends, and no more than the TTLs that were signed (RFC 4035 section 5.3.3).
fn valid_for(reply: &Reply, now: Timestamp) -> u32 {
    let bounds = reply.answers.iter().chain(&reply.authority).filter_map(|rr| match &rr.data {
        Data::Rrsig(sig) => {
            let left = sig.expiration.wrapping_sub(now.as_second() as u32);
            Some(sig.original_ttl.min(if left < 1 << 31 { left } else { u32::MAX }))
        }
        _ => None,
    });
    bounds.min().unwrap_or(u32::MAX)
}

/// Signatures of a positive answer, or the proof of a negative one.
fn check(
    reply: &Reply,
    name: &Name,
    rtype: Rtype,
    zone: &Name,
    keys: &[&Dnskey],
    now: Timestamp,
) -> Result<Proof, Explained> {
    let answers = &reply.answers;
    let at_name = |wanted: Rtype| answers.iter().any(|rr| rr.name == *name && rr.rtype == wanted);
    let kind = if at_name(rtype) { rtype } else { Rtype::CNAME };
    if name.is_root() && rtype == Rtype::DS {
        // Nobody above can speak for the root.
        return Ok(Proof::Open);
    }
    let denials = || Denials::of(&reply.authority, zone, keys, now);
    if !at_name(kind) {
        let denials = denials();
        let proof = if reply.rcode == 3 { denials.no_name(name) } else { denials.no_type(name, rtype) };
        return match proof {
            Proof::Missing => {
                let why = format!("{zone} does not prove that there is no {rtype} record at {name}");
                Err((extended::NSEC_MISSING, why))
            }
            other => Ok(other),
        };
    }
    if rtype == Rtype::RRSIG {
        // Signatures are not signed.
        return Ok(Proof::Open);
    }
    let set: Vec<&Rr> = reply.answers_of(name, kind).collect();
    let sigs: Vec<_> = signatures(answers, name, kind).collect();
    if sigs.is_empty() && kind == Rtype::CNAME && redirected(reply, name, zone, keys, now) {
        return Ok(Proof::Holds);
    }
    check_set(&set, &sigs, keys, zone, now).map_err(|fault| {
        let why = format!("the {kind} records of {name} do not validate: {}", fault.words());
        (code(&fault), why)
    })?;
    // Fewer labels in the signature than in the name: a wildcard answered, which is right only if nothing is closer.
    // An asterisk that was asked for by name is not counted (RFC 4034 section 3.1.3).
    let asterisk = usize::from(name.labels().first().is_some_and(|label| label == b"*"));
    let count = name.labels().len() - asterisk;
    let wildcard = sigs.iter().map(|s| usize::from(s.labels)).filter(|n| *n < count).min();
    match wildcard {
        None => Ok(Proof::Holds),
        Some(labels) => match denials().nothing_closer(name, labels) {
            Proof::Missing => {
                let why = format!("{zone} does not prove that only a wildcard matches {name}");
                Err((extended::NSEC_MISSING, why))
            }
            other => Ok(other),
        },
    }
}

/// The alias at `name` follows from a signed DNAME above it (RFC 6672 section 5.3.1).
fn redirected(reply: &Reply, name: &Name, zone: &Name, keys: &[&Dnskey], now: Timestamp) -> bool {
    let target = reply.answers_of(name, Rtype::CNAME).find_map(|rr| match &rr.data {
        Data::Cname(target) => Some(target),
        _ => None,
    });
    let Some(target) = target else { return false };
    reply.answers.iter().any(|rr| {
        let Data::Dname(onto) = &rr.data else { return false };
        let kept = name.labels().len().saturating_sub(rr.name.labels().len());
        let follows = name.is_below(&rr.name)
            && target.labels().len() == kept + onto.labels().len()
            && target.labels()[..kept] == name.labels()[..kept]
            && target.is_at_or_below(onto);
        let sigs: Vec<_> = signatures(&reply.answers, &rr.name, Rtype::DNAME).collect();
        follows && check_set(&[rr], &sigs, keys, zone, now).is_ok()
    })
}
