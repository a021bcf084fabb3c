//! What a hostile or broken delegation may cost: crowds of servers, missing glue, dead addresses. The number of questions
//! and the time stay bounded (NXNS), and one live server is enough.

mod fake;

use fake::{Fault, ROOT, TLD, faulty, server, world};
use model::dns::{AnswerKind, ServerHealth, TraceOutcome};
use model::names::Fqdn;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

#[tokio::test]
async fn a_referral_to_many_names_without_glue_is_not_amplified() {
    let mut text = String::from("@ 60 SOA ns1.test. host.test. 7 2 3 4 5\n@ 60 NS ns1.test.\n");
    for i in 0..100 {
        text.push_str(&format!("evil 60 NS ns{i}.victim{i}.test.\nvictim{i} 60 NS ns.victim{i}.test.\nns.victim{i} 60 A 192.0.2.99\n"));
    }
    let w = world(
        &["192.0.2.1"],
        vec![
            server("192.0.2.1", &[ROOT]),
            server("192.0.2.11", &[("test", text.leak())]),
            faulty("192.0.2.99", &[("test", "")], Fault::Drop),
        ],
    )
    .await;
    let trace = w.engine().trace(&Fqdn::trusted("evil.test"), "A").await.unwrap();
    assert_ne!(trace.outcome, TraceOutcome::Answer);
    assert!(w.questions.load(Ordering::Relaxed) < 80, "{}", w.questions.load(Ordering::Relaxed));
}

#[tokio::test]
async fn a_zone_that_lists_a_crowd_of_servers_is_not_amplified() {
    let mut text = String::from("@ 60 SOA ns.child.test. host.test. 7 2 3 4 5\n@ 60 NS ns.child.test.\n");
    for i in 0..300 {
        text.push_str(&format!("@ 60 NS n{i}.victim.test.\n"));
    }
    text.push_str("ns 60 A 192.0.2.21");
    let tld: &'static str =
        format!("{}\nvictim 60 NS ns.victim.test.\nns.victim 60 A 192.0.2.99", TLD.1).leak();
    for fault in [Fault::Drop, Fault::Refused] {
        let victims = world(
            &["192.0.2.1"],
            vec![
                server("192.0.2.1", &[ROOT]),
                server("192.0.2.11", &[("test", tld)]),
                server("192.0.2.12", &[("test", tld)]),
                server("192.0.2.21", &[("child.test", text.clone().leak())]),
                faulty("192.0.2.99", &[("victim.test", "")], fault),
            ],
        )
        .await;
        let d = victims.engine().delegation("child.test").await.unwrap();
        assert!(d.any_authoritative(), "{d:#?}");
        let sent = victims.questions.load(Ordering::Relaxed);
        assert!(sent < 100, "{sent} questions with {fault:?}");
    }
}

#[tokio::test]
async fn a_referral_with_hundreds_of_records_costs_no_more_than_a_long_one() {
    let mut tld =
        String::from("@ 60 SOA ns1.test. host.test. 7 2 3 4 5\n@ 60 NS ns1.test.\nns1 60 A 192.0.2.11\n");
    for i in 0..200 {
        tld.push_str(&format!("crowd 60 NS n{i}.crowd.test.\nn{i}.crowd 60 A 192.0.2.99\n"));
    }
    // One name with more addresses than anybody has.
    tld.push_str("fat 60 NS ns.fat.test.\n");
    for i in 0..500 {
        tld.push_str(&format!("ns.fat 60 A 192.0.{}.{}\n", 100 + i / 250, 1 + i % 250));
    }
    let tld: &'static str = tld.leak();
    let zone = "@ 60 SOA ns.crowd.test. host.test. 7 2 3 4 5\n@ 60 NS ns.crowd.test.\n@ 60 A 198.51.100.7\n";
    let w = world(
        &["192.0.2.1"],
        vec![
            server("192.0.2.1", &[ROOT]),
            server("192.0.2.11", &[("test", tld)]),
            server("192.0.2.12", &[("test", tld)]),
            server("192.0.2.99", &[("crowd.test", zone)]),
        ],
    )
    .await;
    // Long enough that a busy machine sends no question again.
    let engine = dns::Engine::new(dns::Settings {
        timeout: Duration::from_secs(15),
        budget: Duration::from_secs(60),
        ..w.settings()
    });
    let sent = || w.questions.swap(0, Ordering::Relaxed);
    let trace = engine.trace(&Fqdn::trusted("crowd.test"), "A").await.unwrap();
    assert_eq!((trace.outcome, trace.records[0].data.as_str()), (TraceOutcome::Answer, "198.51.100.7"));
    let referral = trace.steps[1].referral.as_ref().unwrap();
    assert_eq!((referral.nameservers.len(), trace.steps[2].answers.len()), (26, 26));
    let questions = sent();
    assert!(questions < 26, "one address is asked once, whatever names it has: {questions}");
    let answer = engine.resolve(&Fqdn::trusted("crowd.test"), "A").await.unwrap();
    assert_eq!(answer.records.len(), 1);
    let fat = engine.trace(&Fqdn::trusted("fat.test"), "A").await.unwrap();
    assert_ne!(fat.outcome, TraceOutcome::Answer);
    assert_eq!(fat.steps[1].referral.as_ref().unwrap().nameservers[0].addresses.len(), 8);
}

#[tokio::test]
async fn half_the_servers_dead_costs_one_timeout() {
    const ZONE: (&str, &str) = (
        "test",
        "@ 60 SOA ns1.test. host.test. 7 2 3 4 5
         @ 60 NS ns1.test.
         @ 60 NS ns2.test.
         ns1 60 A 192.0.2.11
         ns1 60 A 192.0.2.12
         ns1 60 A 192.0.2.13
         ns1 60 A 192.0.2.14
         ns2 60 A 192.0.2.15
         ns2 60 A 192.0.2.16
         ns2 60 A 192.0.2.17
         ns2 60 A 192.0.2.18",
    );
    const ABOVE: (&str, &str) = (
        "",
        "@ 60 SOA a.root.example. host.example. 1 2 3 4 5
         @ 60 NS a.root.example.
         test. 60 NS ns1.test.
         test. 60 NS ns2.test.
         ns1.test. 60 A 192.0.2.11
         ns1.test. 60 A 192.0.2.12
         ns1.test. 60 A 192.0.2.13
         ns1.test. 60 A 192.0.2.14
         ns2.test. 60 A 192.0.2.15
         ns2.test. 60 A 192.0.2.16
         ns2.test. 60 A 192.0.2.17
         ns2.test. 60 A 192.0.2.18",
    );
    let mut servers = vec![server("192.0.2.1", &[ABOVE])];
    for (i, a) in [
        "192.0.2.11",
        "192.0.2.12",
        "192.0.2.13",
        "192.0.2.14",
        "192.0.2.15",
        "192.0.2.16",
        "192.0.2.17",
        "192.0.2.18",
    ]
    .into_iter()
    .enumerate()
    {
        servers.push(faulty(a, &[ZONE], if i % 2 == 0 { Fault::Drop } else { Fault::None }));
    }
    let w = world(&["192.0.2.1"], servers).await;
    let engine = w.engine();
    let timeout = engine.settings().timeout;
    let start = Instant::now();
    let d = engine.delegation("test").await.unwrap();
    let took = start.elapsed();
    let count = |h| d.servers.iter().filter(|s| s.health == h).count();
    assert_eq!((count(ServerHealth::Authoritative), count(ServerHealth::Dead)), (4, 4), "{:#?}", d.servers);
    println!("delegation with 4 of 8 dead: {took:?}, one timeout is {timeout:?}");
    assert!(took < timeout * 2, "{took:?} for a timeout of {timeout:?}");
}

#[tokio::test]
async fn thirteen_servers_in_two_families_with_twelve_dead() {
    let mut above =
        String::from("@ 60 SOA a.root.example. host.example. 1 2 3 4 5\n@ 60 NS a.root.example.\n");
    let mut servers = Vec::new();
    for i in 0..13u8 {
        let (v4, v6): (&str, &str) =
            (format!("192.0.2.{}", 50 + i).leak(), format!("2001:db8::{:x}", 0x50 + u16::from(i)).leak());
        above.push_str(&format!("test. 60 NS n{i}.test.\nn{i}.test. 60 A {v4}\nn{i}.test. 60 AAAA {v6}\n"));
        let fault = if i == 7 { Fault::None } else { Fault::Drop };
        servers.push(faulty(v4, &[TLD], fault));
        servers.push(faulty(v6, &[TLD], fault));
    }
    servers.push(server("192.0.2.1", &[("", above.leak())]));
    let w = world(&["192.0.2.1"], servers).await;
    let engine = w.engine();
    let start = Instant::now();
    let trace = engine.trace(&Fqdn::trusted("www.test"), "A").await.unwrap();
    let took = start.elapsed();
    assert_eq!(trace.outcome, TraceOutcome::Answer);
    let dead = trace.steps[1].answers.iter().filter(|a| a.kind == AnswerKind::Timeout).count();
    assert_eq!((trace.steps[1].answers.len(), dead), (26, 24));
    println!("trace with 24 of 26 addresses dead: {took:?}");
    assert!(took < engine.settings().timeout * 2, "{took:?}");
    // A look-up has no need to wait for the dead: it takes the first answer.
    let found = engine.resolve(&Fqdn::trusted("www.test"), "A").await.unwrap();
    assert_eq!(found.records[0].data, "198.51.100.1");
}
