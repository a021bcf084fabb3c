//! When domains are checked and reminded of: by the settings of a domain, of its organisation, of the server; and also
//! when no scan comes.

mod support;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use model::account::UserId;
use model::checks::Checks;
use model::detail::RawAnswer;
use model::event::{EventKind, EventQuery};
use model::ids::OrgId;
use model::item::ItemPatch;
use model::judge::Thresholds;
use model::names::DomainName;
use model::observation::Part;
use model::registration::{Registration, RegistrationState};
use model::status::StatusKind;
use monitor::observer::Progress;
use monitor::{Clock, DnsParts, Observer, Policy, Scanner};
use std::sync::{Arc, Mutex};
use store::{Audit, Job, JobKind, Priority, Retry};

const ONE: OrgId = OrgId::BUILT_IN;
const TWO: OrgId = OrgId(2);

/// A registry with one expiration date, and a clock.
struct World(Mutex<Timestamp>);

#[async_trait]
impl Observer for World {
    async fn registration(
        &self,
        name: &DomainName,
        now: Timestamp,
        _: &dyn Progress,
    ) -> (Part<RegistrationState>, Vec<RawAnswer>) {
        let r = Registration {
            name: Some(name.as_str().into()),
            expires: Some("2026-12-20T13:58:57Z".parse().unwrap()),
            ..Registration::default()
        };
        (Part::good(RegistrationState::Registered(Box::new(r)), now, "RDAP"), vec![])
    }

    async fn dns(&self, _: &DomainName, now: Timestamp, _: &dyn Progress) -> DnsParts {
        DnsParts { delegation: Part { attempted_at: Some(now), ..Part::default() }, ..DnsParts::default() }
    }
}

impl Clock for World {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
}

struct Stage {
    world: Arc<World>,
    scanner: Scanner,
    name: DomainName,
    _folder: tempfile::TempDir,
}

impl Stage {
    async fn new() -> Stage {
        let world = Arc::new(World(Mutex::new("2026-11-01T14:05:00Z".parse().unwrap())));
        let folder = tempfile::tempdir().unwrap();
        let scanner = support::scanner(&folder, world.clone(), world.clone(), Policy::default()).await;
        let s = Stage { world, scanner, name: DomainName::trusted("q7.io"), _folder: folder };
        let (ana, now) = (UserId("ana".into()), s.world.now());
        assert!(s.scanner.store.create_user(&ana, "ana@alder.example", "Ana", now).await.unwrap());
        assert_eq!(s.scanner.store.create_org("key-1", "Alder Labs", &ana, now).await.unwrap(), ONE);
        s.add(ONE).await;
        s
    }

    async fn add(&self, org: OrgId) {
        support::own(&self.scanner, org, std::slice::from_ref(&self.name)).await;
    }

    fn later(&self, hours: i64) {
        *self.world.0.lock().unwrap() += SignedDuration::from_hours(hours);
    }

    async fn patch(&self, org: OrgId, patch: ItemPatch) {
        self.scanner.store.patch(org, &self.name, &patch, self.world.now()).await.unwrap();
    }

    /// Scans and says in how many seconds the next scan is due, as the page says it.
    async fn next(&self) -> i64 {
        let scanned = self.scanner.scan_in_turn(&self.name, false).await.unwrap();
        let (item, _) = self.scanner.store.item(ONE, &self.name).await.unwrap().unwrap();
        let wait = item.next_scan_at.unwrap().as_second() - self.world.now().as_second();
        let interval = scanned.interval_s;
        assert!((interval / 2..=interval * 3 / 2).contains(&wait), "{wait} s by {interval} s");
        interval
    }

    /// Puts the scan of the domain far ahead.
    async fn due_in_ten_days(&self) {
        let now = self.world.now();
        self.scanner
            .store
            .enqueue(&[(Job::Scan(self.name.clone()), now)], Priority::Scheduled)
            .await
            .unwrap();
        let job = self.scanner.store.lease(JobKind::Scan, "w", 1, now).await.unwrap().remove(0);
        let later = Some(now + SignedDuration::from_hours(240));
        self.scanner.store.complete(&job, later, None, now).await.unwrap();
    }

    /// Lets every attempt to scan the domain fail until its scans are suspended.
    async fn suspend(&self) {
        let (store, job) = (&self.scanner.store, Job::Scan(self.name.clone()));
        store.enqueue(&[(job, self.world.now())], Priority::Scheduled).await.unwrap();
        loop {
            let now = self.world.now();
            let job = store.lease(JobKind::Scan, "w", 1, now).await.unwrap().remove(0);
            match store.fail(&job, "no room", now).await.unwrap() {
                Retry::At(at) => *self.world.0.lock().unwrap() = at,
                end => return assert_eq!(end, Retry::GivenUp),
            }
        }
    }

    /// Judges all that time made due.
    async fn judge(&self) {
        while self.scanner.judge_due().await.unwrap() > 0 {}
    }

    /// True when the schedule's scan is due.
    async fn is_due(&self) -> bool {
        let (item, _) = self.scanner.store.item(ONE, &self.name).await.unwrap().unwrap();
        item.next_scan_at.is_none_or(|at| at <= self.world.now())
    }

    async fn events(&self) -> Vec<(EventKind, String)> {
        let query = EventQuery { per_page: 50, ..EventQuery::default() };
        let page = self.scanner.store.events(ONE, &query).await.unwrap();
        page.events.into_iter().rev().map(|e| (e.change.kind, e.change.note)).collect()
    }
}

impl Stage {
    /// On the day itself: the notes say how many days were left then.
    async fn each_threshold_was_announced_once(&self) {
        let said = self.events().await;
        let kinds: Vec<_> = said.iter().map(|(kind, _)| *kind).collect();
        let mut expected = vec![EventKind::ExpiresSoon; 5];
        expected.push(EventKind::Expired);
        assert_eq!(kinds, expected, "30, 15, 7, 3, 1 and 0 days: {said:?}");
        for (days, (_, note)) in ["30 days", "15 days", "7 days", "3 days", "tomorrow"].iter().zip(&said) {
            assert!(note.contains(days), "{days}: {note}");
        }
    }
}

fn log(s: &Stage) -> Audit {
    Audit {
        org: ONE,
        by: model::account::Actor::system(),
        at: s.world.now(),
        action: "organisation.checks",
        object: "checks".into(),
        old: None,
        new: None,
    }
}

#[tokio::test]
async fn the_shortest_interval_of_all_holders_counts() {
    let s = Stage::new().await;
    assert_eq!(s.next().await, 3600, "the server's");
    s.later(24);
    let slow = Checks { interval_s: Some(86_400), expiry_days: None };
    s.scanner.store.set_checks(ONE, &slow, &log(&s)).await.unwrap();
    assert_eq!(s.next().await, 86_400, "the organisation's");
    s.later(24);
    s.patch(ONE, ItemPatch { scan_interval: Some(Some(604_800)), ..ItemPatch::default() }).await;
    assert_eq!(s.next().await, 604_800, "its own");
    // That far ahead no clock was wrong.
    let worker = monitor::Worker::new(s.scanner.clone(), "w");
    s.due_in_ten_days().await;
    assert_eq!(worker.reschedule_far_future().await.unwrap(), 0);

    // Another organisation's interval is the server's, an hour: the observation is shared.
    s.add(TWO).await;
    s.later(24);
    assert_eq!(s.next().await, 3600);
    s.scanner.store.remove(TWO, std::slice::from_ref(&s.name), s.world.now()).await.unwrap();
    s.patch(ONE, ItemPatch { scan_interval: Some(None), ..ItemPatch::default() }).await;
    s.later(24);
    assert_eq!(s.next().await, 86_400, "back to the organisation's");
    s.due_in_ten_days().await;
    assert_eq!(worker.reschedule_far_future().await.unwrap(), 1, "ten days are too far now");
}

/// What organisations say is read together, and each holding keeps to its own.
#[tokio::test]
async fn holders_follow_their_organisations() {
    let s = Stage::new().await;
    let ana = UserId("ana".into());
    assert_eq!(s.scanner.store.create_org("key-2", "Birch", &ana, s.world.now()).await.unwrap(), TWO);
    s.add(TWO).await;
    for (org, interval, day) in [(ONE, 86_400, 60), (TWO, 1_800, 2)] {
        let said = Checks { interval_s: Some(interval), expiry_days: Some(vec![day]) };
        s.scanner.store.set_checks(org, &said, &Audit { org, ..log(&s) }).await.unwrap();
    }
    assert_eq!(s.next().await, 1_800);
    assert_eq!(s.events().await.len(), 1, "60 days before");
    let of_two = s.scanner.store.events(TWO, &EventQuery::default()).await.unwrap().events;
    assert!(of_two.is_empty(), "{of_two:?}");
}

#[tokio::test]
async fn a_domain_can_have_reminders_of_its_own() {
    let s = Stage::new().await;
    s.patch(ONE, ItemPatch { expiry_days: Some(Some(vec![45, 2])), ..ItemPatch::default() }).await;
    s.next().await;
    assert!(s.events().await.is_empty(), "49 days are left");
    s.later(4 * 24);
    s.next().await;
    let events = s.events().await;
    assert!(events.len() == 1 && events[0].1.contains("45 days are left"), "{events:?}");
    assert!(events[0].1.contains("2 days before the date"), "{events:?}");
    s.later(30 * 24);
    s.next().await;
    assert_eq!(s.events().await.len(), 1, "not at 30 and 15 days");
    // The organisation's days count once its own are gone.
    s.patch(ONE, ItemPatch { expiry_days: Some(None), ..ItemPatch::default() }).await;
    let days = Checks { interval_s: None, expiry_days: Some(vec![16]) };
    s.scanner.store.set_checks(ONE, &days, &log(&s)).await.unwrap();
    s.next().await;
    assert_eq!(s.events().await.len(), 2);
}

/// What an organisation says counts from then on, not from the next scan on, which may be a week ahead.
#[tokio::test]
async fn days_that_an_organisation_changes_count_before_the_next_scan() {
    let s = Stage::new().await;
    s.patch(ONE, ItemPatch { scan_interval: Some(Some(604_800)), ..ItemPatch::default() }).await;
    s.next().await;
    let days = Checks { interval_s: None, expiry_days: Some(vec![48]) };
    s.scanner.store.set_checks(ONE, &days, &log(&s)).await.unwrap();
    s.judge().await;
    assert!(s.events().await.is_empty(), "49 days are left");
    s.later(2 * 24);
    assert!(!s.is_due().await, "the scan is a while ahead");
    s.judge().await;
    let events = s.events().await;
    assert!(events.len() == 1 && events[0].0 == EventKind::ExpiresSoon, "{events:?}");
    // Days of its own stay as they are.
    s.patch(ONE, ItemPatch { expiry_days: Some(Some(vec![1])), ..ItemPatch::default() }).await;
    let days = Checks { interval_s: None, expiry_days: Some(vec![47]) };
    s.scanner.store.set_checks(ONE, &days, &log(&s)).await.unwrap();
    s.judge().await;
    assert_eq!(s.events().await.len(), 1);
}

/// A domain that was never observed has nothing to judge, however often.
#[tokio::test]
async fn a_domain_without_an_observation_is_not_judged_over_and_over() {
    let s = Stage::new().await;
    let days = Checks { interval_s: None, expiry_days: Some(vec![48]) };
    s.scanner.store.set_checks(ONE, &days, &log(&s)).await.unwrap();
    assert_eq!(s.scanner.judge_due().await.unwrap(), 1);
    assert_eq!(s.scanner.judge_due().await.unwrap(), 0);
}

/// Scans of a domain are suspended: time alone reminds of its expiration, each threshold once.
#[tokio::test]
async fn a_suspended_domain_is_reminded_of() {
    let s = Stage::new().await;
    s.next().await;
    s.suspend().await;
    for _ in 0..60 {
        s.later(24);
        s.judge().await;
    }
    s.each_threshold_was_announced_once().await;
    // The scan that comes in the end repeats none of them.
    s.next().await;
    assert_eq!(s.events().await.len(), 6);
    let due = s.scanner.store.lease_notifications(99, s.world.now()).await.unwrap();
    assert_eq!(due.len(), 6, "each is to be sent");
}

/// A domain that is scanned once a week is reminded of at each threshold all the same.
#[tokio::test]
async fn no_threshold_is_skipped_between_two_scans() {
    let s = Stage::new().await;
    s.patch(ONE, ItemPatch { scan_interval: Some(Some(604_800)), ..ItemPatch::default() }).await;
    let mut scans = 0;
    for _ in 0..50 * 24 {
        if s.is_due().await {
            s.next().await;
            scans += 1;
        }
        s.judge().await;
        s.later(1);
    }
    assert!((7..=9).contains(&scans), "{scans}");
    s.each_threshold_was_announced_once().await;
}

/// What the machine missed is said by the scan that follows, which may see a renewal; nothing is concluded before it,
/// also by a clock that is years ahead.
#[tokio::test]
async fn nothing_is_said_at_the_start_before_the_first_scan() {
    let s = Stage::new().await;
    s.later(18 * 24);
    s.next().await;
    for hours in [3 * 24, 3, 3, 10 * 365 * 24] {
        s.later(hours);
        s.judge().await;
        assert_eq!(s.events().await, [], "{hours} hours later");
    }
    s.later(-10 * 365 * 24);
    s.next().await;
    let events = s.events().await;
    assert!(events.len() == 1 && events[0].1.contains("28 days are left"), "{events:?}");
}

/// A domain that is scanned in time is reminded of by its scans alone.
#[tokio::test]
async fn a_scan_in_time_says_it_itself() {
    let s = Stage::new().await;
    s.later(18 * 24);
    s.next().await;
    for _ in 0..30 {
        s.later(1);
        let before = s.events().await.len();
        s.scanner.judge_due().await.unwrap();
        assert_eq!(s.events().await.len(), before);
        s.next().await;
    }
    assert_eq!(s.events().await.len(), 1, "30 days before");
}

/// The thresholds of a start that differ from those of the start before judge every domain again, without a scan.
#[tokio::test]
async fn other_thresholds_judge_every_domain_again_once() {
    let mut s = Stage::new().await;
    s.add(TWO).await;
    s.next().await;
    let status = async |s: &Stage, org| {
        s.judge().await;
        s.scanner.store.item(org, &s.name).await.unwrap().unwrap().1.status.kind
    };
    assert!(!s.scanner.judge_by_new_thresholds().await.unwrap(), "the defaults, as an earlier version had");
    assert_ne!(status(&s, ONE).await, StatusKind::Warning, "49 days are left");
    s.scanner.policy.thresholds = Thresholds { critical_days: 14, warning_days: 60, stale_days: 3 };
    assert!(s.scanner.judge_by_new_thresholds().await.unwrap());
    for org in [ONE, TWO] {
        assert_eq!(status(&s, org).await, StatusKind::Warning);
    }
    assert!(!s.scanner.judge_by_new_thresholds().await.unwrap(), "once");
    s.scanner.policy.thresholds = Thresholds { critical_days: 50, warning_days: 60, stale_days: 3 };
    assert!(s.scanner.judge_by_new_thresholds().await.unwrap());
    assert_eq!(status(&s, ONE).await, StatusKind::Critical);
    // Back to the defaults is a change too.
    s.scanner.policy.thresholds = Thresholds::default();
    assert!(s.scanner.judge_by_new_thresholds().await.unwrap());
    assert_ne!(status(&s, TWO).await, StatusKind::Critical);
    assert!(!s.scanner.judge_by_new_thresholds().await.unwrap());
}
