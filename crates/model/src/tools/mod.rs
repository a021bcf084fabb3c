//! What the tools show: a host name from several places ([`fqdn`]), and resolvers beside the authoritative servers
//! ([`compare`]). Shared by both: chains of aliases, answers of resolvers, and when two record sets are equal.

pub mod address_space;
pub mod chain;
pub mod compare;
pub mod configure;
pub mod doh_json;
pub mod flush;
pub mod fqdn;
pub mod one_server;
pub mod places;
pub mod rdata;
pub mod resolver_answer;
pub mod resolvers;
pub mod third_party;
pub mod web_places;
