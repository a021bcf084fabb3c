//! The program as a process that tests start: without settings of this machine, and killed when the test is over.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The program, without variables that would set it up otherwise.
pub fn program() -> Command {
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
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    /// Starts it and reads its standard output until a line holds `text`.
    pub fn until(mut command: Command, text: &str) -> (Running, Vec<String>) {
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

    /// Sends it a signal.
    pub fn signal(&self, name: &str) {
        let id = self.0.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
    }

    /// The exit code, when it comes within the time; -1 when a signal ended it.
    pub fn ends_within(&mut self, limit: Duration) -> i32 {
        let start = Instant::now();
        loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status.code().unwrap_or(-1);
            }
            assert!(start.elapsed() < limit, "still running after {limit:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// One request over plain HTTP; status (0 without one) and body. The connection stays open: one that is to be closed looks like a
/// proxy's.
pub fn ask(at: &str, method: &str, path: &str, host: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    write!(stream, "{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n\r\n").unwrap();
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
    let code = status.split(' ').nth(1).and_then(|s| s.parse().ok());
    (code.unwrap_or(0), text(&body))
}

/// Output as text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
