//! The lab's own certificate authority. In: host names and addresses. Out: a CA in PEM, and TLS for every server.

use std::{net::IpAddr, sync::Arc};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose, SanType};
use rustls::{ServerConfig, pki_types::PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::Error;

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

    /// A certificate for these names and addresses, ready to serve.
    pub(crate) fn acceptor(&self, names: &[String], addresses: &[IpAddr]) -> Result<TlsAcceptor, Error> {
        let mut params = CertificateParams::new(names.to_vec()).map_err(Error::crypto)?;
        params.subject_alt_names.extend(addresses.iter().map(|ip| SanType::IpAddress(*ip)));
        params.distinguished_name = rcgen::DistinguishedName::new();
        if let Some(first) = names.first() {
            params.distinguished_name.push(DnType::CommonName, first.as_str());
        }
        params.use_authority_key_identifier_extension = true;
        params.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate().map_err(Error::crypto)?;
        let leaf = params.signed_by(&key, &self.issuer).map_err(Error::crypto)?;
        let private = PrivateKeyDer::try_from(key.serialize_der()).map_err(Error::crypto)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(Error::crypto)?
            .with_no_client_auth()
            .with_single_cert(vec![leaf.der().clone()], private)
            .map_err(Error::crypto)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}
