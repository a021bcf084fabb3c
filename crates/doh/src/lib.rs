//! DNS over HTTPS: a small validating resolver over our own engine (or over other DoH servers) behind `/dns-query`
//! and `/resolve`. In: HTTP requests. Out: DNS messages and their JSON form (RFC 8484, RFC 8467, RFC 2308, RFC 4035).
//! Knows nothing of the product: no inventory, no caller, no store.

mod answer;
mod backend;
mod cache;
mod counts;
mod entry;
mod http;
mod json;
mod limit;
mod local;
mod message;
mod prepared;
mod resolver;
mod said;
mod steps;
mod upstream;
mod validate;

pub use backend::{Backend, Recursive};
pub use entry::{Entry, Security};
pub use http::{Client, Exposure, Site, router};
pub use resolver::{Bounds, Clock, Resolver};
pub use upstream::Upstreams;
