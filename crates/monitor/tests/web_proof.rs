//! The HTTP proof of ownership in the lab: a host with several addresses in its zone, and a web server at each.

#[path = "../../dns/tests/support/mod.rs"]
mod lab_dns;

use async_trait::async_trait;
use jiff::Timestamp;
use lab::{Command, Lab, Options, Scenario};
use model::names::Fqdn;
use model::ownership::{
    Claim, ClaimPolicy, ExpectedRecord, Method, NearMiss, Nonce, Outcome, Round, ServerVerdict,
};
use monitor::{NetworkObserver, Observer};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const NOW: &str = "2026-11-20T12:00:00Z";
const DOMAIN: &str = "plain.example";
const ONE: &str = "8.8.8.8";
const TWO: &str = "9.9.9.9";

/// Names are resolved at the lab's authoritative servers.
struct Authoritative(dns::Engine);

#[async_trait]
impl net::Resolve for Authoritative {
    async fn resolve(&self, host: &str) -> Result<Vec<IpAddr>, String> {
        self.0.lookup(&Fqdn::trusted(host)).await.map_err(|e| e.to_string())
    }
}

/// The file that a web server has; `None`: none at all.
type File = Arc<Mutex<Option<String>>>;

async fn web_server() -> (SocketAddr, File) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (at, file) = (listener.local_addr().unwrap(), File::default());
    let shown = file.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut buffer = [0; 2048];
            let read = stream.read(&mut buffer).await.unwrap_or(0);
            let asked = String::from_utf8_lossy(&buffer[..read]).into_owned();
            let body = shown.lock().unwrap().clone();
            let is_ours = asked.starts_with("GET /.well-known/domainscope-challenge/c1 ")
                && asked.to_lowercase().contains("\r\nhost: plain.example\r\n");
            let (status, body) = match body {
                Some(body) if is_ours => ("200 OK", body),
                _ => ("404 Not Found", String::new()),
            };
            let head =
                format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            let _ = stream.write_all(format!("{head}{body}").as_bytes()).await;
        }
    });
    (at, file)
}

struct Stage {
    lab: Lab,
    observer: NetworkObserver,
    files: [File; 2],
    claim: Claim,
    expected: ExpectedRecord,
    _folder: tempfile::TempDir,
}

impl Stage {
    async fn new() -> Stage {
        let folder = tempfile::tempdir().unwrap();
        let now: Timestamp = NOW.parse().unwrap();
        let scenario = Scenario::named("small").unwrap();
        let lab = Lab::start(Options::new(scenario, folder.path(), now)).await.unwrap();
        let engine = dns::Engine::new(lab_dns::settings(&lab));
        let (one, two) = (web_server().await, web_server().await);
        let to = |address: &str, at: SocketAddr| (SocketAddr::new(address.parse().unwrap(), 80), at);
        // The guard is as on the Internet: only public addresses.
        let web = net::Dialer::new(net::Settings {
            resolver: Arc::new(Authoritative(engine.clone())),
            address_map: [to(ONE, one.0), to(TWO, two.0)].into_iter().collect(),
            ..net::Settings::default()
        })
        .unwrap();
        let client =
            registration::Client::new(registration::Settings::default(), web.clone()).expect("a client");
        let claim = Claim::new(DOMAIN, Nonce::new([7; 20]), Method::Http, now, &ClaimPolicy::default());
        let expected = claim.challenge.expected(Method::Http, None, "c1").unwrap();
        let observer = NetworkObserver { client, engine, web, second: None };
        let stage = Stage { lab, observer, files: [one.1, two.1], claim, expected, _folder: folder };
        for rtype in ["A", "AAAA"] {
            let gone = Command::RemoveRecord { name: DOMAIN.into(), rtype: rtype.into(), data: None };
            // The zone may have none of the type.
            let _ = stage.lab.apply(gone).await;
        }
        stage
    }

    async fn address(&self, address: &str) {
        let rtype = if address.contains(':') { "AAAA" } else { "A" };
        let (name, rtype) = (DOMAIN.into(), rtype.into());
        self.lab.apply(Command::AddRecord { name, rtype, ttl: 300, data: address.into() }).await.unwrap();
    }

    fn publish(&self, server: usize, text: Option<&str>) {
        *self.files[server].lock().unwrap() = text.map(String::from);
    }

    async fn round(&self) -> Round {
        let (challenge, now) = (&self.claim.challenge, NOW.parse().unwrap());
        let seen = self.observer.ownership(challenge, Method::Http, &self.expected, now).await.unwrap();
        Round::judge(challenge, Method::Http, &self.expected, seen)
    }
}

#[tokio::test]
async fn a_file_must_be_at_every_address_of_the_host() {
    let s = Stage::new().await;
    let value = s.expected.value.clone();
    s.address(ONE).await;
    s.publish(0, Some(&value));
    assert_eq!(s.round().await.outcome, Outcome::Proven);

    // A second address that some other machine has.
    s.address(TWO).await;
    let round = s.round().await;
    assert_eq!(round.outcome, Outcome::Mixed, "{round:#?}");
    let rows: Vec<_> =
        round.servers.iter().map(|(a, v)| (a.address.unwrap().to_string(), v.clone())).collect();
    assert_eq!(rows, [(ONE.to_string(), ServerVerdict::Holds), (TWO.to_string(), ServerVerdict::Lacks)]);
    assert_eq!(round.near_misses, [NearMiss::OtherAddresses { addresses: vec![TWO.into()] }]);
    s.publish(1, Some("another page"));
    assert_eq!(s.round().await.outcome, Outcome::Mixed);

    s.publish(1, Some(&value));
    assert_eq!(s.round().await.outcome, Outcome::Proven);
    s.publish(0, None);
    s.publish(1, None);
    assert_eq!(s.round().await.outcome, Outcome::Denied);
}

#[tokio::test]
async fn a_host_with_a_private_address_is_not_asked_at_all() {
    for private in ["127.0.0.1", "169.254.169.254", "::ffff:10.0.0.1", "64:ff9b::7f00:1"] {
        let s = Stage::new().await;
        s.publish(0, Some(&s.expected.value));
        s.address(ONE).await;
        s.address(private).await;
        let round = s.round().await;
        assert_eq!((round.outcome, round.servers.len()), (Outcome::NoAnswer, 1), "{private}: {round:#?}");
        let ServerVerdict::Unusable { reason } = &round.servers[0].1 else { panic!("{round:#?}") };
        assert!(reason.contains("refused unless the operator allows"), "{reason}");
    }
}
