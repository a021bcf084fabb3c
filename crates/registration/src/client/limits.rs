//! How often a host may be asked, from `data/limits.toml`. In: a host; out: the name of its budget, which several
//! hosts of one service share, and the limit.

use serde::Deserialize;
use std::str::FromStr;
use std::sync::LazyLock;
use std::time::Duration;

/// Why a file of limits is not used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LimitsError {
    /// It is not TOML of `[[limit]]` rows: correct what the reason names.
    #[error("limits of registry hosts: {0}")]
    Form(String),
    /// A row that can't be kept to: correct it.
    #[error("limits of registry hosts: the row of {host} {rule}")]
    Row {
        /// The first of its hosts.
        host: String,
        /// What is wrong with it.
        rule: &'static str,
    },
}

impl LimitsError {
    /// Stable word for metrics.
    pub fn label(&self) -> &'static str {
        match self {
            LimitsError::Form(_) => "form",
            LimitsError::Row { .. } => "row",
        }
    }
}

/// A row as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    hosts: Vec<String>,
    budget: Option<String>,
    per_second: Option<u32>,
    per_minute: Option<u32>,
    per_hour: Option<u32>,
    per_day: Option<u32>,
    #[serde(default = "one")]
    concurrency: usize,
    #[serde(default)]
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers of the file; a test asks for it"))]
    source: String,
}

fn one() -> usize {
    1
}

/// At most so many questions at a time, whatever was agreed.
const LANES: usize = 64;

impl Row {
    /// The widest of the stated spacings: the strictest counts.
    fn spacing(&self) -> Option<Duration> {
        let every = |n: Option<u32>, seconds: u64| n.map(|n| Duration::from_secs(seconds) / n.max(1));
        [every(self.per_second, 1), every(self.per_minute, 60), every(self.per_hour, 3600)]
            .into_iter()
            .flatten()
            .max()
    }

    fn rule(self) -> Result<Rule, LimitsError> {
        let wrong = |rule| LimitsError::Row { host: self.hosts.first().cloned().unwrap_or_default(), rule };
        let is_name = |h: &String| {
            let plain = h.strip_prefix("*.").unwrap_or(h);
            crate::whois::host_name(plain).as_deref() == Some(plain)
        };
        if self.hosts.is_empty() {
            return Err(wrong("names no host"));
        }
        if !self.hosts.iter().all(is_name) {
            return Err(wrong("has a host that is neither a name in lower case nor “*.” and a name"));
        }
        if [self.per_second, self.per_minute, self.per_hour, self.per_day].contains(&Some(0)) {
            return Err(wrong("allows nothing: a rate of 0"));
        }
        if !(1..=LANES).contains(&self.concurrency) {
            return Err(wrong("needs a concurrency from 1 to 64"));
        }
        let spacing =
            self.spacing().ok_or_else(|| wrong("states none of per_second, per_minute, per_hour"))?;
        let limit = net::Limit { concurrency: self.concurrency, spacing, per_day: self.per_day };
        Ok(Rule { hosts: self.hosts, budget: self.budget, limit })
    }
}

/// A row as it is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rule {
    hosts: Vec<String>,
    pub(super) budget: Option<String>,
    pub(super) limit: net::Limit,
}

impl Rule {
    fn covers(&self, host: &str) -> bool {
        self.hosts.iter().any(|h| match h.strip_prefix("*.") {
            Some(rest) => host.strip_suffix(rest).is_some_and(|l| l.ends_with('.')),
            None => h == host,
        })
    }
}

/// How often hosts may be asked: the shipped table, or what an operator agreed with registries. Read from TOML of
/// `[[limit]]` rows: `hosts`, at least one of `per_second`, `per_minute` and `per_hour`, and where they are to be had
/// `per_day`, `concurrency` (1), `budget` (one for all hosts of the row) and `source`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Limits(Vec<Rule>);

impl Limits {
    /// The row of a host; its exact name counts more than a family.
    pub(super) fn rule(&self, host: &str) -> Option<&Rule> {
        let exact = self.0.iter().find(|r| r.hosts.iter().any(|h| h == host));
        exact.or_else(|| self.0.iter().find(|r| r.covers(host)))
    }
}

impl FromStr for Limits {
    type Err = LimitsError;

    fn from_str(text: &str) -> Result<Self, LimitsError> {
        rows(text)?.into_iter().map(Row::rule).collect::<Result<_, _>>().map(Limits)
    }
}

/// Limits by exact host name.
impl FromIterator<(String, net::Limit)> for Limits {
    fn from_iter<T: IntoIterator<Item = (String, net::Limit)>>(rows: T) -> Self {
        let rule = |(host, limit): (String, _)| Rule {
            hosts: vec![host.trim_end_matches('.').to_ascii_lowercase()],
            budget: None,
            limit,
        };
        Limits(rows.into_iter().map(rule).collect())
    }
}

fn rows(text: &str) -> Result<Vec<Row>, LimitsError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        limit: Vec<Row>,
    }
    toml::from_str::<File>(text).map(|f| f.limit).map_err(|e| LimitsError::Form(e.to_string()))
}

const TEXT: &str = include_str!("../../data/limits.toml");

static SHIPPED: LazyLock<Limits> = LazyLock::new(|| {
    let mut limits: Limits =
        TEXT.parse().unwrap_or_else(|e| panic!("data/limits.toml is checked by a test: {e}"));
    for rule in &mut limits.0 {
        // Others behind the same address ask too.
        rule.limit.per_day = rule.limit.per_day.map(|n| (n - n / 10).max(1));
    }
    limits
});

impl Limits {
    /// The limits that come with the program.
    pub(super) fn shipped() -> &'static Self {
        &SHIPPED
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Settings;
    use std::collections::HashSet;

    #[test]
    fn the_table_loads_and_names_its_sources() {
        assert!(!SHIPPED.0.is_empty(), "every row keeps the rules");
        let mut seen = HashSet::new();
        for row in rows(TEXT).unwrap() {
            assert!(!row.source.is_empty(), "{:?}", row.hosts);
            assert!(
                row.spacing().is_some_and(|s| s >= Duration::from_millis(50)),
                "{:?} is asked too often",
                row.hosts
            );
            assert!(
                row.budget.is_some() == (row.hosts.len() > 1),
                "{:?}: several hosts are one budget",
                row.hosts
            );
            for published in ["http", "unverified"] {
                if row.source.starts_with(published) {
                    assert!(row.source.len() > published.len(), "{:?}", row.hosts);
                }
            }
            for h in row.hosts {
                assert!(seen.insert(h.clone()), "{h} has two rows");
            }
        }
        assert!(seen.len() >= 60, "{}", seen.len());
    }

    #[test]
    fn what_was_agreed_goes_first_and_is_used_whole() {
        let text = r#"
            [[limit]]
            hosts = ["whois.nic.uk"]
            per_second = 20
            per_day = 50000
            concurrency = 8

            [[limit]]
            hosts = ["*.registry.test", "rdap.elsewhere.test"]
            budget = "registry.test"
            per_minute = 30
            per_hour = 600
        "#;
        let settings = Settings { agreed: text.parse().unwrap(), ..Settings::default() };
        let limit = |concurrency, ms, per_day| net::Limit {
            concurrency,
            spacing: Duration::from_millis(ms),
            per_day,
        };
        assert_eq!(settings.limit_of("WHOIS.nic.uk."), ("whois.nic.uk".into(), limit(8, 50, Some(50_000))));
        let shared = ("registry.test".to_string(), limit(1, 6000, None));
        assert_eq!(settings.limit_of("rdap.registry.test"), shared);
        assert_eq!(settings.limit_of("rdap.elsewhere.test"), shared);
        assert_eq!(
            settings.limit_of("whois.auda.org.au").1.spacing,
            Duration::from_secs(180),
            "the table's others"
        );
        let own = Settings { spacing: Some(Duration::ZERO), ..settings };
        assert_eq!(
            own.limit_of("whois.nic.uk").1,
            limit(8, 50, Some(50_000)),
            "also where the table does not count"
        );
    }

    #[test]
    fn rows_that_cannot_be_kept_to_are_refused_by_name() {
        let row = |text: &str| {
            let e = format!("[[limit]]\n{text}").parse::<Limits>().unwrap_err();
            assert!(!e.label().is_empty());
            e.to_string()
        };
        let host = "hosts = [\"a.test\"]\n";
        for (text, said) in [
            ("per_second = 1", "hosts"),
            ("hosts = []\nper_second = 1", "names no host"),
            ("hosts = [\"A.test\"]\nper_second = 1", "lower case"),
            ("hosts = [\"a.*\"]\nper_second = 1", "lower case"),
            (host, "states none of"),
            (&format!("{host}per_day = 5"), "states none of"),
            (&format!("{host}per_second = 0"), "a rate of 0"),
            (&format!("{host}per_second = 1\nconcurrency = 0"), "from 1 to 64"),
            (&format!("{host}per_second = 1\nconcurrency = 9999"), "from 1 to 64"),
            (&format!("{host}per_second = -1"), "per_second"),
            (&format!("{host}per_secnod = 1"), "per_secnod"),
        ] {
            let e = row(text);
            assert!(e.contains(said), "{text}: {e}");
        }
        assert!("hosts".parse::<Limits>().is_err() && "".parse::<Limits>().is_err());
    }

    #[test]
    fn known_hosts_families_and_unknown_hosts() {
        let settings = Settings::default();
        let (budget, limit) = settings.limit_of("WHOIS.nic.uk.");
        assert_eq!((budget.as_str(), limit.per_day), ("whois.nic.uk", Some(900)));
        assert_eq!(limit.spacing, Duration::from_millis(200));
        let (a, _) = settings.limit_of("whois.nic.ch");
        assert_eq!(a, settings.limit_of("whois.nic.li").0, "one service, one budget");
        assert_eq!(settings.limit_of("whois.auda.org.au").1.spacing, Duration::from_secs(180));
        assert_eq!(settings.limit_of("whois.example"), ("whois.example".into(), net::Limit::default()));
        let own = Settings { spacing: Some(Duration::from_millis(2)), ..Settings::default() };
        let limit = own.limit_of("whois.nic.uk").1;
        assert_eq!(
            (limit.spacing, limit.per_day),
            (Duration::from_millis(2), None),
            "a network of one's own"
        );
    }

    #[test]
    fn a_star_stands_for_whole_labels() {
        let row = Rule { hosts: vec!["*.nic.test".into()], budget: None, limit: net::Limit::default() };
        assert!(row.covers("whois.nic.test") && row.covers("a.b.nic.test"));
        assert!(!row.covers("nic.test") && !row.covers("whoisnic.test"));
    }
}
