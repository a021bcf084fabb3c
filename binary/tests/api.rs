//! The REST API of the running demo against its own description, judged by programs of others: openapi-spec-validator
//! reads the document, schemathesis sends requests made of it and compares the responses with it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// What a response must not be or lack.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
                      response_headers_conformance,response_schema_conformance,ignored_auth";
/// Left out besides DELETE, which would take away what the other calls read: calls that make the server send messages.
const SENDING: &str = "^/(channels|messages/resend)";

/// One domain of the demo has a kept service and name servers that can't be reached, which that call says with 503.
const SETTINGS: &str = r#"
[[operations]]
include-path = "/domains/{name}/services/{id}"
checks.not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", "503"]
"#;

/// The demo, with data that is thrown away.
struct Demo {
    server: Child,
    url: String,
    _folder: tempfile::TempDir,
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Demo {
    fn start() -> Demo {
        let folder = tempfile::tempdir().unwrap();
        let mut server = Command::new(env!("CARGO_BIN_EXE_domainscope"))
            .args(["serve", "--demo", "--listen", "127.0.0.1:0", "--data"])
            .arg(folder.path().join("data"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(server.stdout.take().unwrap()).lines();
        let url = lines
            .map_while(Result::ok)
            .find_map(|line| Some(line.trim().strip_prefix("Open")?.trim().to_string()));
        Demo { server, url: url.expect("the demo prints its address"), _folder: folder }
    }
}

/// Where `cargo xtask setup` installs them, or on the path. Without them the tests are skipped, but not in CI.
fn program(name: &str) -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").filter(|v| !v.is_empty()).map(PathBuf::from);
    let cache = cache.or_else(|| Some(std::env::home_dir()?.join(".cache")));
    let installed = cache.map(|cache| cache.join("domainscope/tools/python/bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = installed.into_iter().chain(std::env::split_paths(&path));
    let found = folders.map(|folder| folder.join(name)).find(|file| file.is_file());
    if found.is_none() {
        assert!(std::env::var_os("CI").is_none(), "{name} is not installed: cargo xtask setup");
        println!("SKIPPED: {name} is not installed (cargo xtask setup installs it)");
    }
    found
}

/// Body of a GET request.
fn get(url: &str) -> String {
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /{path} HTTP/1.0\r\nHost: {host}\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.0 200") || text.starts_with("HTTP/1.1 200"), "{text}");
    text.split_once("\r\n\r\n").unwrap().1.to_string()
}

/// What it prints when it succeeds.
fn run(program: &Path, folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(program);
    let out = command.args(arguments).current_dir(folder).stdin(Stdio::null()).output().unwrap();
    let text = format!("{}\n{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success(), "{} {arguments:?}:\n{text}", program.display());
    text
}

/// An API token of the demo's organisation, made by its visitor: one on this machine, over a connection that is kept.
fn token(url: &str, scope: &str) -> String {
    let host = url.strip_prefix("http://").unwrap();
    let body = format!("{{\"name\":\"schemathesis {scope}\",\"scope\":\"{scope}\"}}");
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(std::time::Duration::from_secs(30))).unwrap();
    let head = format!(
        "POST /api/v1/tokens HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    let mut text = String::new();
    let mut buffer = [0; 4096];
    loop {
        let secret = text.split_once("\"secret\":\"").and_then(|(_, rest)| rest.split_once('"'));
        if let Some((secret, _)) = secret {
            return secret.to_string();
        }
        let read = stream.read(&mut buffer).unwrap();
        assert!(read > 0, "no token: {text}");
        text.push_str(&String::from_utf8_lossy(&buffer[..read]));
    }
}

/// For each of two runs: a slower machine sends fewer requests.
const SECONDS: &str = "--max-time=36";

#[test]
fn the_description_is_valid_and_the_server_keeps_it() {
    let (Some(validator), Some(schemathesis)) = (program("openapi-spec-validator"), program("schemathesis"))
    else {
        return;
    };
    let demo = Demo::start();
    let (folder, document) = (tempfile::tempdir().unwrap(), format!("{}/api/v1/openapi.json", demo.url));
    let file = folder.path().join("openapi.json");
    std::fs::write(&file, get(&document)).unwrap();
    run(&validator, folder.path(), &["--schema", "3.1", file.to_str().unwrap()]);
    std::fs::write(folder.path().join("schemathesis.toml"), SETTINGS).unwrap();
    // A member's token meets refusals too; an admin's gets to everything.
    for scope in ["write", "admin"] {
        let bearer = format!("Authorization: Bearer {}", token(&demo.url, scope));
        let said = run(
            &schemathesis,
            folder.path(),
            &[
                "run",
                &document,
                "--no-color",
                "--header",
                &bearer,
                // Forwarded, no request is that of the demo's visitor: a call that takes no token must say so.
                "--header",
                "X-Forwarded-For: 192.0.2.9",
                "--phases=examples,coverage,fuzzing",
                "--max-examples=6",
                SECONDS,
                "--generation-deterministic",
                "--no-shrink",
                "--continue-on-failure",
                "--suppress-health-check=all",
                "--request-timeout=30",
                // With two threads its libraries sometimes fail while they read their own sources.
                "--workers=1",
                "--exclude-method=DELETE",
                "--exclude-path-regex",
                SENDING,
                "--checks",
                CHECKS,
            ],
        );
        println!("{scope}: {said}");
    }
}
