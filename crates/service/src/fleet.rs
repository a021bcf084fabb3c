//! The fleet: identity of the installation, and its points of presence.

use crate::ApiResult;
use async_trait::async_trait;
use model::Timestamp;
use model::ids::{Caller, LogPosition};
use model::places::{Looked, PlaceAnswer};
use model::third_party::ThirdPartyLook;
use model::web_places::WebPlace;
use serde::{Deserialize, Serialize};

/// A claim about the installation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterClaim {
    /// Its name.
    pub name: String,
    /// Position of the newest change.
    pub rv: LogPosition,
    /// Metadata as JSON text.
    pub metadata: String,
    /// Its value.
    pub value: String,
    /// When it was added.
    pub created_at: Timestamp,
}

/// A claim to add or change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterClaimDraft {
    /// Its name.
    pub name: String,
    /// The position it must be at; `None`: it must not exist yet.
    pub expected: Option<LogPosition>,
    /// Metadata as JSON text.
    pub metadata: String,
    /// Its value.
    pub value: String,
    /// True to check and store nothing.
    pub dry_run: bool,
}

/// Whether a point of presence works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentState {
    /// It asks for work.
    Online,
    /// It ends its work and stops.
    Draining,
    /// It said that it stops, and was not seen for 45 seconds.
    Stopped,
    /// It was not seen for 45 seconds and did not say that it stops.
    Offline,
}

/// A point of presence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentView {
    /// Its identity.
    pub id: String,
    /// Where it is, in the operator's words.
    pub region: String,
    /// Version of its program.
    pub version: String,
    /// The version of the protocol it speaks.
    pub protocol: u32,
    /// Whether it works.
    pub state: AgentState,
    /// When it joined.
    pub joined_at: Timestamp,
    /// When it was seen last.
    pub seen_at: Timestamp,
    /// When its first answer was accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_answer_at: Option<Timestamp>,
    /// Time of a short request to this server, in milliseconds.
    pub latency_ms: Option<u32>,
    /// The hours of the last day in which it was measured, oldest first.
    #[serde(default)]
    pub hours: Vec<LatencyHour>,
    /// Questions that wait for it or that it works on.
    pub queue: u64,
}

/// How far a point of presence was away from this server in an hour.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyHour {
    /// When the hour began.
    pub at: Timestamp,
    /// Half of the requests were shorter, in milliseconds.
    pub median: u32,
    /// 95 of 100 were shorter, in milliseconds.
    pub p95: u32,
}

/// A request to join that was refused although its token was valid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedJoin {
    /// The identity that it asked for, which a member has.
    pub id: String,
    /// A free identity.
    pub suggested: String,
    /// The network that it came from; empty when that is not known.
    pub network: String,
    /// Where it says that it is; empty when it says nothing.
    #[serde(default)]
    pub region: String,
    /// Version of its program.
    #[serde(default)]
    pub version: String,
    /// When.
    pub at: Timestamp,
}

/// A measurement network of a third party, and what was used of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThirdPartyView {
    /// Its name.
    pub name: String,
    /// Address of its API.
    pub address: String,
    /// Whether a token or key is set.
    pub has_key: bool,
    /// Measurements of today (UTC).
    pub used_today: u32,
    /// Most measurements of a day.
    pub daily: u32,
    /// Credits that are left, as it said last.
    pub credits: Option<i64>,
    /// When it said so.
    pub credits_at: Option<Timestamp>,
}

/// The fleet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetReport {
    /// Identity of this installation (`id.k8s.io`).
    pub id: String,
    /// The set it is a member of (`clusterset.k8s.io`).
    pub set: Option<String>,
    /// Further claims: how many, and octets of their values.
    pub claims: (u64, u64),
    /// Points of presence, by identity.
    pub agents: Vec<AgentView>,
    /// Requests to join with a valid token that were refused in the last day, newest first.
    #[serde(default)]
    pub refused: Vec<RefusedJoin>,
    /// Measurement networks of third parties; empty while their feature is off.
    pub third_parties: Vec<ThirdPartyView>,
    /// The version of this program.
    pub version: String,
    /// The oldest and the newest version of the protocol that agents may speak.
    #[serde(default)]
    pub protocols: (u32, u32),
    /// The feature that is off, if points of presence are: none is asked, and each is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feature_off: Option<String>,
    /// Whether the caller may add and revoke.
    pub may_change: bool,
    /// The server's clock.
    pub now: Timestamp,
}

/// A token to join with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentToken {
    /// Shown once.
    pub token: String,
    /// When it ends, unless it is used before.
    pub expires_at: Timestamp,
}

/// The calls. Each method is an [`Action`](crate::policy::Action) of the same name. The fleet belongs to the first
/// organisation of the installation.
#[async_trait]
pub trait FleetBackend: Send + Sync + 'static {
    /// Claims after a name, by name, at most `limit`. Other organisations than the first see those of identity only.
    async fn cluster_claims(&self, caller: &Caller, after: &str, limit: u32) -> ApiResult<Vec<ClusterClaim>>;
    /// Adds or changes a claim, or previews that.
    async fn save_cluster_claim(&self, caller: &Caller, draft: &ClusterClaimDraft)
    -> ApiResult<ClusterClaim>;
    /// Deletes a claim; returns it as it was.
    async fn delete_cluster_claim(
        &self,
        caller: &Caller,
        name: &str,
        expected: Option<LogPosition>,
    ) -> ApiResult<ClusterClaim>;
    /// The installation and its points of presence.
    async fn fleet(&self, caller: &Caller) -> ApiResult<FleetReport>;
    /// Makes a token with which one agent can join; `id` is what it will be called, empty where that is open.
    async fn invite_agent(&self, caller: &Caller, id: &str) -> ApiResult<AgentToken>;
    /// Removes a point of presence: its key is refused from now on.
    async fn revoke_agent(&self, caller: &Caller, id: &str) -> ApiResult<()>;
    /// What the authoritative servers say when asked from here and from every point of presence; empty without any.
    async fn ask_places(&self, caller: &Caller, name: &str, rtype: &str) -> ApiResult<Looked<PlaceAnswer>>;
    /// What a web server answers at a path, asked from here and from every point of presence.
    async fn ask_web(&self, caller: &Caller, name: &str, path: &str) -> ApiResult<Looked<WebPlace>>;
    /// What places of third parties get for a name and type, from the name server that is named or from their own
    /// resolvers; empty while the feature is off.
    async fn ask_third_parties(
        &self,
        caller: &Caller,
        name: &str,
        rtype: &str,
        server: &str,
    ) -> ApiResult<ThirdPartyLook>;
}
