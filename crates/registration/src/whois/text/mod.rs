//! Bytes to text, and text to the form in which words are compared.

pub(in crate::whois) mod decode;
pub(in crate::whois) mod entities;
pub(in crate::whois) mod fold;
