//! The path with a scripted world: what is recorded when the world changes, fails, and comes back.

use async_trait::async_trait;
use jiff::{Timestamp, ToSpan};
use model::detail::RawAnswer;
use model::event::{EventKind, EventQuery};
use model::ids::{LogPosition, OrgId, Vantage};
use model::item::{ItemPatch, Ownership};
use model::names::DomainName;
use model::observation::{Observation, Part, PartError};
use model::registration::{Party, Protocol, Registration, RegistrationState};
use model::status::StatusKind;
use monitor::observer::{InTurn, Progress};
use monitor::{Clock, DnsParts, Hub, Observer, Policy, ScanError, Scanner};
use std::sync::{Arc, Mutex};
use store::{Job, JobKind, NewItem, Priority};

/// What the registry answers now, and what time it is.
struct World {
    answer: Mutex<Result<Registration, &'static str>>,
    /// The registry has no room for the schedule until then, by our own limits.
    no_room: Mutex<Option<Timestamp>>,
    /// How often the DNS and the registry were looked at.
    looks: Mutex<(u32, u32)>,
    now: Mutex<Timestamp>,
}

#[async_trait]
impl Observer for World {
    async fn registration(
        &self,
        _: &DomainName,
        now: Timestamp,
        _: &dyn Progress,
    ) -> (Part<RegistrationState>, Vec<RawAnswer>) {
        self.looks.lock().unwrap().1 += 1;
        let raw = |body: &str| RawAnswer {
            protocol: Protocol::Rdap,
            party: Party::Registry,
            server: "rdap.nic.io".into(),
            at: now,
            body: body.into(),
        };
        match self.answer.lock().unwrap().clone() {
            Ok(r) => {
                let body = r.expires.map(|e| e.to_string()).unwrap_or_default();
                let state = RegistrationState::Registered(Box::new(r));
                (Part::good(state, now, "RDAP rdap.nic.io"), vec![raw(&body)])
            }
            Err(sentence) => {
                let error = PartError { label: "timeout".into(), sentence: sentence.into(), retry_at: None };
                let part = Part { attempted_at: Some(now), error: Some(error), ..Part::default() };
                (part, vec![raw("garbage")])
            }
        }
    }

    async fn registration_in_turn(
        &self,
        name: &DomainName,
        now: Timestamp,
        progress: &dyn Progress,
    ) -> InTurn {
        let no_room = *self.no_room.lock().unwrap();
        if let Some(at) = no_room.filter(|at| *at > now) {
            let error =
                PartError { label: "throttled".into(), sentence: "our own limit".into(), retry_at: Some(at) };
            let part = Part { attempted_at: Some(now), error: Some(error), ..Part::default() };
            return InTurn { part, raw: vec![], later: true };
        }
        let (part, raw) = self.registration(name, now, progress).await;
        InTurn { part, raw, later: false }
    }

    async fn dns(&self, _: &DomainName, now: Timestamp, _: &dyn Progress) -> DnsParts {
        self.looks.lock().unwrap().0 += 1;
        DnsParts { delegation: Part { attempted_at: Some(now), ..Part::default() }, ..DnsParts::default() }
    }
}

impl Clock for World {
    fn now(&self) -> Timestamp {
        *self.now.lock().unwrap()
    }
}

struct Stage {
    world: Arc<World>,
    scanner: Scanner,
    name: DomainName,
    _folder: tempfile::TempDir,
}

fn registration(expires: &str) -> Registration {
    Registration {
        name: Some("q7.io".into()),
        expires: Some(expires.parse().unwrap()),
        statuses: Some(["clientTransferProhibited".into()].into()),
        ..Registration::default()
    }
}

impl Stage {
    async fn new() -> Stage {
        let world = Arc::new(World {
            answer: Mutex::new(Ok(registration("2029-07-06T13:58:57Z"))),
            no_room: Mutex::new(None),
            looks: Mutex::default(),
            now: Mutex::new("2026-11-20T14:05:00Z".parse().unwrap()),
        });
        let folder = tempfile::tempdir().unwrap();
        let scanner = Scanner {
            store: store::open(&folder.path().to_string_lossy()).await.unwrap(),
            observer: world.clone(),
            clock: world.clone(),
            hub: Hub::default(),
            policy: Policy::default(),
        };
        let stage = Stage { world, scanner, name: DomainName::trusted("q7.io"), _folder: folder };
        let item = NewItem {
            name: stage.name.clone(),
            unicode: "q7.io".into(),
            ownership: Ownership::Owned,
            tags: vec![],
            note: String::new(),
        };
        stage.scanner.store.add(OrgId::BUILT_IN, &[item], stage.world.now()).await.unwrap();
        stage
    }

    fn later(&self, hours: i64) {
        let mut now = self.world.now.lock().unwrap();
        *now += hours.hours();
    }

    fn world_is(&self, answer: Result<Registration, &'static str>) {
        *self.world.answer.lock().unwrap() = answer;
    }

    async fn events(&self) -> Vec<EventKind> {
        let query = EventQuery { page: 1, per_page: 50, ..EventQuery::default() };
        let page = self.scanner.store.events(OrgId::BUILT_IN, &query).await.unwrap();
        page.events.iter().map(|e| e.change.kind).collect()
    }

    async fn raw(&self) -> Vec<String> {
        let newest = self.scanner.store.snapshots(OrgId::BUILT_IN, &self.name, 1).await.unwrap()[0].id;
        let raw = self.scanner.store.raw(OrgId::BUILT_IN, &self.name, newest).await.unwrap();
        raw.into_iter().map(|r| r.body).collect()
    }
}

#[tokio::test]
async fn a_baseline_a_change_a_failure_and_its_end() {
    let s = Stage::new().await;
    let first = s.scanner.scan(&s.name, true).await.unwrap();
    assert!(first.sentence.starts_with("Baseline saved") && s.events().await.is_empty());

    s.later(7);
    s.world_is(Ok(registration("2030-07-06T13:58:57Z")));
    let second = s.scanner.scan(&s.name, false).await.unwrap();
    assert_eq!(second.changes.len(), 1, "{second:?}");
    assert_eq!(s.events().await, [EventKind::Renewed]);
    let (item, row) = s.scanner.store.item(OrgId::BUILT_IN, &s.name).await.unwrap().unwrap();
    assert_eq!(item.last_change_at, Some(s.world.now()));
    assert!(row.changed_recently(s.world.now()));

    s.later(7);
    s.world_is(Err("rdap.nic.io did not answer"));
    let third = s.scanner.scan(&s.name, false).await.unwrap();
    assert!(third.failed && third.changes.is_empty() && third.sentence.contains("did not answer"));
    assert_eq!(s.events().await.len(), 1, "a failure is no change");
    let (_, row) = s.scanner.store.item(OrgId::BUILT_IN, &s.name).await.unwrap().unwrap();
    assert_eq!(row.status.kind, StatusKind::Normal, "data of hours ago still counts");
    assert_eq!(row.error.as_deref(), Some("rdap.nic.io did not answer"));
    assert_eq!(s.raw().await, ["2030-07-06T13:58:57Z"], "the good answer is kept, not the garbage");

    // Time alone: after three days without good data the status is judged again, without a scan.
    s.later(24 * 3);
    assert_eq!(s.scanner.judge_due().await.unwrap(), 1);
    let (_, row) = s.scanner.store.item(OrgId::BUILT_IN, &s.name).await.unwrap().unwrap();
    assert_eq!(row.status.kind, StatusKind::Unknown, "{:?}", row.status);

    s.world_is(Ok(registration("2030-07-06T13:58:57Z")));
    s.scanner.scan(&s.name, false).await.unwrap();
    assert_eq!(s.events().await.len(), 1, "the same data come back is no change");
    let (_, row) = s.scanner.store.item(OrgId::BUILT_IN, &s.name).await.unwrap().unwrap();
    assert_eq!(row.status.kind, StatusKind::Normal);
}

/// The registrar fails just after the renewal: its date of before is kept, and not followed.
#[tokio::test]
async fn a_renewed_domain_does_not_expire_by_what_its_registrar_stated_before() {
    let s = Stage::new().await;
    let (old, new) = ("2026-11-24T10:00:00Z", "2027-11-24T10:00:00Z");
    let stated = |registry: &str, registrar: Option<&str>| {
        let registrar_expires = registrar.map(|date| date.parse().unwrap());
        Ok(Registration { registrar_expires, ..registration(registry) })
    };
    let row = async || s.scanner.store.item(OrgId::BUILT_IN, &s.name).await.unwrap().unwrap().1;
    s.world_is(stated(old, Some(old)));
    s.scanner.scan(&s.name, true).await.unwrap();
    assert_eq!(row().await.status.kind, StatusKind::Critical, "four days are left");

    for hours in [6, 48] {
        s.later(hours);
        s.world_is(stated(new, None));
        s.scanner.scan(&s.name, true).await.unwrap();
        let now = row().await;
        assert_eq!((now.status.kind, now.expires), (StatusKind::Normal, Some(new.parse().unwrap())));
        let told = s.events().await;
        assert!(!told.contains(&EventKind::Renewed) && !told.contains(&EventKind::Expired), "{told:?}");
    }
    s.later(6);
    s.world_is(stated(new, Some(new)));
    let last = s.scanner.scan(&s.name, true).await.unwrap();
    assert_eq!(last.changes.len(), 1, "{last:?}");
    assert_eq!(s.events().await.iter().filter(|k| **k == EventKind::Renewed).count(), 1);
}

#[tokio::test]
async fn two_workers_that_see_the_same_change_record_it_once() {
    let s = Stage::new().await;
    s.scanner.scan(&s.name, true).await.unwrap();
    s.later(7);
    s.world_is(Ok(registration("2030-07-06T13:58:57Z")));
    let (a, b) = futures::join!(s.scanner.scan(&s.name, false), s.scanner.scan(&s.name, false));
    assert_eq!(a.unwrap().changes.len() + b.unwrap().changes.len(), 1);
    assert_eq!(s.events().await, [EventKind::Renewed]);
}

#[tokio::test]
async fn registration_data_is_not_asked_for_twice_in_a_minute() {
    let s = Stage::new().await;
    s.scanner.scan(&s.name, true).await.unwrap();
    s.world_is(Err("must not be asked"));
    let again = s.scanner.scan(&s.name, true).await.unwrap();
    assert!(!again.failed, "{again:?}");
    s.later(1);
    assert!(
        s.scanner.scan(&s.name, true).await.unwrap().failed,
        "an hour later a person gets a fresh answer"
    );
    let stored = s.scanner.store.observation(&s.name, &Vantage::local()).await.unwrap().unwrap().observation;
    assert!(stored.registration.is_stale());
}

#[tokio::test]
async fn a_name_nobody_holds_any_more_is_not_recorded() {
    let s = Stage::new().await;
    s.scanner.store.remove(OrgId::BUILT_IN, std::slice::from_ref(&s.name), s.world.now()).await.unwrap();
    let head = s.scanner.store.head().await.unwrap();
    assert!(matches!(s.scanner.scan(&s.name, true).await, Err(ScanError::NotHeld)));
    assert!(head > LogPosition(0) && s.scanner.store.head().await.unwrap() == head);
}

impl Stage {
    /// The schedule's scan of now: when it wants to come back, what was looked at (DNS, registry), and the stored error.
    async fn scheduled(&self) -> (Option<Timestamp>, (u32, u32), Option<String>) {
        *self.world.looks.lock().unwrap() = (0, 0);
        let scanned = self.scanner.scan_in_turn(&self.name, false).await.unwrap();
        let looks = *self.world.looks.lock().unwrap();
        assert_eq!(scanned.recorded, looks != (0, 0), "recorded is what was looked at");
        let stored = self.scanner.store.observation(&self.name, &Vantage::local()).await.unwrap().unwrap();
        let error = stored.observation.registration.error.map(|e| e.sentence);
        (scanned.again_at, *self.world.looks.lock().unwrap(), error)
    }

    fn no_room_for(&self, minutes: i64) -> Timestamp {
        let at = self.world.now() + minutes.minutes();
        *self.world.no_room.lock().unwrap() = Some(at);
        at
    }

    fn minutes_later(&self, minutes: i64) {
        *self.world.now.lock().unwrap() += minutes.minutes();
    }
}

#[tokio::test]
async fn a_registration_whose_turn_comes_later_is_the_rest_of_the_same_scan() {
    let s = Stage::new().await;
    // Nothing is known yet: the wait is told, and the DNS is seen at once.
    let turn = s.no_room_for(3);
    assert_eq!(s.scheduled().await, (Some(turn), (1, 0), Some("our own limit".into())));
    // Someone else was faster: nothing new, nothing recorded.
    s.minutes_later(3);
    let head = s.scanner.store.head().await.unwrap();
    let turn = s.no_room_for(2);
    let (again, looks, _) = s.scheduled().await;
    assert_eq!((again, looks), (Some(turn), (0, 0)));
    assert_eq!(s.scanner.store.head().await.unwrap(), head);
    // Its turn: the registry alone is asked.
    s.minutes_later(2);
    assert_eq!(s.scheduled().await, (None, (0, 1), None));
    // Seven hours later both are due. That the registry has no room for a while is not worth an error.
    s.later(7);
    let turn = s.no_room_for(5);
    assert_eq!(s.scheduled().await, (Some(turn), (1, 0), None));
    s.minutes_later(5);
    assert_eq!(s.scheduled().await, (None, (0, 1), None));
    assert!(s.events().await.is_empty());
}

/// A domain with an interval of its own, near its expiration: each scan reads the registration, and looks at the DNS too.
#[tokio::test]
async fn what_is_recent_follows_from_the_interval_of_the_domain() {
    let s = Stage::new().await;
    let patch = ItemPatch { scan_interval: Some(Some(300)), ..ItemPatch::default() };
    s.scanner.store.patch(OrgId::BUILT_IN, &s.name, &patch, s.world.now()).await.unwrap();
    s.world_is(Ok(registration("2026-11-30T13:58:57Z")));
    for _ in 0..3 {
        assert_eq!(s.scheduled().await.1, (1, 1));
        s.minutes_later(5);
    }
    // A wait of more than half its interval is shown, a shorter one is not.
    let turn = s.no_room_for(2);
    assert_eq!(s.scheduled().await, (Some(turn), (1, 0), None));
    s.minutes_later(5);
    let turn = s.no_room_for(3);
    assert_eq!(s.scheduled().await, (Some(turn), (1, 0), Some("our own limit".into())));
}

#[tokio::test]
async fn a_long_wait_is_shown_and_not_asked_about_before_its_time() {
    let s = Stage::new().await;
    s.scheduled().await;
    s.later(7);
    let turn = s.no_room_for(5 * 60);
    assert_eq!(s.scheduled().await, (Some(turn), (1, 0), Some("our own limit".into())));
    // The place in the queue is kept: scheduled scans look at the DNS and do not ask for another.
    s.later(1);
    *s.world.no_room.lock().unwrap() = None;
    assert_eq!(s.scheduled().await, (Some(turn), (1, 0), Some("our own limit".into())));
    // A person does not wait for the schedule's turn.
    assert!(!s.scanner.scan(&s.name, true).await.unwrap().failed);
    assert_eq!(s.scheduled().await, (None, (1, 0), None), "fresh now");
}

/// A machine whose clock was ten years ahead when it scanned, and was then set right.
#[tokio::test]
async fn a_clock_that_was_ahead_keeps_nothing_fresh_and_nobody_waiting() {
    let s = Stage::new().await;
    s.later(10 * 365 * 24);
    s.scheduled().await;
    s.later(-10 * 365 * 24);
    assert_eq!(s.scheduled().await.1, (1, 1), "looked at again");
    s.later(7);
    // A turn in ten years, told by that clock, is no turn.
    s.no_room_for(10 * 365 * 24 * 60);
    s.scheduled().await;
    *s.world.no_room.lock().unwrap() = None;
    s.later(1);
    assert_eq!(s.scheduled().await, (None, (1, 1), None));
}

#[tokio::test]
async fn a_schedule_that_a_wrong_clock_put_years_ahead_is_found_at_the_start() {
    let stage = Stage::new().await;
    let store = stage.scanner.store.clone();
    // Scanned while the clock was three years ahead: the next scan is due then.
    let now = *stage.world.now.lock().unwrap();
    let ahead = now.checked_add((3 * 365 * 24).hours()).unwrap();
    let job = store.lease(JobKind::Scan, "w", 1, now).await.unwrap().remove(0);
    store.complete(&job, Some(ahead), None, now).await.unwrap();
    let day = now.checked_add(48.hours()).unwrap();
    assert_eq!(store.far_future_jobs(JobKind::Scan, day, 10).await.unwrap(), [Job::Scan(stage.name.clone())]);
    let stop = tokio_util::sync::CancellationToken::new();
    let worker = monitor::Worker::new(stage.scanner.clone(), "w");
    let running = tokio::spawn({
        let (worker, stop) = (worker.clone(), stop.clone());
        async move { worker.run(stop).await }
    });
    let found = async {
        while !store.far_future_jobs(JobKind::Scan, day, 10).await.unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(10), found).await.unwrap();
    stop.cancel();
    running.await.unwrap();
    // It is due at its own second, not at once, and once is enough.
    let interval = stage.scanner.policy.interval_s;
    let soon = now.checked_add((interval / 2 - 1).seconds()).unwrap();
    let late = now.checked_add((interval * 3 / 2).seconds()).unwrap();
    assert_eq!(store.queue_stats(JobKind::Scan, soon).await.unwrap().due, 0);
    assert_eq!(store.queue_stats(JobKind::Scan, late).await.unwrap().due, 1);
    assert_eq!(worker.reschedule_far_future().await.unwrap(), 0);
}

/// Never comes back.
struct Hangs;

#[async_trait]
impl Observer for Hangs {
    async fn registration(
        &self,
        _: &DomainName,
        _: Timestamp,
        _: &dyn Progress,
    ) -> (Part<RegistrationState>, Vec<RawAnswer>) {
        std::future::pending().await
    }

    async fn dns(&self, _: &DomainName, _: Timestamp, _: &dyn Progress) -> DnsParts {
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_scan_that_does_not_end_is_released_when_the_worker_stops() {
    let stage = Stage::new().await;
    let store = stage.scanner.store.clone();
    let now = stage.world.now();
    store.enqueue(&[(Job::Scan(stage.name.clone()), now)], Priority::Requested).await.unwrap();
    let stop = tokio_util::sync::CancellationToken::new();
    let scanner = Scanner { observer: Arc::new(Hangs), ..stage.scanner.clone() };
    let worker = monitor::Worker::new(scanner, "w");
    let running = tokio::spawn({
        let stop = stop.clone();
        async move { worker.run(stop).await }
    });
    while store.queue_stats(JobKind::Scan, now).await.unwrap().due > 0 {
        tokio::task::yield_now().await;
    }
    stop.cancel();
    tokio::time::timeout(std::time::Duration::from_secs(10), running).await.unwrap().unwrap();
    let again = store.lease(JobKind::Scan, "other", 1, now).await.unwrap();
    assert_eq!(again.len(), 1, "another worker need not wait for the lease to run out");
    assert_eq!((again[0].job.key(), again[0].priority), ("q7.io", Priority::Requested));
    assert_eq!(again[0].attempt, 1, "it did not fail");
}

#[tokio::test]
async fn what_was_observed_carries_the_installation_it_came_from() {
    let s = Stage::new().await;
    let store = &s.scanner.store;
    let claimed = async |name: &str, value: &str, expected| {
        let write = store::ClusterClaimWrite {
            name: name.into(),
            expected,
            metadata: "{}".into(),
            value: value.into(),
            dry_run: false,
        };
        let by = model::account::Actor::system();
        store.write_cluster_claim(&by, &write, s.world.now()).await.unwrap().unwrap().rv
    };
    let rv = claimed("id.k8s.io", "alder-main", None).await;
    s.scanner.scan(&s.name, true).await.unwrap();
    let stored =
        || async { store.observation(&s.name, &Vantage::local()).await.unwrap().unwrap().observation };
    assert_eq!(stored().await.cluster.as_deref(), Some("alder-main"));
    let newest = store.snapshots(OrgId::BUILT_IN, &s.name, 1).await.unwrap()[0].id;
    let kept = store.snapshot(OrgId::BUILT_IN, &s.name, newest).await.unwrap();
    let origin = |o: &Observation| (o.cluster.clone(), o.clusterset.clone());
    assert_eq!(origin(&kept.observation), (Some("alder-main".into()), None));
    // Another name of the installation is no change of the domain.
    claimed("id.k8s.io", "alder-west", Some(rv)).await;
    s.later(7);
    s.scanner.scan(&s.name, true).await.unwrap();
    assert_eq!((stored().await.cluster.as_deref(), s.events().await), (Some("alder-west"), vec![]));
    // Nor is that it becomes a member of a set; what is seen from then on carries it, too.
    claimed("clusterset.k8s.io", "alder-fleet", None).await;
    s.later(7);
    s.world_is(Ok(registration("2031-07-06T13:58:57Z")));
    s.scanner.scan(&s.name, true).await.unwrap();
    let both = (Some("alder-west".to_string()), Some("alder-fleet".to_string()));
    assert_eq!(origin(&stored().await), both);
    let events = store.events(OrgId::BUILT_IN, &EventQuery::default()).await.unwrap().events;
    assert!(!events.is_empty() && events.iter().all(|e| (e.cluster.clone(), e.clusterset.clone()) == both));
}
