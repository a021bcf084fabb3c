//! Engine settings: as flags, as environment variables (`DOMAINSCOPE_…`) and as TOML (`--config FILE`), in this
//! order of precedence. With them the whole product runs inside any closed network.

mod oidc;
mod shared_space;
mod third_party;
mod thresholds;

pub use oidc::OidcArgs;
pub(crate) use shared_space::shared_space;
pub use third_party::ThirdPartyArgs;

use anyhow::{Context, Result};
use clap::Args;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// A setting that breaks a rule; the message names both. Wrong usage (exit code 2), whether flag, variable or file.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Wrong(pub String);

/// Where the engine starts and what it trusts. The defaults are those of the Internet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[command(next_help_heading = "Engine settings (default: the real Internet)")]
pub struct EngineArgs {
    /// TOML file with engine settings: root hints, ports, trust; --help lists them (root_hints = "…", dns_port = 5353, …)
    #[arg(long, global = true, env = "DOMAINSCOPE_CONFIG", value_name = "FILE")]
    #[serde(skip)]
    pub config: Option<PathBuf>,
    /// Root hints in named.root format
    #[arg(long, global = true, env = "DOMAINSCOPE_ROOT_HINTS", value_name = "FILE", hide_short_help = true)]
    pub root_hints: Option<PathBuf>,
    /// Port of all name servers [default: 53]
    #[arg(long, global = true, env = "DOMAINSCOPE_DNS_PORT", value_name = "PORT", hide_short_help = true)]
    pub dns_port: Option<u16>,
    /// RDAP bootstrap (RFC 9224): a URL or a file
    #[arg(
        long,
        global = true,
        env = "DOMAINSCOPE_RDAP_BOOTSTRAP",
        value_name = "URL|FILE",
        hide_short_help = true
    )]
    pub rdap_bootstrap: Option<String>,
    /// WHOIS server that refers to the servers of the TLDs [default: whois.iana.org:43]
    #[arg(
        long,
        global = true,
        env = "DOMAINSCOPE_WHOIS_SERVER",
        value_name = "HOST:PORT",
        hide_short_help = true
    )]
    pub whois_server: Option<String>,
    /// DNSSEC trust anchors: DS records, one per line
    #[arg(
        long,
        global = true,
        env = "DOMAINSCOPE_TRUST_ANCHOR",
        value_name = "FILE",
        hide_short_help = true
    )]
    pub trust_anchor: Option<PathBuf>,
    /// Additional trusted certificate authorities, PEM
    #[arg(long, global = true, env = "DOMAINSCOPE_EXTRA_CA", value_name = "FILE", hide_short_help = true)]
    pub extra_ca: Option<PathBuf>,
    /// Allow connections to private, loopback and link-local addresses
    #[arg(long, global = true, env = "DOMAINSCOPE_ALLOW_PRIVATE", hide_short_help = true)]
    pub allow_private: bool,
    /// Networks that connections may go to although they are private (a list with commas), as in 10.20.0.0/16
    #[arg(
        long,
        global = true,
        env = "DOMAINSCOPE_ALLOW_NETWORKS",
        value_name = "PREFIX",
        value_delimiter = ',',
        hide_short_help = true
    )]
    pub allow_networks: Vec<String>,
    /// Networks that connections must not go to (a list with commas); wins over allowed ones
    #[arg(
        long,
        global = true,
        env = "DOMAINSCOPE_DENY_NETWORKS",
        value_name = "PREFIX",
        value_delimiter = ',',
        hide_short_help = true
    )]
    pub deny_networks: Vec<String>,
    /// Ports of web servers beside 80, 443, 8080 and 8443 (a list with commas)
    #[arg(
        long,
        global = true,
        env = "DOMAINSCOPE_WEB_PORTS",
        value_name = "PORT",
        value_delimiter = ',',
        hide_short_help = true
    )]
    pub web_ports: Vec<u16>,
    /// Address map, connects to B instead of A: lines "A:PORT" = "B:PORT"
    #[arg(long, global = true, env = "DOMAINSCOPE_ADDRESS_MAP", value_name = "FILE", hide = true)]
    pub address_map: Option<PathBuf>,
    /// Table of public resolvers that answers are compared with, or "all" of the built-in table [default: its usual ones]
    #[arg(long, global = true, env = "DOMAINSCOPE_RESOLVERS", value_name = "FILE", hide_short_help = true)]
    pub resolvers: Option<PathBuf>,
    /// Zone for origin AS lookups of name servers; "-" disables them [default: asnlookup.zonemaster.net]
    #[arg(long, global = true, env = "DOMAINSCOPE_ASN_ZONE", value_name = "ZONE", hide_short_help = true)]
    pub asn_zone: Option<String>,
    /// Networks to treat as globally reachable, for closed networks; separated by commas
    #[arg(
        long,
        global = true,
        env = "DOMAINSCOPE_OWN_NETWORKS",
        value_name = "PREFIX",
        value_delimiter = ',',
        hide_short_help = true
    )]
    pub own_networks: Vec<String>,
    /// RSA key (PKCS #8, PEM) that signs Domain Connect links of templates that require it
    #[arg(
        long,
        global = true,
        env = "DOMAINSCOPE_DOMAIN_CONNECT_KEY",
        value_name = "FILE",
        hide_short_help = true
    )]
    pub domain_connect_key: Option<PathBuf>,
    /// Label under which its public half is published below the template's syncPubKeyDomain [default: _dck1]
    #[arg(
        long,
        global = true,
        env = "DOMAINSCOPE_DOMAIN_CONNECT_KEY_LABEL",
        value_name = "LABEL",
        hide_short_help = true
    )]
    pub domain_connect_key_label: Option<String>,
    /// Rate limits agreed with registries, in place of the built-in table: TOML `[[limit]]` rows
    #[arg(
        long,
        global = true,
        env = "DOMAINSCOPE_REGISTRY_LIMITS",
        value_name = "FILE",
        hide_short_help = true
    )]
    pub registry_limits: Option<PathBuf>,
    /// Seconds for which registration data is served as a cached result [default: 60]
    #[arg(long, global = true, env = "DOMAINSCOPE_FRESHNESS", value_name = "SECONDS", hide = true)]
    pub freshness: Option<i64>,
    /// Minimum milliseconds between two queries to a registry host [default: 200]
    #[arg(long, global = true, env = "DOMAINSCOPE_REGISTRY_SPACING", value_name = "MS", hide = true)]
    pub registry_spacing: Option<u64>,
    /// Days before its expiration from which a domain is Critical [default: 7]
    #[arg(
        long,
        global = true,
        env = "DOMAINSCOPE_CRITICAL_DAYS",
        value_name = "DAYS",
        hide_short_help = true
    )]
    pub critical_days: Option<i64>,
    /// Days before its expiration from which a domain is at least Warning, at most 90 [default: 30]
    #[arg(
        long,
        global = true,
        env = "DOMAINSCOPE_WARNING_DAYS",
        value_name = "DAYS",
        hide_short_help = true
    )]
    pub warning_days: Option<i64>,
    /// Days after which registration data that could not be read again is too old to judge by [default: 3]
    #[arg(long, global = true, env = "DOMAINSCOPE_STALE_DAYS", value_name = "DAYS", hide_short_help = true)]
    pub stale_days: Option<i64>,
    /// Tools for visitors without an account; flags of `serve` go before it.
    #[arg(skip)]
    pub open_tools: Vec<String>,
    /// Origins whose pages may read and embed them.
    #[arg(skip)]
    pub open_origins: Vec<String>,
    /// Lookups per minute of visitors from one network.
    #[arg(skip)]
    pub open_rate: Option<u32>,
    /// Lookups per minute of all visitors together.
    #[arg(skip)]
    pub open_rate_all: Option<u32>,
    /// Prefixes inside which each organisation has an address space of its own; the flag is one of `serve`.
    #[arg(skip)]
    pub shared_space: Vec<String>,
    /// The sign-in provider: the table `[oidc]` of the file; its flags are those of `serve`
    #[arg(skip)]
    pub oidc: OidcArgs,
}

impl EngineArgs {
    /// These settings with the gaps filled from the configuration file, when one is named.
    ///
    /// # Errors
    /// When the file can't be read or holds an unknown key; the message names both.
    pub fn resolved(self) -> Result<Self> {
        let Some(path) = self.config.clone() else { return Ok(self) };
        let file = read_file(&path)?;
        Ok(EngineArgs {
            config: self.config,
            root_hints: self.root_hints.or(file.root_hints),
            dns_port: self.dns_port.or(file.dns_port),
            rdap_bootstrap: self.rdap_bootstrap.or(file.rdap_bootstrap),
            whois_server: self.whois_server.or(file.whois_server),
            trust_anchor: self.trust_anchor.or(file.trust_anchor),
            extra_ca: self.extra_ca.or(file.extra_ca),
            allow_private: self.allow_private || file.allow_private,
            allow_networks: list(self.allow_networks, file.allow_networks),
            deny_networks: list(self.deny_networks, file.deny_networks),
            web_ports: list(self.web_ports, file.web_ports),
            address_map: self.address_map.or(file.address_map),
            resolvers: self.resolvers.or(file.resolvers),
            asn_zone: self.asn_zone.or(file.asn_zone),
            own_networks: list(self.own_networks, file.own_networks),
            domain_connect_key: self.domain_connect_key.or(file.domain_connect_key),
            domain_connect_key_label: self.domain_connect_key_label.or(file.domain_connect_key_label),
            registry_limits: self.registry_limits.or(file.registry_limits),
            freshness: self.freshness.or(file.freshness),
            registry_spacing: self.registry_spacing.or(file.registry_spacing),
            critical_days: self.critical_days.or(file.critical_days),
            warning_days: self.warning_days.or(file.warning_days),
            stale_days: self.stale_days.or(file.stale_days),
            open_tools: file.open_tools,
            open_origins: file.open_origins,
            open_rate: file.open_rate,
            open_rate_all: file.open_rate_all,
            shared_space: file.shared_space,
            oidc: self.oidc.over(file.oidc),
        })
    }
}

fn read_file(path: &Path) -> Result<EngineArgs> {
    let text = std::fs::read_to_string(path).with_context(|| format!("settings file {}", path.display()))?;
    toml::from_str(&text).with_context(|| format!("settings file {}", path.display()))
}

/// The list of the flags, or that of the file when there is none.
pub(crate) fn list<T>(flags: Vec<T>, file: Vec<T>) -> Vec<T> {
    if flags.is_empty() { file } else { flags }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_win_over_the_file_and_unknown_keys_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("engine.toml");
        std::fs::write(&path, "dns_port = 5300\nwhois_server = \"w:1\"\nallow_private = true\n").unwrap();
        let args = EngineArgs { config: Some(path.clone()), dns_port: Some(53), ..EngineArgs::default() };
        let got = args.clone().resolved().unwrap();
        assert_eq!(
            (got.dns_port, got.whois_server.as_deref(), got.allow_private),
            (Some(53), Some("w:1"), true)
        );
        std::fs::write(&path, "dns_prot = 5300\n").unwrap();
        let e = format!("{:#}", args.resolved().unwrap_err());
        assert!(e.contains("dns_prot") && e.contains("engine.toml"), "{e}");
    }
}
