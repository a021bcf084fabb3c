//! The judgement: what counts as a change, and which status follows from it. Examples first, then properties.

use jiff::{Timestamp, ToSpan};
use model::carry::carry_forward;
use model::diff::diff;
use model::dns::{
    AnswerKind, Delegation, Dnssec, DnssecStatus, NsName, RrSet, ServerHealth, ServerState, ZoneSnapshot,
};
use model::epp::EppStatus;
use model::event::{EventKind, Severity};
use model::finding::{Finding, Level};
use model::ids::{OrgId, Vantage};
use model::item::{Item, Ownership};
use model::names::DomainName;
use model::observation::{Observation, Part, PartError};
use model::registration::{
    DnssecStated, Party, Protocol, Provenance, Registrar, Registration, RegistrationState,
};
use model::status::{StatusKind, Thresholds, judge};
use proptest::prelude::*;

fn now() -> Timestamp {
    "2026-11-20T14:05:00Z".parse().unwrap()
}

fn registration() -> Registration {
    Registration {
        name: Some("q7.io".into()),
        registrar: Registrar {
            name: Some("NAMECHEAP INC".into()),
            iana_id: Some("1068".into()),
            ..Registrar::default()
        },
        created: Some("2012-07-06T13:58:57Z".parse().unwrap()),
        updated: Some("2019-08-17T16:33:24.36Z".parse().unwrap()),
        expires: Some("2029-07-06T13:58:57Z".parse().unwrap()),
        statuses: Some(["clientTransferProhibited"].into_iter().map(EppStatus::from).collect()),
        nameservers: Some(vec!["ns1.digitalocean.com".into(), "ns2.digitalocean.com".into()]),
        dnssec: Some(DnssecStated::default()),
        ..Registration::default()
    }
}

fn observe(r: Registration) -> Observation {
    let mut o = Observation::empty(DomainName::trusted("q7.io"), Vantage::local());
    o.registration = Part::good(RegistrationState::Registered(Box::new(r)), now(), "RDAP registry");
    o
}

fn server(name: &str, health: ServerHealth) -> ServerState {
    ServerState {
        name: name.into(),
        address: Some("192.0.2.1".parse().unwrap()),
        in_parent: true,
        in_child: true,
        health,
        kind: AnswerKind::Answer,
        serial: Some(1),
        latency_ms: Some(3.0),
        tcp: Some(true),
        recursion: Some(false),
        nsid: None,
        notes: vec![],
    }
}

fn delegation(names: &[&str]) -> Delegation {
    Delegation {
        zone: "q7.io".into(),
        parent: "io".into(),
        delegated: true,
        parent_ns: names
            .iter()
            .map(|n| NsName { name: (*n).into(), addresses: vec![], glue: false })
            .collect(),
        child_ns: names.iter().map(|n| (*n).to_string()).collect(),
        ds: vec![],
        servers: names.iter().map(|n| server(n, ServerHealth::Authoritative)).collect(),
        soa: None,
        negative_soa: None,
        provider: None,
        notes: vec![],
    }
}

fn item() -> Item {
    Item::new(OrgId::BUILT_IN, DomainName::trusted("q7.io"), Ownership::Owned, now())
}

fn kinds(a: &Observation, b: &Observation) -> Vec<EventKind> {
    diff(a, b).iter().map(|c| c.kind).collect()
}

fn failed() -> PartError {
    PartError { label: "timeout".into(), sentence: "rdap.nic.io did not answer".into(), retry_at: None }
}

fn status(o: &Observation, at: Timestamp) -> (StatusKind, String) {
    let s = judge(&item(), o, &Thresholds::default(), at);
    (s.kind, s.why())
}

// ---- changes ---------------------------------------------------------------------------------------

#[test]
fn the_first_reading_is_a_baseline() {
    let empty = Observation::empty(DomainName::trusted("q7.io"), Vantage::local());
    assert_eq!(diff(&empty, &observe(registration())), vec![]);
}

#[test]
fn each_field_makes_its_own_event() {
    let a = observe(registration());
    let with = |f: &dyn Fn(&mut Registration)| {
        let mut r = registration();
        f(&mut r);
        diff(&a, &observe(r))
    };
    let one = |c: Vec<model::event::Change>| {
        assert_eq!(c.len(), 1, "{c:?}");
        c.into_iter().next().unwrap()
    };
    let c = one(with(&|r| {
        r.registrar =
            Registrar { name: Some("Lantern".into()), iana_id: Some("9994".into()), ..Registrar::default() }
    }));
    assert_eq!((c.kind, c.severity), (EventKind::RegistrarChanged, Severity::Critical));
    assert_eq!(c.sentence(), "Registrar went from NAMECHEAP INC to Lantern");
    let c = one(with(&|r| r.expires = Some("2030-07-06T13:58:57Z".parse().unwrap())));
    assert_eq!(c.kind, EventKind::Renewed);
    let c = one(with(&|r| r.expires = Some("2027-07-06T13:58:57Z".parse().unwrap())));
    assert_eq!((c.kind, c.severity), (EventKind::ExpirationChanged, Severity::Warning));
    let c = one(with(&|r| r.created = Some("2020-07-06T13:58:57Z".parse().unwrap())));
    assert_eq!(c.kind, EventKind::CreationChanged);
    let c = one(with(&|r| {
        r.statuses = Some(["clientTransferProhibited", "clientHold"].map(EppStatus::from).into());
    }));
    assert_eq!((c.kind, c.severity), (EventKind::StatusAdded, Severity::Critical));
    let c = one(with(&|r| r.statuses = Some([EppStatus::from("ok")].into())));
    assert_eq!((c.kind, c.old.as_deref()), (EventKind::StatusRemoved, Some("clientTransferProhibited")));
    let c = one(with(&|r| r.nameservers = Some(vec!["ns1.meridian-dns.example".into()])));
    assert_eq!(c.kind, EventKind::NameserversChanged);
    let c = one(with(&|r| r.dnssec = Some(DnssecStated { signed: true, ds: vec![] })));
    assert_eq!(c.kind, EventKind::DnssecChanged);
    assert!(c.kind.is_registration_change());
}

#[test]
fn formatting_and_a_switch_of_source_are_not_changes() {
    let a = observe(registration());
    let mut r = registration();
    r.registrar = Registrar { name: Some("NameCheap, Inc.".into()), ..Registrar::default() };
    r.expires = Some("2029-07-06".parse().unwrap());
    r.updated = Some("2019-08-17T18:33:24+02:00".parse().unwrap());
    r.created = Some("2012-07-06T13:58:57".parse().unwrap());
    r.nameservers = Some(vec!["NS2.DigitalOcean.com.".into(), "ns1.digitalocean.com".into()]);
    r.statuses = Some(["client transfer prohibited", "ok", "Registered by us"].map(EppStatus::from).into());
    let provenance =
        Provenance { protocol: Protocol::Whois, party: Party::Registry, server: "whois.nic.io".into() };
    r.provenance.insert("statuses".into(), provenance);
    assert_eq!(diff(&a, &observe(r)), vec![]);
}

#[test]
fn no_renewal_is_announced_while_nobody_may_have_paid() {
    let a = observe(registration());
    let mut r = registration();
    r.expires = Some("2030-07-06T13:58:57Z".parse().unwrap());
    r.statuses.as_mut().unwrap().insert("autoRenewPeriod".into());
    let b = observe(r.clone());
    let c = diff(&a, &b);
    assert_eq!(c[0].kind, EventKind::StatusAdded, "what matters most is said first");
    assert_eq!(c[1].kind, EventKind::ExpirationChanged);
    assert!(c[1].note.contains("does not say anybody paid"));
    r.statuses.as_mut().unwrap().remove(&"autoRenewPeriod".into());
    assert!(kinds(&b, &observe(r.clone())).contains(&EventKind::Renewed));
    r.registrar_expires = Some("2029-07-06".parse().unwrap());
    assert!(!kinds(&a, &observe(r.clone())).contains(&EventKind::Renewed), "the registrar's date is earlier");
    assert_eq!(r.effective_expires().unwrap().to_string(), "2029-07-06");
}

#[test]
fn a_nameserver_move_is_told_once_by_whoever_sees_it_first() {
    let mut a = observe(registration());
    a.delegation = Part::good(delegation(&["ns1.digitalocean.com", "ns2.digitalocean.com"]), now(), "dns");
    // Both sources at once.
    let mut r = registration();
    r.nameservers = Some(vec!["ns1.meridian-dns.example".into()]);
    let mut b = observe(r.clone());
    b.delegation = Part::good(delegation(&["ns1.meridian-dns.example"]), now(), "dns");
    assert_eq!(kinds(&a, &b), vec![EventKind::NameserversChanged]);
    // The parent zone first, the registry's data one scan later.
    let mut first = observe(registration());
    first.delegation = b.delegation.clone();
    assert_eq!(kinds(&a, &first), vec![EventKind::NameserversChanged]);
    assert_eq!(kinds(&first, &b), vec![]);
}

#[test]
fn failed_parts_and_vanished_fields_change_nothing() {
    let a = observe(registration());
    let mut b = Observation::empty(a.name.clone(), Vantage::local());
    b.registration = Part { attempted_at: Some(now()), error: Some(failed()), ..Part::default() };
    let kept = carry_forward(Some(&a), b);
    assert_eq!(diff(&a, &kept), vec![]);
    assert!(kept.registration.is_stale());
    assert_eq!(kept.registration.value, a.registration.value);

    let mut r = registration();
    (r.statuses, r.expires, r.registrar) = (None, None, Registrar::default());
    let kept = carry_forward(Some(&a), observe(r));
    assert_eq!(diff(&a, &kept), vec![]);
    let carried = kept.registration.value.as_ref().unwrap().registration().unwrap();
    assert_eq!(carried.expires, registration().expires, "the last stated value is kept");
    assert!(carried.warnings.iter().any(|w| w.starts_with("expires is not stated any more")));
    let mut later = registration();
    later.expires = Some("2031-07-06T13:58:57Z".parse().unwrap());
    assert_eq!(
        kinds(&kept, &observe(later)),
        vec![EventKind::Renewed],
        "and a change across the gap is seen"
    );
}

#[test]
fn released_and_registered() {
    let a = observe(registration());
    let mut b = a.clone();
    b.registration = Part::good(RegistrationState::Available, now(), "RDAP");
    assert_eq!(kinds(&a, &b), vec![EventKind::Released]);
    assert_eq!(kinds(&b, &a), vec![EventKind::Registered]);
}

#[test]
fn records_and_health() {
    let set = |data: &[&str]| RrSet {
        name: "q7.io".into(),
        rtype: "A".into(),
        ttl: 300,
        data: data.iter().map(|d| (*d).to_string()).collect(),
    };
    let zone = |sets: Vec<RrSet>, unanswered: &[&str]| {
        let mut o = observe(registration());
        let unanswered = unanswered.iter().map(|s| (*s).to_string()).collect();
        o.zone = Part::good(ZoneSnapshot { rrsets: sets, wildcard: None, unanswered }, now(), "dns");
        o
    };
    let a = zone(vec![set(&["192.0.2.1", "192.0.2.2"])], &[]);
    assert_eq!(diff(&a, &zone(vec![set(&["192.0.2.2", "192.0.2.1"])], &[])), vec![]);
    assert_eq!(diff(&a, &zone(vec![], &["q7.io A"])), vec![], "not answered is not absent");
    let c = diff(&a, &zone(vec![], &[]));
    assert_eq!(c[0].sentence(), "q7.io A was removed: 192.0.2.1 · 192.0.2.2");
    assert!(!c[0].kind.is_registration_change());

    let with = |h| {
        let mut o = observe(registration());
        let mut d = delegation(&["ns1.digitalocean.com"]);
        d.servers[0].health = h;
        o.delegation = Part::good(d, now(), "dns");
        o
    };
    let up = with(ServerHealth::Authoritative);
    assert_eq!(kinds(&up, &with(ServerHealth::Lame)), vec![EventKind::DelegationHealthChanged]);
    assert_eq!(kinds(&up, &with(ServerHealth::Slow)), vec![], "slow flaps");
    assert_eq!(kinds(&up, &with(ServerHealth::NotAsked)), vec![]);
}

// ---- status ----------------------------------------------------------------------------------------

#[test]
fn the_table_of_statuses() {
    use StatusKind::{Critical, Normal, Secure, Unlocked, Warning};
    let of = |f: &dyn Fn(&mut Registration)| {
        let mut r = registration();
        f(&mut r);
        status(&observe(r), now()).0
    };
    let flags = |s: &'static [&'static str]| {
        move |r: &mut Registration| r.statuses = Some(s.iter().map(|s| EppStatus::from(*s)).collect())
    };
    let expires = |s: &'static str| move |r: &mut Registration| r.expires = Some(s.parse().unwrap());
    assert_eq!(of(&|_| {}), Normal);
    assert_eq!(of(&flags(&["ok"])), Unlocked);
    assert_eq!(
        of(&flags(&["serverTransferProhibited", "serverUpdateProhibited", "serverDeleteProhibited"])),
        Secure
    );
    assert_eq!(of(&flags(&["serverTransferProhibited"])), Normal);
    for flag in
        ["clientHold", "serverHold", "pendingDelete", "pendingRestore", "redemptionPeriod", "pendingTransfer"]
    {
        let mut r = registration();
        r.statuses = Some([EppStatus::from(flag)].into());
        assert_eq!(status(&observe(r), now()).0, Critical, "{flag}");
    }
    for flag in
        ["autoRenewPeriod", "pendingRenew", "pendingUpdate", "clientRenewProhibited", "serverRenewProhibited"]
    {
        let mut r = registration();
        r.statuses = Some([EppStatus::from(flag)].into());
        assert_eq!(status(&observe(r), now()).0, Warning, "{flag}");
    }
    assert_eq!(of(&expires("2026-11-18T10:00:00Z")), Critical);
    assert_eq!(of(&expires("2026-11-27T23:00:00Z")), Critical);
    assert_eq!(of(&expires("2026-11-28T00:00:00Z")), Warning);
    assert_eq!(of(&expires("2026-12-20T23:00:00Z")), Warning);
    assert_eq!(of(&expires("2026-12-21T00:00:00Z")), Normal);
}

#[test]
fn inactive_counts_only_where_it_was_delegated() {
    let mut r = registration();
    r.statuses = Some([EppStatus::from("inactive")].into());
    let o = observe(r);
    let mut i = item();
    assert_ne!(judge(&i, &o, &Thresholds::default(), now()).kind, StatusKind::Critical);
    i.was_delegated = true;
    assert_eq!(judge(&i, &o, &Thresholds::default(), now()).kind, StatusKind::Critical);
}

#[test]
fn auto_renew_softens_and_hand_set_dates_count() {
    let mut r = registration();
    r.expires = Some("2026-11-23".parse().unwrap());
    let mut i = item();
    i.auto_renew = Some(true);
    let s = judge(&i, &observe(r.clone()), &Thresholds::default(), now());
    assert_eq!(s.kind, StatusKind::Warning);
    assert_eq!(s.why(), "Expires in 3 days, on Nov 23, 2026, marked auto-renew");
    (r.expires, r.statuses) = (None, Some([EppStatus::from("connect")].into()));
    i.auto_renew = None;
    let s = judge(&i, &observe(r.clone()), &Thresholds::default(), now());
    assert_eq!(s.kind, StatusKind::Unknown);
    assert!(s.why().contains("set the expiration by hand"), "{}", s.why());
    i.manual_expires = Some("2026-11-21".parse().unwrap());
    let s = judge(&i, &observe(r), &Thresholds::default(), now());
    assert_eq!((s.kind, s.why()), (StatusKind::Critical, "Expires tomorrow, on Nov 21, 2026".into()));
}

#[test]
fn old_data_is_unknown_neither_healthy_nor_expired() {
    let mut r = registration();
    r.expires = Some("2026-11-25".parse().unwrap());
    let mut o = observe(r);
    assert_eq!(status(&o, now()).0, StatusKind::Critical);
    o.registration.error = Some(failed());
    let later = now() + (24 * 8).hours();
    let (kind, why) = status(&o, later);
    assert_eq!(kind, StatusKind::Unknown);
    assert!(why.contains("8 days old") && why.contains("rdap.nic.io did not answer"), "{why}");
    let never = Observation::empty(DomainName::trusted("q7.io"), Vantage::local());
    assert_eq!(status(&never, now()), (StatusKind::Unknown, "Not scanned yet".into()));
}

#[test]
fn dns_decides_too() {
    let mut o = observe(registration());
    let mut d = delegation(&["ns1.digitalocean.com", "ns2.digitalocean.com"]);
    for s in &mut d.servers {
        s.health = ServerHealth::Dead;
    }
    o.delegation = Part::good(d, now(), "dns");
    assert_eq!(status(&o, now()).1, "None of the 2 nameservers answers for the zone");
    let mut o = observe(registration());
    let bogus = Dnssec {
        status: DnssecStatus::Bogus,
        reason: "the DS matches no key".into(),
        ds: vec![],
        key_tags: vec![],
        signatures_expire: None,
    };
    o.dnssec = Part::good(bogus, now(), "dns");
    assert_eq!(status(&o, now()).0, StatusKind::Critical);
    let mut o = observe(registration());
    o.findings.push(Finding {
        tag: "MULTIPLE_SOA_SERIALS".into(),
        level: Level::Error,
        args: serde_json::Map::new(),
        test_case: "Consistency01".into(),
        zone: "q7.io".into(),
        message: "The servers disagree".into(),
        fix: String::new(),
    });
    assert_eq!(status(&o, now()), (StatusKind::Warning, "The servers disagree".into()));
}

#[test]
fn a_free_name_is_an_alarm_only_for_its_owner() {
    let mut o = observe(registration());
    o.registration = Part::good(RegistrationState::Available, now(), "RDAP");
    assert_eq!(status(&o, now()).0, StatusKind::Critical);
    let mut i = item();
    i.ownership = Ownership::Watched;
    assert_eq!(judge(&i, &o, &Thresholds::default(), now()).kind, StatusKind::Unknown);
}

// ---- properties ------------------------------------------------------------------------------------

fn any_time() -> impl Strategy<Value = Option<model::time::StatedTime>> {
    prop_oneof![
        Just(None),
        (2020i16..2035, 1i8..13, 1i8..28)
            .prop_map(|(y, m, d)| Some(format!("{y}-{m:02}-{d:02}").parse().unwrap())),
        (2020i16..2035, 1i8..13, 1i8..28, 0i8..24)
            .prop_map(|(y, m, d, h)| Some(format!("{y}-{m:02}-{d:02}T{h:02}:10:00Z").parse().unwrap())),
    ]
}

fn any_registration() -> impl Strategy<Value = Registration> {
    let flags = proptest::sample::subsequence(
        vec![
            "ok",
            "clientHold",
            "autoRenewPeriod",
            "clientTransferProhibited",
            "serverDeleteProhibited",
            "connect",
        ],
        0..4,
    );
    let ns = proptest::sample::subsequence(vec!["a.example", "b.example", "c.example"], 0..4);
    (any_time(), any_time(), any_time(), proptest::option::of(flags), proptest::option::of(ns), 0u8..4)
        .prop_map(|(created, updated, expires, flags, ns, who)| Registration {
            created,
            updated,
            expires,
            statuses: flags.map(|f| f.into_iter().map(EppStatus::from).collect()),
            nameservers: ns.map(|n| n.into_iter().map(str::to_string).collect()),
            registrar: Registrar {
                name: (who > 0).then(|| format!("Registrar {who}")),
                iana_id: (who > 1).then(|| who.to_string()),
                ..Registrar::default()
            },
            ..Registration::default()
        })
}

fn any_observation() -> impl Strategy<Value = Observation> {
    (
        any_registration(),
        proptest::option::of(proptest::sample::subsequence(vec!["a.example", "b.example"], 1..3)),
        any::<bool>(),
    )
        .prop_map(|(r, ns, fail)| {
            let mut o = observe(r);
            if let Some(ns) = ns {
                o.delegation = Part::good(delegation(&ns), now(), "dns");
            }
            if fail {
                o.registration.error = Some(failed());
            }
            o
        })
}

/// The same facts in another order, case and spelling.
fn respelled(o: &Observation) -> Observation {
    let mut o = o.clone();
    if let Some(RegistrationState::Registered(r)) = &mut o.registration.value {
        r.registrar.name = r.registrar.name.as_ref().map(|n| format!("{}, Inc.", n.to_uppercase()));
        if let Some(ns) = &mut r.nameservers {
            ns.reverse();
            ns.iter_mut().for_each(|n| *n = format!("{}.", n.to_uppercase()));
        }
    }
    if let Some(d) = &mut o.delegation.value {
        d.parent_ns.reverse();
        d.child_ns.reverse();
        d.servers.reverse();
    }
    o
}

proptest! {
    #[test]
    fn nothing_differs_from_itself(o in any_observation()) {
        prop_assert_eq!(diff(&o, &o), vec![]);
    }

    #[test]
    fn order_and_case_are_not_changes(o in any_observation()) {
        prop_assert_eq!(diff(&o, &respelled(&o)), vec![]);
        prop_assert_eq!(diff(&respelled(&o), &o), vec![]);
    }

    #[test]
    fn a_failed_part_changes_nothing(a in any_observation(), b in any_observation()) {
        let mut b = b;
        b.registration.error = Some(failed());
        b.delegation.error = Some(failed());
        prop_assert_eq!(diff(&a, &b), vec![]);
        let kept = carry_forward(Some(&a), b);
        prop_assert_eq!(diff(&a, &kept), vec![]);
        prop_assert_eq!(&kept.registration.value, &a.registration.value);
    }

    #[test]
    fn every_change_is_explained_by_two_different_values(a in any_observation(), b in any_observation()) {
        for c in diff(&a, &b) {
            // A renewal that is only now a fact is explained by the flag that went away.
            let flag = c.kind == EventKind::Renewed && c.note.contains("grace period");
            prop_assert!(c.old != c.new || flag, "{:?}", c);
            prop_assert!(!c.sentence().is_empty());
        }
    }

    #[test]
    fn a_status_holds_until_it_must_be_judged_again(r in any_registration(), hours in 0i64..24 * 40) {
        let o = observe(r);
        let limits = Thresholds::default();
        let s = judge(&item(), &o, &limits, now());
        prop_assert!(s.judge_again_at.is_none_or(|t| t > now()));
        let until = s.judge_again_at.unwrap_or(Timestamp::MAX);
        let later = now() + hours.hours();
        if later < until {
            prop_assert_eq!(judge(&item(), &o, &limits, later).kind, s.kind);
        }
        prop_assert!(!s.reasons.is_empty() || s.kind == StatusKind::Normal);
    }

    #[test]
    fn carrying_forward_twice_changes_nothing_more(a in any_observation(), b in any_observation()) {
        let once = carry_forward(Some(&a), b);
        let twice = carry_forward(Some(&a), once.clone());
        prop_assert_eq!(once, twice);
    }
}
