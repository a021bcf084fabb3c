//! TLS and HTTP(S) probes of a host: its certificates by server name, what it answers, and DNS records of it that lead
//! nowhere. In: a host name, the dial guard ([`net::Dialer`]) and DNS answers ([`Names`]). Out: a
//! [`model::certificate::Probe`] with findings. Every connection passes the guard, every read is capped and bounded in time.

mod caa;
mod dangling;
mod hosts;
mod http;
mod places;
mod platforms;
mod tls;
mod x509;

pub use hosts::host_certificate;
pub use places::web_answer;

use async_trait::async_trait;
use futures::StreamExt;
use jiff::Timestamp;
use model::certificate::{Probe, judge};
use net::Dialer;
use std::net::IpAddr;
use std::sync::Arc;

/// Most addresses of a host that are probed.
const ADDRESSES: usize = 8;
/// Handshakes at the same time.
const AT_ONCE: usize = 4;

/// What the DNS says of a name and type, aliases followed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DnsAnswer {
    /// Aliases that were followed: owner and target, without the final dot.
    pub aliases: Vec<(String, String)>,
    /// The name the answer is about, after all aliases.
    pub owner: String,
    /// The zone whose server answered.
    pub zone: String,
    /// Whether that name does not exist.
    pub is_nxdomain: bool,
    /// Data of the records of the type, as text.
    pub records: Vec<String>,
}

/// Where DNS answers come from.
#[async_trait]
pub trait Names: Send + Sync {
    /// Asks for the records of a name, following aliases.
    ///
    /// # Errors
    /// Why there is no usable answer, in words.
    async fn ask(&self, name: &str, rtype: &str) -> Result<DnsAnswer, String>;
}

/// What is probed.
#[derive(Debug, Clone)]
pub struct Options {
    /// Port of HTTPS.
    pub port: u16,
    /// Port of plain HTTP.
    pub http_port: u16,
    /// Path over HTTPS that must answer 2xx.
    pub readiness: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Options { port: 443, http_port: 80, readiness: None }
    }
}

/// Probes hosts. Cheap to clone.
#[derive(Clone)]
pub struct Prober {
    dialer: Dialer,
    names: Arc<dyn Names>,
}

impl Prober {
    /// A prober that dials through this guard and asks the DNS there.
    pub fn new(dialer: Dialer, names: Arc<dyn Names>) -> Self {
        Prober { dialer, names }
    }

    /// Probes a host (A-labels, no final dot); `now` is the time certificates are judged at. What fails is part of the
    /// result.
    pub async fn probe(&self, host: &str, options: &Options, now: Timestamp) -> Probe {
        let mut probe = Probe {
            host: host.to_string(),
            port: options.port,
            at: now,
            error: None,
            tls: Vec::new(),
            https: None,
            http: None,
            readiness: None,
            caa: None,
            dangling: Vec::new(),
            findings: Vec::new(),
        };
        let mut page = None;
        match self.dialer.addresses(host).await {
            Err(e) => probe.error = Some(e.to_string()),
            Ok(mut addresses) => {
                addresses.truncate(ADDRESSES);
                let base = |scheme: &str, port: u16, usual: u16| match port == usual {
                    true => format!("{scheme}://{host}"),
                    false => format!("{scheme}://{host}:{port}"),
                };
                let secure = base("https", options.port, 443);
                let plain = base("http", options.http_port, 80);
                let readiness = async {
                    let path = options.readiness.as_deref()?;
                    Some(
                        http::once(&self.dialer, &format!("{secure}/{}", path.trim_start_matches('/'))).await,
                    )
                };
                let (secure_page, plain_page) = (format!("{secure}/"), format!("{plain}/"));
                let (tls, https, http, ready) = futures::join!(
                    self.tls(&addresses, options.port, host, now),
                    http::follow(&self.dialer, &secure_page),
                    http::follow(&self.dialer, &plain_page),
                    readiness
                );
                page = http.1.or(https.1);
                (probe.tls, probe.https, probe.http) = (tls, Some(https.0), Some(http.0));
                probe.readiness = ready;
            }
        }
        if let Some(leaf) = probe.tls.iter().find_map(|t| t.chain.first()) {
            probe.caa = Some(caa::observe(self.names.as_ref(), host, leaf).await);
        }
        probe.dangling = dangling::find(self.names.as_ref(), host, page.as_deref()).await;
        probe.findings = judge::judge(&probe, now);
        probe
    }

    async fn tls(
        &self,
        addresses: &[IpAddr],
        port: u16,
        host: &str,
        now: Timestamp,
    ) -> Vec<model::certificate::TlsObservation> {
        let each = addresses.iter().map(|address| tls::observe(&self.dialer, *address, port, host, now));
        futures::stream::iter(each).buffered(AT_ONCE).collect().await
    }
}
