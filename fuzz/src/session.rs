//! Whole operations (trace, scan, check, chain of trust, chain of aliases) against name servers that answer with
//! whatever the input holds. In: bytes, read as a script of replies. Out: nothing, or a panic where an operation does
//! not end or passes a budget. Time is simulated: a silent server costs nothing.
//!
//! The input: one octet that chooses the operation, then chunks of two octets of length, one octet of kind, and a body.
//! The replies are given out in order, from the first again when all were.

use dns::checks::CheckOptions;
use dns::dnssec::verifier::{MAX_VERIFICATIONS, verifications};
use dns::sockets::{Datagrams, Network, Stream};
use dns::{ChainQuestion, Engine, RootHints, Settings};
use model::names::Fqdn;
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Questions of one look-up; a check may ask ten times as many.
const QUESTIONS: u32 = 60;
/// Operations within one input that verify by a budget of their own.
const OPERATIONS: u64 = 2;

/// Replies in the order in which they are given out.
#[derive(Debug)]
struct Script {
    replies: Vec<(u8, Vec<u8>)>,
    next: AtomicUsize,
}

impl Script {
    fn read(mut input: &[u8]) -> Self {
        let mut replies = Vec::new();
        while let [high, low, kind, rest @ ..] = input {
            let length = usize::from(u16::from_be_bytes([*high, *low])).min(rest.len());
            let (body, after) = rest.split_at(length);
            replies.push((*kind, body.to_vec()));
            input = after;
        }
        Script { replies, next: AtomicUsize::new(0) }
    }

    /// The reply to a message, or silence.
    fn reply(&self, query: &[u8]) -> Option<Vec<u8>> {
        let place = self.next.fetch_add(1, Ordering::Relaxed).checked_rem(self.replies.len())?;
        let (kind, body) = &self.replies[place];
        let id = query.get(..2)?;
        match kind % 4 {
            0 => None,
            1 => Some(body.clone()),
            // The right id, whatever comes then.
            2 => Some([id, body].concat()),
            // The right id and question; flags, counts and records of the script.
            _ => {
                let (head, records) = body.split_at_checked(8)?;
                let end = 12 + query.get(12..)?.iter().position(|octet| *octet == 0)? + 5;
                let flags = [head[0] | 0x80, head[1]];
                Some([id, &flags, &[0, 1], &head[2..8], query.get(12..end)?, records].concat())
            }
        }
    }
}

#[derive(Debug, Clone)]
struct Scripted(Arc<Script>);

#[async_trait::async_trait]
impl Network for Scripted {
    async fn datagrams(&self, target: SocketAddr, _: bool) -> io::Result<Box<dyn Datagrams>> {
        Ok(Box::new(Socket { script: self.0.clone(), target, arrived: Mutex::default() }))
    }

    async fn stream(&self, _: SocketAddr) -> io::Result<Box<dyn Stream>> {
        Ok(Box::new(Connection { script: self.0.clone(), written: Vec::new(), arrived: VecDeque::new() }))
    }
}

struct Socket {
    script: Arc<Script>,
    target: SocketAddr,
    arrived: Mutex<VecDeque<Vec<u8>>>,
}

#[async_trait::async_trait]
impl Datagrams for Socket {
    async fn send(&self, message: &[u8]) -> io::Result<()> {
        self.arrived.lock().expect("one task").extend(self.script.reply(message));
        Ok(())
    }

    async fn receive(&self) -> io::Result<(Vec<u8>, SocketAddr)> {
        let next = self.arrived.lock().expect("one task").pop_front();
        let Some(message) = next else { return std::future::pending().await };
        Ok((message, self.target))
    }
}

struct Connection {
    script: Arc<Script>,
    written: Vec<u8>,
    arrived: VecDeque<u8>,
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        self.written.extend(data);
        if let [_, _, query @ ..] = self.written.as_slice()
            && let Some(reply) = self.script.reply(query)
        {
            let length = u16::try_from(reply.len()).unwrap_or(u16::MAX);
            self.arrived.extend(length.to_be_bytes());
            self.arrived.extend(reply);
        }
        Poll::Ready(Ok(data.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.arrived.is_empty() {
            // Silence; the operation's own timeout ends it.
            return Poll::Pending;
        }
        let length = buffer.remaining().min(self.arrived.len());
        let octets: Vec<u8> = self.arrived.drain(..length).collect();
        buffer.put_slice(&octets);
        Poll::Ready(Ok(()))
    }
}

/// Panics when an operation passes a budget; does not return when one does not end.
pub fn check(data: &[u8]) {
    let [operation, script @ ..] = data else { return };
    let script = Arc::new(Script::read(script));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let hints = ". NS a.root.test.\n. NS b.root.test.\na.root.test. A 192.0.2.1\nb.root.test. AAAA 2001:db8::1";
    let settings = Settings {
        root_hints: RootHints::parse(hints).expect("hints"),
        network: Arc::new(Scripted(script)),
        max_queries: QUESTIONS,
        allow_private: true,
        tries: 1,
        ..Settings::default()
    };
    let before = verifications();
    runtime.expect("a runtime").block_on(run(*operation, &Engine::new(settings)));
    let made = verifications() - before;
    assert!(made <= OPERATIONS * u64::from(MAX_VERIFICATIONS), "{made} signatures were verified");
}

async fn run(operation: u8, engine: &Engine) {
    let zone = "zone.test";
    let host = Fqdn::trusted("www.zone.test");
    let now = jiff::Timestamp::from_second(1_800_000_000).expect("an instant");
    match operation % 5 {
        0 => drop(engine.trace_chain(&host, "A").await),
        1 => {
            if let Ok((delegation, findings)) = engine.scan(zone, now).await {
                drop(engine.zone_snapshot(zone, &delegation).await);
                drop(engine.network(&delegation).await);
                assert!(findings.iter().all(|f| !f.message.is_empty()));
            }
            drop(engine.dnssec(zone, now).await);
        }
        2 => drop(engine.check(zone, &CheckOptions::new(now)).await),
        3 => drop(engine.dnssec(zone, now).await),
        _ => drop(engine.chain(&host, &ChainQuestion::host()).await),
    }
}
