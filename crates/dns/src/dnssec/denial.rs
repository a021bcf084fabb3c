//! Signed denials: that a name does not exist, has no such type, is answered by a wildcard and by nothing closer, or is
//! a delegation without DS records (RFC 4035 section 5.4, RFC 5155 section 8, RFC 6840 section 4). In: a section of a
//! signed zone's answer. Out: proved, left open (opt-out, too many iterations), or not.

use super::verifier::Verifier;
use super::verify::{Fault, label_count, signatures};
use crate::wire::{Data, Dnskey, Name, Nsec3, Rr, Rtype};
use data_encoding::BASE32_DNSSEC;
use hickory_proto::dnssec::{DigestType, crypto::Digest};
use std::cell::Cell;
use std::collections::HashSet;

/// More iterations count as unsigned (RFC 9276 section 3.2); the signature over the record is checked all the same.
pub const MAX_ITERATIONS: u16 = 100;
/// More iterations are never computed for any caller.
const MAX_COMPUTED: u16 = 500;
const OPT_OUT: u8 = 1;
const NXNAME: u16 = 128;
/// Records of a denial that are looked at: a proof needs three. A hostile answer could hold hundreds, each a signature
/// to compute and a hash for every label of the name (CVE-2023-50868).
const MOST_RECORDS: usize = 12;

/// The NSEC3 hash of a name; `None` when that is too much work.
pub fn nsec3_hash(name: &Name, salt: &[u8], iterations: u16) -> Option<Vec<u8>> {
    if iterations > MAX_COMPUTED {
        return None;
    }
    Digest::iterated(salt, &name.to_wire(), DigestType::SHA1, iterations).ok().map(|d| d.as_ref().to_vec())
}

/// How a proof turned out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// It holds.
    Holds,
    /// It holds only up to a span that may leave out unsigned names, or costs too much to compute.
    Open,
    /// It does not hold.
    Missing,
}

/// The validated NSEC and NSEC3 records of an answer.
pub struct Denials<'a> {
    zone: &'a Name,
    verifier: &'a Verifier,
    nsec: Vec<(&'a Name, &'a Name, &'a [Rtype])>,
    /// Owner hash, record.
    nsec3: Vec<(Vec<u8>, &'a Nsec3)>,
    /// Iterations of a record that has more than are computed.
    costly: Option<u16>,
    /// Why a record does not count.
    fault: Option<Fault>,
    /// Something was not computed for want of budget: a proof that is missing says nothing then.
    undecided: Cell<bool>,
}

impl<'a> Denials<'a> {
    /// Those of a section whose signatures hold.
    pub fn of(section: &'a [Rr], zone: &'a Name, keys: &[&Dnskey], verifier: &'a Verifier) -> Self {
        let mut out = Denials {
            zone,
            verifier,
            nsec: Vec::new(),
            nsec3: Vec::new(),
            costly: None,
            fault: None,
            undecided: Cell::new(false),
        };
        let denial = |rr: &&Rr| matches!(rr.data, Data::Nsec(..) | Data::Nsec3(_));
        let mut seen = HashSet::new();
        let own = section.iter().filter(|rr| rr.name.is_at_or_below(zone)).filter(denial);
        for rr in own.filter(|rr| seen.insert((&rr.name, rr.rtype, &rr.raw))) {
            if out.nsec.len() + out.nsec3.len() == MOST_RECORDS {
                out.undecided.set(true);
                break;
            }
            let sigs: Vec<_> = signatures(section, &rr.name, rr.rtype).collect();
            // One made from a wildcard would speak for names it was not made for.
            let whole = |s: &&crate::wire::Rrsig| usize::from(s.labels) == label_count(&rr.name);
            let sigs: Vec<_> = sigs.into_iter().filter(whole).collect();
            if let Err(fault) = verifier.check_set(&[rr], &sigs, keys, zone) {
                let out_of_budget = fault == Fault::OutOfBudget;
                out.fault = Some(fault);
                if out_of_budget {
                    out.undecided.set(true);
                    break;
                }
                continue;
            }
            match &rr.data {
                Data::Nsec(next, types) => out.nsec.push((&rr.name, next, types)),
                // Unknown hashes and flags say nothing (RFC 5155 sections 8.1 and 8.2).
                Data::Nsec3(n)
                    if n.hash_algorithm == 1 && n.flags & !OPT_OUT == 0 && rr.name.parent() == *zone =>
                {
                    if n.iterations > MAX_ITERATIONS {
                        out.costly = Some(n.iterations);
                    } else if let Some(hash) = rr.name.labels().next().and_then(base32hex)
                        && out
                            .nsec3
                            .first()
                            .is_none_or(|(_, f)| f.salt == n.salt && f.iterations == n.iterations)
                    {
                        out.nsec3.push((hash, n));
                    }
                }
                _ => {}
            }
        }
        out
    }

    /// Iterations of an NSEC3 record that has more than [`MAX_ITERATIONS`]: proofs are left open then.
    pub fn costly(&self) -> Option<u16> {
        self.costly
    }

    /// Why records that were there do not count, in words.
    pub fn fault(&self) -> Option<String> {
        self.fault.as_ref().map(Fault::words)
    }

    /// True when something was left out for want of budget: a proof that is missing might be there.
    pub fn is_undecided(&self) -> bool {
        self.undecided.get()
    }

    /// That `name` exists (or is answered by a wildcard) without records of this type.
    pub fn no_type(&self, name: &Name, rtype: Rtype) -> Proof {
        if self.costly.is_some() {
            return Proof::Open;
        }
        for (owner, next, types) in &self.nsec {
            if *owner == name {
                return held(lacks(types, rtype));
            }
            // A name that exists only through names below it.
            if *owner < name && next.is_below(name) && !foreign(owner, types, name) {
                return Proof::Holds;
            }
        }
        if let Some((_, n)) = self.matching(name) {
            return held(lacks(&n.types, rtype));
        }
        match self.closest_encloser(name) {
            Some((_, Proof::Missing)) => Proof::Missing,
            Some((encloser, closer)) => match encloser.child("*") {
                Some(wildcard) if self.lacks_at(&wildcard, rtype) => closer,
                // An opt-out span may leave out a delegation without DS records, and a name that is there only for such a
                // one below it (RFC 5155 sections 7.1 and 8.6).
                _ if closer == Proof::Open => Proof::Open,
                _ => Proof::Missing,
            },
            None => Proof::Missing,
        }
    }

    /// That `name` does not exist, said in the compact way: an NSEC record of its own with the type NXNAME (RFC 9824).
    pub fn compact_no_name(&self, name: &Name) -> bool {
        self.nsec.iter().any(|(owner, _, types)| *owner == name && types.contains(&Rtype(NXNAME)))
    }

    /// That `name` does not exist, and no wildcard stands for it.
    pub fn no_name(&self, name: &Name) -> Proof {
        if self.costly.is_some() {
            return Proof::Open;
        }
        match self.closest_encloser(name) {
            Some((encloser, closer)) => match encloser.child("*") {
                Some(wildcard) if self.absent(&wildcard) != Proof::Missing => closer,
                _ => Proof::Missing,
            },
            None => Proof::Missing,
        }
    }

    /// That nothing closer to `name` exists than its ancestor of this many labels, whose wildcard answered.
    pub fn nothing_closer(&self, name: &Name, labels: usize) -> Proof {
        if self.costly.is_some() {
            return Proof::Open;
        }
        self.absent(&name.trim_to(labels + 1))
    }

    /// That a name may be a delegation without DS records: the cut is there and has none, or it is left out.
    pub fn unsigned_cut(&self, child: &Name) -> bool {
        let cut = |types: &[Rtype]| {
            types.contains(&Rtype::NS) && !types.contains(&Rtype::DS) && !types.contains(&Rtype::SOA)
        };
        if self.costly.is_some() || self.nsec.iter().any(|(owner, _, types)| *owner == child && cut(types)) {
            return true;
        }
        match self.matching(child) {
            Some((_, n)) => cut(&n.types),
            None => matches!(self.closest_encloser(child), Some((_, Proof::Open))),
        }
    }

    fn lacks_at(&self, name: &Name, rtype: Rtype) -> bool {
        self.nsec.iter().any(|(owner, _, types)| *owner == name && lacks(types, rtype))
            || self.matching(name).is_some_and(|(_, n)| lacks(&n.types, rtype))
    }

    /// The hash of a name, as the records of one chain all have it.
    fn hash(&self, name: &Name) -> Option<Vec<u8>> {
        let (_, n) = self.nsec3.first()?;
        self.verifier.nsec3_hash(name, &n.salt, n.iterations).unwrap_or_else(|_| {
            self.undecided.set(true);
            None
        })
    }

    fn matching(&self, name: &Name) -> Option<&(Vec<u8>, &'a Nsec3)> {
        let hash = self.hash(name)?;
        self.nsec3.iter().find(|(owner, _)| *owner == hash)
    }

    /// Both ends of the NSEC record between which `name` would be.
    fn span(&self, name: &Name) -> Option<(&'a Name, &'a Name)> {
        let around = |(owner, next, types): &&(&Name, &Name, &[Rtype])| {
            let last = *next == self.zone;
            *owner < name && (last || name < *next) && !next.is_below(name) && !foreign(owner, types, name)
        };
        self.nsec.iter().find(around).map(|(owner, next, _)| (*owner, *next))
    }

    /// A span that holds the place where `name` would be.
    fn absent(&self, name: &Name) -> Proof {
        if self.span(name).is_some() {
            return Proof::Holds;
        }
        let Some(hash) = self.hash(name) else { return Proof::Missing };
        let cover = self.nsec3.iter().find(|(owner, n)| {
            let last = n.next <= *owner;
            if last { hash > *owner || hash < n.next } else { hash > *owner && hash < n.next }
        });
        match cover {
            Some((_, n)) if n.flags & OPT_OUT != 0 => Proof::Open,
            Some(_) => Proof::Holds,
            None => Proof::Missing,
        }
    }

    /// The longest ancestor that is proved to exist, and the proof that the next name towards `name` does not.
    fn closest_encloser(&self, name: &Name) -> Option<(Name, Proof)> {
        // NSEC: the span around the name shares labels with it on one of its ends.
        if let Some((owner, next)) = self.span(name) {
            let shared = name.common_labels(owner).max(name.common_labels(next));
            return Some((name.trim_to(shared), Proof::Holds));
        }
        let above = self.zone.labels().len()..name.labels().len();
        for count in above.rev() {
            let encloser = name.trim_to(count);
            if let Some((_, n)) = self.matching(&encloser) {
                let next_closer = name.trim_to(count + 1);
                let foreign = foreign(&encloser, &n.types, name);
                return (!foreign).then(|| (encloser, self.absent(&next_closer)));
            }
        }
        None
    }
}

/// The record of a delegation, or of a redirected subtree, says nothing about what lies below (RFC 6840 section 4.1, RFC
/// 6672 section 5.3.4.1).
fn foreign(owner: &Name, types: &[Rtype], name: &Name) -> bool {
    let cut = types.contains(&Rtype::NS) && !types.contains(&Rtype::SOA);
    name.is_below(owner) && (cut || types.contains(&Rtype::DNAME))
}

fn held(holds: bool) -> Proof {
    if holds { Proof::Holds } else { Proof::Missing }
}

/// The list of types proves that this one is not there; the list of a delegation speaks about DS only.
fn lacks(types: &[Rtype], rtype: Rtype) -> bool {
    let cut = types.contains(&Rtype::NS) && !types.contains(&Rtype::SOA);
    !types.contains(&rtype)
        && !types.contains(&Rtype::CNAME)
        && if rtype == Rtype::DS { !types.contains(&Rtype::SOA) } else { !cut }
}

/// Octets of an owner label of NSEC3 (RFC 4648 section 7, without padding).
fn base32hex(label: &[u8]) -> Option<Vec<u8>> {
    BASE32_DNSSEC.decode(label).ok()
}

#[cfg(test)]
#[path = "denial_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "denial_props.rs"]
mod props;
