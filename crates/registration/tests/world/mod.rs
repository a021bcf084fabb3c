//! A few servers on loopback under invented host names, each answering as a test tells it to.

use model::Timestamp;
use model::names::DomainName;
use registration::{Client, LookupResult, Settings};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// How a server answers.
pub enum Reply {
    Text(Vec<u8>),
    Hang,
    /// One byte every 20 ms, without end.
    Drip,
    /// The first text, then the second every 20 ms, without end.
    DripAfter(&'static str, &'static str),
    /// Answers, and then resets the connection.
    Reset(&'static str),
    /// 100 MB.
    Huge,
    /// Answers after this time.
    Slow(Duration, Vec<u8>),
}

pub fn text(s: &str) -> Reply {
    Reply::Text(s.as_bytes().to_vec())
}

/// An HTTP answer.
pub fn http(status: u16, media: &str, extra: &str, body: &str) -> Reply {
    let head = format!("HTTP/1.1 {status} X\r\nContent-Type: {media}\r\nContent-Length: {}\r\n", body.len());
    Reply::Text(format!("{head}{extra}Connection: close\r\n\r\n{body}").into_bytes())
}

pub fn rdap(body: &serde_json::Value) -> Reply {
    http(200, "application/rdap+json", "", &body.to_string())
}

/// What a server saw.
#[derive(Default)]
pub struct Seen {
    pub questions: Mutex<Vec<String>>,
    pub open: AtomicUsize,
    pub most_open: AtomicUsize,
}

impl Seen {
    pub fn count(&self) -> usize {
        self.questions.lock().unwrap().len()
    }

    pub fn all(&self) -> Vec<String> {
        self.questions.lock().unwrap().clone()
    }
}

struct Names(Mutex<HashMap<String, IpAddr>>);

#[async_trait::async_trait]
impl net::Resolve for Names {
    async fn resolve(&self, host: &str) -> Result<Vec<IpAddr>, String> {
        self.0.lock().unwrap().get(host).map(|a| vec![*a]).ok_or_else(|| "no such host".into())
    }
}

/// The port all WHOIS servers of a test pretend to be on.
pub const WHOIS: u16 = 4343;

pub struct World {
    names: HashMap<String, IpAddr>,
    map: Vec<(SocketAddr, SocketAddr)>,
}

impl World {
    pub fn new() -> Self {
        World { names: HashMap::new(), map: Vec::new() }
    }

    /// Starts a server under a name. `port` is what others dial; the real one is the system's choice.
    pub async fn serve(
        &mut self,
        host: &str,
        port: u16,
        answer: impl Fn(&str) -> Reply + Send + Sync + 'static,
    ) -> Arc<Seen> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let ip = IpAddr::V4(Ipv4Addr::new(127, 77, 0, u8::try_from(self.names.len() + 1).unwrap()));
        let ip = *self.names.entry(host.to_string()).or_insert(ip);
        self.map.push((SocketAddr::new(ip, port), listener.local_addr().unwrap()));
        let seen = Arc::new(Seen::default());
        let (kept, answer) = (seen.clone(), Arc::new(answer));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (seen, answer) = (kept.clone(), answer.clone());
                tokio::spawn(async move {
                    let open = seen.open.fetch_add(1, Ordering::SeqCst) + 1;
                    seen.most_open.fetch_max(open, Ordering::SeqCst);
                    talk(stream, &seen, answer.as_ref()).await;
                    seen.open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        seen
    }

    /// A host name that leads to a port where no one listens.
    pub async fn closed(&mut self, host: &str, port: u16) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let ip = IpAddr::V4(Ipv4Addr::new(127, 77, 1, u8::try_from(self.names.len() + 1).unwrap()));
        self.names.insert(host.to_string(), ip);
        self.map.push((SocketAddr::new(ip, port), listener.local_addr().unwrap()));
    }

    pub fn dialer(&self, allow_private: bool) -> net::Dialer {
        net::Dialer::new(net::Settings {
            resolver: Arc::new(Names(Mutex::new(self.names.clone()))),
            allow_private,
            address_map: self.map.iter().copied().collect(),
            connect_timeout: Duration::from_millis(1500),
            // Longer than any look-up of these tests: the client bounds its own exchanges.
            total_timeout: Duration::from_secs(30),
            ..net::Settings::default()
        })
        .unwrap()
    }

    pub fn client(&self, settings: Settings) -> Client {
        Client::new(settings, self.dialer(true)).unwrap()
    }
}

async fn talk(mut stream: TcpStream, seen: &Seen, answer: &(dyn Fn(&str) -> Reply + Send + Sync)) {
    let mut question = Vec::new();
    loop {
        let Ok(b) = stream.read_u8().await else { return };
        question.push(b);
        let web = question.starts_with(b"GET ");
        if question.ends_with(if web { b"\r\n\r\n".as_slice() } else { b"\n" }) {
            break;
        }
    }
    let question = String::from_utf8_lossy(&question).into_owned();
    let line = question.lines().next().unwrap_or_default().to_string();
    seen.questions.lock().unwrap().push(line.clone());
    // WHOIS servers are asked by a line; of an HTTP question the header fields count too.
    match answer(if line.starts_with("GET ") { &question } else { &line }) {
        Reply::Text(bytes) => {
            let _ = stream.write_all(&bytes).await;
        }
        Reply::Slow(wait, bytes) => {
            tokio::time::sleep(wait).await;
            let _ = stream.write_all(&bytes).await;
        }
        Reply::Hang => std::future::pending().await,
        Reply::Drip => loop {
            if stream.write_all(b"x").await.is_err() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        },
        Reply::DripAfter(head, piece) => {
            let _ = stream.write_all(head.as_bytes()).await;
            while stream.write_all(piece.as_bytes()).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            return;
        }
        Reply::Reset(bytes) => {
            let _ = stream.write_all(bytes.as_bytes()).await;
            // The peer is to have it before the reset overtakes it.
            tokio::time::sleep(Duration::from_millis(50)).await;
            stream.set_zero_linger().unwrap();
            return;
        }
        Reply::Huge => {
            let piece = b"% much to say\r\n".repeat(4096);
            for _ in 0..(100 << 20) / piece.len() {
                if stream.write_all(&piece).await.is_err() {
                    return;
                }
            }
        }
    }
    let _ = stream.shutdown().await;
}

/// Settings of a closed network: bootstrap from `rdap-root.test`, WHOIS from `whois-root.test`.
pub fn settings() -> Settings {
    Settings {
        rdap_bootstrap: Some("http://rdap-root.test/dns.json".into()),
        whois_server: Some(format!("whois-root.test:{WHOIS}")),
        timeout: Duration::from_secs(6),
        rdap_timeout: Duration::from_millis(1500),
        whois_timeout: Duration::from_millis(1500),
        limit: net::Limit::new(2, Duration::ZERO),
        ..Settings::default()
    }
}

pub fn now() -> Timestamp {
    "2026-11-20T12:00:00Z".parse().unwrap()
}

pub async fn ask(client: &Client, name: &str) -> LookupResult {
    client.lookup(&DomainName::trusted(name), now()).await
}

/// The bootstrap: `.test` is served at this base URL, nothing else.
pub async fn bootstrap(world: &mut World, base: &'static str) -> Arc<Seen> {
    world
        .serve("rdap-root.test", 80, move |_| {
            http(200, "application/json", "", &format!(r#"{{"services":[[["test"],["{base}"]]]}}"#))
        })
        .await
}

/// The root of WHOIS: `.test` is at `whois.nic.test`.
pub async fn whois_root(world: &mut World) -> Arc<Seen> {
    world
        .serve("whois-root.test", WHOIS, |q| match q {
            "test" => text("% root\r\nrefer:        whois.nic.test\r\n\r\ndomain: TEST\r\n"),
            _ => text("% This query returned 0 objects\r\n"),
        })
        .await
}
