//! What receives the posts: schemas that services publish, and servers that verify signatures and answer.

use crate::{body, message, messages, now};
use jiff::Timestamp;
use model::notify::{Channel, Target};
use notify::{Deliverer, Message};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

/// The interpreter that `cargo xtask setup` installs the services' own packages for. It must be there in CI.
fn python() -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").filter(|v| !v.is_empty()).map(PathBuf::from);
    let cache = cache.or_else(|| Some(std::env::home_dir()?.join(".cache")))?;
    let python = cache.join("domainscope/tools/python/bin/python");
    // Of the package of cards only the schemas are used.
    let imports = "import standardwebhooks, slack_sdk, jsonschema, importlib.util as u; assert u.find_spec('adaptive_cards')";
    let there = Command::new(&python).args(["-c", imports]).output();
    if there.is_ok_and(|out| out.status.success()) {
        return Some(python);
    }
    let words = "Python packages of the services are missing: cargo xtask setup installs them";
    assert!(std::env::var_os("CI").is_none(), "{words}");
    println!("SKIPPED in part: {words}");
    None
}

#[test]
fn what_the_services_publish_accepts_the_payloads() {
    let Some(python) = python() else { return };
    let url = || "https://hooks.example/x".to_string();
    let mut payloads = Vec::new();
    for m in messages() {
        payloads.push(("slack", body(&Target::Slack { url: url() }, &m).1));
        payloads.push(("teams", body(&Target::Teams { url: url() }, &m).1));
    }
    // Two that break a rule each: the judges do judge.
    let (mut slack, mut teams) = (payloads[0].1.clone(), payloads[1].1.clone());
    slack["blocks"][0]["text"]["text"] = "x".repeat(151).into();
    teams["attachments"][0]["content"]["body"][0]["weight"] = "huge".into();
    payloads.extend([("slack", slack), ("teams", teams)]);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/posts/judge.py");
    let mut judge = Command::new(python);
    let mut judge = judge.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    serde_json::to_writer(judge.stdin.take().unwrap(), &payloads).unwrap();
    let out = judge.wait_with_output().unwrap();
    assert!(out.status.success());
    let complaints: Vec<Vec<String>> = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(complaints.len(), payloads.len());
    for ((service, payload), found) in payloads.iter().zip(&complaints).take(payloads.len() - 2) {
        assert!(found.is_empty(), "{service}: {found:?} in {payload}");
    }
    assert!(complaints[complaints.len() - 2..].iter().all(|found| !found.is_empty()), "{complaints:?}");
}

struct Sink {
    child: Child,
    out: BufReader<ChildStdout>,
    port: u16,
}

impl Sink {
    fn start(arguments: &[&str]) -> Sink {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/posts/sink.py");
        let mut command = Command::new(python().unwrap_or_else(|| "python3".into()));
        let mut child = command.arg(script).args(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        Sink { child, out, port: line.trim().parse().unwrap() }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/in?x=1", self.port)
    }

    fn request(&mut self) -> Value {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn deliverer(allow_private: bool) -> Deliverer {
    let settings = net::Settings { allow_private, ..net::Settings::default() };
    Deliverer::new(net::Dialer::new(settings).unwrap(), None, None)
}

fn channel(target: Target) -> Channel {
    Channel { id: "c".into(), name: "C".into(), target, created_at: now() }
}

#[test]
fn messages_and_feeds_say_which_installation_they_are_of() {
    let m = message(1);
    let sent = m.sent_by(&[]);
    assert!(sent.ends_with(" of alder-main (alder-fleet)."), "{sent}");
    let to = ["ops@alder.example".to_string()];
    let text = m.text(&to);
    assert!(text.contains(&format!("\n-- \n{}", m.sent_by(&to))), "{text}");
    let alone = Message { clusterset: String::new(), rules: vec![], ..m.clone() };
    assert_eq!(alone.sent_by(&[]), "Sent by Domainscope of alder-main.");
    let source = notify::AtomSource { title: "Events", id: "f", made: now(), base: None };
    let text = notify::atom(&source, &m.parts[0].events);
    for wanted in [
        "<category scheme=\"tag:id.k8s.io,2020:claim\" term=\"alder-main\"/>",
        "<category scheme=\"tag:clusterset.k8s.io,2020:claim\" term=\"alder-fleet\"/>",
    ] {
        assert!(text.contains(wanted), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_is_signed_so_that_another_implementation_verifies_it() {
    let secret = notify::new_secret([9; 32]);
    // The library compares the time of the signature with its own clock.
    let at = Timestamp::now();
    let mut sink = Sink::start(&["204", &secret]);
    let hook = channel(Target::Webhook { url: sink.url(), secret });
    let cluster = notify::Cluster { id: "alder-main".into(), set: "alder-fleet".into() };
    let answer = deliverer(true).with_cluster(cluster).send(&hook, &message(3), &[], at).await.unwrap();
    assert!(answer.starts_with("204 No Content in "), "{answer}");
    let seen = sink.request();
    assert_eq!(seen["verified"], true);
    assert_eq!(seen["headers"]["x-domainscope-cluster"], "alder-main");
    assert_eq!(seen["headers"]["x-domainscope-clusterset"], "alder-fleet");
    assert_ne!(seen["library"], false);
    assert_eq!((&seen["headers"]["webhook-id"], &seen["path"]), (&"channel-1-7".into(), &"/in?x=1".into()));
    assert_eq!(seen["headers"]["webhook-timestamp"], at.as_second().to_string());
    let data = &seen["body"]["data"];
    assert_eq!((&seen["body"]["type"], &data["severity"]), (&"domain.events".into(), &"critical".into()));
    assert_eq!(data["domains"][0]["events"].as_array().unwrap().len(), 3);
    let event = &data["domains"][0]["events"][0];
    assert_eq!((&event["cluster"], &event["clusterset"]), (&"alder-main".into(), &"alder-fleet".into()));
    assert_eq!((&data["cluster"], &data["clusterset"]), (&"alder-main".into(), &"alder-fleet".into()));
    // Another secret does not verify.
    let mut other = Sink::start(&["200", &notify::new_secret([8; 32])]);
    let hook = channel(Target::Webhook { url: other.url(), secret: notify::new_secret([9; 32]) });
    deliverer(true).send(&hook, &message(1), &[], at).await.unwrap();
    let seen = other.request();
    assert_eq!(seen["verified"], false);
    assert_ne!(seen["library"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_say_whether_another_attempt_makes_sense() {
    for (status, permanent, after, words) in [
        ("400", true, None, "400 Bad Request: ok"),
        ("401", true, None, "replace it"),
        ("404", true, None, "does not exist any more"),
        ("302", true, None, "redirects"),
        ("429", false, Some(120), "429 Too Many Requests"),
        ("503", false, None, "503 Service Unavailable"),
    ] {
        let sink = Sink::start(&[status]);
        let slack = channel(Target::Slack { url: sink.url() });
        let e = deliverer(true).send(&slack, &message(1), &[], now()).await.unwrap_err();
        assert_eq!(
            (e.permanent, e.retry_after),
            (permanent, after.map(Duration::from_secs)),
            "{status}: {e:?}"
        );
        assert!(e.reason.contains(words), "{status}: {e:?}");
    }
    // A target inside is never dialled.
    let sink = Sink::start(&["200"]);
    let e = deliverer(false)
        .send(&channel(Target::Slack { url: sink.url() }), &message(1), &[], now())
        .await
        .unwrap_err();
    assert!(e.permanent && e.reason.contains("127.0.0.1"), "{e:?}");
}
