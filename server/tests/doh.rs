//! Both listeners as standard clients meet them: kdig and curl over TLS and in cleartext, HTTP/1.1 and HTTP/2,
//! certificates that change, clients that dawdle. Clients that are not installed are skipped, and say so.

use axum::Router;
use axum::routing::get;
use doh::{Bounds, Exposure, Recursive, Resolver, Site};
use jiff::Timestamp;
use lab::{Lab, Options, Scenario};
use server::http::{Served, Tls, serve};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

struct World {
    lab: Lab,
    plain: SocketAddr,
    secure: SocketAddr,
    ca: PathBuf,
    folder: TempDir,
    stop: CancellationToken,
}

async fn world() -> World {
    world_with(&Bounds::default()).await
}

async fn world_with(bounds: &Bounds) -> World {
    let folder = TempDir::new().unwrap();
    let options = Options::new(Scenario::named("demo").unwrap(), folder.path(), Timestamp::now());
    let lab = Lab::start(options).await.unwrap();
    let at = lab.endpoints();
    let read = |path: &std::path::Path| std::fs::read_to_string(path).unwrap();
    let engine = dns::Engine::new(dns::Settings {
        root_hints: dns::RootHints::parse(&read(&at.root_hints)).unwrap(),
        trust_anchors: dns::TrustAnchors::parse(&read(&at.trust_anchor)).unwrap(),
        port: at.dns_port,
        allow_private: true,
        address_map: at.address_map.as_ref().map(|p| dns::AddressMap::read(p).unwrap()).unwrap_or_default(),
        ..dns::Settings::default()
    });
    let resolver = Resolver::new(Arc::new(Recursive::new(engine)), bounds, Arc::new(Timestamp::now));
    let issued = lab.certificate(&["localhost".into()], &[IpAddr::V4(Ipv4Addr::LOCALHOST)]).unwrap();
    let files = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    std::fs::write(&files.0, issued.chain).unwrap();
    std::fs::write(&files.1, issued.key).unwrap();
    let tls = Tls::files(&files.0, &files.1).unwrap();
    let stop = CancellationToken::new();
    let listen = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let (a, b) = (listen().await.unwrap(), listen().await.unwrap());
    let (plain, secure) = (a.local_addr().unwrap(), b.local_addr().unwrap());
    let pages =
        Router::new().route("/", get(|| async { "a page\n" })).route("/livez", get(|| async { "ok\n" }));
    let served =
        |encrypted| Served::with_doh(pages.clone(), Site::new(resolver.clone(), Exposure::Direct, encrypted));
    tokio::spawn(serve(a, None, served(false), stop.clone()));
    tokio::spawn(serve(b, Some(tls), served(true), stop.clone()));
    World { ca: at.extra_ca.clone(), lab, plain, secure, folder, stop }
}

/// Returns what a program prints; `None`, with a message, when it is not installed.
///
/// # Panics
/// In CI when it is not installed: `cargo xtask test` installs what the tests need.
async fn run(program: &str, args: &[&str]) -> Option<String> {
    let command = Command::new(program).args(args).kill_on_drop(true).output();
    match tokio::time::timeout(Duration::from_secs(30), command).await.expect("the client ends") {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            Some(text + &String::from_utf8_lossy(&output.stderr))
        }
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            let ci = std::env::var("CI").is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"));
            assert!(!ci, "{program} is not installed");
            assert!(std::env::var_os("CI").is_none(), "{program} is not installed");
            println!("SKIPPED: {program} is not installed");
            None
        }
        Err(e) => panic!("{program}: {e}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn kdig_resolves_by_get_and_post_over_tls() {
    let world = world().await;
    let (port, ca) = (world.secure.port().to_string(), format!("+tls-ca={}", world.ca.display()));
    for form in ["+https", "+https-get"] {
        let args = [
            "@127.0.0.1",
            "-p",
            &port,
            form,
            &ca,
            "+tls-hostname=localhost",
            "+dnssec",
            "sealed.example",
            "A",
        ];
        let Some(said) = run("kdig", &args).await else { return };
        assert!(said.contains("status: NOERROR") && said.contains("203.0.113.52"), "{form}: {said}");
        assert!(said.contains("Flags: qr rd ra ad"), "{form}: validated\n{said}");
        let method = if form == "+https" { "HTTP/2-POST" } else { "HTTP/2-GET" };
        assert!(said.contains(method) && said.contains("PADDING"), "{form}: {said}");
        assert!(said.contains("Received 468 B"), "{form}: padded to a block\n{said}");
    }
    let args = ["@127.0.0.1", "-p", &port, "+https", &ca, "+tls-hostname=elsewhere.example", "q7.io"];
    let said = run("kdig", &args).await.unwrap();
    assert!(!said.contains("NOERROR"), "the certificate is checked in this test at all: {said}");
    let args = ["@127.0.0.1", "-p", &port, "+https", &ca, "forged.example"];
    assert!(run("kdig", &args).await.unwrap().contains("status: SERVFAIL"));
    let args = ["@127.0.0.1", "-p", &port, "+https", &ca, "nothing.alder.example"];
    assert!(run("kdig", &args).await.unwrap().contains("status: NXDOMAIN"));
    world.stop.cancel();
    world.lab.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn curl_resolves_through_it_and_speaks_every_version() {
    let world = world().await;
    let ca = world.ca.display().to_string();
    let doh = format!("https://localhost:{}/dns-query", world.secure.port());
    let site = format!("http://www.kestrel-bank.example:{}/", world.lab.endpoints().http_port);
    // Where the lab has one address only, the web server is not where its address says.
    let web = world.lab.address_of("www.kestrel-bank.example").unwrap();
    let direct =
        world.lab.real(web, world.lab.endpoints().http_port) == (web, world.lab.endpoints().http_port).into();
    if direct {
        let args = ["-sS", "--max-time", "20", "--cacert", &ca, "--doh-url", &doh, "--doh-insecure", &site];
        let Some(said) = run("curl", &args).await else { return };
        assert_eq!(said, "Kestrel Bank.\n");
    } else {
        println!("SKIPPED: curl --doh-url, the lab has a single address here");
    }
    let secure = format!("https://localhost:{}/dns-query?name=q7.io&type=A", world.secure.port());
    let plain = format!("http://{}/dns-query?name=q7.io&type=A", world.plain);
    for (version, url, want) in [
        ("--http2", &secure, "2 200"),
        ("--http1.1", &secure, "1.1 200"),
        ("--http1.1", &plain, "1.1 200"),
        ("--http2-prior-knowledge", &plain, "2 200"),
    ] {
        let args = ["-sS", "--cacert", &ca, version, "-w", "\n%{http_version} %{http_code}", url];
        let Some(said) = run("curl", &args).await else { return };
        assert!(said.ends_with(want) && said.contains("192.0.2.7"), "{version} {url}: {said}");
    }
    world.stop.cancel();
    world.lab.shutdown().await;
}

/// dnsperf handles one response per TLS record: it loses all but one of those that share a record.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dnsperf_with_a_hundred_queries_outstanding_loses_none() {
    let world = world_with(&Bounds { rate: 0, ..Bounds::default() }).await;
    let queries = world.folder.path().join("queries");
    let names =
        ["q7.io A", "sealed.example A", "sealed.example DNSKEY", "q7.io MX", "nothing.alder.example A"];
    std::fs::write(&queries, names.join("\n")).unwrap();
    let (port, queries) = (world.secure.port().to_string(), queries.display().to_string());
    for method in ["doh-method=GET", "doh-method=POST"] {
        let args = ["-m", "doh", "-O", method, "-s", "127.0.0.1", "-p", &port, "-d", &queries, "-l", "1"];
        let Some(output) = run("dnsperf", &args).await else { return };
        let figure = |name: &str| {
            let line = output.lines().find_map(|line| line.trim().strip_prefix(name));
            line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok())
        };
        assert_eq!(figure("Queries lost:"), Some(0), "{method}: {output}");
        assert!(figure("Queries completed:").is_some_and(|n| n > 200), "{method}: {output}");
    }
    world.stop.cancel();
    world.lab.shutdown().await;
}

/// An HTTP/2 connection to the plain listener from this loopback address.
async fn client(
    world: &World,
    from: [u8; 4],
) -> std::io::Result<hyper::client::conn::http2::SendRequest<axum::body::Body>> {
    use hyper_util::rt::{TokioExecutor, TokioIo};
    let socket = tokio::net::TcpSocket::new_v4()?;
    socket.bind(SocketAddr::from((from, 0)))?;
    let stream = TokioIo::new(socket.connect(world.plain).await?);
    let (sender, connection) = hyper::client::conn::http2::handshake(TokioExecutor::new(), stream)
        .await
        .map_err(std::io::Error::other)?;
    tokio::spawn(connection);
    Ok(sender)
}

/// Both servers of ghost-ship.example are silent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lookups_that_wait_for_silent_servers_delay_neither_pages_nor_other_clients() {
    let world = world().await;
    let Ok(mut attacker) = client(&world, [127, 0, 0, 2]).await else {
        println!("SKIPPED: this system has no 127.0.0.2");
        return;
    };
    let mut other = client(&world, [127, 0, 0, 1]).await.unwrap();
    let request = |path: String| {
        hyper::Request::get(format!("http://localhost{path}")).body(axum::body::Body::empty()).unwrap()
    };
    let mut waits = Vec::new();
    let mut ticks = tokio::time::interval(Duration::from_millis(20));
    for n in 0..150 {
        ticks.tick().await;
        // 90 queries a second.
        for m in 0..if n % 5 == 0 { 1 } else { 2 } {
            let path = format!("/dns-query?name=n{n}-{m}.ghost-ship.example&type=A");
            tokio::spawn(attacker.send_request(request(path)));
        }
        let miss = request(format!("/dns-query?name=m{n}.q7.io&type=A"));
        if n % 5 == 0 {
            assert_eq!(other.send_request(miss).await.unwrap().status(), 200, "query {n}");
        }
        let start = std::time::Instant::now();
        assert_eq!(other.send_request(request("/livez".into())).await.unwrap().status(), 200);
        waits.push(start.elapsed());
    }
    waits.sort();
    let p99 = waits[waits.len() * 99 / 100];
    println!("/livez: p50 {:?}, p99 {p99:?}", waits[waits.len() / 2]);
    assert!(p99 < Duration::from_millis(100), "{p99:?}");
    world.stop.cancel();
    world.lab.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_lets_requests_end_and_frees_the_ports() {
    let world = world().await;
    let mut idle = TcpStream::connect(world.plain).await.unwrap();
    let mut busy = TcpStream::connect(world.plain).await.unwrap();
    busy.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let mut start = [0; 15];
    busy.read_exact(&mut start).await.unwrap();
    assert_eq!(&start, b"HTTP/1.1 200 OK");
    world.stop.cancel();
    let mut rest = Vec::new();
    let end = Duration::from_secs(10);
    tokio::time::timeout(end, busy.read_to_end(&mut rest)).await.expect("the connection ends").unwrap();
    assert!(rest.ends_with(b"a page\n"), "{}", String::from_utf8_lossy(&rest));
    tokio::time::timeout(end, idle.read_to_end(&mut rest)).await.expect("so does an idle one").unwrap();
    world.lab.shutdown().await;
}

#[tokio::test]
async fn certificates_that_cannot_be_used_are_refused_by_name() {
    let folder = TempDir::new().unwrap();
    let (certificate, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    let words = || Tls::files(&certificate, &key).err().map(|e| format!("{e:#}")).unwrap_or_default();
    assert!(words().contains("cert.pem"), "{}", words());
    std::fs::write(&certificate, "nothing").unwrap();
    std::fs::write(&key, "nothing").unwrap();
    assert!(words().contains("no CERTIFICATE"), "{}", words());
    let lab_folder = TempDir::new().unwrap();
    let options = Options::new(Scenario::named("small").unwrap(), lab_folder.path(), Timestamp::now());
    let lab = Lab::start(options).await.unwrap();
    let (one, other) = (
        lab.certificate(&["a.test".into()], &[]).unwrap(),
        lab.certificate(&["b.test".into()], &[]).unwrap(),
    );
    std::fs::write(&certificate, &one.chain).unwrap();
    assert!(words().contains("the key is not readable"), "{}", words());
    std::fs::write(&key, &other.key).unwrap();
    assert!(words().contains("can't be used together"), "{}", words());
    std::fs::write(&key, &one.key).unwrap();
    assert_eq!(words(), "");
    lab.shutdown().await;
}

/// The certificate that a listener shows.
async fn shown(at: SocketAddr, ca: &str) -> Vec<u8> {
    use rustls_pki_types::pem::PemObject;
    let mut roots = rustls::RootCertStore::empty();
    roots.add(rustls_pki_types::CertificateDer::from_pem_slice(ca.as_bytes()).unwrap()).unwrap();
    let config =
        rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
    let stream = TcpStream::connect(at).await.unwrap();
    let name = rustls_pki_types::ServerName::try_from("localhost").unwrap();
    let stream = tokio_rustls::TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
    stream.get_ref().1.peer_certificates().unwrap()[0].to_vec()
}

#[tokio::test]
async fn a_renewed_certificate_is_served_and_a_broken_one_is_not() {
    let folder = TempDir::new().unwrap();
    let options = Options::new(Scenario::named("small").unwrap(), folder.path(), Timestamp::now());
    let lab = Lab::start(options).await.unwrap();
    let ca = std::fs::read_to_string(&lab.endpoints().extra_ca).unwrap();
    let (certificate, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    // Times of files may be coarse: each change gets a time of its own.
    let put = |chain: &str, private: &str, second: u64| {
        for (path, text) in [(&certificate, chain), (&key, private)] {
            std::fs::write(path, text).unwrap();
            let at = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(second);
            std::fs::File::options().append(true).open(path).unwrap().set_modified(at).unwrap();
        }
    };
    let issue = || lab.certificate(&["localhost".into()], &[]).unwrap();
    let (first, second) = (issue(), issue());
    put(&first.chain, &first.key, 1_000_000);
    let tls = Tls::files_with_check_interval(&certificate, &key, Duration::ZERO).unwrap();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let at = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    tokio::spawn(serve(listener, Some(tls), Router::new(), stop.clone()));
    let before = shown(at, &ca).await;
    put(&second.chain, &first.key, 1_000_001);
    assert_eq!(shown(at, &ca).await, before, "half a renewal changes nothing");
    put(&second.chain, &second.key, 1_000_002);
    assert_ne!(shown(at, &ca).await, before);
    stop.cancel();
    lab.shutdown().await;
}
