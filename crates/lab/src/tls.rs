//! The lab's own certificate authority. In: host names and addresses. Out: a CA in PEM, and TLS for every server.

use std::{net::IpAddr, sync::Arc};

use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose, SanType};
use rustls::{ServerConfig, pki_types::PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::{Error, scenario};

/// A certificate and its key, PEM.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// The certificate, without the authority's own.
    pub chain: String,
    /// The private key.
    pub key: String,
}

/// The authority.
pub(crate) struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new() -> Result<Self, Error> {
        let mut params = CertificateParams::new(Vec::new()).map_err(Error::crypto)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.distinguished_name.push(DnType::CommonName, "Domainscope lab authority");
        params.distinguished_name.push(DnType::OrganizationName, "Domainscope lab");
        let key = KeyPair::generate().map_err(Error::crypto)?;
        let pem = params.self_signed(&key).map_err(Error::crypto)?.pem();
        Ok(Self { pem, issuer: Issuer::new(params, key) })
    }

    pub(crate) fn pem(&self) -> &str {
        &self.pem
    }

    /// A certificate for these names and addresses that is always valid, as files have it.
    pub(crate) fn files(&self, names: &[String], addresses: &[IpAddr]) -> Result<Certificate, Error> {
        let key = KeyPair::generate().map_err(Error::crypto)?;
        let leaf = leaf(names, addresses)?.signed_by(&key, &self.issuer).map_err(Error::crypto)?;
        Ok(Certificate { chain: leaf.pem(), key: key.serialize_pem() })
    }

    /// A certificate for these names and addresses that is always valid, ready to serve these protocols (ALPN).
    pub(crate) fn acceptor(
        &self,
        names: &[String],
        addresses: &[IpAddr],
        protocols: &[&str],
    ) -> Result<TlsAcceptor, Error> {
        let params = leaf(names, addresses)?;
        let key = KeyPair::generate().map_err(Error::crypto)?;
        let leaf = params.signed_by(&key, &self.issuer).map_err(Error::crypto)?;
        serve(&[&leaf], &key, protocols)
    }

    /// The certificate of a web server, good or bad, at the time `now`.
    pub(crate) fn site(&self, web: &scenario::Web, ip: IpAddr, now: Timestamp) -> Result<TlsAcceptor, Error> {
        let kind = web.certificate;
        let names = match kind {
            scenario::Certificate::WrongName => vec!["elsewhere.example".to_owned()],
            _ => std::iter::once(&web.host).chain(&web.aliases).cloned().collect(),
        };
        let mut params = leaf(&names, &[ip])?;
        let (from, until) = match kind {
            scenario::Certificate::Expired => (-100, -10),
            scenario::Certificate::Expiring => (-85, 5),
            _ => (-30, 335),
        };
        let date = |days| {
            let (year, month, day) = civil(now, days);
            rcgen::date_time_ymd(year, month, day)
        };
        params.not_before = date(from);
        params.not_after = date(until);
        let key = KeyPair::generate().map_err(Error::crypto)?;
        let protocols = ["http/1.1"];
        match kind {
            scenario::Certificate::SelfSigned => {
                let leaf = params.self_signed(&key).map_err(Error::crypto)?;
                serve(&[&leaf], &key, &protocols)
            }
            scenario::Certificate::Intermediate | scenario::Certificate::Incomplete => {
                let (between, issuer) = self.intermediate()?;
                let leaf = params.signed_by(&key, &issuer).map_err(Error::crypto)?;
                let chain = [&leaf, &between];
                let sent = if kind == scenario::Certificate::Intermediate { 2 } else { 1 };
                serve(&chain[..sent], &key, &protocols)
            }
            _ => {
                let leaf = params.signed_by(&key, &self.issuer).map_err(Error::crypto)?;
                serve(&[&leaf], &key, &protocols)
            }
        }
    }

    /// An authority below the lab's own, and its certificate.
    fn intermediate(&self) -> Result<(rcgen::Certificate, Issuer<'static, KeyPair>), Error> {
        let mut params = CertificateParams::new(Vec::new()).map_err(Error::crypto)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.distinguished_name.push(DnType::CommonName, "Domainscope lab intermediate");
        params.distinguished_name.push(DnType::OrganizationName, "Domainscope lab");
        let key = KeyPair::generate().map_err(Error::crypto)?;
        let cert = params.signed_by(&key, &self.issuer).map_err(Error::crypto)?;
        Ok((cert, Issuer::new(params, key)))
    }
}

fn civil(now: Timestamp, days: i64) -> (i32, u8, u8) {
    let moved = now.checked_add(SignedDuration::from_hours(24 * days)).unwrap_or(now);
    let date = moved.to_zoned(TimeZone::UTC).date();
    let small = |n: i8| u8::try_from(n).unwrap_or(1);
    (date.year().into(), small(date.month()), small(date.day()))
}

fn leaf(names: &[String], addresses: &[IpAddr]) -> Result<CertificateParams, Error> {
    let mut params = CertificateParams::new(names.to_vec()).map_err(Error::crypto)?;
    params.subject_alt_names.extend(addresses.iter().map(|ip| SanType::IpAddress(*ip)));
    params.distinguished_name = rcgen::DistinguishedName::new();
    if let Some(first) = names.first() {
        params.distinguished_name.push(DnType::CommonName, first.as_str());
    }
    params.use_authority_key_identifier_extension = true;
    params.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ServerAuth];
    Ok(params)
}

fn serve(chain: &[&rcgen::Certificate], key: &KeyPair, protocols: &[&str]) -> Result<TlsAcceptor, Error> {
    let private = PrivateKeyDer::try_from(key.serialize_der()).map_err(Error::crypto)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(Error::crypto)?
        .with_no_client_auth()
        .with_single_cert(chain.iter().map(|c| c.der().clone()).collect(), private)
        .map_err(Error::crypto)?;
    config.alpn_protocols = protocols.iter().map(|p| p.as_bytes().to_vec()).collect();
    Ok(TlsAcceptor::from(Arc::new(config)))
}
