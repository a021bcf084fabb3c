//! Which answers of a point of presence are taken: those to the question that was asked, no larger than a look can be, and
//! with nothing in their texts that could harm a reader.

use crate::protocol::{Answer, Question};
use model::certificate::{Hop, HttpObservation};
use model::names::Fqdn;
use serde::Serialize;

/// Why an answer is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// It answers another question.
    #[error("the answer is about {got}, the question was about {asked}")]
    OtherQuestion {
        /// What was asked.
        asked: String,
        /// What was answered.
        got: String,
    },
    /// It is of another kind.
    #[error("the answer is of another kind than the question")]
    OtherKind,
    /// It says nothing.
    #[error("the answer says neither what was seen nor why nothing was")]
    Nothing,
    /// It holds too much.
    #[error("the answer has more {0} than a look can have")]
    TooMuch(&'static str),
}

/// Most servers or steps of an answer.
const MANY: usize = 1_000;

/// Most resolvers of an answer.
const RESOLVERS: usize = 200;

/// Longest name in presentation form, in octets: 255 octets, each written as `\DDD` at most.
const NAME: usize = 1_020;
/// Keys of names in answers.
const NAMES: [&str; 8] = ["name", "owner", "zone", "target", "server", "wildcard", "mname", "rname"];
/// Longest text of an answer that is no name, in octets: a TXT record of the largest message.
const LONGEST: usize = 4 * 65_535;

/// Longest time of an answer, in milliseconds: no question waits that long.
const MS_MAX: f64 = 1e6;

/// Refuses names and times that can't be, and control characters in any text: answers are shown to people and written to
/// logs.
fn accept_values(key: &str, value: &serde_json::Value) -> Result<(), AnswerError> {
    use serde_json::Value;
    match value {
        Value::String(text) if text.chars().any(char::is_control) => {
            Err(AnswerError::TooMuch("control characters"))
        }
        Value::String(text) if text.len() > if NAMES.contains(&key) { NAME } else { LONGEST } => {
            Err(AnswerError::TooMuch("characters in a name or text"))
        }
        Value::Number(ms) if key == "latency_ms" && !ms.as_f64().is_some_and(is_time) => {
            Err(AnswerError::TooMuch("milliseconds"))
        }
        Value::Array(list) => list.iter().try_for_each(|v| accept_values(key, v)),
        Value::Object(map) => map.iter().try_for_each(|(k, v)| accept_values(k, v)),
        _ => Ok(()),
    }
}

fn is_time(ms: f64) -> bool {
    (0.0..=MS_MAX).contains(&ms)
}

/// The same of anything that is stored as JSON.
fn accept_all_values(seen: &impl Serialize) -> Result<(), AnswerError> {
    let value = serde_json::to_value(seen).map_err(|_| AnswerError::OtherKind)?;
    accept_values("", &value)
}

/// Most requests of an answer, redirects included.
const HOPS: usize = 8;
/// Longest text of a request or header field, in octets.
const TEXT: usize = 4_096;

/// Takes what was seen over a scheme only if it begins with the request that was asked for and is no larger than requests
/// can be.
fn accept_web(seen: &HttpObservation, scheme: &str, name: &str, path: &str) -> Result<(), AnswerError> {
    let asked = format!("{scheme}://{}{path}", name.trim_end_matches('.'));
    if let Some(first) = seen.hops.first().filter(|h| h.url != asked) {
        let got = first.url.chars().filter(|c| !c.is_control()).take(80).collect();
        return Err(AnswerError::OtherQuestion { asked, got });
    }
    if seen.hops.len() > HOPS {
        return Err(AnswerError::TooMuch("redirects"));
    }
    let texts = |h: &Hop| [Some(h.url.clone()), h.location.clone(), h.error.clone()];
    let mut all = seen.hops.iter().flat_map(texts).chain([seen.hsts.clone(), seen.alt_svc.clone()]);
    if all.any(|t| t.is_some_and(|t| t.len() > TEXT || t.chars().any(char::is_control))) {
        return Err(AnswerError::TooMuch("text, or control characters,"));
    }
    Ok(())
}

fn same_name(asked: &str, got: &str) -> Result<(), AnswerError> {
    let read = |t: &str| Fqdn::trusted(t.trim_end_matches('.').to_lowercase().as_str());
    if read(asked) == read(got) {
        return Ok(());
    }
    let cut = |t: &str| t.chars().filter(|c| !c.is_control()).take(80).collect();
    Err(AnswerError::OtherQuestion { asked: cut(asked), got: cut(got) })
}

/// Takes an answer only if it is one to the question.
///
/// # Errors
/// Why it is not.
pub fn accept(question: &Question, answer: Answer) -> Result<Answer, AnswerError> {
    match (question, answer) {
        (_, Answer::Failed { reason }) => {
            Ok(Answer::Failed { reason: reason.chars().filter(|c| !c.is_control()).take(300).collect() })
        }
        (Question::Host { name }, Answer::Host { seen }) => {
            match seen.chain.first() {
                Some(first) => same_name(name, &first.owner)?,
                // What could not be looked at has the reason, and no answers.
                None if seen.error.is_some() && seen.answers.is_empty() => {}
                None => return Err(AnswerError::Nothing),
            }
            if seen.chain.len() > MANY || seen.chain.iter().any(|s| s.servers.len() > MANY) {
                return Err(AnswerError::TooMuch("steps or servers"));
            }
            accept_all_values(&seen)?;
            Ok(Answer::Host { seen })
        }
        (Question::Authority { name, rtype }, Answer::Authority { seen }) => {
            same_name(name, &seen.name)?;
            if !seen.rtype.eq_ignore_ascii_case(rtype) {
                return Err(AnswerError::OtherKind);
            }
            if seen.servers.len() > MANY || seen.records.len() > MANY {
                return Err(AnswerError::TooMuch("servers or records"));
            }
            accept_all_values(&seen)?;
            Ok(Answer::Authority { seen })
        }
        (Question::Caches { .. }, Answer::Caches { seen }) => {
            if seen.len() > RESOLVERS || seen.iter().any(|a| a.records.len() > MANY) {
                return Err(AnswerError::TooMuch("resolvers or records"));
            }
            accept_all_values(&seen)?;
            Ok(Answer::Caches { seen })
        }
        (Question::Web { name, path }, Answer::Web { seen }) => {
            same_name(name, &seen.host)?;
            if seen.path != *path {
                return Err(AnswerError::OtherKind);
            }
            accept_web(&seen.https, "https", name, path)?;
            accept_web(&seen.http, "http", name, path)?;
            if seen.latency_ms.is_some_and(|ms| !is_time(ms)) {
                return Err(AnswerError::TooMuch("milliseconds"));
            }
            Ok(Answer::Web { seen })
        }
        _ => Err(AnswerError::OtherKind),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::PROTOCOL;
    use jiff::Timestamp;
    use model::compare::ResolverAnswer;
    use model::fqdn::VantageAnswer;
    use model::web_places::WebAnswer;

    #[test]
    fn only_answers_to_the_question_are_taken() {
        let asked = Question::Authority { name: "www.q7.io".into(), rtype: "A".into() };
        let failed = Answer::Failed { reason: "no\u{7}way".repeat(200) };
        let Ok(Answer::Failed { reason }) = accept(&asked, failed) else { panic!("taken") };
        assert_eq!((reason.chars().count(), reason.contains('\u{7}')), (300, false));
        let host: VantageAnswer = serde_json::from_str(HOST).unwrap();
        let host = Answer::Host { seen: Box::new(host) };
        assert_eq!(accept(&asked, host.clone()), Err(AnswerError::OtherKind));
        let other = Question::Host { name: "www.q7.io".into() };
        let Answer::Host { seen } = host else { panic!("it is one") };
        let taken = |seen: VantageAnswer| accept(&other, Answer::Host { seen: Box::new(seen) });
        assert_eq!(taken((*seen).clone()), Err(AnswerError::Nothing));
        let silent = VantageAnswer { error: Some("no route".into()), ..*seen };
        assert!(taken(silent.clone()).is_ok(), "it says why it saw nothing");
        let bell = VantageAnswer { error: Some("no \u{7}route".into()), ..silent.clone() };
        assert_eq!(taken(bell), Err(AnswerError::TooMuch("control characters")));
        // A step of the chain, as JSON, with what an agent may put into a name.
        let step = |owner: &str, target: &str| {
            let step = serde_json::json!({
                "owner": owner, "zone": "q7.io", "target": target, "answers": [], "ttl": 60, "soa": null, "servers": [],
                "agree": true, "provider": null, "wildcard": null,
            });
            VantageAnswer {
                error: None,
                chain: vec![serde_json::from_value(step).unwrap()],
                ..silent.clone()
            }
        };
        assert!(taken(step("www.q7.io", "a.example")).is_ok());
        assert!(taken(step("evil.example", "a.example")).is_err());
        for (target, words) in [("a\nb.example".to_string(), "control"), ("x".repeat(1_021), "name")] {
            let why = taken(step("www.q7.io", &target)).unwrap_err().to_string();
            assert!(why.contains(words), "{why}");
        }
        let told = VantageAnswer { error: None, ..step("www.q7.io", "a.example") };
        let told = VantageAnswer { chain: vec![], answers: vec![], ..told };
        assert_eq!(taken(told), Err(AnswerError::Nothing));
        assert!(same_name("www.q7.io", "WWW.q7.io.").is_ok());
        assert!(same_name("www.q7.io", "evil.example").unwrap_err().to_string().contains("evil.example"));
    }

    #[test]
    fn an_answer_of_a_web_server_is_of_the_host_and_path_that_were_asked_for() {
        let asked = Question::Web { name: "www.q7.io".into(), path: "/ok".into() };
        let hop = |url: &str| Hop { url: url.into(), status: Some(200), location: None, error: None };
        let seen = |hops| HttpObservation { hops, hsts: None, alt_svc: None };
        let good = WebAnswer {
            host: "www.q7.io".into(),
            path: "/ok".into(),
            https: seen(vec![hop("https://www.q7.io/ok")]),
            http: seen(vec![hop("http://www.q7.io/ok"), hop("https://elsewhere.example/")]),
            latency_ms: Some(3.5),
            asked_at: Timestamp::UNIX_EPOCH,
        };
        let taken = |answer: WebAnswer| accept(&asked, Answer::Web { seen: Box::new(answer) });
        assert!(taken(good.clone()).is_ok());
        let other = WebAnswer { host: "evil.example".into(), ..good.clone() };
        assert!(taken(other).unwrap_err().to_string().contains("evil.example"));
        let other = WebAnswer { path: "/admin".into(), ..good.clone() };
        assert_eq!(taken(other), Err(AnswerError::OtherKind));
        let other = WebAnswer { https: seen(vec![hop("https://evil.example/ok")]), ..good.clone() };
        assert!(taken(other).unwrap_err().to_string().contains("evil.example"));
        let many = WebAnswer { https: seen(vec![hop("https://www.q7.io/ok"); 9]), ..good.clone() };
        assert_eq!(taken(many), Err(AnswerError::TooMuch("redirects")));
        let mut long = hop("https://www.q7.io/ok");
        long.location = Some("x".repeat(5_000));
        let long = WebAnswer { https: seen(vec![long]), ..good.clone() };
        assert!(matches!(taken(long), Err(AnswerError::TooMuch(_))));
        let late = WebAnswer { latency_ms: Some(-1.0), ..good };
        assert!(matches!(taken(late), Err(AnswerError::TooMuch(_))));
        assert_eq!((asked.since(), PROTOCOL), (2, 3));
    }

    #[test]
    fn caches_are_bounded_and_hold_no_control_characters() {
        let asked = Question::Caches { name: "www.q7.io".into(), rtype: "A".into() };
        let one = ResolverAnswer {
            resolver: "quad9".into(),
            carried: None,
            rcode: Some("NOERROR".into()),
            records: vec![],
            ttl: None,
            soa: None,
            errors: vec![],
            latency_ms: None,
            asked_at: Timestamp::UNIX_EPOCH,
            error: None,
        };
        let taken = |seen| accept(&asked, Answer::Caches { seen });
        assert!(taken(vec![one.clone(); RESOLVERS]).is_ok());
        assert!(matches!(taken(vec![one.clone(); RESOLVERS + 1]), Err(AnswerError::TooMuch(_))));
        for ms in [-1.0, 1e7] {
            let wrong = ResolverAnswer { latency_ms: Some(ms), ..one.clone() };
            assert_eq!(taken(vec![wrong]), Err(AnswerError::TooMuch("milliseconds")));
        }
        assert!(taken(vec![ResolverAnswer { latency_ms: Some(12.5), ..one.clone() }]).is_ok());
        let harmful = ResolverAnswer { error: Some("\u{1b}[2J".into()), ..one };
        assert_eq!(taken(vec![harmful]), Err(AnswerError::TooMuch("control characters")));
        let host: VantageAnswer = serde_json::from_str(HOST).unwrap();
        assert_eq!(accept(&asked, Answer::Host { seen: Box::new(host) }), Err(AnswerError::OtherKind));
        assert_eq!(asked.since(), 3, "agents of version 2 can't read it");
    }

    /// What a first-version agent sends; it must be read for as long as version 1 is understood.
    const HOST: &str = r#"{"id":"gru-1","label":"gru-1","place":null,"kind":"agent","chain":[],"answers":[],"latency_ms":12,"asked_at":"2026-11-20T12:00:00Z","error":null}"#;
}
