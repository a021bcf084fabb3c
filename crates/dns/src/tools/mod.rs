//! What the program's tools are made of: a chain of aliases, a report on a host name, a comparison with resolvers.

pub(crate) mod chain;
pub mod compare;
pub mod fqdn;
pub mod fqdn_text;
pub mod live;
pub mod render;
