//! The lab with our resolver in front of it.

#[path = "../../../dns/tests/support/mod.rs"]
mod lab_dns;

use super::Hand;
use axum::Router;
use dns::wire::{Reply, Rr};
use dns::{Engine, Settings};
use doh::{Bounds, Exposure, Recursive, Resolver};
use lab::{Lab, Options, Scenario};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

pub const NOW: &str = "2026-11-20T12:00:00Z";

pub struct World {
    pub lab: Lab,
    pub router: Router,
    pub hand: Hand,
    pub settings: Settings,
    _dir: TempDir,
}

pub async fn demo() -> World {
    start(Scenario::named("demo").unwrap()).await
}

pub async fn start(scenario: Scenario) -> World {
    start_with(scenario, &Bounds { rate: 0, ..Bounds::default() }, Settings::default().max_queries).await
}

/// `max_queries` is the budget of questions of one lookup.
pub async fn start_with(scenario: Scenario, bounds: &Bounds, max_queries: u32) -> World {
    let dir = TempDir::new().unwrap();
    let options = Options::new(scenario, dir.path(), NOW.parse().unwrap());
    let lab = Lab::start(options).await.unwrap();
    let settings = Settings { budget: Duration::from_secs(8), max_queries, ..lab_dns::settings(&lab) };
    let hand = Hand::at(NOW);
    let backend = Arc::new(Recursive::new(Engine::new(settings.clone())));
    let resolver = Resolver::new(backend, bounds, hand.clock());
    World { lab, router: doh::router(resolver, Exposure::All, false), hand, settings, _dir: dir }
}

impl World {
    /// What the server says that serves the name, asked over TCP without anything of the resolver in between.
    pub async fn direct(&self, message: &[u8]) -> Reply {
        let providers = [
            "ns1.meridian-dns.example",
            "ns1.quarry-dns.example",
            "a.anycast-one.example",
            "ns1.digitalocean.com",
        ];
        for server in providers {
            let reply = self.ask_server(server, message).await;
            if reply.aa {
                return reply;
            }
        }
        panic!("none of {providers:?} serves the name");
    }

    pub async fn ask_server(&self, server: &str, message: &[u8]) -> Reply {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let address = self.lab.address_of(server).unwrap_or_else(|| panic!("{server} is in the lab"));
        let target = self.lab.real(address, self.settings.port);
        let mut stream = tokio::net::TcpStream::connect(target).await.unwrap();
        stream.write_all(&(message.len() as u16).to_be_bytes()).await.unwrap();
        stream.write_all(message).await.unwrap();
        let mut answer = vec![0; stream.read_u16().await.unwrap().into()];
        stream.read_exact(&mut answer).await.unwrap();
        Reply::read(&answer).unwrap()
    }
}

/// Records but for their TTL.
pub fn set(section: &[Rr]) -> BTreeSet<(String, u16, Vec<u8>)> {
    section.iter().map(|rr| (rr.name.to_string(), rr.rtype.0, rr.raw.clone())).collect()
}
