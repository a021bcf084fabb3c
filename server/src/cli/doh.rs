//! Flags and wiring of DNS over HTTPS and of the TLS listener. In: flags, the engine, the lab of a demo.
//! Out: the resolver, and a listener with its certificate.

use crate::http::{Served, Tls};
use crate::settings::EngineArgs;
use crate::wiring;
use anyhow::{Context, Result};
use axum::Router;
use clap::Args;
use doh::Exposure;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;

/// Default address of HTTPS.
const PORT: u16 = 8443;

/// Flags of `serve` about DNS over HTTPS and TLS.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "DNS over HTTPS and TLS")]
pub(super) struct DohArgs {
    /// Answer DNS over HTTPS (/dns-query, /resolve) to every client; without it only to direct clients on loopback
    #[arg(long, env = "DOMAINSCOPE_DOH")]
    doh: bool,
    /// DoH server to query instead of the authoritative servers; repeatable
    #[arg(long, env = "DOMAINSCOPE_DOH_UPSTREAM", value_name = "URL", value_delimiter = ',')]
    doh_upstream: Vec<String>,
    /// DNS queries per second and client (IPv4 address or IPv6 /56); 0 for no limit
    #[arg(long, default_value_t = 100, env = "DOMAINSCOPE_DOH_RATE", value_name = "N")]
    doh_rate: u32,
    /// Seconds past its TTL for which stale data is served when a refresh fails (RFC 8767); 0 for none
    #[arg(long, default_value_t = 86_400, env = "DOMAINSCOPE_DOH_STALE", value_name = "SECONDS")]
    doh_stale: u32,
    /// Answer names of private networks (RFC 6303) locally: auto leaves them to the servers of a
    /// network of your own (--root-hints, --allow-private, --doh-upstream)
    #[arg(long, value_enum, default_value_t = LocalZones::Auto, env = "DOMAINSCOPE_DOH_LOCAL_ZONES", value_name = "WHEN")]
    doh_local_zones: LocalZones,
    /// Certificate chain, PEM; reloaded when it changes
    #[arg(long, env = "DOMAINSCOPE_TLS_CERT", value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Its private key, PEM
    #[arg(long, env = "DOMAINSCOPE_TLS_KEY", value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// HTTPS address, in addition to --listen [default: the address of --listen, port 8443]
    #[arg(long, env = "DOMAINSCOPE_TLS_LISTEN", value_name = "ADDR")]
    tls_listen: Option<SocketAddr>,
}

/// When names of private networks are answered here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum LocalZones {
    Auto,
    Always,
    Never,
}

impl DohArgs {
    /// Whether names of private networks are answered here. Someone's own tree or resolver may know them, and then must
    /// be asked; the public one never does.
    fn local_zones(&self, settings: &EngineArgs) -> bool {
        match self.doh_local_zones {
            LocalZones::Always => true,
            LocalZones::Never => false,
            LocalZones::Auto => {
                settings.root_hints.is_none() && !settings.allow_private && self.doh_upstream.is_empty()
            }
        }
    }

    /// The resolver behind both listeners.
    pub(super) fn resolver(&self, settings: &EngineArgs, engine: &dns::Engine) -> Result<doh::Resolver> {
        let backend: Arc<dyn doh::Backend> = if self.doh_upstream.is_empty() {
            // A stub waits a few seconds at most, and a cache behind the answer forgives a bound.
            let settings = dns::Settings {
                timeout: Duration::from_millis(1500),
                budget: Duration::from_secs(8),
                max_queries: 200,
                ..engine.settings().clone()
            };
            Arc::new(doh::Recursive::new(dns::Engine::new(settings)))
        } else {
            let dialer = wiring::dialer(settings, engine)?;
            Arc::new(doh::Upstreams::new(&self.doh_upstream, dialer).context("--doh-upstream")?)
        };
        let bounds = doh::Bounds {
            rate: self.doh_rate,
            stale: self.doh_stale,
            local_zones: self.local_zones(settings),
            ..doh::Bounds::default()
        };
        Ok(doh::Resolver::new(backend, &bounds, Arc::new(jiff::Timestamp::now)))
    }

    /// The product with the resolver beside it, as a listener at this address shows it.
    pub(super) fn beside(
        &self,
        product: Router,
        resolver: &doh::Resolver,
        at: SocketAddr,
        tls: bool,
        gates: &features::Gates,
    ) -> Served {
        let exposure = match (self.doh, at.ip().to_canonical().is_loopback()) {
            (true, _) => Exposure::All,
            (false, true) => Exposure::Direct,
            (false, false) => Exposure::Off,
        };
        let gates = gates.clone();
        let switch: doh::Switch =
            Arc::new(move || gates.enter("doh-server").map(|held| Box::new(held) as doh::Held));
        Served::with_doh(product, doh::Site::with_switch(resolver.clone(), exposure, tls, switch))
    }

    /// The HTTPS listener: with the certificate given, or in a demo with one of the lab's authority.
    pub(super) async fn listener(
        &self,
        listen: SocketAddr,
        lab: Option<&lab::Lab>,
    ) -> Result<Option<(TcpListener, Tls)>> {
        let tls = match (&self.tls_cert, &self.tls_key, lab) {
            (Some(certificate), Some(key), _) => {
                Tls::files(certificate, key).context("--tls-cert, --tls-key")?
            }
            (_, _, Some(lab)) => {
                let loopback = ["127.0.0.1", "::1"].map(str::parse::<IpAddr>);
                let addresses: Vec<IpAddr> = loopback.into_iter().flatten().collect();
                let issued = lab.certificate(&["localhost".to_string()], &addresses)?;
                Tls::pem(issued.chain.as_bytes(), issued.key.as_bytes())?
            }
            _ if self.tls_listen.is_some() => {
                anyhow::bail!("--tls-listen needs --tls-cert and --tls-key");
            }
            _ => return Ok(None),
        };
        let listener = match self.tls_listen {
            Some(at) => TcpListener::bind(at).await.with_context(|| format!("can't listen on {at}"))?,
            None => {
                let usual = SocketAddr::new(listen.ip(), PORT);
                match TcpListener::bind(usual).await {
                    Ok(listener) => listener,
                    // A demo must start beside another one.
                    Err(_) if lab.is_some() => TcpListener::bind(SocketAddr::new(listen.ip(), 0)).await?,
                    Err(e) => {
                        return Err(e).with_context(|| {
                            format!("can't listen on {usual}: stop what uses it or pass --tls-listen ADDR")
                        });
                    }
                }
            }
        };
        Ok(Some((listener, tls)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Flags {
        #[command(flatten)]
        doh: DohArgs,
        #[command(flatten)]
        engine: EngineArgs,
    }

    #[test]
    fn a_network_of_ones_own_is_asked_for_its_private_names() {
        let here = |flags: &[&str]| {
            let flags = Flags::try_parse_from([&["serve"], flags].concat()).unwrap();
            flags.doh.local_zones(&flags.engine)
        };
        assert!(here(&[]), "no one on the public Internet knows them");
        assert!(!here(&["--root-hints", "own.root"]));
        assert!(!here(&["--allow-private"]));
        assert!(!here(&["--doh-upstream", "https://dns.example/dns-query"]));
        assert!(here(&["--allow-private", "--doh-local-zones", "always"]));
        assert!(!here(&["--doh-local-zones", "never"]));
    }
}
