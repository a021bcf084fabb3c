//! RDAP bootstrap (RFC 9224): which server to ask for which TLD. In: IANA's file (fetched daily), a configured file or
//! URL, or the shipped copy; out: base URLs of a TLD. A fetched file is asked for again after a day, and only whether
//! it changed (RFC 9110 section 13).

mod cache;
mod table;

pub use cache::BootstrapCache;
pub use table::BootstrapError;

use super::dates::Dates;
use cache::CachedFile;
use model::Timestamp;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use table::Table;
use url::Url;

const IANA: &str = "https://data.iana.org/rdap/dns.json";
/// How long a fetched file is good, and how soon a failed fetch is tried again.
const GOOD_FOR: i64 = 86_400;
const RETRY_AFTER: i64 = 600;
/// How long a look-up waits for the file before it goes on without.
const PATIENCE: Duration = Duration::from_secs(4);
const CAP: usize = 8 << 20;

/// Where the table comes from, and the table itself.
pub(in crate::client) struct Source {
    url: Option<Url>,
    /// IANA's own file: the shipped table is used until it is fetched, and completes it.
    public: bool,
    cache: Option<Arc<dyn BootstrapCache>>,
    state: RwLock<State>,
    fetching: tokio::sync::Mutex<Option<CachedFile>>,
}

#[derive(Clone)]
struct State {
    table: Arc<Table>,
    /// When to look for a newer one; `None`: at the first look-up.
    next: Option<Timestamp>,
}

/// What a fetch came to.
enum Fetched {
    New(Table, Option<CachedFile>),
    Unchanged,
}

impl Source {
    pub fn new(
        configured: Option<&str>,
        cache: Option<Arc<dyn BootstrapCache>>,
    ) -> Result<Self, BootstrapError> {
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
            cache,
            state: RwLock::new(State { table: Arc::new(table), next: None }),
            fetching: tokio::sync::Mutex::default(),
        })
    }

    /// Whether this is IANA's own file, so that the shipped tables may complete it.
    pub fn is_public(&self) -> bool {
        self.public
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

    /// The table, refreshed when it is older than a day. A failed fetch keeps the old one.
    pub async fn table(&self, dialer: &net::Dialer, dates: &Dates, now: Timestamp) -> Arc<Table> {
        // A clock that was set back must not put the next look off for as long as it was wrong.
        let good = 1..=GOOD_FOR;
        let due = |next: Option<Timestamp>| {
            next.is_none_or(|t| !good.contains(&t.as_second().saturating_sub(now.as_second())))
        };
        let State { table, next } = self.state();
        let Some(url) = self.url.as_ref().filter(|_| due(next)) else { return table };
        let mut cached = self.fetching.lock().await;
        let State { table, next } = self.state();
        if !due(next) {
            return table;
        }
        self.read_cache(url, &mut cached).await;
        if let Some(k) = cached.as_ref()
            && (0..GOOD_FOR).contains(&(now.as_second() - k.checked_at.as_second()))
        {
            return self.set(None, k.checked_at, GOOD_FOR);
        }
        let asked = cached.as_ref().map(CachedFile::conditions).unwrap_or_default();
        match fetch((dialer, dates), url, &asked, now).await {
            Ok(Fetched::New(table, new)) => {
                *cached = new;
                let table = self.set(Some(table), now, GOOD_FOR);
                self.write_cache(cached.as_ref(), now).await;
                table
            }
            Ok(Fetched::Unchanged) => {
                if let Some(k) = cached.as_mut() {
                    k.checked_at = now;
                }
                self.write_cache(cached.as_ref(), now).await;
                self.set(None, now, GOOD_FOR)
            }
            Err(reason) => {
                tracing::warn!(%url, %reason, "the RDAP bootstrap could not be fetched; the one at hand is used");
                self.set(None, now, RETRY_AFTER)
            }
        }
    }

    /// Takes what a replica, or this one before it was restarted, has cached, when it is newer than ours.
    async fn read_cache(&self, url: &Url, cached: &mut Option<CachedFile>) {
        let Some(cache) = &self.cache else { return };
        let Some(text) = cache.get().await else { return };
        let Ok(found) = serde_json::from_str::<CachedFile>(&text) else { return };
        if found.url != url.as_str() || cached.as_ref().is_some_and(|k| k.checked_at >= found.checked_at) {
            return;
        }
        if cached.as_ref().is_some_and(|k| k.body == found.body) {
            *cached = Some(found);
        } else if let Ok(table) = Table::parse(url.as_str(), found.body.as_bytes()) {
            self.set(Some(table), found.checked_at, 0);
            *cached = Some(found);
        }
    }

    async fn write_cache(&self, cached: Option<&CachedFile>, now: Timestamp) {
        if let (Some(cache), Some(cached)) = (&self.cache, cached)
            && let Ok(text) = serde_json::to_string(cached)
        {
            cache.put(&text, now).await;
        }
    }
}

async fn fetch(
    (dialer, dates): (&net::Dialer, &Dates),
    url: &Url,
    conditions: &[(&str, &str)],
    now: Timestamp,
) -> Result<Fetched, String> {
    let exchange = dialer.http_get_with(url, "application/json", conditions, CAP);
    let answer = tokio::time::timeout(PATIENCE, exchange).await.map_err(|_| "no answer in time")?;
    let answer = answer.map_err(|e| e.to_string())?;
    dates.note(url, &answer);
    match answer.status {
        200 => {
            let table = Table::parse(url.as_str(), &answer.body).map_err(|e| e.to_string())?;
            Ok(Fetched::New(table, CachedFile::of(url.as_str(), &answer, now)))
        }
        // 304 is an answer to a conditional request only.
        304 if !conditions.is_empty() => Ok(Fetched::Unchanged),
        status => Err(format!("HTTP status {status}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_copy_is_there_at_once_and_a_missing_file_is_an_error() {
        let s = Source::new(None, None).unwrap();
        assert!(!s.state().table.bases("example.com").is_empty());
        assert!(Source::new(Some("no-such-file.json"), None).is_err());
        // IANA's own file is completed, one that an operator set is not.
        let listed = || Table::parse("x", br#"{"services":[[["com"],["https://listed.test/"]]]}"#).unwrap();
        let now = "2026-11-20T12:00:00Z".parse().unwrap();
        assert_eq!(s.set(Some(listed()), now, GOOD_FOR).bases("example.de").len(), 1);
        let own = Source::new(Some("https://rdap.example/dns.json"), None).unwrap();
        assert!(own.set(Some(listed()), now, GOOD_FOR).bases("example.de").is_empty());
    }
}
