//! Wrong input, files that are no good, readers that leave and full disks.

use crate::lab::Lab;
use crate::support::{program, text};
use std::io::{Read, Write};
use std::process::Stdio;

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
