//! Results of calls beyond the model's own types: the session, a one-off scan, the health checks.

use model::account::Membership;
use model::address_space::AddressSpace;
use model::detail::RawAnswer;
use model::ids::Caller;
use model::names::DomainName;
use model::observation::Observation;
use serde::{Deserialize, Serialize};

/// What a page needs to know about the process and the visitor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Who looks.
    pub caller: Caller,
    /// Name of the organisation.
    pub organisation: String,
    /// Every organisation the visitor is a member of, by name.
    #[serde(default)]
    pub memberships: Vec<Membership>,
    /// True when the product runs against its own lab.
    pub demo: bool,
    /// Version of the product.
    pub version: String,
    /// Days for which history is kept.
    #[serde(default)]
    pub keep_days: u32,
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
    /// Where its addresses lie in the organisation's registry of address space; empty while it claims none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub address_space: Vec<AddressSpace>,
    /// True when the inventory holds it.
    pub in_inventory: bool,
    /// When it was looked at.
    pub now: model::Timestamp,
}

/// A Domain Connect template to save: its text, or the URL where it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TemplateDraft {
    /// The JSON text; empty: it is at the URL.
    pub json: String,
    /// An http or https URL; empty: the text is given.
    pub url: String,
}

/// A link to the page on which a person without an account sets a service up on their domain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConnectRequest {
    /// Identifier of the service.
    pub service: String,
    /// In whose name the page speaks.
    pub brand: String,
    /// Accent colour, `#rrggbb`; empty: ours.
    #[serde(default)]
    pub accent: String,
    /// Mailbox or https address of help; empty: none.
    #[serde(default)]
    pub help: String,
    /// Days the link works.
    #[serde(default = "week")]
    pub days: u32,
}

fn week() -> u32 {
    7
}

/// A link that was made. Its path holds the secret and is shown once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreatedLink {
    /// Path on this server.
    pub path: String,
    /// From then on it does not work.
    pub expires_at: model::Timestamp,
}

/// What a customer page shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConnectView {
    /// Brand, help, expiry.
    pub link: model::configure::ConnectLink,
    /// The service now.
    pub report: model::configure::ServiceReport,
}

/// What the health checks found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckOutcome {
    /// The zone, as it goes on the wire.
    pub zone: String,
    /// True when servers or DS were given, as if the parent published them.
    pub before_a_move: bool,
    /// Why the registry takes the name off the net, where it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<model::cause::Cause>,
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
