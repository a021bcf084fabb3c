//! The lab with a few domains, their providers and a gateway, and the engine in front of it.

use crate::lab_dns;
use async_trait::async_trait;
use dns::{Engine, Settings};
use lab::{Lab, Options, Scenario};
use model::Timestamp;
use model::configure::{RecordState, ServiceKind, ServiceReport, ServiceSpec};
use model::names::{DomainName, Fqdn};
use product::configure::Inspector;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

pub const NOW: &str = "2026-11-20T14:05:00Z";

pub const WORLD: &str = r#"
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
pub const TEMPLATE: &str = r#"{"providerId":"northlake.example","providerName":"Northlake","serviceId":"shop",
"serviceName":"Northlake Shop","syncPubKeyDomain":"northlake.example","syncRedirectDomain":"northlake.example",
"records":[{"type":"CNAME","host":"www","pointsTo":"edge.northlake.example","ttl":300},
{"type":"TXT","host":"_northlake","data":"nl-verify=%token%","ttl":300}]}"#;

/// Resolves hosts of the lab with the engine.
pub struct Hosts(pub Engine);

#[async_trait]
impl net::Resolve for Hosts {
    async fn resolve(&self, host: &str) -> Result<Vec<IpAddr>, String> {
        self.0.lookup(&Fqdn::trusted(host)).await.map_err(|e| e.to_string())
    }
}

pub struct World {
    pub lab: Lab,
    pub engine: Engine,
    _dir: TempDir,
}

impl World {
    pub async fn start() -> World {
        let dir = TempDir::new().unwrap();
        let scenario = Scenario::parse(&WORLD.replace("TEMPLATE", TEMPLATE), "services").unwrap();
        let lab = Lab::start(Options::new(scenario, dir.path(), now())).await.unwrap();
        let settings = Settings { timeout: Duration::from_secs(5), ..lab_dns::settings(&lab) };
        World { engine: Engine::new(settings), lab, _dir: dir }
    }

    /// The guarded way to the lab's web servers.
    pub fn dialer(&self) -> net::Dialer {
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

    pub async fn tell(&self, command: &str) {
        self.lab.apply(command.parse().unwrap()).await.unwrap();
    }

    pub async fn look(&self, domain: &str, spec: &ServiceSpec) -> ServiceReport {
        Inspector::new(self.engine.clone()).inspect(&DomainName::trusted(domain), spec, now()).await.unwrap()
    }
}

pub fn now() -> Timestamp {
    NOW.parse().unwrap()
}

pub fn spec(kind: ServiceKind, pairs: &[(&str, &str)]) -> ServiceSpec {
    ServiceSpec::new(kind, "", pairs.iter().copied()).unwrap()
}

pub fn gateway() -> ServiceSpec {
    spec(ServiceKind::Web, &[("target", "edge.northlake.example")])
}

pub fn planned(r: &ServiceReport) -> Vec<String> {
    let one = |c: &model::configure::PlannedChange| {
        format!("{} {} {} {} > {}", c.action.label(), c.host, c.rtype, c.old.join(","), c.new.join(","))
    };
    r.changes.iter().map(one).collect()
}

pub fn states(r: &ServiceReport) -> Vec<(&str, &str, RecordState)> {
    r.records.iter().map(|c| (c.host.as_str(), c.rtype.as_str(), c.state)).collect()
}
