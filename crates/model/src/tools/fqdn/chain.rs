//! What is wrong with a chain of aliases, step by step. In: the steps as seen. Out: the same with their problems.
//! RFC 1034 section 3.6.2, RFC 2181 section 10.1 (a CNAME stands alone), RFC 1912 section 2.4.

use super::{ChainProblem, ChainStep, ProblemKind, TypeOutcome};
use crate::base::time::human_seconds;
use crate::finding::Level;
use std::collections::BTreeSet;

/// Chains longer than this many aliases are said to be too long: common resolvers give up between 8 and 16.
pub const LONG_CHAIN: usize = 8;
/// TTLs above this make a change slow, seconds.
pub const LONG_TTL: u32 = 43_200;
/// TTLs below this make visitors wait for the DNS often, seconds.
pub const SHORT_TTL: u32 = 30;

/// Marks the problems of each step.
pub fn judge_chain(chain: &mut [ChainStep]) {
    let mut seen = BTreeSet::new();
    let first_owner = chain.first().map(|s| s.provider.clone());
    let zone = chain.first().map(|s| s.zone.clone()).unwrap_or_default();
    let aliases = chain.iter().filter(|s| s.target.is_some()).count();
    let last = chain.len().saturating_sub(1);
    for (i, step) in chain.iter_mut().enumerate() {
        let mut problems = Vec::new();
        seen.insert(step.owner.clone());
        if let Some(target) = &step.target {
            if seen.contains(target) {
                problems.push(looped(step, target));
            }
            if step.owner == step.zone {
                problems.push(apex(step));
            }
            if !step.beside.is_empty() {
                problems.push(beside(step));
            }
        }
        if i == 0 && aliases > LONG_CHAIN {
            problems.push(too_long(aliases));
        }
        problems.extend(end_of(step, i == last, aliases > 0));
        problems.extend(servers(step));
        if i > 0
            && step.zone != zone
            && step.provider.is_some()
            && first_owner.as_ref() != Some(&step.provider)
        {
            problems.push(other_hands(step));
        }
        problems.extend(ttl(step));
        problems.extend(wildcard(step));
        step.problems = problems;
    }
    // Said once, at the first step that leaves: the rest is over there anyway.
    let mut left = false;
    for step in chain.iter_mut() {
        step.problems.retain(|p| p.kind != ProblemKind::OtherProvider || !std::mem::replace(&mut left, true));
    }
}

fn problem(kind: ProblemKind, level: Level, label: &str, sentence: String, fix: &str) -> ChainProblem {
    ChainProblem { kind, level, label: label.into(), sentence, fix: fix.into() }
}

fn looped(step: &ChainStep, target: &str) -> ChainProblem {
    let sentence = if *target == step.owner {
        format!("{target} is an alias of itself: no resolver gets to an answer.")
    } else {
        format!(
            "{} leads back to {target}: the aliases go round in a circle, no resolver gets to an answer.",
            step.owner
        )
    };
    problem(
        ProblemKind::Loop,
        Level::Critical,
        "Loop",
        sentence,
        "Let one of the names lead to an address, or to a name outside the circle.",
    )
}

fn apex(step: &ChainStep) -> ChainProblem {
    problem(
        ProblemKind::ApexCname,
        Level::Error,
        "CNAME at apex",
        format!(
            "{} is the apex of its zone and holds SOA and NS records; a CNAME must not stand beside them (RFC 1912 \
             section 2.4), and resolvers may lose mail and delegation.",
            step.owner
        ),
        "Use A and AAAA records here, or what your provider offers for the purpose (ALIAS, ANAME, flattening).",
    )
}

fn beside(step: &ChainStep) -> ChainProblem {
    problem(
        ProblemKind::CnameAndOther,
        Level::Error,
        "CNAME beside other records",
        format!(
            "{} has a CNAME and {} too; which one a resolver follows is chance (RFC 2181 section 10.1).",
            step.owner,
            step.beside.join(", ")
        ),
        "Remove the other records, or the CNAME.",
    )
}

fn too_long(aliases: usize) -> ChainProblem {
    problem(
        ProblemKind::TooLong,
        Level::Warning,
        "Long chain",
        format!(
            "{aliases} aliases follow each other. Common resolvers give up after 8 to 16, and every one costs a question."
        ),
        "Let the first name lead closer to the end.",
    )
}

/// What the end of the chain lacks.
fn end_of(step: &ChainStep, last: bool, after_alias: bool) -> Option<ChainProblem> {
    if !last || step.target.is_some() || step.answers.is_empty() {
        return None;
    }
    let any = |o: TypeOutcome| step.answers.iter().any(|a| a.outcome == o);
    let is_address = |t: &str| matches!(t, "A" | "AAAA");
    let wants_address = step.answers.iter().any(|a| is_address(&a.rtype));
    let others: Vec<&str> =
        step.answers.iter().filter(|a| a.outcome == TypeOutcome::Records).map(|a| a.rtype.as_str()).collect();
    if others.iter().any(|t| !wants_address || is_address(t)) {
        return None;
    }
    if let [first, ..] = others.as_slice() {
        let level = if after_alias { Level::Error } else { Level::Notice };
        let sentence = format!("{} has no address; of the types asked for it has {first}", step.owner);
        let more = if others.len() > 1 { format!(" and {} more.", others.len() - 1) } else { ".".into() };
        return Some(problem(ProblemKind::Dangling, level, "No address", sentence + &more, ""));
    }
    if any(TypeOutcome::NxDomain) {
        let sentence = if after_alias {
            format!(
                "{} does not exist: the alias leads nowhere, and anyone who can create that name takes it over.",
                step.owner
            )
        } else {
            format!("{} does not exist.", step.owner)
        };
        let fix = if after_alias { "Remove the alias, or create its target." } else { "" };
        let label = if after_alias { "Leads nowhere" } else { "Does not exist" };
        return Some(problem(ProblemKind::Dangling, Level::Error, label, sentence, fix));
    }
    if any(TypeOutcome::NoData) {
        let types: Vec<&str> = step.answers.iter().map(|a| a.rtype.as_str()).collect();
        return Some(problem(
            ProblemKind::Dangling,
            Level::Error,
            "No address",
            format!("{} exists but has none of {}.", step.owner, types.join(", ")),
            if after_alias { "Give the target an address, or let the alias lead elsewhere." } else { "" },
        ));
    }
    None
}

fn servers(step: &ChainStep) -> Option<ChainProblem> {
    let failed = !step.answers.is_empty() && step.answers.iter().all(|a| a.outcome == TypeOutcome::Failed);
    if failed {
        return Some(problem(
            ProblemKind::NoAnswer,
            Level::Critical,
            "No answer",
            format!("No server of {} answers usefully for {}.", words(&step.zone), step.owner),
            "Look at the trace of this name: it shows what each server says.",
        ));
    }
    (!step.agree).then(|| {
        problem(
            ProblemKind::Disagree,
            Level::Warning,
            "Servers disagree",
            format!("The servers of {} give different answers for {}.", words(&step.zone), step.owner),
            "Compare their serials: a secondary may not have fetched the newest zone. Answers by location are no fault.",
        )
    })
}

fn words(zone: &str) -> String {
    if zone == "." { "the root".into() } else { zone.to_string() }
}

fn other_hands(step: &ChainStep) -> ChainProblem {
    let who = step.provider.as_ref().map_or(step.zone.as_str(), |p| p.name.as_str());
    problem(
        ProblemKind::OtherProvider,
        Level::Info,
        "Other provider",
        format!(
            "From here on {who} decides ({}); changes there don't need the approval of the first name's owner.",
            step.zone
        ),
        "",
    )
}

fn ttl(step: &ChainStep) -> Option<ChainProblem> {
    let (ttl, longest) = step.ttls()?;
    if longest > LONG_TTL {
        return Some(problem(
            ProblemKind::LongTtl,
            Level::Notice,
            "Long TTL",
            format!(
                "Copies of this live {}: a change takes that long to be seen everywhere.",
                human_seconds(longest.into())
            ),
            "Lower it before you plan a change.",
        ));
    }
    (ttl < SHORT_TTL).then(|| {
        problem(
            ProblemKind::ShortTtl,
            Level::Notice,
            "Short TTL",
            format!(
                "Copies live {} only: nearly every visitor waits for the DNS.",
                human_seconds(ttl.into())
            ),
            "Raise it to a minute or more once nothing is about to change.",
        )
    })
}

fn wildcard(step: &ChainStep) -> Option<ChainProblem> {
    let from = step.wildcard.as_ref()?;
    Some(problem(
        ProblemKind::Wildcard,
        Level::Info,
        "From a wildcard",
        format!(
            "{} has no records of its own: the answer is made from {from}, as for any other name there.",
            step.owner
        ),
        "",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dns::{Provider, ProviderKind};
    use crate::tools::fqdn::samples::{alias, end};

    fn kinds(mut chain: Vec<ChainStep>) -> Vec<Vec<ProblemKind>> {
        judge_chain(&mut chain);
        chain.iter().map(|s| s.problems.iter().map(|p| p.kind).collect()).collect()
    }

    fn www() -> ChainStep {
        alias("www.alder.example", "alder.example", "edge.cdn.example", 300)
    }

    #[test]
    fn a_sound_chain_has_no_problems() {
        let last = end("edge.cdn.example", "cdn.example", &[("A", &["203.0.113.80"]), ("AAAA", &[])], 60);
        assert_eq!(kinds(vec![www(), last]), [vec![], vec![]]);
    }

    #[test]
    fn circles_of_any_length_are_found() {
        let own = alias("a.example", "example", "a.example", 300);
        assert_eq!(kinds(vec![own]), [[ProblemKind::Loop]]);
        for length in [2, 5, 50] {
            let chain: Vec<_> = (0..length)
                .map(|i| {
                    alias(
                        &format!("n{i}.x.example"),
                        "x.example",
                        &format!("n{}.x.example", (i + 1) % length),
                        300,
                    )
                })
                .collect();
            let found = kinds(chain);
            assert_eq!(found.last().unwrap(), &[ProblemKind::Loop], "{length}");
            assert_eq!(found[0].contains(&ProblemKind::TooLong), length > LONG_CHAIN);
        }
    }

    #[test]
    fn a_target_that_is_missing_is_dangling() {
        let mut gone = end("edge.cdn.example", "cdn.example", &[("A", &[])], 60);
        gone.answers[0].outcome = TypeOutcome::NxDomain;
        gone.ttl = None;
        let found = kinds(vec![www(), gone.clone()]);
        assert_eq!(found[1], [ProblemKind::Dangling]);
        gone.answers[0].outcome = TypeOutcome::NoData;
        assert_eq!(kinds(vec![www(), gone.clone()])[1], [ProblemKind::Dangling]);
        gone.answers[0].outcome = TypeOutcome::Failed;
        assert_eq!(kinds(vec![www(), gone])[1], [ProblemKind::NoAnswer]);
    }

    #[test]
    fn apex_company_and_ttls_are_told() {
        let mut apex = alias("alder.example", "alder.example", "edge.cdn.example", 86_400);
        apex.beside = vec!["MX".into()];
        let last = end("edge.cdn.example", "cdn.example", &[("A", &["203.0.113.80"])], 5);
        let found = kinds(vec![apex, last]);
        assert_eq!(found[0], [ProblemKind::ApexCname, ProblemKind::CnameAndOther, ProblemKind::LongTtl]);
        assert_eq!(found[1], [ProblemKind::ShortTtl]);
    }

    #[test]
    fn other_hands_are_said_once() {
        let by = |name: &str| Some(Provider { name: name.into(), kind: ProviderKind::Known });
        let mut chain = vec![
            www(),
            alias("edge.cdn.example", "cdn.example", "pop.cdn.example", 300),
            end("pop.cdn.example", "cdn.example", &[("A", &["203.0.113.80"])], 60),
        ];
        chain[0].provider = by("Meridian DNS");
        chain[1].provider = by("Harbor CDN");
        chain[2].provider = by("Harbor CDN");
        assert_eq!(kinds(chain), [vec![], vec![ProblemKind::OtherProvider], vec![]]);
    }
}
