//! Mail to a real Postfix, which ends the session as servers do: TLS only, greylisting, an unknown mailbox.

use crate::smtp::{Mailbox, read};
use crate::world::World;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

struct Postfix {
    holder: Child,
    port: u16,
    folder: tempfile::TempDir,
}

impl Postfix {
    /// Starts it; `None`, with a printed message, where it is not installed or this user may not start it.
    fn start(mailbox: &Mailbox) -> Option<Postfix> {
        let has = |program: &str| {
            ["/usr/sbin", "/usr/bin", "/usr/local/sbin"]
                .iter()
                .any(|folder| Path::new(folder).join(program).is_file())
        };
        let is_root = Command::new("id").arg("-u").output().is_ok_and(|o| o.stdout == b"0\n");
        if !has("postfix") || !is_root {
            let words = "Postfix (Debian: postfix), started by root";
            assert!(std::env::var_os("CI").is_none(), "this test needs {words}");
            println!("SKIPPED: it needs {words}");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let (certificate, key) = mailbox.files(folder.path());
        // Free a moment ago; its own processes open it.
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mail/postfix.sh");
        let mut holder = Command::new("sh")
            .arg(script)
            .arg(folder.path())
            .arg(port.to_string())
            .args([certificate, key])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line.trim(), "ready", "Postfix did not start");
        Some(Postfix { holder, port, folder })
    }

    fn url(&self) -> String {
        format!("smtp://localhost:{}", self.port)
    }

    /// The first `n` mails it delivered, once they are there.
    async fn mails(&self, n: usize) -> Vec<Value> {
        let began = Instant::now();
        loop {
            let folder = self.folder.path().join("mail/ops/new");
            let mut files: Vec<PathBuf> =
                std::fs::read_dir(folder).into_iter().flatten().map(|e| e.unwrap().path()).collect();
            files.sort();
            if files.len() >= n {
                return files.iter().map(|f| read(f)).collect();
            }
            let log = || std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            assert!(began.elapsed() < Duration::from_secs(60), "{} of {n} mails: {}", files.len(), log());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

impl Drop for Postfix {
    fn drop(&mut self) {
        drop(self.holder.stdin.take());
        let _ = self.holder.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn postfix_takes_refuses_and_delays_mail() {
    let ca = Mailbox::authority();
    let Some(server) = Postfix::start(&ca) else { return };
    let w = World::with_ca(&server.url(), "2026-12-20", Some(ca.pem())).await;
    w.scan().await;
    w.deliver().await;
    assert_eq!(w.status().await, "delivered");
    let mail = server.mails(1).await.remove(0);
    let header = |name: &str| mail["headers"][name].as_str().unwrap_or_default().to_string();
    assert_eq!(header("subject"), "[Warning] alder.example: Registration ends on Dec 20, 2026");
    assert_eq!(header("delivered-to"), "ops@alder.example");
    assert!(header("received").contains("ESMTPS"), "over TLS: {}", header("received"));
    assert!(mail["defects"].as_array().unwrap().is_empty(), "{mail}");
    assert!(mail["text"].as_str().unwrap().contains("30 days are left"));

    // 5xx at RCPT is final, 4xx is tried again.
    for (to, state, code) in
        [("gone@alder.example", "failed:", "550"), ("later@alder.example", "waiting:", "450")]
    {
        let w = World::with_ca(&server.url(), "2026-12-20", Some(ca.pem())).await;
        w.recipients(&[to]).await;
        w.scan().await;
        w.deliver().await;
        let status = w.status().await;
        assert!(status.starts_with(state) && status.contains(code), "{to}: {status}");
    }
    // Without TLS it takes nothing, and says why.
    let plain = format!("smtp://127.0.0.1:{}?tls=none", server.port);
    let w = World::new(&plain, "2026-12-20").await;
    w.scan().await;
    w.deliver().await;
    assert!(w.status().await.contains("530"), "{}", w.status().await);
    assert_eq!(server.mails(1).await.len(), 1);
}
