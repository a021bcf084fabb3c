//! Looking a name up: RDAP first, WHOIS where the TLD has no RDAP, where RDAP fails or holds nothing, and the
//! registrar after the registry. In: a name; out: [`LookupResult`]. Polite: one budget per host, single flight per
//! name, capped answers, every wait bounded. RFC 9082, RFC 9224, RFC 3912.

mod bootstrap;
mod error;
mod flow;
mod limits;
mod merge;
mod pace;
mod rdap;
mod servers;
mod settings;
mod shelf;
mod table;
mod whois;

pub use error::{FailureKind, LookupError};
pub use limits::{Limits, LimitsError};
pub use pace::Pace;
pub use settings::{Settings, SettingsError};
pub use shelf::Shelf;
pub use table::BootstrapError;

use model::Timestamp;
use model::detail::RawAnswer;
use model::names::DomainName;
use model::registration::{Party, Protocol, RegistrationState};
use servers::Referrals;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::OnceCell;

/// What a look-up came to.
#[derive(Debug, Clone, PartialEq)]
pub struct LookupResult {
    /// The state of the name, or why it is not known.
    pub outcome: Result<RegistrationState, LookupError>,
    /// Every answer as it came, also of servers whose answer was not usable.
    pub raw: Vec<RawAnswer>,
    /// Every question that failed on the way, in order; the look-up may have succeeded all the same.
    pub failures: Vec<Failure>,
}

/// A question that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// By which protocol.
    pub protocol: Protocol,
    /// Registry or registrar.
    pub party: Party,
    /// Host or URL that was asked.
    pub server: String,
    /// What went wrong.
    pub error: LookupError,
}

/// Looks names up. Cheap to clone; clones share budgets, caches and flights.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

/// A look-up that several wait for, and at which pace it goes.
type Flight = (Arc<OnceCell<LookupResult>>, Pace);

struct Inner {
    settings: Settings,
    whois_root: settings::Root,
    dialer: net::Dialer,
    budgets: net::Budgets,
    bootstrap: bootstrap::Source,
    referrals: Referrals,
    flights: Mutex<HashMap<String, Flight>>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("settings", &self.0.settings).finish_non_exhaustive()
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
        shelf: Option<Arc<dyn Shelf>>,
    ) -> Result<Self, SettingsError> {
        Ok(Client(Arc::new(Inner {
            whois_root: settings.root()?,
            bootstrap: bootstrap::Source::new(settings.rdap_bootstrap.as_deref(), shelf)?,
            referrals: Referrals::default(),
            flights: Mutex::default(),
            settings,
            dialer,
            budgets,
        })))
    }

    /// Looks a name up for a person who waits. Callers that ask for the same name at the same time share one look-up.
    pub async fn lookup(&self, name: &DomainName, now: Timestamp) -> LookupResult {
        self.lookup_at(name, now, Pace::Asked).await
    }

    /// The same at the pace of whoever waits.
    pub async fn lookup_at(&self, name: &DomainName, now: Timestamp, pace: Pace) -> LookupResult {
        loop {
            let (seat, of) = Seat::take(&self.0, name, pace);
            let result = seat.flight.get_or_init(|| flow::lookup(&self.0, name, now, of)).await.clone();
            drop(seat);
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
struct Seat<'a> {
    inner: &'a Inner,
    name: &'a DomainName,
    flight: Arc<OnceCell<LookupResult>>,
}

impl<'a> Seat<'a> {
    /// A seat in the flight for this name, which begins at this pace unless one is under way; and its pace.
    fn take(inner: &'a Inner, name: &'a DomainName, pace: Pace) -> (Self, Pace) {
        let mut flights = inner.flights.lock().unwrap_or_else(PoisonError::into_inner);
        let (flight, of) = flights.entry(name.as_str().to_string()).or_insert_with(|| (Arc::default(), pace));
        (Seat { inner, name, flight: flight.clone() }, *of)
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        let mut flights = self.inner.flights.lock().unwrap_or_else(PoisonError::into_inner);
        // Given back under the lock, so that of two who go at once the second sees that he is the last.
        let flight = std::mem::take(&mut self.flight);
        // Only this flight's entry: a later one may have begun already.
        let listed = flights.get(self.name.as_str()).is_some_and(|(f, _)| Arc::ptr_eq(f, &flight));
        if listed && (flight.initialized() || Arc::strong_count(&flight) <= 2) {
            flights.remove(self.name.as_str());
        }
        drop(flight);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Whoever asks by HTTP may hang up at any time.
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
