//! The process: command line, settings, wiring, and the HTTP server. Knows all rooms; nobody knows it.

pub mod backend;
pub mod cli;
pub mod http;
pub mod input;
pub mod settings;
pub mod wiring;
