//! Identities: who owns, who asks, from where something was seen. Newtypes so that they cannot be confused.

use crate::base::open_tools::ToolSet;
use serde::{Deserialize, Serialize};
use std::fmt;

/// An organisation. Everything owned (items, events, tags) belongs to exactly one; observations belong to none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OrgId(pub i64);

impl OrgId {
    /// The built-in organisation that exists from the first start.
    pub const BUILT_IN: OrgId = OrgId(1);

    /// The organisation of visitors without an account: none has this number.
    pub const NONE: OrgId = OrgId(0);
}

impl fmt::Display for OrgId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An event in the event log of an organisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EventId(pub i64);

/// A kept snapshot of an observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SnapshotId(pub i64);

/// A place in the change log. Increases in commit order; the only cursor live pages, feeds and watches use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LogPosition(pub i64);

/// The place an observation was made from: this server, or a POP agent.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Vantage(pub String);

impl Vantage {
    /// The vantage of the server itself.
    pub fn local() -> Self {
        Vantage("local".into())
    }
}

impl fmt::Display for Vantage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A person's account. Random and unguessable, yet never an authorisation by itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UserId(pub String);

impl fmt::Display for UserId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a caller may do inside its organisation, from least to most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Reads.
    Viewer,
    /// Adds, tags, rescans.
    Member,
    /// Changes settings.
    Admin,
    /// Everything.
    Owner,
}

/// Who asks. Every backend call takes one; organisation isolation hangs on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caller {
    /// The organisation the caller acts in.
    pub org: OrgId,
    /// Name shown in the audit log and beside acknowledgements.
    pub who: String,
    /// What the caller may do.
    pub role: Role,
    /// The person's account; `None` for tokens and for the product itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserId>,
    /// Identifier of the person's session, not its secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Identifier of the API token that was presented, not its secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Address of the client, for the audit log; empty for the product itself.
    #[serde(default)]
    pub address: String,
    /// Of a visitor without an account: the tools that are open to it. It may do nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visitor: Option<ToolSet>,
}

impl Caller {
    /// The product acting by itself (schedules, the command line on the same machine).
    pub fn system() -> Self {
        Caller::new(OrgId::BUILT_IN, "system", Role::Owner)
    }

    /// A caller without an account.
    pub fn new(org: OrgId, who: impl Into<String>, role: Role) -> Self {
        Caller {
            org,
            who: who.into(),
            role,
            user: None,
            session: None,
            token: None,
            address: String::new(),
            visitor: None,
        }
    }

    /// A visitor without an account, who acts in no organisation. `client` is what its limits are counted by.
    pub fn visitor(tools: ToolSet, client: &str) -> Self {
        Caller { visitor: Some(tools), ..Caller::new(OrgId::NONE, format!("visitor {client}"), Role::Viewer) }
    }
}
