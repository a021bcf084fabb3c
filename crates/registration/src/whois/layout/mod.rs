//! The layout of an answer: its lines, and what their labels mean.

pub(in crate::whois) mod infer_label;
pub(in crate::whois) mod lines;
