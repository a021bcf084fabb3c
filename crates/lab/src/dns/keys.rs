//! Keys and signatures of a zone (RFC 4034, 4035, 6605, 8080): a key-signing and a zone-signing key each.
//! In: an RRset and the time. Out: an RRSIG, right or wrong in the way the scenario wants.

use hickory_proto::{
    dnssec::{
        Algorithm, DigestType, PublicKey, SigningKey, TBS,
        crypto::{EcdsaSigningKey, Ed25519SigningKey},
        rdata::{DNSKEY, DNSSECRData, DS, RRSIG, sig::SigInput},
    },
    rr::{DNSClass, Name, RData, Record, RecordType, SerialNumber},
};
use jiff::Timestamp;

use crate::{Error, scenario::Signing};

const DAY: i64 = 86_400;

struct Key {
    key: Box<dyn SigningKey>,
    dnskey: DNSKEY,
    tag: u16,
}

impl Key {
    fn new(algorithm: Algorithm, flags: u16) -> Result<Self, Error> {
        let key: Box<dyn SigningKey> = if algorithm == Algorithm::ED25519 {
            let der = Ed25519SigningKey::generate_pkcs8().map_err(Error::crypto)?;
            Box::new(Ed25519SigningKey::from_pkcs8(&der).map_err(Error::crypto)?)
        } else {
            let der = EcdsaSigningKey::generate_pkcs8(algorithm).map_err(Error::crypto)?;
            Box::new(EcdsaSigningKey::from_pkcs8(&der, algorithm).map_err(Error::crypto)?)
        };
        let public = key.to_public_key().map_err(Error::crypto)?;
        let dnskey = DNSKEY::with_flags(flags, public);
        let tag = dnskey.calculate_key_tag().map_err(Error::crypto)?;
        Ok(Self { key, dnskey, tag })
    }
}

/// The key pair of a zone.
pub(crate) struct ZoneKeys {
    ksk: Key,
    zsk: Key,
    stranger: DNSKEY,
}

impl ZoneKeys {
    /// New keys; ECDSA P-256 unless the scenario asks for Ed25519.
    pub(crate) fn generate(signing: Signing) -> Result<Self, Error> {
        let algorithm =
            if signing == Signing::Ed25519 { Algorithm::ED25519 } else { Algorithm::ECDSAP256SHA256 };
        let ksk = Key::new(algorithm, 257)?;
        let zsk = Key::new(algorithm, 256)?;
        let stranger = if signing == Signing::DsMismatch {
            Key::new(algorithm, 257)?.dnskey
        } else {
            ksk.dnskey.clone()
        };
        Ok(Self { ksk, zsk, stranger })
    }

    /// The DNSKEY RRset.
    pub(crate) fn dnskeys(&self) -> Vec<RData> {
        [&self.ksk, &self.zsk].map(|k| RData::DNSSEC(DNSSECRData::DNSKEY(k.dnskey.clone()))).to_vec()
    }

    /// The key that a trust anchor names.
    pub(crate) fn anchor(&self) -> &DNSKEY {
        &self.ksk.dnskey
    }

    /// The DS for the parent; of a key that is not in the zone when that is the story.
    pub(crate) fn ds(&self, origin: &Name) -> Result<DS, Error> {
        let key = &self.stranger;
        let digest = key.to_digest(origin, DigestType::SHA256).map_err(Error::crypto)?;
        let tag = key.calculate_key_tag().map_err(Error::crypto)?;
        let algorithm = key.public_key().algorithm();
        Ok(DS::new(tag, algorithm, DigestType::SHA256, digest.as_ref().to_vec()))
    }

    /// Signs an RRset whose records all have the owner `owner` (a wildcard stays a wildcard here).
    pub(crate) fn sign(
        &self,
        origin: &Name,
        owner: &Name,
        set: &[Record],
        signing: Signing,
        now: Timestamp,
    ) -> Option<RRSIG> {
        let first = set.first()?;
        let key = if first.record_type() == RecordType::DNSKEY { &self.ksk } else { &self.zsk };
        let now = now.as_second();
        let (inception, expiration) = match signing {
            Signing::Expired => (now - 60 * DAY, now - 30 * DAY),
            Signing::Expiring => (now - 12 * DAY, now + 2 * DAY),
            _ => (now - DAY, now + 14 * DAY),
        };
        let input = SigInput {
            type_covered: first.record_type(),
            algorithm: key.key.algorithm(),
            num_labels: owner.num_labels(),
            original_ttl: first.ttl,
            sig_expiration: SerialNumber::new(wrap(expiration)),
            sig_inception: SerialNumber::new(wrap(inception)),
            key_tag: key.tag,
            signer_name: origin.clone(),
        };
        let tbs = TBS::from_input(owner, DNSClass::IN, &input, set.iter()).ok()?;
        let mut signature = key.key.sign(&tbs).ok()?;
        if signing == Signing::Bogus
            && let Some(byte) = signature.get_mut(7)
        {
            *byte ^= 0x55;
        }
        Some(RRSIG::from_sig(input, signature))
    }
}

/// Seconds since 1970 modulo 2^32 (RFC 4034 3.1.5).
fn wrap(seconds: i64) -> u32 {
    u32::try_from(seconds.rem_euclid(1 << 32)).unwrap_or(0)
}
