//! Settings of checks, of a domain and of an organisation, and reminders that no scan found.

use crate::world::{ONE, Place, TWO, add, item, later, name, now, scan};
use model::account::{Actor, AuditQuery, UserId};
use model::checks::Checks;
use model::event::{Change, EventKind, EventQuery, Severity};
use model::expiry::Reminded;
use model::item::ItemPatch;
use store::{Audit, Error, ItemOutcome};

fn entry() -> Audit {
    Audit {
        org: ONE,
        by: Actor { who: "ana@alder.example".into(), ..Actor::system() },
        at: now(),
        action: "organisation.checks",
        object: "checks".into(),
        old: None,
        new: None,
    }
}

pub async fn checks_are_said_of_a_domain_and_of_an_organisation(place: &Place) {
    let s = place.open().await;
    let ana = UserId("ana".into());
    assert!(s.create_user(&ana, "ana@alder.example", "Ana", now()).await.unwrap());
    assert_eq!(s.create_org("key-1", "Alder Labs", &ana, now()).await.unwrap(), ONE);
    add(&*s, ONE, &["a.example", "b.example"]).await;
    assert_eq!(s.longest_interval().await.unwrap(), None);
    assert!(s.checks(ONE).await.unwrap().is_empty() && item(&*s, ONE, "a.example").await.0.checks.is_empty());

    let patch = ItemPatch {
        scan_interval: Some(Some(900)),
        expiry_days: Some(Some(vec![30, 7])),
        muted_until: Some(Some(later(60))),
        ..ItemPatch::default()
    };
    let n = name("a.example");
    let patched = s.patch(ONE, &n, &patch, now()).await.unwrap();
    let own = Checks { interval_s: Some(900), expiry_days: Some(vec![30, 7]) };
    assert_eq!(patched.checks, own);
    assert_eq!(s.scan_grounds(&n).await.unwrap().holdings[0].0.checks, own);
    assert!(item(&*s, ONE, "b.example").await.0.checks.is_empty());
    // Removed and put back, it keeps them.
    let taken = s.delete_returning(ONE, std::slice::from_ref(&n), now()).await.unwrap();
    s.restore(ONE, &taken, now()).await.unwrap();
    assert_eq!(item(&*s, ONE, "a.example").await.0.checks, own);
    // Each can be cleared by itself.
    let clear = ItemPatch { expiry_days: Some(None), ..ItemPatch::default() };
    let cleared = s.patch(ONE, &n, &clear, now()).await.unwrap().checks;
    assert_eq!(cleared, Checks { expiry_days: None, ..own });

    let said = Checks { interval_s: Some(86_400), expiry_days: Some(vec![60]) };
    let only_interval = Checks { expiry_days: None, ..said.clone() };
    s.set_checks(ONE, &only_interval, &Audit { action: "organisation.interval", ..entry() }).await.unwrap();
    assert!(
        s.due_for_judgement(now(), 9).await.unwrap().is_empty(),
        "no judgement follows from the interval"
    );
    s.set_checks(ONE, &said, &entry()).await.unwrap();
    // Its domains are judged again.
    let due = s.due_for_judgement(now(), 9).await.unwrap();
    let due: Vec<_> = due.iter().map(|i| (i.org, i.name.as_str())).collect();
    assert_eq!(due, [(ONE, "a.example"), (ONE, "b.example")]);
    assert_eq!(s.checks(ONE).await.unwrap(), said);
    assert!(s.checks(TWO).await.unwrap().is_empty());
    // Of several at once; one that does not exist says nothing.
    assert_eq!(s.create_org("key-2", "Birch", &ana, now()).await.unwrap(), TWO);
    let other = Checks { interval_s: None, expiry_days: Some(vec![9]) };
    s.set_checks(TWO, &other, &Audit { org: TWO, ..entry() }).await.unwrap();
    let both = s.checks_of(&[TWO, model::ids::OrgId(99), ONE]).await.unwrap();
    assert_eq!(both.into_iter().collect::<Vec<_>>(), [(ONE, said.clone()), (TWO, other)]);
    assert!(s.checks_of(&[]).await.unwrap().is_empty());
    assert!(matches!(s.set_checks(model::ids::OrgId(99), &said, &entry()).await, Err(Error::NotFound)));
    assert_eq!(s.longest_interval().await.unwrap(), Some(86_400));
    s.set_checks(ONE, &Checks::default(), &entry()).await.unwrap();
    assert_eq!(s.longest_interval().await.unwrap(), Some(900), "of the domain");

    let query = AuditQuery { limit: 50, ..AuditQuery::default() };
    let entries = s.audit_log(ONE, &query).await.unwrap().entries;
    let of = |action: &str| {
        let found: Vec<_> = entries.iter().filter(|e| e.action == action).collect();
        found.into_iter().map(|e| (e.old.clone(), e.new.clone())).collect::<Vec<_>>()
    };
    let words = Some("checks: every day; reminders: 60 days before".to_string());
    let interval = Some("checks: every day".to_string());
    assert_eq!(of("organisation.checks"), [(words.clone(), None), (interval, words)], "newest first");
    let changed = "muted until 2026-11-20 13:00 UTC; checks: every 15 minutes; reminders: 30, 7 days before";
    assert_eq!(of("domain.change").last().unwrap().1.as_deref(), Some(changed));
}

/// The organisation says other days while its domains are judged by those before: the mark to judge again stays.
pub async fn what_is_judged_by_the_days_before_stays_due(place: &Place) {
    let s = place.open().await;
    let ana = UserId("ana".into());
    assert!(s.create_user(&ana, "ana@alder.example", "Ana", now()).await.unwrap());
    assert_eq!(s.create_org("key-1", "Alder Labs", &ana, now()).await.unwrap(), ONE);
    add(&*s, ONE, &["a.example"]).await;
    let scanned = scan(&*s, "a.example", &[], later(1)).await;
    let (before, row) = item(&*s, ONE, "a.example").await;
    let said = Checks { interval_s: None, expiry_days: Some(vec![7]) };
    s.set_checks(ONE, &said, &entry()).await.unwrap();
    let mut judged = before.clone();
    judged.status.judge_again_at = Some(later(600));
    s.update_judged(&[(judged.clone(), row.clone())], later(2)).await.unwrap();
    let outcome = ItemOutcome { item: judged.clone(), row: row.clone(), changes: vec![] };
    assert!(!s.record_reminder(&before, &outcome, later(2)).await.unwrap());
    assert!(matches!(s.record(&scanned).await, Err(Error::Conflict)));
    assert_eq!(s.due_for_judgement(later(3), 9).await.unwrap().len(), 1, "by the new days");
    judged.org_days = said.expiry_days;
    s.update_judged(&[(judged, row)], later(4)).await.unwrap();
    assert!(s.due_for_judgement(later(5), 9).await.unwrap().is_empty());
}

pub async fn a_reminder_without_a_scan_is_recorded_once(place: &Place) {
    let s = place.open().await;
    add(&*s, ONE, &["a.example"]).await;
    let (before, row) = item(&*s, ONE, "a.example").await;
    let mut after = before.clone();
    after.reminded = vec![Reminded { expires: "2026-12-20".parse().unwrap(), days: 30 }];
    after.status.judge_again_at = Some(later(60));
    let change = Change {
        kind: EventKind::ExpiresSoon,
        severity: Severity::Warning,
        field: "expires".into(),
        old: None,
        new: Some("2026-12-20".into()),
        source: "RDAP".into(),
        note: String::new(),
        first_seen_at: None,
        status_before: None,
    };
    let outcome = ItemOutcome { item: after.clone(), row, changes: vec![change] };
    // Two replicas judge it at the same time.
    let other = place.open().await;
    let (a, b) = futures::join!(
        s.record_reminder(&before, &outcome, now()),
        other.record_reminder(&before, &outcome, now())
    );
    assert_eq!(u32::from(a.unwrap()) + u32::from(b.unwrap()), 1);
    let events = s.events(ONE, &EventQuery::default()).await.unwrap().events;
    assert_eq!(events.len(), 1);
    let stored = item(&*s, ONE, "a.example").await.0;
    assert_eq!(stored.reminded, after.reminded);
    let due = s.lease_notifications(9, now()).await.unwrap();
    assert_eq!(due.iter().map(|n| n.events.len()).collect::<Vec<_>>(), [1]);
    assert!(s.due_for_judgement(later(59), 9).await.unwrap().is_empty());
    assert_eq!(s.due_for_judgement(later(60), 9).await.unwrap().len(), 1);
    // Gone meanwhile: nothing is recorded.
    s.remove(ONE, &[name("a.example")], later(1)).await.unwrap();
    assert!(!s.record_reminder(&stored, &outcome, later(2)).await.unwrap());
}
