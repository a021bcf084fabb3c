//! DNS over HTTPS: a small validating resolver over our own engine (or over other DoH servers) behind `/dns-query`
//! and `/resolve`. In: HTTP requests. Out: DNS messages and their JSON form (RFC 8484, RFC 8467, RFC 2308, RFC 4035).
//! Knows nothing of the product: no inventory, no caller, no store.
//!
//! Modules are listed from the bottom up; each uses only modules above it in the list.
//!
//! | Layer | Modules |
//! | --- | --- |
//! | Values and tools | `codes`, `client`, `cache`, `limit`, `share`, `message`, `counts` |
//! | Data about names | `entry`, `steps`, `local`, `prepared`, `signed` |
//! | Sources of data | `validate`, `backend`, `upstream` |
//! | Resolution | `resolver`, `answer`, `json` |
//! | HTTP | `http_reply`, `http` |

mod cache;
mod client;
mod codes;
mod counts;
mod limit;
mod message;
mod share;

mod entry;
mod local;
mod prepared;
mod signed;
mod steps;

mod backend;
mod upstream;
mod validate;

mod answer;
mod json;
mod resolver;

mod http;
mod http_reply;

pub use backend::{Backend, Recursive};
pub use client::Client;
pub use entry::{Entry, Security};
pub use http::{Exposure, Held, Site, Switch, router};
pub use resolver::{Bounds, Clock, Resolver};
pub use upstream::Upstreams;
