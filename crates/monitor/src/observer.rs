//! The observer: registration client and DNS engine behind one trait, the only place where the path uses the network.

use crate::faults::ROOT_INVALID;
use async_trait::async_trait;
use jiff::Timestamp;
use model::certificate::hosts::Certificates;
use model::detail::RawAnswer;
use model::dns::{Delegation, Dnssec, DnssecStatus, ServerHealth, ServerSet, ZoneSnapshot};
use model::finding::Finding;
use model::latency::PlaceLooks;
use model::names::{DomainName, Fqdn};
use model::observation::{Part, PartError};
use model::ownership::{Challenge, ExpectedRecord, Method, Observed};
use model::registration::{Party, RegistrationState};
use model::scan::{Stage, StageResult};
use model::web_places::WebAnswer;
use registration::{Pace, ServerDate};
use std::sync::Arc;
use std::time::Instant;

/// The parts of an observation that come from the DNS.
#[derive(Debug, Clone, Default)]
pub struct DnsParts {
    /// NS sets and name servers.
    pub delegation: Part<Delegation>,
    /// Records.
    pub zone: Part<ZoneSnapshot>,
    /// Chain of trust.
    pub dnssec: Part<Dnssec>,
    /// What the checks noticed.
    pub findings: Vec<Finding>,
}

/// Receives the progress of a scan.
pub trait Progress: Send + Sync {
    /// A stage begins.
    fn started(&self, stage: Stage);
    /// A stage ended.
    fn done(&self, result: StageResult);
}

/// Ignores progress.
#[derive(Debug, Clone, Copy)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn started(&self, _: Stage) {}
    fn done(&self, _: StageResult) {}
}

/// Result of a scheduled look-up of the registration.
#[derive(Debug, Clone, Default)]
pub struct InTurn {
    /// The registration, or the error; its `retry_at` says when to try again.
    pub part: Part<RegistrationState>,
    /// The answers as they came.
    pub raw: Vec<RawAnswer>,
    /// True when our own rate limit delayed it and no server was asked: that is no failure.
    pub later: bool,
}

/// What another place sees of the servers of a zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Elsewhere {
    /// The place, as people know it.
    pub place: String,
    /// Servers that answer there with authority: name and address, as events name them.
    pub answering: Vec<String>,
}

/// What points of presence measured, with the use of their feature that it came by: while that is held, turning the feature
/// off waits, so that nothing is stored after its data were deleted.
#[derive(Debug)]
pub struct PlaceAnswers {
    /// One look of each place.
    pub looks: PlaceLooks,
    /// Held until the looks are stored; `None` where nothing turns them off.
    pub held: Option<features::Use>,
}

/// Other places to look from.
#[async_trait]
pub trait SecondPlace: Send + Sync + 'static {
    /// Asks the authoritative servers of a domain from one of them; `None` when none is connected or it does not answer.
    async fn answering(&self, name: &DomainName) -> Option<Elsewhere>;

    /// How fast the authoritative servers of a domain answer at each of them; `None` when none is connected or answers.
    async fn latencies(&self, name: &DomainName) -> Option<PlaceAnswers>;
}

/// Observes a name. Never fails as a whole: a part that could not be read carries its error.
#[async_trait]
pub trait Observer: Send + Sync + 'static {
    /// Registration data, with the raw answers.
    async fn registration(
        &self,
        name: &DomainName,
        now: Timestamp,
        progress: &dyn Progress,
    ) -> (Part<RegistrationState>, Vec<RawAnswer>);

    /// The same for the schedule: where a rate limit delays it, it returns at once and says when to try again.
    async fn registration_in_turn(
        &self,
        name: &DomainName,
        now: Timestamp,
        progress: &dyn Progress,
    ) -> InTurn {
        let (part, raw) = self.registration(name, now, progress).await;
        InTurn { part, raw, later: false }
    }

    /// The same by WHOIS alone, for a name that the registry's RDAP server denies; `None` where it can't be asked. `asked`: a
    /// person waits for it.
    async fn registration_by_whois(
        &self,
        name: &DomainName,
        now: Timestamp,
        asked: bool,
    ) -> Option<(Part<RegistrationState>, Vec<RawAnswer>)> {
        let _ = (name, now, asked);
        None
    }

    /// Delegation, zone, DNSSEC and findings.
    async fn dns(&self, name: &DomainName, now: Timestamp, progress: &dyn Progress) -> DnsParts;

    /// Record sets (`www.example.com A`) as each authoritative server has them.
    async fn record_sets(&self, name: &DomainName, d: &Delegation, fields: &[String]) -> Vec<ServerSet> {
        let _ = (name, d, fields);
        Vec::new()
    }

    /// Certificates of the domain's own host names that have addresses in the zone.
    async fn certificates(
        &self,
        name: &DomainName,
        zone: &ZoneSnapshot,
        now: Timestamp,
        progress: &dyn Progress,
    ) -> Part<Certificates> {
        let _ = (name, zone, now, progress);
        Part::default()
    }

    /// What another place sees of the domain's servers, if there is one: asked before a server counts as dead.
    async fn elsewhere(&self, name: &DomainName) -> Option<Elsewhere> {
        let _ = name;
        None
    }

    /// How fast the domain's servers answer at each point of presence, if there are any.
    async fn place_latencies(&self, name: &DomainName) -> Option<PlaceAnswers> {
        let _ = name;
        None
    }

    /// What the clocks of the servers say that answered since the last call: our own may be wrong.
    fn take_server_dates(&self) -> Vec<ServerDate> {
        Vec::new()
    }

    /// What a web server answers at a path over HTTPS and HTTP.
    ///
    /// # Errors
    /// Why nothing could be asked, in a sentence.
    async fn web(&self, host: &Fqdn, path: &str, now: Timestamp) -> Result<WebAnswer, String> {
        let _ = (host, path, now);
        Err("Web servers can't be asked here.".into())
    }

    /// What is published for an ownership challenge: by every address of every authoritative server, or for
    /// [`Method::Http`] by the web server.
    ///
    /// # Errors
    /// Why nothing could be asked, in a sentence.
    async fn ownership(
        &self,
        challenge: &Challenge,
        method: Method,
        expected: &ExpectedRecord,
        now: Timestamp,
    ) -> Result<Observed, String> {
        let _ = (challenge, method, expected, now);
        Err("Ownership challenges can't be read here.".into())
    }
}

/// Why the registry takes a name off the net, looked up for names that do not resolve; `None` where the registration
/// explains nothing or cannot be read.
pub async fn cause_at_registry(
    observer: &dyn Observer,
    name: &Fqdn,
    now: Timestamp,
) -> Option<model::cause::Cause> {
    let domain = name.registrable()?;
    let (part, _) = observer.registration(&domain, now, &NoProgress).await;
    model::cause::Cause::of_registration(domain.as_str(), part.value.as_ref()?)
}

/// The observer of the network that the settings describe.
pub struct NetworkObserver {
    /// RDAP and WHOIS.
    pub client: registration::Client,
    /// The DNS engine.
    pub engine: dns::Engine,
    /// Connections to web servers: guarded, and host names resolved by the DNS engine.
    pub web: net::Dialer,
    /// Another place to look from.
    pub second: Option<Arc<dyn SecondPlace>>,
}

fn failed<T>(now: Timestamp, label: &str, sentence: String) -> Part<T> {
    let error = PartError { label: label.into(), sentence, retry_at: None };
    Part { attempted_at: Some(now), error: Some(error), ..Part::default() }
}

#[async_trait]
impl Observer for NetworkObserver {
    async fn registration(
        &self,
        name: &DomainName,
        now: Timestamp,
        progress: &dyn Progress,
    ) -> (Part<RegistrationState>, Vec<RawAnswer>) {
        let seen = look_up(&self.client, name, now, Pace::Asked, progress).await;
        (seen.part, seen.raw)
    }

    async fn registration_in_turn(
        &self,
        name: &DomainName,
        now: Timestamp,
        progress: &dyn Progress,
    ) -> InTurn {
        look_up(&self.client, name, now, Pace::Scheduled, progress).await
    }

    async fn registration_by_whois(
        &self,
        name: &DomainName,
        now: Timestamp,
        asked: bool,
    ) -> Option<(Part<RegistrationState>, Vec<RawAnswer>)> {
        let pace = if asked { Pace::Asked } else { Pace::Scheduled };
        let found = self.client.whois_at(name, now, pace).await;
        let state = found
            .outcome
            .inspect_err(
                |e| tracing::debug!(domain = %name, error = %e.sentence, "WHOIS was asked beside RDAP"),
            )
            .ok()?;
        let source = source_of(&state, &found.raw);
        Some((Part::good(state, now, source), found.raw))
    }

    async fn dns(&self, name: &DomainName, now: Timestamp, progress: &dyn Progress) -> DnsParts {
        progress.started(Stage::Delegation);
        let began = Instant::now();
        let scan = self.engine.zone_scan(name.as_str());
        let seen = match &scan {
            Ok(scan) => scan.delegation(now).await.map_err(|e| (e.label(), e.to_string())),
            Err(e) => Err((e.label(), e.to_string())),
        };
        let (mut delegation, mut findings) = match seen {
            Ok((d, findings)) => (Part::good(d, now, SERVERS), findings),
            Err((label, sentence)) => (failed(now, label, sentence), Vec::new()),
        };
        let words = delegation.value.as_ref().map_or_else(
            || delegation.error.as_ref().map(|e| e.sentence.clone()).unwrap_or_default(),
            delegation_words,
        );
        progress.done(ended(Stage::Delegation, &delegation, words, began));
        // Without a delegation there is nothing to ask for records; the reason stands in the part's own error.
        let (Ok(scan), Some(d)) = (&scan, delegation.value.as_ref().filter(|d| d.delegated)) else {
            let (zone, dnssec) = match &delegation.error {
                None => (Part::default(), Part::default()),
                Some(e) => {
                    let why = "not asked for, because the delegation could not be read".to_string();
                    (failed(now, &e.label, why.clone()), failed(now, &e.label, why))
                }
            };
            return DnsParts { delegation, zone, dnssec, findings };
        };
        let (zone, dnssec, networks) = futures::join!(
            zone(scan, d, now, progress),
            self.dnssec(scan, now, progress),
            self.engine.network(d)
        );
        if let Some(d) = &mut delegation.value {
            d.latency.stamp(now, &networks);
        }
        if let Some(chain) = &dnssec.value {
            findings.extend(dns::checks::chain_of_trust(name.as_str(), chain, now));
        }
        DnsParts { delegation, zone, dnssec, findings }
    }

    async fn record_sets(&self, name: &DomainName, d: &Delegation, fields: &[String]) -> Vec<ServerSet> {
        self.engine.record_sets(d, fields).await.unwrap_or_else(|e| {
            tracing::debug!(domain = %name, error = %e, "the servers' record sets are not compared");
            Vec::new()
        })
    }

    async fn certificates(
        &self,
        name: &DomainName,
        zone: &ZoneSnapshot,
        now: Timestamp,
        progress: &dyn Progress,
    ) -> Part<Certificates> {
        progress.started(Stage::Certificates);
        let began = Instant::now();
        let hosts = crate::certificates::observe(&self.web, name, zone, now).await;
        let seen = hosts.iter().filter(|h| h.certificate.is_some()).count();
        let words = match hosts.len() {
            0 => "no address to ask".to_string(),
            n => format!("{seen} of {n} host names present one"),
        };
        let part = Part::good(Certificates { hosts }, now, "TLS");
        progress.done(ended(Stage::Certificates, &part, words, began));
        part
    }

    fn take_server_dates(&self) -> Vec<ServerDate> {
        self.client.take_server_dates()
    }

    async fn elsewhere(&self, name: &DomainName) -> Option<Elsewhere> {
        self.second.as_ref()?.answering(name).await
    }

    async fn place_latencies(&self, name: &DomainName) -> Option<PlaceAnswers> {
        self.second.as_ref()?.latencies(name).await
    }

    async fn web(&self, host: &Fqdn, path: &str, now: Timestamp) -> Result<WebAnswer, String> {
        Ok(probe::web_answer(&self.web, host.as_str(), path, now).await)
    }

    async fn ownership(
        &self,
        challenge: &Challenge,
        method: Method,
        expected: &ExpectedRecord,
        now: Timestamp,
    ) -> Result<Observed, String> {
        if method.is_dns() {
            return self.engine.ownership(challenge, expected, now).await.map_err(|e| e.to_string());
        }
        Ok(crate::web_file::web_file(&self.web, challenge, expected, now).await)
    }
}

/// One look-up as a part of an observation.
pub async fn look_up(
    client: &registration::Client,
    name: &DomainName,
    now: Timestamp,
    pace: Pace,
    progress: &dyn Progress,
) -> InTurn {
    progress.started(Stage::Registration);
    let began = Instant::now();
    let found = client.lookup_at(name, now, pace).await;
    let mut later = false;
    let (part, words) = match found.outcome {
        Ok(state) => {
            let source = source_of(&state, &found.raw);
            let words = match &state {
                RegistrationState::Registered(_) => format!("{source} answered"),
                RegistrationState::Available => "not registered".to_string(),
                RegistrationState::Reserved => "reserved by the registry".to_string(),
            };
            (Part::good(state, now, source), words)
        }
        Err(e) => {
            later = e.postponed && e.own_limit;
            // Counted from the answer, which may come a while after the scan began.
            let waited = jiff::SignedDuration::try_from(began.elapsed()).unwrap_or_default();
            let told = now.checked_add(waited).unwrap_or(now);
            let retry_at = e.retry_after.and_then(|d| told.checked_add(d).ok());
            let part = failed(now, e.label(), e.sentence.clone());
            let error = part.error.map(|error| PartError { retry_at, ..error });
            (Part { error, ..part }, e.sentence)
        }
    };
    progress.done(ended(Stage::Registration, &part, words, began));
    InTurn { part, raw: found.raw, later }
}

/// The source to name: the registry's server if it answered, else the last one that did.
fn source_of(state: &RegistrationState, raw: &[RawAnswer]) -> String {
    let stated = state.registration().and_then(|r| {
        r.provenance.values().find(|p| p.party == Party::Registry).or_else(|| r.provenance.values().next())
    });
    match (stated, raw.last()) {
        (Some(p), _) => format!("{} {}", p.protocol.label(), p.server),
        (None, Some(r)) => format!("{} {}", r.protocol.label(), r.server),
        (None, None) => String::new(),
    }
}

const SERVERS: &str = "authoritative servers";

impl NetworkObserver {
    /// Why the root zone does not validate, if it does not: then no zone does, and the fault is here.
    async fn root_fault(&self, now: Timestamp) -> Option<String> {
        let root = self.engine.dnssec(".", now).await.ok()?;
        (root.status == DnssecStatus::Bogus).then(|| {
            format!(
                "The root zone does not validate ({}): the trust anchor is out of date, or the clock of this machine is \
                 wrong (it shows {}). DNSSEC is not judged until this is mended.",
                root.reason,
                now.strftime("%Y-%m-%d %H:%M UTC")
            )
        })
    }

    async fn dnssec(&self, scan: &dns::ZoneScan, now: Timestamp, progress: &dyn Progress) -> Part<Dnssec> {
        progress.started(Stage::Dnssec);
        let began = Instant::now();
        let part = match scan.dnssec(now).await {
            Ok(d) if d.status == DnssecStatus::Bogus => match self.root_fault(now).await {
                Some(sentence) => failed(now, ROOT_INVALID, sentence),
                None => Part::good(d, now, SERVERS),
            },
            Ok(d) => Part::good(d, now, SERVERS),
            Err(e) => failed(now, e.label(), e.to_string()),
        };
        let words = part.value.as_ref().map_or_else(
            || part.error.as_ref().map(|e| e.sentence.clone()).unwrap_or_default(),
            |d| d.status.label().to_string(),
        );
        progress.done(ended(Stage::Dnssec, &part, words, began));
        part
    }
}

async fn zone(
    scan: &dns::ZoneScan,
    delegation: &Delegation,
    now: Timestamp,
    progress: &dyn Progress,
) -> Part<ZoneSnapshot> {
    progress.started(Stage::Zone);
    let began = Instant::now();
    let part = match scan.zone_snapshot(delegation).await {
        Ok(z) => Part::good(z, now, SERVERS),
        Err(e) => failed(now, e.label(), e.to_string()),
    };
    let words = part.value.as_ref().map_or_else(
        || part.error.as_ref().map(|e| e.sentence.clone()).unwrap_or_default(),
        |z| format!("{} record sets", z.rrsets.len()),
    );
    progress.done(ended(Stage::Zone, &part, words, began));
    part
}

fn delegation_words(d: &Delegation) -> String {
    if !d.delegated {
        return "not delegated".into();
    }
    let good = d
        .servers
        .iter()
        .filter(|s| matches!(s.health, ServerHealth::Authoritative | ServerHealth::Slow))
        .count();
    format!("{good} of {} server addresses authoritative", d.servers.len())
}

fn ended<T>(stage: Stage, part: &Part<T>, words: String, began: Instant) -> StageResult {
    let ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    StageResult { stage, ok: part.error.is_none(), words, ms }
}
