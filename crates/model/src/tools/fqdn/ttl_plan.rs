//! When it is safe to change a name: lower the TTL, wait until copies with the old one are gone, change, raise again.
//! In: the chain with its TTLs, now. Out: dated stages with this name's own numbers. RFC 1034 section 3.6 (TTL), RFC 2308
//! (what is missing is remembered too).

use super::{ChainStep, TypeOutcome};
use crate::base::time::{clock_utc, human_seconds, plus};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// What a TTL is lowered to before a change, seconds.
const LOWERED: u32 = 300;

/// What a stage of a plan is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StageKind {
    /// Lower the TTL, nothing else.
    Lower,
    /// Make the change.
    Change,
    /// All caches hold the new value: raise the TTL again.
    Raise,
}

/// One stage of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanStage {
    /// What it is.
    pub kind: StageKind,
    /// The earliest time for it.
    pub at: Timestamp,
    /// What to do, in a few words.
    pub title: String,
    /// When, in words (UTC).
    pub when: String,
    /// The record as it then stands (`www 300 CNAME target.example.`).
    pub record: String,
    /// Why, in a few words.
    pub detail: String,
    /// Seconds until the next stage; `None` for the last.
    pub lasts: Option<u32>,
}

/// Advice for a change of one name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TtlPlan {
    /// The name that is changed.
    pub name: String,
    /// Type of the record that is changed.
    #[serde(rename = "type")]
    pub rtype: String,
    /// Its TTL now, seconds.
    pub ttl: u32,
    /// What it is lowered to, seconds; the same as `ttl` when that is low enough.
    pub lowered: u32,
    /// Seconds resolvers remember that a type is missing here.
    pub negative_ttl: Option<u32>,
    /// Address types that are missing, and so remembered as missing.
    pub missing: Vec<String>,
    /// What the plan is for, in one or two sentences with this name's numbers.
    pub sentence: String,
    /// What else to mind, each a sentence (missing types, names in other hands).
    pub notes: Vec<String>,
    /// The stages, in order.
    pub stages: Vec<PlanStage>,
    /// The earliest time at which the change is safe.
    pub safe_at: Timestamp,
}

/// The plan for the first name of a chain; `None` when it serves nothing.
pub fn ttl_plan(chain: &[ChainStep], now: Timestamp) -> Option<TtlPlan> {
    let first = chain.first()?;
    let shown = shown(first)?;
    // The longest any server gives: copies with it are about.
    let ttl = first.ttls().map(|(_, longest)| longest).or(first.ttl)?;
    let lowered = ttl.min(LOWERED);
    let low = ttl <= LOWERED;
    let end = chain.last()?;
    let missing: Vec<String> = end
        .answers
        .iter()
        .filter(|a| matches!(a.outcome, TypeOutcome::NoData) && matches!(a.rtype.as_str(), "A" | "AAAA"))
        .map(|a| a.rtype.clone())
        .collect();
    let negative_ttl = end.soa.as_ref().map(crate::dns::Soa::negative_ttl);
    let start = whole_minute(now);
    let safe_at = if low { start } else { after(start, ttl) };
    let agreed_at = after(safe_at, lowered);
    let label = relative(&first.owner, &first.zone);
    let record = |ttl: u32, data: &str| format!("{label} {ttl} {} {data}", shown.rtype);
    let what = if shown.rtype == "CNAME" { "target" } else { "value" };
    let mut stages = Vec::new();
    if !low {
        stages.push(PlanStage {
            kind: StageKind::Lower,
            at: now,
            title: format!("Lower the TTL to {LOWERED}"),
            when: format!("now, {}", clock_utc(now, now)),
            record: record(LOWERED, &shown.data),
            detail: format!("same {what}, shorter life; old copies live {}", human_seconds(ttl.into())),
            lasts: Some(ttl),
        });
    }
    stages.push(PlanStage {
        kind: StageKind::Change,
        at: safe_at,
        title: format!("Change the {what}"),
        when: if low { "whenever you like".into() } else { format!("{} or later", clock_utc(safe_at, now)) },
        record: record(lowered, &format!("new {what}")),
        detail: format!("the old {what} is cached for {} at most", human_seconds(lowered.into())),
        lasts: Some(lowered),
    });
    stages.push(PlanStage {
        kind: StageKind::Raise,
        at: agreed_at,
        title: if low { "All caches agree".into() } else { "Raise the TTL again".into() },
        when: if low {
            format!("{} after the change", human_seconds(lowered.into()))
        } else {
            format!("from {}, {} after the change", clock_utc(agreed_at, now), human_seconds(lowered.into()))
        },
        record: record(ttl, &format!("new {what}")),
        detail: if low {
            "nothing else to do".into()
        } else {
            format!("back to {} once the change has proved itself", human_seconds(ttl.into()))
        },
        lasts: None,
    });
    let notes = notes(chain, &missing, negative_ttl, ttl);
    let sentence = sentence(ttl, lowered, low, safe_at, now);
    Some(TtlPlan {
        name: first.owner.clone(),
        rtype: shown.rtype,
        ttl,
        lowered,
        negative_ttl,
        missing,
        sentence,
        notes,
        stages,
        safe_at,
    })
}

struct Shown {
    rtype: String,
    data: String,
}

/// The record that is changed: the alias, or the first type that has data.
fn shown(step: &ChainStep) -> Option<Shown> {
    if let Some(target) = &step.target {
        return Some(Shown { rtype: "CNAME".into(), data: format!("{target}.") });
    }
    let with = step.answers.iter().find(|a| a.outcome == TypeOutcome::Records)?;
    Some(Shown { rtype: with.rtype.clone(), data: with.data.first().cloned()? })
}

fn sentence(ttl: u32, lowered: u32, low: bool, safe_at: Timestamp, now: Timestamp) -> String {
    let span = human_seconds(ttl.into());
    if low {
        return format!(
            "The TTL is {span} already: change it whenever you like, and {span} later every cache that obeys has the \
             new value."
        );
    }
    format!(
        "A resolver that asked a second ago keeps the old answer for {span}. Shorten the TTL first, and change it after \
         {}: then a mistake costs {}, not {span}.",
        clock_utc(safe_at, now),
        human_seconds(lowered.into())
    )
}

fn notes(chain: &[ChainStep], missing: &[String], negative: Option<u32>, ttl: u32) -> Vec<String> {
    let mut out = Vec::new();
    if let (false, Some(n)) = (missing.is_empty(), negative) {
        out.push(format!(
            "There is no {} record. Resolvers cache that for up to {}: one that you add is not seen everywhere \
             before that.",
            missing.join(" and no "),
            human_seconds(n.into())
        ));
    }
    let zone = chain.first().map_or("", |s| s.zone.as_str());
    let slow = chain.iter().skip(1).filter(|s| s.zone != zone && s.ttl.is_some_and(|t| t > ttl));
    if let Some((s, t)) = slow.filter_map(|s| Some((s, s.ttl?))).max_by_key(|(_, t)| *t) {
        out.push(format!(
            "{} is kept for {}, longer than the alias; what is changed there is in the hands of {}.",
            s.owner,
            human_seconds(t.into()),
            s.provider.as_ref().map_or(s.zone.as_str(), |p| p.name.as_str())
        ));
    }
    let own = chain.iter().skip(1).filter(|s| s.zone == zone && s.ttl.is_some_and(|t| t > LOWERED));
    let own: Vec<_> =
        own.filter_map(|s| Some(format!("{} ({})", s.owner, human_seconds(s.ttl?.into())))).collect();
    if !own.is_empty() {
        out.push(format!(
            "To change what the alias leads to instead, lower the TTL there: {}.",
            own.join(", ")
        ));
    }
    out
}

/// The owner as it stands in its zone's file: `@` for the apex.
fn relative(owner: &str, zone: &str) -> String {
    if owner == zone {
        return "@".into();
    }
    owner.strip_suffix(zone).and_then(|l| l.strip_suffix('.')).unwrap_or(owner).to_string()
}

fn after(at: Timestamp, seconds: u32) -> Timestamp {
    plus(at, seconds.into())
}

/// The next whole minute: a time said to the minute must not be too early.
fn whole_minute(at: Timestamp) -> Timestamp {
    let over = at.as_second().rem_euclid(60);
    let exact = over == 0 && at.subsec_nanosecond() == 0;
    let up = Timestamp::from_second(at.as_second() + if exact { 0 } else { 60 - over });
    up.unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::fqdn::TypeAnswer;
    use crate::tools::fqdn::samples::{alias, end, soa};

    fn now() -> Timestamp {
        "2026-11-20T14:04:31Z".parse().unwrap()
    }

    #[test]
    fn a_long_ttl_is_lowered_first_and_times_are_never_too_early() {
        let chain = [
            alias("www.alder.example", "alder.example", "edge.cdn.example", 86_400),
            end("edge.cdn.example", "cdn.example", &[("A", &["203.0.113.80"])], 60),
        ];
        let plan = ttl_plan(&chain, now()).unwrap();
        assert_eq!(plan.safe_at.to_string(), "2026-11-21T14:05:00Z");
        let kinds: Vec<_> = plan.stages.iter().map(|s| (s.kind, s.at.to_string())).collect();
        assert_eq!(
            kinds,
            [
                (StageKind::Lower, "2026-11-20T14:04:31Z".into()),
                (StageKind::Change, "2026-11-21T14:05:00Z".into()),
                (StageKind::Raise, "2026-11-21T14:10:00Z".into()),
            ]
        );
        assert_eq!(plan.stages[0].record, "www 300 CNAME edge.cdn.example.");
        assert_eq!(plan.stages[1].when, "14:05 UTC tomorrow or later");
        assert_eq!(plan.stages[2].record, "www 86400 CNAME new target");
        assert!(plan.sentence.contains("1 day") && plan.sentence.contains("5 min"), "{}", plan.sentence);
    }

    #[test]
    fn a_short_ttl_needs_no_preparation() {
        let chain = [end("alder.example", "alder.example", &[("A", &["203.0.113.80"]), ("AAAA", &[])], 120)];
        let plan = ttl_plan(&chain, now()).unwrap();
        assert_eq!(plan.stages.len(), 2);
        assert_eq!((plan.ttl, plan.lowered), (120, 120));
        assert_eq!(plan.stages[0].record, "@ 120 A new value");
        assert_eq!(plan.missing, ["AAAA"]);
        assert!(
            plan.notes[0].contains("no AAAA record") && plan.notes[0].contains("30 min"),
            "{:?}",
            plan.notes
        );
    }

    #[test]
    fn the_ttl_of_others_is_mentioned_not_planned_with() {
        let chain = [
            alias("www.alder.example", "alder.example", "edge.cdn.example", 300),
            end("edge.cdn.example", "cdn.example", &[("A", &["203.0.113.80"])], 7200),
        ];
        let plan = ttl_plan(&chain, now()).unwrap();
        assert_eq!(plan.safe_at.to_string(), "2026-11-20T14:05:00Z");
        assert!(
            plan.notes.iter().any(|n| n.contains("edge.cdn.example is kept for 2 h")),
            "{:?}",
            plan.notes
        );
    }

    #[test]
    fn the_longest_ttl_of_the_addresses_counts_and_no_other_types() {
        let mut step = end("alder.example", "alder.example", &[("A", &["203.0.113.80"])], 7200);
        step.answers.push(TypeAnswer {
            rtype: "TXT".into(),
            outcome: TypeOutcome::Records,
            data: vec!["x".into()],
            ttl: Some(60),
        });
        step.ttl = Some(60);
        assert_eq!(ttl_plan(&[step.clone()], now()).unwrap().ttl, 7200);
        // A server that still gives a longer one has put it into caches.
        step.servers = vec![crate::tools::chain::AuthorityServer {
            zone: "alder.example".into(),
            owner: "alder.example".into(),
            server: "ns2.alder.example".into(),
            address: None,
            kind: crate::dns::AnswerKind::Answer,
            records: vec![crate::dns::Record {
                name: "alder.example".into(),
                rtype: "A".into(),
                ttl: 86_400,
                data: "203.0.113.80".into(),
            }],
            ttl: Some(86_400),
            serial: None,
            latency_ms: None,
            nsid: None,
            notes: Vec::new(),
        }];
        let plan = ttl_plan(&[step], now()).unwrap();
        assert_eq!((plan.ttl, plan.safe_at.to_string().as_str()), (86_400, "2026-11-21T14:05:00Z"));
    }

    #[test]
    fn nothing_served_nothing_planned() {
        assert_eq!(ttl_plan(&[], now()), None);
        let mut gone = end("x.alder.example", "alder.example", &[("A", &[])], 60);
        gone.ttl = None;
        assert_eq!(ttl_plan(&[gone], now()), None);
    }

    #[test]
    fn the_end_of_time_does_not_panic() {
        let mut step =
            end("alder.example", "alder.example", &[("A", &["192.0.2.1"]), ("AAAA", &[])], u32::MAX);
        step.soa = Some(soa("alder.example", u32::MAX, u32::MAX));
        assert!(ttl_plan(&[step], Timestamp::MAX).is_some());
    }
}
