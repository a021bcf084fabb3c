//! The process: command line, settings, wiring, and the HTTP server. It depends on every other crate; none depends on it.

pub mod cli;
pub mod http;
pub mod settings;
pub mod wiring;
