//! A service on a domain of the lab: nothing there, wrongly copied, then right. The engine asks every authoritative server.

use async_trait::async_trait;
use connect::sign::{PublishedKey, SigningKey};
use dns::{Engine, RootHints, Settings, TrustAnchors};
use lab::{Lab, Options, Scenario};
use model::Timestamp;
use model::configure::StoredService;
use model::configure::{ChangeAction, RecordState, ServiceKind, ServiceReport, ServiceSpec, ServiceState};
use model::detail::RawAnswer;
use model::ids::OrgId;
use model::item::Ownership;
use model::names::{DomainName, Fqdn};
use model::observation::Part;
use model::registration::RegistrationState;
use monitor::observer::Progress;
use monitor::{DnsParts, Hub, Observer, Policy, Scanner, SystemClock};
use product::configure::Inspector;
use service::ErrorKind;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

const NOW: &str = "2026-11-20T14:05:00Z";

const WORLD: &str = r#"
name = "services"
about = "a shop that gets a gateway and mail"

[[provider]]
id = "meridian"
name = "Meridian DNS"
domain_connect = "connect.meridian-dns.example"
servers = [{ name = "ns1.meridian-dns.example" }, { name = "ns2.meridian-dns.example" }]

[[provider]]
id = "plain"
name = "Plain DNS"
servers = [{ name = "ns1.plain-dns.example" }, { name = "ns2.plain-dns.example" }]

[[web]]
host = "connect.meridian-dns.example"

[web.domain_connect]
id = "meridian-dns.example"
name = "Meridian DNS"
templates = ['''TEMPLATE''']

[[registrar]]
id = "reg"
name = "Plain Registrar"
iana_id = 9999
domain = "plain-registrar.example"

[[tld]]
name = "example"
registry = "Example Registry"

[[domain]]
name = "meridian-dns.example"
provider = "meridian"
registrar = "reg"
listed = false

[[domain]]
name = "plain-dns.example"
provider = "plain"
registrar = "reg"
listed = false

[[domain]]
name = "plain-registrar.example"
provider = "plain"
registrar = "reg"
listed = false

[[domain]]
name = "northlake.example"
provider = "plain"
registrar = "reg"
created = "-5y"
updated = "-100d"
expires = "+200d"
records = ["edge 300 A 203.0.113.20"]

[[domain]]
name = "shop.example"
provider = "meridian"
registrar = "reg"
created = "-5y"
updated = "-100d"
expires = "+200d"
records = ["@ 3600 A 192.0.2.40", "www 3600 A 192.0.2.40", "@ 3600 MX 10 mail.shop.example.", "@ 3600 TXT \"v=spf1 mx -all\""]

[[domain]]
name = "bakery.example"
provider = "plain"
registrar = "reg"
created = "-5y"
updated = "-100d"
expires = "+200d"
records = []

[[domain]]
name = "held.example"
provider = "plain"
registrar = "reg"
created = "-5y"
updated = "-100d"
expires = "+200d"
statuses = ["clientHold"]
records = []
"#;

/// A shop's template: links for it must be signed.
const TEMPLATE: &str = r#"{"providerId":"northlake.example","providerName":"Northlake","serviceId":"shop",
"serviceName":"Northlake Shop","syncPubKeyDomain":"northlake.example","syncRedirectDomain":"northlake.example",
"records":[{"type":"CNAME","host":"www","pointsTo":"edge.northlake.example","ttl":300},
{"type":"TXT","host":"_northlake","data":"nl-verify=%token%","ttl":300}]}"#;

/// Resolves hosts of the lab with the engine.
struct Hosts(Engine);

#[async_trait]
impl net::Resolve for Hosts {
    async fn resolve(&self, host: &str) -> Result<Vec<IpAddr>, String> {
        self.0.lookup(&Fqdn::trusted(host)).await.map_err(|e| e.to_string())
    }
}

struct World {
    lab: Lab,
    engine: Engine,
    _dir: TempDir,
}

impl World {
    async fn start() -> World {
        let dir = TempDir::new().unwrap();
        let scenario = Scenario::parse(&WORLD.replace("TEMPLATE", TEMPLATE), "services").unwrap();
        let lab = Lab::start(Options::new(scenario, dir.path(), now())).await.unwrap();
        let at = lab.endpoints();
        let read = |path: &std::path::Path| std::fs::read_to_string(path).unwrap();
        let settings = Settings {
            root_hints: RootHints::parse(&read(&at.root_hints)).unwrap(),
            trust_anchors: TrustAnchors::parse(&read(&at.trust_anchor)).unwrap(),
            port: at.dns_port,
            allow_private: true,
            address_map: at
                .address_map
                .as_ref()
                .map(|p| dns::AddressMap::read(p).unwrap())
                .unwrap_or_default(),
            timeout: Duration::from_secs(5),
            ..Settings::default()
        };
        World { engine: Engine::new(settings), lab, _dir: dir }
    }

    /// The guarded way to the lab's web servers.
    fn dialer(&self) -> net::Dialer {
        let at = self.lab.endpoints();
        net::Dialer::new(net::Settings {
            resolver: Arc::new(Hosts(self.engine.clone())),
            allow_private: true,
            extra_ca: Some(std::fs::read(&at.extra_ca).unwrap()),
            address_map: self.engine.settings().address_map.clone(),
            ..net::Settings::default()
        })
        .unwrap()
    }

    async fn tell(&self, command: &str) {
        self.lab.apply(command.parse().unwrap()).await.unwrap();
    }

    async fn look(&self, domain: &str, spec: &ServiceSpec) -> ServiceReport {
        Inspector::new(self.engine.clone()).inspect(&DomainName::trusted(domain), spec, now()).await.unwrap()
    }
}

fn now() -> Timestamp {
    NOW.parse().unwrap()
}

fn spec(kind: ServiceKind, pairs: &[(&str, &str)]) -> ServiceSpec {
    ServiceSpec::new(kind, "", pairs.iter().copied()).unwrap()
}

fn gateway() -> ServiceSpec {
    spec(ServiceKind::Web, &[("target", "edge.northlake.example")])
}

fn planned(r: &ServiceReport) -> Vec<String> {
    let one = |c: &model::configure::PlannedChange| {
        format!("{} {} {} {} > {}", c.action.label(), c.host, c.rtype, c.old.join(","), c.new.join(","))
    };
    r.changes.iter().map(one).collect()
}

fn states(r: &ServiceReport) -> Vec<(&str, &str, RecordState)> {
    r.records.iter().map(|c| (c.host.as_str(), c.rtype.as_str(), c.state)).collect()
}

#[tokio::test]
async fn a_gateway_turns_green_once_every_server_has_its_records() {
    let w = World::start().await;
    let r = w.look("shop.example", &gateway()).await;
    assert_eq!(r.state, ServiceState::NotSetUp, "{r:#?}");
    assert_eq!(r.provider.name, "Meridian DNS");
    assert_eq!(
        planned(&r),
        [
            "Delete @ A 192.0.2.40 > ",
            "Create @ ALIAS  > edge.northlake.example.",
            "Delete www A 192.0.2.40 > ",
            "Create www CNAME  > edge.northlake.example.",
        ],
        "mail and SPF stay"
    );
    assert_eq!(r.answered(), (2, 2));
    assert!(r.exports.iter().any(|e| e.format == "dnscontrol" && e.text.contains("ALIAS(\"@\"")), "{r:#?}");
    assert!(
        r.caches.iter().any(|s| s.when.contains("15:05") && s.title.contains("shop.example")),
        "{:#?}",
        r.caches
    );
    // The provider answers an ALIAS with the gateway's addresses.
    for command in [
        "remove shop.example A",
        "remove www.shop.example A",
        "add shop.example 300 A 203.0.113.20",
        "add www.shop.example 300 CNAME edge.northlake.example.",
    ] {
        w.tell(command).await;
    }
    let r = w.look("shop.example", &gateway()).await;
    assert_eq!(r.state, ServiceState::Working, "{r:#?}");
    assert_eq!((r.changes.len(), r.caches.len(), r.exports.len()), (0, 0, 0));
    assert!(r.records.iter().all(|c| (c.present_on, c.answered) == (2, 2)), "{r:#?}");
}

#[tokio::test]
async fn a_provider_without_alias_gets_the_gateways_addresses() {
    let w = World::start().await;
    let r = w.look("bakery.example", &gateway()).await;
    assert_eq!(
        planned(&r),
        ["Create @ A  > 203.0.113.20", "Create www CNAME  > edge.northlake.example"],
        "{r:#?}"
    );
    // Nothing asked a resolver, and the answer says how long a look-up too early would be remembered.
    assert!(r.warnings.iter().any(|s| s.starts_with("Do not open www.bakery.example")), "{:?}", r.warnings);
    assert!(r.caches.iter().any(|s| s.detail.contains("does not exist")), "{:#?}", r.caches);
}

#[tokio::test]
async fn faults_of_copying_have_names_and_the_value_to_enter() {
    let w = World::start().await;
    let proof = spec(ServiceKind::Proof, &[("value", "nl-verify=8f2c61d0"), ("name", "_northlake")]);
    w.tell("add _northlake.shop.example.shop.example 300 TXT \"nl-verify=8f2c61d0\"").await;
    let r = w.look("shop.example", &proof).await;
    assert_eq!(states(&r), [("_northlake", "TXT", RecordState::Missing)]);
    let fault = &r.records[0].faults[0];
    assert_eq!((fault.kind.as_str(), fault.host.as_str()), ("zone_appended_twice", "_northlake"));
    assert_eq!(fault.live.name, "_northlake.shop.example.shop.example");
    let gone = r.changes.iter().find(|c| c.action == ChangeAction::Delete).unwrap();
    assert_eq!(gone.name, "_northlake.shop.example.shop.example");
    w.tell("remove _northlake.shop.example.shop.example TXT").await;
    w.tell(r#"add _northlake.shop.example 300 TXT "\"nl-verify=8f2c61d0\"""#).await;
    let r = w.look("shop.example", &proof).await;
    assert_eq!(r.records[0].faults[0].kind, "quotes_in_value", "{r:#?}");
    assert_eq!(r.changes[0].action, ChangeAction::Change, "{:#?}", r.changes);
    assert_eq!(r.changes[0].new, ["nl-verify=8f2c61d0"]);
    w.tell("remove _northlake.shop.example TXT").await;
    w.tell("add _northlake.shop.example 300 CNAME edge.northlake.example.").await;
    let r = w.look("shop.example", &proof).await;
    assert_eq!(r.records[0].state, RecordState::Conflicting, "{r:#?}");
}

#[tokio::test]
async fn mail_is_merged_and_a_delegation_below_shadows() {
    let w = World::start().await;
    let mail = spec(
        ServiceKind::Mail,
        &[
            ("servers", "10 mx1.northlake.example"),
            ("spf", "include:_spf.northlake.example"),
            ("dkim", "k1 k1.dkim.northlake.example"),
            ("dmarc", "quarantine"),
        ],
    );
    let r = w.look("shop.example", &mail).await;
    let spf = r.changes.iter().find(|c| c.rtype == "TXT" && c.host == "@").unwrap();
    assert_eq!(spf.action, ChangeAction::Change);
    assert!(spf.new[0].contains("include:_spf.northlake.example") && spf.new[0].contains(" mx"), "{spf:?}");
    w.tell("add _domainkey.shop.example 300 NS ns1.plain-dns.example.").await;
    let r = w.look("shop.example", &mail).await;
    let key = r.records.iter().find(|c| c.host == "k1._domainkey").unwrap();
    assert_eq!(key.state, RecordState::Shadowed, "{key:#?}");
}

#[tokio::test]
async fn a_server_that_refuses_is_named_and_does_not_count() {
    let w = World::start().await;
    let caa = spec(ServiceKind::Caa, &[("issuers", "letsencrypt.org")]);
    w.tell(r#"add shop.example 300 CAA 0 issue "letsencrypt.org""#).await;
    w.tell("fault ns2.meridian-dns.example refused").await;
    let r = w.look("shop.example", &caa).await;
    assert_eq!((r.state, r.answered()), (ServiceState::Working, (1, 2)), "{r:#?}");
    assert!(r.servers.iter().any(|s| s.present.is_none() && s.problem == "refused"), "{:#?}", r.servers);
}

#[tokio::test]
async fn input_that_cannot_be_planned_is_refused_with_the_rule() {
    let w = World::start().await;
    let refused = |domain: &'static str, spec: ServiceSpec| {
        let engine = w.engine.clone();
        async move {
            Inspector::new(engine).inspect(&DomainName::trusted(domain), &spec, now()).await.unwrap_err()
        }
    };
    let e = refused("held.example", gateway()).await;
    assert_eq!(e.kind, ErrorKind::Invalid);
    assert!(e.detail.contains("no zone of its own"), "{e}");
    let nowhere = spec(ServiceKind::Web, &[("target", "gone.northlake.example")]);
    let e = refused("bakery.example", nowhere).await;
    assert!(e.detail.contains("addresses of the gateway"), "{e}");
    let wrong = spec(ServiceKind::Mail, &[("servers", "mx1")]);
    assert!(refused("bakery.example", wrong).await.detail.contains("\"mx1\""));
}

/// What the schedule does, with a clock that the test moves.
async fn kept(w: &World, folder: &TempDir) -> (Scanner, store::VersionedService) {
    let scanner = Scanner {
        store: store::open(&folder.path().to_string_lossy()).await.unwrap(),
        observer: Arc::new(NoNetwork),
        clock: Arc::new(SystemClock),
        hub: Hub::default(),
        policy: Policy::default(),
    };
    let domain = DomainName::trusted("shop.example");
    let item = store::NewItem {
        name: domain.clone(),
        unicode: "shop.example".into(),
        ownership: Ownership::Owned,
        tags: vec![],
        note: String::new(),
    };
    scanner.store.add(OrgId::BUILT_IN, &[item], now()).await.unwrap();
    let caa = spec(ServiceKind::Caa, &[("issuers", "letsencrypt.org")]);
    let service = StoredService::new("s1".into(), "shop.example", caa, now());
    scanner.store.add_service(OrgId::BUILT_IN, &service, now()).await.unwrap();
    let found = scanner.store.service("s1").await.unwrap().unwrap();
    assert_eq!(w.look("shop.example", &found.service.spec).await.state, ServiceState::NotSetUp);
    (scanner, found)
}

struct NoNetwork;

#[async_trait]
impl Observer for NoNetwork {
    async fn registration(
        &self,
        _: &DomainName,
        _: Timestamp,
        _: &dyn Progress,
    ) -> (Part<RegistrationState>, Vec<RawAnswer>) {
        (Part::default(), vec![])
    }

    async fn dns(&self, _: &DomainName, _: Timestamp, _: &dyn Progress) -> DnsParts {
        DnsParts::default()
    }
}

#[tokio::test]
async fn a_kept_service_is_ready_drifts_and_recovers_on_the_schedule() {
    let (w, folder) = (World::start().await, TempDir::new().unwrap());
    let (scanner, service) = kept(&w, &folder).await;
    let id = service.service.id.clone();
    w.tell(r#"add shop.example 300 CAA 0 issue "letsencrypt.org""#).await;
    let due = [(store::Job::Service(id.clone()), Timestamp::now())];
    scanner.store.enqueue(&due, store::Priority::Scheduled).await.unwrap();
    let inspector = Arc::new(Inspector::new(w.engine.clone()));
    let worker = monitor::Worker::new(scanner.clone(), "test").with_services(inspector);
    let stop = CancellationToken::new();
    let running = tokio::spawn({
        let stop = stop.clone();
        async move { worker.run(stop).await }
    });
    let kinds = || async {
        let query = model::event::EventQuery { page: 1, per_page: 50, ..Default::default() };
        let page = scanner.store.events(OrgId::BUILT_IN, &query).await.unwrap();
        let mut kinds: Vec<&str> = page.events.iter().map(|e| e.change.kind.as_str()).collect();
        kinds.reverse();
        kinds
    };
    let until = |wanted: &'static [&'static str]| async move {
        for _ in 0..300 {
            if kinds().await == wanted {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("{wanted:?} is not {:?}", kinds().await);
    };
    let ask = || async {
        let due = [(store::Job::Service(id.clone()), Timestamp::now())];
        scanner.store.enqueue(&due, store::Priority::Scheduled).await.unwrap();
    };
    until(&["service_ready"]).await;
    w.tell("remove shop.example CAA").await;
    // The first look that misses the record is confirmed by a second one.
    ask().await;
    for _ in 0..300 {
        if scanner.store.service(&id).await.unwrap().unwrap().service.misses == 1 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    until(&["service_ready"]).await;
    ask().await;
    until(&["service_ready", "service_drifted"]).await;
    w.tell(r#"add shop.example 300 CAA 0 issue "letsencrypt.org""#).await;
    ask().await;
    until(&["service_ready", "service_drifted", "service_recovered"]).await;
    stop.cancel();
    running.await.unwrap();
}

/// A new key, and its public half as published in a TXT record, both by openssl, which is not what the product uses.
fn key_pair() -> Option<(SigningKey, String)> {
    let folder = TempDir::new().unwrap();
    let script = "openssl genpkey -algorithm RSA -out k.pem 2>/dev/null && \
        openssl pkcs8 -topk8 -nocrypt -in k.pem -outform DER -out k.der && \
        openssl pkey -in k.pem -pubout -outform DER -out p.der";
    let run = std::process::Command::new("sh").args(["-c", script]).current_dir(folder.path()).output();
    let made = run.is_ok_and(|o| o.status.success());
    let in_ci = std::env::var("CI").is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"));
    assert!(made || !in_ci, "openssl is missing: cargo xtask setup installs it");
    if !made {
        eprintln!("skipped: openssl is missing, which makes the key of this test");
        return None;
    }
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    let key = SigningKey::from_pkcs8(&read("k.der"), "_dck1").unwrap();
    Some((key, format!("p=1,a=RS256,t=x509,d={}", data_encoding::BASE64.encode(&read("p.der")))))
}

#[tokio::test]
async fn one_click_goes_the_whole_circle() {
    let w = World::start().await;
    let spec = spec(ServiceKind::Template, &[("template", TEMPLATE), ("values", "token=8f2c61d0")]);
    let domain = DomainName::trusted("shop.example");
    let unsigned = Inspector::new(w.engine.clone()).with_domain_connect(w.dialer(), None);
    let r = unsigned.inspect(&domain, &spec, now()).await.unwrap();
    assert!(r.apply.is_none() && r.no_apply.contains("must be signed"), "{:?} {}", r.apply, r.no_apply);
    let Some((key, published)) = key_pair() else { return };
    let inspector = Inspector::new(w.engine.clone()).with_domain_connect(w.dialer(), Some(key));
    let r = inspector.inspect(&domain, &spec, now()).await.unwrap();
    assert_eq!(r.state, ServiceState::NotSetUp);
    let link = r.apply.unwrap_or_else(|| panic!("{}", r.no_apply));
    assert!(link.signed && link.provider == "Meridian DNS", "{link:?}");
    let query = link.url.split_once('?').unwrap().1;
    let published = PublishedKey::from_txt([published.as_str()]).unwrap();
    assert!(published.verifies_request(query), "{query}");
    assert!(!published.verifies_request(&query.replace("8f2c61d0", "00000000")));
    // With a way back to our page, which the signature vouches for; never to a page without TLS.
    let back = "https://scope.example/domains/shop.example/configuration?service=s1".parse().unwrap();
    let r = inspector.inspect_and_return(&domain, &spec, Some(&back), now()).await.unwrap();
    let with_back = r.apply.unwrap().url;
    let returning = with_back.split_once('?').unwrap().1;
    assert!(
        returning
            .contains("redirect_uri=https%3A%2F%2Fscope.example%2Fdomains%2Fshop.example%2Fconfiguration")
    );
    assert!(published.verifies_request(returning), "{returning}");
    let plain = "http://scope.example/".parse().unwrap();
    let r = inspector.inspect_and_return(&domain, &spec, Some(&plain), now()).await.unwrap();
    assert_eq!(r.apply.unwrap().url, link.url);
    // The user opens the link, looks at the changes and confirms.
    let url = link.url.parse().unwrap();
    let shown = w.dialer().http_get_once(&url, "text/html", 1 << 16).await.unwrap();
    assert_eq!(shown.status, 200);
    assert!(String::from_utf8_lossy(&shown.body).contains("nl-verify=8f2c61d0"));
    assert_eq!(inspector.inspect(&domain, &spec, now()).await.unwrap().state, ServiceState::NotSetUp);
    let applied = w.dialer().http_post(&link.url, "text/html", Vec::new(), 1 << 16).await.unwrap();
    assert_eq!(applied.status, 200, "{}", String::from_utf8_lossy(&applied.body));
    let r = inspector.inspect(&domain, &spec, now()).await.unwrap();
    assert_eq!(r.state, ServiceState::Working, "{r:#?}");
    assert!(r.apply.is_none(), "nothing is left to apply");
}

#[tokio::test]
async fn providers_without_domain_connect_say_so() {
    let w = World::start().await;
    let template = spec(ServiceKind::Template, &[("template", TEMPLATE), ("values", "token=1")]);
    let inspector = Inspector::new(w.engine.clone()).with_domain_connect(w.dialer(), None);
    let r = inspector.inspect(&DomainName::trusted("bakery.example"), &template, now()).await.unwrap();
    assert!(r.apply.is_none() && r.no_apply.contains("does not announce"), "{}", r.no_apply);
    let other = TEMPLATE.replace("\"shop\"", "\"unknown\"");
    let other = spec(ServiceKind::Template, &[("template", &other), ("values", "token=1")]);
    let r = inspector.inspect(&DomainName::trusted("shop.example"), &other, now()).await.unwrap();
    assert!(r.no_apply.contains("does not know this template"), "{}", r.no_apply);
    // Settings that lead elsewhere are refused by the guard when private addresses are not allowed.
    let guarded = net::Dialer::new(net::Settings {
        resolver: Arc::new(Hosts(w.engine.clone())),
        ..net::Settings::default()
    });
    let inspector = Inspector::new(w.engine.clone()).with_domain_connect(guarded.unwrap(), None);
    let r = inspector.inspect(&DomainName::trusted("shop.example"), &template, now()).await.unwrap();
    assert!(r.apply.is_none() && !r.no_apply.is_empty(), "{}", r.no_apply);
}
