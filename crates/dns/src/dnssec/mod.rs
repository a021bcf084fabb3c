//! DNSSEC of a zone: the chain from a trust anchor down, each link validated (RFC 4035 section 5).
//! Out: secure, insecure (proved), bogus (with the reason) or indeterminate, and when signatures expire.

pub mod denial;
#[cfg(test)]
mod signer;
pub(crate) mod validate;
pub mod verifier;
pub mod verify;

use crate::delegation::random_label;
use crate::delegation::trace::{self, descend, ds_of};
use crate::resolve::Resolved;
use crate::session::{QueryMode, Session};
use crate::settings::TrustAnchors;
use crate::wire::{Data, Dnskey, Edns, Name, Question, Reply, Rr, Rtype};
use denial::{Denials, Proof};
use jiff::Timestamp;
use model::dns::{AnswerKind, DenialProof, Dnssec, DnssecStatus};
use model::registration::Ds;
use std::net::IpAddr;
use verifier::Verifier;
use verify::{Fault, entry_keys, keys, signatures, usable};

/// Longest chain that is followed.
const MAX_LINKS: usize = 16;
pub(crate) const NXDOMAIN: u16 = 3;

/// How the chain ended.
struct Verdict(DnssecStatus, String);

/// What does not validate is bogus, unless it was not computed to the end.
fn broken(what: &str, fault: &Fault) -> Verdict {
    let status = if *fault == Fault::OutOfBudget { DnssecStatus::Indeterminate } else { DnssecStatus::Bogus };
    Verdict(status, format!("{what}: {}", fault.words()))
}

fn bogus(reason: String) -> Verdict {
    Verdict(DnssecStatus::Bogus, reason)
}

/// DS records, keys and signature times observed at the zone, whether or not the chain validates.
#[derive(Default)]
struct ZoneEvidence {
    ds: Vec<Ds>,
    keys: Vec<Dnskey>,
    expire: Option<u32>,
    denial: Option<DenialProof>,
}

pub(crate) async fn dnssec(session: &Session, zone: &Name, verifier: &Verifier) -> Dnssec {
    let cuts = match session.delegation_read.then(|| session.cuts_down_to(zone)).flatten() {
        Some(cuts) => cuts,
        None => {
            let (steps, _) = descend(session, zone, Rtype::SOA, None).await;
            steps.iter().skip(1).map(|s| s.zone.clone()).collect()
        }
    };
    let mut evidence = ZoneEvidence::default();
    let Verdict(status, reason) = chain(session, zone, cuts, verifier, &mut evidence).await;
    let mut key_tags: Vec<u16> = evidence.keys.iter().map(|k| k.key_tag).collect();
    key_tags.sort_unstable();
    key_tags.dedup();
    Dnssec {
        status,
        reason,
        ds: evidence.ds,
        key_tags,
        signatures_expire: evidence.expire.and_then(|s| Timestamp::from_second(i64::from(s)).ok()),
        denial: evidence.denial,
    }
}

fn anchor(anchors: &TrustAnchors, zone: &Name) -> Option<(Name, Vec<Ds>)> {
    // The anchor closest to the zone is where the chain starts.
    let mut best: Option<Name> = None;
    for (owner, _) in &anchors.0 {
        let Ok(owner) = Name::from_text(owner) else { continue };
        if zone.is_at_or_below(&owner) && best.as_ref().is_none_or(|b| owner.is_below(b)) {
            best = Some(owner);
        }
    }
    let best = best?;
    let list =
        anchors.0.iter().filter(|(o, _)| Name::from_text(o).as_ref() == Ok(&best)).map(|(_, d)| d.clone());
    Some((best.clone(), list.collect()))
}

async fn chain(
    session: &Session,
    zone: &Name,
    cuts: Vec<Name>,
    verifier: &Verifier,
    evidence: &mut ZoneEvidence,
) -> Verdict {
    let own = apex(session, zone, evidence).await;
    let Some((start, mut ds)) = anchor(&session.settings.trust_anchors, zone) else {
        return Verdict(DnssecStatus::Indeterminate, format!("no trust anchor covers {zone}"));
    };
    let mut current = start;
    for _ in 0..MAX_LINKS {
        if current == *zone && evidence.ds.is_empty() {
            evidence.ds = ds.clone();
        }
        let trusted = usable(&ds);
        if trusted.is_empty() {
            return Verdict(
                DnssecStatus::Insecure,
                format!("the DS records of {current} use only algorithms or digests unknown here"),
            );
        }
        let Some(reply) = ask(session, &current, &current, Rtype::DNSKEY).await else {
            return match own {
                Some(_) if current == *zone => {
                    bogus(format!("{current} has DS records but serves no DNSKEY"))
                }
                _ => Verdict(DnssecStatus::Indeterminate, format!("no server of {current} gives its DNSKEY")),
            };
        };
        let set: Vec<&Rr> = reply.answers_of(&current, Rtype::DNSKEY).collect();
        let all: Vec<&Dnskey> = keys(&reply.answers, &current).collect();
        if all.is_empty() {
            return bogus(format!("{current} has DS records at its parent but no DNSKEY"));
        }
        let entry = entry_keys(&trusted, &current, &all);
        if entry.is_empty() {
            return bogus(format!("no DNSKEY of {current} matches its DS records"));
        }
        let sigs: Vec<_> = signatures(&reply.answers, &current, Rtype::DNSKEY).collect();
        if let Err(fault) = verifier.check_set(&set, &sigs, &entry, &current) {
            return broken(&format!("the DNSKEY set of {current} does not validate"), &fault);
        }
        if current == *zone {
            return match own {
                None => {
                    Verdict(DnssecStatus::Indeterminate, format!("no server of {zone} answers for its SOA"))
                }
                Some(soa) => {
                    let verdict = last_link(&soa, zone, &all, verifier);
                    if verdict.0 == DnssecStatus::Secure {
                        evidence.denial = probe(session, zone, &all, verifier).await;
                    }
                    verdict
                }
            };
        }
        match next_link(session, zone, &current, &cuts, &all, verifier).await {
            Ok((next, records)) => {
                if next == *zone {
                    evidence.ds.clone_from(&records);
                }
                current = next;
                ds = records;
            }
            Err(verdict) => return verdict,
        }
    }
    Verdict(DnssecStatus::Indeterminate, "the chain is too long".into())
}

fn last_link(reply: &Reply, zone: &Name, all: &[&Dnskey], verifier: &Verifier) -> Verdict {
    let set: Vec<&Rr> = reply.answers_of(zone, Rtype::SOA).collect();
    let sigs: Vec<_> = signatures(&reply.answers, zone, Rtype::SOA).collect();
    match verifier.check_set(&set, &sigs, all, zone) {
        Ok(()) => Verdict(
            DnssecStatus::Secure,
            format!("a chain of valid signatures leads from the trust anchor to {zone}"),
        ),
        Err(fault) => broken(&format!("the SOA record of {zone} does not validate"), &fault),
    }
}

/// From a zone whose keys are trusted to the next zone on the way down, with its DS records.
async fn next_link(
    session: &Session,
    zone: &Name,
    current: &Name,
    cuts: &[Name],
    trusted: &[&Dnskey],
    verifier: &Verifier,
) -> Result<(Name, Vec<Ds>), Verdict> {
    let child = cuts.iter().find(|c| c.is_below(current) && zone.is_at_or_below(c)).unwrap_or(zone).clone();
    let unknown = || {
        Verdict(DnssecStatus::Indeterminate, format!("no server of {current} answers for the DS of {child}"))
    };
    let reply = ask_also_absent(session, current, &child, Rtype::DS).await.ok_or_else(unknown)?;
    let set: Vec<&Rr> = reply.answers_of(&child, Rtype::DS).collect();
    if set.is_empty() {
        // A hidden zone between: servers that serve several zones of the path answer from the lowest. Its own keys, or
        // the proof that it has none, are looked for above it.
        let apex = reply.authority.iter().find_map(|rr| match &rr.data {
            Data::Rrsig(s) => Some(&s.signer).filter(|z| z.is_below(current) && child.is_below(z)),
            Data::Soa(_) => Some(&rr.name).filter(|z| z.is_below(current) && child.is_below(z)),
            _ => None,
        });
        if let Some(between) = apex {
            return Box::pin(next_link(session, between, current, &[], trusted, verifier)).await;
        }
        let alias: Vec<&Rr> = reply.answers_of(&child, Rtype::CNAME).collect();
        let sigs: Vec<_> = signatures(&reply.answers, &child, Rtype::CNAME).collect();
        if !alias.is_empty() && verifier.check_set(&alias, &sigs, trusted, current).is_ok() {
            return Err(no_zone(current, &child));
        }
        let denials = Denials::of(&reply.authority, current, trusted, verifier);
        return Err(if reply.rcode == NXDOMAIN {
            absent(&denials, current, &child)
        } else {
            no_ds(&denials, zone, current, &child)
        });
    }
    let sigs: Vec<_> = signatures(&reply.answers, &child, Rtype::DS).collect();
    if let Some(sig) = sigs.iter().find(|s| s.signer.is_below(current) && child.is_below(&s.signer)) {
        return Box::pin(next_link(session, &sig.signer.clone(), current, &[], trusted, verifier)).await;
    }
    match verifier.check_set(&set, &sigs, trusted, current) {
        Ok(()) => Ok((child.clone(), ds_of(&reply.answers, &child))),
        Err(fault) => Err(broken(&format!("the DS set of {child} does not validate"), &fault)),
    }
}

/// What an answer without DS records amounts to.
fn no_ds(denials: &Denials<'_>, zone: &Name, current: &Name, child: &Name) -> Verdict {
    if let Some(n) = denials.costly() {
        let reason = format!("{current} uses {n} NSEC3 iterations: its denials count as unsigned (RFC 9276)");
        return Verdict(DnssecStatus::Insecure, reason);
    }
    if denials.unsigned_cut(child) {
        let above = if child == zone { String::new() } else { format!(", above {zone},") };
        let reason = format!("{current} proves that {child}{above} has no DS record");
        return Verdict(DnssecStatus::Insecure, reason);
    }
    if denials.compact_no_name(child) {
        return absent(denials, current, child);
    }
    if denials.no_type(child, Rtype::DS) == Proof::Holds {
        return no_zone(current, child);
    }
    if denials.is_undecided() {
        return undecided(current, child);
    }
    bogus(match denials.fault() {
        Some(fault) => format!("the proof that {child} has no DS does not hold: {fault}"),
        None => format!("{current} does not prove that {child} has no DS"),
    })
}

/// What a proof amounts to that was not computed to the end.
fn undecided(current: &Name, child: &Name) -> Verdict {
    let reason = format!(
        "whether {current} proves what it says of {child} was not verified: its answer has too many records, keys or \
         signatures"
    );
    Verdict(DnssecStatus::Indeterminate, reason)
}

/// A name inside a zone has no chain of its own.
fn no_zone(current: &Name, child: &Name) -> Verdict {
    let reason = format!("{child} is no zone of its own: its records are in {current}");
    Verdict(DnssecStatus::Indeterminate, reason)
}

/// What an answer amounts to that says the zone does not exist.
fn absent(denials: &Denials<'_>, current: &Name, child: &Name) -> Verdict {
    let gone = |reason: String| Verdict(DnssecStatus::Indeterminate, reason);
    let proof = if denials.compact_no_name(child) { Proof::Holds } else { denials.no_name(child) };
    match (proof, denials.fault()) {
        (Proof::Holds, _) => gone(format!("{child} does not exist: {current} proves it")),
        (Proof::Open, _) => {
            gone(format!("{child} does not exist: the servers of {current} say so (NXDOMAIN)"))
        }
        (Proof::Missing, _) if denials.is_undecided() => undecided(current, child),
        (Proof::Missing, Some(fault)) => {
            bogus(format!("{current} says that {child} does not exist, and the proof does not hold: {fault}"))
        }
        (Proof::Missing, None) => {
            bogus(format!("{current} says that {child} does not exist and does not prove it"))
        }
    }
}

/// Asks a secure zone for a random name and verifies the proof that it does not exist.
async fn probe(session: &Session, zone: &Name, keys: &[&Dnskey], verifier: &Verifier) -> Option<DenialProof> {
    let name = zone.child(&random_label())?;
    let mut question = Question::new(name.clone(), Rtype::A);
    question.edns = Some(Edns::ordinary(true));
    let servers = session.closest_zone(zone).1;
    for ip in servers.iter().flat_map(|s| s.addresses.iter().copied()).take(8) {
        let asked = session.ask(ip, &question, QueryMode::Resolver).await;
        if let Some(reply) = asked.reply().filter(|r| r.aa && matches!(r.rcode, 0 | 3)) {
            return Some(proof_of(reply, zone, &name, keys, verifier));
        }
    }
    None
}

fn proof_of(reply: &Reply, zone: &Name, name: &Name, keys: &[&Dnskey], verifier: &Verifier) -> DenialProof {
    let denials = Denials::of(&reply.authority, zone, keys, verifier);
    let not_computed = || DenialProof::Open { reason: Fault::OutOfBudget.words() };
    let set: Vec<&Rr> = reply.answers_of(name, Rtype::A).collect();
    let proof = if set.is_empty() {
        // Compact denial (RFC 9824) says NODATA of every name.
        if reply.rcode == 3 { denials.no_name(name) } else { denials.no_type(name, Rtype::A) }
    } else {
        let sigs: Vec<_> = signatures(&reply.answers, name, Rtype::A).collect();
        if let Err(fault) = verifier.check_set(&set, &sigs, keys, zone) {
            if fault == Fault::OutOfBudget {
                return not_computed();
            }
            let reason = format!("the wildcard's answer does not validate: {}", fault.words());
            return DenialProof::Broken { reason };
        }
        let labels = sigs.iter().map(|s| usize::from(s.labels)).min().unwrap_or(0);
        denials.nothing_closer(name, labels)
    };
    match (proof, denials.costly()) {
        (Proof::Holds, _) => DenialProof::Holds,
        (Proof::Open, Some(n)) => DenialProof::Open {
            reason: format!("{n} NSEC3 iterations are more than validators compute (RFC 9276)"),
        },
        (Proof::Open, None) => {
            DenialProof::Open { reason: "NSEC3 with opt-out leaves out unsigned names".into() }
        }
        (Proof::Missing, _) if denials.is_undecided() => not_computed(),
        (Proof::Missing, _) => DenialProof::Broken {
            reason: match denials.fault() {
                Some(fault) => format!("a record of the proof does not count: {fault}"),
                None => "the NSEC or NSEC3 records do not cover the name and its wildcard".into(),
            },
        },
    }
}

/// Asks servers of `zone` with DO until one answers with authority that the name exists.
async fn ask(session: &Session, zone: &Name, name: &Name, rtype: Rtype) -> Option<Reply> {
    ask_also_absent(session, zone, name, rtype).await.filter(|reply| reply.rcode != NXDOMAIN)
}

/// The same; where no server knows the name, that is the answer.
async fn ask_also_absent(session: &Session, zone: &Name, name: &Name, rtype: Rtype) -> Option<Reply> {
    let mut question = Question::new(name.clone(), rtype);
    question.edns = Some(Edns::ordinary(true));
    let (known, servers) = session.closest_zone(zone);
    let addresses: Vec<IpAddr> = if known == *zone {
        servers.iter().flat_map(|s| s.addresses.iter().copied()).collect()
    } else {
        Vec::new()
    };
    let mut denied = None;
    for ip in addresses.into_iter().take(8) {
        let asked = session.ask(ip, &question, QueryMode::Resolver).await;
        match asked.reply().filter(|r| r.aa) {
            Some(reply) if reply.rcode == 0 => return Some(reply.clone()),
            Some(reply) if reply.rcode == NXDOMAIN => denied = denied.or_else(|| Some(reply.clone())),
            _ => {}
        }
    }
    if denied.is_some() {
        return denied;
    }
    // Servers that are not known by a referral (they also serve the parent): found by resolving.
    let found: Resolved = session.resolve(name.clone(), rtype, false, Vec::new()).await.ok()?;
    if !matches!(found.kind, AnswerKind::Answer | AnswerKind::NoData | AnswerKind::NxDomain) {
        return None;
    }
    let ip = session.closest_zone(zone).1.iter().find_map(|s| s.addresses.first().copied())?;
    let asked = session.ask(ip, &trace::question(name, rtype), QueryMode::Resolver).await;
    asked.reply().filter(|r| r.aa && matches!(r.rcode, 0 | NXDOMAIN)).cloned()
}

/// SOA, keys and signature expiry of the zone itself.
async fn apex(session: &Session, zone: &Name, evidence: &mut ZoneEvidence) -> Option<Reply> {
    let soa = ask(session, zone, zone, Rtype::SOA).await;
    let dnskey = ask(session, zone, zone, Rtype::DNSKEY).await;
    if let Some(reply) = &dnskey {
        evidence.keys = keys(&reply.answers, zone).cloned().collect();
    }
    for (reply, rtype) in [(&soa, Rtype::SOA), (&dnskey, Rtype::DNSKEY)] {
        let section = reply.as_ref().map(|r| r.answers.as_slice()).unwrap_or_default();
        let first = signatures(section, zone, rtype).map(|s| s.expiration).min();
        evidence.expire = [evidence.expire, first].into_iter().flatten().min();
    }
    soa.filter(|r| r.answers_of(zone, Rtype::SOA).next().is_some())
}
