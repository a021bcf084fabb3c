//! The words and the judgement of Domainscope: types, comparing, status, findings, advice.
//!
//! Pure: no I/O, no clock, no async. `now` and thresholds are passed in. The browser, the API, the command line
//! and the mail templates all show what is computed here.
//!
//! The folders are floors: each uses only those before it (but an observation carries the changes that wait for their
//! confirmation). Other crates use the short paths (`model::status`).

pub mod base;

pub mod registration;

pub mod dns;

pub mod finding;

pub mod certificate;

pub mod observation;

pub mod judgement;

pub mod ownership;

pub mod account;

pub mod tools;

pub mod views;

pub use base::{ids, names, open_tools, serial, time, url, words};
pub use dns::nameserver;
pub use finding::{culprit, test_case};
pub use judgement::{
    advice, attention, carry, cause, checks, confirm, diff, ending, event, expiry, item, judge, maintenance,
    notify, outage, repeat, status, verdict,
};
pub use registration::epp;
pub use tools::{
    address_space, compare, configure, doh_json, flush, fqdn, one_server, places, resolvers, third_party,
    web_places,
};
pub use views::{detail, feed, fields, health, inventory, lines, list_query, paste, row, scan, timeline};

/// Latency of the servers in a chain of delegation: what was measured, and the findings about it.
pub mod latency {
    pub use crate::dns::latency::*;
    pub use crate::dns::place_latency::*;
    pub use crate::dns::spread::*;
    pub use crate::judgement::latency::*;
}

pub use jiff::Timestamp;
