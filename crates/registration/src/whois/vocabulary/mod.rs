//! The words registries use: labels, headings, values and sentences, from the TOML files in `data/`.

pub(in crate::whois) mod phrases;
pub(in crate::whois) mod probe;
pub(in crate::whois) mod tables;
