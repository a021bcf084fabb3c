//! The analysis tools behind pages, REST and live streams: scan, trace, check, comparison, watch, FQDN analyzer. In: a caller and what was
//! typed. Out: types of the model, or an error.

use super::{Bounds, Limits, Services, ToolPermit, Work, query_error, unavailable};
use crate::configure::Inspector;
use crate::fleet::ThirdParties;
use dns::compare::{Asking, Comparer, Watch};
use dns::fqdn::{Here, Vantage as Place, analyze};
use model::compare::{CompareEvent, Comparison, Earlier, EndKind, Ended};
use model::dns::Trace;
use model::fqdn::FqdnReport;
use model::ids::{Caller, Vantage};
use model::names::{DomainName, Fqdn};
use model::observation::Observation;
use monitor::Observer;
use monitor::observer::{NoProgress, cause_at_registry};
use service::policy::{Action, authorize};
use service::{ApiError, ApiResult, CheckOutcome, ScanReport};
use std::sync::Arc;

/// Kept states that are read for values a name had before.
const STATES_READ: usize = 10;

/// What the tools need beyond the engine. Cheap to clone.
#[derive(Clone)]
pub struct Tools {
    /// Compares authoritative servers and resolvers.
    pub comparer: Comparer,
    /// What callers may set in motion.
    pub limits: Limits,
    /// Looks at services.
    pub inspector: Inspector,
    /// Measurement networks of third parties, where there are any.
    pub third_parties: Option<ThirdParties>,
}

impl Tools {
    /// With this comparer, these bounds and this inspector.
    pub fn new(comparer: Comparer, bounds: Bounds, inspector: Inspector) -> Self {
        Tools { comparer, limits: Limits::new(bounds), inspector, third_parties: None }
    }

    /// The same with measurement networks of third parties.
    #[must_use]
    pub fn with_third_parties(self, parties: ThirdParties) -> Self {
        Tools { third_parties: Some(parties), ..self }
    }
}

/// A comparison under way: see [`Services::live_comparison`].
pub struct LiveComparison {
    observer: Arc<dyn Observer>,
    comparer: Comparer,
    asking: Asking,
    watch: Option<Watch>,
    _permit: ToolPermit,
}

impl LiveComparison {
    /// Runs to the end; the last event is [`CompareEvent::End`].
    pub async fn run(self, report: &mut (dyn FnMut(CompareEvent) + Send)) {
        let failed = match &self.watch {
            // A watch reports its own end.
            Some(watch) => self.comparer.watch(&self.asking, watch, report).await.err(),
            None => match self.comparer.run(&self.asking, report).await {
                Ok(mut done) => {
                    if wants_registration(&done) {
                        let cause =
                            cause_at_registry(self.observer.as_ref(), &self.asking.name, done.now).await;
                        done = done.because(cause);
                        // The reader replaces what it was told before.
                        report(CompareEvent::Authority(Box::new(done.clone())));
                        report(CompareEvent::Summary(done.summary.clone()));
                    }
                    let sentence = done.summary.sentence;
                    report(CompareEvent::End(Ended { kind: EndKind::Done, sentence }));
                    None
                }
                Err(e) => Some(e),
            },
        };
        if let Some(e) = failed {
            report(CompareEvent::End(Ended { kind: EndKind::Failed, sentence: e.to_string() }));
        }
    }
}

/// Where nothing was compared and the answers show no cause, the registration may say why.
fn wants_registration(done: &Comparison) -> bool {
    done.stopped.is_some() && done.authority.cause.is_none()
}

fn invalid(e: &dyn std::fmt::Display) -> ApiError {
    ApiError::invalid(e.to_string())
}

impl Services {
    /// What is to be compared, with the values the inventory knows of from before.
    ///
    /// # Errors
    /// `Invalid` for what is not a name or not a type, `Forbidden`, `Unavailable` when the store fails.
    async fn question(&self, caller: &Caller, name: &str, rtype: &str, force: bool) -> ApiResult<Asking> {
        let name = Fqdn::read(name).map_err(|e| invalid(&e))?.name;
        let rtype = if rtype.trim().is_empty() { "A" } else { rtype.trim() };
        dns::known_type(rtype).map_err(|e| query_error(&e))?;
        let mut asking = Asking::new(name, rtype);
        asking.force = force;
        asking.earlier = self.earlier(caller, &asking).await?;
        Ok(asking)
    }

    /// Values that kept states of the caller's inventory show for the name.
    async fn earlier(&self, caller: &Caller, asking: &Asking) -> ApiResult<Earlier> {
        let mut earlier = Earlier::default();
        let Some(domain) = asking.name.registrable() else { return Ok(earlier) };
        if self.store().item(caller.org, &domain).await.map_err(unavailable)?.is_none() {
            return Ok(earlier);
        }
        let mut take = |o: &Observation| {
            for set in o.zone.value.iter().flat_map(|z| &z.rrsets) {
                let same = set.name == asking.name.as_str() && set.rtype == asking.rtype;
                if same && !earlier.values.contains(&set.data) {
                    earlier.values.push(set.data.clone());
                }
            }
        };
        if let Some(now) = self.store().observation(&domain, &Vantage::local()).await.map_err(unavailable)? {
            take(&now.observation);
        }
        let kept =
            self.store().snapshots(caller.org, &domain, STATES_READ as u32).await.map_err(unavailable)?;
        for meta in kept {
            take(
                &self.store().snapshot(caller.org, &domain, meta.id).await.map_err(unavailable)?.observation,
            );
        }
        Ok(earlier)
    }

    /// A comparison, or with `watch` one that repeats until the record is everywhere, that reports each step. It holds its
    /// permit from here on.
    ///
    /// # Errors
    /// As [`Services::question`], and `TooManyRequests` or `Unavailable` where the limits refuse.
    pub async fn live_comparison(
        &self,
        caller: &Caller,
        (name, rtype, force): (&str, &str, bool),
        watch: Option<Watch>,
    ) -> ApiResult<LiveComparison> {
        authorize(caller, Action::Compare)?;
        if caller.visitor.is_some() && watch.is_some() {
            // A watch holds its permit for half an hour.
            return Err(ApiError::sign_in_required("Sign in to watch a record until it is everywhere."));
        }
        let asking = self.question(caller, name, rtype, force).await?;
        let work = if watch.is_some() { Work::Watch } else { Work::Compare };
        let permit = self.enter(caller, work).await?;
        let s = self.asking_for(caller)?;
        let (observer, comparer) = (s.scanner.observer.clone(), s.tools.comparer.clone());
        Ok(LiveComparison { observer, comparer, asking, watch, _permit: permit })
    }

    /// Looks at a domain as a scan does, and stores nothing.
    pub(super) async fn tool_scan(&self, caller: &Caller, input: &str) -> ApiResult<ScanReport> {
        let understood = DomainName::read(input).map_err(|e| ApiError::invalid(e.to_string()))?;
        let name = understood.name;
        let _permit = self.enter(caller, Work::Scan).await?;
        let (mut observation, raw) = self.asking_for(caller)?.scanner.look(&name, &NoProgress).await;
        let mut address_space = Vec::new();
        // A visitor has no organisation whose registry it could see.
        if caller.visitor.is_none() {
            let placed = crate::place_addresses(&**self.store(), caller.org, &observation).await;
            let placed = placed.map_err(unavailable)?;
            observation.findings.extend(placed.iter().filter_map(|p| p.finding(name.as_str())));
            address_space = placed.into_iter().map(Into::into).collect();
        }
        let in_inventory = self.store().item(caller.org, &name).await.map_err(unavailable)?.is_some();
        Ok(ScanReport {
            unicode: name.unicode(),
            name,
            note: understood.note,
            observation,
            raw,
            address_space,
            in_inventory,
            now: self.now(),
        })
    }

    /// Follows the delegations of a name.
    pub(super) async fn tool_trace(&self, caller: &Caller, name: &str, rtype: &str) -> ApiResult<Trace> {
        let name = Fqdn::read(name).map_err(|e| ApiError::invalid(e.to_string()))?.name;
        dns::known_type(rtype).map_err(|e| query_error(&e))?;
        let _permit = self.enter(caller, Work::Trace).await?;
        let mut trace =
            self.asking_for(caller)?.engine.trace(&name, rtype).await.map_err(|e| query_error(&e))?;
        if caller.visitor.is_none() {
            crate::place_trace(&**self.store(), caller.org, &mut trace).await.map_err(unavailable)?;
        }
        Ok(trace)
    }

    /// Checks a zone, also as it would be with other servers or keys.
    pub(super) async fn tool_check(
        &self,
        caller: &Caller,
        zone: &str,
        ns: &[String],
        ds: &[String],
    ) -> ApiResult<CheckOutcome> {
        let zone = Fqdn::read(zone).map_err(|e| ApiError::invalid(e.to_string()))?.name;
        let now = self.now();
        let mut options = dns::checks::CheckOptions::new(now);
        crate::undelegated::read(&mut options, ns, ds).map_err(ApiError::invalid)?;
        let _permit = self.enter(caller, Work::Check).await?;
        let asking = self.asking_for(caller)?;
        let before_a_move = !options.undelegated_ns.is_empty() || !options.undelegated_ds.is_empty();
        let report = asking.engine.check(zone.as_str(), &options).await.map_err(|e| query_error(&e))?;
        let cause = match report.findings.iter().any(|f| f.tag == "B02_NO_DELEGATION") {
            true => cause_at_registry(asking.scanner.observer.as_ref(), &zone, now).await,
            false => None,
        };
        Ok(CheckOutcome {
            cause,
            zone: report.zone,
            before_a_move,
            findings: report.findings,
            test_cases: report.test_cases,
            queries: report.queries,
            elapsed_ms: report.elapsed_ms,
            notes: report.notes,
            now,
        })
    }

    pub(super) async fn tool_authority(
        &self,
        caller: &Caller,
        name: &str,
        rtype: &str,
    ) -> ApiResult<Comparison> {
        let asking = self.question(caller, name, rtype, false).await?;
        let _permit = self.enter(caller, Work::Authority).await?;
        let s = self.asking_for(caller)?;
        let started = s.tools.comparer.start(&asking).await.map_err(|e| query_error(&e))?;
        self.placed(caller, s.with_cause(started, &asking.name).await).await
    }

    pub(super) async fn tool_compare(
        &self,
        caller: &Caller,
        name: &str,
        rtype: &str,
        force: bool,
    ) -> ApiResult<Comparison> {
        let asking = self.question(caller, name, rtype, force).await?;
        let _permit = self.enter(caller, Work::Compare).await?;
        let s = self.asking_for(caller)?;
        let done = s.tools.comparer.run(&asking, &mut |_| ()).await.map_err(|e| query_error(&e))?;
        self.placed(caller, s.with_cause(done, &asking.name).await).await
    }

    /// With the claims that cover the addresses, which are no visitor's business.
    async fn placed(&self, caller: &Caller, mut done: Comparison) -> ApiResult<Comparison> {
        if caller.visitor.is_none() {
            crate::place_comparison(&**self.store(), caller.org, &mut done).await.map_err(unavailable)?;
        }
        Ok(done)
    }

    async fn with_cause(&self, done: Comparison, name: &Fqdn) -> Comparison {
        if !wants_registration(&done) {
            return done;
        }
        done.because(cause_at_registry(self.scanner.observer.as_ref(), name, self.now()).await)
    }

    pub(super) async fn tool_fqdn(&self, caller: &Caller, name: &str) -> ApiResult<FqdnReport> {
        let name = Fqdn::read(name).map_err(|e| invalid(&e))?.name;
        let _permit = self.enter(caller, Work::Analysis).await?;
        let s = self.asking_for(caller)?;
        let here: Arc<dyn Place> = Arc::new(Here::new(s.engine.clone()));
        let mut places = vec![here];
        if caller.visitor.is_none() {
            // Points of presence may stand in private networks, and say where the operator's are.
            places.extend(self.remote_places().await);
        }
        let mut report = analyze(&name, &places, self.now()).await;
        if caller.visitor.is_none() {
            crate::place_report(&**self.store(), caller.org, &mut report).await.map_err(unavailable)?;
        }
        if !report.wants_registration() {
            return Ok(report);
        }
        Ok(report.because(cause_at_registry(s.scanner.observer.as_ref(), &name, self.now()).await))
    }
}
