//! Every known way around the guard of user-driven connections: other spellings of private addresses, addresses inside
//! addresses, names that lead there, redirects, rebinding, schemes and ports. None of them connects.

use net::{AddressMap, Dialer, Error, Networks, Resolve, Settings};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use url::Url;

/// A host that stands for a web server of the Internet.
const PUBLIC: &str = "8.8.8.8";

/// Resolves every name by its first label: `private`, `mixed`, `six` …; counts the questions.
#[derive(Default)]
struct Names(AtomicUsize);

#[async_trait::async_trait]
impl Resolve for Names {
    async fn resolve(&self, host: &str) -> Result<Vec<IpAddr>, String> {
        let asked = self.0.fetch_add(1, Ordering::SeqCst);
        let addresses: &[&str] = match host.split('.').next().unwrap_or_default() {
            "private" => &["10.0.0.1"],
            "mixed" => &[PUBLIC, "127.0.0.1"],
            "mapped" => &["::ffff:127.0.0.1"],
            "sixtofour" => &["2002:7f00:1::1"],
            "natsixfour" => &["64:ff9b::7f00:1"],
            "teredo" => &["2001:0:4136:e378:8000:63bf:80ff:fffe"],
            "metadata" => &["169.254.169.254"],
            "localhost" => &["127.0.0.1"],
            // A second question gets another answer (DNS rebinding).
            "rebind" if asked > 0 => &["127.0.0.1"],
            _ => &[PUBLIC],
        };
        Ok(addresses.iter().map(|a| a.parse().unwrap()).collect())
    }
}

/// A web server that answers every request with these bytes and counts connections.
async fn server(answer: String) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (at, count) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
    let counted = count.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            let answer = answer.clone();
            tokio::spawn(async move {
                let mut buffer = [0; 4096];
                let _ = stream.read(&mut buffer).await;
                let _ = stream.write_all(answer.as_bytes()).await;
            });
        }
    });
    (at, count)
}

/// The guard as it is on the Internet; the public host's web server is one on loopback.
fn dialer(public: SocketAddr, networks: Networks) -> Dialer {
    let map: AddressMap = [(SocketAddr::new(PUBLIC.parse().unwrap(), 80), public)].into_iter().collect();
    Dialer::new(Settings {
        resolver: Arc::new(Names::default()),
        address_map: map,
        networks,
        connect_timeout: Duration::from_secs(5),
        total_timeout: Duration::from_secs(30),
        ..Settings::default()
    })
    .unwrap()
}

async fn get(d: &Dialer, url: &str) -> Result<net::HttpAnswer, Error> {
    d.http_get(&Url::parse(url).unwrap(), "*/*", 10_000).await
}

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi";

#[tokio::test]
async fn no_spelling_of_a_private_address_is_dialled() {
    let (at, count) = server(OK.into()).await;
    let d = dialer(at, Networks::default());
    assert_eq!(get(&d, "http://public.example/").await.unwrap().status, 200);
    let before = count.load(Ordering::SeqCst);
    for url in [
        // Decimal, octal, hexadecimal, short.
        "http://2130706433/",
        "http://0177.0.0.1/",
        "http://0x7f.0.0.1/",
        "http://0x7f000001/",
        "http://127.1/",
        "http://127.0.0.1./",
        "http://0/",
        // Other digits and dots that URLs turn into ASCII.
        "http://１２７.0.0.1/",
        "http://①②⑦。⓪.⓪.①/",
        // IPv6 and what is inside it.
        "http://[::1]/",
        "http://[::]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:7f00:1]/",
        "http://[::127.0.0.1]/",
        "http://[64:ff9b::127.0.0.1]/",
        "http://[64:ff9b:1::7f00:1]/",
        "http://[2002:7f00:1::]/",
        "http://[2001:0:4136:e378:8000:63bf:80ff:fffe]/",
        "http://[fe80::1]/",
        "http://[fd00:ec2::254]/latest/",
        // Someone else's name before an @.
        "http://public.example@127.0.0.1/",
        "http://public.example:80@169.254.169.254/latest/meta-data/",
        // Names that lead there.
        "http://private.example/",
        "http://mixed.example/",
        "http://mapped.example/",
        "http://sixtofour.example/",
        "http://natsixfour.example/",
        "http://teredo.example/",
        "http://metadata.example/",
        "http://localhost/",
        "http://localhost./",
    ] {
        let e = get(&d, url).await.expect_err(url);
        assert!(matches!(e, Error::Blocked { .. }), "{url}: {e}");
    }
    assert_eq!(count.load(Ordering::SeqCst), before, "something was dialled");
}

#[tokio::test]
async fn a_redirect_passes_the_guard_again() {
    for to in [
        "http://127.0.0.1/",
        "http://[::ffff:10.0.0.1]/",
        "//private.example/x",
        "http://metadata.example/latest/",
        "http://0x7f.1/",
    ] {
        let redirect =
            format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        let (at, count) = server(redirect).await;
        let e = get(&dialer(at, Networks::default()), "http://public.example/").await.expect_err(to);
        assert!(matches!(e, Error::Blocked { .. }), "{to}: {e}");
        assert_eq!(count.load(Ordering::SeqCst), 1, "{to}");
    }
    for to in ["file:///etc/passwd", "gopher://public.example/_x", "ftp://public.example/", "data:,x"] {
        let redirect =
            format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        let (at, _) = server(redirect).await;
        let e = get(&dialer(at, Networks::default()), "http://public.example/").await.expect_err(to);
        assert!(matches!(e, Error::Protocol { .. }), "{to}: {e}");
    }
}

#[tokio::test]
async fn a_name_is_resolved_once_for_each_request_and_pinned() {
    let (at, count) = server(OK.into()).await;
    let d = dialer(at, Networks::default());
    // The address that was checked is the one that is dialled; the next request is checked again.
    assert_eq!(get(&d, "http://rebind.example/").await.unwrap().status, 200);
    assert!(matches!(get(&d, "http://rebind.example/").await, Err(Error::Blocked { .. })));
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn only_ports_of_web_servers_are_dialled() {
    let (at, count) = server(OK.into()).await;
    let d = dialer(at, Networks::default());
    for port in [21, 22, 25, 53, 110, 389, 465, 587, 3306, 5432, 6379, 9200, 11211] {
        let e = get(&d, &format!("http://public.example:{port}/")).await.expect_err("a port");
        assert!(e.to_string().contains(&format!("port {port}")), "{e}");
    }
    assert_eq!(count.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn the_operator_denies_and_allows_networks() {
    let (at, count) = server(OK.into()).await;
    let denied = Networks { deny: vec!["8.8.8.0/24".parse().unwrap()], allow: vec![] };
    assert!(matches!(get(&dialer(at, denied), "http://public.example/").await, Err(Error::Blocked { .. })));
    assert_eq!(count.load(Ordering::SeqCst), 0);
    let allowed = Networks { allow: vec!["10.0.0.0/24".parse().unwrap()], deny: vec![] };
    let d = dialer(at, allowed);
    assert_eq!(d.addresses("private.example").await.unwrap().len(), 1);
    assert!(d.addresses("mixed.example").await.is_err(), "only what is allowed");
}

#[tokio::test]
async fn size_time_and_redirects_are_capped() {
    let big = format!("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{}", "x".repeat(20_000));
    let (at, _) = server(big).await;
    let e = get(&dialer(at, Networks::default()), "http://public.example/").await.expect_err("size");
    assert!(matches!(e, Error::TooLarge { cap: 10_000, .. }), "{e}");
    let circle = "HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let (at, count) = server(circle.into()).await;
    let e = get(&dialer(at, Networks::default()), "http://public.example/").await.expect_err("redirects");
    assert!(e.to_string().contains("redirects"), "{e}");
    assert_eq!(count.load(Ordering::SeqCst), net::REDIRECTS + 1);
}

#[tokio::test]
async fn in_a_lab_an_address_without_a_server_is_said_to_have_none() {
    let (at, count) = server(OK.into()).await;
    let networks = Networks { allow: vec!["203.0.113.0/24".parse().unwrap()], deny: vec![] };
    let d = dialer(at, networks);
    assert_eq!(get(&d, "http://public.example/").await.unwrap().status, 200);
    let e = get(&d, "http://203.0.113.7/").await.unwrap_err();
    assert_eq!(e.label(), "unreachable");
    assert!(e.to_string().contains("no server of the lab listens at 203.0.113.7:80"), "{e}");
    assert_eq!(count.load(Ordering::SeqCst), 1);
}
