//! The servers of a signed zone, with and without a parent, and a check of it.

use super::NOW;
use crate::catalogue::Behaviour;
use crate::fake::{Fault, Script, Server, World, faulty, server, world};
use crate::signed::{key_tag, wire};
use dns::checks::{CheckOptions, CheckReport};
use hickory_proto::dnssec::{DigestType, crypto::Digest};
use hickory_proto::op::Message;
use model::registration::Ds;
use std::time::Duration;

pub type Make = fn(&Message, Message) -> Option<Message>;

/// The DS record of a key.
pub fn ds_of(zone: &str, dnskey: &[u8], digest_type: u8) -> Ds {
    let data = [&wire(zone), dnskey].concat();
    let digest = Digest::new(&data, DigestType::from(digest_type)).map(|d| d.as_ref().to_vec());
    let digest = digest.unwrap_or_else(|_| vec![0xAB; 32]);
    Ds {
        key_tag: key_tag(dnskey),
        algorithm: dnskey[3],
        digest_type,
        digest: digest.iter().map(|b| format!("{b:02X}")).collect(),
    }
}

/// Signing takes its time where many tests run at once: no one is called silent for that.
pub fn patient(world: &World) -> dns::Engine {
    dns::Engine::new(dns::Settings { timeout: Duration::from_millis(1500), ..world.settings() })
}

fn options(case: &str) -> CheckOptions {
    let mut options = CheckOptions::new(jiff::Timestamp::from_second(NOW.into()).unwrap());
    options.test_cases = Some(vec![case.into()]);
    options
}

/// The fake servers' zones live as long as the test.
fn leak(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

fn child(address: &'static str, zone: &'static str, make: Make) -> Server {
    let records = format!(
        "@ 3600 SOA {zone}. {zone}. 7 14400 3600 604800 300
         @ 3600 NS ns1.{zone}.
         @ 3600 NS ns2.{zone}.
         ns1 3600 A 192.0.2.11
         ns2 3600 A 192.0.2.12"
    );
    faulty(address, &[(zone, leak(records))], Fault::Script(Script(make)))
}

/// The zone as it would be on two servers, with these DS records.
pub async fn given(case: &str, zone: &'static str, servers: [Make; 2], ds: Vec<Ds>) -> CheckReport {
    let [first, second] = servers;
    let servers = vec![child("192.0.2.11", zone, first), child("192.0.2.12", zone, second)];
    let mut options = options(case);
    options.undelegated_ds = ds;
    for (host, address) in [("ns1", "192.0.2.11"), ("ns2", "192.0.2.12")] {
        options.undelegated_ns.push((format!("{host}.{zone}"), address.parse().ok()));
    }
    patient(&world(&["192.0.2.1"], servers).await).check(zone, &options).await.unwrap()
}

/// The zone below `test` as two servers of its parent delegate it.
pub async fn delegation(
    case: &str,
    zone: &'static str,
    parents: [Make; 2],
    servers: [Make; 2],
) -> CheckReport {
    patient(&tree(zone, parents, servers).await).check(zone, &options(case)).await.unwrap()
}

/// The root, the two servers of `test` (192.0.2.2 and .3) and those of the zone below it (.11 and .12).
pub async fn tree(zone: &'static str, parents: [Make; 2], servers: [Make; 2]) -> World {
    let root = "@ 60 SOA a.root.example. host.example. 1 2 3 4 5
         @ 60 NS a.root.example.
         a.root.example. 60 A 192.0.2.1
         test. 60 NS ns1.test.
         test. 60 NS ns2.test.
         ns1.test. 60 A 192.0.2.2
         ns2.test. 60 A 192.0.2.3";
    let tld = leak(format!(
        "@ 60 SOA ns1.test. host.test. 7 2 3 4 5
         @ 60 NS ns1.test.
         @ 60 NS ns2.test.
         ns1 60 A 192.0.2.2
         ns2 60 A 192.0.2.3
         {zone}. 60 NS ns1.{zone}.
         {zone}. 60 NS ns2.{zone}.
         ns1.{zone}. 60 A 192.0.2.11
         ns2.{zone}. 60 A 192.0.2.12"
    ));
    let parent = |address, make| faulty(address, &[("test", tld)], Fault::Script(Script(make)));
    let servers = vec![
        server("192.0.2.1", &[("", root)]),
        parent("192.0.2.2", parents[0]),
        parent("192.0.2.3", parents[1]),
        child("192.0.2.11", zone, servers[0]),
        child("192.0.2.12", zone, servers[1]),
    ];
    world(&["192.0.2.1"], servers).await
}

/// The root itself.
pub async fn delegation_of_root(case: &str) -> CheckReport {
    let root = "@ 60 SOA a.root.example. host.example. 1 2 3 4 5
         @ 60 NS a.root.example.
         a.root.example. 60 A 192.0.2.1";
    let servers = vec![server("192.0.2.1", &[("", root)])];
    patient(&world(&["192.0.2.1"], servers).await).check(".", &options(case)).await.unwrap()
}

/// A behaviour of the two servers of the zone most tests use; with DS records as a person gives them.
pub fn undelegated(
    case: &'static str,
    what: &'static str,
    servers: [Make; 2],
    ds: Vec<Ds>,
    told: &[&'static str],
) -> Behaviour {
    let run = Box::pin(given(case, super::NAME, servers, ds));
    Behaviour { case, what, told: told.to_vec(), healthy: false, run }
}

/// The same with its parent's servers.
pub fn delegated(
    case: &'static str,
    what: &'static str,
    parents: [Make; 2],
    servers: [Make; 2],
    told: &[&'static str],
) -> Behaviour {
    let run = Box::pin(delegation(case, super::NAME, parents, servers));
    Behaviour { case, what, told: told.to_vec(), healthy: false, run }
}
