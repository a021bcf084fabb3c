//! The look-up client against the lab: an Internet with registries of several kinds. RDAP and WHOIS of one name must
//! say the same.

use async_trait::async_trait;
use lab::{Lab, Options, Scenario};
use model::names::DomainName;
use model::registration::{Party, Registration, RegistrationState};
use registration::{Client, FailureKind, LookupResult, Settings};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const NOW: &str = "2026-11-20T12:00:00Z";

struct Hosts(Arc<Lab>);

#[async_trait]
impl net::Resolve for Hosts {
    async fn resolve(&self, host: &str) -> Result<Vec<IpAddr>, String> {
        self.0.address_of(host).map(|ip| vec![IpAddr::V4(ip)]).ok_or_else(|| format!("{host} does not exist"))
    }
}

struct World {
    lab: Arc<Lab>,
    dir: tempfile::TempDir,
}

async fn demo() -> World {
    let dir = tempfile::TempDir::new().unwrap();
    let options = Options::new(Scenario::named("demo").unwrap(), dir.path(), NOW.parse().unwrap());
    World { lab: Arc::new(Lab::start(options).await.unwrap()), dir }
}

impl World {
    fn client(&self, rdap: bool) -> Client {
        self.client_over(rdap, None)
    }

    /// What is dialled for an address of the lab.
    fn dialled(&self, address: SocketAddr) -> SocketAddr {
        let map = self.lab.endpoints().address_map.as_ref().map(|p| net::AddressMap::read(p).unwrap());
        map.unwrap_or_default().dial(address)
    }

    /// A client that reaches one address of the lab through another.
    fn client_over(&self, rdap: bool, detour: Option<(SocketAddr, SocketAddr)>) -> Client {
        let e = self.lab.endpoints();
        let nowhere = self.dir.path().join("no-rdap.json");
        std::fs::write(&nowhere, r#"{"services":[[["invalid"],["https://rdap.invalid/"]]]}"#).unwrap();
        let bootstrap = if rdap { &e.rdap_bootstrap } else { &nowhere };
        let dialer = net::Dialer::new(net::Settings {
            resolver: Arc::new(Hosts(self.lab.clone())),
            allow_private: true,
            extra_ca: Some(std::fs::read(&e.extra_ca).unwrap()),
            address_map: detour.map_or_else(
                || e.address_map.as_ref().map(|p| net::AddressMap::read(p).unwrap()).unwrap_or_default(),
                |pair| [pair].into_iter().collect(),
            ),
            ..net::Settings::default()
        })
        .unwrap();
        let settings = Settings {
            rdap_bootstrap: Some(bootstrap.display().to_string()),
            whois_server: Some(e.whois_server.clone()),
            limit: net::Limit::new(2, Duration::ZERO),
            patience: Duration::from_secs(30),
            timeout: Duration::from_secs(30),
            ..Settings::default()
        };
        Client::new(settings, dialer).unwrap()
    }

    async fn ask(&self, client: &Client, name: &str) -> LookupResult {
        client.lookup(&DomainName::trusted(name), NOW.parse().unwrap()).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_registry_states_what_time_it_is() {
    let w = demo().await;
    let client = w.client(true);
    let mut registrars = 0;
    for name in w.lab.endpoints().domains.iter().take(12) {
        let asked = w.ask(&client, name).await;
        registrars += asked.raw.iter().filter(|r| r.party == Party::Registrar).count();
    }
    let hosts: Vec<_> = client.take_server_dates().into_iter().map(|d| d.host).collect();
    assert!(registrars > 0 && !hosts.is_empty(), "{hosts:?}");
    assert!(hosts.iter().all(|h| h.starts_with("rdap.nic.")), "{hosts:?}");
}

fn registered(r: &LookupResult) -> Option<&Registration> {
    r.outcome.as_ref().ok().and_then(RegistrationState::registration)
}

#[tokio::test(flavor = "multi_thread")]
async fn rdap_and_whois_of_a_name_say_the_same() {
    let w = demo().await;
    let (rdap, whois) = (w.client(true), w.client(false));
    let (mut both, mut seen) = (0, 0);
    for name in &w.lab.endpoints().domains {
        let a = w.ask(&rdap, name).await;
        seen += usize::from(a.outcome.is_ok());
        let b = w.ask(&whois, name).await;
        let (Some(a), Some(b)) = (registered(&a), registered(&b)) else {
            let states = (
                a.outcome.as_ref().map(RegistrationState::outcome),
                b.outcome.as_ref().map(RegistrationState::outcome),
            );
            if let (Ok(x), Ok(y)) = states {
                assert_eq!(x, y, "{name}");
            }
            continue;
        };
        both += 1;
        let times = [
            ("created", a.created, b.created),
            ("expires", a.expires, b.expires),
            ("registrar_expires", a.registrar_expires, b.registrar_expires),
        ];
        for (field, x, y) in times {
            if let (Some(x), Some(y)) = (x, y) {
                assert!(x.agrees_with(&y), "{name}: {field} is {x} by RDAP and {y} by WHOIS");
            }
        }
        if let (Some(x), Some(y)) = (&a.nameservers, &b.nameservers) {
            assert_eq!(x, y, "{name}");
        }
        if let (Some(x), Some(y)) = (&a.registrar.name, &b.registrar.name) {
            assert!(model::registration::same_company(x, y), "{name}: {x} and {y}");
        }
        if let (Some(x), Some(y)) = (&a.dnssec, &b.dnssec) {
            assert_eq!(x.signed, y.signed, "{name}");
        }
    }
    assert!(seen >= 5, "{seen} of {} names were looked up", w.lab.endpoints().domains.len());
    assert!(both >= 3, "{both} names were read by both protocols");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_registrar_is_asked_after_the_registry() {
    let w = demo().await;
    let r = w.ask(&w.client(true), "q7.io").await;
    let reg = registered(&r).unwrap_or_else(|| panic!("{:?}", r.failures));
    assert_eq!(reg.expires.unwrap().to_string(), "2029-07-06T13:58:57Z");
    assert_eq!(reg.registrar.iana_id.as_deref(), Some("1068"));
    assert_eq!(r.raw.len(), 2, "{:?}", r.failures);
    assert!(r.failures.is_empty(), "{:?}", r.failures);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_nobody_has_are_available() {
    let w = demo().await;
    for rdap in [true, false] {
        let r = w.ask(&w.client(rdap), "nobody-has-this-name.io").await;
        assert_eq!(r.outcome, Ok(RegistrationState::Available), "{:?}", r.failures);
    }
    let r = w.ask(&w.client(true), "example.no-such-tld").await;
    assert_eq!(r.outcome.unwrap_err().kind, FailureKind::Unreachable);
}

/// Forwards every connection to another address, and counts them.
async fn counting(to: SocketAddr) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let at = listener.local_addr().unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let kept = count.clone();
    tokio::spawn(async move {
        while let Ok((mut here, _)) = listener.accept().await {
            kept.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(async move {
                let mut there = tokio::net::TcpStream::connect(to).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut here, &mut there).await;
            });
        }
    });
    (at, count)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_sees_one_tls_connection_for_many_questions() {
    let w = demo().await;
    let file = std::fs::read_to_string(&w.lab.endpoints().rdap_bootstrap).unwrap();
    let file: serde_json::Value = serde_json::from_str(&file).unwrap();
    let of_io = |s: &&serde_json::Value| s[0].as_array().unwrap().iter().any(|t| t == "io");
    let service = file["services"].as_array().unwrap().iter().find(of_io).unwrap();
    let base: url::Url = service[1][0].as_str().unwrap().parse().unwrap();
    assert_eq!(base.scheme(), "https");
    let ip = w.lab.address_of(base.host_str().unwrap()).unwrap();
    let registry = SocketAddr::new(ip.into(), base.port_or_known_default().unwrap());
    let (detour, connections) = counting(w.dialled(registry)).await;
    let client = w.client_over(true, Some((registry, detour)));
    for n in 0..8 {
        let r = w.ask(&client, &format!("nobody-has-this-name-{n}.io")).await;
        assert_eq!(r.outcome, Ok(RegistrationState::Available), "{:?}", r.failures);
    }
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}
