//! What observations come to: differences and events, the status of a domain, verdicts on checks, advice. Pure
//! functions of observation, holding, thresholds and now.

pub mod advice;
pub mod attention;
pub mod carry;
pub mod cause;
pub mod checks;
pub mod confirm;
pub mod delivery;
pub mod diff;
pub mod ending;
pub mod event;
mod event_query;
pub mod expiry;
mod first_look;
pub mod hold;
pub mod item;
pub mod judge;
pub mod latency;
pub mod maintenance;
pub mod notify;
pub mod outage;
mod put_back;
mod registration_hold;
mod renewal;
pub mod repeat;
pub mod rotation;
mod server_health;
mod silence;
pub mod status;
pub mod verdict;
