//! What an agent and its server say to each other: JSON over HTTP, the agent always begins.
//!
//! `POST /agent/v1/join` once, with a token; then `/agent/v1/poll`, which waits until there is work, and
//! `/agent/v1/answer`. Each request is signed by the agent's key and each response by the server's, over the address, the
//! agent's identity, a stamp that only grows (so that nothing can be played again), and the body.

use jiff::Timestamp;
use model::certificate::{Hop, HttpObservation};
use model::compare::Authority;
use model::fqdn::VantageAnswer;
use model::names::Fqdn;
use model::web_places::WebAnswer;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

/// The version of the protocol that is spoken here. Version 2 came with [`Question::Web`].
pub const PROTOCOL: u32 = 2;
/// The oldest version that is understood.
pub const OLDEST_PROTOCOL: u32 = 1;
/// Longest answer of an agent, octets.
pub const ANSWER_MAX: usize = 1 << 20;

/// A token to join with: a secret that works once, and the key by which the agent knows the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinToken {
    /// The secret, `dsj_…`.
    pub secret: String,
    /// The public half of the server's key.
    pub server_key: String,
}

impl JoinToken {
    /// As it is shown once.
    pub fn text(&self) -> String {
        format!("{}.{}", self.secret, self.server_key)
    }

    /// Reads the form that is shown; `None` when it is none.
    pub fn read(text: &str) -> Option<Self> {
        let (secret, server_key) = text.trim().split_once('.')?;
        (secret.starts_with("dsj_") && !server_key.is_empty())
            .then(|| JoinToken { secret: secret.into(), server_key: server_key.into() })
    }
}

/// The request to become a member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Join {
    /// The newest version of the protocol that the agent speaks.
    pub protocol: u32,
    /// The secret of the token.
    pub token: String,
    /// The identity it asks for; empty: the server makes one.
    #[serde(default)]
    pub id: String,
    /// Where it is, in the operator's words.
    #[serde(default)]
    pub region: String,
    /// Version of its program.
    pub version: String,
    /// The public half of its key.
    pub key: String,
}

/// The answer to [`Join`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Joined {
    /// The identity of the agent.
    pub id: String,
    /// The set it is a member of.
    pub set: String,
    /// The identity of the server.
    pub server: String,
    /// The version of the protocol to speak.
    pub protocol: u32,
}

/// The request for work. Fields that a version does not know are skipped.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Poll {
    /// The version of the protocol.
    pub protocol: u32,
    /// Version of its program.
    pub version: String,
    /// Questions that it works on.
    pub running: u32,
    /// How many more it takes.
    pub capacity: u32,
    /// The time that the last short request took, in milliseconds.
    #[serde(default)]
    pub latency_ms: Option<u32>,
    /// True when it is about to stop: it takes no more work.
    #[serde(default)]
    pub draining: bool,
    /// How long to wait for work, in milliseconds.
    #[serde(default)]
    pub wait_ms: u32,
}

/// The answer to [`Poll`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PollReply {
    /// What to do.
    pub work: Vec<Work>,
}

/// A question with its number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// Its number: the answer names it.
    pub id: String,
    /// After this instant the answer is of no use.
    pub until: Timestamp,
    /// What to do.
    pub question: Question,
}

/// What an agent may be asked: public questions to name servers and web servers, nothing of an organisation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum Question {
    /// A host name, as the FQDN analyzer looks at it.
    Host {
        /// The name.
        name: String,
    },
    /// What the authoritative servers say.
    Authority {
        /// The name.
        name: String,
        /// The record type.
        rtype: String,
    },
    /// What a web server answers over HTTPS and HTTP.
    Web {
        /// The host name.
        name: String,
        /// The path.
        path: String,
    },
    /// A question of a later version; the answer says so.
    #[serde(other)]
    Unknown,
}

impl Question {
    /// The version of the protocol that a question came with: agents of earlier versions can't read it.
    pub fn since(&self) -> u32 {
        match self {
            Question::Host { .. } | Question::Authority { .. } => 1,
            Question::Web { .. } | Question::Unknown => 2,
        }
    }
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// To [`Question::Host`].
    Host {
        /// What it saw.
        seen: Box<VantageAnswer>,
    },
    /// To [`Question::Authority`].
    Authority {
        /// What it saw.
        seen: Box<Authority>,
    },
    /// To [`Question::Web`].
    Web {
        /// What it saw.
        seen: Box<WebAnswer>,
    },
    /// It could not be answered.
    Failed {
        /// Why.
        reason: String,
    },
}

/// The answer with its number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnswerSent {
    /// The number of the question.
    pub work: String,
    /// The answer.
    pub answer: Answer,
}

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

/// Longest name in presentation form, in octets: 255 octets, each written as `\DDD` at most.
const NAME: usize = 1_020;
/// Keys of names in answers.
const NAMES: [&str; 8] = ["name", "owner", "zone", "target", "server", "wildcard", "mname", "rname"];
/// Longest text of an answer that is no name, in octets: a TXT record of the largest message.
const LONGEST: usize = 4 * 65_535;

/// Refuses names that can't be, and control characters in any text: answers are shown to people and written to logs.
fn accept_texts(key: &str, value: &serde_json::Value) -> Result<(), AnswerError> {
    use serde_json::Value;
    match value {
        Value::String(text) if text.chars().any(char::is_control) => {
            Err(AnswerError::TooMuch("control characters"))
        }
        Value::String(text) if text.len() > if NAMES.contains(&key) { NAME } else { LONGEST } => {
            Err(AnswerError::TooMuch("characters in a name or text"))
        }
        Value::Array(list) => list.iter().try_for_each(|v| accept_texts(key, v)),
        Value::Object(map) => map.iter().try_for_each(|(k, v)| accept_texts(k, v)),
        _ => Ok(()),
    }
}

/// The same of anything that is stored as JSON.
fn accept_all_texts(seen: &impl Serialize) -> Result<(), AnswerError> {
    let value = serde_json::to_value(seen).map_err(|_| AnswerError::OtherKind)?;
    accept_texts("", &value)
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
            accept_all_texts(&seen)?;
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
            accept_all_texts(&seen)?;
            Ok(Answer::Authority { seen })
        }
        (Question::Web { name, path }, Answer::Web { seen }) => {
            same_name(name, &seen.host)?;
            if seen.path != *path {
                return Err(AnswerError::OtherKind);
            }
            accept_web(&seen.https, "https", name, path)?;
            accept_web(&seen.http, "http", name, path)?;
            if seen.latency_ms.is_some_and(|ms| !(0.0..=1e6).contains(&ms)) {
                return Err(AnswerError::TooMuch("milliseconds"));
            }
            Ok(Answer::Web { seen })
        }
        _ => Err(AnswerError::OtherKind),
    }
}

/// What is signed.
#[derive(Debug, Clone, Copy)]
pub struct SignedRequest<'a> {
    /// The path of the address.
    pub path: &'a str,
    /// The identity of the agent.
    pub agent: &'a str,
    /// Microseconds of the agent's clock; grows with every request.
    pub stamp: i64,
    /// The body.
    pub body: &'a [u8],
}

impl SignedRequest<'_> {
    fn text(&self, who: &str) -> String {
        let hash = data_encoding::HEXLOWER.encode(digest(&SHA256, self.body).as_ref());
        format!("domainscope-{who}-v1\n{}\n{}\n{}\n{hash}", self.path, self.agent, self.stamp)
    }

    /// The text that an agent signs.
    pub fn of_agent(&self) -> String {
        self.text("agent")
    }

    /// The text that a server signs; `body` is that of the response, the rest that of the request.
    pub fn of_server(&self) -> String {
        self.text("server")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!((asked.since(), PROTOCOL), (2, 2));
    }

    #[test]
    fn a_question_of_a_later_version_is_read_as_such() {
        let text =
            r#"{"work":[{"id":"1","until":"2026-11-20T12:00:00Z","question":{"ask":"weather","at":["x"]}}]}"#;
        let reply: PollReply = serde_json::from_str(text).unwrap();
        assert_eq!(reply.work[0].question, Question::Unknown);
        assert!(accept(&Question::Unknown, Answer::Failed { reason: "no".into() }).is_ok());
    }

    #[test]
    fn a_token_carries_the_key_of_the_server() {
        let token = JoinToken { secret: "dsj_abc".into(), server_key: "key".into() };
        assert_eq!(JoinToken::read(&token.text()), Some(token));
        assert_eq!(JoinToken::read("dst_abc.key"), None);
        assert_eq!(JoinToken::read("dsj_abc"), None);
    }

    /// What a first-version agent sends; it must be read for as long as version 1 is understood.
    const HOST: &str = r#"{"id":"gru-1","label":"gru-1","place":null,"kind":"agent","chain":[],"answers":[],"latency_ms":12,"asked_at":"2026-11-20T12:00:00Z","error":null}"#;
}
