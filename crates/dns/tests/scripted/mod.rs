//! A zone on two servers, and its parent, that answer rightly but for what a test makes of the answers.

use crate::fake::{Fault, Script, Server, faulty, server, world};
use dns::checks::{CheckOptions, CheckReport};
use hickory_proto::op::Message;
use model::finding::Finding;

/// Letters enough for a random case never to be all lower case.
pub const ZONE: &str = "a-zone-with-letters-enough-for-every-random-case.test";
const NOW: i64 = 1_700_000_000;

pub type Make = fn(&Message, Message) -> Option<Message>;

pub fn as_it_is(_: &Message, reply: Message) -> Option<Message> {
    Some(reply)
}

fn scripted(address: &'static str, make: Make) -> Server {
    faulty(address, &[(ZONE, records())], Fault::Script(Script(make)))
}

/// The zone as it would be on these two servers.
pub async fn check(case: &str, first: Make, second: Make) -> CheckReport {
    let servers = vec![scripted("192.0.2.11", first), scripted("192.0.2.12", second)];
    let mut options = options(case);
    for (host, address) in [("ns1", "192.0.2.11"), ("ns2", "192.0.2.12")] {
        options.undelegated_ns.push((format!("{host}.{ZONE}"), address.parse().ok()));
    }
    world(&["192.0.2.1"], servers).await.engine().check(ZONE, &options).await.unwrap()
}

/// The zone as its parent, itself scripted, delegates it.
pub async fn delegated(case: Option<&str>, parent: Make, child: Make) -> CheckReport {
    let root = "@ 60 SOA a.root.example. host.example. 1 2 3 4 5
         @ 60 NS a.root.example.
         a.root.example. 60 A 192.0.2.1
         test. 60 NS ns.test.
         ns.test. 60 A 192.0.2.2";
    let tld = leak(format!(
        "@ 60 SOA ns.test. host.test. 7 2 3 4 5
         @ 60 NS ns.test.
         ns 60 A 192.0.2.2
         {ZONE}. 60 NS ns1.{ZONE}.
         {ZONE}. 60 NS ns2.{ZONE}.
         ns1.{ZONE}. 60 A 192.0.2.11
         ns2.{ZONE}. 60 A 192.0.2.12"
    ));
    let servers = vec![
        server("192.0.2.1", &[("", root)]),
        faulty("192.0.2.2", &[("test", tld)], Fault::Script(Script(parent))),
        scripted("192.0.2.11", child),
        scripted("192.0.2.12", child),
    ];
    let mut options = options(case.unwrap_or_default());
    if case.is_none() {
        options.test_cases = None;
    }
    world(&["192.0.2.1"], servers).await.engine().check(ZONE, &options).await.unwrap()
}

fn options(case: &str) -> CheckOptions {
    let mut options = CheckOptions::new(jiff::Timestamp::from_second(NOW).unwrap());
    options.test_cases = Some(vec![case.into()]);
    options
}

/// The zone's content.
fn records() -> &'static str {
    leak(format!(
        "@ 3600 SOA ns1.{ZONE}. host.{ZONE}. 7 14400 3600 604800 300
         @ 3600 NS ns1.{ZONE}.
         @ 3600 NS ns2.{ZONE}.
         ns1 3600 A 192.0.2.11
         ns2 3600 A 192.0.2.12"
    ))
}

/// The fake servers' zones live as long as the test.
fn leak(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

pub fn tags(report: &CheckReport) -> Vec<&str> {
    report.findings.iter().map(|f| f.tag.as_str()).collect()
}

pub fn of<'r>(report: &'r CheckReport, tag: &str) -> Vec<&'r Finding> {
    report.findings.iter().filter(|f| f.tag == tag).collect()
}
