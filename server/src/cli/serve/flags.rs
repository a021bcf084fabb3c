//! The flags of `serve`, and how their values are read.

use crate::http;
use crate::settings::{OidcArgs, ThirdPartyArgs};
use clap::Args;
use product::Quotas;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Flags of `serve`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ServeArgs {
    /// Run against the built-in lab with a demo inventory; needs no Internet access and no sign-in from localhost
    #[arg(long)]
    pub(super) demo: bool,
    /// Address to listen on
    #[arg(
        long,
        default_value = "127.0.0.1:8080",
        env = "DOMAINSCOPE_LISTEN",
        value_name = "ADDR",
        value_parser = address
    )]
    pub(super) listen: SocketAddr,
    /// Folder of the embedded database [default: ./data, with --demo a temporary one]
    #[arg(long, env = "DOMAINSCOPE_DATA", value_name = "DIR", conflicts_with = "database")]
    pub(super) data: Option<PathBuf>,
    /// PostgreSQL to use instead: postgres://user@host/name
    #[arg(long, env = "DOMAINSCOPE_DATABASE", value_name = "URL", hide_env_values = true)]
    pub(super) database: Option<String>,
    /// Key that encrypts secrets in the database: 32 octets in base64, the same for all replicas; better set as a variable than as a
    /// flag, which others on the machine can see. Without it an embedded database has a key file beside it
    #[arg(long, env = "DOMAINSCOPE_SECRET_KEY", value_name = "BASE64", hide_env_values = true)]
    pub(super) secret_key: Option<String>,
    /// Folder of a browser bundle to use instead of the built-in one
    #[arg(long, value_name = "DIR", hide = true)]
    pub(super) assets: Option<PathBuf>,
    /// Seconds between two scheduled scans of a domain, at least 60
    #[arg(
        long,
        default_value_t = 3600,
        env = "DOMAINSCOPE_INTERVAL",
        value_name = "SECONDS",
        value_parser = clap::value_parser!(u32).range(60..)
    )]
    pub(super) interval: u32,
    /// Concurrent scans
    #[arg(
        long,
        default_value_t = 16,
        env = "DOMAINSCOPE_CONCURRENCY",
        value_name = "N",
        value_parser = clap::value_parser!(u16).range(1..=1024)
    )]
    pub(super) concurrency: u16,
    /// Separate address for /metrics, /livez and /readyz, without sign-in: choose one that only your monitoring can reach
    #[arg(long, env = "DOMAINSCOPE_METRICS_LISTEN", value_name = "ADDR", value_parser = address)]
    pub(super) metrics_listen: Option<SocketAddr>,
    /// Lookups per minute and caller: a trace counts 1, a scan 2, a comparison, analysis or check 3; 0 for no limit
    #[arg(long, default_value_t = 60, env = "DOMAINSCOPE_LOOKUP_RATE", value_name = "N")]
    pub(super) lookup_rate: u32,
    /// Lookups per minute of all members and tokens of an organisation, counted like --lookup-rate; 0 for no limit [default: five times --lookup-rate]
    #[arg(long, env = "DOMAINSCOPE_ORG_LOOKUP_RATE", value_name = "N")]
    pub(super) org_lookup_rate: Option<u32>,
    /// Network of a proxy whose X-Forwarded-For, -Proto and -Host are believed; may be repeated
    #[arg(long, env = "DOMAINSCOPE_TRUSTED_PROXY", value_name = "PREFIX", value_delimiter = ',')]
    pub(super) trusted_proxy: Vec<http::ProxyNetwork>,
    /// Most domains of one organisation
    #[arg(long, default_value_t = Quotas::default().domains, env = "DOMAINSCOPE_MAX_DOMAINS", value_name = "N")]
    pub(super) max_domains: u64,
    /// Most claims of address space of one organisation
    #[arg(long, default_value_t = Quotas::default().network_claims, env = "DOMAINSCOPE_MAX_NETWORK_CLAIMS", value_name = "N")]
    pub(super) max_network_claims: u64,
    /// Prefixes inside which each organisation has an address space of its own (a list with commas), as in 10.0.0.0/8 [default: none]
    #[arg(long, env = "DOMAINSCOPE_SHARED_SPACE", value_name = "PREFIX", value_delimiter = ',')]
    pub(super) shared_space: Vec<String>,
    /// Domain of yours below which CNAME ownership challenges point, as in verify.example.net
    #[arg(long, env = "DOMAINSCOPE_CLAIM_SUFFIX", value_name = "DOMAIN", value_parser = claim_suffix)]
    pub(super) claim_suffix: Option<String>,
    /// Days that history is kept; the newest change of a domain always is
    #[arg(
        long,
        default_value_t = 400,
        env = "DOMAINSCOPE_KEEP_DAYS",
        value_name = "DAYS",
        value_parser = clap::value_parser!(u32).range(7..)
    )]
    pub(super) keep_days: u32,
    /// Identity of this installation (id.k8s.io), an RFC 1123 label [default: a UUID made at the first start and kept]
    #[arg(long, env = "DOMAINSCOPE_CLUSTER_ID", value_name = "ID")]
    pub(super) cluster_id: Option<String>,
    /// Fix a feature in this process, as in doh-server=off; may be repeated. Others are set with “domainscope features”
    #[arg(long, env = "DOMAINSCOPE_FEATURE", value_name = "NAME=on|off", value_delimiter = ',', value_parser = crate::cli::features::fixed)]
    pub(super) feature: Vec<(String, bool)>,
    #[command(flatten)]
    pub(super) open: crate::cli::open::OpenArgs,
    #[command(flatten)]
    pub(super) doh: crate::cli::doh::DohArgs,
    #[command(flatten)]
    pub(super) mail: crate::cli::mail::MailArgs,
    #[command(flatten)]
    pub(super) oidc: OidcArgs,
    #[command(flatten)]
    pub(super) third_party: ThirdPartyArgs,
}

/// `127.0.0.1:8080`, `[::]:8080`, `localhost:8080`.
fn address(text: &str) -> Result<SocketAddr, String> {
    let named = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    named.as_deref().unwrap_or(text).parse().map_err(|_| {
        "write ADDRESS:PORT, as in 127.0.0.1:8080 (this machine), 0.0.0.0:8080 or [::]:8080 (every interface)"
            .into()
    })
}

/// A host name, in the form it is compared in.
fn claim_suffix(text: &str) -> Result<String, String> {
    let name = model::names::Fqdn::read(text).map_err(|e| e.to_string())?.name;
    if name.as_str().is_empty() {
        Err("the root can't be the domain of challenges".into())
    } else {
        Ok(name.to_string())
    }
}
