//! What everything else is written in: names, times, identifiers.

pub mod ids;
pub mod names;
pub mod open_tools;
pub mod serial;
pub mod time;
pub mod url;
pub mod words;
