//! Settings of the look-up client, and the checks on them.

use super::bootstrap::BootstrapError;
use super::limits::Limits;
use std::time::Duration;

/// How names are looked up.
#[derive(Debug, Clone)]
pub struct Settings {
    /// RDAP bootstrap (RFC 9224): URL or path of a file. `None`: IANA's, with the shipped copy until it was fetched.
    /// Where it is set, it is the only source.
    pub rdap_bootstrap: Option<String>,
    /// Root of WHOIS referrals, `HOST` or `HOST:PORT`. `None`: IANA's, then the shipped table. With a port other than
    /// 43, referred servers are asked on that port.
    pub whois_server: Option<String>,
    /// For a whole look-up, all servers together.
    pub timeout: Duration,
    /// For one RDAP exchange, redirects included; shorter than the whole, so that WHOIS gets its turn.
    pub rdap_timeout: Duration,
    /// For one WHOIS exchange after the connection was made.
    pub whois_timeout: Duration,
    /// Largest answer read, bytes.
    pub cap: usize,
    /// Budget of hosts without a row in `limits.toml`.
    pub limit: net::Limit,
    /// Limits that go before the table's: what was agreed with registries.
    pub agreed: Limits,
    /// Least time between two questions to one host, instead of the tables': for networks of one's own.
    pub spacing: Option<Duration>,
    /// How long a question may wait for its host's budget when a person waits for the answer.
    pub patience: Duration,
    /// The same for the schedule, which comes back later instead.
    pub patience_scheduled: Duration,
    /// So many look-ups may wait for one host at the same time; others are told when to come back.
    pub max_waiters: usize,
    /// How long a host that throttles us is left alone when it does not say; doubled each time in a row.
    pub back_off: Duration,
    /// Whether the registrar is asked after the registry.
    pub ask_registrar: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            rdap_bootstrap: None,
            whois_server: None,
            timeout: Duration::from_secs(15),
            rdap_timeout: Duration::from_secs(6),
            whois_timeout: Duration::from_secs(6),
            cap: 1 << 20,
            limit: net::Limit::default(),
            agreed: Limits::default(),
            spacing: None,
            patience: Duration::from_secs(10),
            patience_scheduled: Duration::from_millis(500),
            max_waiters: usize::MAX,
            back_off: Duration::from_secs(60),
            ask_registrar: true,
        }
    }
}

/// A setting that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// Not `HOST` or `HOST:PORT`: correct the setting.
    #[error("“{0}” is not a WHOIS server: write HOST or HOST:PORT")]
    WhoisServer(String),
    /// The bootstrap file cannot be used: correct the path or the file.
    #[error(transparent)]
    Bootstrap(#[from] BootstrapError),
}

impl SettingsError {
    /// Stable word for metrics.
    pub fn label(&self) -> &'static str {
        match self {
            SettingsError::WhoisServer(_) => "whois_server",
            SettingsError::Bootstrap(_) => "rdap_bootstrap",
        }
    }
}

/// Where WHOIS referrals begin.
#[derive(Debug, Clone)]
pub(super) struct Root {
    pub host: String,
    pub port: u16,
    /// Set by the operator: the shipped table is not used.
    pub configured: bool,
}

impl Settings {
    /// The name of the budget of a host and what the host may be asked: as agreed with its registry, else by the shipped
    /// table, else the default.
    pub(super) fn limit_of(&self, host: &str) -> (String, net::Limit) {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        // A network of one's own has its own spacing; the limits of public registries do not apply there.
        let shipped = || if self.spacing.is_some() { None } else { Limits::shipped().rule(&host) };
        match self.agreed.rule(&host).or_else(shipped) {
            Some(rule) => (rule.budget.clone().unwrap_or(host), rule.limit),
            None => {
                let spacing = self.spacing.unwrap_or(self.limit.spacing);
                (host, net::Limit { spacing, ..self.limit })
            }
        }
    }

    pub(super) fn root(&self) -> Result<Root, SettingsError> {
        let Some(text) = &self.whois_server else {
            return Ok(Root { host: "whois.iana.org".into(), port: 43, configured: false });
        };
        let bad = || SettingsError::WhoisServer(text.clone());
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
                (host, port.parse().map_err(|_| bad())?)
            }
            _ => (text.as_str(), 43),
        };
        if host.is_empty() || port == 0 || host.contains(char::is_whitespace) {
            return Err(bad());
        }
        Ok(Root { host: host.to_string(), port, configured: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whois_roots() {
        let root = |s: &str| Settings { whois_server: Some(s.into()), ..Settings::default() }.root();
        assert_eq!(root("whois.example").unwrap().port, 43);
        assert_eq!(root("127.0.0.1:4343").unwrap().port, 4343);
        assert_eq!(root("[::1]:4343").unwrap().host, "[::1]");
        for bad in ["", "a:b", "a:0", "a b:1", ":43"] {
            assert!(root(bad).is_err(), "{bad}");
        }
        assert!(!Settings::default().root().unwrap().configured);
    }
}
