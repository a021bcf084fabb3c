//! RDATA of the types this crate looks into (RFC 1035, 4034, 5155); everything else stays octets.

use super::canonical::canonical;
use super::{Name, Rtype, WireError, u16_at, u32_at};
use std::net::{Ipv4Addr, Ipv6Addr};

/// RDATA as understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Data {
    /// IPv4 address.
    A(Ipv4Addr),
    /// IPv6 address.
    Aaaa(Ipv6Addr),
    /// Name server.
    Ns(Name),
    /// Canonical name.
    Cname(Name),
    /// Redirection of a subtree.
    Dname(Name),
    /// Pointer.
    Ptr(Name),
    /// Start of authority.
    Soa(SoaData),
    /// Preference and mail exchanger.
    Mx(u16, Name),
    /// Character strings.
    Txt(Vec<Vec<u8>>),
    /// DS or CDS.
    Ds(model::registration::Ds),
    /// DNSKEY or CDNSKEY.
    Dnskey(Dnskey),
    /// Signature.
    Rrsig(Rrsig),
    /// Next name and types present.
    Nsec(Name, Vec<Rtype>),
    /// Hashed denial.
    Nsec3(Nsec3),
    /// Hash algorithm, flags, iterations, salt.
    Nsec3Param(u8, u8, u16, Vec<u8>),
    /// A type we do not look into.
    Other,
    /// RDATA that does not fit its type.
    Malformed,
}

/// Fields of an SOA record.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct SoaData {
    pub mname: Name,
    pub rname: Name,
    pub serial: u32,
    pub refresh: u32,
    pub retry: u32,
    pub expire: u32,
    pub minimum: u32,
}

/// Fields of a DNSKEY record.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub struct Dnskey {
    pub flags: u16,
    pub protocol: u8,
    pub algorithm: u8,
    pub public_key: Vec<u8>,
    /// RFC 4034 appendix B.
    pub key_tag: u16,
}

impl Dnskey {
    /// A key with its tag computed.
    pub fn new(flags: u16, protocol: u8, algorithm: u8, public_key: Vec<u8>) -> Self {
        let mut key = Dnskey { flags, protocol, algorithm, public_key, key_tag: 0 };
        key.key_tag = key_tag(&key.to_wire());
        key
    }

    /// RDATA octets.
    pub fn to_wire(&self) -> Vec<u8> {
        let [a, b] = self.flags.to_be_bytes();
        [&[a, b, self.protocol, self.algorithm][..], &self.public_key].concat()
    }

    /// Zone key flag.
    pub fn zone_key(&self) -> bool {
        self.flags & 0x0100 != 0
    }

    /// Secure entry point flag.
    pub fn sep(&self) -> bool {
        self.flags & 1 != 0
    }

    /// Revoke flag (RFC 5011).
    pub fn revoked(&self) -> bool {
        self.flags & 0x80 != 0
    }
}

/// Fields of an RRSIG record.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub struct Rrsig {
    pub type_covered: Rtype,
    pub algorithm: u8,
    pub labels: u8,
    pub original_ttl: u32,
    pub expiration: u32,
    pub inception: u32,
    pub key_tag: u16,
    pub signer: Name,
    pub signature: Vec<u8>,
}

/// Fields of an NSEC3 record.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Nsec3 {
    pub hash_algorithm: u8,
    pub flags: u8,
    pub iterations: u16,
    pub salt: Vec<u8>,
    pub next: Vec<u8>,
    pub types: Vec<Rtype>,
}

impl Data {
    /// Reads RDATA at a place of a message; the first result is its canonical octets.
    pub(super) fn read(message: &[u8], at: usize, length: usize, rtype: Rtype) -> (Vec<u8>, Data) {
        let octets = &message[at..at + length];
        match read(message, at, length, rtype) {
            Ok((raw, data)) => (raw.unwrap_or_else(|| octets.to_vec()), data),
            Err(_) => (octets.to_vec(), Data::Malformed),
        }
    }

    /// Octets of memory it takes besides its own size.
    pub(super) fn memory(&self) -> usize {
        let types = |list: &[Rtype]| size_of_val(list);
        match self {
            Data::A(_) | Data::Aaaa(_) | Data::Other | Data::Malformed => 0,
            Data::Ns(name) | Data::Cname(name) | Data::Dname(name) | Data::Ptr(name) | Data::Mx(_, name) => {
                name.memory()
            }
            Data::Soa(soa) => soa.mname.memory() + soa.rname.memory(),
            Data::Txt(strings) => strings.iter().map(|s| size_of::<Vec<u8>>() + s.len()).sum(),
            Data::Ds(ds) => ds.digest.len(),
            Data::Dnskey(key) => key.public_key.len(),
            Data::Rrsig(sig) => sig.signer.memory() + sig.signature.len(),
            Data::Nsec(next, list) => next.memory() + types(list),
            Data::Nsec3(n) => n.salt.len() + n.next.len() + types(&n.types),
            Data::Nsec3Param(_, _, _, salt) => salt.len(),
        }
    }
}

type Read = Result<(Option<Vec<u8>>, Data), WireError>;

fn read(message: &[u8], at: usize, length: usize, rtype: Rtype) -> Read {
    let octets = &message[at..at + length];
    let end = at + length;
    let whole = |stop: usize| if stop == end { Ok(()) } else { Err(WireError::Short) };
    let lone = |make: fn(Name) -> Data| {
        let (name, stop) = Name::read(message, at)?;
        whole(stop)?;
        Ok((Some(name.to_wire()), make(name)))
    };
    Ok(match rtype {
        Rtype::A => {
            (None, Data::A(Ipv4Addr::from(<[u8; 4]>::try_from(octets).map_err(|_| WireError::Short)?)))
        }
        Rtype::AAAA => {
            (None, Data::Aaaa(Ipv6Addr::from(<[u8; 16]>::try_from(octets).map_err(|_| WireError::Short)?)))
        }
        Rtype::NS => return lone(Data::Ns),
        Rtype::CNAME => return lone(Data::Cname),
        Rtype::DNAME => return lone(Data::Dname),
        Rtype::PTR => return lone(Data::Ptr),
        Rtype::MX => {
            let (name, stop) = Name::read(message, at + 2)?;
            whole(stop)?;
            let raw = [&octets[..2], &name.to_wire()].concat();
            (Some(raw), Data::Mx(u16_at(octets, 0)?, name))
        }
        Rtype::SOA => {
            let (mname, next) = Name::read(message, at)?;
            let (rname, next) = Name::read(message, next)?;
            whole(next + 20)?;
            let n = |i: usize| u32_at(message, next + 4 * i);
            let soa = SoaData {
                serial: n(0)?,
                refresh: n(1)?,
                retry: n(2)?,
                expire: n(3)?,
                minimum: n(4)?,
                mname,
                rname,
            };
            let raw = [&soa.mname.to_wire()[..], &soa.rname.to_wire(), &message[next..end]].concat();
            (Some(raw), Data::Soa(soa))
        }
        Rtype::TXT | Rtype::SPF => (None, Data::Txt(strings(octets)?)),
        Rtype::DS | Rtype::CDS if length >= 4 => (
            None,
            Data::Ds(model::registration::Ds {
                key_tag: u16_at(octets, 0)?,
                algorithm: octets[2],
                digest_type: octets[3],
                digest: octets[4..].iter().map(|b| format!("{b:02X}")).collect(),
            }),
        ),
        Rtype::DNSKEY | Rtype::CDNSKEY if length >= 4 => {
            (None, Data::Dnskey(Dnskey::new(u16_at(octets, 0)?, octets[2], octets[3], octets[4..].to_vec())))
        }
        Rtype::RRSIG if length >= 18 => {
            let (signer, next) = Name::read(message, at + 18)?;
            let signature = message.get(next..end).ok_or(WireError::Short)?;
            let sig = Rrsig {
                type_covered: Rtype(u16_at(octets, 0)?),
                algorithm: octets[2],
                labels: octets[3],
                original_ttl: u32_at(octets, 4)?,
                expiration: u32_at(octets, 8)?,
                inception: u32_at(octets, 12)?,
                key_tag: u16_at(octets, 16)?,
                signer,
                signature: signature.to_vec(),
            };
            (Some([&octets[..18], &sig.signer.to_wire(), signature].concat()), Data::Rrsig(sig))
        }
        Rtype::NSEC => {
            let (next, stop) = Name::read(message, at)?;
            let types = type_bitmap(message.get(stop..end).ok_or(WireError::Short)?)?;
            (None, Data::Nsec(next, types))
        }
        Rtype::NSEC3 if length >= 6 => {
            let salt_end = 5 + octets[4] as usize;
            let hash_length = *octets.get(salt_end).ok_or(WireError::Short)? as usize;
            let hash_end = salt_end + 1 + hash_length;
            let nsec3 = Nsec3 {
                hash_algorithm: octets[0],
                flags: octets[1],
                iterations: u16_at(octets, 2)?,
                salt: octets[5..salt_end].to_vec(),
                next: octets.get(salt_end + 1..hash_end).ok_or(WireError::Short)?.to_vec(),
                types: type_bitmap(&octets[hash_end..])?,
            };
            (None, Data::Nsec3(nsec3))
        }
        Rtype::NSEC3PARAM if length >= 5 && length == 5 + octets[4] as usize => {
            (None, Data::Nsec3Param(octets[0], octets[1], u16_at(octets, 2)?, octets[5..].to_vec()))
        }
        Rtype::DS
        | Rtype::CDS
        | Rtype::DNSKEY
        | Rtype::CDNSKEY
        | Rtype::RRSIG
        | Rtype::NSEC3
        | Rtype::NSEC3PARAM => return Err(WireError::Short),
        _ => (canonical(message, at, length, rtype)?, Data::Other),
    })
}

fn strings(octets: &[u8]) -> Result<Vec<Vec<u8>>, WireError> {
    let (mut list, mut at) = (Vec::new(), 0);
    while at < octets.len() {
        let end = at + 1 + octets[at] as usize;
        list.push(octets.get(at + 1..end).ok_or(WireError::Short)?.to_vec());
        at = end;
    }
    Ok(list)
}

/// Type bit maps of NSEC and NSEC3 (RFC 4034 section 4.1.2).
fn type_bitmap(octets: &[u8]) -> Result<Vec<Rtype>, WireError> {
    let (mut types, mut at) = (Vec::new(), 0);
    while at < octets.len() {
        let window = u16::from(octets[at]) << 8;
        let length = *octets.get(at + 1).ok_or(WireError::Short)? as usize;
        let bits = octets.get(at + 2..at + 2 + length).ok_or(WireError::Short)?;
        for (i, byte) in bits.iter().enumerate() {
            types.extend(
                (0..8).filter(|b| byte & (0x80 >> b) != 0).map(|b| Rtype(window | (i as u16 * 8 + b))),
            );
        }
        at += 2 + length;
    }
    Ok(types)
}

/// RFC 4034 appendix B; algorithm 1 (RSA/MD5) has its own rule.
fn key_tag(rdata: &[u8]) -> u16 {
    if rdata[3] == 1 {
        return rdata.len().checked_sub(3).and_then(|at| u16_at(rdata, at).ok()).unwrap_or(0);
    }
    let sum: u32 = rdata
        .iter()
        .enumerate()
        .map(|(i, b)| if i % 2 == 0 { u32::from(*b) << 8 } else { u32::from(*b) })
        .sum();
    ((sum + (sum >> 16)) & 0xFFFF) as u16
}
