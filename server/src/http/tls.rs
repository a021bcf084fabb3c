//! TLS of a listener: the certificate and its renewal. In: PEM, from files or given. Out: an acceptor for HTTP/1.1 and
//! HTTP/2 (ALPN).

use anyhow::{Context, Result, anyhow};
use rustls::ServerConfig;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use tokio_rustls::TlsAcceptor;

/// How often the files of a certificate are looked at.
const LOOK: Duration = Duration::from_secs(10);

/// TLS of a listener.
#[derive(Clone)]
pub struct Tls(pub(super) TlsAcceptor);

/// Stands in every request that came over TLS of our own.
#[derive(Debug, Clone, Copy)]
pub struct Encrypted;

/// The certificate served now, and the files it is from.
#[derive(Debug)]
struct Certificates {
    files: Option<(PathBuf, PathBuf)>,
    every: Duration,
    now: Mutex<Current>,
}

#[derive(Debug)]
struct Current {
    key: Arc<CertifiedKey>,
    changed: Option<SystemTime>,
    looked: Instant,
}

impl Tls {
    /// Certificate chain and key in PEM files; when they change, new connections get the new certificate.
    ///
    /// # Errors
    /// When a file can't be read or holds nothing usable; the message names it.
    pub fn files(certificate: &Path, key: &Path) -> Result<Self> {
        Self::files_looked_at(certificate, key, LOOK)
    }

    /// The same, with the least time between two looks at the files.
    ///
    /// # Errors
    /// As [`Tls::files`].
    pub fn files_looked_at(certificate: &Path, key: &Path, every: Duration) -> Result<Self> {
        let files = (certificate.to_path_buf(), key.to_path_buf());
        let current = Current { key: read(&files)?, changed: changed(&files), looked: Instant::now() };
        Self::with(Certificates { files: Some(files), every, now: Mutex::new(current) })
    }

    /// Certificate chain and key as PEM.
    ///
    /// # Errors
    /// When they hold nothing usable.
    pub fn pem(certificate: &[u8], key: &[u8]) -> Result<Self> {
        let current = Current { key: certified(certificate, key)?, changed: None, looked: Instant::now() };
        Self::with(Certificates { files: None, every: LOOK, now: Mutex::new(current) })
    }

    fn with(certificates: Certificates) -> Result<Self> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(certificates));
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Tls(TlsAcceptor::from(Arc::new(config))))
    }
}

fn read((certificate, key): &(PathBuf, PathBuf)) -> Result<Arc<CertifiedKey>> {
    let load = |path: &Path| std::fs::read(path).with_context(|| path.display().to_string());
    certified(&load(certificate)?, &load(key)?)
        .with_context(|| format!("{} with {}", certificate.display(), key.display()))
}

fn certified(certificate: &[u8], key: &[u8]) -> Result<Arc<CertifiedKey>> {
    let chain = CertificateDer::pem_slice_iter(certificate)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|e| anyhow!("the certificate is not readable PEM: {e}"))?;
    if chain.is_empty() {
        return Err(anyhow!("no CERTIFICATE is in the file"));
    }
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|e| anyhow!("the key is not readable PEM: {e}"))?;
    let key = CertifiedKey::from_der(chain, key, &rustls::crypto::ring::default_provider())
        .map_err(|e| anyhow!("certificate and key can't be used together: {e}"))?;
    Ok(Arc::new(key))
}

fn changed((certificate, key): &(PathBuf, PathBuf)) -> Option<SystemTime> {
    let of = |path: &Path| std::fs::metadata(path).and_then(|meta| meta.modified()).ok();
    of(certificate).max(of(key))
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(files) = &self.files
            && now.looked.elapsed() >= self.every
        {
            now.looked = Instant::now();
            let at = changed(files);
            if at != now.changed {
                // Half-written files are looked at again; until then the old certificate serves.
                match read(files) {
                    Ok(key) => (now.key, now.changed) = (key, at),
                    Err(e) => tracing::warn!("the certificate was not renewed: {e:#}"),
                }
            }
        }
        Some(now.key.clone())
    }
}
