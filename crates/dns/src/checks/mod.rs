//! Health checks: the test cases of the Zonemaster specifications, each a small unit over one shared set of answers
//! (the session remembers every answer, so nothing is asked twice). A scan makes some of them, in the session that read
//! the delegation and with the name server sets found there. Tags, levels and sentences: `data/findings.toml`.

mod address;
mod authority;
mod basic;
mod connectivity;
mod consistency;
mod context;
mod delegation;
mod dnssec;
mod echo;
mod edns;
mod latency;
mod methods;
mod names;
mod nameserver;
mod own;
mod soa;
mod spf;
mod syntax;
mod tags;
mod walk;
mod zone;

pub use own::{RECORD_SETS_DIFFER, chain_of_trust, record_sets_differ};

use crate::error::Error;
use crate::session::Session;
use context::{Context, Undelegated};
use futures::future::{BoxFuture, join_all};
use model::dns::Delegation;
use model::finding::{Finding, Level, test_case};
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
    /// Zone in which origin AS and prefix are looked up; empty: that of the engine's settings.
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
            asn_zone: String::new(),
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
    "Basic03" => basic::basic03,
    "Address01" => address::address01,
    "Address02" => address::address02,
    "Address03" => address::address03,
    "Connectivity01" => connectivity::connectivity01,
    "Connectivity02" => connectivity::connectivity02,
    "Connectivity03" => connectivity::connectivity03,
    "Connectivity04" => connectivity::connectivity04,
    "Consistency01" => soa::consistency01,
    "Consistency02" => soa::consistency02,
    "Consistency03" => soa::consistency03,
    "Consistency04" => authority::consistency04,
    "Consistency05" => consistency::consistency05,
    "Consistency06" => consistency::consistency06,
    "Delegation01" => delegation::delegation01,
    "Delegation02" => delegation::delegation02,
    "Delegation03" => delegation::delegation03,
    "Delegation04" => authority::delegation04,
    "Delegation05" => authority::delegation05,
    "Delegation06" => authority::delegation06,
    "Delegation07" => authority::delegation07,
    "Nameserver01" => nameserver::nameserver01,
    "Nameserver02" => edns::nameserver02,
    "Nameserver03" => nameserver::nameserver03,
    "Nameserver04" => echo::nameserver04,
    "Nameserver05" => nameserver::nameserver05,
    "Nameserver06" => nameserver::nameserver06,
    "Nameserver07" => nameserver::nameserver07,
    "Nameserver08" => echo::nameserver08,
    "Nameserver09" => echo::nameserver09,
    "Nameserver10" => edns::nameserver10,
    "Nameserver11" => edns::nameserver11,
    "Nameserver12" => edns::nameserver12,
    "Nameserver13" => edns::nameserver13,
    "Nameserver14" => edns::nameserver14,
    "Nameserver15" => nameserver::nameserver15,
    "Syntax01" => syntax::syntax01,
    "Syntax02" => syntax::syntax02,
    "Syntax03" => syntax::syntax03,
    "Syntax04" => syntax::syntax04,
    "Syntax05" => syntax::syntax05,
    "Syntax06" => syntax::syntax06,
    "Syntax07" => syntax::syntax07,
    "Syntax08" => syntax::syntax08,
    "Zone01" => names::zone01,
    "Zone02" => soa::zone02,
    "Zone03" => soa::zone03,
    "Zone04" => soa::zone04,
    "Zone05" => soa::zone05,
    "Zone06" => soa::zone06,
    "Zone07" => names::zone07,
    "Zone08" => names::zone08,
    "Zone09" => zone::zone09,
    "Zone10" => soa::zone10,
    "Zone11" => zone::zone11,
    "DNSSEC01" => dnssec::dnssec01,
    "DNSSEC02" => dnssec::dnssec02,
    "DNSSEC03" => dnssec::dnssec03,
    "DNSSEC04" => dnssec::dnssec04,
    "DNSSEC05" => dnssec::dnssec05,
    "DNSSEC06" => dnssec::dnssec06,
    "DNSSEC07" => dnssec::dnssec07,
    "DNSSEC08" => dnssec::dnssec08,
    "DNSSEC09" => dnssec::dnssec09,
    "DNSSEC10" => dnssec::dnssec10,
    "DNSSEC11" => dnssec::dnssec11,
    "DNSSEC13" => dnssec::dnssec13,
    "DNSSEC14" => dnssec::dnssec14,
    "DNSSEC15" => dnssec::dnssec15,
    "DNSSEC16" => dnssec::dnssec16,
    "DNSSEC17" => dnssec::dnssec17,
    "DNSSEC18" => dnssec::dnssec18,
};

/// Identifiers of the test cases there are.
pub fn test_cases() -> Vec<&'static str> {
    CASES.iter().map(|(name, _)| *name).chain([latency::NAME]).collect()
}

pub(crate) async fn check(
    session: &Session,
    zone: &str,
    options: &CheckOptions,
) -> Result<CheckReport, Error> {
    let undelegated = Undelegated::new(options)?;
    let context = Context::new(session, crate::input::wire_name(zone)?, undelegated, options);
    let whole = options.test_cases.is_none();
    let wanted = |name: &str| {
        options.test_cases.as_ref().is_none_or(|list| list.iter().any(|w| w.eq_ignore_ascii_case(name)))
    };
    if whole {
        connectivity::knock(&context).await;
    }
    let (mut findings, mut ran) = basic(&context, wanted).await;
    // Where the root itself can't be asked, "no parent" and "no delegation" would be our network's fault, not the zone's.
    if context.walk_found_no_server() && !context.is_undelegated() {
        crate::resolve::reach::root_is_there(session).await?;
    }
    // Nothing else can be checked of a zone that does not exist or that no server serves.
    let pointless = whole && serves_nothing(&findings);
    if pointless && let Some(dead) = dead_zone_above(&context, &findings).await {
        findings.retain(|f| !matches!(f.tag.as_str(), "B01_NO_CHILD" | "B02_NO_DELEGATION"));
        findings.extend(dead);
    } else if pointless && let Some(enclosing) = enclosing_zone(&context.text, &findings) {
        findings.retain(|f| !matches!(f.tag.as_str(), "B01_NO_CHILD" | "B02_NO_DELEGATION"));
        let args = [("domain", context.text.as_str().into()), ("enclosing", enclosing.into())];
        findings.push(tags::finding(latency::NAME, &context.text, "NOT_A_ZONE", &args));
    }
    if !pointless {
        let (results, rest) = remaining(&context, wanted, whole).await;
        ran.extend(rest);
        // By DNSSEC07 nothing else of DNSSEC is to be checked where the zone is not signed; but DNSSEC11 always is: a DS
        // record without keys takes the zone off the net.
        let unsigned = results.iter().flatten().any(|f| f.tag == "DS07_NOT_SIGNED");
        let always = ["DNSSEC07", "DNSSEC11"];
        let kept = |f: &Finding| {
            !unsigned || !f.test_case.starts_with("DNSSEC") || always.contains(&f.test_case.as_str())
        };
        findings.extend(results.into_iter().flatten().filter(kept));
        if wanted(latency::NAME) {
            findings.extend(own::apex_alias(&context).await);
            findings.extend(own::chain(&context).await);
            // Last: it judges by how long all the answers of this check took.
            findings.extend(latency::domainscope(&context).await);
            ran.push(latency::NAME.to_string());
        }
    }
    Ok(CheckReport {
        zone: context.zone.to_string(),
        findings,
        test_cases: ran,
        queries: session.queries(),
        elapsed_ms: session.elapsed_ms(),
        notes: session.notes().into_iter().chain(context.verifier.note()).collect(),
    })
}

/// The test cases that a scan makes, in the session that read `delegation` and with the sets it found: the same code
/// as in [`check`], so that the two never contradict each other. Out: what is worth a look, from NOTICE up.
pub(crate) async fn scan(session: &Session, delegation: &Delegation, now: jiff::Timestamp) -> Vec<Finding> {
    let Ok(zone) = crate::input::wire_name(&delegation.zone) else { return Vec::new() };
    let mut context = Context::new(session, zone, Undelegated::default(), &CheckOptions::new(now));
    context.observe(delegation);
    let wanted = |name: &str| test_case::SCAN.contains(&name);
    let (mut findings, _) = basic(&context, wanted).await;
    if !serves_nothing(&findings) {
        let (results, _) = remaining(&context, wanted, true).await;
        findings.extend(results.into_iter().flatten());
        findings.extend(own::apex_alias(&context).await);
        findings.extend(own::slow(delegation));
    }
    findings.extend(own::parents(delegation));
    findings.retain(|f| f.level >= Level::Notice);
    findings
}

/// The findings of the cases of group Basic, which decide whether the rest is worth asking, and which cases these are.
async fn basic(context: &Context<'_>, wanted: impl Fn(&str) -> bool) -> (Vec<Finding>, Vec<String>) {
    let (mut findings, mut ran) = (Vec::new(), Vec::new());
    for (name, run) in CASES.iter().filter(|(name, _)| name.starts_with("Basic") && wanted(name)) {
        findings.extend(run(context).await);
        ran.push((*name).to_string());
    }
    (findings, ran)
}

/// The findings of all other cases, made at once, and which these are. Of a zone whose servers this host cannot ask only
/// Connectivity01 says something, in a run of more than chosen cases.
async fn remaining(
    context: &Context<'_>,
    wanted: impl Fn(&str) -> bool,
    whole: bool,
) -> (Vec<Vec<Finding>>, Vec<String>) {
    let out_of_reach = whole && context.is_out_of_reach().await;
    let cases: Vec<_> = CASES
        .iter()
        .filter(|(name, _)| !name.starts_with("Basic") && wanted(name))
        .filter(|(name, _)| !out_of_reach || *name == "Connectivity01")
        .collect();
    let findings = join_all(cases.iter().map(|(_, run)| run(context))).await;
    (findings, cases.iter().map(|(name, _)| (*name).to_string()).collect())
}

/// True when no server serves the zone: nothing else can be checked of it.
fn serves_nothing(findings: &[Finding]) -> bool {
    findings.iter().any(|f| matches!(f.tag.as_str(), "B02_NO_WORKING_NS" | "B02_NO_DELEGATION"))
}

/// What Basic02 finds of the registered domain above a host whose own zone cannot be found, where none of its servers
/// works: then the host is not missing but out of reach. A single test case keeps Zonemaster's tags.
async fn dead_zone_above(context: &Context<'_>, findings: &[Finding]) -> Option<Vec<Finding>> {
    findings.iter().find(|f| f.tag == "B02_NO_DELEGATION")?;
    let domain = model::names::Fqdn::read(&context.text).ok()?.name.registrable()?;
    let zone = crate::input::wire_name(domain.as_str()).ok().filter(|zone| context.zone.is_below(zone))?;
    let options = CheckOptions { asn_zone: context.asn_zone.clone(), ..CheckOptions::new(context.now) };
    let above = Context::new(context.session, zone, Undelegated::default(), &options);
    let found = basic::basic02(&above).await;
    found.iter().any(|f| f.tag == "B02_NO_WORKING_NS").then_some(found)
}

/// The zone that holds a host below a registered domain. Such a host is usually no zone of its own, so that it has no
/// delegation is not an error: the full check says which zone to check. A single test case keeps Zonemaster's tags.
fn enclosing_zone(zone: &str, findings: &[Finding]) -> Option<String> {
    let domain = model::names::Fqdn::read(zone).ok()?.name.registrable()?;
    findings.iter().find(|f| f.tag == "B01_NO_CHILD")?;
    let parent = findings.iter().find(|f| f.tag == "B01_PARENT_FOUND")?.args.get("domain")?.as_str()?;
    let inside = parent == domain.as_str() || parent.ends_with(&format!(".{}", domain.as_str()));
    (domain.as_str() != zone && inside).then(|| parent.to_string())
}

pub(crate) async fn methods_v2(
    session: &Session,
    zone: &str,
    options: &CheckOptions,
) -> Result<MethodsV2, Error> {
    let undelegated = Undelegated::new(options)?;
    let context = Context::new(session, crate::input::wire_name(zone)?, undelegated, options);
    Ok(MethodsV2 {
        parent: context.parent_ns().await.as_ref().map(methods::entries),
        del: context.del_ns().await.as_ref().map(methods::entries),
        zone: context.zone_ns().await.as_ref().map(methods::entries),
    })
}
