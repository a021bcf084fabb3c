//! Looking a name up: RDAP first, WHOIS where the TLD has no RDAP, where RDAP fails or holds nothing, and the
//! registrar after the registry. In: a name; out: [`LookupResult`]. Polite: one budget per host, single flight per
//! name, capped answers, every wait bounded. RFC 9082, RFC 9224, RFC 3912. Floors, lowest first: error, dates, limits, bootstrap,
//! settings, pace, referrals, result, context, exchange, merge, flow; each uses only those before it.

mod bootstrap;
mod context;
mod dates;
mod error;
mod exchange;
mod flow;
mod limits;
mod merge;
mod pace;
mod referrals;
mod result;
mod settings;

pub use bootstrap::{BootstrapCache, BootstrapError};
pub use dates::ServerDate;
pub use error::{FailureKind, LookupError};
pub use limits::{Limits, LimitsError};
pub use pace::Pace;
pub use result::{Failure, LookupResult};
pub use settings::{Settings, SettingsError};

use context::Context;
use flow::Scope;
use model::Timestamp;
use model::names::DomainName;
use referrals::Referrals;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::OnceCell;

/// Looks names up. Cheap to clone; clones share budgets, caches and flights.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

/// A look-up that several wait for, and at which pace it goes.
type Flight = (Arc<OnceCell<LookupResult>>, Pace);

struct Inner {
    context: Context,
    flights: Mutex<HashMap<(String, Scope), Flight>>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("settings", &self.0.context.settings).finish_non_exhaustive()
    }
}

impl Client {
    /// A client with budgets of its own.
    ///
    /// # Errors
    /// [`SettingsError`] when a setting cannot be used: fix it; nothing was asked yet.
    pub fn new(settings: Settings, dialer: net::Dialer) -> Result<Self, SettingsError> {
        Client::sharing(settings, dialer, net::Budgets::new(), None)
    }

    /// A client that keeps to budgets shared with others, and keeps its bootstrap where they find it.
    ///
    /// # Errors
    /// As [`Client::new`].
    pub fn sharing(
        settings: Settings,
        dialer: net::Dialer,
        budgets: net::Budgets,
        cache: Option<Arc<dyn BootstrapCache>>,
    ) -> Result<Self, SettingsError> {
        let context = Context {
            whois_root: settings.root()?,
            bootstrap: bootstrap::Source::new(settings.rdap_bootstrap.as_deref(), cache)?,
            referrals: Referrals::default(),
            settings,
            dialer,
            budgets,
            dates: dates::Dates::default(),
        };
        Ok(Client(Arc::new(Inner { context, flights: Mutex::default() })))
    }

    /// What the clocks of the servers say that answered since the last call.
    pub fn take_server_dates(&self) -> Vec<ServerDate> {
        self.0.context.dates.take()
    }

    /// Looks a name up for a person who waits. Callers that ask for the same name at the same time share one look-up.
    pub async fn lookup(&self, name: &DomainName, now: Timestamp) -> LookupResult {
        self.lookup_at(name, now, Pace::Asked).await
    }

    /// The same at the pace of the caller.
    pub async fn lookup_at(&self, name: &DomainName, now: Timestamp, pace: Pace) -> LookupResult {
        self.fly(name, now, pace, Scope::Whole).await
    }

    /// Asks WHOIS alone: the second opinion about a name that the registry's RDAP server denies.
    pub async fn whois_at(&self, name: &DomainName, now: Timestamp, pace: Pace) -> LookupResult {
        self.fly(name, now, pace, Scope::Whois).await
    }

    async fn fly(&self, name: &DomainName, now: Timestamp, pace: Pace, scope: Scope) -> LookupResult {
        loop {
            let (guard, of) = FlightGuard::take(&self.0, (name.as_str().to_string(), scope), pace);
            let ask = || flow::lookup(&self.0.context, name, now, of, scope);
            let result = guard.flight.get_or_init(ask).await.clone();
            drop(guard);
            // The schedule gives up its turn sooner than a person does.
            let gave_up = result.outcome.as_ref().is_err_and(|e| e.postponed);
            if !(gave_up && of < pace) {
                return result;
            }
        }
    }
}

/// One of those who wait for a look-up. The flight is struck off the list when it has landed, or when the last of them
/// goes away before that: callers that hang up must not leave anything behind.
struct FlightGuard<'a> {
    inner: &'a Inner,
    key: (String, Scope),
    flight: Arc<OnceCell<LookupResult>>,
}

impl<'a> FlightGuard<'a> {
    /// A guard in the flight for this question, which begins at this pace unless one is under way; and its pace.
    fn take(inner: &'a Inner, key: (String, Scope), pace: Pace) -> (Self, Pace) {
        let mut flights = inner.flights.lock().unwrap_or_else(PoisonError::into_inner);
        let (flight, of) = flights.entry(key.clone()).or_insert_with(|| (Arc::default(), pace));
        (FlightGuard { inner, key, flight: flight.clone() }, *of)
    }
}

impl Drop for FlightGuard<'_> {
    fn drop(&mut self) {
        let mut flights = self.inner.flights.lock().unwrap_or_else(PoisonError::into_inner);
        // Given back under the lock, so that of two who go at once the second sees that he is the last.
        let flight = std::mem::take(&mut self.flight);
        // Only this flight's entry: a later one may have begun already.
        let listed = flights.get(&self.key).is_some_and(|(f, _)| Arc::ptr_eq(f, &flight));
        if listed && (flight.initialized() || Arc::strong_count(&flight) <= 2) {
            flights.remove(&self.key);
        }
        drop(flight);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Callers by HTTP may hang up at any time.
    #[tokio::test]
    async fn who_hangs_up_leaves_nothing_behind() {
        let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let settings = Settings {
            rdap_bootstrap: Some(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/nowhere.json").into()),
            whois_server: Some(silent.local_addr().expect("its address").to_string()),
            ..Settings::default()
        };
        let dialer = net::Dialer::new(net::Settings { allow_private: true, ..net::Settings::default() });
        let client = Client::new(settings, dialer.expect("a dialer")).expect("a client");
        let flights = || client.0.flights.lock().expect("not poisoned").len();
        let names: Vec<_> = (0..3).map(|i| DomainName::trusted(&format!("n{i}.test"))).collect();
        let now = "2026-11-20T12:00:00Z".parse().expect("an instant");
        // Two wait for each name; both hang up.
        let all = names.iter().chain(&names).map(|n| client.lookup(n, now));
        let hung_up = tokio::time::timeout(Duration::from_millis(50), futures::future::join_all(all)).await;
        assert!(hung_up.is_err());
        assert_eq!(flights(), 0);
        // One of two hangs up: the other's flight goes on, and others join it.
        let mut stays = Box::pin(client.lookup(&names[0], now));
        assert!(futures::poll!(&mut stays).is_pending());
        assert!(
            tokio::time::timeout(Duration::from_millis(20), client.lookup(&names[0], now)).await.is_err()
        );
        assert_eq!(flights(), 1);
        drop(stays);
        assert_eq!(flights(), 0);
    }
}
