//! Signatures and digests (RFC 4034 section 3.1.8.1, RFC 4035 section 5.3). The cryptography is hickory's.

pub use crate::wire::digest;
use crate::wire::{Data, Dnskey, Name, Rr, Rrsig, Rtype};
use hickory_proto::dnssec::{Algorithm, DigestType, PublicKeyBuf};
use jiff::Timestamp;
use model::registration::Ds;
use model::serial::later;
use std::collections::{BTreeSet, HashSet};

/// Why a signature does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// No RRSIG covers the set.
    Unsigned,
    /// No key of the set has the signature's key tag and algorithm.
    NoKey(u16),
    /// Past its expiration.
    Expired(u32),
    /// Before its inception.
    NotYet(u32),
    /// The key says it is false.
    Invalid(u16),
    /// We cannot compute this algorithm, or a key of this length.
    Unsupported(u8),
    /// Not computed: the operation has verified as many signatures as it may. It says nothing about the set.
    OutOfBudget,
}

impl Fault {
    /// The one of two that says more: a signature by a key that has gone may be left over, as may one that has expired;
    /// one that is false is neither; one that was not computed might hold.
    pub(super) fn or(self, other: Fault) -> Fault {
        let says = |fault: &Fault| match fault {
            Fault::Unsigned => 0,
            Fault::NoKey(_) => 1,
            Fault::Unsupported(_) => 2,
            Fault::NotYet(_) => 3,
            Fault::Expired(_) => 4,
            Fault::Invalid(_) => 5,
            Fault::OutOfBudget => 6,
        };
        if says(&other) > says(&self) { other } else { self }
    }

    /// In words.
    pub fn words(&self) -> String {
        let date =
            |s: &u32| Timestamp::from_second(i64::from(*s)).map_or_else(|_| s.to_string(), |t| t.to_string());
        match self {
            Fault::Unsigned => "it is not signed".into(),
            Fault::NoKey(tag) => format!("its signature is by key {tag}, which is not in the DNSKEY set"),
            Fault::Expired(at) => format!("its signature expired at {}", date(at)),
            Fault::NotYet(at) => format!("its signature is valid only from {}", date(at)),
            Fault::Invalid(tag) => format!("its signature by key {tag} is false"),
            Fault::OutOfBudget => "it was not verified: the zone has too many keys of one tag or too many \
                                   signatures"
                .into(),
            Fault::Unsupported(algorithm) => {
                format!(
                    "its signature has algorithm {algorithm}, or a key of a length, that is not computed here"
                )
            }
        }
    }
}

/// Signatures over `rtype` at `owner` in a section.
pub fn signatures<'a>(
    section: &'a [Rr],
    owner: &'a Name,
    rtype: Rtype,
) -> impl Iterator<Item = &'a Rrsig> + 'a {
    section.iter().filter(move |rr| rr.name == *owner).filter_map(move |rr| match &rr.data {
        Data::Rrsig(sig) if sig.type_covered == rtype => Some(sig),
        _ => None,
    })
}

/// Keys in a section at `owner`.
pub fn keys<'a>(section: &'a [Rr], owner: &'a Name) -> impl Iterator<Item = &'a Dnskey> + 'a {
    section.iter().filter(move |rr| rr.name == *owner && rr.rtype == Rtype::DNSKEY).filter_map(|rr| match &rr
        .data
    {
        Data::Dnskey(key) => Some(key),
        _ => None,
    })
}

/// Labels as an RRSIG counts them: without the asterisk (RFC 4034 section 3.1.3).
pub(super) fn label_count(name: &Name) -> usize {
    name.labels().len() - usize::from(name.labels().next().is_some_and(|l| l == b"*"))
}

/// The octets a signature is made over; `None` where it cannot be one over this set: it has more labels than the owner,
/// or stands for a wildcard above its own zone (RFC 4035 section 5.3.1).
pub(super) fn signed_data(set: &[&Rr], sig: &Rrsig) -> Option<Vec<u8>> {
    let owner = &set.first()?.name;
    let labels = usize::from(sig.labels);
    if labels < sig.signer.labels().len() {
        return None;
    }
    let name = match labels.cmp(&label_count(owner)) {
        std::cmp::Ordering::Equal => owner.clone(),
        std::cmp::Ordering::Less => owner.trim_to(labels).child("*")?,
        std::cmp::Ordering::Greater => return None,
    };
    let mut out = Vec::new();
    out.extend(sig.type_covered.0.to_be_bytes());
    out.extend([sig.algorithm, sig.labels]);
    for number in [sig.original_ttl, sig.expiration, sig.inception] {
        out.extend(number.to_be_bytes());
    }
    out.extend(sig.key_tag.to_be_bytes());
    out.extend(sig.signer.to_wire());
    let mut datas: Vec<&[u8]> = set.iter().map(|rr| rr.raw.as_slice()).collect();
    datas.sort_unstable();
    datas.dedup();
    for data in datas {
        out.extend(name.to_wire());
        out.extend(sig.type_covered.0.to_be_bytes());
        out.extend(1u16.to_be_bytes());
        out.extend(sig.original_ttl.to_be_bytes());
        out.extend((data.len() as u16).to_be_bytes());
        out.extend_from_slice(data);
    }
    Some(out)
}

/// Exponent and modulus of an RSA key (RFC 3110 section 2), without leading zeros; `None` when the key makes no sense.
fn rsa(key: &Dnskey) -> Option<(&[u8], &[u8])> {
    let (length, start) = match *key.public_key.first()? {
        0 => (usize::from(u16::from_be_bytes([*key.public_key.get(1)?, *key.public_key.get(2)?])), 3),
        n => (usize::from(n), 1),
    };
    let trim = |octets: &'_ [u8]| octets.iter().take_while(|b| **b == 0).count();
    let exponent = key.public_key.get(start..start + length)?;
    let modulus = key.public_key.get(start + length..)?;
    Some((&exponent[trim(exponent)..], &modulus[trim(modulus)..]))
}

fn bits(octets: &[u8]) -> Option<usize> {
    let first = octets.first()?;
    Some(octets.len() * 8 - first.leading_zeros() as usize)
}

/// Bits of the modulus; `None` when the key makes no sense.
pub(crate) fn modulus_bits(key: &Dnskey) -> Option<usize> {
    bits(rsa(key)?.1)
}

/// RSA keys that the cryptography here computes: by bits of the modulus (in whole octets), and of the exponent at most.
const RSA_BITS: std::ops::RangeInclusive<usize> = 1017..=8192;
const RSA_EXPONENT_BITS: usize = 33;

/// True for an RSA key that makes sense but is too short or too long to be computed here: nothing is said about what it
/// signs then.
fn out_of_range(key: &Dnskey) -> bool {
    let Some((exponent, modulus)) = rsa(key).filter(|_| matches!(key.algorithm, 5 | 7 | 8 | 10)) else {
        return false;
    };
    bits(modulus).is_some_and(|n| !RSA_BITS.contains(&n))
        || bits(exponent).is_some_and(|n| n > RSA_EXPONENT_BITS)
}

/// Whether a signature is to be counted now.
///
/// # Errors
/// [`Fault::NotYet`] and [`Fault::Expired`].
pub(super) fn within_time(sig: &Rrsig, now: Timestamp) -> Result<(), Fault> {
    let now = now.as_second() as u32;
    if later(sig.inception, now) {
        return Err(Fault::NotYet(sig.inception));
    }
    if later(now, sig.expiration) {
        return Err(Fault::Expired(sig.expiration));
    }
    Ok(())
}

/// A key as the cryptography takes it.
///
/// # Errors
/// [`Fault::Unsupported`].
pub(super) fn public_key(key: &Dnskey) -> Result<PublicKeyBuf, Fault> {
    let algorithm = Algorithm::from_u8(key.algorithm);
    if !algorithm.is_supported() || out_of_range(key) {
        return Err(Fault::Unsupported(key.algorithm));
    }
    Ok(PublicKeyBuf::new(key.public_key.clone(), algorithm))
}

/// A key that may sign a zone's data (RFC 4034 sections 2.1.1 and 2.1.2, RFC 5011 section 2.1).
pub(super) fn signs_zones(key: &Dnskey) -> bool {
    key.zone_key() && !key.revoked() && key.protocol == 3
}

/// True when we can compute both the digest and the algorithm of a DS record.
pub fn ds_usable(ds: &Ds) -> bool {
    DigestType::from(ds.digest_type).is_supported() && Algorithm::from_u8(ds.algorithm).is_supported()
}

/// The DS records that lead into a zone: those we can compute, and no SHA-1 digest where a stronger one is there
/// (RFC 4509 section 3). None left: the zone counts as unsigned.
pub fn usable<'a>(ds: impl IntoIterator<Item = &'a Ds>) -> Vec<&'a Ds> {
    const SHA1: u8 = 1;
    let mut ds: Vec<&Ds> = ds.into_iter().filter(|ds| ds_usable(ds)).collect();
    if ds.iter().any(|ds| ds.digest_type != SHA1) {
        ds.retain(|ds| ds.digest_type != SHA1);
    }
    ds
}

/// The keys that one of these DS records is the digest of. Each key is digested once for each digest type, however many
/// DS records have its tag.
pub fn entry_keys<'k>(ds: &[&Ds], owner: &Name, keys: &[&'k Dnskey]) -> Vec<&'k Dnskey> {
    let wanted: HashSet<(u16, u8, u8, String)> =
        ds.iter().map(|d| (d.key_tag, d.algorithm, d.digest_type, d.digest.to_ascii_uppercase())).collect();
    let types: BTreeSet<u8> = ds.iter().map(|d| d.digest_type).collect();
    let tags: HashSet<u16> = ds.iter().map(|d| d.key_tag).collect();
    let mut seen = HashSet::new();
    let named = keys.iter().copied().filter(|k| tags.contains(&k.key_tag) && seen.insert(*k));
    named
        .filter(|k| {
            types.iter().any(|t| {
                digest(owner, k, *t).is_some_and(|d| wanted.contains(&(k.key_tag, k.algorithm, *t, d)))
            })
        })
        .collect()
}

#[cfg(test)]
#[path = "verify_tests.rs"]
mod tests;
