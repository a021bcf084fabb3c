//! Simulated points of presence for the benchmark of scans: each joins over HTTP with a token of its own, waits for work like a
//! real one, and answers at once that it could not look, so that what is measured is the server.

use fleet::{Answer, AnswerSent, Join, JoinToken, KeyPair, PROTOCOL, Poll, PollReply, SignedRequest};
use jiff::Timestamp;
use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

/// How long an agent waits for work in one request.
const WAIT_MS: u32 = 15_000;
const AGAIN: Duration = Duration::from_millis(200);

/// The agents and the number of questions they have answered. They end with it.
pub struct Agents {
    tasks: Vec<JoinHandle<()>>,
    answered: Arc<AtomicUsize>,
}

impl Agents {
    /// Joins `count` agents to the server at an address, whose database is at `place` (flags of the command line).
    pub async fn join(count: usize, server: SocketAddr, place: &[&str], key: &str) -> Agents {
        let answered = Arc::new(AtomicUsize::new(0));
        let mut tasks = Vec::new();
        for n in 0..count {
            let agent = Agent::join(server, format!("pop-{n:03}"), &token(place, key)).await;
            tasks.push(tokio::spawn(agent.work(answered.clone())));
        }
        Agents { tasks, answered }
    }

    /// Questions answered so far.
    pub fn answered(&self) -> usize {
        self.answered.load(Ordering::Relaxed)
    }
}

impl Drop for Agents {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

fn token(place: &[&str], key: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_domainscope"));
    let out = command.args(["admin", "join-token"]).args(place).env("DOMAINSCOPE_SECRET_KEY", key).output();
    let out = out.expect("the command runs");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).trim().to_string()
}

struct Agent {
    server: SocketAddr,
    id: String,
    key: KeyPair,
}

impl Agent {
    async fn join(server: SocketAddr, id: String, token: &str) -> Agent {
        let key = KeyPair::generate().expect("a key");
        let mut agent = Agent { server, id: String::new(), key };
        let join = Join {
            protocol: PROTOCOL,
            token: JoinToken::read(token).expect("a token").secret,
            id: id.clone(),
            region: String::new(),
            version: "0.1.0".into(),
            key: agent.key.public(),
        };
        // Joining has a limit per second.
        while agent.send("/agent/v1/join", &join).await.is_none() {
            tokio::time::sleep(AGAIN).await;
        }
        agent.id = id;
        agent
    }

    async fn work(self, answered: Arc<AtomicUsize>) {
        let poll = Poll {
            protocol: PROTOCOL,
            version: "0.1.0".into(),
            capacity: 16,
            wait_ms: WAIT_MS,
            ..Poll::default()
        };
        loop {
            let reply = self.send("/agent/v1/poll", &poll).await;
            let Some(reply) = reply.and_then(|r| serde_json::from_slice::<PollReply>(&r).ok()) else {
                tokio::time::sleep(AGAIN).await;
                continue;
            };
            for work in reply.work {
                let answer = Answer::Failed { reason: "simulated".into() };
                if self.send("/agent/v1/answer", &AnswerSent { work: work.id, answer }).await.is_some() {
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }

    /// The body of the answer; `None` when it is refused or the connection fails.
    async fn send(&self, path: &str, body: &impl serde::Serialize) -> Option<Vec<u8>> {
        let body = serde_json::to_vec(body).expect("JSON");
        let stamp = Timestamp::now().as_microsecond();
        let signed = SignedRequest { path, agent: &self.id, stamp, body: &body };
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {}\r\ndomainscope-agent: {}\r\n\
             domainscope-stamp: {stamp}\r\ndomainscope-signature: {}\r\n\r\n",
            self.server,
            body.len(),
            self.id,
            self.key.sign(&signed.of_agent())
        );
        let mut stream = TcpStream::connect(self.server).await.ok()?;
        stream.write_all(&[head.as_bytes(), &body].concat()).await.ok()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.ok()?;
        let end = answer.windows(4).position(|w| w == b"\r\n\r\n")?;
        answer.starts_with(b"HTTP/1.1 2").then(|| answer.split_off(end + 4))
    }
}
