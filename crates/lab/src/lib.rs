//! An Internet in a box, on loopback and without privileges: root, TLDs, authoritative servers, resolvers, RDAP, WHOIS, web.
//! In: a scenario (a TOML file) and commands. Out: servers that speak the real protocols, rightly or wrongly on purpose.
//! It knows only wire libraries and none of the crates it is used to test, so that one bug cannot hide in both.

pub mod client;
mod command;
mod control;
mod dns;
mod domain_connect;
mod error;
mod export;
mod fault;
mod http;
mod inbox;
mod lab;
mod log;
mod measurements;
mod names;
mod registry;
mod replay;
mod resolver;
pub mod scenario;
mod sockets;
mod target;
mod tls;
mod web;
mod world;

pub use command::{Command, HELP};
pub use error::Error;
pub use export::Endpoints;
pub use fault::{Argument, Fault, TABLE as FAULTS};
pub use inbox::Received;
pub use lab::{Lab, Options};
pub use log::{Asked, AskedResolver, HostLoad, QueryLog, Via};
pub use resolver::Act;
pub use scenario::{Scenario, Signing};
pub use target::{Service, Target};
pub use tls::Certificate;
