//! The table of statuses, row by row.

use super::*;

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
    assert!(s.why().contains("set the expiration yourself"), "{}", s.why());
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
        denial: None,
    };
    o.dnssec = Part::good(bogus, now(), "dns");
    assert_eq!(status(&o, now()).0, StatusKind::Critical);
    let mut o = observe(registration());
    o.findings.push(finding());
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
