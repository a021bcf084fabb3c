//! The registrar's own expiration beside that of the registry: when alerts follow it, and when a renewal is announced.

use super::*;
use model::event::Change;
use model::expiry::{REMINDER_DAYS, remind};
use model::time::StatedTime;

const OLD: &str = "2026-11-24T10:00:00Z";
const NEW: &str = "2027-11-24T10:00:00Z";

/// What one reading states: the registry's date, the registrar's where it answered, its name, and the flags.
#[derive(Clone, Copy)]
struct Stated {
    registry: &'static str,
    registrar: Option<&'static str>,
    by: &'static str,
    flags: &'static [&'static str],
}

const BEFORE: Stated = Stated { registry: OLD, registrar: Some(OLD), by: "Sample Names", flags: &[] };
/// The registry moved the date on, and the registrar did not.
const MOVED: Stated = Stated { registry: NEW, ..BEFORE };
const GRACE: Stated = Stated { flags: &["autoRenewPeriod"], ..MOVED };
const FOLLOWED: Stated = Stated { registrar: Some(NEW), ..MOVED };
const SILENT: Stated = Stated { registrar: None, ..MOVED };

/// A domain that is read now and then.
struct Watch {
    stored: Observation,
    at: Timestamp,
}

impl Watch {
    fn new(first: Stated) -> Watch {
        Watch { stored: read(first, now()), at: now() }
    }

    /// What is reported of the registration so many hours later.
    fn read(&mut self, hours: i64, stated: Stated) -> Vec<Change> {
        self.at = self.at.checked_add(hours.hours()).unwrap();
        let current = carry_forward(Some(&self.stored), read(stated, self.at));
        let changes = diff(&self.stored, &current);
        self.stored = current;
        changes
    }

    fn kinds(&mut self, hours: i64, stated: Stated) -> Vec<EventKind> {
        self.read(hours, stated).iter().map(|c| c.kind).collect()
    }

    fn registration(&self) -> &Registration {
        self.stored.registration.value.as_ref().unwrap().registration().unwrap()
    }

    fn followed(&self) -> String {
        self.registration().effective_expires().unwrap().to_string()
    }

    fn status(&self) -> StatusKind {
        status(&self.stored, self.at).0
    }
}

fn read(stated: Stated, at: Timestamp) -> Observation {
    let time = |text: &str| text.parse::<StatedTime>().unwrap();
    let flags = ["clientTransferProhibited"].iter().chain(stated.flags);
    let r = Registration {
        registrar: Registrar { name: Some(stated.by.into()), ..Registrar::default() },
        expires: Some(time(stated.registry)),
        registrar_expires: stated.registrar.map(time),
        statuses: Some(flags.map(|f| EppStatus::from(*f)).collect()),
        ..registration()
    };
    let mut o = observe(Registration::default());
    o.registration = Part::good(RegistrationState::Registered(Box::new(r)), at, "RDAP registry");
    o
}

const NOTHING: [EventKind; 0] = [];

/// The registrar fails after a renewal: its date of before makes the domain neither expired nor soon to expire.
#[test]
fn a_renewed_domain_does_not_expire_by_the_date_that_its_registrar_stated_before() {
    let mut w = Watch::new(BEFORE);
    assert_eq!(w.status(), StatusKind::Critical, "four days are left");
    // Both dates are kept; the registry's is followed, and the renewal waits for the registrar's word.
    assert_eq!(w.kinds(1, SILENT), [EventKind::ExpirationChanged]);
    assert_eq!((w.status(), w.followed().as_str()), (StatusKind::Normal, NEW));
    assert_eq!(w.registration().registrar_expires.unwrap().to_string(), OLD, "kept, and shown with a remark");
    assert!(w.registration().warnings.iter().any(|w| w.contains("older than the renewal")));
    let mut i = item();
    let reminder = remind(&mut i, &w.stored, &REMINDER_DAYS, &Thresholds::default(), w.at);
    assert_eq!(reminder, None, "no reminder of a date that was renewed");
    // It answers again: announced once.
    assert_eq!(w.kinds(5, SILENT), NOTHING);
    let told = w.read(5, FOLLOWED);
    assert_eq!((told.len(), told[0].kind), (1, EventKind::Renewed), "{told:?}");
    assert_eq!(told[0].sentence(), "Renewed until Nov 24, 2027. The registrar's date has followed");
    assert_eq!(w.kinds(5, FOLLOWED), NOTHING);
    assert_eq!(w.registration().registrar_expires_overtaken, None);
}

#[test]
fn a_registrar_that_is_silent_for_good_holds_no_renewal_back() {
    let mut w = Watch::new(BEFORE);
    assert_eq!(w.kinds(1, SILENT), [EventKind::ExpirationChanged]);
    let told: Vec<_> = (0..40).flat_map(|_| w.read(6, SILENT)).collect();
    assert_eq!((told.len(), told[0].kind), (1, EventKind::Renewed), "{told:?}");
    assert_eq!((w.status(), w.registration().registrar_expires), (StatusKind::Normal, None));
}

#[test]
fn a_renewal_that_both_state_at_once_is_one_event() {
    for registrar in [NEW, "2027-11-24", "2027-11-23T22:00:00Z"] {
        let mut w = Watch::new(Stated { registrar: Some("2026-11-23T22:00:00Z"), ..BEFORE });
        assert_eq!(w.kinds(1, Stated { registrar: Some(registrar), ..MOVED }), [EventKind::Renewed]);
    }
    let mut w = Watch::new(BEFORE);
    assert_eq!(w.kinds(1, FOLLOWED), [EventKind::Renewed]);
    assert_eq!(w.kinds(1, SILENT), NOTHING, "a failure of the registrar afterwards is none");
    assert_eq!(w.registration().registrar_expires.unwrap().to_string(), NEW);
    assert!(w.registration().warnings.is_empty(), "{:?}", w.registration().warnings);
}

/// The registry moves the date on by itself; the registrar does not, and may still delete the name.
#[test]
fn no_renewal_while_the_registrars_date_is_earlier_and_one_when_it_follows() {
    let mut w = Watch::new(BEFORE);
    assert_eq!(w.kinds(1, MOVED), [EventKind::ExpirationChanged]);
    assert_eq!((w.status(), w.followed().as_str()), (StatusKind::Critical, OLD));
    assert_eq!(w.kinds(24 * 5, MOVED), NOTHING);
    assert_eq!(w.status(), StatusKind::Critical, "expired, says the registrar");
    // One look at which it does not answer changes nothing.
    assert_eq!(w.kinds(1, SILENT), NOTHING);
    assert_eq!((w.status(), w.followed().as_str()), (StatusKind::Critical, OLD));
    assert_eq!(w.kinds(1, FOLLOWED), [EventKind::Renewed]);
    assert_eq!((w.status(), w.followed().as_str()), (StatusKind::Normal, NEW));
    assert_eq!(w.kinds(1, FOLLOWED), NOTHING);
}

#[test]
fn the_grace_period_holds_the_renewal_back_whatever_the_registrar_says() {
    // The registrar is silent throughout: its last date counts while the period lasts, and not after it.
    let mut w = Watch::new(BEFORE);
    assert_eq!(
        w.kinds(1, Stated { registrar: None, ..GRACE }),
        [EventKind::StatusAdded, EventKind::ExpirationChanged]
    );
    assert_eq!((w.status(), w.followed().as_str()), (StatusKind::Critical, OLD));
    assert_eq!(w.kinds(24 * 30, Stated { registrar: None, ..GRACE }), NOTHING);
    assert_eq!(w.kinds(1, SILENT), [EventKind::StatusRemoved]);
    assert_eq!((w.status(), w.followed().as_str()), (StatusKind::Normal, NEW));
    // Not before the 45 days in which the registrar may delete the name have passed.
    let told: Vec<_> = (0..96).flat_map(|_| w.kinds(6, SILENT)).collect();
    assert_eq!(told, [EventKind::Renewed]);
    // It follows within the period: the change of its date is one event, the renewal another when the period ends.
    let mut w = Watch::new(GRACE);
    assert_eq!(w.kinds(1, Stated { flags: GRACE.flags, ..FOLLOWED }), [EventKind::ExpirationChanged]);
    assert_eq!(w.kinds(1, FOLLOWED), [EventKind::Renewed, EventKind::StatusRemoved]);
    // It has not followed when the period ends.
    let mut w = Watch::new(GRACE);
    assert_eq!(w.kinds(1, MOVED), [EventKind::StatusRemoved]);
    assert_eq!(w.kinds(1, FOLLOWED), [EventKind::Renewed]);
    // The name is deleted instead.
    let mut w = Watch::new(GRACE);
    let deleted = Stated { registrar: None, flags: &["redemptionPeriod"], ..MOVED };
    assert_eq!(w.kinds(1, deleted), [EventKind::StatusAdded, EventKind::StatusRemoved]);
    assert_eq!(w.kinds(24 * 5, deleted), NOTHING);
    assert_eq!((w.status(), w.followed().as_str()), (StatusKind::Critical, OLD));
}

/// What the registrar that a name has left stated is neither followed nor taken for a renewal when it is gone.
#[test]
fn a_transfer_is_no_renewal() {
    for before in [MOVED, GRACE] {
        for registrar in [Some(NEW), None] {
            let mut w = Watch::new(before);
            let after = Stated { registrar, by: "Lantern Registrar", ..MOVED };
            let told = w.kinds(1, after);
            assert!(told.contains(&EventKind::RegistrarChanged), "{told:?}");
            let others =
                told.iter().filter(|k| ![EventKind::RegistrarChanged, EventKind::StatusRemoved].contains(k));
            assert_eq!(others.count(), 0, "{told:?}");
            assert_eq!((w.status(), w.followed().as_str()), (StatusKind::Normal, NEW));
            let later: Vec<_> = (0..20).flat_map(|_| w.kinds(6, after)).collect();
            assert_eq!(later, NOTHING);
        }
    }
}

/// A registry that publishes no grace period moved the date on by itself while the registrar did not answer: that it is back
/// with its old date is no second renewal.
#[test]
fn a_registrar_that_is_back_after_days_had_renewed_nothing() {
    let mut w = Watch::new(BEFORE);
    assert_eq!(w.kinds(24 * 5, SILENT), [EventKind::ExpirationChanged]);
    let told: Vec<_> = (0..20).flat_map(|_| w.kinds(6, SILENT)).collect();
    assert_eq!(told, NOTHING);
    assert_eq!(w.kinds(6, MOVED), NOTHING);
    assert_eq!((w.status(), w.followed().as_str()), (StatusKind::Critical, OLD));
    assert_eq!(w.kinds(6, FOLLOWED), [EventKind::Renewed]);
}

/// A registrar that fell silent with an old date must not keep the name expired for years.
#[test]
fn a_date_of_a_silent_registrar_counts_until_it_could_have_deleted_the_name() {
    let mut w = Watch::new(MOVED);
    assert_eq!(w.kinds(24 * 10, SILENT), NOTHING);
    assert_eq!(w.status(), StatusKind::Critical);
    assert_eq!(w.kinds(24 * 40, SILENT), NOTHING);
    assert_eq!(w.status(), StatusKind::Normal);
    assert_eq!(w.kinds(24 * 4, SILENT), [EventKind::Renewed]);
}

#[test]
fn a_switch_between_the_servers_of_the_registrar_is_no_change() {
    let by = |protocol, date: &str| {
        let mut o = read(BEFORE, now());
        if let Some(RegistrationState::Registered(r)) = &mut o.registration.value {
            r.registrar_expires = Some(date.parse().unwrap());
            let provenance =
                Provenance { protocol, party: Party::Registrar, server: "registrar.test".into() };
            r.provenance.insert("registrar_expires".into(), provenance);
        }
        o
    };
    let rdap = by(Protocol::Rdap, OLD);
    assert_eq!(kinds(&rdap, &by(Protocol::Whois, "2026-11-24T00:00:00Z")), NOTHING);
    assert_eq!(kinds(&rdap, &by(Protocol::Whois, NEW)), [EventKind::ExpirationChanged], "a year is one");
    let c = diff(&rdap, &by(Protocol::Rdap, NEW)).remove(0);
    assert!(c.sentence().starts_with("Expiration at the registrar went from 2026-11-24"), "{}", c.sentence());
}

/// Where the registry publishes no date, that of the registrar is all there is.
#[test]
fn a_renewal_that_only_the_registrar_states_is_announced() {
    let by_registrar = |date: &str, flags: &[&str]| {
        let mut o = read(BEFORE, now());
        if let Some(RegistrationState::Registered(r)) = &mut o.registration.value {
            (r.expires, r.registrar_expires) = (None, Some(date.parse().unwrap()));
            r.statuses = Some(flags.iter().map(|f| EppStatus::from(*f)).collect());
        }
        o
    };
    let before = by_registrar(OLD, &[]);
    assert_eq!(kinds(&before, &by_registrar(NEW, &[])), [EventKind::Renewed]);
    let c = diff(&before, &by_registrar(NEW, &["redemptionPeriod"]));
    assert!(c.iter().all(|c| c.kind != EventKind::Renewed), "{c:?}");
}
