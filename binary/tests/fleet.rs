//! A point of presence as a process of its own: joins with a one-time token, looks at the lab from there, goes on after a
//! restart, drains at SIGTERM, and is refused once it is revoked.

mod support;

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use support::{Running, program, text};

/// Generous: two cores that others use too.
const LIMIT: Duration = Duration::from_secs(60);

/// Starts it and reads its standard output until a line holds `text`.
fn running(mut command: Command, text: &str) -> (Running, Vec<String>) {
    command.stderr(Stdio::null());
    Running::until(command, text)
}

/// Its exit code after SIGTERM.
fn stop(mut running: Running) -> i32 {
    running.signal("TERM");
    running.ends_within(LIMIT)
}

/// Status and JSON of an answer. A visitor of the demo is local as long as nothing hints at a proxy.
fn ask(at: &str, method: &str, path: &str) -> (u16, serde_json::Value) {
    let (status, body) = support::ask(at, method, path, at);
    (status, serde_json::from_str(&body).unwrap_or(serde_json::Value::String(body)))
}

fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < LIMIT, "{what} within {LIMIT:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn agent(at: &str, engine: &Path, state: &Path, more: &[&str]) -> Command {
    let mut command = program();
    command.args(["agent", "--join"]).arg(format!("http://{at}/")).arg("--state").arg(state);
    command.arg("--config").arg(engine).args(more);
    command
}

#[test]
fn a_point_of_presence_joins_looks_resumes_and_is_revoked() {
    let folder = tempfile::tempdir().unwrap();
    let mut serve = program();
    serve.args(["serve", "--demo", "--listen", "127.0.0.1:0", "--cluster-id", "alder-main", "--data"]);
    serve.arg(folder.path());
    let (server, lines) = running(serve, "Stop");
    let line = lines.iter().find(|l| l.contains("Open")).unwrap();
    let at = line.split_once("http://").unwrap().1.trim().to_string();
    let engine = folder.path().join("lab/engine.toml");
    let token = || -> String {
        let out: Output =
            program().args(["admin", "join-token", "--data"]).arg(folder.path()).output().unwrap();
        assert!(out.status.success(), "{}", text(&out.stderr));
        text(&out.stdout).trim().to_string()
    };
    let online = |id: &str| {
        let fleet = ask(&at, "GET", "/api/v1/fleet").1;
        let agents = fleet["agents"].as_array().cloned().unwrap_or_default();
        agents.into_iter().find(|a| a["id"] == id && a["state"] == "online")
    };
    // The demo has a point of presence of its own.
    until("the demo's own agent is online", || online("lab-2"));

    let first = token();
    let state = folder.path().join("fra-1.json");
    let join = ["--id", "fra-1", "--region", "eu-central", "--token", &first];
    let (process, _) = running(agent(&at, &engine, &state, &join), "Point of presence fra-1");
    let seen = until("fra-1 is online", || online("fra-1"));
    assert_eq!((seen["region"].as_str(), seen["protocol"].as_i64()), (Some("eu-central"), Some(3)));
    let fleet = ask(&at, "GET", "/api/v1/fleet").1;
    assert_eq!((fleet["id"].as_str(), fleet["set"].as_str()), (Some("alder-main"), Some("alder-main-fleet")));

    // The answer to its request was lost: the file still says that it joins. Repeated, it is the same member.
    let kept = std::fs::read_to_string(&state).unwrap();
    assert!(!kept.contains("dsj_"), "the token is of no use any more");
    drop(process);
    let mut joining: serde_json::Value = serde_json::from_str(&kept).unwrap();
    (joining["token"], joining["server"], joining["set"]) = (first.clone().into(), "".into(), "".into());
    std::fs::write(&state, joining.to_string()).unwrap();
    let (process, _) = running(agent(&at, &engine, &state, &[]), "Point of presence fra-1");
    assert_eq!(std::fs::read_to_string(&state).unwrap(), kept);
    // What can't be kept is not asked for: the token is still unused.
    let token_of_gru = token();
    let join = ["--id", "gru-1", "--token", &token_of_gru];
    let out = agent(&at, &engine, &folder.path().join("none/gru-1.json"), &join).output().unwrap();
    assert!(!out.status.success() && text(&out.stderr).contains("still unused"), "{}", text(&out.stderr));
    // A server that is away: the key is kept, and the process that comes next joins with it.
    let gru = folder.path().join("gru-1.json");
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let mut away = agent(&nobody, &engine, &gru, &join);
    let away = Running(away.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    until("the key is kept", || std::fs::read_to_string(&gru).ok().filter(|kept| kept.contains("dsj_")));
    drop(away);
    let (came, _) = running(agent(&at, &engine, &gru, &[]), "Point of presence gru-1");
    until("gru-1 is online", || online("gru-1"));
    drop(came);
    assert_eq!(ask(&at, "DELETE", "/api/v1/fleet/gru-1").0, 200);

    // A used token, an identity that exists (the token stays unused), and one that is no token.
    let other = folder.path().join("other.json");
    let refused = |more: &[&str]| {
        let out = agent(&at, &engine, &other, more).output().unwrap();
        assert!(!other.exists(), "nothing is kept");
        (out.status.code(), text(&out.stderr))
    };
    let (code, words) = refused(&["--id", "gru-1", "--token", &first]);
    assert!(code == Some(3) && words.contains("used or expired"), "{words}");
    let second = token();
    let (code, words) = refused(&["--id", "fra-1", "--token", &second]);
    assert!(code == Some(3) && words.contains("Join as fra-2"), "{words}");
    let (code, words) = refused(&["--id", "gru-1", "--token", "dst_x"]);
    assert!(code == Some(2) && words.contains("--token"), "{words}");
    let (code, words) = refused(&["--id", "Gru 1", "--token", &second]);
    assert!(code == Some(2) && words.contains("RFC 1123"), "{words}");

    // Real questions to the lab's name servers, from the other process.
    let report = ask(&at, "GET", "/api/v1/fqdn?name=www.q7.io").1;
    let of = |report: &serde_json::Value| {
        let vantages = report["vantages"].as_array().cloned().unwrap_or_default();
        vantages.into_iter().find(|v| v["id"] == "fra-1")
    };
    let vantage = of(&report).unwrap_or_else(|| panic!("{report}"));
    assert!(vantage["error"].is_null() && vantage["latency_ms"].is_number(), "{vantage}");
    assert!(!vantage["chain"].as_array().unwrap().is_empty(), "{vantage}");

    // What the authoritative servers say and what resolvers have cached, as that process sees them.
    let places = ask(&at, "GET", "/api/v1/places?name=orchard.example&type=A").1;
    let there = places["places"]
        .as_array()
        .unwrap_or_else(|| panic!("{places}"))
        .iter()
        .find(|p| p["id"] == "fra-1")
        .unwrap();
    assert_eq!(there["authority"]["name"], "orchard.example", "{there}");
    let caches = there["caches"].as_array().unwrap_or_else(|| panic!("{there}"));
    let verdict = |wanted: &str| caches.iter().filter(|c| c["verdict"].to_string().contains(wanted)).count();
    assert!(verdict("\"same\"") > 0 && verdict("\"same\"") < caches.len(), "{there}");
    // A name that is denied would be cached as denied there: the resolvers are not asked.
    let places = ask(&at, "GET", "/api/v1/places?name=not-there.q7.io&type=A").1;
    assert!(
        places["places"][1]["authority"].is_object() && places["places"][1].get("caches").is_none(),
        "{places}"
    );

    // A web server, from each place: the page, the API and the command line say the same.
    let web = ask(&at, "GET", "/api/v1/readiness?name=pop-17.harborcdn.example").1;
    let sentence = web["sentence"].as_str().unwrap_or_default();
    assert!(sentence.starts_with("Ready over HTTPS from all 3 places"), "{web}");
    let mut probe = program();
    probe.args(["probe", "pop-17.harborcdn.example", "--places", "--json", "--data"]).arg(folder.path());
    let out = probe.arg("--config").arg(&engine).output().unwrap();
    let seen: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap_or_default();
    let ids: Vec<_> = seen["places"].as_array().unwrap().iter().map(|p| p["id"].clone()).collect();
    assert_eq!(ids, ["local", "fra-1", "lab-2"], "{seen} {}", text(&out.stderr));
    let from_there = &seen["places"][1]["seen"]["https"]["hops"][0];
    assert_eq!(from_there["url"], "https://pop-17.harborcdn.example/", "{seen}");
    assert!(from_there["status"] == 200 && out.status.code() == Some(0), "{seen}");
    // What is no path is refused before anything is asked.
    let web = ask(&at, "GET", "/api/v1/readiness?name=www.kestrel-bank.example&path=x").1;
    assert!(web["detail"].as_str().unwrap().contains("must begin with one slash"), "{web}");

    // It ends on SIGTERM, restarts, and goes on with its key and no token.
    assert_eq!(stop(process), 0);
    let fleet = ask(&at, "GET", "/api/v1/fleet").1;
    let stopped = fleet["agents"].as_array().unwrap().iter().find(|a| a["id"] == "fra-1").cloned();
    assert_eq!(stopped.unwrap()["state"], "draining", "it said so: it will count as stopped, not as offline");
    let (process, _) = running(agent(&at, &engine, &state, &[]), "Point of presence fra-1");
    until("fra-1 answers again", || {
        of(&ask(&at, "GET", "/api/v1/fqdn?name=www.q7.io").1).filter(|v| v["error"].is_null())
    });

    // A question under way at SIGTERM is answered before it ends: these name servers take a second each.
    let asked = std::thread::spawn({
        let at = at.clone();
        move || ask(&at, "GET", "/api/v1/fqdn?name=www.tortoise.example").1
    });
    until("fra-1 works on it", || {
        let fleet = ask(&at, "GET", "/api/v1/fleet").1;
        let agents = fleet["agents"].as_array().cloned().unwrap_or_default();
        agents.into_iter().find(|a| a["id"] == "fra-1" && a["queue"].as_u64() > Some(0))
    });
    assert_eq!(stop(process), 0);
    let report = asked.join().unwrap();
    let vantage = of(&report).unwrap_or_else(|| panic!("{report}"));
    let reason = vantage["error"].as_str().unwrap_or_default();
    assert!(!reason.contains("no answer within"), "{vantage}");
    assert!(vantage["latency_ms"].is_number() || !reason.is_empty(), "{vantage}");

    // The server stops and starts again: the agent tries again with growing pauses, and is online without a word.
    let (process, _) = running(agent(&at, &engine, &state, &[]), "Point of presence fra-1");
    until("fra-1 is online", || online("fra-1"));
    assert_eq!(stop(server), 0);
    let mut serve = program();
    serve.args(["serve", "--demo", "--listen", &at, "--data"]).arg(folder.path());
    let (server, _) = running(serve, "Stop");
    let stale = until("the fleet is listed", || online("fra-1"))["seen_at"].clone();
    until("fra-1 is back", || online("fra-1").filter(|a| a["seen_at"] != stale));

    // Revoked: its key is refused, and it is not asked any more.
    assert_eq!(ask(&at, "DELETE", "/api/v1/fleet/fra-1").0, 200);
    assert!(of(&ask(&at, "GET", "/api/v1/fqdn?name=www.q7.io").1).is_none());
    drop(process);
    drop(server);
}
