//! What the rest of the program calls. Each call is one operation with its own bounds and its own memory.

mod fetch;
pub(crate) mod network;
mod scan;

pub use fetch::{Fetched, QuestionBudget};
pub use scan::ZoneScan;

use crate::checks::{self, CheckOptions, CheckReport, MethodsV2};
use crate::delegation::{self, trace};
use crate::error::Error;
use crate::input::{wire_name, wire_type};
use crate::present;
use crate::resolve::{Stuck, address};
use crate::session::{Learned, Session, Speeds};
use crate::settings::Settings;

use crate::wire::{Name, Rtype};
use jiff::Timestamp;
use model::dns::{AnswerKind, ChainEnd, Delegation, Dnssec, Record, ServerSet, Soa, Trace, ZoneSnapshot};
use model::finding::Finding;
use model::names::Fqdn;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Longest time a delegation of the root is kept for look-ups of hosts, whatever its TTL.
const INFRASTRUCTURE_MAX_TTL: u32 = 3600;

/// Delegations with the instant until which they hold.
type Infrastructure = HashMap<Name, (Instant, Learned)>;

/// The DNS engine. Clones share everything.
#[derive(Clone)]
pub struct Engine {
    pub(crate) settings: Arc<Settings>,
    /// Delegations from the root, for [`Engine::lookup`] and [`Engine::resolve`] only.
    infrastructure: Arc<Mutex<Infrastructure>>,
    /// How fast servers answered last.
    speeds: Arc<Speeds>,
    /// Where addresses stand, for [`Engine::network`].
    pub(crate) networks: network::Networks,
}

/// What an iterative resolution found.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Resolution {
    /// The name the answer is about, after all aliases.
    pub owner: String,
    /// The zone whose server answered.
    pub zone: String,
    /// What the answer amounts to.
    pub kind: AnswerKind,
    /// The aliases followed: owner and target.
    pub aliases: Vec<(String, String)>,
    /// Records of the type asked for.
    pub records: Vec<Record>,
    /// SOA of a negative answer.
    pub soa: Option<Soa>,
}

impl Engine {
    /// An engine with these settings.
    pub fn new(settings: Settings) -> Self {
        Engine {
            settings: Arc::new(settings),
            infrastructure: Arc::default(),
            speeds: Arc::default(),
            networks: Arc::default(),
        }
    }

    /// The settings it was made with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn session(&self) -> Session {
        self.session_with(self.settings.clone())
    }

    /// The same with bounds of its own.
    pub(crate) fn session_with(&self, settings: Arc<Settings>) -> Session {
        let mut session = Session::new(settings);
        session.speeds = self.speeds.clone();
        session
    }

    /// From the root to the servers that answer for `name`, every server of every set asked, nothing cached.
    pub async fn trace(&self, name: &Fqdn, rtype: &str) -> Result<Trace, Error> {
        let (name, rtype) = (wire_name(name.as_str())?, wire_type(rtype)?);
        Ok(trace::trace(&self.session(), &name, rtype).await)
    }

    /// The trace of `name` and, when it is an alias, of each name it leads to, within one budget; the second part says
    /// why the chain broke off (a circle, too many).
    pub async fn trace_chain(&self, name: &Fqdn, rtype: &str) -> Result<(Vec<Trace>, ChainEnd), Error> {
        let (name, rtype) = (wire_name(name.as_str())?, wire_type(rtype)?);
        Ok(trace::chain(&self.session(), &name, rtype).await)
    }

    /// The delegation of `zone` from both sides, each server × address asked over UDP and TCP. Where `zone` is not
    /// delegated the SOA is that of the zone that denies it.
    pub async fn delegation(&self, zone: &str) -> Result<Delegation, Error> {
        let (session, zone) = (self.session(), wire_name(zone)?);
        let delegation = delegation::delegation(&session, &zone).await;
        within_memory(&session, &zone)?;
        delegation
    }

    /// The delegation and what the checks of a scan find, in one operation: [`ZoneScan::delegation`].
    pub async fn scan(&self, zone: &str, now: Timestamp) -> Result<(Delegation, Vec<Finding>), Error> {
        self.zone_scan(zone)?.delegation(now).await
    }

    /// The watched records of `zone`, from the servers its delegation shows to be authoritative.
    pub async fn zone_snapshot(&self, zone: &str, delegation: &Delegation) -> Result<ZoneSnapshot, Error> {
        self.zone_scan(zone)?.zone_snapshot(delegation).await
    }

    /// Record sets (`www.example.com A`) as each authoritative server has them, asked afresh: for those that may differ from
    /// server to server. Eight servers and sixteen sets at most.
    ///
    /// # Errors
    /// [`Error::TooMuchData`].
    pub async fn record_sets(
        &self,
        delegation: &Delegation,
        fields: &[String],
    ) -> Result<Vec<ServerSet>, Error> {
        let session = self.session();
        let sets = delegation::record_sets(&session, delegation, fields).await;
        within_memory(&session, &wire_name(&delegation.zone)?)?;
        Ok(sets)
    }

    /// The DNSSEC chain from the closest trust anchor to `zone`; `now` is what signatures are judged by.
    pub async fn dnssec(&self, zone: &str, now: Timestamp) -> Result<Dnssec, Error> {
        self.zone_scan(zone)?.dnssec(now).await
    }

    /// Runs the test cases on `zone`, or on servers given as if it were delegated to them.
    pub async fn check(&self, zone: &str, options: &CheckOptions) -> Result<CheckReport, Error> {
        let session = self.check_session();
        let report = checks::check(&session, zone, options).await?;
        within_memory(&session, &wire_name(zone)?)?;
        Ok(report)
    }

    /// The name server sets of the specification "MethodsV2".
    pub async fn methods_v2(&self, zone: &str, options: &CheckOptions) -> Result<MethodsV2, Error> {
        checks::methods_v2(&self.check_session(), zone, options).await
    }

    /// A whole check asks much more than a look-up: its bounds are wider.
    pub(crate) fn check_session(&self) -> Session {
        let mut settings = (*self.settings).clone();
        settings.max_queries = settings.max_queries.saturating_mul(10);
        settings.budget *= 5;
        self.session_with(Arc::new(settings))
    }

    /// Addresses of a host, resolved from the root hints (delegations from the root are remembered within their TTL).
    pub async fn lookup(&self, host: &Fqdn) -> Result<Vec<IpAddr>, Error> {
        let name = wire_name(host.as_str())?;
        let session = self.warm_session();
        let (v4, v6) = futures::join!(
            session.resolve(name.clone(), Rtype::A, true, Vec::new()),
            session.resolve(name.clone(), Rtype::AAAA, true, Vec::new())
        );
        self.keep(&session);
        let mut addresses = Vec::new();
        let mut failure = None;
        for result in [v4, v6] {
            match result {
                Ok(found) => {
                    let records = found.asked.reply().map(|r| r.answers.as_slice()).unwrap_or_default();
                    addresses.extend(records.iter().filter(|rr| rr.name == found.owner).filter_map(address));
                }
                Err(stuck) => failure = Some(stuck),
            }
        }
        addresses.sort();
        addresses.dedup();
        match (addresses.is_empty(), failure) {
            (false, _) => Ok(addresses),
            (true, Some(stuck)) => Err(stuck_error(&session, &name, &stuck)),
            (true, None) => Err(Error::NotFound(name.to_string())),
        }
    }

    /// Resolves a question from the root hints, following aliases to their end.
    pub async fn resolve(&self, name: &Fqdn, rtype: &str) -> Result<Resolution, Error> {
        let (name, rtype) = (wire_name(name.as_str())?, wire_type(rtype)?);
        let session = self.warm_session();
        let result = session.resolve(name.clone(), rtype, true, Vec::new()).await;
        self.keep(&session);
        let found = result.map_err(|stuck| stuck_error(&session, &name, &stuck))?;
        let reply = found.asked.reply();
        let records = reply.map(|r| r.answers_of(&found.owner, rtype).map(present::record).collect());
        Ok(Resolution {
            kind: found.kind,
            soa: reply.filter(|_| found.kind != AnswerKind::Answer).and_then(present::soa_of),
            records: records.unwrap_or_default(),
            aliases: found.aliases.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect(),
            owner: found.owner.to_string(),
            zone: found.zone.to_string(),
        })
    }

    /// A session that starts with the delegations from the root that are still fresh.
    pub(crate) fn warm_session(&self) -> Session {
        self.warm(self.settings.clone())
    }

    /// The same with bounds of its own.
    pub(crate) fn warm(&self, settings: Arc<Settings>) -> Session {
        let session = self.session_with(settings);
        let mut kept = self.infrastructure.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|_, (until, _)| Instant::now() < *until);
        let zones = kept.iter().map(|(zone, (_, learned))| (zone.clone(), learned.clone()));
        session.zones.lock().unwrap_or_else(PoisonError::into_inner).extend(zones);
        session
    }

    pub(crate) fn keep(&self, session: &Session) {
        let mut kept = self.infrastructure.lock().unwrap_or_else(PoisonError::into_inner);
        let zones = session.zones.lock().unwrap_or_else(PoisonError::into_inner);
        for (zone, learned) in zones.iter().filter(|(zone, l)| zone.labels().len() == 1 && l.ttl > 0) {
            let ttl = Duration::from_secs(u64::from(learned.ttl.min(INFRASTRUCTURE_MAX_TTL)));
            kept.entry(zone.clone()).or_insert_with(|| (Instant::now() + ttl, learned.clone()));
        }
    }
}

pub(crate) fn stuck_error(session: &Session, name: &Name, stuck: &Stuck) -> Error {
    if let Stuck::Intercepted(servers) = stuck {
        return Error::Intercepted { servers: *servers };
    }
    if let Err(too_much) = within_memory(session, name) {
        return too_much;
    }
    if session.exhausted() {
        return Error::Exhausted {
            name: name.to_string(),
            queries: session.queries(),
            elapsed_ms: session.elapsed_ms() as u64,
        };
    }
    let zone = match stuck {
        Stuck::NoServer { zone, .. } => zone.to_string(),
        _ => name.to_string(),
    };
    Error::Unreachable { zone, detail: stuck.words() }
}

/// Whether the operation kept within its budget of memory: what is missing from its replies then would be taken for
/// faults of the zone.
///
/// # Errors
/// [`Error::TooMuchData`].
pub(crate) fn within_memory(session: &Session, name: &Name) -> Result<(), Error> {
    if session.budget.is_used_up() {
        return Err(Error::TooMuchData { name: name.to_string(), detail: session.budget.words() });
    }
    Ok(())
}
