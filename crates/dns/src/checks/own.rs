//! Our own check "Domainscope", where Zonemaster has no test case: an alias at the apex, the chain of trust as a
//! validating resolver judges it, and servers far slower than their peers (`latency` has the speed over many answers).
//! In: a session, or what an observation holds already. Out: findings; the scan and the full check share them.

use super::context::Context;
use super::latency::NAME;
use super::tags::finding;
use crate::delegation::peers_median;
use crate::dnssec;
use crate::wire::Rtype;
use jiff::{SignedDuration, Timestamp};
use model::dns::{Delegation, DenialProof, Dnssec, DnssecStatus, ServerHealth};
use model::finding::Finding;
use model::time::clock_utc;

/// Signatures that end within this time are a warning: most signers renew a week before.
const EXPIRY_WARNING: SignedDuration = SignedDuration::from_hours(7 * 24);

/// An alias at the apex hides the SOA and NS records beside it (RFC 1912 section 2.4).
pub(super) async fn apex_alias(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings(NAME);
    let found = c.session.resolve(c.zone.clone(), Rtype::CNAME, false, Vec::new()).await.ok();
    let reply = found.as_ref().filter(|f| f.zone == c.zone).and_then(|f| f.asked.reply());
    if reply.is_some_and(|r| r.answers_of(&c.zone, Rtype::CNAME).next().is_some()) {
        out.add("APEX_CNAME", &[("domain", c.text.clone().into())]);
    }
    out.list
}

/// The chain of trust, asked for in the session of the check and within its budget of verifications. Servers given as
/// if the parent pointed there have no chain yet.
pub(super) async fn chain(c: &Context<'_>) -> Vec<Finding> {
    if c.is_undelegated() {
        return Vec::new();
    }
    let dnssec = dnssec::dnssec(c.session, &c.zone, &c.verifier).await;
    chain_of_trust(&c.text, &dnssec, c.now)
}

/// What a chain of trust comes to; `now` judges the expiry of signatures.
pub fn chain_of_trust(zone: &str, dnssec: &Dnssec, now: Timestamp) -> Vec<Finding> {
    let with = |tag: &str, key: &str, value: String| {
        finding(NAME, zone, tag, &[("domain", zone.into()), (key, value.into())])
    };
    let mut out = Vec::new();
    if dnssec.status == DnssecStatus::Bogus {
        out.push(with("DNSSEC_BOGUS", "reason", dnssec.reason.clone()));
    }
    if let Some(DenialProof::Broken { reason }) = &dnssec.denial {
        out.push(with("DENIAL_BROKEN", "reason", reason.clone()));
    }
    if let Some(until) = dnssec.signatures_expire {
        if until < now {
            out.push(with("SIGNATURES_EXPIRED", "until", clock_utc(until, now)));
        } else if until.duration_since(now) < EXPIRY_WARNING {
            out.push(with("SIGNATURES_EXPIRE_SOON", "until", clock_utc(until, now)));
        }
    }
    out
}

/// Servers of the parent zone that disagree about the delegation.
pub(super) fn parents(d: &Delegation) -> Option<Finding> {
    let differences = d.parents_differ.as_deref()?;
    let args = [("parent", d.parent.as_str().into()), ("domain", d.zone.as_str().into())];
    Some(with_differences(finding(NAME, &d.zone, "PARENTS_DIFFER", &args), differences))
}

/// Says who has what; filled in here, because it may hold semicolons, which the table's sentences take for lists.
fn with_differences(mut finding: Finding, differences: &str) -> Finding {
    finding.message = finding.message.replace("{differences}", differences);
    finding.args.insert("differences".into(), differences.into());
    finding
}

/// A record set that is not the same on all servers: those that answered, and in `differences` who has what.
pub fn record_sets_differ(zone: &str, field: &str, servers: Vec<&str>, differences: &str) -> Finding {
    let args = [("set", field.into()), ("servers", servers.into())];
    with_differences(finding(NAME, zone, RECORD_SETS_DIFFER, &args), differences)
}

/// The tag of [`record_sets_differ`].
pub const RECORD_SETS_DIFFER: &str = "RECORD_SETS_DIFFER";

/// Servers that a single observation finds far slower than their peers; over many observations `model::latency` judges.
pub(super) fn slow(d: &Delegation) -> Vec<Finding> {
    let slow = d.servers.iter().enumerate().filter(|(_, s)| s.health == ServerHealth::Slow);
    slow.map(|(index, state)| {
        let ns = state.address.map_or_else(|| state.name.clone(), |ip| format!("{}/{ip}", state.name));
        let args = [
            ("ns", ns.into()),
            ("latency", state.latency_ms.unwrap_or_default().round().into()),
            ("median", peers_median(&d.servers, index).unwrap_or_default().round().into()),
        ];
        finding(NAME, &d.zone, model::latency::SLOW_ONCE, &args)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_judged_by_the_instant_given() {
        let at = |seconds: i64| Timestamp::from_second(seconds).unwrap();
        let mut dnssec = Dnssec {
            status: DnssecStatus::Bogus,
            reason: "why".into(),
            ds: Vec::new(),
            key_tags: Vec::new(),
            signatures_expire: Some(at(1_000_000)),
            denial: None,
        };
        let tags = |now: i64| -> Vec<String> {
            chain_of_trust("a.example", &dnssec, at(now)).into_iter().map(|f| f.tag).collect()
        };
        assert_eq!(tags(0), ["DNSSEC_BOGUS"]);
        assert_eq!(tags(900_000), ["DNSSEC_BOGUS", "SIGNATURES_EXPIRE_SOON"]);
        assert_eq!(tags(1_000_001), ["DNSSEC_BOGUS", "SIGNATURES_EXPIRED"]);
        dnssec.denial = Some(DenialProof::Broken { reason: "no span".into() });
        let found = chain_of_trust("a.example", &dnssec, at(0));
        assert!(found.iter().any(|f| f.tag == "DENIAL_BROKEN" && f.message.contains("no span")), "{found:?}");
    }
}
