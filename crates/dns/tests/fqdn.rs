//! The FQDN analyzer: chains with every fault a chain can have, wildcards, and places that differ.

mod fake;
#[allow(dead_code)]
mod resolvers;

use async_trait::async_trait;
use dns::ChainQuestion;
use dns::fqdn::{Here, Vantage, analyze};
use fake::{Fault, faulty, server, world as tiny};
use jiff::Timestamp;
use model::fqdn::{FqdnReport, ProblemKind, Tone, TypeOutcome, VantageAnswer, VantageKind};
use model::names::Fqdn;
use resolvers::{NOW, world};
use std::sync::Arc;

fn now() -> Timestamp {
    NOW.parse().unwrap()
}

async fn look(engine: dns::Engine, name: &str) -> FqdnReport {
    let here: Arc<dyn Vantage> = Arc::new(Here::new(engine));
    analyze(&Fqdn::trusted(name), &[here], now()).await
}

fn kinds(r: &FqdnReport) -> Vec<ProblemKind> {
    r.chain.iter().flat_map(|s| &s.problems).map(|p| p.kind).collect()
}

const ROOT: (&str, &str) = (
    "",
    "@ 60 SOA a.root.example. host.example. 1 2 3 4 5
     @ 60 NS a.root.example.
     test. 3600 NS ns1.test.
     ns1.test. 60 A 192.0.2.11
     other. 3600 NS ns1.other.
     ns1.other. 60 A 192.0.2.21",
);

/// A zone with loops and dead ends, and another with what it leads to.
fn zones() -> (String, &'static str) {
    let mut test = String::from(
        "@ 60 SOA ns1.test. host.test. 7 7200 900 1209600 300
         @ 60 NS ns1.test.
         ns1 60 A 192.0.2.11
         www 86400 CNAME edge.other.
         gone 300 CNAME missing.other.
         empty 300 CNAME txt.other.
         self 300 CNAME self.test.
         ping 300 CNAME pong.test.
         pong 300 CNAME ping.test.
         both 300 CNAME edge.other.
         both 300 AAAA 2001:db8::1
         short 5 A 198.51.100.1\n",
    );
    for i in 0..50 {
        test.push_str(&format!("l{i} 300 CNAME l{}.test.\n", (i + 1) % 50));
    }
    for i in 0..12 {
        test.push_str(&format!("c{i} 300 CNAME c{}.test.\n", i + 1));
    }
    test.push_str("c12 300 A 198.51.100.1\n");
    let other = "@ 60 SOA ns1.other. host.other. 7 7200 900 1209600 300
                 @ 60 NS ns1.other.
                 ns1 60 A 192.0.2.21
                 edge 60 A 203.0.113.80
                 txt 60 TXT \"only\"";
    (test, other)
}

async fn engine() -> dns::Engine {
    let (test, other) = zones();
    let test: &'static str = Box::leak(test.into_boxed_str());
    let servers = vec![
        server("192.0.2.1", &[ROOT]),
        server("192.0.2.11", &[("test", test)]),
        server("192.0.2.21", &[("other", other)]),
    ];
    tiny(&["192.0.2.1"], servers).await.engine()
}

#[tokio::test]
async fn circles_of_two_and_of_fifty_end_and_are_told() {
    let engine = engine().await;
    for (name, steps) in [("self.test", 1), ("ping.test", 2), ("l0.test", 50)] {
        let r = look(engine.clone(), name).await;
        assert_eq!(r.chain.len(), steps, "{name}");
        assert!(kinds(&r).contains(&ProblemKind::Loop), "{name}: {:?}", r.headline);
        assert_eq!(r.tone, Tone::Critical);
        assert!(r.chain_words.contains("a loop"), "{}", r.chain_words);
    }
}

#[tokio::test]
async fn dead_ends_long_chains_and_company_are_told() {
    let engine = engine().await;
    let r = look(engine.clone(), "gone.test").await;
    assert!(kinds(&r).contains(&ProblemKind::Dangling));
    assert!(r.headline.contains("missing.other does not exist"), "{}", r.headline);
    assert!(kinds(&look(engine.clone(), "empty.test").await).contains(&ProblemKind::Dangling));
    let r = look(engine.clone(), "c0.test").await;
    assert_eq!(r.chain.len(), 13);
    assert!(kinds(&r).contains(&ProblemKind::TooLong));
    let r = look(engine.clone(), "both.test").await;
    assert!(kinds(&r).contains(&ProblemKind::CnameAndOther), "{:?}", r.chain[0]);
    assert_eq!(r.chain[0].beside, ["AAAA"]);
    assert!(kinds(&look(engine, "short.test").await).contains(&ProblemKind::ShortTtl));
}

#[tokio::test]
async fn a_sound_chain_has_its_zones_ttls_and_a_plan() {
    let r = look(engine().await, "www.test").await;
    assert_eq!(r.tone, Tone::Ok, "{r:#?}");
    assert_eq!(r.chain_words, "2 steps, 2 zones, no loop");
    assert_eq!(
        r.chain.iter().map(|s| (s.zone.as_str(), s.ttl)).collect::<Vec<_>>(),
        [("test", Some(86_400)), ("other", Some(60))]
    );
    assert_eq!(r.chain[1].servers[0].serial, Some(7));
    assert!(kinds(&r).contains(&ProblemKind::LongTtl));
    assert_eq!(r.addresses.len(), 1);
    let plan = r.ttl_plan.unwrap();
    assert_eq!(plan.safe_at.to_string(), "2026-11-21T14:05:00Z");
    assert_eq!(plan.missing, ["AAAA"]);
    assert_eq!(plan.negative_ttl, Some(60), "the smaller of minimum 300 and TTL 60");
}

#[tokio::test]
async fn silence_is_said_and_one_good_server_is_enough() {
    let (_, other) = zones();
    let root = "@ 60 SOA a.root.example. host.example. 1 2 3 4 5
                @ 60 NS a.root.example.
                other. 3600 NS ns1.other.
                other. 3600 NS ns2.other.
                ns1.other. 60 A 192.0.2.21
                ns2.other. 60 A 192.0.2.22";
    let make = |second| async move {
        let servers = vec![
            server("192.0.2.1", &[("", root)]),
            faulty("192.0.2.21", &[("other", other)], Fault::Drop),
            faulty("192.0.2.22", &[("other", other)], second),
        ];
        tiny(&["192.0.2.1"], servers).await.engine()
    };
    let r = look(make(Fault::None).await, "edge.other").await;
    assert_eq!(r.tone, Tone::Ok, "{:?}", r.headline);
    assert_eq!(r.chain[0].servers.iter().filter(|s| s.kind.is_authoritative()).count(), 1);
    let r = look(make(Fault::Drop).await, "edge.other").await;
    assert_eq!(r.tone, Tone::Critical);
    assert_eq!(kinds(&r), [ProblemKind::NoAnswer]);
    assert!(r.vantages[0].error.is_some());
    assert_eq!(r.ttl_plan, None);
}

#[tokio::test]
async fn answers_from_a_wildcard_are_told_signed_or_not() {
    let w = world("small").await;
    w.command("add *.wild.plain.example 300 A 192.0.2.60").await;
    w.command("add *.wild.signed.example 300 A 192.0.2.61").await;
    let r = look(w.engine.clone(), "any.wild.plain.example").await;
    assert_eq!(r.chain[0].wildcard.as_deref(), Some("*.wild.plain.example"), "{r:#?}");
    assert!(kinds(&r).contains(&ProblemKind::Wildcard));
    let r = look(w.engine.clone(), "any.wild.signed.example").await;
    assert_eq!(r.chain[0].wildcard.as_deref(), Some("*.wild.signed.example"), "{r:#?}");
    let r = look(w.engine.clone(), "plain.example").await;
    assert_eq!(r.chain[0].wildcard, None);
    // At the apex mail and texts are looked at too.
    assert!(r.chain[0].answers.iter().any(|a| a.rtype == "MX" && a.outcome == TypeOutcome::NoData));
}

/// A place elsewhere that sees something else.
struct Tokyo;

#[async_trait]
impl Vantage for Tokyo {
    fn id(&self) -> &str {
        "pop-nrt"
    }
    fn label(&self) -> &str {
        "pop-nrt"
    }
    fn kind(&self) -> VantageKind {
        VantageKind::Agent
    }
    async fn look(&self, name: &Fqdn, _: &ChainQuestion, now: Timestamp) -> VantageAnswer {
        let here = Here::new(engine().await).called("pop-nrt");
        let mut seen = here.look(name, &ChainQuestion::host(), now).await;
        (seen.id, seen.kind) = ("pop-nrt".into(), VantageKind::Agent);
        for answer in &mut seen.answers {
            if answer.rtype == "A" {
                answer.data = vec!["192.0.2.80".into()];
            }
        }
        seen
    }
}

#[tokio::test]
async fn places_that_differ_are_one_sentence() {
    let here: Arc<dyn Vantage> = Arc::new(Here::new(engine().await));
    let r = analyze(&Fqdn::trusted("www.test"), &[here, Arc::new(Tokyo)], now()).await;
    assert_eq!(
        r.differences,
        "The answers differ: pop-nrt sees 192.0.2.80; This server sees 203.0.113.80. Answers by location are no fault; \
         within one region they should agree."
    );
    assert_eq!(r.headline, "It resolves from all 2 places asked, to two addresses; the answers differ.");
}

#[tokio::test]
async fn the_demos_chain_reads_as_its_story() {
    let w = world("demo").await;
    let r = look(w.engine.clone(), "www.alder.example").await;
    assert_eq!(r.chain.len(), 3, "{:#?}", r.chain.iter().map(|s| &s.owner).collect::<Vec<_>>());
    assert_eq!(r.chain[0].ttl, Some(86_400));
    assert_eq!(r.chain.last().unwrap().zone, "harborcdn.example");
    assert!(kinds(&r).contains(&ProblemKind::LongTtl));
    assert!(r.vantages[0].latency_ms.is_some());
}
