//! Signed apply links of the synchronous flow (draft sections 6.4 and 8.3): canonical query, RS256, published keys.

use crate::discovery::Settings;
use crate::error::{Error, Result};
use crate::template::Template;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{self, RsaKeyPair, UnparsedPublicKey};
use std::collections::BTreeMap;

/// Longest apply link (draft section 8.3.1).
pub const MAX_URL: usize = 8000;
/// Most TXT records that one key is put together from.
const MAX_FRAGMENTS: usize = 32;

/// The key of a service provider: signs apply links. Its `Debug` shows nothing of it.
pub struct SigningKey {
    pair: RsaKeyPair,
    label: String,
}

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SigningKey").field("label", &self.label).finish_non_exhaustive()
    }
}

impl SigningKey {
    /// A key in PKCS #8 (DER). `label` is where its public half is published below `syncPubKeyDomain`: `_dck1`.
    ///
    /// # Errors
    /// `InvalidData` when this is no RSA key of 2048 to 4096 bits.
    pub fn from_pkcs8(der: &[u8], label: &str) -> Result<Self> {
        let pair = RsaKeyPair::from_pkcs8(der)
            .map_err(|reason| Error::data(format!("this is no RSA key in PKCS #8: {reason}")))?;
        Ok(Self { pair, label: label.to_string() })
    }

    fn sign(&self, query: &str) -> Result<String> {
        let mut signature = vec![0; self.pair.public().modulus_len()];
        self.pair
            .sign(
                &signature::RSA_PKCS1_SHA256,
                &ring::rand::SystemRandom::new(),
                query.as_bytes(),
                &mut signature,
            )
            .map_err(|_| Error::data("the key cannot sign"))?;
        Ok(STANDARD.encode(signature))
    }
}

/// The query string that is signed: names and values percent-encoded, sorted by name.
pub fn canonical_query(parameters: &BTreeMap<String, String>) -> String {
    let mut pairs: Vec<(String, String)> =
        parameters.iter().map(|(name, value)| (encode(name), encode(value))).collect();
    pairs.sort();
    pairs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
}

/// The link to which a user is sent to apply a template. `parameters` are `domain`, `host`, `groupId`, `redirect_uri`,
/// `state` and the variables. With a key the link is signed.
///
/// # Errors
/// `InvalidTemplate` when the template refuses this flow or needs a signature and there is no key; `InvalidData` when
/// the provider has no synchronous flow, `domain` is missing, or the link is longer than [`MAX_URL`].
pub fn apply_url(
    settings: &Settings,
    template: &Template,
    parameters: &BTreeMap<String, String>,
    key: Option<&SigningKey>,
) -> Result<String> {
    let Some(prefix) = &settings.url_sync_ux else {
        return Err(Error::data(format!(
            "{} has no synchronous flow for this domain",
            settings.provider_name
        )));
    };
    if template.sync_block {
        return Err(Error::template("the template refuses the synchronous flow (syncBlock)"));
    }
    if template.sync_pub_key_domain.is_some() && key.is_none() {
        return Err(Error::template("requests for this template must be signed (syncPubKeyDomain)"));
    }
    if !parameters.contains_key("domain") {
        return Err(Error::data("the parameter domain is missing"));
    }
    let mut query = canonical_query(parameters);
    if let Some(key) = key {
        let signature = key.sign(&query)?;
        query = format!("{query}&sig={}&key={}", encode(&signature), encode(&key.label));
    }
    let (provider, service) = (encode(&template.provider_id), encode(&template.service_id));
    let prefix = prefix.trim_end_matches('/');
    let url = format!("{prefix}/v2/domainTemplates/providers/{provider}/services/{service}/apply?{query}");
    if url.len() > MAX_URL {
        return Err(Error::data(format!("the link has {} characters, more than {MAX_URL}", url.len())));
    }
    Ok(url)
}

/// A public key as published in TXT records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedKey {
    /// `RSAPublicKey` of PKCS #1 (DER).
    der: Vec<u8>,
}

impl PublishedKey {
    /// Puts a key together from the TXT records at `KEY.syncPubKeyDomain`. Records that are not part of a key are
    /// skipped, as other services may share the name.
    ///
    /// # Errors
    /// `InvalidData` when there is no key, fragments repeat or differ in algorithm, or this is not an RSA key for RS256.
    pub fn from_txt<'a>(records: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let mut fragments: BTreeMap<u32, String> = BTreeMap::new();
        for record in records {
            let fields: BTreeMap<&str, &str> =
                record.split(',').filter_map(|field| field.trim().split_once('=')).collect();
            let (Some(index), Some(data)) = (fields.get("p").and_then(|p| p.parse().ok()), fields.get("d"))
            else {
                continue;
            };
            if fields.get("a").is_some_and(|algorithm| *algorithm != "RS256") {
                return Err(Error::data("the key is for another algorithm than RS256"));
            }
            if fields.get("t").is_some_and(|format| !format.eq_ignore_ascii_case("x509")) {
                return Err(Error::data("the key has another format than x509"));
            }
            if fragments.insert(index, (*data).to_string()).is_some() {
                return Err(Error::data(format!("two records are fragment {index} of the key")));
            }
            if fragments.len() > MAX_FRAGMENTS {
                return Err(Error::data(format!("the key is in more than {MAX_FRAGMENTS} records")));
            }
        }
        if fragments.is_empty() {
            return Err(Error::data("there is no key in the TXT records"));
        }
        let text: String = fragments.into_values().collect();
        let der = STANDARD.decode(text).map_err(|_| Error::data("the key is not Base64"))?;
        let der = rsa_key(&der).ok_or_else(|| Error::data("the key is not an RSA key in X.509 form"))?;
        Ok(Self { der: der.to_vec() })
    }

    /// Checks a signature over a query string. `signature` is Base64.
    pub fn verifies(&self, query: &str, signature: &str) -> bool {
        let Ok(signature) = STANDARD.decode(signature) else { return false };
        UnparsedPublicKey::new(&signature::RSA_PKCS1_2048_8192_SHA256, &self.der)
            .verify(query.as_bytes(), &signature)
            .is_ok()
    }

    /// Checks a request's query string as received: `sig` and `key` are taken out, the rest is left as it is.
    pub fn verifies_request(&self, query: &str) -> bool {
        let (own, rest): (Vec<&str>, Vec<&str>) =
            query.split('&').partition(|pair| pair.starts_with("sig=") || pair.starts_with("key="));
        let mut signatures = own.iter().filter_map(|pair| pair.strip_prefix("sig="));
        let (Some(signature), None) = (signatures.next(), signatures.next()) else { return false };
        decode(signature).is_some_and(|signature| self.verifies(&rest.join("&"), &signature))
    }
}

/// The `RSAPublicKey` inside a `SubjectPublicKeyInfo` (RFC 5280 section 4.1, RFC 3279 section 2.3.1).
fn rsa_key(der: &[u8]) -> Option<&[u8]> {
    const RSA_ENCRYPTION: &[u8] = &[0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
    let (info, rest) = element(der, 0x30)?;
    let (algorithm, key) = element(info, 0x30)?;
    let (bits, after) = element(key, 0x03)?;
    let (unused, key) = bits.split_first()?;
    (rest.is_empty() && after.is_empty() && *unused == 0 && algorithm.starts_with(RSA_ENCRYPTION))
        .then_some(key)
}

/// The content of a DER element and what follows it.
fn element(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let [found, length, rest @ ..] = der else { return None };
    let (length, rest) = match length {
        short if *short < 0x80 => (usize::from(*short), rest),
        0x81 => (usize::from(*rest.first()?), &rest[1..]),
        0x82 => (usize::from(u16::from_be_bytes([*rest.first()?, *rest.get(1)?])), &rest[2..]),
        _ => return None,
    };
    (*found == tag).then(|| rest.split_at_checked(length)).flatten()
}

/// Percent-encoding of everything that is not unreserved (RFC 3986 section 2.3).
pub(crate) fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

fn decode(text: &str) -> Option<String> {
    let (mut octets, mut bytes) = (Vec::new(), text.bytes());
    while let Some(byte) = bytes.next() {
        let octet = if byte == b'%' {
            let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
            u8::try_from(digit(bytes.next())? * 16 + digit(bytes.next())?).ok()?
        } else {
            byte
        };
        octets.push(octet);
    }
    String::from_utf8(octets).ok()
}
