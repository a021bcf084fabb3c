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
            let (flight, of) = {
                let mut flights = self.0.flights.lock().unwrap_or_else(PoisonError::into_inner);
                flights.entry(name.as_str().to_string()).or_insert_with(|| (Arc::default(), pace)).clone()
            };
            let result = flight.get_or_init(|| flow::lookup(&self.0, name, now, of)).await.clone();
            {
                let mut flights = self.0.flights.lock().unwrap_or_else(PoisonError::into_inner);
                // Only this flight's entry: a later one may have begun already.
                if flights.get(name.as_str()).is_some_and(|(f, _)| Arc::ptr_eq(f, &flight)) {
                    flights.remove(name.as_str());
                }
            }
            // The schedule gives up its turn sooner than a person does.
            let gave_up = result.outcome.as_ref().is_err_and(|e| e.postponed);
            if !(gave_up && of < pace) {
                return result;
            }
        }
    }
}
