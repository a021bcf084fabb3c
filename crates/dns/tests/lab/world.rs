//! The lab and an engine in front of it, and what a scan finds there.

use crate::support;
use dns::checks::chain_of_trust;
use dns::{Engine, Settings};
use jiff::Timestamp;
use lab::{Lab, Options, Scenario};
use model::dns::Delegation;
use model::finding::{Finding, Level};
use tempfile::TempDir;

pub const NOW: &str = "2026-11-20T12:00:00Z";

pub struct World {
    pub lab: Lab,
    pub engine: Engine,
    _dir: TempDir,
}

pub async fn demo() -> World {
    start(Scenario::named("demo").unwrap()).await
}

pub async fn start(scenario: Scenario) -> World {
    let dir = TempDir::new().unwrap();
    let options = Options::new(scenario, dir.path(), NOW.parse().unwrap());
    let lab = Lab::start(options).await.unwrap();
    let asn_zone = lab.endpoints().asn_zone.clone();
    let settings = Settings { asn_zone, ..support::settings(&lab) };
    World { engine: Engine::new(settings), lab, _dir: dir }
}

pub fn now() -> Timestamp {
    NOW.parse().unwrap()
}

/// What a scan finds from `least` up: its checks and what the chain of trust shows.
pub async fn scanned(w: &World, domain: &str, least: Level) -> (Delegation, Vec<Finding>) {
    let scan = w.engine.zone_scan(domain).unwrap();
    let (d, mut findings) = scan.delegation(now()).await.unwrap();
    if d.delegated {
        findings.extend(chain_of_trust(domain, &scan.dnssec(now()).await.unwrap(), now()));
    }
    findings.retain(|f| f.level >= least);
    (d, findings)
}

pub fn tags(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(|f| f.tag.clone()).collect()
}
