//! What the backend answers beyond the model's own types: failures, the session, a one-off scan. Both sides know it.

use model::detail::RawAnswer;
use model::ids::Caller;
use model::names::DomainName;
use model::observation::Observation;
use serde::{Deserialize, Serialize};

/// Why the backend did not do it, in a form a page can act on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(tag = "failure", content = "sentence", rename_all = "snake_case")]
pub enum Failure {
    /// There is no such thing here.
    #[error("{0}")]
    NotFound(String),
    /// Nobody is signed in.
    #[error("{0}")]
    SignIn(String),
    /// The caller may not do this.
    #[error("{0}")]
    Forbidden(String),
    /// The input breaks a rule; the sentence names both.
    #[error("{0}")]
    Invalid(String),
    /// The caller asks too much at once; the sentence says when to ask again.
    #[error("{0}")]
    TooMany(String),
    /// It can't be done now; trying again later may work.
    #[error("{0}")]
    Unavailable(String),
}

impl Failure {
    /// The status code of an HTTP answer that carries it (RFC 9110, RFC 6585).
    pub fn status(&self) -> u16 {
        match self {
            Failure::Invalid(_) => 400,
            Failure::SignIn(_) => 401,
            Failure::Forbidden(_) => 403,
            Failure::NotFound(_) => 404,
            Failure::TooMany(_) => 429,
            Failure::Unavailable(_) => 503,
        }
    }
}

/// Result of a backend call.
pub type Answer<T> = Result<T, Failure>;

/// What a page needs to know about the process and the visitor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Who looks.
    pub caller: Caller,
    /// Name of the organisation.
    pub organisation: String,
    /// True when the product runs against its own lab.
    pub demo: bool,
    /// Version of the product.
    pub version: String,
}

/// A look at a domain that need not be in the inventory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScanReport {
    /// What was typed came to this name.
    pub name: DomainName,
    /// The name as people read it.
    pub unicode: String,
    /// What had to be understood, in words.
    pub note: Option<String>,
    /// What was seen.
    pub observation: Observation,
    /// Raw registration answers.
    pub raw: Vec<RawAnswer>,
    /// True when the inventory holds it.
    pub in_inventory: bool,
    /// When it was looked at.
    pub now: model::Timestamp,
}

/// What the health checks found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckOutcome {
    /// The zone, as it goes on the wire.
    pub zone: String,
    /// True when servers or DS were given, as if the parent published them.
    pub before_a_move: bool,
    /// In the order of the test cases.
    pub findings: Vec<model::finding::Finding>,
    /// Test cases that ran.
    pub test_cases: Vec<String>,
    /// Questions sent.
    pub queries: u32,
    /// Wall time in milliseconds.
    pub elapsed_ms: f64,
    /// What holds for the whole.
    pub notes: Vec<String>,
    /// When it was asked.
    pub now: model::Timestamp,
}

/// The inventory as a page shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Inventory {
    /// The rows, and counts for the filters.
    pub page: model::inventory::Page,
    /// Scans that wait or run among the rows.
    pub scans: Vec<model::scan::ScanProgress>,
    /// The server's clock.
    pub now: model::Timestamp,
}

/// What the frame around every page shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// Who looks, at what.
    pub session: Session,
    /// The figures of the organisation.
    pub summary: model::inventory::Summary,
    /// The server's clock.
    pub now: model::Timestamp,
}

/// A page of the event log, with the clock to read its times by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventLog {
    /// The events.
    pub page: model::event::EventPage,
    /// The server's clock.
    pub now: model::Timestamp,
}

/// What the History tab shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// Kept states, newest first.
    pub snapshots: Vec<model::detail::SnapshotMeta>,
    /// The older of the two compared.
    pub from: Option<model::detail::SnapshotMeta>,
    /// The newer of the two compared.
    pub to: Option<model::detail::SnapshotMeta>,
    /// Their fields side by side.
    pub fields: Vec<model::fields::FieldDiff>,
    /// What held from when to when, from the newest states.
    pub lanes: Vec<model::timeline::Lane>,
    /// Raw answers of the newer one.
    pub raw: Vec<RawAnswer>,
    /// The server's clock.
    pub now: model::Timestamp,
}

/// Problems between browser and server become failures people can read.
impl server_fn::error::FromServerFnError for Failure {
    type Encoder = server_fn::codec::JsonEncoding;

    fn from_server_fn_error(value: server_fn::error::ServerFnErrorErr) -> Self {
        use server_fn::error::ServerFnErrorErr as E;
        match value {
            E::Args(why) | E::MissingArg(why) | E::Deserialization(why) | E::Serialization(why) => {
                Failure::Invalid(format!("The request could not be read: {why}"))
            }
            E::Request(_) => Failure::Unavailable(
                "The server could not be reached. Nothing was changed; try again.".into(),
            ),
            other => Failure::Unavailable(format!("The server could not do it: {other}")),
        }
    }
}
