//! The program as people and scripts meet it: exit codes, which stream says what, colour, closed pipes, wrong input,
//! one server a folder, and how it stops. A lab of its own is underneath.

mod input;
mod lab;
mod server;
#[path = "../support/mod.rs"]
mod support;

use lab::Lab;
use support::{program, text};

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
    let documents = include_str!("../../../docs/cli.md");
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
