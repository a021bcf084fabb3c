//! Answers of all places put together: the headline, the differences in one sentence, the chain, the plan.

use super::{ChainStep, FqdnReport, Tone, TypeOutcome, VantageAnswer, VantageKind, judge_chain, ttl_plan};
use crate::finding::Level;
use crate::judgement::cause::Cause;
use crate::tools::chain::{alias_loop, no_server_address};
use crate::tools::rdata::rdata_key;
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// Types whose data are compared between places.
const COMPARED: [&str; 2] = ["A", "AAAA"];

/// The report on a name from what each place saw.
pub fn report(name: &str, vantages: Vec<VantageAnswer>, now: Timestamp) -> FqdnReport {
    let seen = vantages
        .iter()
        .find(|v| v.kind == VantageKind::Server && !v.chain.is_empty())
        .or_else(|| vantages.iter().find(|v| !v.chain.is_empty()));
    let (mut chain, chain_from) =
        seen.map_or((Vec::new(), String::new()), |v| (v.chain.clone(), v.label.clone()));
    judge_chain(&mut chain);
    let addresses: BTreeSet<IpAddr> = vantages.iter().flat_map(addresses).collect();
    let sets = sets(&vantages);
    let cause = cause(&vantages, &chain);
    let tone = match cause {
        Some(_) => Tone::Critical,
        None => tone(&vantages, &chain, sets.len() > 1),
    };
    FqdnReport {
        name: name.into(),
        tone,
        headline: match &cause {
            Some(cause) => headline_of(cause, addresses.len()),
            None => headline(&vantages, &chain, addresses.len(), tone),
        },
        cause,
        differences: differences(&vantages, &sets),
        chain_words: chain_words(&chain),
        chain_from,
        addresses: addresses.into_iter().collect(),
        address_space: Vec::new(),
        ttl_plan: ttl_plan(&chain, now),
        chain,
        vantages,
        now,
    }
}

fn addresses(v: &VantageAnswer) -> Vec<IpAddr> {
    let data = v.answers.iter().filter(|a| COMPARED.contains(&a.rtype.as_str())).flat_map(|a| &a.data);
    data.filter_map(|d| d.parse().ok()).collect()
}

/// The places by what they were given, places that failed left out.
fn sets(vantages: &[VantageAnswer]) -> BTreeMap<Vec<String>, Vec<&VantageAnswer>> {
    let mut sets: BTreeMap<Vec<String>, Vec<&VantageAnswer>> = BTreeMap::new();
    for v in vantages.iter().filter(|v| answered(v)) {
        let mut keys: Vec<String> = v
            .answers
            .iter()
            .filter(|a| COMPARED.contains(&a.rtype.as_str()))
            .flat_map(|a| a.data.iter().map(|d| rdata_key(&a.rtype, d)))
            .collect();
        keys.sort();
        keys.dedup();
        sets.entry(keys).or_default().push(v);
    }
    sets
}

fn answered(v: &VantageAnswer) -> bool {
    v.error.is_none() && v.answers.iter().any(|a| a.outcome != TypeOutcome::Failed)
}

fn differences(vantages: &[VantageAnswer], sets: &BTreeMap<Vec<String>, Vec<&VantageAnswer>>) -> String {
    let silent: Vec<&str> = vantages.iter().filter(|v| !answered(v)).map(|v| v.label.as_str()).collect();
    let tail = match silent.as_slice() {
        [] => String::new(),
        [one] => format!("; {one} got no answer"),
        many => format!("; {} got no answer", list(many)),
    };
    match sets.len() {
        0 => "No place got an answer.".into(),
        1 => {
            let n = sets.values().next().map_or(0, Vec::len);
            let who = match n {
                1 => "Only one place answered, so nothing is compared".to_string(),
                2 => "Both places see the same".to_string(),
                n => format!("All {n} places see the same"),
            };
            if n == 1 && vantages.len() == 1 {
                return "Seen from one place; others are compared as they answer.".into();
            }
            format!("{who}{tail}.")
        }
        _ => {
            let parts: Vec<String> = sets
                .iter()
                .map(|(keys, who)| {
                    let names: Vec<&str> = who.iter().map(|v| v.label.as_str()).collect();
                    let what = if keys.is_empty() { "no address".into() } else { list(keys) };
                    format!("{} {} {what}", list(&names), if names.len() == 1 { "sees" } else { "see" })
                })
                .collect();
            let why = if sets.values().flatten().any(|v| v.kind == VantageKind::Browser) {
                " A browser’s answer may be an older copy in its resolver, or one by location."
            } else {
                " Answers by location are no fault; within one region they should agree."
            };
            format!("The answers differ: {}{tail}.{why}", parts.join("; "))
        }
    }
}

fn list<S: AsRef<str>>(items: &[S]) -> String {
    match items {
        [] => String::new(),
        [one] => one.as_ref().to_string(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", first.join(", "), last.as_ref())
        }
    }
}

fn tone(vantages: &[VantageAnswer], chain: &[ChainStep], differ: bool) -> Tone {
    let resolves = vantages.iter().filter(|v| answered(v)).all(|v| !addresses(v).is_empty());
    let any = vantages.iter().any(|v| !addresses(v).is_empty());
    let worst = chain.iter().flat_map(|s| &s.problems).map(|p| p.level).max();
    match (any, resolves) {
        (false, _) => Tone::Critical,
        (true, false) => Tone::Warning,
        (true, true) if worst >= Some(Level::Warning) => Tone::Warning,
        (true, true) if differ => Tone::Notice,
        (true, true) => Tone::Ok,
    }
}

/// The worst cause the answers themselves show.
fn cause(vantages: &[VantageAnswer], chain: &[ChainStep]) -> Option<Cause> {
    let own = alias_loop(chain).or_else(|| no_server_address(chain));
    own.into_iter().chain(vantages.iter().filter_map(|v| v.bogus.clone())).min()
}

fn headline_of(cause: &Cause, addresses: usize) -> String {
    match cause {
        Cause::Bogus { .. } if addresses > 0 => {
            format!("It resolves only without DNSSEC validation. {}", cause.headline())
        }
        _ => format!("It does not resolve. {}", cause.headline()),
    }
}

fn headline(vantages: &[VantageAnswer], chain: &[ChainStep], addresses: usize, tone: Tone) -> String {
    let count = match addresses {
        1 => "one address".to_string(),
        2 => "two addresses".into(),
        3 => "three addresses".into(),
        n => format!("{n} addresses"),
    };
    // No one got as far as asking for the name: that says nothing about it.
    let blind = |v: &VantageAnswer| v.chain.is_empty() && v.answers.is_empty();
    if let Some(why) = vantages.iter().find_map(|v| v.error.as_ref()).filter(|_| vantages.iter().all(blind)) {
        return format!("It could not be looked at: {why}.");
    }
    let places = vantages.iter().filter(|v| answered(v)).count();
    let worst = chain.iter().flat_map(|s| &s.problems).max_by_key(|p| p.level);
    match tone {
        Tone::Ok if places > 1 => format!("It resolves from all {places} places asked, to {count}."),
        Tone::Ok => format!("It resolves, to {count}."),
        Tone::Notice => {
            format!("It resolves from all {places} places asked, to {count}; the answers differ.")
        }
        Tone::Warning => {
            let why = worst.filter(|p| p.level >= Level::Warning).map(|p| format!(" {}", p.sentence));
            format!("It resolves, to {count}, but not all is well.{}", why.unwrap_or_default())
        }
        Tone::Critical => {
            let why = worst.filter(|p| p.level >= Level::Error).map(|p| format!(" {}", p.sentence));
            let failed = vantages.iter().find_map(|v| v.error.as_ref()).map(|e| format!(" {e}."));
            format!("It does not resolve.{}", why.or(failed).unwrap_or_default())
        }
    }
}

fn chain_words(chain: &[ChainStep]) -> String {
    let zones: BTreeSet<&str> = chain.iter().map(|s| s.zone.as_str()).filter(|z| !z.is_empty()).collect();
    let looped = chain.iter().flat_map(|s| &s.problems).any(|p| p.kind == super::ProblemKind::Loop);
    let plural = |n: usize, one: &str| if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") };
    if chain.len() == 1 && !looped {
        return format!("no alias, {}", plural(zones.len(), "zone"));
    }
    format!(
        "{}, {}, {}",
        plural(chain.len(), "step"),
        plural(zones.len(), "zone"),
        if looped { "a loop" } else { "no loop" }
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::fqdn::samples::{alias, end};

    fn now() -> Timestamp {
        "2026-11-20T14:05:00Z".parse().unwrap()
    }

    fn place(label: &str, kind: VantageKind, data: &[&str]) -> VantageAnswer {
        let last = end("edge.cdn.example", "cdn.example", &[("A", data)], 60);
        VantageAnswer {
            id: label.to_lowercase(),
            label: label.into(),
            place: None,
            kind,
            answers: last.answers.clone(),
            chain: vec![alias("www.alder.example", "alder.example", "edge.cdn.example", 300), last],
            latency_ms: Some(11.0),
            asked_at: now(),
            bogus: None,
            error: None,
        }
    }

    #[test]
    fn one_place_makes_no_claim_about_others() {
        let r = report(
            "www.alder.example",
            vec![place("This server", VantageKind::Server, &["203.0.113.80"])],
            now(),
        );
        assert_eq!(r.tone, Tone::Ok);
        assert_eq!(r.headline, "It resolves, to one address.");
        assert_eq!(r.chain_words, "2 steps, 2 zones, no loop");
        assert!(r.differences.starts_with("Seen from one place"));
    }

    #[test]
    fn places_that_agree_and_places_that_differ_are_one_sentence_each() {
        let server = place("This server", VantageKind::Server, &["203.0.113.80"]);
        let same = place("Your browser", VantageKind::Browser, &["203.0.113.80"]);
        let other = place("pop-nrt", VantageKind::Agent, &["192.0.2.80"]);
        let r = report("www.alder.example", vec![server.clone(), same.clone()], now());
        assert_eq!((r.differences.as_str(), r.tone), ("Both places see the same.", Tone::Ok));
        let r = report("www.alder.example", vec![server, same, other], now());
        assert_eq!(
            r.differences,
            "The answers differ: pop-nrt sees 192.0.2.80; This server and Your browser see 203.0.113.80. A browser’s \
             answer may be an older copy in its resolver, or one by location."
        );
        assert_eq!(r.headline, "It resolves from all 3 places asked, to two addresses; the answers differ.");
        assert_eq!(r.tone, Tone::Notice, "a difference is not green");
        assert_eq!(r.addresses.len(), 2);
    }

    #[test]
    fn nothing_anywhere_is_critical_and_says_why() {
        let mut v = place("This server", VantageKind::Server, &[]);
        v.chain[1].answers[0].outcome = TypeOutcome::NxDomain;
        v.answers[0].outcome = TypeOutcome::NxDomain;
        let r = report("www.alder.example", vec![v], now());
        assert_eq!(r.tone, Tone::Critical);
        assert!(r.headline.contains("edge.cdn.example does not exist"), "{}", r.headline);
        let mut v = place("This server", VantageKind::Server, &[]);
        (v.chain, v.answers) = (Vec::new(), Vec::new());
        v.error = Some("no server of alder.example answers usefully".into());
        let r = report("www.alder.example", vec![v], now());
        assert_eq!(r.headline, "It could not be looked at: no server of alder.example answers usefully.");
        assert_eq!(r.ttl_plan, None);
    }

    #[test]
    fn a_place_that_failed_is_named_and_not_counted() {
        let mut broken = place("pop-lhr", VantageKind::Agent, &[]);
        broken.error = Some("the agent is offline".into());
        let r =
            report("w", vec![place("This server", VantageKind::Server, &["203.0.113.80"]), broken], now());
        assert!(r.differences.contains("pop-lhr got no answer"), "{}", r.differences);
        assert_eq!(r.tone, Tone::Ok);
    }
}
