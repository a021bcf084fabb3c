//! What an agent and its server say to each other: JSON over HTTP, the agent always begins.
//!
//! `POST /agent/v1/join` once, with a token; then `/agent/v1/poll`, which waits until there is work, and
//! `/agent/v1/answer`. Each request is signed by the agent's key and each response by the server's, over the address, the
//! agent's identity, a stamp that only grows (so that nothing can be played again), and the body.

use jiff::Timestamp;
use model::compare::{Authority, ResolverAnswer};
use model::fqdn::VantageAnswer;
use model::web_places::WebAnswer;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

/// The version of the protocol that is spoken here. Version 2 came with [`Question::Web`], version 3 with
/// [`Question::Caches`].
pub const PROTOCOL: u32 = 3;
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
    /// Numbers of the questions that it works on: others that were handed out to it did not arrive and are handed out again.
    /// Absent from agents that do not say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working: Option<Vec<String>>,
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
    /// What recursive resolvers say there: a resolver that is reached by anycast has another cache in each region.
    Caches {
        /// The name.
        name: String,
        /// The record type.
        rtype: String,
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
            Question::Caches { .. } => 3,
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
    /// To [`Question::Caches`].
    Caches {
        /// What each resolver said.
        seen: Vec<ResolverAnswer>,
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
    fn a_question_of_a_later_version_is_read_as_such() {
        let text =
            r#"{"work":[{"id":"1","until":"2026-11-20T12:00:00Z","question":{"ask":"weather","at":["x"]}}]}"#;
        let reply: PollReply = serde_json::from_str(text).unwrap();
        assert_eq!(reply.work[0].question, Question::Unknown);
        assert!(crate::accept(&Question::Unknown, Answer::Failed { reason: "no".into() }).is_ok());
    }

    #[test]
    fn a_token_carries_the_key_of_the_server() {
        let token = JoinToken { secret: "dsj_abc".into(), server_key: "key".into() };
        assert_eq!(JoinToken::read(&token.text()), Some(token));
        assert_eq!(JoinToken::read("dst_abc.key"), None);
        assert_eq!(JoinToken::read("dsj_abc"), None);
    }
}
