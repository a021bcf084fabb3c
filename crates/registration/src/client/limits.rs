//! How often a host may be asked, from `data/limits.toml`. In: a host; out: the name of its budget, which several
//! hosts of one service share, and the limit.

use super::settings::Settings;
use serde::Deserialize;
use std::sync::LazyLock;
use std::time::Duration;

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
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers of the file; a test asks for it"))]
    source: String,
}

fn one() -> usize {
    1
}

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct File {
        limit: Vec<Row>,
    }
    toml::from_str::<File>(include_str!("../../data/limits.toml"))
        .unwrap_or_else(|e| panic!("data/limits.toml is checked by a test: {e}"))
        .limit
});

impl Row {
    fn covers(&self, host: &str) -> bool {
        self.hosts.iter().any(|h| match h.strip_prefix("*.") {
            Some(rest) => host.strip_suffix(rest).is_some_and(|l| l.ends_with('.')),
            None => h == host,
        })
    }

    /// The widest of the stated spacings: the strictest counts.
    fn spacing(&self) -> Option<Duration> {
        let every = |n: Option<u32>, seconds: u64| n.map(|n| Duration::from_secs(seconds) / n.max(1));
        [every(self.per_second, 1), every(self.per_minute, 60), every(self.per_hour, 3600)]
            .into_iter()
            .flatten()
            .max()
    }

    fn limit(&self, default: net::Limit) -> net::Limit {
        net::Limit {
            concurrency: self.concurrency,
            spacing: self.spacing().unwrap_or(default.spacing),
            // Others behind the same address ask too.
            per_day: self.per_day.map(|n| (n - n / 10).max(1)),
        }
    }
}

/// The name of a host's budget and what it may be asked.
pub(super) fn of(host: &str, settings: &Settings) -> (String, net::Limit) {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    if let Some(agreed) = settings.agreed.get(&host) {
        return (host, *agreed);
    }
    if let Some(spacing) = settings.spacing {
        return (host, net::Limit { spacing, ..settings.limit });
    }
    // An exact name counts more than a family.
    let exact = ROWS.iter().find(|r| r.hosts.contains(&host));
    match exact.or_else(|| ROWS.iter().find(|r| r.covers(&host))) {
        Some(row) => (row.budget.clone().unwrap_or(host), row.limit(settings.limit)),
        None => (host, settings.limit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_table_loads_and_names_its_sources() {
        let mut seen = HashSet::new();
        for row in ROWS.iter() {
            assert!(
                !row.source.is_empty() && row.concurrency > 0 && !row.hosts.is_empty(),
                "{:?}",
                row.hosts
            );
            assert!(
                row.spacing().is_some_and(|s| s >= Duration::from_millis(50)),
                "{:?} states no rate",
                row.hosts
            );
            assert!(row.per_day.is_none_or(|n| n > 0), "{:?}", row.hosts);
            assert!(
                row.budget.is_some() == (row.hosts.len() > 1),
                "{:?}: several hosts are one budget",
                row.hosts
            );
            for h in &row.hosts {
                assert!(seen.insert(h), "{h} has two rows");
                let plain = h.strip_prefix("*.").unwrap_or(h);
                assert!(crate::whois::host_name(plain).as_deref() == Some(plain), "{h}");
            }
            for published in ["http", "unverified"] {
                if row.source.starts_with(published) {
                    assert!(row.source.len() > published.len(), "{:?}", row.hosts);
                }
            }
        }
        assert!(seen.len() >= 60, "{}", seen.len());
    }

    #[test]
    fn a_host_a_family_and_a_stranger() {
        let settings = Settings::default();
        let (budget, limit) = of("WHOIS.nic.uk.", &settings);
        assert_eq!((budget.as_str(), limit.per_day), ("whois.nic.uk", Some(900)));
        assert_eq!(limit.spacing, Duration::from_millis(200));
        let (a, _) = of("whois.nic.ch", &settings);
        assert_eq!(a, of("whois.nic.li", &settings).0, "one service, one budget");
        assert_eq!(of("whois.auda.org.au", &settings).1.spacing, Duration::from_secs(180));
        assert_eq!(of("whois.example", &settings), ("whois.example".into(), net::Limit::default()));
        let own = Settings { spacing: Some(Duration::from_millis(2)), ..Settings::default() };
        let limit = of("whois.nic.uk", &own).1;
        assert_eq!(
            (limit.spacing, limit.per_day),
            (Duration::from_millis(2), None),
            "a network of one's own"
        );
    }

    #[test]
    fn a_star_stands_for_whole_labels() {
        let row = Row {
            hosts: vec!["*.nic.test".into()],
            budget: None,
            per_second: None,
            per_minute: Some(7),
            per_hour: None,
            per_day: None,
            concurrency: 1,
            source: String::new(),
        };
        assert!(row.covers("whois.nic.test") && row.covers("a.b.nic.test"));
        assert!(!row.covers("nic.test") && !row.covers("whoisnic.test"));
    }
}
