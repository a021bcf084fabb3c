//! Connections that are kept: used again, never for another host, never past the guard, and never a reason to fail.

use net::{AddressMap, Dialer, Error, Resolve, Settings};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What a server does with a connection, question by question.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// Answers and stays.
    Stay,
    /// Answers as if it stayed, and closes.
    Leave,
    /// Answers the first; closes without a word when it is asked again.
    Mute,
    /// Answers the first; the second with 408, and closes.
    TooLate,
    /// Answers the first; hangs at the second.
    Hang,
    /// Answers the first, then sends what no one asked for.
    Chatty,
    /// Answers "not here" with a body, and stays.
    Elsewhere,
}

#[derive(Default)]
struct Seen {
    connections: AtomicUsize,
    questions: AtomicUsize,
    closed: AtomicUsize,
}

impl Seen {
    fn counts(&self) -> (usize, usize) {
        (self.connections.load(Ordering::SeqCst), self.questions.load(Ordering::SeqCst))
    }
}

const WELL: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

async fn talk(mut s: TcpStream, way: Way, seen: &Seen) -> Option<()> {
    let mut buffer = [0; 4096];
    for nth in 0.. {
        let mut read = Vec::new();
        while !read.ends_with(b"\r\n\r\n") {
            let n = s.read(&mut buffer).await.ok().filter(|n| *n > 0)?;
            read.extend_from_slice(&buffer[..n]);
        }
        seen.questions.fetch_add(1, Ordering::SeqCst);
        match way {
            Way::Leave => {
                s.write_all(WELL).await.ok()?;
                return None;
            }
            Way::Mute if nth > 0 => return None,
            Way::TooLate if nth > 0 => {
                s.write_all(b"HTTP/1.1 408 Late\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                    .await
                    .ok()?;
                return None;
            }
            Way::Hang if nth > 0 => std::future::pending().await,
            Way::Elsewhere => {
                let body = b"HTTP/1.1 302 Found\r\nLocation: ftp://x/\r\nContent-Length: 3\r\n\r\nbye";
                s.write_all(body).await.ok()?;
            }
            _ => s.write_all(WELL).await.ok()?,
        }
        if way == Way::Chatty {
            s.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlies").await.ok()?;
        }
    }
    None
}

async fn serve(way: Way) -> (SocketAddr, Arc<Seen>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let seen = Arc::new(Seen::default());
    let kept = seen.clone();
    tokio::spawn(async move {
        while let Ok((s, _)) = listener.accept().await {
            kept.connections.fetch_add(1, Ordering::SeqCst);
            let seen = kept.clone();
            tokio::spawn(async move {
                talk(s, way, &seen).await;
                seen.closed.fetch_add(1, Ordering::SeqCst);
            });
        }
    });
    (address, seen)
}

/// Where every name leads, as long as a test says so.
#[derive(Clone)]
struct Leads(Arc<Mutex<Vec<IpAddr>>>);

#[async_trait::async_trait]
impl Resolve for Leads {
    async fn resolve(&self, _: &str) -> Result<Vec<IpAddr>, String> {
        Ok(self.0.lock().unwrap().clone())
    }
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// Time one address is given.
const CONNECT: Duration = Duration::from_secs(3);

struct Out {
    dialer: Dialer,
    leads: Leads,
}

/// A dialer for which 9.9.9.1 and 9.9.9.2 at port 80 are these servers.
fn dialer(servers: &[SocketAddr]) -> Out {
    let leads = Leads(Arc::new(Mutex::new(vec![ip("9.9.9.1")])));
    let map: AddressMap = servers
        .iter()
        .enumerate()
        .map(|(i, to)| (SocketAddr::new(ip(&format!("9.9.9.{}", i + 1)), 80), *to))
        .collect();
    let dialer = Dialer::new(Settings {
        resolver: Arc::new(leads.clone()),
        address_map: map,
        connect_timeout: CONNECT,
        total_timeout: CONNECT * 2,
        ..Settings::default()
    })
    .unwrap();
    Out { dialer, leads }
}

async fn get(d: &Dialer, host: &str) -> Result<net::HttpAnswer, Error> {
    d.http_get(&format!("http://{host}/x").parse().unwrap(), "*/*", 1000).await
}

#[tokio::test]
async fn the_second_question_goes_over_the_first_connection_but_not_another_hosts() {
    let (address, seen) = serve(Way::Stay).await;
    let w = dialer(&[address]);
    for _ in 0..5 {
        assert_eq!(get(&w.dialer, "a.example").await.unwrap().body, b"ok");
    }
    assert_eq!(seen.counts(), (1, 5));
    // The same address under another name is another host: its certificate would not be the first one's.
    get(&w.dialer, "b.example").await.unwrap();
    assert_eq!(seen.counts(), (2, 6));
    // Two at a time need two; both are used afterwards.
    let (a, b) = futures::join!(get(&w.dialer, "a.example"), get(&w.dialer, "a.example"));
    a.and(b).unwrap();
    let (a, b) = futures::join!(get(&w.dialer, "a.example"), get(&w.dialer, "a.example"));
    a.and(b).unwrap();
    assert_eq!(seen.counts(), (3, 10));
}

#[tokio::test]
async fn a_connection_that_was_closed_meanwhile_is_no_failure() {
    for way in [Way::Leave, Way::Mute, Way::TooLate] {
        let (address, seen) = serve(way).await;
        let w = dialer(&[address]);
        for _ in 0..6 {
            let answer = get(&w.dialer, "a.example").await.unwrap();
            assert_eq!((answer.status, answer.body.as_slice()), (200, b"ok".as_slice()));
        }
        let (connections, questions) = seen.counts();
        assert!(connections <= 6 && questions <= 12, "asked again once at most: {connections}, {questions}");
    }
}

#[tokio::test]
async fn a_server_that_closes_every_connection_at_once_is_asked_twice_at_most() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let seen = Arc::new(AtomicUsize::new(0));
    let count = seen.clone();
    tokio::spawn(async move {
        while let Ok((mut s, _)) = listener.accept().await {
            let n = count.fetch_add(1, Ordering::SeqCst);
            let mut buffer = [0; 1024];
            let _ = s.read(&mut buffer).await;
            if n == 0 {
                let _ = s.write_all(WELL).await;
                let _ = s.read(&mut buffer).await;
            }
        }
    });
    let w = dialer(&[address]);
    get(&w.dialer, "a.example").await.unwrap();
    assert!(matches!(get(&w.dialer, "a.example").await, Err(Error::Protocol { .. })));
    assert_eq!(seen.load(Ordering::SeqCst), 2, "the new connection's failure is the answer");
}

#[tokio::test]
async fn a_kept_connection_that_hangs_ends_in_time_and_is_not_kept() {
    let (address, seen) = serve(Way::Hang).await;
    let w = dialer(&[address]);
    get(&w.dialer, "a.example").await.unwrap();
    assert!(matches!(get(&w.dialer, "a.example").await, Err(Error::Timeout { .. })));
    get(&w.dialer, "a.example").await.unwrap();
    assert_eq!(seen.counts(), (2, 3));
}

#[tokio::test]
async fn what_nobody_asked_for_is_not_the_next_answer() {
    let (address, _) = serve(Way::Chatty).await;
    let w = dialer(&[address]);
    for _ in 0..300 {
        assert_eq!(get(&w.dialer, "a.example").await.unwrap().body, b"ok");
    }
}

#[tokio::test]
async fn a_name_that_leads_elsewhere_takes_its_connections_with_it() {
    let (one, seen_one) = serve(Way::Stay).await;
    let (two, seen_two) = serve(Way::Stay).await;
    let w = dialer(&[one, two]);
    get(&w.dialer, "a.example").await.unwrap();
    *w.leads.0.lock().unwrap() = vec![ip("9.9.9.2")];
    get(&w.dialer, "a.example").await.unwrap();
    assert_eq!((seen_one.counts(), seen_two.counts()), ((1, 1), (1, 1)));
    // A name that has come to lead into the private network is refused, whatever is still open.
    for rebound in [vec![ip("127.0.0.1")], vec![ip("9.9.9.2"), ip("10.0.0.1")]] {
        *w.leads.0.lock().unwrap() = rebound;
        assert!(matches!(get(&w.dialer, "a.example").await, Err(Error::Blocked { .. })));
    }
    assert_eq!(seen_two.counts(), (1, 1));
}

#[tokio::test]
async fn a_redirects_body_is_left_with_its_connection() {
    let (address, seen) = serve(Way::Elsewhere).await;
    let w = dialer(&[address]);
    for _ in 0..2 {
        assert!(matches!(get(&w.dialer, "a.example").await, Err(Error::Protocol { .. })));
    }
    assert_eq!(seen.counts(), (2, 2));
}

#[tokio::test]
async fn few_are_kept_and_not_for_long() {
    let (address, seen) = serve(Way::Stay).await;
    let w = dialer(&[address]);
    let many = (0..24).map(|_| get(&w.dialer, "a.example"));
    assert!(futures::future::join_all(many).await.iter().all(Result::is_ok));
    for _ in 0..100 {
        if seen.closed.load(Ordering::SeqCst) >= 8 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let open = || seen.connections.load(Ordering::SeqCst) - seen.closed.load(Ordering::SeqCst);
    assert!((1..=16).contains(&open()), "{}", open());
    // With the clock moved on, the sweeper closes the rest though no one asks again.
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(20)).await;
    tokio::time::resume();
    for _ in 0..100 {
        if open() == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(open(), 0);
}

#[tokio::test]
async fn a_posted_question_always_has_a_connection_of_its_own() {
    let (address, seen) = serve(Way::Stay).await;
    let w = dialer(&[address]);
    for _ in 0..3 {
        w.dialer.http_post("http://a.example/q", "text/plain", vec![], 1000).await.unwrap();
    }
    assert_eq!(seen.counts(), (3, 3));
}

/// A black hole: a listener whose queue is full takes no more connections, and says nothing.
#[tokio::test]
async fn a_silent_first_address_does_not_use_up_the_time() {
    let hole = tokio::net::TcpSocket::new_v4().unwrap();
    hole.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let hole = hole.listen(1).unwrap();
    let full = hole.local_addr().unwrap();
    let mut held = Vec::new();
    while let Ok(Ok(s)) = tokio::time::timeout(Duration::from_millis(300), TcpStream::connect(full)).await {
        held.push(s);
    }
    let (address, _) = serve(Way::Stay).await;
    let w = dialer(&[full, address]);
    *w.leads.0.lock().unwrap() = vec![ip("9.9.9.1"), ip("9.9.9.2")];
    let start = std::time::Instant::now();
    get(&w.dialer, "a.example").await.unwrap();
    assert!(start.elapsed() < CONNECT, "less than the first one's time: {:?}", start.elapsed());
    drop((held, hole));
}
