//! What counts as a change, and what does not.

use super::*;

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
fn a_grace_period_that_ends_in_deletion_is_no_renewal() {
    let flagged = |flags: &[&str], expires: &str| {
        let mut r = registration();
        r.expires = Some(expires.parse().unwrap());
        r.statuses = Some(flags.iter().copied().map(EppStatus::from).collect());
        observe(r)
    };
    let renewed = |a: &Observation, b: &Observation| kinds(a, b).contains(&EventKind::Renewed);
    let date = "2030-07-06T13:58:57Z";
    let grace = flagged(&["autoRenewPeriod"], date);
    for flag in ["redemptionPeriod", "pendingDelete", "pendingRestore"] {
        let deleted = flagged(&[flag], date);
        assert!(!renewed(&grace, &deleted), "{flag} took the place of the grace period");
        let c = diff(&grace, &deleted);
        assert_eq!(c[0].kind, EventKind::StatusAdded, "{c:?}");
        assert_eq!(c.len(), 2, "the flags alone: {c:?}");
        // A date that moves on while the name is being deleted is no renewal either, and says why.
        let later = flagged(&[flag], "2031-07-06T13:58:57Z");
        let moved = diff(&deleted, &later);
        assert_eq!(moved[0].kind, EventKind::ExpirationChanged);
        assert!(moved[0].note.contains("being deleted"), "{moved:?}");
        // Restored: the flag is removed, and no grace period ended just now.
        assert!(!renewed(&deleted, &flagged(&["clientTransferProhibited"], date)));
    }
    assert!(renewed(&grace, &flagged(&["clientTransferProhibited"], date)), "it stays registered");
    assert!(renewed(&grace, &flagged(&["clientHold"], date)), "held, and renewed all the same");
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
        o.zone =
            Part::good(ZoneSnapshot { rrsets: sets, unanswered, ..ZoneSnapshot::default() }, now(), "dns");
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

#[test]
fn a_record_whose_loss_breaks_something_is_a_warning_that_says_what() {
    let zone = |sets: &[(&str, &str, &[&str])]| {
        let mut o = observe(registration());
        let set = |(name, rtype, data): &(&str, &str, &[&str])| RrSet {
            name: (*name).into(),
            rtype: (*rtype).into(),
            ttl: 300,
            data: data.iter().map(|d| (*d).to_string()).collect(),
        };
        let rrsets = sets.iter().map(set).collect();
        o.zone = Part::good(ZoneSnapshot { rrsets, ..ZoneSnapshot::default() }, now(), "dns");
        o
    };
    let spf = "\"v=spf1 include:_spf.example -all\"";
    let full = zone(&[
        ("q7.io", "MX", &["10 mx.q7.io."]),
        ("q7.io", "TXT", &[spf]),
        ("www.q7.io", "A", &["192.0.2.7"]),
        ("www.q7.io", "AAAA", &["2001:db8::7"]),
    ]);
    let worst = |o: &Observation| {
        let changes = diff(&full, o);
        assert!(changes.iter().all(|c| c.kind.is_dns_change() && !c.kind.is_registration_change()));
        changes.into_iter().next().unwrap()
    };
    let www = [("www.q7.io", "A", &["192.0.2.7"][..]), ("www.q7.io", "AAAA", &["2001:db8::7"])];
    let mail = [("q7.io", "MX", &["10 mx.q7.io."][..]), ("q7.io", "TXT", &[spf])];

    let c = worst(&zone(&[mail[1], www[0], www[1]]));
    assert_eq!((c.field.as_str(), c.severity), ("q7.io MX", Severity::Warning));
    assert!(c.note.starts_with("No MX record is left for q7.io"), "{c:?}");
    let c = worst(&zone(&[mail[0], ("q7.io", "TXT", &[spf, "\"v=spf1 ~all\""]), www[0], www[1]]));
    assert_eq!(c.severity, Severity::Warning);
    assert!(c.note.contains("2 SPF records") && c.note.contains("RFC 7208"), "{c:?}");
    let c = worst(&zone(&mail));
    assert_eq!(c.severity, Severity::Warning);
    assert!(c.note.contains("www.q7.io no longer has an address"), "{c:?}");

    // One family less, or an alias instead of addresses: it still resolves.
    assert_eq!(worst(&zone(&[mail[0], mail[1], www[0]])).severity, Severity::Notice);
    let alias = ("www.q7.io", "CNAME", &["q7.edge.example."][..]);
    assert_eq!(worst(&zone(&[mail[0], mail[1], alias])).severity, Severity::Notice);
    assert_eq!(
        worst(&zone(&[mail[0], ("q7.io", "TXT", &["\"v=spf1 -all\""]), www[0], www[1]])).severity,
        Severity::Info
    );
}

#[test]
fn what_the_servers_did_not_answer_now_is_not_mended() {
    let mut a = observe(registration());
    a.delegation = Part::good(delegation(&["ns1.digitalocean.com"]), now(), "dns");
    a.findings.push(finding());
    let mut b = observe(registration());
    b.delegation = Part { attempted_at: Some(now()), error: Some(failed()), ..Part::default() };
    let kept = carry_forward(Some(&a), b);
    assert_eq!(kept.findings, a.findings, "findings age with the delegation they were read from");
    assert_eq!(status(&kept, now()).0, StatusKind::Warning);
    let mut mended = observe(registration());
    mended.delegation = a.delegation.clone();
    assert_eq!(status(&carry_forward(Some(&a), mended), now()).0, StatusKind::Normal);
}

#[test]
fn looks_at_the_servers_gather_while_the_delegation_is_read() {
    let look = |hour: i64, ms: f32| {
        let mut o = observe(registration());
        let mut d = delegation(&["ns1.q7.io", "ns2.q7.io"]);
        d.latency.servers = vec![model::latency::ChainServer {
            zone: "q7.io".into(),
            server: "ns1.q7.io".into(),
            address: "192.0.2.1".parse().unwrap(),
            ms: vec![Some(ms)],
            network: None,
            ids: Vec::new(),
        }];
        let at = now() + jiff::SignedDuration::from_hours(hour);
        d.latency.stamp(at, &[]);
        o.delegation = Part::good(d, at, "servers");
        o
    };
    let mut known = look(0, 200.0);
    for hour in 1..30 {
        known = carry_forward(Some(&known), look(hour, 200.0));
    }
    assert_eq!(known.delegation.value.as_ref().unwrap().latency.looks.len(), 30);
    let slow = |o: &Observation| o.findings.iter().filter(|f| f.tag == model::latency::SLOW_UNICAST).count();
    assert_eq!(slow(&known), 1, "said once, however often it is judged");
    assert_eq!(slow(&carry_forward(Some(&known), known.clone())), 1);
    // A look that failed keeps what is known; quick answers mend it in time.
    let mut failed = observe(registration());
    let why = PartError { label: "timeout".into(), sentence: "no answer".into(), retry_at: None };
    failed.delegation = Part::failed(Part::default(), now(), why);
    assert_eq!(slow(&carry_forward(Some(&known), failed)), 1);
    for hour in 30..62 {
        known = carry_forward(Some(&known), look(hour, 5.0));
    }
    assert_eq!(slow(&known), 0);
}

#[test]
fn observations_stored_before_these_facts_were_known_still_read() {
    let mut o = observe(registration());
    o.delegation = Part::good(delegation(&["ns1.q7.io"]), now(), "servers");
    let mut json = serde_json::to_value(&o).unwrap();
    let d = json["delegation"]["value"].as_object_mut().unwrap();
    assert!(d.remove("legacy").is_some());
    for server in d["servers"].as_array_mut().unwrap() {
        assert!(server.as_object_mut().unwrap().remove("problems").is_some());
    }
    let read: Observation = serde_json::from_value(json).unwrap();
    assert_eq!(read, o);
    let old = serde_json::json!({
        "status": "secure", "reason": "", "ds": [], "key_tags": [], "signatures_expire": null
    });
    assert_eq!(serde_json::from_value::<Dnssec>(old).unwrap().denial, None);
}
