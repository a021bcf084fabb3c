//! A service on a domain of the lab: nothing there, wrongly copied, then right. The engine asks every authoritative server.

mod kept;
#[path = "../../../dns/tests/support/mod.rs"]
mod lab_dns;
mod one_click;
#[path = "../support/mod.rs"]
mod support;
mod world;

use model::configure::{ChangeAction, RecordState, ServiceKind, ServiceSpec, ServiceState};
use model::names::DomainName;
use product::configure::Inspector;
use service::ErrorKind;
use world::{World, gateway, now, planned, spec, states};

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
