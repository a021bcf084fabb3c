//! What servers do wrong on the wire, one test each: the operation ends, says what happened, and keeps the rest.

mod fake;

use fake::{Fault, faulty, server, world};
use model::dns::{AnswerKind, ChainEnd, ServerHealth, Trace, TraceOutcome, Transport};
use model::names::Fqdn;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const ROOT: (&str, &str) = (
    "",
    "@ 60 SOA a.root.example. host.example. 1 2 3 4 5
     @ 60 NS a.root.example.
     test. 60 NS ns1.test.
     test. 60 NS ns2.test.
     ns1.test. 60 A 192.0.2.11
     ns2.test. 60 A 192.0.2.12",
);
const TLD: (&str, &str) = (
    "test",
    "@ 60 SOA ns1.test. host.test. 7 2 3 4 5
     @ 60 NS ns1.test.
     @ 60 NS ns2.test.
     ns1 60 A 192.0.2.11
     ns2 60 A 192.0.2.12
     www 60 A 198.51.100.1
     alias 60 CNAME www.test.
     loop-a 60 CNAME loop-b.test.
     loop-b 60 CNAME loop-a.test.
     child 60 NS ns.child.test.
     ns.child 60 A 192.0.2.21
     circle-a 60 NS ns.circle-b.test.
     circle-b 60 NS ns.circle-a.test.",
);

async fn traced(fault: Fault) -> Trace {
    // The second server always works: a fault must not hide behind it, so each test looks at the first one's answer.
    let w = world(
        &["192.0.2.1"],
        vec![server("192.0.2.1", &[ROOT]), faulty("192.0.2.11", &[TLD], fault), server("192.0.2.12", &[TLD])],
    )
    .await;
    let trace = w.engine().trace(&Fqdn::trusted("www.test"), "A").await.unwrap();
    assert_eq!(trace.outcome, TraceOutcome::Answer, "{trace:#?}");
    assert_eq!(trace.records[0].data, "198.51.100.1");
    trace
}

fn first(trace: &Trace) -> &model::dns::ServerAnswer {
    let step = trace.steps.iter().find(|s| s.zone == "test").unwrap();
    step.answers.iter().find(|a| a.server == "ns1.test").unwrap()
}

#[tokio::test]
async fn a_healthy_path_shows_every_step_and_server() {
    let trace = traced(Fault::None).await;
    assert_eq!(trace.steps.iter().map(|s| s.zone.as_str()).collect::<Vec<_>>(), [".", "test"]);
    assert_eq!(trace.steps[1].answers.len(), 2);
    let referral = trace.steps[0].referral.as_ref().unwrap();
    assert_eq!((referral.zone.as_str(), referral.ttl), ("test", 60));
    assert!(referral.nameservers.iter().all(|n| n.glue && n.addresses.len() == 1));
    assert_eq!(trace.queries, 3);
}

#[tokio::test]
async fn silence_is_a_timeout() {
    assert_eq!(first(&traced(Fault::Drop).await).kind, AnswerKind::Timeout);
    assert_eq!(first(&traced(Fault::DropUdp).await).kind, AnswerKind::Timeout);
}

#[tokio::test]
async fn a_slow_answer_counts_with_its_time() {
    let trace = traced(Fault::Delay(Duration::from_millis(120))).await;
    let slow = first(&trace);
    assert_eq!(slow.kind, AnswerKind::Answer);
    assert!((120.0..500.0).contains(&slow.latency_ms.unwrap()), "{slow:?}");
    assert_eq!(
        trace.steps[1].chosen.map(|i| trace.steps[1].answers[i].server.clone()),
        Some("ns2.test".into())
    );
}

#[tokio::test]
async fn truncation_moves_to_tcp() {
    let trace = traced(Fault::Truncate).await;
    let a = first(&trace);
    assert_eq!((a.kind, a.truncated, a.transport), (AnswerKind::Answer, true, Transport::Tcp));
}

#[tokio::test]
async fn answers_to_other_questions_are_ignored_and_counted() {
    let trace = traced(Fault::WrongIdFirst).await;
    assert_eq!(first(&trace).kind, AnswerKind::Answer);
    assert!(first(&trace).notes.iter().any(|n| n.contains("ignored")), "{:?}", first(&trace).notes);
    for fault in [Fault::WrongId, Fault::WrongQuestion, Fault::Garbage] {
        let trace = traced(fault).await;
        assert_eq!(first(&trace).kind, AnswerKind::Malformed, "{fault:?}");
        assert!(first(&trace).notes.iter().any(|n| n.contains("ignored")), "{fault:?}");
    }
}

#[tokio::test]
async fn an_answer_from_another_port_never_counts() {
    assert_eq!(first(&traced(Fault::WrongSource).await).kind, AnswerKind::Timeout);
}

#[tokio::test]
async fn folded_letters_are_asked_again_over_tcp() {
    let trace = traced(Fault::FoldCase).await;
    let a = first(&trace);
    // A name of seven letters keeps its case once in 128 questions; then there is nothing to see.
    if a.transport == Transport::Tcp {
        assert!(a.notes.iter().any(|n| n.contains("letters")), "{a:?}");
    }
    assert_eq!(a.kind, AnswerKind::Answer);
}

#[tokio::test]
async fn upward_and_self_referrals_are_named() {
    assert_eq!(first(&traced(Fault::Upward).await).kind, AnswerKind::UpwardReferral);
    let trace = traced(Fault::SelfReferral).await;
    assert_eq!(first(&trace).kind, AnswerKind::UpwardReferral);
    assert!(trace.steps[1].notes.iter().any(|n| n.contains("disagree")), "{:?}", trace.steps[1].notes);
}

#[tokio::test]
async fn servers_without_edns_are_asked_without() {
    for fault in [Fault::FormErrOnEdns, Fault::DropEdns] {
        let trace = traced(fault).await;
        assert_eq!(first(&trace).kind, AnswerKind::Answer, "{fault:?}");
        assert!(
            first(&trace).notes.iter().any(|n| n.contains("EDNS")),
            "{fault:?} {:?}",
            first(&trace).notes
        );
    }
}

#[tokio::test]
async fn refusals_and_answers_without_authority_keep_their_kind() {
    assert_eq!(first(&traced(Fault::Refused).await).kind, AnswerKind::Refused);
    assert_eq!(first(&traced(Fault::NoAuthority).await).kind, AnswerKind::NonAuthoritative);
}

async fn whole() -> fake::World {
    world(
        &["192.0.2.1"],
        vec![server("192.0.2.1", &[ROOT]), server("192.0.2.11", &[TLD]), server("192.0.2.12", &[TLD])],
    )
    .await
}

#[tokio::test]
async fn an_alias_loop_ends() {
    let w = whole().await;
    let error = w.engine().resolve(&Fqdn::trusted("loop-a.test"), "A").await.unwrap_err();
    assert!(error.to_string().contains("circle"), "{error}");
    let (traces, end) = w.engine().trace_chain(&Fqdn::trusted("loop-a.test"), "A").await.unwrap();
    assert_eq!(traces.iter().map(|t| t.name.as_str()).collect::<Vec<_>>(), ["loop-a.test", "loop-b.test"]);
    assert_eq!(end, ChainEnd::Circle { from: "loop-b.test".into(), to: "loop-a.test".into() });
    assert!(end.words().unwrap().contains("leads back"));
    let (traces, end) = w.engine().trace_chain(&Fqdn::trusted("alias.test"), "A").await.unwrap();
    assert_eq!(
        (traces.len(), traces[1].records[0].data.as_str(), end),
        (2, "198.51.100.1", ChainEnd::Complete)
    );
    let found = w.engine().resolve(&Fqdn::trusted("alias.test"), "A").await.unwrap();
    assert_eq!(found.aliases, [("alias.test".to_string(), "www.test".to_string())]);
    assert_eq!(found.records[0].data, "198.51.100.1");
}

#[tokio::test]
async fn fifty_aliases_are_too_many() {
    let mut text = String::from("@ 60 SOA ns1.test. host.test. 7 2 3 4 5\n@ 60 NS ns1.test.\n");
    for i in 0..50 {
        text.push_str(&format!("c{i} 60 CNAME c{}.test.\n", i + 1));
    }
    text.push_str("c50 60 A 198.51.100.9");
    let w = world(
        &["192.0.2.1"],
        vec![server("192.0.2.1", &[ROOT]), server("192.0.2.11", &[("test", text.leak())])],
    )
    .await;
    let error = w.engine().resolve(&Fqdn::trusted("c0.test"), "A").await.unwrap_err();
    assert!(error.to_string().contains("too many"), "{error}");
    let near = w.engine().resolve(&Fqdn::trusted("c40.test"), "A").await.unwrap();
    assert_eq!((near.aliases.len(), near.records.len()), (10, 1));
}

#[tokio::test]
async fn a_circle_of_fifty_aliases_ends_within_its_bounds() {
    let mut text = String::from("@ 60 SOA ns1.test. host.test. 7 2 3 4 5\n@ 60 NS ns1.test.\n");
    for i in 0..50 {
        text.push_str(&format!("r{i} 60 CNAME r{}.test.\n", (i + 1) % 50));
    }
    let w = world(
        &["192.0.2.1"],
        vec![server("192.0.2.1", &[ROOT]), server("192.0.2.11", &[("test", text.leak())])],
    )
    .await;
    let error = w.engine().resolve(&Fqdn::trusted("r0.test"), "A").await.unwrap_err();
    assert!(error.to_string().contains("circle or are too many"), "{error}");
    let (traces, end) = w.engine().trace_chain(&Fqdn::trusted("r7.test"), "A").await.unwrap();
    let ChainEnd::TooLong { limit } = end else { panic!("{end:?}") };
    assert_eq!(traces.len(), limit + 1);
    assert!(w.questions.load(std::sync::atomic::Ordering::Relaxed) < 200);
}

#[tokio::test]
async fn a_cyclic_delegation_is_a_loop_and_not_an_endless_one() {
    let w = whole().await;
    let trace = w.engine().trace(&Fqdn::trusted("www.circle-a.test"), "A").await.unwrap();
    assert_eq!(trace.outcome, TraceOutcome::Loop, "{trace:#?}");
    let notes: Vec<&String> = trace.steps.iter().flat_map(|s| &s.notes).collect();
    assert!(notes.iter().any(|n| n.contains("cyclic")), "{notes:?}");
    assert!(w.questions.load(Ordering::Relaxed) < 60, "{}", w.questions.load(Ordering::Relaxed));
}

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
    assert!(took < timeout * 3 / 2, "{took:?} for a timeout of {timeout:?}");
}

#[tokio::test]
async fn the_delegation_shows_soa_and_negative_soa() {
    let w = whole().await;
    let d = w.engine().delegation("test").await.unwrap();
    assert_eq!((d.parent.as_str(), d.delegated, d.parent_ns.len(), d.child_ns.len()), (".", true, 2, 2));
    assert_eq!(d.soa.as_ref().map(|s| s.serial), Some(7));
    assert_eq!(d.negative_ttl(), Some(5));
    assert!(d.servers.iter().all(|s| s.health == ServerHealth::Authoritative && s.tcp == Some(true)));
    let missing = w.engine().delegation("nothing.test").await.unwrap();
    assert!(
        !missing.delegated && missing.parent == "test" && missing.negative_ttl() == Some(5),
        "{missing:#?}"
    );
}

#[tokio::test]
async fn private_servers_are_not_asked_unless_allowed() {
    let w = world(&["127.0.0.7"], vec![server("127.0.0.7", &[ROOT])]).await;
    let engine = dns::Engine::new(dns::Settings { allow_private: false, ..w.settings() });
    let trace = engine.trace(&Fqdn::trusted("www.test"), "A").await.unwrap();
    assert_eq!(trace.steps[0].answers[0].kind, AnswerKind::NotAsked);
    assert!(trace.steps[0].answers[0].notes[0].contains("loopback"), "{trace:#?}");
    assert_eq!(w.questions.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn the_bound_on_questions_holds() {
    let w = whole().await;
    let engine = dns::Engine::new(dns::Settings { max_queries: 2, ..w.settings() });
    let trace = engine.trace(&Fqdn::trusted("www.test"), "A").await.unwrap();
    assert!(trace.queries <= 2, "{}", trace.queries);
    assert!(trace.notes.iter().any(|n| n.contains("bound")), "{:?}", trace.notes);
    assert!(w.questions.load(Ordering::Relaxed) <= 2);
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
    assert!(took < engine.settings().timeout * 3 / 2, "{took:?}");
    // A look-up has no need to wait for the dead: it takes the first answer.
    let found = engine.resolve(&Fqdn::trusted("www.test"), "A").await.unwrap();
    assert_eq!(found.records[0].data, "198.51.100.1");
}

#[tokio::test]
async fn servers_of_one_set_that_serve_different_data_are_told_apart() {
    let old = (
        TLD.0,
        "@ 60 SOA ns1.test. host.test. 6 2 3 4 5\n@ 60 NS ns1.test.\n@ 60 NS ns2.test.\nwww 60 A 198.51.100.9",
    );
    let w = world(
        &["192.0.2.1"],
        vec![server("192.0.2.1", &[ROOT]), server("192.0.2.11", &[TLD]), server("192.0.2.12", &[old])],
    )
    .await;
    let trace = w.engine().trace(&Fqdn::trusted("www.test"), "A").await.unwrap();
    let notes = &trace.steps.last().unwrap().notes;
    assert_eq!(
        *notes,
        ["the servers of this set disagree: 1 × authoritative answer 198.51.100.1; \
          1 × authoritative answer 198.51.100.9"]
    );
}
