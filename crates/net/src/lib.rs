//! The one way out: every connection the product makes passes the dial guard, has its timeouts and caps, and keeps
//! to the budget of the host it asks.
//!
//! In: a host or URL. Out: a stream or an answer, or an [`Error`] that says what to do. A name is resolved once and
//! the connection is pinned to the addresses that were checked, so a second answer can't lead elsewhere.

pub mod address_map;
pub mod budget;
mod dial;
mod error;
mod exchange;
pub mod guard;
mod http;
mod line;
mod networks;
mod pool;

pub use address_map::AddressMap;
pub use budget::{Budgets, Ledger, Limit, Patience, Permit, Reason};
pub use dial::{Dialer, Resolve, Settings, SystemResolver};
pub use error::Error;
pub use http::{HttpAnswer, REDIRECTS};
pub use line::Line;
pub use networks::{Networks, Prefix};
