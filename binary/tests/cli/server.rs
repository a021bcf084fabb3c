//! What keeps running: one server a folder, a watch that is stopped, the address of the metrics.

use crate::lab::Lab;
use crate::support::{self, Running, program, text};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

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
    assert_eq!(third.ends_within(Duration::from_secs(8)), 0);
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
    assert_eq!(child.ends_within(Duration::from_secs(10)), 130);
    let mut rest = String::new();
    told.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("stopped before the watch ended"), "{line}{rest}");
    let mut shown = String::new();
    child.0.stdout.take().unwrap().read_to_string(&mut shown).unwrap();
    assert!(shown.contains("Authoritative") && shown.contains(&name), "{shown}");
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
    let get = |at: &str, path: &str, host: &str| support::ask(at, "GET", path, host);
    assert_eq!(get(&metrics, "/metrics", "anybody.example").0, 200);
    assert_eq!(get(&metrics, "/readyz", "anybody.example").0, 200);
    assert_eq!(get(&metrics, "/domains", "anybody.example").0, 404);
    assert_eq!(get(&pages, "/metrics", &pages).0, 200);
    let (status, words) = get(&pages, "/metrics", "anybody.example");
    assert!(status == 401 && words.contains("--metrics-listen"), "{status} {words}");
}
