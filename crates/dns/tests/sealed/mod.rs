//! A signed zone in which all is right, built from the texts (RFC 4034, 4035, 5155, 7344), and what a test changes in
//! it. In: the changes. Out: answers as a server of that zone gives them. It knows nothing of the crate under test.

#![allow(dead_code, unused_imports)]

pub mod world;

pub use world::{delegated, delegation, delegation_of_root, ds_of, given, undelegated};

use crate::signed::*;
use hickory_proto::dnssec::crypto::Ed25519SigningKey;
use hickory_proto::dnssec::{Nsec3HashAlgorithm, PublicKey, SigningKey, TBS};
use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::Name;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// The zone most tests use.
pub const NAME: &str = "sealed.test";
/// The instant of the checks, and times around it.
pub const NOW: u32 = 1_700_000_000;
pub const DAY: u32 = 86_400;
pub const GOOD: Times = (NOW - 10 * DAY, NOW + 20 * DAY);
pub const PAST: Times = (NOW - 40 * DAY, NOW - 10 * DAY);
/// Far enough for those who allow clocks to be wrong by a day.
pub const FUTURE: Times = (NOW + 5 * DAY, NOW + 30 * DAY);

/// Whose private key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// Signs the keys, and CDS and CDNSKEY.
    Ksk,
    /// Signs the rest.
    Zsk,
    /// Is not in the zone.
    Stranger,
}

static KEYS: LazyLock<[Ed25519SigningKey; 3]> = LazyLock::new(|| {
    std::array::from_fn(|_| {
        Ed25519SigningKey::from_pkcs8(&Ed25519SigningKey::generate_pkcs8().unwrap()).unwrap()
    })
});

/// The DNSKEY record of a private key with these flags: 257 for a key signing key, 256 for a zone signing key.
pub fn dnskey(by: By, flags: u16) -> Vec<u8> {
    let public = KEYS[by as usize].to_public_key().unwrap();
    [&flags.to_be_bytes()[..], &[3, 15], public.public_bytes()].concat()
}

pub fn ksk() -> Vec<u8> {
    dnskey(By::Ksk, 257)
}

pub fn zsk() -> Vec<u8> {
    dnskey(By::Zsk, 256)
}

pub fn stranger() -> Vec<u8> {
    dnskey(By::Stranger, 257)
}

/// A key of an algorithm that no one can compute.
pub fn odd(algorithm: u8) -> Vec<u8> {
    vec![1, 1, 3, algorithm, 0xAB, algorithm]
}

/// A signature to be made.
#[derive(Debug, Clone)]
pub struct Seal {
    pub by: By,
    /// The record whose tag and algorithm the signature names.
    pub key: Vec<u8>,
    pub times: Times,
    /// A bit of it is wrong.
    pub spoiled: bool,
    /// Signer's name, when it is not the zone's.
    pub signer: Option<&'static str>,
}

/// A good signature by one of the usual keys.
pub fn by(by: By) -> Seal {
    let key = match by {
        By::Ksk => ksk(),
        By::Zsk => zsk(),
        By::Stranger => stranger(),
    };
    Seal { by, key, times: GOOD, spoiled: false, signer: None }
}

impl Seal {
    pub fn at(self, times: Times) -> Self {
        Seal { times, ..self }
    }

    pub fn spoiled(self) -> Self {
        Seal { spoiled: true, ..self }
    }

    /// In the name of this record, whatever its algorithm.
    pub fn named(self, key: Vec<u8>) -> Self {
        Seal { key, ..self }
    }
}

/// Records of one type at one name, with their signatures.
#[derive(Debug, Clone)]
pub struct Set {
    pub owner: String,
    pub rtype: u16,
    pub data: Vec<Vec<u8>>,
    pub seals: Vec<Seal>,
}

/// How a server fails to answer for one type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    Silence,
    Code(ResponseCode),
    NoAuthority,
}

/// A zone as one server has it.
#[derive(Debug, Clone)]
pub struct Zone {
    pub name: &'static str,
    /// Sets at the top, by type.
    pub sets: BTreeMap<u16, Set>,
    /// What is put beside the SOA record when a type is not there, by type asked; `0` for all others.
    pub denials: BTreeMap<u16, Vec<Set>>,
    /// Owner of the SOA record in a denial; none: it is left out.
    pub denial_soa: Option<String>,
    pub failures: BTreeMap<u16, Failure>,
    /// Signatures are sent only where DO is set in the question; EDNS is in the answer.
    pub edns: bool,
    /// Names are sent in capitals, though signed in lower case.
    pub loud: bool,
}

/// Signed with NSEC.
pub fn nsec(name: &'static str) -> Zone {
    let mut zone = unsigned(name);
    zone.put(DNSKEY, vec![ksk(), zsk()], vec![by(By::Ksk)]);
    for rtype in [SOA, NS] {
        zone.sets.get_mut(&rtype).unwrap().seals = vec![by(By::Zsk)];
    }
    zone.chain()
}

/// Signed with NSEC3 by RFC 9276: no iterations, no salt.
pub fn nsec3(name: &'static str) -> Zone {
    let mut zone = nsec(name);
    zone.sets.remove(&NSEC);
    zone.put(NSEC3PARAM, vec![vec![1, 0, 0, 0, 0]], vec![by(By::Zsk)]);
    zone.hashed(1, 0, 0, &[])
}

pub fn unsigned(name: &'static str) -> Zone {
    let mut zone = Zone {
        name,
        sets: BTreeMap::new(),
        denials: BTreeMap::new(),
        denial_soa: Some(name.to_string()),
        failures: BTreeMap::new(),
        edns: true,
        loud: false,
    };
    zone.put(SOA, vec![soa_data(name, 7)], Vec::new());
    zone.put(NS, vec![wire(&format!("ns1.{name}")), wire(&format!("ns2.{name}"))], Vec::new());
    zone
}

/// The hash of a name (RFC 5155 section 5).
pub fn hash(name: &str, salt: &[u8], iterations: u16) -> Vec<u8> {
    let name = Name::from_ascii(format!("{name}.")).unwrap();
    Nsec3HashAlgorithm::SHA1.hash(salt, &name, iterations).unwrap().as_ref().to_vec()
}

/// A hash as an owner label.
pub fn hash_label(hash: &[u8]) -> String {
    let digits = b"0123456789abcdefghijklmnopqrstuv";
    let bits: Vec<u8> = hash.iter().flat_map(|byte| (0..8).rev().map(move |i| byte >> i & 1)).collect();
    let digit = |five: &[u8]| digits[five.iter().fold(0, |n, bit| n << 1 | usize::from(*bit))] as char;
    bits.chunks(5).map(digit).collect()
}

impl Zone {
    fn put(&mut self, rtype: u16, data: Vec<Vec<u8>>, seals: Vec<Seal>) {
        let set = Set { owner: self.name.to_string(), rtype, data, seals };
        self.sets.insert(rtype, set);
    }

    /// The types at the top, as a denial lists them.
    pub fn types(&self, more: &[u16]) -> Vec<u16> {
        let mut types: Vec<u16> = self.sets.keys().copied().chain(more.iter().copied()).collect();
        types.push(RRSIG);
        types.sort_unstable();
        types.dedup();
        types
    }

    /// The NSEC record of the top, in answers and denials, lists what is there.
    fn chain(mut self) -> Self {
        let data = vec![nsec_data(&format!("ns1.{}", self.name), &self.types(&[NSEC]))];
        self.put(NSEC, data, vec![by(By::Zsk)]);
        self.denials.insert(0, vec![self.sets[&NSEC].clone()]);
        self
    }

    /// The NSEC3 record of the top with these parameters.
    pub fn hashed(mut self, algorithm: u8, flags: u8, iterations: u16, salt: &[u8]) -> Self {
        let [high, low] = iterations.to_be_bytes();
        let head = [&[algorithm, flags, high, low, salt.len() as u8], salt].concat();
        let data = [&head, &[20][..], &[7; 20], &bitmap(&self.types(&[]))].concat();
        let owner = format!("{}.{}", hash_label(&hash(self.name, salt, iterations)), self.name);
        let set = Set { owner, rtype: NSEC3, data: vec![data], seals: vec![by(By::Zsk)] };
        self.denials.insert(0, vec![set]);
        self
    }

    /// Other records of a type at the top; the denials know of it.
    pub fn set(mut self, rtype: u16, data: Vec<Vec<u8>>, seals: Vec<Seal>) -> Self {
        self.put(rtype, data, seals);
        if self.sets.contains_key(&NSEC) { self.chain() } else { self }
    }

    pub fn keys(self, keys: Vec<Vec<u8>>, seals: Vec<Seal>) -> Self {
        self.set(DNSKEY, keys, seals)
    }

    pub fn seals(mut self, rtype: u16, seals: Vec<Seal>) -> Self {
        self.sets.get_mut(&rtype).unwrap().seals = seals;
        self
    }

    /// No records of this type, though the denials don't know it.
    pub fn without(mut self, rtype: u16) -> Self {
        self.sets.remove(&rtype);
        self
    }

    /// What denies this type.
    pub fn denied(mut self, rtype: u16, sets: Vec<Set>) -> Self {
        self.denials.insert(rtype, sets);
        self
    }

    /// The usual denial, changed.
    pub fn denial(mut self, change: impl Fn(&mut Set)) -> Self {
        self.denials.get_mut(&0).unwrap().iter_mut().for_each(change);
        self
    }

    pub fn fails(mut self, rtype: u16, how: Failure) -> Self {
        self.failures.insert(rtype, how);
        self
    }

    /// What a server of this zone makes of a question; `reply` is the answer of one that knows only names and addresses.
    pub fn answer(&self, query: &Message, mut reply: Message) -> Option<Message> {
        let (name, rtype) = asked(query);
        if name != self.name {
            return Some(reply);
        }
        let wants = self.edns && query.edns.as_ref().is_some_and(|e| e.flags().dnssec_ok);
        if wants {
            dnssec_ok(&mut reply);
        }
        reply.answers.clear();
        reply.authorities.clear();
        let mut told = BTreeSet::new();
        match self.failures.get(&rtype) {
            Some(Failure::Silence) => return None,
            Some(Failure::Code(code)) => {
                reply.metadata.response_code = *code;
                return Some(reply);
            }
            Some(Failure::NoAuthority) => reply.metadata.authoritative = false,
            None => {}
        }
        if let Some(set) = self.sets.get(&rtype) {
            self.tell(&mut reply, Part::Answer, set, wants);
        } else {
            let soa =
                self.denial_soa.as_ref().map(|owner| Set { owner: owner.clone(), ..self.sets[&SOA].clone() });
            let denial = self.denials.get(&rtype).or_else(|| self.denials.get(&0)).filter(|_| wants);
            for set in soa.iter().chain(denial.into_iter().flatten()) {
                if told.insert((set.owner.clone(), set.rtype)) {
                    self.tell(&mut reply, Part::Authority, set, wants);
                }
            }
        }
        Some(reply)
    }

    /// Puts records into a reply, with their signatures by this zone.
    pub fn tell(&self, reply: &mut Message, part: Part, set: &Set, signed: bool) {
        let owner = if self.loud { set.owner.to_uppercase() } else { set.owner.clone() };
        let raw = |rtype, data: Vec<u8>| Raw(owner.clone(), rtype, self.spelled(rtype, data));
        let records: Vec<Raw> = set.data.iter().map(|data| raw(set.rtype, data.clone())).collect();
        add(reply, part, &records);
        if signed {
            let seals: Vec<Raw> = set.seals.iter().map(|s| raw(RRSIG, self.sign(set, s))).collect();
            add(reply, part, &seals);
        }
    }

    /// Names in data of these types as they are sent; all but the numbers of SOA and RRSIG are names.
    fn spelled(&self, rtype: u16, mut data: Vec<u8>) -> Vec<u8> {
        let names = match rtype {
            SOA => 0..data.len() - 20,
            NS => 0..data.len(),
            RRSIG => 18..18 + wire(self.name).len(),
            _ => 0..0,
        };
        if self.loud {
            data[names].make_ascii_uppercase();
        }
        data
    }

    /// RFC 4034 section 3.1.8.1.
    fn sign(&self, set: &Set, seal: &Seal) -> Vec<u8> {
        let labels = set.owner.split('.').count() as u8;
        let signer = seal.signer.unwrap_or(self.name);
        let head = rrsig_head(set.rtype, seal.key[3], key_tag(&seal.key), labels, seal.times, signer);
        let mut data = set.data.clone();
        data.sort();
        let mut tbs = head.clone();
        for one in &data {
            tbs.extend(wire(&set.owner));
            tbs.extend([set.rtype.to_be_bytes(), [0, 1]].concat());
            tbs.extend(TTL.to_be_bytes());
            tbs.extend((one.len() as u16).to_be_bytes());
            tbs.extend(one);
        }
        let mut signature = KEYS[seal.by as usize].sign(&TBS::from(tbs.as_slice())).unwrap();
        if seal.spoiled {
            signature[0] ^= 1;
        }
        [head, signature].concat()
    }
}
