//! A small authoritative DNS engine on hickory's wire format: zones, signatures, answers, faults, sockets.

pub(crate) mod answer;
mod bomb;
pub(crate) mod denial;
pub(crate) mod keys;
pub(crate) mod respond;
pub(crate) mod serve;
pub(crate) mod zone;
