//! What the program's tools are made of: a chain of aliases, a report on a host name, a comparison with resolvers,
//! ownership challenges.

pub(crate) mod chain;
pub mod compare;
pub mod fqdn;
pub mod live;
mod ownership;
