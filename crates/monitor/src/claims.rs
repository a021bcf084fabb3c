//! Checks of ownership claims (SPEC section 7). In: a claim that is due. Out: a round of questions to every authoritative
//! server, judged by `model::ownership`, written with what it means for the claims of other organisations to the name.

use crate::Scanner;
use crate::worker::{Worker, panic_message};
use futures::FutureExt;
use jiff::Timestamp;
use model::event::{Change, EventKind, EventQuery};
use model::names::{DomainName, Fqdn};
use model::ownership::claim::ContestReason;
use model::ownership::{Claim, ExpectedRecord, Nonce, Observed, Reply, Round, ServerAnswer, decide};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use store::{ClaimWrite, Job, JobKind, LeasedJob, Priority, StoredClaim};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Checks of one process at the same time.
const AT_ONCE: usize = 4;
/// Between two looks at the queue.
const TICK: Duration = Duration::from_millis(500);
/// Attempts to write while other checks of the same name write.
const CONFLICTS: usize = 5;
/// A scheduled check that comes earlier than due by more than this waits: a person had one made meanwhile.
const EARLY_S: i64 = 2;

/// How long a check waits while the clock is not right.
const CLOCK_DOUBTFUL_S: i64 = 5 * 60;

/// Changes of a registration after which a verified claim must be proven again.
const REOPENING: [EventKind; 3] =
    [EventKind::CreationChanged, EventKind::RegistrarChanged, EventKind::Registered];

/// What came of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Checked {
    /// The claim was withdrawn, or the domain is no longer in the organisation's inventory.
    Gone,
    /// The claim as it stands now.
    Stands(Box<StoredClaim>),
}

/// A fresh nonce from the cryptographic generator of the process.
pub fn nonce() -> Nonce {
    Nonce::new(rand::random())
}

impl Scanner {
    /// Asks the authoritative servers for a claim's record and writes what follows.
    ///
    /// # Errors
    /// What the store says; servers that fail are part of the round.
    pub async fn check_claim(&self, id: &str) -> Result<Checked, store::Error> {
        let Some(stored) = self.store.claim_of_id(id).await? else { return Ok(Checked::Gone) };
        if stored.claim.is_over() {
            return Ok(Checked::Stands(Box::new(stored)));
        }
        if !self.is_held(&stored).await? {
            self.store.remove_claim(stored.org, &stored.name, self.clock.now()).await?;
            self.hub.recorded();
            return Ok(Checked::Gone);
        }
        if let Some(reopened) = self.reopened(&stored).await? {
            return Ok(Checked::Stands(Box::new(reopened)));
        }
        let round = self.round(&stored).await;
        for _ in 0..CONFLICTS {
            let now = self.clock.now();
            let claims = self.store.claims_to(&stored.name).await?;
            let Some(own) = claims.iter().position(|c| c.id == stored.id) else { return Ok(Checked::Gone) };
            let same = |a: &Claim, b: &Claim| (&a.challenge, a.method) == (&b.challenge, b.method);
            // Another challenge or method meanwhile: the round says nothing about it.
            if !same(&claims[own].claim, &stored.claim) {
                return Ok(Checked::Stands(Box::new(claims[own].clone())));
            }
            let states: Vec<Claim> = claims.iter().map(|c| c.claim.clone()).collect();
            let policy = &self.policy.claims;
            let mut writes = Vec::new();
            for one in decide(&states, own, round.outcome, now, policy, &mut nonce) {
                let mut claim = StoredClaim { claim: one.claim, ..claims[one.index].clone() };
                if one.index == own {
                    claim.round = Some(round.clone());
                }
                let changes = one.event.map(|event| event.change(&shown(&claim.name), &claim.claim));
                writes.push(ClaimWrite { claim, changes: changes.into_iter().collect() });
            }
            match self.store.write_claims(&writes, now).await {
                Ok(()) => {
                    self.hub.recorded();
                    metrics::counter!("domainscope_claim_checks_total", "outcome" => word(&round))
                        .increment(1);
                    let own = writes.into_iter().next().map_or(stored, |w| w.claim);
                    return Ok(Checked::Stands(Box::new(own)));
                }
                Err(store::Error::Conflict) => {}
                Err(e) => return Err(e),
            }
        }
        Err(store::Error::Conflict)
    }

    /// Whether the organisation still has the domain in its inventory. A public suffix is in none.
    async fn is_held(&self, claim: &StoredClaim) -> Result<bool, store::Error> {
        let Some(domain) = Fqdn::trusted(&claim.name).registrable() else { return Ok(true) };
        Ok(!self.store.held(claim.org, &[domain]).await?.is_empty())
    }

    /// The claim with a new challenge, when the domain was registered again or moved to another registrar since it was
    /// looked at last.
    async fn reopened(&self, stored: &StoredClaim) -> Result<Option<StoredClaim>, store::Error> {
        if !stored.claim.counts() {
            return Ok(None);
        }
        let query = EventQuery {
            domain: Some(stored.domain()),
            kinds: REOPENING.to_vec(),
            page: 1,
            per_page: 1,
            ..EventQuery::default()
        };
        let newest = self.store.events(stored.org, &query).await?.events.into_iter().next();
        let Some(event) = newest.filter(|e| e.at > stored.reviewed_at) else { return Ok(None) };
        let reason = match event.change.kind {
            EventKind::RegistrarChanged => ContestReason::RegistrarChanged,
            _ => ContestReason::CreationChanged,
        };
        let now = self.clock.now();
        let (claim, happened) = stored.claim.clone().contest(reason, nonce(), now, &self.policy.claims);
        let changes = happened.map(|event| event.change(&shown(&stored.name), &claim));
        let reopened = StoredClaim { claim, reviewed_at: event.at, ..stored.clone() };
        let write = ClaimWrite { claim: reopened.clone(), changes: changes.into_iter().collect() };
        self.store.write_claims(&[write], now).await?;
        self.hub.recorded();
        Ok(happened.is_some().then_some(reopened))
    }

    async fn round(&self, stored: &StoredClaim) -> Round {
        let (challenge, method, now) = (&stored.claim.challenge, stored.claim.method, self.clock.now());
        let suffix = self.policy.claim_suffix.as_deref();
        let nothing = |reason: String| Observed {
            at: now,
            servers: vec![ServerAnswer {
                nameserver: challenge.domain.clone(),
                address: None,
                serial: None,
                reply: Reply::Unusable { reason },
            }],
            dnssec: model::dns::DnssecStatus::Insecure,
            elsewhere: Vec::new(),
            negative_ttl: None,
        };
        let Some(expected) = challenge.expected(method, suffix, &stored.id) else {
            let reason = "this installation has no domain for CNAME challenges any more".to_string();
            let none = ExpectedRecord {
                name: challenge.domain.clone(),
                rtype: "CNAME".into(),
                value: String::new(),
            };
            return Round::judge(challenge, method, &none, nothing(reason));
        };
        let seen = self.observer.ownership(challenge, method, &expected, now).await.unwrap_or_else(nothing);
        Round::judge(challenge, method, &expected, seen)
    }

    /// After a change of the registration, verified claims are checked now rather than with the next round.
    pub(crate) async fn review_claims(&self, name: &DomainName, changes: &[Change]) {
        if !changes.iter().any(|c| REOPENING.contains(&c.kind)) {
            return;
        }
        let now = self.clock.now();
        let queued = async {
            let claims = self.store.claims_of_domain(name).await?;
            let jobs: Vec<_> =
                claims.into_iter().filter(|c| c.claim.counts()).map(|c| (Job::Claim(c.id), now)).collect();
            self.store.enqueue(&jobs, Priority::Requested).await
        };
        if let Err(e) = queued.await {
            tracing::warn!(domain = %name, error = %e, "claims are reviewed with their next check");
        }
    }
}

fn shown(name: &str) -> String {
    model::names::to_unicode(name)
}

/// A word for metrics.
fn word(round: &Round) -> &'static str {
    use model::ownership::Outcome::{
        Bogus, Denied, DeniedByFew, Indeterminate, Mixed, NoAnswer, Proven, ProvenByFew,
    };
    match round.outcome {
        Proven => "proven",
        ProvenByFew => "proven_by_few",
        Denied => "denied",
        DeniedByFew => "denied_by_few",
        Mixed => "mixed",
        NoAnswer => "no_answer",
        Bogus => "bogus",
        Indeterminate => "indeterminate",
    }
}

/// Leases checks that are due until cancelled.
pub(crate) async fn run(worker: Worker, stop: CancellationToken, tasks: TaskTracker) {
    let slots = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        let scanner = &worker.scanner;
        let free = u32::try_from(slots.available_permits()).unwrap_or(0);
        let leased = match free {
            0 => Ok(Vec::new()),
            _ => scanner.store.lease(JobKind::Claim, &worker.name, free, scanner.clock.now()).await,
        };
        let jobs = leased.unwrap_or_else(|e| {
            tracing::warn!(error = %e, "the queue of claims can't be read; trying again");
            Vec::new()
        });
        for job in jobs {
            let Ok(slot) = slots.clone().acquire_owned().await else { return };
            let (worker, stop) = (worker.clone(), stop.clone());
            tasks.spawn(async move {
                tokio::select! {
                    () = one(&worker.scanner, &job) => {}
                    () = stop.cancelled() => {
                        let _ = worker.scanner.store.release(&job, worker.scanner.clock.now()).await;
                    }
                }
                drop(slot);
            });
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(TICK) => {}
        }
    }
}

async fn one(scanner: &Scanner, job: &LeasedJob) {
    let Job::Claim(id) = &job.job else { return };
    let work = AssertUnwindSafe(due_check(scanner, job, id)).catch_unwind();
    let deadline = JobKind::Claim.policy().deadline;
    let next = match tokio::time::timeout(deadline, work).await {
        Ok(Ok(Ok(next))) => next,
        Ok(Ok(Err(e))) => {
            return failed(scanner, job, &format!("the result could not be written: {e}")).await;
        }
        Ok(Err(panic)) => return failed(scanner, job, &panic_message(&*panic)).await,
        Err(_) => {
            return failed(scanner, job, &format!("it took longer than {} s", deadline.as_secs())).await;
        }
    };
    if let Err(e) = scanner.store.complete(job, next, None, scanner.clock.now()).await {
        tracing::warn!(error = %e, "a finished claim check could not be taken off the queue");
    }
}

/// Makes the check unless another one was made meanwhile; when the next one is.
async fn due_check(scanner: &Scanner, job: &LeasedJob, id: &str) -> Result<Option<Timestamp>, store::Error> {
    if job.priority == Priority::Scheduled
        && let Some(stored) = scanner.store.claim_of_id(id).await?
        && let Some(at) = stored.claim.next_check_at
        && at.as_second() > scanner.clock.now().as_second() + EARLY_S
    {
        return Ok(Some(at));
    }
    // A claim must not lapse by a clock that is wrong, nor must its holder be challenged with a deadline of that clock.
    if scanner.is_clock_doubtful() {
        let later = model::time::plus(scanner.clock.now(), CLOCK_DOUBTFUL_S);
        // What was asked for stays so: as a scheduled one it would wait for its turn.
        if job.priority == Priority::Requested {
            scanner.store.enqueue(&[(job.job.clone(), later)], job.priority).await?;
        }
        return Ok(Some(later));
    }
    Ok(match scanner.check_claim(id).await? {
        Checked::Gone => None,
        Checked::Stands(claim) => claim.claim.next_check_at,
    })
}

async fn failed(scanner: &Scanner, job: &LeasedJob, reason: &str) {
    metrics::counter!("domainscope_claim_checks_total", "outcome" => "failed").increment(1);
    match scanner.store.fail(job, reason, scanner.clock.now()).await {
        Ok(store::Retry::GivenUp) => {
            tracing::error!(attempt = job.attempt, reason, "checks of a claim are suspended");
        }
        Ok(_) => tracing::warn!(attempt = job.attempt, reason, "a claim check failed; it is tried again"),
        Err(e) => tracing::warn!(reason, error = %e, "a claim check failed and its lease will run out"),
    }
}
