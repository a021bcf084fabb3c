//! Health checks: the test cases of the Zonemaster specifications, each a small unit over one shared set of answers
//! (the session remembers every answer, so nothing is asked twice). Tags, levels and sentences: `data/findings.toml`.

mod address;
mod basic;
mod connectivity;
mod consistency;
mod context;
mod delegation;
mod dnssec;
mod health;
mod methods;
mod nameserver;
mod spf;
mod tags;
mod zone;

pub use health::health;

use crate::error::Error;
use crate::session::Session;
use context::{Context, Undelegated};
use futures::future::{BoxFuture, join_all};
use model::finding::Finding;
use model::registration::Ds;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// What to check and how.
#[derive(Debug, Clone)]
pub struct CheckOptions {
    /// Only these test cases, by identifier in any case (`delegation01`); all when `None`.
    pub test_cases: Option<Vec<String>>,
    /// Name servers as if the parent pointed there already.
    pub undelegated_ns: Vec<(String, Option<IpAddr>)>,
    /// DS records as if the parent published them.
    pub undelegated_ds: Vec<Ds>,
    /// Zone in which origin AS and prefix are looked up (`origin.` and `origin6.` below it).
    pub asn_zone: String,
    /// The instant signatures are judged by.
    pub now: jiff::Timestamp,
}

impl CheckOptions {
    /// Everything, as delegated.
    pub fn new(now: jiff::Timestamp) -> Self {
        CheckOptions {
            test_cases: None,
            undelegated_ns: Vec::new(),
            undelegated_ds: Vec::new(),
            asn_zone: "asnlookup.zonemaster.net".into(),
            now,
        }
    }
}

/// What the checks found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckReport {
    /// The zone.
    pub zone: String,
    /// In the order of the test cases.
    pub findings: Vec<Finding>,
    /// Test cases that ran.
    pub test_cases: Vec<String>,
    /// Questions sent.
    pub queries: u32,
    /// Wall time in milliseconds.
    pub elapsed_ms: f64,
    /// What holds for the whole (a bound was reached, no IPv6 here).
    pub notes: Vec<String>,
}

/// Name server sets by the specification "MethodsV2"; `None` is undetermined. Entries are `name/address` or `name`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MethodsV2 {
    /// Servers of the parent zone.
    pub parent: Option<Vec<String>>,
    /// Servers by the delegation.
    pub del: Option<Vec<String>>,
    /// Servers by the zone itself.
    pub zone: Option<Vec<String>>,
}

type Run = for<'a> fn(&'a Context<'a>) -> BoxFuture<'a, Vec<Finding>>;

macro_rules! cases {
    ($($name:literal => $module:ident::$function:ident),* $(,)?) => {
        &[$(($name, (|c| Box::pin($module::$function(c))) as Run)),*]
    };
}

/// All test cases in their order.
const CASES: &[(&str, Run)] = cases! {
    "Basic01" => basic::basic01,
    "Basic02" => basic::basic02,
    "Address01" => address::address01,
    "Address02" => address::address02,
    "Address03" => address::address03,
    "Connectivity01" => connectivity::connectivity01,
    "Connectivity02" => connectivity::connectivity02,
    "Connectivity03" => connectivity::connectivity03,
    "Connectivity04" => connectivity::connectivity04,
    "Consistency05" => consistency::consistency05,
    "Consistency06" => consistency::consistency06,
    "Delegation01" => delegation::delegation01,
    "Delegation02" => delegation::delegation02,
    "Delegation03" => delegation::delegation03,
    "Nameserver15" => nameserver::nameserver15,
    "Zone09" => zone::zone09,
    "Zone11" => zone::zone11,
    "DNSSEC01" => dnssec::dnssec01,
    "DNSSEC03" => dnssec::dnssec03,
    "DNSSEC05" => dnssec::dnssec05,
    "DNSSEC07" => dnssec::dnssec07,
    "DNSSEC10" => dnssec::dnssec10,
    "DNSSEC16" => dnssec::dnssec16,
};

/// Identifiers of the test cases there are.
pub fn test_cases() -> Vec<&'static str> {
    CASES.iter().map(|(name, _)| *name).collect()
}

pub(crate) async fn check(
    session: &Session,
    zone: &str,
    options: &CheckOptions,
) -> Result<CheckReport, Error> {
    let undelegated = Undelegated::new(options)?;
    let context = Context::new(session, crate::engine::wire_name(zone)?, undelegated, options);
    let wanted = |name: &str| {
        options.test_cases.as_ref().is_none_or(|list| list.iter().any(|w| w.eq_ignore_ascii_case(name)))
    };
    let mut findings = Vec::new();
    let mut ran = Vec::new();
    let (first, rest): (Vec<_>, Vec<_>) =
        CASES.iter().filter(|(name, _)| wanted(name)).partition(|(name, _)| name.starts_with("Basic"));
    for (name, run) in first {
        findings.extend(run(&context).await);
        ran.push((*name).to_string());
    }
    // A zone that is not there, or that nobody serves, has nothing else to be checked.
    let pointless = options.test_cases.is_none()
        && findings
            .iter()
            .any(|f: &Finding| matches!(f.tag.as_str(), "B02_NO_WORKING_NS" | "B02_NO_DELEGATION"));
    if !pointless {
        ran.extend(rest.iter().map(|(name, _)| (*name).to_string()));
        let results = join_all(rest.iter().map(|(_, run)| run(&context))).await;
        // By DNSSEC07 nothing else of DNSSEC is to be checked where the zone is not signed.
        let unsigned = results.iter().flatten().any(|f| f.tag == "DS07_NOT_SIGNED");
        let kept = |f: &Finding| !unsigned || !f.test_case.starts_with("DNSSEC") || f.test_case == "DNSSEC07";
        findings.extend(results.into_iter().flatten().filter(kept));
    }
    Ok(CheckReport {
        zone: context.zone.to_string(),
        findings,
        test_cases: ran,
        queries: session.queries(),
        elapsed_ms: session.elapsed_ms(),
        notes: session.notes(),
    })
}

pub(crate) async fn methods_v2(
    session: &Session,
    zone: &str,
    options: &CheckOptions,
) -> Result<MethodsV2, Error> {
    let undelegated = Undelegated::new(options)?;
    let context = Context::new(session, crate::engine::wire_name(zone)?, undelegated, options);
    Ok(MethodsV2 {
        parent: context.parent_ns().await.as_ref().map(methods::entries),
        del: context.del_ns().await.as_ref().map(methods::entries),
        zone: context.zone_ns().await.as_ref().map(methods::entries),
    })
}
