//! Digests of keys, as DS records hold them (RFC 4034 section 5.1.4). The cryptography is hickory's.

use super::{Dnskey, Name};
use hickory_proto::dnssec::{DigestType, crypto::Digest};

/// Digest of a key in upper-case hexadecimal; `None` when the digest type is unknown here.
pub fn digest(owner: &Name, key: &Dnskey, digest_type: u8) -> Option<String> {
    let data = [owner.to_wire(), key.to_wire()].concat();
    let digest = Digest::new(&data, DigestType::from(digest_type)).ok()?;
    Some(digest.as_ref().iter().map(|b| format!("{b:02X}")).collect())
}
