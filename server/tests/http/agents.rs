//! Points of presence over HTTP: who may join, which requests count, and that what is refused leaves nothing behind.

use crate::site::{Site, site};
use accounts::{Secret, SecretKind};
use axum::body::Body;
use axum::http::{Request, StatusCode};
use fleet::{Answer, AnswerSent, Join, JoinToken, KeyPair, Poll, PollReply, Question, SignedRequest, verify};
use model::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};
use tower::ServiceExt;

pub(crate) struct Agent {
    pub(crate) id: String,
    pub(crate) key: KeyPair,
    pub(crate) server_key: String,
}

/// A request as an agent sends it: status, body, and whether the server signed the answer.
pub(crate) async fn send(
    site: &Site,
    agent: &Agent,
    path: &str,
    stamp: i64,
    body: &[u8],
) -> (StatusCode, Value, bool) {
    send_from(site, agent, "127.0.0.1", (path, stamp, body)).await
}

/// The same from an address.
async fn send_from(
    site: &Site,
    agent: &Agent,
    address: &str,
    (path, stamp, body): (&str, i64, &[u8]),
) -> (StatusCode, Value, bool) {
    let signature = agent.key.sign(&SignedRequest { path, agent: &agent.id, stamp, body }.of_agent());
    let request = Request::post(path)
        .header("host", "scope.example")
        .header("domainscope-agent", &agent.id)
        .header("domainscope-stamp", stamp.to_string())
        .header("domainscope-signature", signature)
        .extension(doh::Client(address.parse().unwrap()))
        .body(Body::from(body.to_vec()))
        .unwrap();
    let answer = site.router.clone().oneshot(request).await.unwrap();
    let status = answer.status();
    let signed =
        answer.headers().get("domainscope-signature").and_then(|v| v.to_str().ok()).map(str::to_owned);
    let bytes = axum::body::to_bytes(answer.into_body(), 8 << 20).await.unwrap();
    let text = SignedRequest { path, agent: &agent.id, stamp, body: &bytes }.of_server();
    let is_signed = signed.is_some_and(|s| verify(&agent.server_key, &text, &s));
    (status, serde_json::from_slice(&bytes).unwrap_or_default(), is_signed)
}

pub(crate) fn bytes(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap()
}

pub(crate) fn stamp() -> i64 {
    Timestamp::now().as_microsecond()
}

pub(crate) async fn token(site: &Site) -> JoinToken {
    let (status, made) = site.api("POST", "/api/v1/fleet/tokens", Value::Null).await;
    assert_eq!(status, 200, "{made}");
    JoinToken::read(made["token"].as_str().unwrap()).unwrap()
}

pub(crate) async fn join(site: &Site, token: &JoinToken, id: &str) -> (Agent, StatusCode, Value) {
    let agent =
        Agent { id: String::new(), key: KeyPair::generate().unwrap(), server_key: token.server_key.clone() };
    let request = Join {
        protocol: 1,
        token: token.secret.clone(),
        id: id.into(),
        region: "eu-central".into(),
        version: "0.1.0".into(),
        key: agent.key.public(),
    };
    let (status, said, is_signed) = send(site, &agent, "/agent/v1/join", stamp(), &bytes(&request)).await;
    assert_eq!(is_signed, status == StatusCode::OK, "what is accepted is signed by the server: {said}");
    (Agent { id: id.into(), ..agent }, status, said)
}

pub(crate) async fn ids(site: &Site) -> Vec<String> {
    let fleet = site.api("GET", "/api/v1/fleet", Value::Null).await.1;
    let agents = fleet["agents"].as_array().cloned().unwrap_or_default();
    agents.iter().filter_map(|a| a["id"].as_str().map(str::to_owned)).collect()
}

/// Status and body of a poll.
pub(crate) async fn poll_of(site: &Site, agent: &Agent) -> (u16, Value) {
    let (status, said, _) = send(site, agent, "/agent/v1/poll", stamp(), &poll()).await;
    (status.as_u16(), said)
}

fn poll() -> Vec<u8> {
    bytes(&Poll { protocol: 1, version: "0.1.0".into(), capacity: 4, ..Poll::default() })
}

#[tokio::test]
async fn an_agent_joins_once_and_only_its_own_requests_count() {
    let site = site(false).await;
    let one = token(&site).await;
    let (fra, status, said) = join(&site, &one, "fra-1").await;
    assert_eq!((status, said["id"].as_str()), (StatusCode::OK, Some("fra-1")), "{said}");
    assert!(said["set"].as_str().unwrap().ends_with("-fleet"), "{said}");
    // Used, foreign and unreadable tokens; identities that exist or are no labels.
    let refused =
        |(_, status, said): (Agent, StatusCode, Value)| (status.as_u16(), said["detail"].to_string());
    let (code, words) = refused(join(&site, &one, "gru-1").await);
    assert!(code == 403 && words.contains("used or expired"), "{code} {words}");
    let foreign = JoinToken { secret: format!("dsj_{}", "A".repeat(43)), ..one.clone() };
    assert_eq!(refused(join(&site, &foreign, "gru-1").await).0, 403);
    let two = token(&site).await;
    let (code, words) = refused(join(&site, &two, "fra-1").await);
    assert!(code == 409 && words.contains("Join as fra-2"), "{code} {words}");
    // The page of the fleet says so until it has joined.
    let shown = || async { site.api("GET", "/api/v1/fleet", Value::Null).await.1["refused"].clone() };
    let listed = shown().await;
    assert_eq!((&listed[0]["id"], &listed[0]["suggested"]), (&json!("fra-1"), &json!("fra-2")), "{listed}");
    let (code, words) = refused(join(&site, &two, "Gru 1").await);
    assert!(code == 400 && words.contains("RFC 1123"), "{code} {words}");
    assert_eq!(ids(&site).await, ["fra-1"], "nothing was stored");

    // Its polls count, once each; those signed with another key, replayed, or of a wrong clock do not.
    let first = stamp();
    let (status, reply, is_signed) = send(&site, &fra, "/agent/v1/poll", first, &poll()).await;
    assert!(status == StatusCode::OK && is_signed, "{reply}");
    assert_eq!(send(&site, &fra, "/agent/v1/poll", first, &poll()).await.0, StatusCode::CONFLICT);
    let thief = Agent { id: "fra-1".into(), key: KeyPair::generate().unwrap(), server_key: String::new() };
    assert_eq!(send(&site, &thief, "/agent/v1/poll", stamp(), &poll()).await.0, StatusCode::FORBIDDEN);
    let hour = 3_600_000_000;
    let (status, said, _) = send(&site, &fra, "/agent/v1/poll", stamp() + hour, &poll()).await;
    assert!(status == 400 && said["detail"].to_string().contains("clock"), "{said}");
    let (status, said, _) = send(&site, &fra, "/agent/v1/poll", stamp(), b"{\"protocol\":\"x\"").await;
    assert!(status == 400 && said["type"].is_string(), "{said}");

    // Revoked: refused at once.
    assert_eq!(site.api("DELETE", "/api/v1/fleet/fra-1", Value::Null).await.0, 200);
    assert_eq!(send(&site, &fra, "/agent/v1/poll", stamp(), &poll()).await.0, StatusCode::FORBIDDEN);
    assert_eq!(site.api("DELETE", "/api/v1/fleet/fra-1", Value::Null).await.0, 404);
}

#[tokio::test]
async fn strangers_who_know_an_identity_do_not_keep_the_agent_from_working() {
    let site = site(false).await;
    let made = token(&site).await;
    let (fra, status, _) = join(&site, &made, "fra-1").await;
    assert_eq!(status, StatusCode::OK);
    let stranger =
        |id: &str| Agent { id: id.into(), key: KeyPair::generate().unwrap(), server_key: String::new() };
    let (home, away) = ("192.0.2.1", "198.51.100.7");
    let flood = |who: Vec<Agent>, address: &'static str, path: &'static str| {
        let site = &site;
        async move {
            let body = poll();
            let sent = who.iter().map(|a| send_from(site, a, address, (path, stamp(), &body)));
            futures::future::join_all(sent)
                .await
                .into_iter()
                .map(|(code, _, _)| code.as_u16())
                .collect::<Vec<_>>()
        }
    };
    // Wrong signatures in the agent's name, unknown identities, and requests to join: each bounded by their network.
    let in_its_name = flood((0..200).map(|_| stranger("fra-1")).collect(), away, "/agent/v1/poll").await;
    assert!(
        in_its_name.iter().all(|c| [403, 429].contains(c)) && in_its_name.contains(&429),
        "{in_its_name:?}"
    );
    let unknown = (0..200).map(|n| stranger(&format!("x-{n}"))).collect();
    let unknown = flood(unknown, "2001:db8::1", "/agent/v1/poll").await;
    assert!(unknown.iter().all(|c| [403, 429].contains(c)) && unknown.contains(&429), "{unknown:?}");
    let joins = flood((0..200).map(|_| stranger("")).collect(), "2001:db8:1::1", "/agent/v1/join").await;
    assert!(joins.iter().all(|c| [400, 429].contains(c)) && joins.contains(&429), "{joins:?}");
    // The agent works on, also from the network of the strangers; another one joins.
    for address in [home, away] {
        flood((0..50).map(|_| stranger("fra-1")).collect(), away, "/agent/v1/poll").await;
        let (status, said, _) = send_from(&site, &fra, address, ("/agent/v1/poll", stamp(), &poll())).await;
        assert_eq!(status, StatusCode::OK, "{address}: {said}");
    }
    let (_, status, said) = join(&site, &token(&site).await, "gru-1").await;
    assert_eq!(status, StatusCode::OK, "{said}");
    assert_eq!(ids(&site).await, ["fra-1", "gru-1"]);
}

#[tokio::test]
async fn a_flood_before_the_first_request_of_an_agent_does_not_keep_it_out() {
    let site = site(false).await;
    // A member that this process has not met, as all are after a restart.
    let key = KeyPair::generate().unwrap();
    let (made, now) = (token(&site).await, Timestamp::now());
    let secret = Secret::read(SecretKind::AgentJoin, &made.secret).unwrap();
    let row = store::Agent {
        id: "fra-1".into(),
        region: "eu-central".into(),
        key: key.public(),
        version: "0.1.0".into(),
        protocol: 1,
        joined_at: now,
        seen_at: now,
        first_answer_at: None,
        latency_ms: None,
        latency: Default::default(),
        running: 0,
        draining: false,
    };
    let joined = site.scanner.store.join_agent(secret.hash().as_str(), &row, now).await.unwrap();
    assert_eq!(joined, store::JoinOutcome::Joined);
    let fra = Agent { id: "fra-1".into(), key, server_key: made.server_key.clone() };
    let thief = Agent { id: "fra-1".into(), key: KeyPair::generate().unwrap(), server_key: String::new() };
    let two = token(&site).await;
    let body = poll();
    for path in ["/agent/v1/poll", "/agent/v1/join"] {
        let sent = (0..300).map(|_| send(&site, &thief, path, stamp(), &body));
        let codes: Vec<u16> =
            futures::future::join_all(sent).await.iter().map(|(code, _, _)| code.as_u16()).collect();
        assert!(codes.contains(&429), "{path}: {codes:?}");
    }
    // From the network of the flood, in the same second.
    let (status, said, _) = send(&site, &fra, "/agent/v1/poll", stamp(), &body).await;
    assert_eq!(status, StatusCode::OK, "{said}");
    let (_, status, said) = join(&site, &two, "gru-1").await;
    assert_eq!(status, StatusCode::OK, "{said}");
    // A request to join is short.
    let (status, said, _) = send(&site, &fra, "/agent/v1/join", stamp(), &vec![b' '; 9 << 10]).await;
    assert!(status == 400 && said["detail"].to_string().contains("8192 octets"), "{said}");
}

#[tokio::test]
async fn without_a_set_there_is_nothing_to_join() {
    let site = site(false).await;
    let made = token(&site).await;
    let path = "/apis/datumapis.com/v1alpha/clusterclaims/clusterset.k8s.io";
    let (status, said) = site.api("DELETE", path, Value::Null).await;
    assert_eq!(status, 200, "{said}");
    let (_, status, said) = join(&site, &made, "fra-1").await;
    assert!(
        status == StatusCode::CONFLICT && said["detail"].to_string().contains("no set"),
        "{status} {said}"
    );
    assert!(ids(&site).await.is_empty());
    // Another token makes the set; the first one is still unused.
    let two = token(&site).await;
    for (made, id) in [(&made, "fra-1"), (&two, "gru-1")] {
        let (_, status, said) = join(&site, made, id).await;
        assert_eq!(status, StatusCode::OK, "{said}");
    }
}

#[tokio::test]
async fn only_answers_to_what_was_asked_are_taken() {
    let site = site(false).await;
    let (fra, status, _) = join(&site, &token(&site).await, "fra-1").await;
    let (gru, also, _) = join(&site, &token(&site).await, "gru-1").await;
    assert_eq!((status, also), (StatusCode::OK, StatusCode::OK));
    let question = Question::Authority { name: "www.q7.io".into(), rtype: "A".into() };
    let text = serde_json::to_string(&question).unwrap();
    let soon = Timestamp::now() + jiff::SignedDuration::from_secs(60);
    let store = &site.scanner.store;
    store.ask_agent("fra-1", "q1", &text, soon).await.unwrap();
    let answer = |work: &str, answer: Answer| bytes(&AnswerSent { work: work.into(), answer });
    let failed = || Answer::Failed { reason: "no route".into() };
    let put = |agent, body: Vec<u8>| {
        let site = &site;
        async move {
            let (status, said, _) = send(site, agent, "/agent/v1/answer", stamp(), &body).await;
            (status.as_u16(), said["detail"].to_string())
        }
    };
    assert_eq!(put(&fra, answer("q1", failed())).await.0, 404, "not handed out yet");
    let (_, reply, _) = send(&site, &fra, "/agent/v1/poll", stamp(), &poll()).await;
    let work: PollReply = serde_json::from_value(reply).unwrap();
    assert_eq!((work.work.len(), &work.work[0].question), (1, &question));
    assert_eq!(put(&gru, answer("q1", failed())).await.0, 404, "another agent was asked");
    assert_eq!(put(&fra, answer("q9", failed())).await.0, 404, "no agent was asked");
    let other = json!({ "work": "q1", "answer": { "answer": "authority", "seen": {
        "name": "evil.example", "type": "A", "zone": "evil.example", "outcome": "serves", "aliases": [], "records": [],
        "ttl": null, "negative_ttl": null, "soa": null, "servers": [], "agree": true,
        "asked_at": "2026-11-20T12:00:00Z", "notes": [], "sentence": "" } } });
    let (code, words) = put(&fra, bytes(&other)).await;
    assert!(code == 400 && words.contains("evil.example"), "{code} {words}");
    assert_eq!(put(&fra, vec![b'x'; 2 << 20]).await.0, 400, "too large");
    // An answer to another question of the right agent, with nothing in it or with what no name can hold.
    let host = serde_json::to_string(&Question::Host { name: "www.q7.io".into() }).unwrap();
    store.ask_agent("fra-1", "h1", &host, soon).await.unwrap();
    send(&site, &fra, "/agent/v1/poll", stamp(), &poll()).await;
    let seen = |chain: Value| {
        json!({ "work": "h1", "answer": { "answer": "host", "seen": {
            "id": "fra-1", "label": "fra-1", "place": null, "kind": "agent", "chain": chain, "answers": [],
            "latency_ms": 1.0, "asked_at": "2026-11-20T12:00:00Z", "error": null } } })
    };
    let (code, words) = put(&fra, bytes(&seen(json!([])))).await;
    assert!(code == 400 && words.contains("neither what was seen"), "{code} {words}");
    let step = json!([{ "owner": "www.q7.io", "zone": "q7.io", "target": "a\u{1b}[2J.example", "answers": [], "ttl": 60,
        "soa": null, "servers": [], "agree": true, "provider": null, "wildcard": null }]);
    let (code, words) = put(&fra, bytes(&seen(step))).await;
    assert!(code == 400 && words.contains("control characters"), "{code} {words}");
    assert_eq!(store.agent_answer("h1").await.unwrap(), None);
    assert_eq!(store.agent_answer("q1").await.unwrap(), None, "nothing was stored");
    assert_eq!(put(&fra, answer("q1", failed())).await.0, 200);
    assert_eq!(put(&fra, answer("q1", failed())).await.0, 409, "once");
    assert!(store.agent_answer("q1").await.unwrap().unwrap().contains("no route"));
    // A flood ends in 429.
    let codes = futures::future::join_all((0..200).map(|_| put(&fra, answer("q9", failed())))).await;
    assert!(codes.iter().any(|(code, _)| *code == 429), "{codes:?}");
}

#[tokio::test]
async fn an_agent_that_was_not_heard_of_for_three_polls_is_offline() {
    let site = site(false).await;
    let made = token(&site).await;
    assert_eq!(join(&site, &made, "fra-1").await.1, 200);
    let state = async |seconds| {
        let at = Timestamp::now() + jiff::SignedDuration::from_secs(seconds);
        let report = product::fleet_report(&*site.scanner.store, at).await.unwrap();
        report.agents.iter().map(|a| a.state).collect::<Vec<_>>()
    };
    assert_eq!(state(30).await, [service::AgentState::Online]);
    assert_eq!(state(50).await, [service::AgentState::Offline]);
    // One that said that it stops has stopped; that is no fault.
    let fra = site.scanner.store.agent("fra-1").await.unwrap().unwrap();
    let drains = store::AgentReport {
        id: fra.id,
        version: fra.version,
        protocol: fra.protocol,
        seen_at: fra.seen_at,
        latency_ms: None,
        running: 0,
        draining: true,
    };
    assert!(site.scanner.store.agent_seen(&drains, stamp()).await.unwrap());
    assert_eq!(state(30).await, [service::AgentState::Draining]);
    assert_eq!(state(50).await, [service::AgentState::Stopped]);
    let (status, said) = site.api("GET", "/api/v1/fleet", Value::Null).await;
    assert!(status == 200 && said["protocols"] == json!([fleet::OLDEST_PROTOCOL, fleet::PROTOCOL]), "{said}");
}

#[tokio::test]
async fn a_frozen_agent_of_version_1_is_understood() {
    let site = site(false).await;
    let made = token(&site).await;
    let key = KeyPair::generate().unwrap();
    let agent = Agent { id: String::new(), server_key: made.server_key.clone(), key };
    // What the first version sends, with a field that this one does not know.
    let body = format!(
        r#"{{"protocol":1,"token":"{}","version":"0.1.0","key":"{}","future":true}}"#,
        made.secret,
        agent.key.public()
    );
    let (status, said, _) = send(&site, &agent, "/agent/v1/join", stamp(), body.as_bytes()).await;
    assert_eq!(status, 200, "{said}");
    let agent = Agent { id: said["id"].as_str().unwrap().to_string(), ..agent };
    assert_eq!(agent.id.len(), 36, "a UUID of the server");
    let body = br#"{"protocol":1,"version":"0.1.0","running":0,"capacity":1}"#;
    let (status, said, _) = send(&site, &agent, "/agent/v1/poll", stamp(), body).await;
    assert!(status == 200 && said["work"].is_array(), "{said}");
    // It is not asked what came with version 2, which it could not read.
    let (status, said) = site.api("GET", "/api/v1/readiness?name=www.q7.io", Value::Null).await;
    let old = &said["places"][1];
    assert!(status == 200 && old["id"] == agent.id.as_str(), "{said}");
    assert!(old["error"].as_str().unwrap().contains("update the agent"), "{said}");
    let body = format!(r#"{{"protocol":0,"token":"{}","version":"0.0.1","key":"k"}}"#, made.secret);
    let (status, said, _) = send(&site, &agent, "/agent/v1/join", stamp(), body.as_bytes()).await;
    assert!(status == 400 && said["detail"].to_string().contains("update the agent"), "{said}");
}

#[tokio::test]
async fn an_agent_of_a_later_version_is_understood_and_asked_what_both_know() {
    let site = site(false).await;
    let made = token(&site).await;
    let key = KeyPair::generate().unwrap();
    let agent = Agent { id: String::new(), server_key: made.server_key.clone(), key };
    let body = format!(
        r#"{{"protocol":{},"token":"{}","id":"new-1","version":"9.0.0","key":"{}","capabilities":["weather"]}}"#,
        fleet::PROTOCOL + 1,
        made.secret,
        agent.key.public()
    );
    let (status, said, _) = send(&site, &agent, "/agent/v1/join", stamp(), body.as_bytes()).await;
    assert_eq!((status.as_u16(), said["protocol"].as_u64()), (200, Some(fleet::PROTOCOL.into())), "{said}");
    let agent = Agent { id: "new-1".into(), ..agent };
    let question = Question::Web { name: "www.q7.io".into(), path: "/".into() };
    let text = serde_json::to_string(&question).unwrap();
    let soon = Timestamp::now() + jiff::SignedDuration::from_secs(60);
    site.scanner.store.ask_agent("new-1", "w1", &text, soon).await.unwrap();
    let body = format!(
        r#"{{"protocol":{},"version":"9.0.0","running":0,"capacity":1,"moon":1}}"#,
        fleet::PROTOCOL + 1
    );
    let (_, said, _) = send(&site, &agent, "/agent/v1/poll", stamp(), body.as_bytes()).await;
    assert_eq!(said["work"][0]["question"]["ask"], "web", "{said}");
    // An answer of a kind that this version does not know is refused, with nothing stored.
    let body = json!({ "work": "w1", "answer": { "answer": "weather", "rain": true } });
    let (status, said, _) = send(&site, &agent, "/agent/v1/answer", stamp(), &bytes(&body)).await;
    assert_eq!(status, 400, "{said}");
    // One about another host too.
    let hops = |url: &str| json!({ "hops": [{ "url": url, "status": 200 }], "hsts": null, "alt_svc": null });
    let body = json!({ "work": "w1", "answer": { "answer": "web", "seen": {
        "host": "www.q7.io", "path": "/", "https": hops("https://evil.example/"), "http": hops("http://www.q7.io/"),
        "latency_ms": 1.0, "asked_at": "2026-11-20T12:00:00Z" } } });
    let (status, said, _) = send(&site, &agent, "/agent/v1/answer", stamp(), &bytes(&body)).await;
    assert!(status == 400 && said["detail"].to_string().contains("evil.example"), "{said}");
    assert_eq!(site.scanner.store.agent_answer("w1").await.unwrap(), None);
}
