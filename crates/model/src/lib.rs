//! The words and the judgement of Domainscope: types, comparing, status, findings, advice.
//!
//! Pure: no I/O, no clock, no async. `now` and thresholds are passed in. The browser, the API, the command line
//! and the mail templates all show what is computed here.

pub mod advice;
pub mod attention;
pub mod carry;
pub mod compare;
pub mod culprit;
pub mod denial;
pub mod detail;
pub mod diff;
pub mod dns;
pub mod doh_json;
pub mod epp;
pub mod event;
pub mod fields;
pub mod finding;
pub mod flush;
pub mod fqdn;
pub mod ids;
pub mod inventory;
pub mod item;
pub mod legacy;
mod legacy_judge;
pub mod list_query;
pub mod names;
pub mod nameserver;
pub mod observation;
pub mod paste;
pub mod problem;
pub mod registration;
pub mod resolvers;
pub mod row;
pub mod scan;
pub mod serial;
mod server_state;
pub mod status;
pub mod test_case;
pub mod time;
pub mod timeline;
pub mod trace;
pub mod verdict;

pub use jiff::Timestamp;
