//! The path: schedule → observe → compare → record → notify → show. Everything the product does to a domain goes through
//! [`Scanner::scan`]; workers lease what is due from the store, so any number of processes share the work.

mod certificates;
mod checks;
pub mod claims;
mod clock_check;
mod faults;
pub mod hub;
mod observe;
pub mod observer;
mod places;
mod progress;
mod reach;
mod record_sets;
mod registry_denial;
mod reminders;
mod scanner;
pub mod schedule;
mod services;
mod shared;
mod shared_faults;
mod upkeep;
mod web_file;
mod worker;

pub use claims::Checked;
pub use hub::Hub;
pub use observer::{DnsParts, Elsewhere, InTurn, NetworkObserver, Observer, PlaceAnswers, SecondPlace};
pub use registration::ServerDate;
pub use scanner::{Policy, ScanError, Scanned, Scanner};
pub use services::{ServiceInspector, record_look};
pub use shared::{StoreBootstrapCache, StoreLedger, report_blocked_hosts};
pub use worker::{UPKEEP, Worker};

/// Where `now` comes from. The only clock of the product; tests bring their own.
pub trait Clock: Send + Sync + 'static {
    /// The current instant.
    fn now(&self) -> jiff::Timestamp;
}

/// The system's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::now()
    }
}
