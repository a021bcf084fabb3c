//! What servers do wrong on the wire, one test each: the operation ends, says what happened, and keeps the rest.

mod fake;

use fake::{Fault, ROOT, TLD, faulty, server, world};
use model::dns::{AnswerKind, ChainEnd, ServerHealth, Trace, TraceOutcome, Transport};
use model::names::Fqdn;
use std::sync::atomic::Ordering;
use std::time::Duration;

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
    assert!(notes.iter().any(|n| n.contains("circular dependency")), "{notes:?}");
    assert!(w.questions.load(Ordering::Relaxed) < 60, "{}", w.questions.load(Ordering::Relaxed));
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
async fn servers_of_one_set_that_serve_different_data_are_told_apart() {
    // The first server has two addresses, and is one server all the same.
    let root: (&str, String) = (ROOT.0, format!("{}\n     ns1.test. 60 A 192.0.2.13", ROOT.1));
    let root = (root.0, &*Box::leak(root.1.into_boxed_str()));
    let old = (
        TLD.0,
        "@ 60 SOA ns1.test. host.test. 6 2 3 4 5\n@ 60 NS ns1.test.\n@ 60 NS ns2.test.\nwww 60 A 198.51.100.9",
    );
    let w = world(
        &["192.0.2.1"],
        vec![
            server("192.0.2.1", &[root]),
            server("192.0.2.11", &[TLD]),
            server("192.0.2.13", &[TLD]),
            server("192.0.2.12", &[old]),
        ],
    )
    .await;
    let trace = w.engine().trace(&Fqdn::trusted("www.test"), "A").await.unwrap();
    let step = trace.steps.last().unwrap();
    assert_eq!(step.answers.len(), 3);
    let notes = &step.notes;
    assert_eq!(
        *notes,
        ["the servers of this set disagree: 1 × authoritative answer 198.51.100.1; \
          1 × authoritative answer 198.51.100.9"]
    );
}
