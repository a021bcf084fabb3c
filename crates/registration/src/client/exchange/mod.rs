//! One question and its answer, by either protocol.

pub(super) mod rdap;
pub(super) mod whois;
