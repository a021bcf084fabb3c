//! The program as people and scripts meet it: exit codes, which stream says what, colour, closed pipes, wrong input,
//! one server a folder, and how it stops. A lab of its own is underneath.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_domainscope"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("DOMAINSCOPE_") {
            command.env_remove(name);
        }
    }
    for name in ["NO_COLOR", "CLICOLOR_FORCE", "CLICOLOR", "RUST_BACKTRACE"] {
        command.env_remove(name);
    }
    command.stdin(Stdio::null());
    command
}

/// Killed when the test is over, however it ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    /// Starts it and reads its standard output until a line holds `text`.
    fn until(mut command: Command, text: &str) -> (Running, Vec<String>) {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = Vec::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let running = Running(child);
        loop {
            let mut line = String::new();
            assert_ne!(out.read_line(&mut line).unwrap(), 0, "it ended: {lines:?}");
            let found = line.contains(text);
            lines.push(line);
            if found {
                return (running, lines);
            }
        }
    }

    fn signal(&self, name: &str) {
        let id = self.0.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
    }

    /// The exit code, when it comes within the time.
    fn ends_within(&mut self, limit: Duration) -> Option<i32> {
        let start = Instant::now();
        loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                return Some(status.code().unwrap_or(-1));
            }
            assert!(start.elapsed() < limit, "still running after {limit:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

struct Lab {
    _running: Running,
    folder: tempfile::TempDir,
}

impl Lab {
    fn start() -> Lab {
        let folder = tempfile::tempdir().unwrap();
        let mut command = program();
        command.args(["lab", "start", "small", "--state"]).arg(folder.path());
        let (running, _) = Running::until(command, "Stop with Ctrl-C");
        Lab { _running: running, folder }
    }

    fn engine(&self) -> PathBuf {
        self.folder.path().join("engine.toml")
    }

    /// A domain of the scenario that is registered.
    fn domain(&self) -> String {
        let text = std::fs::read_to_string(self.folder.path().join("endpoints.json")).unwrap();
        let at: serde_json::Value = serde_json::from_str(&text).unwrap();
        at["domains"][0].as_str().unwrap().to_string()
    }

    fn run(&self, args: &[&str]) -> Output {
        program().args(args).arg("--config").arg(self.engine()).output().unwrap()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const ESCAPE: char = '\u{1b}';

#[test]
fn every_command_answers_people_and_programs() {
    let lab = Lab::start();
    let name = lab.domain();
    for command in ["scan", "trace", "check", "fqdn", "compare"] {
        let words = lab.run(&[command, &name]);
        let code = words.status.code().unwrap();
        assert!(code <= 1, "{command}: {code} {}", text(&words.stderr));
        let shown = text(&words.stdout);
        assert!(shown.contains(&name) && !shown.contains(ESCAPE) && !shown.contains('\r'), "{command}");
        assert!(shown.lines().all(|l| l == l.trim_end()), "{command} leaves blanks behind lines: {shown:?}");
        assert_eq!(text(&words.stderr), "", "{command}: no one watches, nothing is told");

        let json = lab.run(&[command, &name, "--json"]);
        assert_eq!(json.status.code(), Some(code), "{command}: one verdict in both forms");
        assert!(serde_json::from_slice::<serde_json::Value>(&json.stdout).is_ok(), "{command}: one document");

        let forced = |variables: &[(&str, &str)]| {
            let mut c = program();
            c.args([command, &name, "--config"]).arg(lab.engine()).envs(variables.iter().copied());
            text(&c.output().unwrap().stdout)
        };
        assert!(forced(&[("CLICOLOR_FORCE", "1")]).contains(ESCAPE), "{command}");
        assert!(!forced(&[("NO_COLOR", "1")]).contains(ESCAPE), "{command}");
    }
    let idn = text(&lab.run(&["trace", "MÜNCHEN.Example."]).stdout);
    assert!(idn.starts_with("münchen.example (xn--mnchen-3ya.example) A\n"), "{idn}");
}

/// Keys of a JSON document, but for those that are names of others (arguments of Zonemaster's tags, fields by source).
fn keys(value: &serde_json::Value, into: &mut std::collections::BTreeSet<String>) {
    match value {
        serde_json::Value::Object(map) => {
            for (key, value) in map {
                into.insert(key.clone());
                if !matches!(key.as_str(), "args" | "provenance") {
                    keys(value, into);
                }
            }
        }
        serde_json::Value::Array(list) => list.iter().for_each(|value| keys(value, into)),
        _ => {}
    }
}

#[test]
fn every_key_is_documented() {
    let lab = Lab::start();
    let documents = include_str!("../../docs/cli.md");
    let words: std::collections::HashSet<&str> =
        documents.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    let name = lab.domain();
    for command in [&["scan", "--raw"][..], &["trace"], &["check"], &["fqdn"], &["compare"]] {
        let said = lab.run(&[&[command[0], &name, "--json"][..], &command[1..]].concat());
        let mut found = std::collections::BTreeSet::new();
        keys(&serde_json::from_slice(&said.stdout).unwrap(), &mut found);
        let unknown: Vec<_> = found.iter().filter(|k| !words.contains(k.as_str())).collect();
        assert!(unknown.is_empty(), "{}: docs/cli.md does not know {unknown:?}", command[0]);
    }
}

#[test]
fn wrong_input_is_said_on_standard_error_with_exit_code_two() {
    let cases: &[(&[&str], &str)] = &[
        (&[], "Usage:"),
        (&["scna", "q7.io"], "similar subcommand"),
        (&["scan"], "<NAME>"),
        (&["scan", "192.0.2.1"], "“192.0.2.1” is an IP address"),
        (&["scan", "a b"], "contains a space"),
        (&["trace", "q7.io", "NOTYPE"], "“NOTYPE” is no record type"),
        (&["trace", "q7.io", "--dns-port", "0"], "dns_port"),
        (&["trace", "q7.io", "--own-networks", "10.0.0.0"], "ADDRESS/LENGTH"),
        (&["check", "q7.io", "--test-case", "nocase"], "“nocase” is not a test case"),
        (&["check", "q7.io", "--ds", "1,2"], "KEYTAG,ALGORITHM,TYPE,DIGEST"),
        (&["compare", "q7.io", "--expect", "192.0.2.1"], "--watch"),
        (&["networks", "10.20.0.1/16"], "has host bits set: the prefix is 10.20.0.0/16"),
        (&["networks", "10.20.0"], "is not a prefix"),
        (&["networks", "10.20.0.0/16", "--after", "x"], "is not a position in this list"),
        (&["parse-whois", "--domain", "q7.io"], "standard input is empty"),
        (&["parse-whois", "--batch"], "standard input is empty"),
        (&["serve", "--listen", "8080"], "127.0.0.1:8080"),
        (&["serve", "--interval", "5"], "60"),
        (&["serve", "--listen", "127.0.0.1:0", "--database", "mysql://a:hunter2@h/x"], "postgres://"),
    ];
    for (args, words) in cases {
        let said = program().args(*args).output().unwrap();
        let complaint = text(&said.stderr);
        assert_eq!(said.status.code(), Some(2), "{args:?}: {complaint}");
        assert!(complaint.contains(words), "{args:?}: {complaint}");
        assert!(said.stdout.is_empty() && !complaint.contains("hunter2"), "{args:?}: {complaint}");
    }
}

#[test]
fn files_that_are_missing_or_no_good_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_string_lossy().into_owned()
    };
    let garbage = file("garbage", b"hello world, this is : not = valid\n");
    let binary = file("binary", &[0xff, 0xfe, 0, 1]);
    let empty = file("empty", b"");
    let gone = folder.path().join("gone").to_string_lossy().into_owned();
    let flags = [
        "config",
        "root-hints",
        "trust-anchor",
        "resolvers",
        "registry-limits",
        "rdap-bootstrap",
        "extra-ca",
    ];
    for flag in flags {
        for path in [&garbage, &binary, &gone] {
            let said = program().args(["compare", "q7.io", &format!("--{flag}"), path]).output().unwrap();
            let complaint = text(&said.stderr);
            assert_eq!(said.status.code(), Some(3), "--{flag} {path}: {complaint}");
            let once = complaint.matches("(os error").count() <= 1;
            assert!(complaint.contains(path.as_str()) && once, "--{flag} {path}: {complaint}");
        }
    }
    for flag in ["root-hints", "resolvers", "registry-limits", "rdap-bootstrap", "extra-ca"] {
        let said = program().args(["compare", "q7.io", &format!("--{flag}"), &empty]).output().unwrap();
        assert_eq!(said.status.code(), Some(3), "--{flag}: {}", text(&said.stderr));
        assert!(text(&said.stderr).contains("empty"), "--{flag}: {}", text(&said.stderr));
    }
}

#[test]
fn a_reader_that_leaves_and_a_disk_that_is_full() {
    let lab = Lab::start();
    let state = lab.folder.path().to_string_lossy().into_owned();
    let name = lab.domain();
    let config = lab.engine().to_string_lossy().into_owned();
    let help = ["lab", "ctl", "--state", &state, "help"];
    let trace = ["trace", &name, "--config", &config];
    for args in [&help[..], &trace[..]] {
        let mut child = program().args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""), "{args:?}");
        let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else { continue };
        let said = program().args(args).stdout(full.try_clone().unwrap()).output().unwrap();
        let complaint = text(&said.stderr);
        assert_eq!(said.status.code(), Some(3), "{args:?}: {complaint}");
        assert!(complaint.contains("standard output") && !complaint.contains("panicked"), "{complaint}");
        // Nowhere to complain either: the exit code still tells.
        let said = program().args(["scan", "a b"]).stderr(full).status().unwrap();
        assert_eq!(said.code(), Some(2));
    }
    let mut batch = program();
    batch
        .args(["parse-whois", "--batch"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = batch.spawn().unwrap();
    drop(child.stdout.take());
    let line = format!("{}\n", serde_json::json!({ "id": 1, "domain": "q7.io", "raw_path": "/nowhere" }));
    // It may be gone before it has read everything.
    let _ = child.stdin.take().unwrap().write_all(line.repeat(5_000).as_bytes());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""));
}

fn serve(lab: &Lab, data: &Path) -> Command {
    let mut command = program();
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data).arg("--config").arg(lab.engine());
    command.stderr(Stdio::null());
    command
}

#[test]
fn one_server_a_folder_and_its_link_only_where_there_is_one() {
    let lab = Lab::start();
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let link = |data: &Path| program().args(["admin", "link", "--data"]).arg(data).output().unwrap();
    let none = link(&data);
    assert_eq!(none.status.code(), Some(3));
    assert!(text(&none.stderr).contains("no installation is in") && !data.exists(), "{}", text(&none.stderr));
    let (mut first, lines) = Running::until(serve(&lab, &data), "Stop");
    let key = lines.iter().find_map(|l| l.trim().split_once("key=")).unwrap().1.to_string();
    let other = text(&link(&data).stdout);
    assert!(
        other.contains("/setup?key=dsl_") && !other.contains(&key),
        "a new one beside a server that runs: {other}"
    );
    let token = program().args(["admin", "token", "CI", "--data"]).arg(&data).output().unwrap();
    assert_eq!(token.status.code(), Some(3));
    assert!(text(&token.stderr).contains("set the installation up first"), "{}", text(&token.stderr));
    let reset = program()
        .args(["admin", "reset-link", "nobody@alder.example", "--data"])
        .arg(&data)
        .output()
        .unwrap();
    assert_eq!(reset.status.code(), Some(2));
    assert!(text(&reset.stderr).contains("no account has the address"), "{}", text(&reset.stderr));
    let second = serve(&lab, &data).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(second.status.code(), Some(3));
    assert!(text(&second.stderr).contains("another domainscope serves from"), "{}", text(&second.stderr));
    // A killed server leaves nothing in the way of the next one.
    first.signal("KILL");
    first.ends_within(Duration::from_secs(10));
    let (mut third, lines) = Running::until(serve(&lab, &data), "Stop");
    assert!(lines.iter().any(|l| l.contains("/setup?key=dsl_")), "still to be set up: {lines:?}");
    third.signal("TERM");
    assert_eq!(third.ends_within(Duration::from_secs(8)), Some(0));
}

#[test]
fn a_watch_that_is_stopped_says_what_it_saw() {
    let lab = Lab::start();
    let name = lab.domain();
    let mut command = program();
    command.args(["compare", &name, "--watch", "--expect", "192.0.2.250", "--config"]).arg(lab.engine());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = Running(command.spawn().unwrap());
    let mut told = BufReader::new(child.0.stderr.take().unwrap());
    let mut line = String::new();
    told.read_line(&mut line).unwrap();
    child.signal("INT");
    assert_eq!(child.ends_within(Duration::from_secs(10)), Some(130));
    let mut rest = String::new();
    told.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("stopped before the watch ended"), "{line}{rest}");
    let mut shown = String::new();
    child.0.stdout.take().unwrap().read_to_string(&mut shown).unwrap();
    assert!(shown.contains("Authoritative") && shown.contains(&name), "{shown}");
}

/// One request over plain HTTP; the status line and the body. The connection stays open: one that is to be closed looks
/// like a proxy's.
fn get(at: &str, path: &str, host: &str) -> (String, String) {
    let mut stream = std::net::TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    let mut answer = BufReader::new(stream);
    let (mut status, mut length) = (String::new(), 0);
    answer.read_line(&mut status).unwrap();
    loop {
        let mut line = String::new();
        answer.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    answer.read_exact(&mut body).unwrap();
    (status, text(&body))
}

#[test]
fn metrics_have_an_address_of_their_own_and_are_closed_to_strangers() {
    let lab = Lab::start();
    let folder = tempfile::tempdir().unwrap();
    let mut command = serve(&lab, folder.path());
    command.args(["--metrics-listen", "localhost:0"]);
    let (_server, lines) = Running::until(command, "Stop");
    let after = |label: &str| {
        let line = lines.iter().find(|l| l.trim_start().starts_with(label)).unwrap();
        line.split_once("http://").unwrap().1.split('/').next().unwrap().to_string()
    };
    let (pages, metrics) = (after("Set up"), after("Metrics"));
    assert!(get(&metrics, "/metrics", "anybody.example").0.contains("200"));
    assert!(get(&metrics, "/readyz", "anybody.example").0.contains("200"));
    assert!(get(&metrics, "/domains", "anybody.example").0.contains("404"));
    assert!(get(&pages, "/metrics", &pages).0.contains("200"));
    let (status, words) = get(&pages, "/metrics", "anybody.example");
    assert!(status.contains("401") && words.contains("--metrics-listen"), "{status} {words}");
}

#[test]
fn configure_says_what_to_enter_and_turns_green_once_it_is_there() {
    let lab = Lab::start();
    let name = "plain.example";
    let proof = ["configure", name, "--service", "proof", "--set", "value=x=1", "--set", "name=_proof"];
    let missing = lab.run(&proof);
    assert_eq!(missing.status.code(), Some(1), "{}", text(&missing.stderr));
    let words = text(&missing.stdout);
    for word in [
        "Ownership proof",
        "Not set up",
        "Create",
        "_proof TXT x=1",
        "2 of 2 authoritative servers",
        "does not exist",
    ] {
        assert!(words.contains(word), "{word}: {words}");
    }
    assert!(!words.contains(ESCAPE), "no colour into a pipe");
    let bind = lab.run(&[&proof[..], &["--export", "bind"]].concat());
    assert!(text(&bind.stdout).contains("_proof    300 IN TXT    \"x=1\""), "{}", text(&bind.stdout));
    // Copied with the zone in the name: the fault has a name, and the answer says what to enter.
    let tell = |command: &str| {
        let mut args = vec!["lab", "ctl", "--state"];
        let state = lab.folder.path().to_string_lossy().into_owned();
        args.push(&state);
        args.extend(command.split(' '));
        let told = program().args(args).output().unwrap();
        assert!(told.status.success(), "{command}: {}", text(&told.stderr));
    };
    tell("add _proof.plain.example.plain.example 300 TXT \"x=1\"");
    let faulty = lab.run(&[&proof[..], &["--json"]].concat());
    let report: serde_json::Value = serde_json::from_slice(&faulty.stdout).unwrap();
    assert_eq!(report["records"][0]["faults"][0]["kind"], "zone_appended_twice", "{report}");
    assert_eq!((&report["state"], &report["records"][0]["host"]), (&"not_set_up".into(), &"_proof".into()));
    tell("add _proof.plain.example 300 TXT \"x=1\"");
    let green = lab.run(&proof);
    assert_eq!(green.status.code(), Some(0), "{}", text(&green.stdout));
    for (wrong, word) in [
        (vec!["configure"], "name a domain"),
        (vec!["configure", name], "name a service"),
        (vec!["configure", name, "--service", "web"], "target"),
        (vec!["configure", name, "--service", "web", "--set", "colour=red"], "colour"),
        (vec!["configure", name, "--service", "bakery"], "the services are"),
        (
            vec!["configure", "nowhere.example", "--service", "proof", "--set", "value=x"],
            "no zone of its own",
        ),
    ] {
        let refused = lab.run(&wrong);
        assert_eq!(refused.status.code(), Some(2), "{wrong:?}");
        assert!(text(&refused.stderr).contains(word), "{wrong:?}: {}", text(&refused.stderr));
    }
}

#[test]
fn probe_answers_people_and_programs() {
    let lab = Lab::start();
    // No web server listens there: the host has an address, and what failed is said.
    let failed = lab.run(&["probe", "www.plain.example", "--json"]);
    let probe: serde_json::Value = serde_json::from_slice(&failed.stdout).unwrap();
    assert_eq!(probe["host"], "www.plain.example");
    assert!(probe["findings"].as_array().is_some_and(|f| !f.is_empty()), "{probe}");
    assert_eq!(failed.status.code(), Some(1), "{}", text(&failed.stderr));
    let gone = lab.run(&["probe", "gone.plain.example"]);
    assert_eq!(gone.status.code(), Some(3), "{}", text(&gone.stdout));
    assert!(text(&gone.stderr).contains("gone.plain.example"), "{}", text(&gone.stderr));
    assert_eq!(lab.run(&["probe", "a b"]).status.code(), Some(2));
    let places = lab.run(&["probe", "www.plain.example", "--places", "--port", "8443"]);
    assert_eq!(places.status.code(), Some(2), "places look at the usual ports");
}
