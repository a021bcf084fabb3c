//! Probes against the lab's TLS servers, a scripted DNS and nginx: faults first.

use async_trait::async_trait;
use jiff::Timestamp;
use lab::{Lab, Options as LabOptions, Scenario};
use model::certificate::judge::ProbeKind;
use model::certificate::{Probe, Trust};
use model::finding::Level;
use model::names::Fqdn;
use probe::{DnsAnswer, Names, Options, Prober};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tempfile::TempDir;

const NOW: &str = "2026-11-20T14:05:00Z";

/// Names through the engine, as in a closed network.
struct Engine(dns::Engine);

#[async_trait]
impl net::Resolve for Engine {
    async fn resolve(&self, host: &str) -> Result<Vec<IpAddr>, String> {
        self.0.lookup(&Fqdn::trusted(host)).await.map_err(|e| e.to_string())
    }
}

#[async_trait]
impl Names for Engine {
    async fn ask(&self, name: &str, rtype: &str) -> Result<DnsAnswer, String> {
        let found = self.0.resolve(&Fqdn::trusted(name), rtype).await.map_err(|e| e.to_string())?;
        Ok(DnsAnswer {
            is_nxdomain: found.kind == model::dns::AnswerKind::NxDomain,
            records: found.records.into_iter().map(|r| r.data).collect(),
            aliases: found.aliases,
            owner: found.owner,
            zone: found.zone,
        })
    }
}

struct World {
    lab: Lab,
    prober: Prober,
    dialer: net::Dialer,
    engine: dns::Engine,
    _dir: TempDir,
}

const SITES: &str = r#"
[[web]]
host = "good.plain.example"
[[web]]
host = "full.plain.example"
certificate = "intermediate"
[[web]]
host = "ending.plain.example"
certificate = "expiring"
[[web]]
host = "ended.plain.example"
certificate = "expired"
[[web]]
host = "other.plain.example"
certificate = "wrong-name"
[[web]]
host = "self.plain.example"
certificate = "self-signed"
[[web]]
host = "half.plain.example"
certificate = "incomplete"
[[web]]
host = "down.plain.example"
status = 503
[[domain]]
name = "dangle.example"
provider = "one"
registrar = "reg"
created = "-5y"
updated = "-100d"
expires = "+200d"
records = [
  "@ 300 A 192.0.2.20",
  "@ 300 CAA 0 issue \"ca.example\"",
  "www 300 CNAME gone.plain.example.",
  "app 300 CNAME gone.azurewebsites.net.",
]
"#;

async fn world() -> World {
    let dir = TempDir::new().unwrap();
    let text = include_str!("../../lab/scenarios/small.toml").to_string() + SITES;
    let scenario = Scenario::parse(&text, "sites.toml").unwrap();
    let lab = Lab::start(LabOptions::new(scenario, dir.path(), NOW.parse().unwrap())).await.unwrap();
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
    let dialer = dialer(&lab, &engine, engine.settings().address_map.clone());
    let prober = Prober::new(dialer.clone(), Arc::new(Engine(engine.clone())));
    World { lab, prober, dialer, engine, _dir: dir }
}

fn dialer(lab: &Lab, engine: &dns::Engine, address_map: net::AddressMap) -> net::Dialer {
    net::Dialer::new(net::Settings {
        resolver: Arc::new(Engine(engine.clone())),
        allow_private: true,
        extra_ca: Some(std::fs::read(&lab.endpoints().extra_ca).unwrap()),
        address_map,
        ..net::Settings::default()
    })
    .unwrap()
}

impl World {
    fn dialer_with(&self, map: net::AddressMap) -> net::Dialer {
        dialer(&self.lab, &self.engine, map)
    }

    async fn probe(&self, host: &str) -> Probe {
        let options = Options {
            port: self.lab.endpoints().https_port,
            readiness: Some("/".into()),
            ..Options::default()
        };
        self.prober.probe(host, &options, NOW.parse().unwrap()).await
    }
}

fn kinds(probe: &Probe) -> Vec<ProbeKind> {
    probe.findings.iter().map(|f| f.kind).collect()
}

fn level(probe: &Probe, kind: ProbeKind) -> Option<Level> {
    probe.findings.iter().find(|f| f.kind == kind).map(|f| f.level)
}

#[tokio::test]
async fn certificates_are_shown_and_judged_whatever_is_wrong_with_them() {
    let w = world().await;
    for (host, trust, kind) in [
        ("ended", Trust::Expired, ProbeKind::CertificateExpired),
        ("other", Trust::Trusted, ProbeKind::CertificateWrongName),
        ("self", Trust::SelfSigned, ProbeKind::CertificateUntrusted),
        ("half", Trust::Incomplete, ProbeKind::CertificateUntrusted),
    ] {
        let probe = w.probe(&format!("{host}.plain.example")).await;
        assert_eq!(probe.tls[0].trust, Some(trust), "{host}: {probe:#?}");
        assert_eq!(level(&probe, kind), Some(Level::Critical), "{host}: {probe:#?}");
        assert_eq!(probe.tls[0].chain.len(), 1);
        assert!(probe.tls[0].version.is_some(), "the handshake succeeds: {host}");
        // The page of a server whose certificate is bad is not read.
        assert_eq!(probe.https.as_ref().unwrap().hops[0].status, None, "{host}");
    }
    let wrong = w.probe("other.plain.example").await;
    assert!(!wrong.tls[0].covers_host && wrong.tls[0].chain[0].names == ["elsewhere.example"]);
    let ending = w.probe("ending.plain.example").await;
    assert_eq!(level(&ending, ProbeKind::CertificateEndsSoon), Some(Level::Error));
    assert_eq!(ending.tls[0].trust, Some(Trust::Trusted));
}

#[tokio::test]
async fn a_good_server_lacks_only_the_redirect_and_its_certificate_reads_whole() {
    let w = world().await;
    for (host, length) in [("good", 1), ("full", 2)] {
        let probe = w.probe(&format!("{host}.plain.example")).await;
        // At port 80 the lab shows the same page.
        assert_eq!(kinds(&probe), [ProbeKind::NoHttpsRedirect], "{probe:#?}");
        let tls = &probe.tls[0];
        assert_eq!((tls.trust, tls.covers_host, tls.chain.len()), (Some(Trust::Trusted), true, length));
        assert_eq!((tls.version.as_deref(), tls.alpn.as_deref()), (Some("TLSv1.3"), Some("http/1.1")));
        assert!(!tls.ocsp_stapled);
        let leaf = &tls.chain[0];
        assert_eq!((leaf.key_type.as_str(), leaf.key_bits), ("ECDSA", 256));
        assert_eq!(leaf.issuer_organisation.as_deref(), Some("Domainscope lab"));
        assert!(leaf.not_before < leaf.not_after && leaf.sha256.len() == 64 && !leaf.serial.is_empty());
        assert_eq!(probe.https.as_ref().unwrap().hops[0].status, Some(200));
        assert_eq!(probe.readiness.as_ref().unwrap().status, Some(200));
        let caa = probe.caa.as_ref().unwrap();
        assert_eq!((caa.found_at.as_deref(), caa.permits), (None, Some(true)));
    }
    let down = w.probe("down.plain.example").await;
    assert_eq!(level(&down, ProbeKind::HttpsFails), Some(Level::Error));
    assert_eq!(level(&down, ProbeKind::NotReady), Some(Level::Error));
}

#[tokio::test]
async fn records_that_lead_nowhere_are_named_and_claimable_ones_are_critical() {
    let w = world().await;
    let gone = w.probe("www.dangle.example").await;
    assert_eq!(level(&gone, ProbeKind::DanglingTarget), Some(Level::Error), "{gone:#?}");
    assert_eq!(gone.dangling[0].target, "gone.plain.example");
    assert!(gone.error.is_some() && level(&gone, ProbeKind::NoAddress).is_some());
    let open = w.probe("app.dangle.example").await;
    assert_eq!(level(&open, ProbeKind::ClaimableTarget), Some(Level::Critical), "{open:#?}");
    assert_eq!(open.dangling[0].service.as_deref(), Some("Microsoft Azure"));
    assert!(open.dangling[0].source.as_deref().unwrap().contains("can-i-take-over-xyz"));
}

/// Answers by (name, type); everything else fails.
#[derive(Default)]
struct Scripted(BTreeMap<(&'static str, &'static str), DnsAnswer>);

#[async_trait]
impl Names for Scripted {
    async fn ask(&self, name: &str, rtype: &str) -> Result<DnsAnswer, String> {
        let found = self.0.iter().find(|((n, t), _)| *n == name && *t == rtype);
        found.map(|(_, answer)| answer.clone()).ok_or_else(|| "no answer".into())
    }
}

struct Fixed;

#[async_trait]
impl net::Resolve for Fixed {
    async fn resolve(&self, _: &str) -> Result<Vec<IpAddr>, String> {
        Ok(vec!["127.0.0.1".parse().unwrap()])
    }
}

#[tokio::test]
async fn a_name_server_that_does_not_exist_is_named_and_a_failed_look_up_proves_nothing() {
    let answer = |zone: &str, records: &[&str], is_nxdomain| DnsAnswer {
        zone: zone.into(),
        records: records.iter().map(|r| (*r).to_string()).collect(),
        is_nxdomain,
        ..DnsAnswer::default()
    };
    let names = Scripted(BTreeMap::from([
        (("www.a.example", "A"), answer("a.example", &["192.0.2.1"], false)),
        (("a.example", "NS"), answer("a.example", &["ns1.gone.example.", "ns2.silent.example."], false)),
        (("ns1.gone.example", "A"), answer("example", &[], true)),
    ]));
    let dialer =
        net::Dialer::new(net::Settings { resolver: Arc::new(Fixed), ..net::Settings::default() }).unwrap();
    let probe = Prober::new(dialer, Arc::new(names)).probe("www.a.example", &Options::default(), now()).await;
    assert_eq!(probe.dangling.len(), 1, "{probe:#?}");
    assert_eq!(
        (probe.dangling[0].rtype.as_str(), probe.dangling[0].target.as_str()),
        ("NS", "ns1.gone.example")
    );
    // The guard: loopback is refused unless the operator allows it.
    assert!(probe.error.as_deref().unwrap().contains("refused unless the operator allows"));
    assert!(probe.tls.is_empty() && probe.http.is_none());
}

fn now() -> Timestamp {
    NOW.parse().unwrap()
}

/// Where nginx is; in CI it must be there.
fn nginx() -> Option<std::path::PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    let found = folders.map(|f| f.join("nginx")).find(|p| p.is_file());
    if found.is_none() {
        assert!(std::env::var_os("CI").is_none(), "nginx is not installed (Debian: nginx-light)");
        println!("SKIPPED: nginx is not installed (Debian: nginx-light)");
    }
    found
}

struct Killed(std::process::Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn nginx_is_probed_with_http2_its_header_fields_and_redirects() {
    let Some(nginx) = nginx() else { return };
    let dir = TempDir::new().unwrap();
    let host = "www.site.example";
    let key = rcgen::KeyPair::generate().unwrap();
    let cert =
        rcgen::CertificateParams::new(vec!["*.site.example".to_string()]).unwrap().self_signed(&key).unwrap();
    std::fs::write(dir.path().join("cert.pem"), cert.pem()).unwrap();
    std::fs::write(dir.path().join("key.pem"), key.serialize_pem()).unwrap();
    let free = || std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (tls, plain) = (free(), free());
    let at = dir.path().display();
    let config = format!(
        "daemon off; master_process off; pid {at}/pid; error_log {at}/error.log; events {{}}\n\
         http {{ access_log off; client_body_temp_path {at}/b; proxy_temp_path {at}/p; fastcgi_temp_path {at}/f; \
         uwsgi_temp_path {at}/u; scgi_temp_path {at}/s;\n\
         server {{ listen 127.0.0.1:{plain}; return 301 https://{host}:{tls}/; }}\n\
         server {{ listen 127.0.0.1:{tls} ssl http2; ssl_certificate {at}/cert.pem; ssl_certificate_key {at}/key.pem;\n\
         add_header Strict-Transport-Security \"max-age=31536000\" always; add_header Alt-Svc 'h3=\":443\"; ma=60' always;\n\
         location = / {{ return 302 /home; }} location = /home {{ return 200 ok; }}\n\
         location = /circle {{ return 302 /circle; }} location = /ready {{ return 500; }} }} }}\n"
    );
    std::fs::write(dir.path().join("nginx.conf"), config).unwrap();
    let mut command = std::process::Command::new(nginx);
    command.arg("-p").arg(dir.path()).arg("-c").arg(dir.path().join("nginx.conf"));
    let _nginx = Killed(command.spawn().unwrap());
    for _ in 0..200 {
        if tokio::net::TcpStream::connect(("127.0.0.1", tls)).await.is_ok() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let trusted = net::Dialer::new(net::Settings {
        resolver: Arc::new(Fixed),
        allow_private: true,
        extra_ca: Some(cert.pem().into_bytes()),
        ..net::Settings::default()
    })
    .unwrap();
    let prober = Prober::new(trusted, Arc::new(Scripted::default()));
    let options = Options { port: tls, http_port: plain, readiness: Some("/ready".into()) };
    let probe = prober.probe(host, &options, Timestamp::now()).await;
    let seen = &probe.tls[0];
    assert_eq!((seen.alpn.as_deref(), seen.covers_host), (Some("h2"), true), "{probe:#?}");
    let https = probe.https.as_ref().unwrap();
    assert_eq!(https.hops.iter().map(|h| h.status).collect::<Vec<_>>(), [Some(302), Some(200)]);
    assert_eq!(https.hsts.as_deref(), Some("max-age=31536000"));
    assert!(https.offers_h3());
    let http = probe.http.as_ref().unwrap();
    assert_eq!(http.hops.iter().map(|h| h.status).collect::<Vec<_>>(), [Some(301), Some(302), Some(200)]);
    assert_eq!(probe.readiness.as_ref().unwrap().status, Some(500));
    assert_eq!(level(&probe, ProbeKind::NotReady), Some(Level::Error));
    assert!(level(&probe, ProbeKind::NoHttpsRedirect).is_none());
    assert!(probe.caa.as_ref().unwrap().error.is_some(), "the DNS does not answer");
}

#[tokio::test]
async fn a_web_server_is_asked_over_both_schemes_and_never_at_a_private_address() {
    let world = world().await;
    let now: Timestamp = NOW.parse().unwrap();
    // The lab has one port for all web servers.
    let addresses = world.dialer.addresses("down.plain.example").await.unwrap();
    let port = world.lab.endpoints().https_port;
    let pairs = addresses.iter().map(|ip| (SocketAddr::new(*ip, 443), SocketAddr::new(*ip, port)));
    let dialer = world.dialer_with(pairs.collect());
    let seen = probe::web_answer(&dialer, "down.plain.example", "/healthz?x=1", now).await;
    let last = seen.https.hops.last().unwrap();
    assert_eq!(
        (last.url.as_str(), last.status),
        ("https://down.plain.example/healthz?x=1", Some(503)),
        "{seen:?}"
    );
    assert_eq!(seen.http.hops[0].url, "http://down.plain.example/healthz?x=1");
    assert!(seen.latency_ms.is_some_and(|ms| ms > 0.0), "{seen:?}");

    struct Inside;
    #[async_trait]
    impl net::Resolve for Inside {
        async fn resolve(&self, _: &str) -> Result<Vec<IpAddr>, String> {
            Ok(vec!["10.0.0.7".parse().unwrap()])
        }
    }
    let settings = net::Settings { resolver: Arc::new(Inside), ..net::Settings::default() };
    let dialer = net::Dialer::new(settings).unwrap();
    let seen = probe::web_answer(&dialer, "inside.example", "/", now).await;
    for seen in [&seen.https, &seen.http] {
        let error = seen.hops[0].error.clone().unwrap_or_default();
        assert!(
            error.contains("10.0.0.7") && error.contains("refused unless the operator allows"),
            "{error}"
        );
    }
    assert_eq!(seen.latency_ms, None);
}
