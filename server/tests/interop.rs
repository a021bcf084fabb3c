//! The engine in front of servers no one here wrote: NSD for root and TLDs, BIND for the domain, nginx with TLS for
//! recorded RDAP. The same assertions hold against the lab.

mod interop {
    pub mod peers;
}

use interop::peers::Peers;
use model::dns::{AnswerKind, ServerHealth, TraceOutcome};
use model::ids::Vantage;
use model::names::{DomainName, Fqdn};
use model::observation::Observation;
use model::registration::RegistrationState;
use monitor::observer::NoProgress;
use monitor::{NetworkObserver, Observer};
use server::settings::EngineArgs;
use server::wiring;

async fn observe(internet: &NetworkObserver, name: &str) -> Observation {
    let name = DomainName::trusted(name);
    let now = jiff::Timestamp::now();
    let (registration, raw) = internet.registration(&name, now, &NoProgress).await;
    let dns = internet.dns(&name, now, &NoProgress).await;
    assert!(registration.error.is_some() || !raw.is_empty(), "the raw answer is kept");
    let (delegation, zone, dnssec, findings) = (dns.delegation, dns.zone, dns.dnssec, dns.findings);
    Observation {
        name,
        vantage: Vantage::local(),
        registration,
        delegation,
        zone,
        dnssec,
        findings,
        certificates: model::observation::Part::default(),
        pending: vec![],
        elsewhere: vec![],
        cluster: None,
        clusterset: None,
    }
}

/// Every fact of q7.io that the specification names, wherever it was read.
async fn assert_q7(internet: &NetworkObserver) {
    let o = observe(internet, "q7.io").await;
    assert_eq!(o.registration.error, None);
    let Some(RegistrationState::Registered(r)) = &o.registration.value else {
        panic!("{:?}", o.registration)
    };
    assert_eq!(r.registrar.name.as_deref(), Some("NAMECHEAP INC"));
    assert_eq!(r.registrar.iana_id.as_deref(), Some("1068"));
    let time = |t: Option<model::time::StatedTime>| t.map(|t| t.to_string());
    assert_eq!(time(r.created).as_deref(), Some("2012-07-06T13:58:57Z"));
    assert_eq!(time(r.updated).as_deref(), Some("2019-08-17T16:33:24.36Z"));
    assert_eq!(time(r.expires).as_deref(), Some("2029-07-06T13:58:57Z"));
    let statuses: Vec<_> = r.statuses.iter().flatten().map(model::epp::EppStatus::as_str).collect();
    assert_eq!(statuses, ["clientDeleteProhibited", "clientTransferProhibited", "clientUpdateProhibited"]);
    let names = ["ns1.digitalocean.com", "ns2.digitalocean.com", "ns3.digitalocean.com"];
    assert_eq!(r.nameservers.as_deref().unwrap_or_default(), names);
    assert_eq!(r.dnssec.as_ref().map(|d| d.signed), Some(false));

    let d = o.delegation.value.as_ref().expect("a delegation");
    assert_eq!((d.parent.as_str(), d.delegated), ("io", true));
    assert_eq!(d.server_names(), names);
    assert_eq!(d.servers.len(), 3);
    for s in &d.servers {
        assert!(matches!(s.health, ServerHealth::Authoritative | ServerHealth::Slow), "{s:?}");
        assert_eq!((s.tcp, s.in_parent, s.in_child), (Some(true), true, true), "{s:?}");
    }
    let serials: std::collections::BTreeSet<_> = d.servers.iter().map(|s| s.serial).collect();
    assert_eq!(serials.len(), 1, "all servers are at one serial");
    assert_eq!(d.provider.as_ref().map(|p| p.name.as_str()), Some("Digital Ocean"));
    let negative = d.negative_soa.as_ref().expect("the SOA of a real negative answer");
    assert_eq!(d.negative_ttl(), Some(negative.minimum.min(negative.ttl)));

    let zone = o.zone.value.as_ref().expect("a zone snapshot");
    assert!(zone.unanswered.is_empty(), "{:?}", zone.unanswered);
    let a = zone.rrsets.iter().find(|s| s.name == "q7.io" && s.rtype == "A").expect("an A record");
    assert_eq!((a.ttl, a.data.as_slice()), (1800, &["192.0.2.7".to_string()][..]));
    assert_eq!(zone.wildcard, Some(false));

    let trace = internet.engine.trace(&Fqdn::trusted("www.q7.io"), "A").await.unwrap();
    assert_eq!(trace.outcome, TraceOutcome::Answer);
    let zones: Vec<_> = trace.steps.iter().map(|s| s.zone.as_str()).collect();
    assert!(zones.ends_with(&["io", "q7.io"]), "{zones:?}");
    for step in &trace.steps {
        assert!(step.answers.iter().all(|a| a.kind.responded()), "{:?}", step.answers);
    }
    let last = trace.steps.last().unwrap();
    assert!(last.answers.iter().all(|a| a.kind == AnswerKind::Answer && a.authoritative));

    let free = observe(internet, "not-there.io").await;
    assert_eq!(free.registration.value, Some(RegistrationState::Available), "{:?}", free.registration.error);
    let d = free.delegation.value.as_ref().expect("what the parent says");
    assert!(!d.delegated && d.negative_ttl().is_some(), "{d:?}");
}

#[tokio::test]
async fn the_lab_shows_q7_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = lab::Scenario::named("demo").unwrap();
    let lab =
        lab::Lab::start(lab::Options::new(scenario, folder.path(), jiff::Timestamp::now())).await.unwrap();
    let args = EngineArgs { config: Some(lab.endpoints().engine.clone()), ..EngineArgs::default() };
    assert_q7(&wiring::internet(&args.resolved().unwrap()).unwrap()).await;
    lab.shutdown().await;
}

#[tokio::test]
async fn nsd_bind_and_nginx_show_q7_as_the_lab_does() {
    let folder = tempfile::tempdir().unwrap();
    let Some(peers) = Peers::start(folder.path()).await else { return };
    assert_q7(&wiring::internet(&peers.engine).unwrap()).await;
}
