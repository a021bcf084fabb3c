//! Dialling: resolve once, guard every address, connect with a timeout.

use crate::guard::is_documentation;
use crate::pool::Pool;
use crate::{AddressMap, Error, Networks};
use async_trait::async_trait;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
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
    /// Prefixes the operator allows or denies.
    pub networks: Networks,
    /// Ports of HTTP beside those of web servers; all where private targets are allowed.
    pub ports: Vec<u16>,
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
            networks: Networks::default(),
            ports: Vec::new(),
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
    roots: Arc<rustls::RootCertStore>,
    tls: TlsConnector,
    /// The same, offering HTTP/2 and HTTP/1.1 (RFC 7301).
    tls_http: TlsConnector,
    pool: Pool,
}

/// Which versions of HTTP a server may choose from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Offer {
    /// HTTP/1.1.
    One,
    /// HTTP/2 too.
    Both,
}

/// Ports of web servers: others belong to services that could take a request for a command of their own.
const WEB_PORTS: [u16; 4] = [80, 443, 8080, 8443];
/// Addresses that are tried: enough to find a live one, and few enough to end in bounded time.
const ADDRESSES: usize = 4;
/// How long an address is tried before the next one is tried beside it (RFC 8305 section 5, at leisure).
const HEAD_START: Duration = Duration::from_millis(500);

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
        let roots = Arc::new(roots);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| Error::Settings(e.to_string()))?
            .with_root_certificates(roots.clone())
            .with_no_client_auth();
        let mut offering = config.clone();
        offering.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let tls_http = TlsConnector::from(Arc::new(offering));
        let tls = TlsConnector::from(Arc::new(config));
        Ok(Dialer(Arc::new(Inner { settings, roots, tls, tls_http, pool: Pool::default() })))
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.0.settings
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.0.pool
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
        self.admit_all(host, found)
    }

    /// Addresses of a host that came from elsewhere than [`Dialer::addresses`], under the same rule.
    ///
    /// # Errors
    /// As [`Dialer::addresses`].
    pub fn admit_all(&self, host: &str, found: Vec<IpAddr>) -> Result<Vec<IpAddr>, Error> {
        if found.is_empty() {
            let reason = "the name exists but has none".into();
            return Err(Error::NoAddress { host: host.to_string(), reason });
        }
        for address in &found {
            self.admit(host, *address)?;
        }
        Ok(found)
    }

    /// Whether this machine has a route to the address. Nothing is sent; what is mapped elsewhere counts as reachable.
    pub fn has_route(&self, address: IpAddr) -> bool {
        let any: IpAddr = match address {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        !self.0.settings.address_map.is_empty()
            || std::net::UdpSocket::bind((any, 0)).and_then(|s| s.connect((address, 443))).is_ok()
    }

    /// The address, unless the guard refuses it.
    pub(crate) fn admit(&self, host: &str, address: IpAddr) -> Result<IpAddr, Error> {
        match self.0.settings.networks.refuses(address, self.0.settings.allow_private) {
            Some(reason) => Err(Error::Blocked { host: host.to_string(), address, reason }),
            None => Ok(address),
        }
    }

    /// True when HTTP requests may go to the port.
    pub(crate) fn is_web_port(&self, port: u16) -> bool {
        let settings = &self.0.settings;
        settings.allow_private || WEB_PORTS.contains(&port) || settings.ports.contains(&port)
    }

    /// Connects to a host: its addresses in order, the next one beside a slow one, until one answers.
    ///
    /// # Errors
    /// As [`Dialer::addresses`], then the error of the last address that failed.
    pub async fn tcp(&self, host: &str, port: u16) -> Result<TcpStream, Error> {
        let vetted = self.addresses(host).await?;
        Ok(self.connect(host, port, &vetted).await?.1)
    }

    /// Connects to one of the addresses; which one it was.
    pub(crate) async fn connect(
        &self,
        host: &str,
        port: u16,
        vetted: &[IpAddr],
    ) -> Result<(SocketAddr, TcpStream), Error> {
        let limit = self.0.settings.connect_timeout;
        let attempt = |address: SocketAddr| async move {
            let map = &self.0.settings.address_map;
            let target = map.dial(address);
            // A lab has servers at some documentation addresses. The others lead nowhere (RFC 5737, RFC 3849), and what a
            // connection attempt meets depends on the network around the lab.
            if !map.is_empty() && target == address && is_documentation(address.ip()) {
                let reason = format!("no server of the lab listens at {address}");
                return Err(Error::Unreachable { host: host.to_string(), reason });
            }
            match tokio::time::timeout(limit, TcpStream::connect(target)).await {
                Ok(Ok(stream)) => {
                    let _ = stream.set_nodelay(true);
                    Ok((address, stream))
                }
                Ok(Err(e)) => Err(Error::Unreachable { host: host.to_string(), reason: e.to_string() }),
                Err(_) => Err(Error::Timeout { host: host.to_string(), after: limit }),
            }
        };
        let first: Vec<SocketAddr> =
            vetted.iter().take(ADDRESSES).map(|ip| SocketAddr::new(*ip, port)).collect();
        let mut waiting = first.into_iter();
        let mut tried = FuturesUnordered::new();
        let mut last = Error::Timeout { host: host.to_string(), after: limit };
        loop {
            tried.extend(waiting.next().map(attempt));
            let more = waiting.len() > 0;
            tokio::select! {
                done = tried.next() => match done {
                    Some(Ok(connected)) => return Ok(connected),
                    Some(Err(e)) => last = e,
                    None => return Err(last),
                },
                () = tokio::time::sleep(HEAD_START), if more => {}
            }
        }
    }

    /// The certificate authorities that are trusted.
    pub fn roots(&self) -> &Arc<rustls::RootCertStore> {
        &self.0.roots
    }

    /// How TLS is spoken: the trusted authorities, no ALPN. For protocols that do their own handshake over
    /// [`Dialer::tcp`].
    pub fn tls_config(&self) -> &Arc<rustls::ClientConfig> {
        self.0.tls.config()
    }

    /// Connects with TLS; the certificate must be valid for `host`.
    ///
    /// # Errors
    /// As [`Dialer::tcp`], or [`Error::Tls`].
    pub async fn tls(&self, host: &str, port: u16) -> Result<TlsStream<TcpStream>, Error> {
        let stream = self.tcp(host, port).await?;
        self.secured(Offer::One, host, stream).await
    }

    /// TLS over a connection to `host`.
    pub(crate) async fn secured(
        &self,
        offer: Offer,
        host: &str,
        stream: TcpStream,
    ) -> Result<TlsStream<TcpStream>, Error> {
        let connector = if offer == Offer::Both { &self.0.tls_http } else { &self.0.tls };
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
