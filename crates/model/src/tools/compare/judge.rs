//! One resolver's answer beside the authority's: the verdict. Pure; what was right earlier is passed in, because a
//! cached old answer and an answer by location look alike on their own.

use super::{Authority, AuthorityOutcome, Cause, Judged, ResolverAnswer, Verdict, words};
use crate::base::time::plus;
use crate::tools::rdata::{keys, rdata_key};
use crate::tools::resolvers::{Filtering, PublicResolver};
use jiff::Timestamp;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::LazyLock;

/// TTLs up to this may be a resolver's own minimum; above it a TTL longer than the authority's means an older copy.
const MINIMUM_CLAMP: u32 = 300;

/// What is known from before.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Earlier {
    /// Values of the name and type that the authoritative servers gave before, each as its RDATA.
    pub values: Vec<Vec<String>>,
    /// What resolvers answered in earlier rounds.
    pub answers: Vec<ResolverAnswer>,
}

impl Earlier {
    fn holds(&self, rtype: &str, found: &BTreeSet<String>) -> bool {
        self.values.iter().any(|v| v.iter().map(|d| rdata_key(rtype, d)).collect::<BTreeSet<_>>() == *found)
    }
}

/// Judges one answer (`None`: still asked).
pub fn judge(
    authority: &Authority,
    resolver: &PublicResolver,
    answer: Option<&ResolverAnswer>,
    earlier: &Earlier,
    now: Timestamp,
) -> Judged {
    let verdict = answer.map_or(Verdict::Pending, |a| verdict(authority, resolver, a, earlier));
    let words = words::of(authority, resolver, answer, &verdict, now);
    Judged {
        resolver: resolver.clone(),
        answer: answer.cloned(),
        verdict,
        shows: words.shows,
        short: words.short,
        sentence: words.sentence,
    }
}

fn verdict(authority: &Authority, row: &PublicResolver, a: &ResolverAnswer, earlier: &Earlier) -> Verdict {
    let Some(rcode) = a.rcode.as_deref() else { return Verdict::Failing };
    let found = keys(&a.records, &authority.rtype);
    let right = keys(&authority.records, &authority.rtype);
    let serves = authority.outcome == AuthorityOutcome::Serves;
    if serves && found == right {
        return Verdict::Same;
    }
    if is_blocked(a, &found)
        || (row.filtering != Filtering::None && is_made_up(authority, a, &found, earlier))
    {
        return Verdict::Filtered;
    }
    match rcode {
        "NOERROR" | "NXDOMAIN" => {}
        _ => return Verdict::Failing,
    }
    match (found.is_empty(), authority.outcome) {
        (true, AuthorityOutcome::NoData | AuthorityOutcome::NxDomain) => Verdict::Same,
        (true, AuthorityOutcome::NoAnswer) => Verdict::Failing,
        (true, AuthorityOutcome::Serves) => negative(authority, a, earlier),
        // What the servers deny now was served before: nothing else makes a resolver know records.
        (false, AuthorityOutcome::NoData | AuthorityOutcome::NxDomain) => {
            Verdict::Stale { until: runs_out(a) }
        }
        (false, _) => differs(authority, row, a, &found, earlier),
    }
}

/// When the copy this answer was made from runs out.
fn runs_out(a: &ResolverAnswer) -> Timestamp {
    after(a.asked_at, a.ttl.unwrap_or(0))
}

fn after(at: Timestamp, seconds: u32) -> Timestamp {
    plus(at, seconds.into())
}

fn differs(
    authority: &Authority,
    row: &PublicResolver,
    a: &ResolverAnswer,
    found: &BTreeSet<String>,
    earlier: &Earlier,
) -> Verdict {
    let until = runs_out(a);
    // Extended error 3 is "stale answer" (RFC 8767): the resolver says it itself.
    if a.errors.iter().any(|e| e.code == 3) || earlier.holds(&authority.rtype, found) {
        return Verdict::Stale { until };
    }
    if at_a_server(authority, found) {
        return Verdict::Different { cause: Cause::Disagreement, until: Some(until) };
    }
    if refetched(a, found, &authority.rtype, earlier) {
        return Verdict::Different { cause: Cause::Location, until: None };
    }
    let longest = authority.ttl.unwrap_or(u32::MAX).max(MINIMUM_CLAMP);
    if a.ttl.is_some_and(|left| left > longest) {
        return Verdict::Stale { until };
    }
    let cause = if row.ecs { Cause::Location } else { Cause::OldOrLocation };
    Verdict::Different { cause, until: Some(until) }
}

/// True when some authoritative server gives just this.
fn at_a_server(authority: &Authority, found: &BTreeSet<String>) -> bool {
    authority
        .servers
        .iter()
        .filter(|s| s.kind.is_authoritative())
        .any(|s| keys(&s.records, &authority.rtype) == *found)
}

/// True when the resolver gave the same earlier, and that copy has run out since: it asked again and got this.
fn refetched(a: &ResolverAnswer, found: &BTreeSet<String>, rtype: &str, earlier: &Earlier) -> bool {
    let before = earlier.answers.iter().filter(|e| e.resolver == a.resolver && e.rcode.is_some());
    before.filter(|e| keys(&e.records, rtype) == *found).any(|e| {
        let ended = match (found.is_empty(), &e.soa) {
            (true, Some(soa)) => after(e.asked_at, soa.negative_ttl()),
            (true, None) => return false,
            (false, _) => runs_out(e),
        };
        // A second's grace: TTLs are whole seconds.
        a.asked_at > after(ended, 1)
    })
}

fn negative(authority: &Authority, a: &ResolverAnswer, earlier: &Earlier) -> Verdict {
    let left = a.soa.as_ref().map(crate::dns::Soa::negative_ttl).or(authority.negative_ttl);
    let until = left.map(|s| after(a.asked_at, s));
    let none = BTreeSet::new();
    if a.soa.is_some() && refetched(a, &none, &authority.rtype, earlier) {
        return Verdict::Different { cause: Cause::Location, until: None };
    }
    // One of the servers denies it: the resolver may have heard that one, and will again.
    let denying = authority
        .servers
        .iter()
        .any(|s| matches!(s.kind, crate::dns::AnswerKind::NoData | crate::dns::AnswerKind::NxDomain));
    if denying && !authority.agree {
        return Verdict::Different { cause: Cause::Disagreement, until };
    }
    Verdict::NegativeCached { until }
}

/// True when the answer is a refusal on purpose rather than an answer.
fn is_blocked(a: &ResolverAnswer, found: &BTreeSet<String>) -> bool {
    // Forged answer, blocked, censored, filtered (RFC 8914 sections 4.5 and 4.16 to 4.18).
    if a.errors.iter().any(|e| matches!(e.code, 4 | 15 | 16 | 17)) {
        return true;
    }
    if a.soa.as_ref().is_some_and(|soa| BLOCK_PAGES.soa.iter().any(|s| s.mname == soa.mname)) {
        return true;
    }
    let addresses: Vec<IpAddr> = found.iter().filter_map(|f| f.parse().ok()).collect();
    !addresses.is_empty() && addresses.len() == found.len() && addresses.iter().all(|ip| is_block_page(*ip))
}

/// True when the "no" of a resolver that filters is its own and not one it remembers of the servers. A remembered one
/// has the SOA of the zone, or of a zone above from before the delegation, and counts down from the moment at which the
/// servers said it.
fn is_made_up(
    authority: &Authority,
    a: &ResolverAnswer,
    found: &BTreeSet<String>,
    earlier: &Earlier,
) -> bool {
    let no = found.is_empty() && matches!(a.rcode.as_deref(), Some("NXDOMAIN" | "NOERROR"));
    if !no || authority.outcome != AuthorityOutcome::Serves {
        return false;
    }
    let Some(soa) = &a.soa else { return true };
    let apex = authority.soa.as_ref().map_or(authority.zone.as_str(), |s| s.zone.as_str());
    // There is no zone of that name on the path, or there is one, and the servers deny nothing there.
    if !at_or_below(&authority.name, &soa.zone) && !at_or_below(apex, &soa.zone) {
        return true;
    }
    if soa.zone != apex && at_or_below(&soa.zone, apex) {
        return true;
    }
    // As fresh as it can be, from the zone as it stands now: asked just now the servers would have given the record.
    let fresh = authority.agree
        && authority.soa.as_ref().is_some_and(|now| {
            // A resolver's own minimum would hide that a short one counts down.
            let full = now.negative_ttl();
            let whole = full >= MINIMUM_CLAMP && soa.negative_ttl() >= full;
            now.zone == soa.zone && now.serial == soa.serial && whole
        });
    fresh || refetched(a, found, &authority.rtype, earlier)
}

fn at_or_below(name: &str, zone: &str) -> bool {
    // The root's SOA is what many filters make up; a name whose record is served is no missing TLD.
    zone != "." && crate::base::names::Fqdn::trusted(name).is_at_or_below(zone)
}

/// An address that leads to a page that says "blocked".
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlockPage {
    /// The address.
    pub address: IpAddr,
    /// Whose page it is.
    pub operator: String,
    /// Where this row comes from.
    pub source: String,
}

/// A primary server that a filter names in the SOA record of a "no" it makes up.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlockSoa {
    /// MNAME, without the final dot.
    pub mname: String,
    /// Whose filter it is.
    pub operator: String,
    /// Where this row comes from.
    pub source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BlockPages {
    page: Vec<BlockPage>,
    soa: Vec<BlockSoa>,
}

static BLOCK_PAGES: LazyLock<BlockPages> = LazyLock::new(|| {
    serde_json::from_slice(include_bytes!(concat!(env!("OUT_DIR"), "/block_pages.json")))
        .expect("data/block_pages.toml is checked by a test")
});

/// The table of block pages.
pub fn block_pages() -> &'static [BlockPage] {
    &BLOCK_PAGES.page
}

/// Addresses that lead nowhere, or to a page that says why.
fn is_block_page(ip: IpAddr) -> bool {
    ip.is_unspecified() || ip.is_loopback() || BLOCK_PAGES.page.iter().any(|p| p.address == ip)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_page_has_a_source() {
        assert!(block_pages().len() >= 5);
        assert!(block_pages().iter().all(|p| !p.source.is_empty() && !p.address.is_loopback()));
        let named = |s: &BlockSoa| !s.source.is_empty() && !s.operator.is_empty() && !s.mname.ends_with('.');
        assert!(BLOCK_PAGES.soa.iter().all(named));
    }
}
