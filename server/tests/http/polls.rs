//! Polls: one of each agent waits, what did not arrive is handed out again, and an agent that stops is waited for by nobody.

use crate::agents::{Agent, bytes, join, send, stamp, token};
use crate::site::{Site, site};
use fleet::{Answer, AnswerSent, Poll, PollReply, Question};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use model::Timestamp;
use std::time::Duration;

async fn member(site: &Site, id: &str) -> Agent {
    let (agent, status, said) = join(site, &token(site).await, id).await;
    assert_eq!(status, 200, "{said}");
    agent
}

async fn ask(site: &Site, agent: &str, id: &str) {
    let question = Question::Authority { name: "www.q7.io".into(), rtype: "A".into() };
    let soon = Timestamp::now() + jiff::SignedDuration::from_secs(60);
    let text = serde_json::to_string(&question).unwrap();
    site.scanner.store.ask_agent(agent, id, &text, soon).await.unwrap();
}

fn poll(wait_ms: u32, working: Option<&[&str]>) -> Vec<u8> {
    let working = working.map(|ids| ids.iter().map(|id| (*id).to_string()).collect());
    let version = "0.1.0".into();
    bytes(&Poll { protocol: fleet::PROTOCOL, version, capacity: 4, wait_ms, working, ..Poll::default() })
}

/// Numbers of the questions in the reply to a poll.
async fn asks(site: &Site, agent: &Agent, body: Vec<u8>) -> Vec<String> {
    let (status, said, _) = send(site, agent, "/agent/v1/poll", stamp(), &body).await;
    assert_eq!(status, 200, "{said}");
    let reply: PollReply = serde_json::from_value(said).unwrap();
    reply.work.into_iter().map(|w| w.id).collect()
}

#[tokio::test]
async fn of_a_flood_of_waiting_polls_one_waits() {
    let site = site(false).await;
    let fra = member(&site, "fra-1").await;
    let gru = member(&site, "gru-1").await;
    let body = poll(15_000, None);
    let mut other = Box::pin(asks(&site, &gru, poll(15_000, None)));
    let _ = tokio::time::timeout(Duration::from_millis(200), &mut other).await;
    let flood: FuturesUnordered<_> =
        (0..40).map(|n| send(&site, &fra, "/agent/v1/poll", stamp() + n, &body)).collect();
    let mut flood = Box::pin(flood);
    // All but the newest end at once; those that it overtook on the way are refused.
    let (mut ended, mut codes) = (0, Vec::new());
    while ended < 39 {
        let next = tokio::time::timeout(Duration::from_secs(10), flood.next()).await;
        let (status, said, _) = next.unwrap_or_else(|_| panic!("{ended} of 39 ended: {codes:?}")).unwrap();
        assert!(status == 200 || status == 409, "{status} {said}");
        codes.push(status.as_u16());
        ended += 1;
    }
    // The last one gets the work; another agent's poll still waits.
    ask(&site, "fra-1", "q1").await;
    let (status, said, _) = flood.next().await.unwrap();
    assert_eq!((status.as_u16(), said["work"][0]["id"].as_str()), (200, Some("q1")), "{said}");
    ask(&site, "gru-1", "q2").await;
    assert_eq!(other.await, ["q2"]);
}

#[tokio::test]
async fn work_that_did_not_arrive_is_handed_out_again() {
    let site = site(false).await;
    let fra = member(&site, "fra-1").await;
    ask(&site, "fra-1", "q1").await;
    assert_eq!(asks(&site, &fra, poll(0, Some(&[]))).await, ["q1"]);
    // What it works on is not; an agent that does not say what it works on is not asked twice.
    assert!(asks(&site, &fra, poll(0, Some(&["q1"]))).await.is_empty());
    assert!(asks(&site, &fra, poll(0, None)).await.is_empty());
    assert_eq!(asks(&site, &fra, poll(0, Some(&["q9"]))).await, ["q1"], "the first reply was lost");
    let sent = AnswerSent { work: "q1".into(), answer: Answer::Failed { reason: "no route".into() } };
    let (status, said, _) = send(&site, &fra, "/agent/v1/answer", stamp(), &bytes(&sent)).await;
    assert_eq!(status, 200, "{said}");
    assert!(asks(&site, &fra, poll(0, Some(&[]))).await.is_empty(), "answered");
}

#[tokio::test]
async fn an_agent_that_stops_ends_its_open_poll_and_what_waits_for_it() {
    let site = site(false).await;
    let fra = member(&site, "fra-1").await;
    let mut open = Box::pin(asks(&site, &fra, poll(15_000, Some(&[]))));
    let still = tokio::time::timeout(Duration::from_millis(300), &mut open).await;
    assert!(still.is_err(), "it waits");
    let draining =
        Poll { protocol: fleet::PROTOCOL, version: "0.1.0".into(), draining: true, ..Poll::default() };
    let draining = bytes(&Poll { working: Some(vec![]), ..draining });
    assert!(asks(&site, &fra, draining.clone()).await.is_empty());
    let ended = tokio::time::timeout(Duration::from_secs(5), open).await;
    assert_eq!(ended.expect("it ends"), Vec::<String>::new());
    // Asked by a process that did not know yet: it learns at the next poll that there is no answer.
    ask(&site, "fra-1", "q1").await;
    asks(&site, &fra, draining).await;
    let answer = site.scanner.store.agent_answer("q1").await.unwrap();
    assert!(answer.unwrap().contains("about to stop"));
}

/// Answers what the agent is asked: that it could not look, or that no server answers.
async fn answers(store: std::sync::Arc<dyn store::Store>, agent: &'static str, can_look: bool) {
    loop {
        for (work, question, _) in store.take_agent_work(agent, 9, Timestamp::now()).await.unwrap() {
            let question: serde_json::Value = serde_json::from_str(&question).unwrap();
            let seen = serde_json::json!({ "answer": "authority", "seen": {
                "name": question["name"], "type": "SOA", "zone": question["name"], "outcome": "serves", "aliases": [],
                "records": [], "ttl": null, "negative_ttl": null, "soa": null, "servers": [], "agree": true,
                "asked_at": "2026-11-20T12:00:00Z", "notes": [], "sentence": "" } });
            let failed = serde_json::json!({ "answer": "failed", "reason": "no route" });
            let answer = if can_look { seen } else { failed }.to_string();
            store.answer_agent_work(agent, &work, &answer, Timestamp::now()).await.unwrap();
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_second_look_goes_on_to_the_next_place_when_one_could_not_look() {
    use monitor::SecondPlace;
    let site = site(false).await;
    let store = site.scanner.store.clone();
    let second = product::SecondLook {
        store: store.clone(),
        gates: features::Gates::default(),
        clock: std::sync::Arc::new(monitor::SystemClock),
    };
    member(&site, "fra-1").await;
    let task = tokio::spawn(answers(store.clone(), "fra-1", false));
    let name = |n: u32| model::names::DomainName::trusted(&format!("name-{n}.example"));
    assert!(second.answering(&name(0)).await.is_none(), "there is no other place");
    member(&site, "gru-1").await;
    let other = tokio::spawn(answers(store, "gru-1", true));
    for n in 0..8 {
        let seen = second.answering(&name(n)).await.unwrap_or_else(|| panic!("name-{n}"));
        assert_eq!(seen.place, "gru-1 (eu-central)");
    }
    // What was measured counts as a use until it is stored: turning the feature off waits for that.
    let measured = second.latencies(&name(9)).await.expect("gru-1 looks");
    assert_eq!(measured.looks.looks.iter().map(|l| l.id.as_str()).collect::<Vec<_>>(), ["gru-1"]);
    let spec = features::spec(product::agents::FEATURE).unwrap();
    let on = features::Feature::new(spec, "0.1.0", Timestamp::now());
    let turning = [features::Feature { state: features::State::TurningOff, ..on }];
    second.gates.close(&turning);
    assert!(second.gates.report(&turning)[spec.name]);
    drop(measured);
    assert!(!second.gates.report(&turning)[spec.name]);
    task.abort();
    other.abort();
}
