//! One reply against the keys of its zone: the signatures of a positive answer, or the proof of a negative one (RFC 4035
//! section 5), and how long the result holds. In: a reply and keys that are trusted. Out: a proof, or why there is none.

use crate::codes::{ExtendedError, extended};
use dns::dnssec::denial::{Denials, Proof};
use dns::dnssec::verifier::Verifier;
use dns::dnssec::verify::{Fault, signatures};
use dns::wire::{Data, Dnskey, Name, Reply, Rr, Rtype};
use jiff::Timestamp;
use std::collections::HashSet;

/// Returns the extended error code of a fault (RFC 8914 section 4).
pub(crate) fn code(fault: &Fault) -> u16 {
    match fault {
        Fault::Unsigned => extended::RRSIGS_MISSING,
        Fault::NoKey(_) => extended::DNSKEY_MISSING,
        Fault::Expired(_) => extended::SIGNATURE_EXPIRED,
        Fault::NotYet(_) => extended::SIGNATURE_NOT_YET_VALID,
        Fault::Invalid(_) => extended::BOGUS,
        Fault::Unsupported(_) => extended::UNSUPPORTED_ALGORITHM,
        Fault::OutOfBudget => extended::INDETERMINATE,
    }
}

/// What was not computed for want of budget says nothing about the zone.
pub(crate) fn not_computed(zone: &Name) -> ExtendedError {
    let why =
        format!("{zone} was not validated: its answer has too many keys, signatures or records to verify");
    (extended::INDETERMINATE, why)
}

/// Returns the zone an answer is from: the lowest signer or SOA owner between the delegated zone and the name, since
/// servers of several zones answer without a referral. A false one gains nothing: each zone needs a chain of trust.
pub(crate) fn apex(reply: &Reply, name: &Name, zone: &Name) -> Name {
    let spoken = reply.answers.iter().chain(&reply.authority).filter_map(|rr| match &rr.data {
        // A DS set at an apex belongs to the zone above.
        Data::Rrsig(sig) => Some(&sig.signer),
        Data::Soa(_) => Some(&rr.name),
        _ => None,
    });
    let on_path = spoken.filter(|apex| name.is_at_or_below(apex) && apex.is_at_or_below(zone));
    on_path.max_by_key(|apex| apex.labels().len()).unwrap_or(zone).clone()
}

/// Returns whether the reply has no signature that could cover the name.
pub(crate) fn is_unsigned(reply: &Reply, name: &Name) -> bool {
    let signed = |rr: &Rr| matches!(&rr.data, Data::Rrsig(sig) if name.is_at_or_below(&sig.signer));
    !reply.answers.iter().chain(&reply.authority).any(signed)
}

pub(crate) fn shortest(section: &[Rr]) -> u32 {
    section.iter().map(|rr| rr.ttl).min().unwrap_or(0)
}

/// Returns seconds until the first signature expires, at most the original TTLs (RFC 4035 section 5.3.3).
pub(crate) fn valid_for(reply: &Reply, now: Timestamp) -> u32 {
    let bounds = reply.answers.iter().chain(&reply.authority).filter_map(|rr| match &rr.data {
        Data::Rrsig(sig) => {
            let left = sig.expiration.wrapping_sub(now.as_second() as u32);
            Some(sig.original_ttl.min(if left < 1 << 31 { left } else { u32::MAX }))
        }
        _ => None,
    });
    bounds.min().unwrap_or(u32::MAX)
}

/// Validates the signatures of a positive answer, or the proof of a negative one.
pub(crate) fn check(
    reply: &Reply,
    name: &Name,
    rtype: Rtype,
    zone: &Name,
    keys: &[&Dnskey],
    verifier: &Verifier,
) -> Result<Proof, ExtendedError> {
    let answers = &reply.answers;
    let at_name = |wanted: Rtype| answers.iter().any(|rr| rr.name == *name && rr.rtype == wanted);
    let kind = if at_name(rtype) { rtype } else { Rtype::CNAME };
    if name.is_root() && rtype == Rtype::DS {
        // The root has no parent that could sign its DS set.
        return Ok(Proof::Open);
    }
    let denials = || Denials::of(&reply.authority, zone, keys, verifier);
    if !at_name(kind) {
        let denials = denials();
        let proof = if reply.rcode == 3 { denials.no_name(name) } else { denials.no_type(name, rtype) };
        return match proof {
            Proof::Missing if denials.is_undecided() => Err(not_computed(zone)),
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
    if sigs.is_empty() && kind == Rtype::CNAME && redirected(reply, name, zone, keys, verifier)? {
        return Ok(Proof::Holds);
    }
    verifier.check_set(&set, &sigs, keys, zone).map_err(|fault| {
        let why = format!("the {kind} records of {name} do not validate: {}", fault.words());
        (code(&fault), why)
    })?;
    // Fewer labels in the signature than in the name: the answer comes from a wildcard, which needs a proof that no closer
    // name exists. A leading asterisk in the query name is not counted (RFC 4034 section 3.1.3).
    let asterisk = usize::from(name.labels().next().is_some_and(|label| label == b"*"));
    let count = name.labels().len() - asterisk;
    let wildcard = sigs.iter().map(|s| usize::from(s.labels)).filter(|n| *n < count).min();
    match wildcard {
        None => Ok(Proof::Holds),
        Some(labels) => {
            let denials = denials();
            match denials.nothing_closer(name, labels) {
                Proof::Missing if denials.is_undecided() => Err(not_computed(zone)),
                Proof::Missing => {
                    let why = format!("{zone} does not prove that only a wildcard matches {name}");
                    Err((extended::NSEC_MISSING, why))
                }
                other => Ok(other),
            }
        }
    }
}

/// Returns whether the CNAME record at `name` follows from a signed DNAME record above it (RFC 6672 section 5.3.1).
///
/// # Errors
/// A signature that was not verified might be the one.
fn redirected(
    reply: &Reply,
    name: &Name,
    zone: &Name,
    keys: &[&Dnskey],
    verifier: &Verifier,
) -> Result<bool, ExtendedError> {
    let target = reply.answers_of(name, Rtype::CNAME).find_map(|rr| match &rr.data {
        Data::Cname(target) => Some(target),
        _ => None,
    });
    let Some(target) = target else { return Ok(false) };
    let follows = |rr: &&Rr| {
        let Data::Dname(onto) = &rr.data else { return false };
        let kept = name.labels().len().saturating_sub(rr.name.labels().len());
        name.is_below(&rr.name)
            && target.labels().len() == kept + onto.labels().len()
            && target.labels().take(kept).eq(name.labels().take(kept))
            && target.is_at_or_below(onto)
    };
    // The same record twice is one.
    let mut seen = HashSet::new();
    for rr in reply.answers.iter().filter(follows).filter(|rr| seen.insert((&rr.name, &rr.raw))) {
        let sigs: Vec<_> = signatures(&reply.answers, &rr.name, Rtype::DNAME).collect();
        match verifier.check_set(&[rr], &sigs, keys, zone) {
            Ok(()) => return Ok(true),
            Err(Fault::OutOfBudget) => return Err(not_computed(zone)),
            Err(_) => {}
        }
    }
    Ok(false)
}
