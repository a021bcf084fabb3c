//! A service set up on a domain: the records it needs beside the live ones, what to create, change and delete, and when
//! caches agree. In: what the engines of templates and of DNS found, put together by the service layer. Out: what pages,
//! REST and the command line show.

pub mod caches;
pub mod link;
mod report;
pub mod service;
pub mod stored;
pub mod template;

pub use caches::{CacheStep, when_caches_agree};
pub use link::ConnectLink;
pub use report::*;
pub use service::{Field, FieldKind, ServiceKind, ServiceSpec};
pub use stored::StoredService;
pub use template::StoredTemplate;
