//! TLS of a listener: the certificate, reloaded when its files change, and ALPN for HTTP/1.1 and HTTP/2.

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

/// Shortest time between two checks of the certificate files.
const CHECK_INTERVAL: Duration = Duration::from_secs(10);

/// TLS settings of a listener. Clones share the certificate.
#[derive(Clone)]
pub struct Tls(pub(super) TlsAcceptor);

/// Request extension: the request arrived over TLS that this server terminates.
#[derive(Debug, Clone, Copy)]
pub struct Encrypted;

/// The certificate in use and the files it was read from.
#[derive(Debug)]
struct Certificates {
    files: Option<(PathBuf, PathBuf)>,
    check_interval: Duration,
    current: Mutex<Current>,
}

#[derive(Debug)]
struct Current {
    key: Arc<CertifiedKey>,
    /// Modification time of the files when they were read.
    modified: Option<SystemTime>,
    /// When the files were last checked.
    checked: Instant,
}

impl Tls {
    /// Reads a certificate chain and its private key from PEM files. When the files change, new connections get the new
    /// certificate.
    ///
    /// # Errors
    /// A file cannot be read or holds no usable certificate or key; the message names the file.
    pub fn files(certificate: &Path, key: &Path) -> Result<Self> {
        Self::files_with_check_interval(certificate, key, CHECK_INTERVAL)
    }

    /// Like [`Tls::files`], with another shortest time between two checks of the files.
    ///
    /// # Errors
    /// As [`Tls::files`].
    pub fn files_with_check_interval(
        certificate: &Path,
        key: &Path,
        check_interval: Duration,
    ) -> Result<Self> {
        let files = (certificate.to_path_buf(), key.to_path_buf());
        let current = Current { key: read(&files)?, modified: modified(&files), checked: Instant::now() };
        Self::with(Certificates { files: Some(files), check_interval, current: Mutex::new(current) })
    }

    /// Uses a certificate chain and its private key given as PEM.
    ///
    /// # Errors
    /// They hold no usable certificate or key.
    pub fn pem(certificate: &[u8], key: &[u8]) -> Result<Self> {
        let current = Current { key: certified(certificate, key)?, modified: None, checked: Instant::now() };
        Self::with(Certificates { files: None, check_interval: CHECK_INTERVAL, current: Mutex::new(current) })
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

fn modified((certificate, key): &(PathBuf, PathBuf)) -> Option<SystemTime> {
    let of = |path: &Path| std::fs::metadata(path).and_then(|meta| meta.modified()).ok();
    of(certificate).max(of(key))
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(files) = &self.files
            && current.checked.elapsed() >= self.check_interval
        {
            current.checked = Instant::now();
            let now = modified(files);
            if now != current.modified {
                // The files may be half-written: the old certificate stays in use and the next check reads them again.
                match read(files) {
                    Ok(key) => (current.key, current.modified) = (key, now),
                    Err(e) => tracing::warn!("the TLS certificate was not reloaded: {e:#}"),
                }
            }
        }
        Some(current.key.clone())
    }
}
