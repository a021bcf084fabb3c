//! One scan: observe, compare, record. The judgement is in `model`; this is the order of the steps.

use crate::observer::{Elsewhere, Observer, Progress};
use crate::{Clock, Hub, schedule};
use jiff::Timestamp;
use model::base::time::plus;
use model::carry::carry_forward;
use model::confirm::{
    CONFIRM_S, Confirmed, baseline, ceased_servers, confirm, confirm_but_silence, keep_answering,
    silent_servers,
};
use model::detail::RawAnswer;
use model::event::Change;
use model::expiry::{REMINDER_DAYS, remind};
use model::ids::Vantage;
use model::inventory::Row;
use model::item::Item;
use model::judge::{Thresholds, judge};
use model::latency::LatencyHistory;
use model::names::DomainName;
use model::observation::{Observation, PartKind};
use model::ownership::ClaimPolicy;
use model::scan::{ScanResult, Stage, StageResult};
use model::status::StatusKind;
use std::sync::Arc;
use store::{ItemOutcome, Record, ScanGrounds, Store, Versioned};

/// Intervals, thresholds and limits of scans. Times are seconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Between two scheduled scans of a domain.
    pub interval_s: i64,
    /// Scheduled scans read registration data at most this often; near the expiration every scan does.
    pub registration_interval_s: i64,
    /// Registration data younger than this is used from the store even when a person asks.
    pub freshness_s: i64,
    /// Thresholds of the status.
    pub thresholds: Thresholds,
    /// Scans at the same time.
    pub concurrency: usize,
    /// How long what would alarm someone must last before it is an event.
    pub confirm_s: i64,
    /// Days history is kept.
    pub keep_days: u32,
    /// Times of ownership claims.
    pub claims: ClaimPolicy,
    /// Domain below which CNAME challenges point; without one that method is not offered.
    pub claim_suffix: Option<String>,
    /// Days before an expiration at which a reminder is recorded; 0 is the expiration itself.
    pub reminder_days: Vec<i64>,
}

impl Default for Policy {
    fn default() -> Self {
        Policy {
            interval_s: 3600,
            registration_interval_s: 6 * 3600,
            freshness_s: 60,
            thresholds: Thresholds::default(),
            concurrency: 16,
            confirm_s: CONFIRM_S,
            keep_days: 400,
            claims: ClaimPolicy::default(),
            claim_suffix: None,
            reminder_days: REMINDER_DAYS.to_vec(),
        }
    }
}

/// Why a scan was not recorded.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// No one holds the name any more: there is nothing to record.
    #[error("no one holds the name")]
    NotHeld,
    /// The store failed; the job is tried again.
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// A scan and what remains to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scanned {
    /// Its result.
    pub result: ScanResult,
    /// When the registration can be read, where a rate limit delayed it.
    pub again_at: Option<Timestamp>,
    /// False when nothing was observed, and so nothing recorded: all of it waits for a rate limit.
    pub recorded: bool,
    /// Seconds to its next scheduled scan, on average.
    pub interval_s: i64,
    /// True when points of presence are to be asked about it ([`Scanner::sample_places`]).
    pub places_due: bool,
}

/// Scans domains. Cheap to clone.
#[derive(Clone)]
pub struct Scanner {
    /// The store.
    pub store: Arc<dyn Store>,
    /// The observer.
    pub observer: Arc<dyn Observer>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Receives progress for live pages.
    pub hub: Hub,
    /// Intervals, thresholds and limits.
    pub policy: Policy,
}

/// Seconds until a domain is looked at again that showed that our network is down.
const NETWORK_AGAIN_S: i64 = 60;

/// Attempts to record while other workers record the same name.
const CONFLICTS: usize = 5;

struct ProgressReporter<'a> {
    hub: &'a Hub,
    clock: &'a dyn Clock,
    name: &'a DomainName,
}

impl Progress for ProgressReporter<'_> {
    fn started(&self, stage: Stage) {
        self.hub.stage_started(self.name, self.clock.now(), stage);
    }

    fn done(&self, result: StageResult) {
        metrics::histogram!("domainscope_scan_stage_seconds",
            "stage" => result.stage.label(), "outcome" => if result.ok { "ok" } else { "failed" })
        .record(std::time::Duration::from_millis(result.ms).as_secs_f64());
        self.hub.stage_done(self.name, self.clock.now(), result);
    }
}

impl Scanner {
    /// Observes a name, compares with what is stored, records the outcome for every organisation that holds it.
    /// `asked` is true when a person waits for it: registration data is then read afresh.
    ///
    /// # Errors
    /// [`ScanError`]; what the network did not answer is part of a good result.
    pub async fn scan(&self, name: &DomainName, asked: bool) -> Result<ScanResult, ScanError> {
        Ok(self.scan_in_turn(name, asked).await?.result)
    }

    /// The same; says what remains to be done and when.
    ///
    /// # Errors
    /// As [`Scanner::scan`].
    pub async fn scan_in_turn(&self, name: &DomainName, asked: bool) -> Result<Scanned, ScanError> {
        let began = self.clock.now();
        let grounds = self.store.scan_grounds(name).await?;
        if grounds.holdings.is_empty() {
            self.hub.forget(name);
            return Err(ScanError::NotHeld);
        }
        let interval_s = self.plan(grounds.holdings.clone()).interval_s;
        self.hub.started(name, began, &[]);
        let previous = self.stored(name).await?;
        let reporter = ProgressReporter { hub: &self.hub, clock: &*self.clock, name };
        let mut seen = self.observe(name, previous.as_ref(), (asked, interval_s), began, &reporter).await;
        let before = previous.as_ref().map(|p| &p.observation);
        self.note_faults(before, &mut seen.observation, interval_s, began);
        let waits = seen.observation.registration.error.as_ref().and_then(|e| e.retry_at);
        let known = previous.as_ref().and_then(|p| p.observation.registration.error.as_ref()?.retry_at);
        let tried = seen.observation.registration.attempted_at.is_some();
        let again_at = seen.later.or(if tried { waits } else { known });
        let network_at =
            self.hub.own_faults().shows_network_down(name.as_str()).then(|| plus(began, NETWORK_AGAIN_S));
        // A holding that is new needs its row even when nothing new was observed.
        let newly_held =
            grounds.holdings.iter().any(|(i, _)| i.next_scan_at.is_none_or(|at| at <= i.added_at));
        if seen.is_empty() && !newly_held {
            let sentence = "Waiting for the registry's rate limit; nothing else was due".to_string();
            let result = ScanResult { changes: vec![], sentence, failed: false };
            self.hub.finished(name, self.clock.now(), result.clone());
            return Ok(Scanned { result, again_at, recorded: false, interval_s, places_due: false });
        }

        self.hub.stage_started(name, self.clock.now(), Stage::Compare);
        let result = self.record(name, (grounds, previous), seen.observation, seen.raw).await;
        let at = self.clock.now();
        match &result {
            Ok((r, ..)) => {
                let ms = u64::try_from(at.as_millisecond() - began.as_millisecond()).unwrap_or(0);
                metrics::histogram!("domainscope_scan_seconds")
                    .record(std::time::Duration::from_millis(ms).as_secs_f64());
                let words = match r.changes.len() {
                    0 => "nothing differs".to_string(),
                    1 => "1 change".to_string(),
                    n => format!("{n} changes"),
                };
                let done = StageResult { stage: Stage::Compare, ok: true, words, ms: 0 };
                self.hub.stage_done(name, at, done);
                self.hub.recorded();
                self.hub.finished(name, at, r.clone());
            }
            Err(e) => {
                let sentence = format!("The result could not be recorded: {e}");
                self.hub.finished(name, at, ScanResult { changes: vec![], sentence, failed: true });
            }
        }
        let (result, confirm_at, asked_places_at) = result?;
        let again_at = again_at.into_iter().chain(confirm_at).chain(network_at).min();
        let places_due = schedule::places_are_due(name, interval_s, asked_places_at, at);
        Ok(Scanned { result, again_at, recorded: true, interval_s, places_due })
    }

    /// Observes a name that need not be held; records nothing.
    pub async fn look(&self, name: &DomainName, progress: &dyn Progress) -> (Observation, Vec<RawAnswer>) {
        let turn = (true, self.policy.interval_s);
        let seen = self.observe(name, None, turn, self.clock.now(), progress).await;
        (seen.observation, seen.raw)
    }

    pub(crate) async fn stored(&self, name: &DomainName) -> Result<Option<Versioned>, store::Error> {
        self.store.observation(name, &Vantage::local()).await
    }

    /// What the scan read before it looked is read again only when it no longer holds. Returns the result, when to look
    /// again, and when points of presence were asked last.
    async fn record(
        &self,
        name: &DomainName,
        (mut grounds, mut previous): (ScanGrounds, Option<Versioned>),
        seen: Observation,
        raw: Vec<RawAnswer>,
    ) -> Result<(ScanResult, Option<Timestamp>, Option<Timestamp>), ScanError> {
        let failed = failures(&seen);
        let mut elsewhere = None;
        for _ in 0..CONFLICTS {
            let now = self.clock.now();
            let before = previous.as_ref().map(|p| &p.observation);
            let current = self.second_look(before, carry_forward(before, seen.clone()), &mut elsewhere).await;
            let attempted = |part| match part {
                PartKind::Registration => seen.registration.attempted_at,
                PartKind::Delegation => seen.delegation.attempted_at,
                PartKind::Zone => seen.zone.attempted_at,
                PartKind::Dnssec => seen.dnssec.attempted_at,
                PartKind::Certificates => seen.certificates.attempted_at,
            };
            // Another place that saw the silence too says that it is not ours.
            let held_until = before
                .filter(|_| !matches!(elsewhere, Some(Some(_))))
                .and_then(|b| self.hub.own_faults().hold_silence(&ceased_servers(b, &current), now));
            let Confirmed { observation: current, mut changes, look_again_at } = match before {
                Some(b) if held_until.is_some() => {
                    confirm_but_silence(b, current, attempted, self.policy.confirm_s, now)
                }
                Some(b) => confirm(b, current, attempted, self.policy.confirm_s, now),
                None => {
                    Confirmed { observation: baseline(current, now), changes: vec![], look_again_at: None }
                }
            };
            if let Some(before) = before {
                self.hub.own_faults().note_held(before, &mut changes);
            }
            let look_again_at = look_again_at.into_iter().chain(held_until).min();
            let latency = current.delegation.value.as_ref().map(|d| &d.latency);
            let asked_places_at = latency.and_then(LatencyHistory::places_asked_at);
            let waiting = current.pending.iter().filter(|p| p.change.is_some()).count();
            let first = previous.is_none();
            let plan = self.plan(grounds.holdings);
            let next = schedule::next_scan(name, plan.interval_s, now);
            let outcomes: Vec<_> = plan
                .holders
                .into_iter()
                .map(|(item, days)| {
                    self.outcome(Item { next_scan_at: Some(next), ..item }, &days, &current, &changes, now)
                })
                .collect();
            if outcomes.is_empty() {
                self.hub.forget(name);
                return Err(ScanError::NotHeld);
            }
            let record = Record {
                expected_version: previous.as_ref().map_or(0, |p| p.version),
                snapshot: (first || !changes.is_empty())
                    .then(|| changes.iter().map(Change::sentence).collect()),
                observation: Observation {
                    cluster: grounds.cluster,
                    clusterset: grounds.clusterset,
                    ..current
                },
                raw: raw.clone(),
                outcomes,
                at: now,
            };
            match self.store.record(&record).await {
                Ok(_) => {
                    self.review_claims(name, &changes).await;
                    let mut result = ScanResult::new(first, changes, &failed);
                    if waiting > 0 {
                        let n = if waiting == 1 {
                            "1 change is".into()
                        } else {
                            format!("{waiting} changes are")
                        };
                        result.sentence.push_str(&format!("; {n} being confirmed"));
                    }
                    return Ok((result, look_again_at, asked_places_at));
                }
                Err(store::Error::Conflict) => {
                    grounds = self.store.scan_grounds(name).await?;
                    previous = self.stored(name).await?;
                }
                Err(e) => return Err(e.into()),
            }
        }
        Err(store::Error::Conflict.into())
    }

    /// Servers that are silent again are asked from another place. Those that answer there are not dead: the fault is
    /// between here and them. `answer`: what the other place said, which is asked once in a scan.
    async fn second_look(
        &self,
        before: Option<&Observation>,
        mut current: Observation,
        answer: &mut Option<Option<Elsewhere>>,
    ) -> Observation {
        let Some(before) = before else { return current };
        let silent = silent_servers(before, &current);
        if silent.is_empty() {
            return current;
        }
        if answer.is_none() {
            *answer = Some(self.observer.elsewhere(&current.name).await);
        }
        if let Some(seen) = answer.as_ref().and_then(Option::as_ref) {
            tracing::debug!(domain = %current.name, place = seen.place, ?silent, answering = ?seen.answering, "second place");
            keep_answering(before, &mut current, &seen.place, &seen.answering);
        }
        current
    }

    /// What the observation means for one holding.
    fn outcome(
        &self,
        mut item: Item,
        days: &[i64],
        current: &Observation,
        changes: &[Change],
        now: Timestamp,
    ) -> ItemOutcome {
        if changes.iter().any(|c| c.kind.is_registration_change()) {
            item.last_change_at = Some(now);
        }
        if changes.iter().any(|c| c.kind.is_dns_change()) {
            item.last_dns_change_at = Some(now);
        }
        if current.delegation.value.as_ref().is_some_and(|d| d.delegated) {
            item.was_delegated = true;
        }
        // What the time alone makes due waits for a clock that is right.
        let reminder = (!self.is_clock_doubtful())
            .then(|| remind(&mut item, current, days, &self.policy.thresholds, now))
            .flatten();
        let before = item.status.kind;
        let (item, row) = self.judged_for_reminders(item, Some(current), days, now);
        // Unknown says nothing: it was not scanned before.
        let is_told = |before: &StatusKind| *before != item.status.kind && *before != StatusKind::Unknown;
        let status_before = Some(before).filter(is_told);
        let changes = changes.iter().cloned().chain(reminder);
        ItemOutcome { item, row, changes: changes.map(|c| Change { status_before, ..c }).collect() }
    }

    /// Judges a holding again and makes its row.
    pub fn judged(&self, mut item: Item, observation: Option<&Observation>, now: Timestamp) -> (Item, Row) {
        if let Some(o) = observation {
            let now = self.hub.own_faults().believed(now);
            item.status = judge(&item, o, &self.policy.thresholds, now);
        }
        let unicode = model::names::to_unicode(item.name.as_str());
        let row = Row::of(&item, unicode, observation);
        (item, row)
    }
}

/// The parts that could not be read, with the reason.
fn failures(seen: &Observation) -> Vec<(PartKind, String)> {
    PartKind::ALL
        .into_iter()
        .filter_map(|part| seen.error_of(part).map(|e| (part, e.sentence.clone())))
        .collect()
}
