//! Ownership claims as a caller meets them: what is refused and why, quotas, and two organisations that see nothing of
//! each other.

mod support;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use model::configure::{ServiceKind, ServiceSpec};
use model::detail::RawAnswer;
use model::dns::DnssecStatus;
use model::ids::{Caller, OrgId, Role};
use model::item::Ownership;
use model::names::DomainName;
use model::observation::Part;
use model::ownership::decide::MAX_PENDING;
use model::ownership::{Challenge, ExpectedRecord, Method, Observed, Reply, ServerAnswer, Standing, Value};
use model::registration::RegistrationState;
use monitor::observer::Progress;
use monitor::{Clock, DnsParts, Observer, Policy, ServerDate};
use product::{Bounds, Services};
use service::{Backend, ErrorKind};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use store::{Job, JobKind, JobPhase, Priority};
use tokio_util::sync::CancellationToken;

/// Name servers that hold these values, and a clock.
struct World {
    published: Mutex<Vec<String>>,
    now: Mutex<Timestamp>,
    /// What the clocks of registries say.
    dates: Mutex<Vec<ServerDate>>,
}

#[async_trait]
impl Observer for World {
    async fn registration(
        &self,
        _: &DomainName,
        _: Timestamp,
        _: &dyn Progress,
    ) -> (Part<RegistrationState>, Vec<RawAnswer>) {
        (Part::default(), vec![])
    }

    async fn dns(&self, _: &DomainName, _: Timestamp, _: &dyn Progress) -> DnsParts {
        DnsParts::default()
    }

    fn take_server_dates(&self) -> Vec<ServerDate> {
        std::mem::take(&mut self.dates.lock().unwrap())
    }

    async fn ownership(
        &self,
        _: &Challenge,
        _: Method,
        expected: &ExpectedRecord,
        now: Timestamp,
    ) -> Result<Observed, String> {
        let published = self.published.lock().unwrap().clone();
        let values = published.into_iter().map(|text| Value { rtype: expected.rtype.clone(), text });
        let server = ServerAnswer {
            nameserver: "ns1.q7.io".into(),
            address: Some([192, 0, 2, 1].into()),
            serial: Some(1),
            reply: Reply::Records { values: values.collect() },
        };
        Ok(Observed {
            at: now,
            servers: vec![server],
            dnssec: DnssecStatus::Insecure,
            elsewhere: vec![],
            negative_ttl: None,
        })
    }
}

impl Clock for World {
    fn now(&self) -> Timestamp {
        *self.now.lock().unwrap()
    }
}

async fn stage(folder: &tempfile::TempDir) -> (Services, Arc<World>) {
    let now = Mutex::new("2026-11-20T12:00:00Z".parse().unwrap());
    let world = Arc::new(World { published: Mutex::default(), now, dates: Mutex::default() });
    let scanner = support::scans::scanner(folder, world.clone(), world.clone(), Policy::default()).await;
    let dialer = net::Dialer::new(net::Settings::default()).unwrap();
    let bounds = Bounds { a_minute: 0, org_a_minute: 0, ..Bounds::default() };
    let services = support::services(scanner, dialer, bounds);
    (services, world)
}

fn caller(org: i64) -> Caller {
    Caller::new(OrgId(org), "Ann", Role::Member)
}

async fn value(s: &Services, who: &Caller) -> String {
    let claim = s.claim(who, "q7.io").await.unwrap().claim.unwrap();
    claim.claim.challenge.nonce.to_string()
}

async fn standing(s: &Services, who: &Caller) -> Standing {
    s.claim(who, "q7.io").await.unwrap().claim.unwrap().claim.standing()
}

#[tokio::test]
async fn what_can_not_be_claimed_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let (s, _) = stage(&folder).await;
    let ann = caller(1);
    s.add(&ann, "q7.io", Ownership::Owned, &[]).await.unwrap();
    for (name, method, kind, words) in [
        ("co.uk", Method::Txt, ErrorKind::Invalid, "public suffix"),
        ("github.io", Method::Http, ErrorKind::Invalid, "DNS record only"),
        ("other.example", Method::Txt, ErrorKind::NotFound, "not in this inventory"),
        ("q7.io", Method::Cname, ErrorKind::Invalid, "no domain for CNAME"),
        ("not a name", Method::Txt, ErrorKind::Invalid, "not a name"),
    ] {
        let e = s.start_claim(&ann, name, method).await.expect_err(name);
        assert!(e.kind == kind && e.detail.contains(words), "{name}: {e}");
    }
    let suffix = s.start_claim(&ann, "github.io", Method::Txt).await.unwrap();
    assert_eq!(suffix.domain.as_str(), "github.io");
    assert_eq!(s.check_claim(&ann, "q7.io").await.unwrap_err().kind, ErrorKind::NotFound);
    assert_eq!(s.withdraw_claim(&ann, "q7.io").await.unwrap_err().kind, ErrorKind::NotFound);
    assert_eq!(s.claim(&ann, "q7.io").await.unwrap().claim, None);
}

#[tokio::test]
async fn a_claim_is_started_once_checked_and_withdrawn() {
    let folder = tempfile::tempdir().unwrap();
    let (s, world) = stage(&folder).await;
    let ann = caller(1);
    s.add(&ann, "q7.io", Ownership::Owned, &[]).await.unwrap();
    s.start_claim(&ann, "q7.io", Method::Txt).await.unwrap();
    let first = value(&s, &ann).await;
    s.start_claim(&ann, "q7.io", Method::TxtApex).await.unwrap();
    assert_eq!(value(&s, &ann).await, first, "another method keeps the value");
    s.start_claim(&ann, "q7.io", Method::Txt).await.unwrap();
    assert_eq!(
        s.check_claim(&ann, "q7.io").await.unwrap().claim.unwrap().claim.standing(),
        Standing::Pending
    );
    world.published.lock().unwrap().push(first.clone());
    s.check_claim(&ann, "q7.io").await.unwrap();
    assert_eq!(standing(&s, &ann).await, Standing::Verified);
    let page = s.list(&ann, &model::inventory::ListQuery::default()).await.unwrap();
    assert_eq!(page.rows[0].claim, Some(Standing::Verified));
    let below = s.claim(&ann, "www.q7.io").await.unwrap();
    assert_eq!((below.claim, below.covered_by.as_deref()), (None, Some("q7.io")));
    s.withdraw_claim(&ann, "q7.io").await.unwrap();
    s.start_claim(&ann, "q7.io", Method::Txt).await.unwrap();
    assert_ne!(value(&s, &ann).await, first, "a withdrawn value is not used again");
}

#[tokio::test]
async fn organisations_see_nothing_of_each_other_and_a_refused_rival_waits() {
    let folder = tempfile::tempdir().unwrap();
    let (s, world) = stage(&folder).await;
    let (ann, ben) = (caller(1), caller(2));
    for who in [&ann, &ben] {
        s.add(who, "q7.io", Ownership::Owned, &[]).await.unwrap();
        s.start_claim(who, "q7.io", Method::Txt).await.unwrap();
    }
    assert_ne!(value(&s, &ann).await, value(&s, &ben).await);
    let publish = async |who: &Caller| {
        let value = value(&s, who).await;
        world.published.lock().unwrap().push(value);
        s.check_claim(who, "q7.io").await.unwrap();
    };
    publish(&ann).await;
    publish(&ben).await;
    assert_eq!(
        (standing(&s, &ann).await, standing(&s, &ben).await),
        (Standing::Contested, Standing::Waiting)
    );
    let told = s.claim(&ben, "q7.io").await.unwrap().claim.unwrap().claim.meaning();
    assert!(told.contains("Another organisation"), "{told}");
    publish(&ann).await;
    assert_eq!((standing(&s, &ann).await, standing(&s, &ben).await), (Standing::Verified, Standing::Refused));
    let e = s.start_claim(&ben, "q7.io", Method::Txt).await.unwrap_err();
    assert!(e.detail.contains("again from Nov 27, 2026"), "{e}");
    *world.now.lock().unwrap() += SignedDuration::from_hours(7 * 24 + 1);
    s.start_claim(&ben, "q7.io", Method::Txt).await.unwrap();
    assert_eq!(s.claims(&ben).await.unwrap().len(), 1);
}

#[tokio::test]
async fn pending_claims_have_a_quota() {
    let folder = tempfile::tempdir().unwrap();
    let (s, _) = stage(&folder).await;
    let ann = caller(1);
    s.add(&ann, "q7.io", Ownership::Owned, &[]).await.unwrap();
    for n in 0..MAX_PENDING {
        s.start_claim(&ann, &format!("h{n}.q7.io"), Method::Txt).await.unwrap();
    }
    let e = s.start_claim(&ann, "q7.io", Method::Txt).await.unwrap_err();
    assert!(e.detail.contains("at most 100"), "{e}");
    s.withdraw_claim(&ann, "h7.q7.io").await.unwrap();
    s.start_claim(&ann, "q7.io", Method::Txt).await.unwrap();
}

/// Lets every attempt of a job fail until it is suspended.
async fn suspend(s: &Services, kind: JobKind) {
    let (store, mut at) = (&s.scanner.store, s.scanner.clock.now());
    loop {
        at += SignedDuration::from_hours(48);
        let job = store.lease(kind, "test", 1, at).await.unwrap().remove(0);
        if store.fail(&job, "the database was away", at).await.unwrap() == store::Retry::GivenUp {
            return;
        }
    }
}

async fn suspended(s: &Services, kind: JobKind) -> u64 {
    s.scanner.store.queue_stats(kind, s.scanner.clock.now()).await.unwrap().parked
}

#[tokio::test]
async fn suspended_checks_are_shown_and_started_again() {
    let folder = tempfile::tempdir().unwrap();
    let (s, _) = stage(&folder).await;
    let ann = caller(1);
    s.add(&ann, "q7.io", Ownership::Owned, &[]).await.unwrap();
    s.start_claim(&ann, "q7.io", Method::Txt).await.unwrap();
    assert_eq!(s.claim(&ann, "q7.io").await.unwrap().suspended, None);
    suspend(&s, JobKind::Claim).await;
    assert_eq!(suspended(&s, JobKind::Claim).await, 1);
    let why = s.claim(&ann, "q7.io").await.unwrap().suspended.unwrap();
    assert!(
        why.contains("after 5 failed attempts: the database was away.") && why.contains("Check now"),
        "{why}"
    );
    // A look by a person puts it back on the schedule.
    assert_eq!(s.check_claim(&ann, "q7.io").await.unwrap().suspended, None);
    assert_eq!(suspended(&s, JobKind::Claim).await, 0);
    // What is withdrawn counts no longer.
    suspend(&s, JobKind::Claim).await;
    s.withdraw_claim(&ann, "q7.io").await.unwrap();
    assert_eq!(suspended(&s, JobKind::Claim).await, 0);

    let spec = ServiceSpec::new(ServiceKind::Caa, "", [("issuers", "letsencrypt.org")]).unwrap();
    let name = DomainName::trusted("q7.io");
    let kept = s.add_service(&ann, "q7.io", &spec).await.unwrap();
    suspend(&s, JobKind::Service).await;
    let listed = s.services(&ann, &name).await.unwrap();
    assert!(listed[0].error.contains("suspended after 5 failed attempts"), "{}", listed[0].error);
    assert_eq!(suspended(&s, JobKind::Service).await, 1);
    s.remove_service(&ann, &name, &kept.id).await.unwrap();
    assert_eq!(suspended(&s, JobKind::Service).await, 0);
}

/// Scans the domain while two registries say that it is this time.
async fn registries_say(s: &Services, world: &World, time: Timestamp) {
    let date = |host: &str| ServerDate { host: host.into(), date: time, received: Instant::now() };
    *world.dates.lock().unwrap() = vec![date("rdap.one.example"), date("rdap.two.example")];
    s.scanner.scan(&DomainName::trusted("q7.io"), true).await.unwrap();
}

/// By a clock that is a year fast every deadline has passed: nothing begins, is proven or lapses, and the person reads why.
#[tokio::test]
async fn while_the_clock_is_wrong_claims_stay_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let (s, world) = stage(&folder).await;
    let ann = caller(1);
    s.add(&ann, "q7.io", Ownership::Owned, &[]).await.unwrap();
    s.start_claim(&ann, "q7.io", Method::Txt).await.unwrap();
    let before = s.claim(&ann, "q7.io").await.unwrap().claim.unwrap();
    let right = *world.now.lock().unwrap();
    *world.now.lock().unwrap() += SignedDuration::from_hours(365 * 24);
    registries_say(&s, &world, right).await;

    let e = s.check_claim(&ann, "q7.io").await.unwrap_err();
    assert_eq!(e.kind, ErrorKind::Unavailable);
    assert!(e.detail.contains("clock of this server") && e.detail.contains("stays as it is"), "{e}");
    let e = s.start_claim(&ann, "below.q7.io", Method::Txt).await.unwrap_err();
    assert!(e.detail.contains("not started") && e.detail.contains("clock"), "{e}");

    // Nor does the check that a change of the registration asks for, which waits and stays asked for.
    let store = &s.scanner.store;
    let job = Job::Claim(before.id.clone());
    store.enqueue(&[(job.clone(), s.scanner.clock.now())], Priority::Requested).await.unwrap();
    let stop = CancellationToken::new();
    let (worker, stopped) = (s.worker.clone(), stop.clone());
    let running = tokio::spawn(async move { worker.run(stopped).await });
    let later = s.scanner.clock.now() + SignedDuration::from_mins(5);
    let due = async || {
        let states = store.job_states(JobKind::Claim, vec![before.id.clone()]).await.unwrap();
        states.into_iter().next().map(|s| (s.phase, s.priority))
    };
    let begin = Instant::now();
    while due().await != Some((JobPhase::Waiting { run_at: later }, Priority::Requested)) {
        assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", due().await);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    stop.cancel();
    running.await.unwrap();
    assert_eq!(s.claim(&ann, "q7.io").await.unwrap().claim.unwrap(), before);

    // The clock is set.
    *world.now.lock().unwrap() = right;
    registries_say(&s, &world, right).await;
    world.published.lock().unwrap().push(before.claim.challenge.nonce.to_string());
    s.check_claim(&ann, "q7.io").await.unwrap();
    assert_eq!(standing(&s, &ann).await, Standing::Verified);
}
