//! All answers together: counts, when all will be right, one sentence; and the reason to stop before asking anybody.

use super::words;
use super::{
    Authority, AuthorityOutcome, Comparison, Judged, StopReason, Stopped, Summary, Verdict, VerdictKind,
};
use crate::base::time::{clock_utc, human_seconds, plus};
use jiff::Timestamp;

impl Stopped {
    /// Why resolvers must not be asked about this without confirmation; `None` when they may.
    pub fn by(authority: &Authority) -> Option<Stopped> {
        let (name, rtype) = (&authority.name, &authority.rtype);
        match authority.outcome {
            AuthorityOutcome::Serves => None,
            AuthorityOutcome::NoAnswer => Some(Stopped {
                reason: StopReason::NoAuthority,
                sentence: match authority.cause.as_ref() {
                    Some(cause) => {
                        format!("{name} does not resolve. {} No resolver was queried.", cause.headline())
                    }
                    None => format!(
                        "No authoritative server answers for {name}, so there is nothing to compare with. No resolver \
                         was queried."
                    ),
                },
                consequence:
                    "Resolvers can still be asked: their answers are then shown without a verdict on what is \
                              right."
                        .into(),
            }),
            AuthorityOutcome::NoData | AuthorityOutcome::NxDomain => {
                let end = authority.aliases.last().map(|r| r.data.trim_end_matches('.'));
                let subject = end.map_or_else(|| name.clone(), |t| format!("{name} leads to {t}, which"));
                let what = if authority.outcome == AuthorityOutcome::NxDomain {
                    format!("{subject} does not exist")
                } else {
                    format!("{subject} has no {rtype} record")
                };
                let span = authority.negative_ttl.map(|t| human_seconds(t.into()));
                let memory = span.clone().map_or_else(String::new, |s| format!(" for up to {s}"));
                let until = authority
                    .negative_ttl
                    .map(|t| clock_utc(plus(authority.asked_at, t.into()), authority.asked_at));
                Some(Stopped {
                    reason: StopReason::Denied,
                    sentence: format!(
                        "The authoritative servers say that {what}. No resolver was queried: each would cache the \
                         negative answer{memory} and hide the record from its users after you create it."
                    ),
                    consequence: match until {
                        Some(t) => format!(
                            "Querying them anyway puts a negative answer into every cache; a record created \
                             now may then stay missing there until {t}."
                        ),
                        None => "Querying them anyway puts a negative answer into every cache.".into(),
                    },
                })
            }
        }
    }
}

/// Puts a comparison together.
pub fn compare(
    authority: Authority,
    stopped: Option<Stopped>,
    answers: Vec<Judged>,
    own: Vec<Judged>,
    now: Timestamp,
) -> Comparison {
    let summary = summarise(&authority, stopped.as_ref(), &answers, now);
    Comparison {
        authority,
        stopped,
        answers,
        own,
        summary,
        earlier: Vec::new(),
        address_space: Vec::new(),
        now,
    }
}

/// What these answers come to.
pub fn summarise(
    authority: &Authority,
    stopped: Option<&Stopped>,
    answers: &[Judged],
    now: Timestamp,
) -> Summary {
    let count = |k: VerdictKind| answers.iter().filter(|j| j.verdict.kind() == k).count() as u32;
    let counts: Vec<_> = VerdictKind::ALL.iter().map(|k| (*k, count(*k))).filter(|(_, n)| *n > 0).collect();
    let total = answers.len() as u32;
    let answered = total - count(VerdictKind::Pending);
    let waiting = || answers.iter().filter(|j| j.verdict.waits());
    let all_right_at = waiting().filter_map(|j| j.verdict.right_at()).max();
    // One that waits without a known end leaves the whole without one.
    let known = waiting()
        .filter(|j| !matches!(j.verdict, Verdict::Different { .. }))
        .all(|j| j.verdict.right_at().is_some());
    let everywhere = stopped.is_none() && count(VerdictKind::Same) > 0 && waiting().next().is_none();
    let mut summary = Summary {
        sentence: String::new(),
        counts,
        answered,
        total,
        all_right_at: all_right_at.filter(|_| known),
        everywhere,
    };
    let invalid =
        answers.iter().filter(|j| j.verdict == Verdict::Failing && fails_validation(j)).count() as u32;
    summary.sentence = match stopped {
        Some(s) => s.sentence.clone(),
        None => sentence(authority, &summary, invalid, now),
    };
    summary
}

/// Whether a resolver says that it failed because DNSSEC does not validate.
fn fails_validation(j: &Judged) -> bool {
    j.answer.as_ref().is_some_and(|a| a.errors.iter().any(|e| words::is_dnssec(e.code)))
}

/// `invalid` of the failing resolvers say that DNSSEC does not validate.
fn sentence(authority: &Authority, s: &Summary, invalid: u32, now: Timestamp) -> String {
    let n = |k: VerdictKind| s.counts.iter().find(|(c, _)| *c == k).map_or(0, |(_, n)| *n);
    if s.total == 0 {
        return authority.sentence.clone();
    }
    let (same, asked) = (n(VerdictKind::Same), s.total);
    if s.answered == 0 {
        return format!("{asked} resolvers are being queried.");
    }
    let say = |k: VerdictKind, one: &str, many: &str| match n(k) {
        0 => None,
        1 => Some(format!("1 {one}")),
        m => Some(format!("{m} {many}")),
    };
    let why = match (invalid, n(VerdictKind::Failing)) {
        (0, _) => String::new(),
        (a, b) if a == b => " because DNSSEC does not validate".into(),
        (a, _) => format!(" ({a} because DNSSEC does not validate)"),
    };
    let rest: Vec<String> = [
        say(VerdictKind::Stale, "still gives an old answer", "still give an old answer"),
        say(
            VerdictKind::NegativeCached,
            "has cached that it does not exist",
            "have cached that it does not exist",
        ),
        say(VerdictKind::Different, "gives another answer", "give another answer"),
        say(VerdictKind::Filtered, "blocks it", "block it"),
        say(VerdictKind::Failing, "gives no usable answer", "give no usable answer").map(|w| w + &why),
        say(VerdictKind::Pending, "is still being queried", "are still being queried"),
    ]
    .into_iter()
    .flatten()
    .collect();
    let agree = match (same, asked) {
        (a, b) if a == b => format!("All {b} resolvers agree with the authoritative servers"),
        (0, b) => format!("None of {b} resolvers agrees with the authoritative servers"),
        (a, b) => format!(
            "{a} of {b} resolvers {} with the authoritative servers",
            if a == 1 { "agrees" } else { "agree" }
        ),
    };
    let mut out = agree;
    if !rest.is_empty() {
        out.push_str("; ");
        out.push_str(&rest.join(", "));
    }
    out.push('.');
    if let Some(at) = s.all_right_at {
        let left = (at.as_second() - now.as_second()).max(0).unsigned_abs();
        if left > 0 {
            out.push_str(&format!(
                " The last old copy is gone by {}, in {}.",
                clock_utc(at, now),
                human_seconds(if left > 120 { left.div_ceil(60) * 60 } else { left })
            ));
        }
    }
    out
}
