//! Dialling: resolve once, guard every address, connect with a timeout.

use crate::{AddressMap, Error, guard};
use async_trait::async_trait;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// How host names become addresses: the system's resolver, or the engine inside a closed network.
#[async_trait]
pub trait Resolve: Send + Sync {
    /// Addresses of a host.
    ///
    /// # Errors
    /// What the resolver said, in words.
    async fn resolve(&self, host: &str) -> Result<Vec<IpAddr>, String>;
}

/// The system's own resolver.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

#[async_trait]
impl Resolve for SystemResolver {
    async fn resolve(&self, host: &str) -> Result<Vec<IpAddr>, String> {
        let found = tokio::net::lookup_host((host, 0)).await.map_err(|e| e.to_string())?;
        Ok(found.map(|a| a.ip()).collect())
    }
}

/// How connections are made.
pub struct Settings {
    /// Names to addresses.
    pub resolver: Arc<dyn Resolve>,
    /// Whether private, loopback and link-local targets are allowed.
    pub allow_private: bool,
    /// Certificate authorities trusted beside the public ones, PEM.
    pub extra_ca: Option<Vec<u8>>,
    /// What is dialled instead of an address.
    pub address_map: AddressMap,
    /// For one connection attempt.
    pub connect_timeout: Duration,
    /// For a whole HTTP exchange, redirects included.
    pub total_timeout: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            resolver: Arc::new(SystemResolver),
            allow_private: false,
            extra_ca: None,
            address_map: AddressMap::default(),
            connect_timeout: Duration::from_secs(5),
            total_timeout: Duration::from_secs(15),
        }
    }
}

/// Makes guarded connections. Cheap to clone.
#[derive(Clone)]
pub struct Dialer(Arc<Inner>);

struct Inner {
    settings: Settings,
    tls: TlsConnector,
    /// The same, offering HTTP/2 and HTTP/1.1 (RFC 7301).
    tls_http: TlsConnector,
}

impl std::fmt::Debug for Dialer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dialer")
            .field("allow_private", &self.0.settings.allow_private)
            .finish_non_exhaustive()
    }
}

impl Dialer {
    /// # Errors
    /// [`Error::Settings`] when the extra certificate authority can't be read.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        let mut roots = rustls::RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        if let Some(pem) = &settings.extra_ca {
            for cert in CertificateDer::pem_slice_iter(pem) {
                let bad =
                    |e: &dyn std::fmt::Display| Error::Settings(format!("the extra CA is not usable: {e}"));
                roots.add(cert.map_err(|e| bad(&e))?).map_err(|e| bad(&e))?;
            }
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| Error::Settings(e.to_string()))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let mut offering = config.clone();
        offering.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let tls_http = TlsConnector::from(Arc::new(offering));
        Ok(Dialer(Arc::new(Inner { settings, tls: TlsConnector::from(Arc::new(config)), tls_http })))
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// Addresses of a host that may be dialled, in the resolver's order.
    ///
    /// # Errors
    /// [`Error::NoAddress`]; [`Error::Blocked`] when any address is not allowed: a name that mixes public and
    /// private addresses is not trusted with either.
    pub async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, Error> {
        let no_address = |reason: String| Error::NoAddress { host: host.to_string(), reason };
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let found = match bare.parse::<IpAddr>() {
            Ok(ip) => vec![ip],
            Err(_) => {
                let asked = self.0.settings.resolver.resolve(bare);
                tokio::time::timeout(self.0.settings.total_timeout, asked)
                    .await
                    .map_err(|_| no_address("the resolver did not answer in time".into()))?
                    .map_err(no_address)?
            }
        };
        if found.is_empty() {
            return Err(no_address("the name exists but has none".into()));
        }
        if !self.0.settings.allow_private {
            for address in &found {
                if let Some(reason) = guard::is_private(*address) {
                    return Err(Error::Blocked { host: host.to_string(), address: *address, reason });
                }
            }
        }
        Ok(found)
    }

    /// Connects to a host: its addresses one after the other until one answers.
    ///
    /// # Errors
    /// As [`Dialer::addresses`], then the error of the last address tried.
    pub async fn tcp(&self, host: &str, port: u16) -> Result<TcpStream, Error> {
        let addresses = self.addresses(host).await?;
        let limit = self.0.settings.connect_timeout;
        let mut last = Error::Timeout { host: host.to_string(), after: limit };
        // Four are enough to find a live one, and few enough to end in bounded time.
        for ip in addresses.into_iter().take(4) {
            let target = self.0.settings.address_map.dial(SocketAddr::new(ip, port));
            match tokio::time::timeout(limit, TcpStream::connect(target)).await {
                Ok(Ok(stream)) => {
                    let _ = stream.set_nodelay(true);
                    return Ok(stream);
                }
                Ok(Err(e)) => {
                    last = Error::Unreachable { host: host.to_string(), reason: e.to_string() };
                }
                Err(_) => last = Error::Timeout { host: host.to_string(), after: limit },
            }
        }
        Err(last)
    }

    /// Connects with TLS; the certificate must be valid for `host`.
    ///
    /// # Errors
    /// As [`Dialer::tcp`], or [`Error::Tls`].
    pub async fn tls(&self, host: &str, port: u16) -> Result<TlsStream<TcpStream>, Error> {
        self.secured(&self.0.tls, host, port).await
    }

    /// As [`Dialer::tls`], offering HTTP/2 and HTTP/1.1; the stream says which was taken.
    pub(crate) async fn tls_for_http(&self, host: &str, port: u16) -> Result<TlsStream<TcpStream>, Error> {
        self.secured(&self.0.tls_http, host, port).await
    }

    async fn secured(
        &self,
        connector: &TlsConnector,
        host: &str,
        port: u16,
    ) -> Result<TlsStream<TcpStream>, Error> {
        let stream = self.tcp(host, port).await?;
        let failed = |reason: String| Error::Tls { host: host.to_string(), reason };
        let bare = host.trim_start_matches('[').trim_end_matches(']').to_string();
        let name = ServerName::try_from(bare).map_err(|e| failed(e.to_string()))?;
        let limit = self.0.settings.connect_timeout;
        tokio::time::timeout(limit, connector.connect(name, stream))
            .await
            .map_err(|_| Error::Timeout { host: host.to_string(), after: limit })?
            .map_err(|e| failed(e.to_string()))
    }
}
