//! Certificates in DER (RFC 5280) to the model's words.

use data_encoding::HEXLOWER;
use jiff::Timestamp;
use model::certificate::Certificate;
use std::net::IpAddr;
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};
use x509_parser::public_key::PublicKey;

/// Most names that are kept.
const NAMES: usize = 1000;
/// Object identifier of Ed25519 keys (RFC 8410).
const ED25519: &str = "1.3.101.112";

/// Reads a certificate; nothing when it is not one.
pub(crate) fn read(der: &[u8]) -> Option<Certificate> {
    let (_, cert) = X509Certificate::from_der(der).ok()?;
    let alternative = cert.subject_alternative_name().ok().flatten();
    let general: &[GeneralName<'_>] =
        alternative.as_ref().map(|e| e.value.general_names.as_slice()).unwrap_or(&[]);
    let names = general.iter().filter_map(|g| match g {
        GeneralName::DNSName(name) => Some(name.to_ascii_lowercase()),
        _ => None,
    });
    let addresses = general.iter().filter_map(|g| match g {
        GeneralName::IPAddress(octets) => address(octets),
        _ => None,
    });
    let at = |seconds: i64| Timestamp::from_second(seconds).ok();
    let key = cert.public_key();
    let algorithm = key.algorithm.algorithm.to_id_string();
    let (key_type, key_bits) = match key.parsed() {
        Ok(PublicKey::RSA(rsa)) => ("RSA".to_string(), rsa.key_size()),
        Ok(PublicKey::EC(point)) => ("ECDSA".to_string(), point.key_size()),
        _ if algorithm == ED25519 => ("Ed25519".to_string(), 256),
        _ => (algorithm, 0),
    };
    Some(Certificate {
        subject: cert.subject().to_string(),
        issuer: cert.issuer().to_string(),
        issuer_organisation: cert
            .issuer()
            .iter_organization()
            .find_map(|o| o.as_str().ok())
            .map(str::to_string),
        names: names.take(NAMES).collect(),
        addresses: addresses.take(NAMES).collect(),
        not_before: at(cert.validity().not_before.timestamp())?,
        not_after: at(cert.validity().not_after.timestamp())?,
        key_type,
        key_bits: u32::try_from(key_bits).unwrap_or(0),
        serial: HEXLOWER.encode(cert.raw_serial()),
        sha256: HEXLOWER.encode(ring::digest::digest(&ring::digest::SHA256, der).as_ref()),
    })
}

fn address(octets: &[u8]) -> Option<IpAddr> {
    match octets.len() {
        4 => <[u8; 4]>::try_from(octets).ok().map(IpAddr::from),
        16 => <[u8; 16]>::try_from(octets).ok().map(IpAddr::from),
        _ => None,
    }
}
