//! Proofs that a delegation has no DS record (RFC 4035 section 5.2, RFC 5155 sections 8.6 and 8.9).

use super::verify::{Fault, check_set, signatures};
use crate::present::base32hex;
use crate::wire::{Data, Dnskey, Name, Nsec3, Rr, Rtype};
use hickory_proto::dnssec::{DigestType, crypto::Digest};
use jiff::Timestamp;

/// More iterations than this are not computed (RFC 9276 section 3.2 lets validators refuse them).
const MAX_ITERATIONS: u16 = 500;

/// The NSEC3 hash of a name.
pub fn nsec3_hash(name: &Name, salt: &[u8], iterations: u16) -> Option<Vec<u8>> {
    if iterations > MAX_ITERATIONS {
        return None;
    }
    Digest::iterated(salt, &name.to_wire(), DigestType::SHA1, iterations).ok().map(|d| d.as_ref().to_vec())
}

/// Looks for a signed proof, in the authority section of a reply of zone `parent`, that `child` has no DS.
pub fn no_ds(
    authority: &[Rr],
    child: &Name,
    parent: &Name,
    keys: &[&Dnskey],
    now: Timestamp,
) -> Result<(), String> {
    let signed = |rr: &Rr| {
        let sigs: Vec<_> = signatures(authority, &rr.name, rr.rtype).collect();
        check_set(&[rr], &sigs, keys, parent, now)
    };
    let mut fault: Option<Fault> = None;
    for rr in authority {
        let proves = match &rr.data {
            Data::Nsec(_, types) => rr.name == *child && lacks_ds(types),
            Data::Nsec3(n) => nsec3_proves(rr, n, child, parent),
            _ => false,
        };
        if proves {
            match signed(rr) {
                Ok(()) => return Ok(()),
                Err(e) => fault = Some(e),
            }
        }
    }
    Err(match fault {
        Some(fault) => format!("the proof that {child} has no DS does not hold: {}", fault.words()),
        None => format!("{parent} does not prove that {child} has no DS"),
    })
}

fn lacks_ds(types: &[Rtype]) -> bool {
    !types.contains(&Rtype::DS) && !types.contains(&Rtype::SOA)
}

fn nsec3_proves(rr: &Rr, n: &Nsec3, child: &Name, parent: &Name) -> bool {
    if n.hash_algorithm != 1 || rr.name.parent() != *parent {
        return false;
    }
    let Some(label) = rr.name.labels().first() else { return false };
    let Some(hash) = nsec3_hash(child, &n.salt, n.iterations) else { return false };
    let hash = base32hex(&hash);
    if label.as_slice() == hash.as_bytes() {
        return lacks_ds(&n.types);
    }
    // Opt-out: the next closer name is covered by a span that may leave out unsigned delegations.
    let next_closer = child.trim_to(parent.labels().len() + 1);
    let closer = nsec3_hash(&next_closer, &n.salt, n.iterations).map(|h| base32hex(&h));
    n.flags & 1 == 1 && closer.is_some_and(|c| covers(label, base32hex(&n.next).as_bytes(), c.as_bytes()))
}

/// True when `hash` lies between the owner and the next hash, in the order of the ring.
fn covers(owner: &[u8], next: &[u8], hash: &[u8]) -> bool {
    if owner < next { owner < hash && hash < next } else { hash > owner || hash < next }
}
