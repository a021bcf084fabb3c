//! Domain Connect in Rust: templates that say which DNS records a service needs, applied to a zone.
//!
//! The crate follows [draft-ietf-dconn-domainconnect] and the optional record types of the community specification
//! (`APEXCNAME`, `REDIR301`, `REDIR302`). It is pure: no network, no clock, no randomness.
//!
//! ```
//! use connect::{Record, Request, Template};
//! use serde_json::json;
//!
//! let template = Template::from_json(&json!({
//!     "providerId": "shop.example", "providerName": "Shop",
//!     "serviceId": "web", "serviceName": "Web shop",
//!     "records": [
//!         {"type": "A", "host": "@", "pointsTo": "%ip%", "ttl": 3600},
//!         {"type": "SPFM", "host": "@", "spfRules": "include:mail.shop.example"}
//!     ]
//! }))?;
//! let zone = [
//!     Record::new("A", "@", "192.0.2.1", Some(600)),
//!     Record::new("TXT", "@", "v=spf1 mx -all", Some(600)),
//! ];
//! let request = Request {
//!     domain: "example.com".into(),
//!     params: [("ip".to_string(), "203.0.113.7".to_string())].into(),
//!     ..Request::default()
//! };
//! let plan = template.apply(&zone, &request)?;
//! assert_eq!(plan.delete, zone);
//! assert_eq!(plan.new[0].data, "203.0.113.7");
//! assert_eq!(plan.new[1].data, "v=spf1 include:mail.shop.example mx -all");
//! # Ok::<(), connect::Error>(())
//! ```
//!
//! [draft-ietf-dconn-domainconnect]: https://datatracker.ietf.org/doc/draft-ietf-dconn-domainconnect/

mod apply;
pub mod case;
pub mod compare;
mod conflict;
pub mod discovery;
mod draft;
mod error;
pub mod export;
mod names;
mod record;
mod render;
pub mod services;
pub mod sign;
pub mod spf;
mod template;
mod template_record;
mod variables;
pub mod zonefile;

pub use apply::{Plan, Request, Tracking, apply, remove};
pub use error::{Error, ErrorKind, Result};
pub use record::{MAX_TTL, Owner, Record};
pub use template::Template;
pub use template_record::{MAX_RECORDS, TemplateRecord};
