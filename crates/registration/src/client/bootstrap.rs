//! RDAP bootstrap (RFC 9224): which server to ask for which TLD. In: IANA's file (fetched daily), a configured file or
//! URL, or the shipped copy; out: base URLs of a TLD. A fetched file is asked for again after a day, and only whether
//! it changed (RFC 9110 section 13).

use super::shelf::{Kept, Shelf};
use model::Timestamp;
use serde::Deserialize;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};
use std::time::Duration;
use url::Url;

const IANA: &str = "https://data.iana.org/rdap/dns.json";
/// How long a fetched file is good, and how soon a failed fetch is tried again.
const GOOD_FOR: i64 = 86_400;
const RETRY_AFTER: i64 = 600;
/// How long a look-up waits for the file before it goes on without.
const PATIENCE: Duration = Duration::from_secs(4);
const CAP: usize = 8 << 20;

/// A bootstrap that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BootstrapError {
    /// The file cannot be read: check the path.
    #[error("RDAP bootstrap {path}: {reason}")]
    File {
        /// The path.
        path: String,
        /// Why.
        reason: String,
    },
    /// It is not a bootstrap file: check what the path or URL leads to.
    #[error("RDAP bootstrap {from} is not a file of RFC 9224: {reason}")]
    Form {
        /// Path or URL.
        from: String,
        /// Why.
        reason: String,
    },
}

/// Base URLs per TLD.
#[derive(Debug, Default)]
pub(super) struct Table(HashMap<String, Vec<Url>>);

impl Table {
    /// The base URLs for a name: those of its longest listed suffix, https before http.
    pub fn bases(&self, name: &str) -> &[Url] {
        let mut rest = name;
        loop {
            if let Some(found) = self.0.get(rest) {
                return found;
            }
            match rest.split_once('.') {
                Some((_, r)) => rest = r,
                None => return &[],
            }
        }
    }

    fn parse(from: &str, text: &[u8]) -> Result<Self, BootstrapError> {
        #[derive(Deserialize)]
        struct Dns {
            services: Vec<Vec<Vec<String>>>,
        }
        let bad = |reason: String| BootstrapError::Form { from: from.to_string(), reason };
        let dns: Dns = serde_json::from_slice(text).map_err(|e| bad(e.to_string()))?;
        let mut table = Table::default();
        for service in &dns.services {
            let [tlds, urls] = service.as_slice() else { continue };
            table.add(tlds, urls);
        }
        if table.0.is_empty() { Err(bad("it lists no service".into())) } else { Ok(table) }
    }

    fn add(&mut self, tlds: &[String], urls: &[String]) {
        let mut urls: Vec<Url> = urls
            .iter()
            .filter_map(|u| Url::parse(&if u.ends_with('/') { u.clone() } else { format!("{u}/") }).ok())
            .filter(|u| matches!(u.scheme(), "https" | "http"))
            .collect();
        urls.sort_by_key(|u| u.scheme() != "https");
        if urls.is_empty() {
            return;
        }
        for t in tlds {
            let t = crate::whois::ascii(t.trim_matches('.'));
            self.0.entry(t).or_insert_with(|| urls.clone());
        }
    }

    /// Adds the shipped rows of TLDs that are not in the table.
    fn add_shipped(&mut self, only_additional: bool) {
        for r in SHIPPED.iter().filter(|r| r.additional || !only_additional) {
            self.add(&r.tlds, std::slice::from_ref(&r.url));
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    url: String,
    tlds: Vec<String>,
    #[serde(default)]
    additional: bool,
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers of the file; a test asks for it"))]
    source: String,
}

static SHIPPED: LazyLock<Vec<Row>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct File {
        service: Vec<Row>,
    }
    toml::from_str::<File>(include_str!("../../data/rdap.toml"))
        .unwrap_or_else(|e| panic!("data/rdap.toml is checked by a test: {e}"))
        .service
});

/// Where the table comes from, and the table itself.
pub(super) struct Source {
    url: Option<Url>,
    /// IANA's own file: the shipped copy stands in and adds to it.
    public: bool,
    shelf: Option<Arc<dyn Shelf>>,
    state: RwLock<State>,
    fetching: tokio::sync::Mutex<Option<Kept>>,
}

#[derive(Clone)]
struct State {
    table: Arc<Table>,
    /// When to look for a newer one; `None`: at the first look-up.
    next: Option<Timestamp>,
}

/// What a fetch came to.
enum Fetched {
    New(Table, Option<Kept>),
    Unchanged,
}

impl Source {
    pub fn new(configured: Option<&str>, shelf: Option<Arc<dyn Shelf>>) -> Result<Self, BootstrapError> {
        let mut table = Table::default();
        let url = match configured {
            None => {
                table.add_shipped(false);
                Url::parse(IANA).ok()
            }
            Some(text) => match Url::parse(text) {
                Ok(u) if matches!(u.scheme(), "http" | "https") => Some(u),
                _ => {
                    let path = text.strip_prefix("file://").unwrap_or(text);
                    let bytes = std::fs::read(path).map_err(|e| BootstrapError::File {
                        path: path.to_string(),
                        reason: e.to_string(),
                    })?;
                    table = Table::parse(path, &bytes)?;
                    None
                }
            },
        };
        Ok(Source {
            url,
            public: configured.is_none(),
            shelf,
            state: RwLock::new(State { table: Arc::new(table), next: None }),
            fetching: tokio::sync::Mutex::default(),
        })
    }

    fn state(&self) -> State {
        self.state.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, table: Option<Table>, from: Timestamp, good_for: i64) -> Arc<Table> {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(mut table) = table {
            if self.public {
                table.add_shipped(true);
            }
            state.table = Arc::new(table);
        }
        state.next = Some(Timestamp::from_second(from.as_second() + good_for).unwrap_or(Timestamp::MAX));
        state.table.clone()
    }

    /// The table, looked for anew when it is older than a day. A failed fetch leaves the old one.
    pub async fn table(&self, dialer: &net::Dialer, now: Timestamp) -> Arc<Table> {
        let due = |next: Option<Timestamp>| next.is_none_or(|t| now >= t);
        let State { table, next } = self.state();
        let Some(url) = self.url.as_ref().filter(|_| due(next)) else { return table };
        let mut kept = self.fetching.lock().await;
        let State { table, next } = self.state();
        if !due(next) {
            return table;
        }
        self.from_shelf(url, &mut kept).await;
        if let Some(k) = kept.as_ref()
            && (0..GOOD_FOR).contains(&(now.as_second() - k.checked_at.as_second()))
        {
            return self.set(None, k.checked_at, GOOD_FOR);
        }
        let asked = kept.as_ref().map(Kept::conditions).unwrap_or_default();
        match fetch(dialer, url, &asked, now).await {
            Ok(Fetched::New(table, new)) => {
                *kept = new;
                let table = self.set(Some(table), now, GOOD_FOR);
                self.to_shelf(kept.as_ref(), now).await;
                table
            }
            Ok(Fetched::Unchanged) => {
                if let Some(k) = kept.as_mut() {
                    k.checked_at = now;
                }
                self.to_shelf(kept.as_ref(), now).await;
                self.set(None, now, GOOD_FOR)
            }
            Err(reason) => {
                tracing::warn!(%url, %reason, "the RDAP bootstrap could not be fetched; the one at hand is used");
                self.set(None, now, RETRY_AFTER)
            }
        }
    }

    /// Takes what a replica, or this one before it was restarted, has kept, when it is newer than ours.
    async fn from_shelf(&self, url: &Url, kept: &mut Option<Kept>) {
        let Some(shelf) = &self.shelf else { return };
        let Some(text) = shelf.get().await else { return };
        let Ok(found) = serde_json::from_str::<Kept>(&text) else { return };
        if found.url != url.as_str() || kept.as_ref().is_some_and(|k| k.checked_at >= found.checked_at) {
            return;
        }
        if kept.as_ref().is_some_and(|k| k.body == found.body) {
            *kept = Some(found);
        } else if let Ok(table) = Table::parse(url.as_str(), found.body.as_bytes()) {
            self.set(Some(table), found.checked_at, 0);
            *kept = Some(found);
        }
    }

    async fn to_shelf(&self, kept: Option<&Kept>, now: Timestamp) {
        if let (Some(shelf), Some(kept)) = (&self.shelf, kept)
            && let Ok(text) = serde_json::to_string(kept)
        {
            shelf.put(&text, now).await;
        }
    }
}

async fn fetch(
    dialer: &net::Dialer,
    url: &Url,
    conditions: &[(&str, &str)],
    now: Timestamp,
) -> Result<Fetched, String> {
    let exchange = dialer.http_get_with(url, "application/json", conditions, CAP);
    let answer = tokio::time::timeout(PATIENCE, exchange).await.map_err(|_| "no answer in time")?;
    let answer = answer.map_err(|e| e.to_string())?;
    match answer.status {
        200 => {
            let table = Table::parse(url.as_str(), &answer.body).map_err(|e| e.to_string())?;
            Ok(Fetched::New(table, Kept::of(url.as_str(), &answer, now)))
        }
        // Only who asked whether it changed can be told that it did not.
        304 if !conditions.is_empty() => Ok(Fetched::Unchanged),
        status => Err(format!("HTTP status {status}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_suffix_and_https_come_first() {
        let t = Table::parse(
            "x",
            br#"{"services":[[["com","XN--P1AI."],["http://a.test/r","https://b.test/r/"]],[["co.uk"],["https://c.test/"]],[["bad"],["ftp://x"]],[]]}"#,
        )
        .unwrap();
        assert_eq!(t.bases("example.com")[0].as_str(), "https://b.test/r/");
        assert_eq!(t.bases("example.com")[1].as_str(), "http://a.test/r/");
        assert_eq!(t.bases("a.co.uk").len(), 1);
        assert!(t.bases("a.uk").is_empty() && t.bases("a.bad").is_empty());
        assert_eq!(t.bases("x.xn--p1ai").len(), 2);
    }

    #[test]
    fn what_is_no_bootstrap_is_refused() {
        for bad in ["", "[]", "{}", r#"{"services":[]}"#, r#"{"services":[[["com"]]]}"#] {
            assert!(Table::parse("x", bad.as_bytes()).is_err(), "{bad}");
        }
        assert!(Source::new(Some("no-such-file.json"), None).is_err());
    }

    #[test]
    fn the_shipped_copy_loads() {
        assert!(
            SHIPPED.iter().all(|r| !r.source.is_empty() && Url::parse(&r.url).is_ok() && !r.tlds.is_empty())
        );
        let s = Source::new(None, None).unwrap();
        assert!(!s.state().table.bases("example.com").is_empty());
    }
}
