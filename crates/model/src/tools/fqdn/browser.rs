//! What a visitor's browser was told by one public resolver, as a vantage point. In: the resolver's answers for the
//! address types. Out: a [`VantageAnswer`] that [`super::report`] compares with the others. Answers may be cached
//! copies: their TTL is what is left of it, so no step carries one and no advice is made from it.

use super::{ChainStep, TypeAnswer, TypeOutcome, VantageAnswer, VantageKind};
use crate::tools::resolver_answer::ResolverAnswer;
use crate::tools::resolvers::{Filtering, PublicResolver};
use jiff::Timestamp;

/// The types a browser asks for.
pub const BROWSER_TYPES: [&str; 2] = ["A", "AAAA"];
/// Aliases that are followed in one answer.
const STEPS: usize = 32;

/// The resolvers a browser is sent to: those that answer any page and filter nothing, in the order of the table.
pub fn askable(all: &[PublicResolver], most: usize) -> Vec<PublicResolver> {
    let plain = all.iter().filter(|r| r.json.is_some() && r.filtering == Filtering::None);
    plain.take(most).cloned().collect()
}

/// The vantage point of a browser that asked `resolver`; `said` has the type beside each answer.
pub fn browser_vantage(
    resolver: &PublicResolver,
    name: &str,
    said: &[(&str, ResolverAnswer)],
    asked_at: Timestamp,
) -> VantageAnswer {
    let end = steps(name, said);
    let last = end.last().map_or(name, |(_, target)| target.as_str()).to_string();
    let answers: Vec<TypeAnswer> = said.iter().map(|(rtype, a)| answer(rtype, &last, a)).collect();
    let error = said.iter().find_map(|(rtype, a)| why_not(rtype, a));
    let mut chain: Vec<ChainStep> = Vec::new();
    if error.is_none() {
        chain.extend(end.into_iter().map(|(owner, target)| step(owner, Some(target), Vec::new())));
        chain.push(step(last, None, answers.clone()));
    }
    let slowest = said.iter().filter_map(|(_, a)| a.latency_ms).reduce(f64::max);
    VantageAnswer {
        id: format!("browser-{}", resolver.id),
        label: format!("your browser via {}", resolver.name),
        place: Some("over HTTPS; may be a cached copy".into()),
        kind: VantageKind::Browser,
        chain,
        answers,
        latency_ms: slowest,
        asked_at,
        error,
        bogus: None,
    }
}

/// Owner and target of each alias, from the name on.
fn steps(name: &str, said: &[(&str, ResolverAnswer)]) -> Vec<(String, String)> {
    let plain = |n: &str| n.trim_end_matches('.').to_ascii_lowercase();
    let mut at = plain(name);
    let mut out: Vec<(String, String)> = Vec::new();
    while out.len() < STEPS {
        let mut records = said.iter().flat_map(|(_, a)| &a.records);
        let Some(alias) = records.find(|r| r.rtype == "CNAME" && plain(&r.name) == at) else { break };
        let target = plain(&alias.data);
        if out.iter().any(|(owner, _)| *owner == target) {
            break;
        }
        out.push((at, target.clone()));
        at = target;
    }
    out
}

fn step(owner: String, target: Option<String>, answers: Vec<TypeAnswer>) -> ChainStep {
    ChainStep {
        owner,
        zone: String::new(),
        target,
        answers,
        ttl: None,
        soa: None,
        servers: Vec::new(),
        agree: true,
        provider: None,
        wildcard: None,
        beside: Vec::new(),
        problems: Vec::new(),
    }
}

fn answer(rtype: &str, owner: &str, a: &ResolverAnswer) -> TypeAnswer {
    let of_type: Vec<_> =
        a.records.iter().filter(|r| r.rtype == rtype && r.name.eq_ignore_ascii_case(owner)).collect();
    let mut data: Vec<String> = of_type.iter().map(|r| r.data.clone()).collect();
    data.sort();
    let outcome = match a.rcode.as_deref() {
        Some("NOERROR") if !data.is_empty() => TypeOutcome::Records,
        Some("NOERROR") => TypeOutcome::NoData,
        Some("NXDOMAIN") => TypeOutcome::NxDomain,
        _ => TypeOutcome::Failed,
    };
    TypeAnswer { rtype: rtype.into(), outcome, data, ttl: of_type.iter().map(|r| r.ttl).min() }
}

fn why_not(rtype: &str, a: &ResolverAnswer) -> Option<String> {
    if let Some(why) = &a.error {
        return Some(why.clone());
    }
    let rcode = a.rcode.as_deref().unwrap_or("no answer");
    if matches!(rcode, "NOERROR" | "NXDOMAIN") {
        return None;
    }
    let more = a.errors.iter().map(|e| e.text.as_str()).find(|t| !t.is_empty());
    Some(match more {
        Some(text) => format!("it says {rcode} for {rtype}: {text}"),
        None => format!("it says {rcode} for {rtype}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::doh_json::{failed, read};
    use crate::tools::fqdn::{Tone, report, samples};

    fn now() -> Timestamp {
        "2026-11-20T14:05:00Z".parse().unwrap()
    }

    fn resolver() -> PublicResolver {
        crate::tools::resolvers::parse(
            "[[resolver]]\nid = \"one\"\nname = \"One\"\noperator = \"One\"\ncountry = \"x\"\n\
             json = \"https://one.example/resolve\"\naddresses = [\"192.0.2.1\"]",
        )
        .unwrap()
        .remove(0)
    }

    fn said(text: &str) -> ResolverAnswer {
        read("one", text, now(), Some(20.0)).unwrap()
    }

    const ALIAS: &str = r#"{"name":"WWW.alder.example.","type":5,"TTL":100,"data":"Edge.cdn.example."}"#;

    fn with_address(data: &str) -> ResolverAnswer {
        said(&format!(
            r#"{{"Status":0,"Answer":[{ALIAS},{{"name":"edge.cdn.example.","type":1,"TTL":30,"data":"{data}"}}]}}"#
        ))
    }

    fn server() -> VantageAnswer {
        let last =
            samples::end("edge.cdn.example", "cdn.example", &[("A", &["203.0.113.80"]), ("AAAA", &[])], 60);
        VantageAnswer {
            id: "local".into(),
            label: "This server".into(),
            place: None,
            kind: VantageKind::Server,
            answers: last.answers.clone(),
            chain: vec![samples::alias("www.alder.example", "alder.example", "edge.cdn.example", 300), last],
            latency_ms: None,
            asked_at: now(),
            bogus: None,
            error: None,
        }
    }

    #[test]
    fn a_browser_that_is_told_the_same_agrees() {
        let none = said(&format!(r#"{{"Status":0,"Answer":[{ALIAS}]}}"#));
        let v = browser_vantage(
            &resolver(),
            "www.alder.example",
            &[("A", with_address("203.0.113.80")), ("AAAA", none)],
            now(),
        );
        assert_eq!(v.chain.len(), 2);
        assert_eq!((v.chain[1].owner.as_str(), v.chain[1].ttl), ("edge.cdn.example", None));
        assert_eq!(v.answers[1].outcome, TypeOutcome::NoData);
        let r = report("www.alder.example", vec![server(), v.clone()], now());
        assert_eq!(r.differences, "Both places see the same.");
        assert_eq!(r.chain_from, "This server");
        // Alone it gives a chain, and no advice from the TTL that happens to be left.
        let r = report("www.alder.example", vec![v], now());
        assert_eq!((r.chain.len(), r.ttl_plan, r.tone), (2, None, Tone::Ok));
    }

    #[test]
    fn an_old_copy_is_a_difference_and_a_failure_is_none() {
        let old =
            browser_vantage(&resolver(), "www.alder.example", &[("A", with_address("192.0.2.7"))], now());
        let r = report("www.alder.example", vec![server(), old], now());
        assert!(r.differences.starts_with("The answers differ"), "{}", r.differences);
        assert!(r.differences.contains("your browser via One sees 192.0.2.7"), "{}", r.differences);
        let blocked = [("A", with_address("203.0.113.80")), ("AAAA", failed("one", "blocked", now()))];
        let v = browser_vantage(&resolver(), "www.alder.example", &blocked, now());
        assert_eq!((v.error.as_deref(), v.chain.len()), (Some("blocked"), 0));
        let servfail = said(r#"{"Status":2,"Comment":"EDE(22): No reachable authority"}"#);
        let v = browser_vantage(&resolver(), "www.alder.example", &[("A", servfail)], now());
        assert_eq!(v.error.as_deref(), Some("it says SERVFAIL for A: No reachable authority"));
        let r = report("www.alder.example", vec![server(), v], now());
        assert!(r.differences.contains("got no answer"), "{}", r.differences);
    }

    #[test]
    fn aliases_in_a_circle_end() {
        let circle = said(
            r#"{"Status":0,"Answer":[{"name":"a.example.","type":5,"TTL":1,"data":"b.example."},
                {"name":"b.example.","type":5,"TTL":1,"data":"a.example."}]}"#,
        );
        let v = browser_vantage(&resolver(), "a.example", &[("A", circle)], now());
        assert_eq!(v.chain.len(), 2);
    }

    #[test]
    fn filtering_resolvers_are_left_out() {
        let mut filtering = resolver();
        filtering.filtering = Filtering::Ads;
        let mut silent = resolver();
        silent.json = None;
        assert_eq!(askable(&[filtering, silent, resolver(), resolver()], 1), [resolver()]);
    }
}
