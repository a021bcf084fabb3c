//! Identity of the installation, its points of presence, and what these are asked. Claims are logged for watches under the
//! built-in organisation. Work is short-lived: a question, taken by one agent, answered once.

use crate::accounts::audit;
use crate::agent_work;
use crate::api::Result;
use crate::cluster_claims;
use crate::codec::{instant, json, micros, read_json};
use crate::db::{Cells, Db, Tx, args};
use crate::joining;
use crate::store::Database;
use ::fleet::{ID_CLAIM, LatencySeries};
use async_trait::async_trait;
use jiff::Timestamp;
use model::account::Actor;
use model::ids::{LogPosition, OrgId};
use serde::{Deserialize, Serialize};

/// Most points of presence of a set.
pub const AGENTS_MAX: u64 = 500;

/// A claim about the installation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredClusterClaim {
    /// Its name.
    pub name: String,
    /// Position of the newest log entry about it.
    pub rv: LogPosition,
    /// Metadata as JSON text.
    pub metadata: String,
    /// Its value.
    pub value: String,
    /// When it was added.
    pub created_at: Timestamp,
}

/// A claim to write; it has passed [`fleet::check_claim`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterClaimWrite {
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

/// Why a claim about identity stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdentityRule {
    /// The identity can't change while the installation is a member of a set.
    IsMember,
    /// The installation always has an identity.
    IsRequired,
    /// The set has this many points of presence.
    HasAgents(u64),
    /// An installation has at most this many claims.
    TooMany(u64),
    /// All values together would have this many octets.
    TooLarge(u64),
}

/// What the claims other than the two of identity take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClaimsUsed {
    /// How many there are.
    pub count: u64,
    /// Octets of their values.
    pub octets: u64,
}

/// A point of presence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    /// Its identity, unique in the set.
    pub id: String,
    /// Where it is, in the operator's words.
    pub region: String,
    /// The public half of its key.
    pub key: String,
    /// Version of its program.
    pub version: String,
    /// The version of the protocol it speaks.
    pub protocol: u32,
    /// When it joined.
    pub joined_at: Timestamp,
    /// When its last request came.
    pub seen_at: Timestamp,
    /// When its first answer was accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_answer_at: Option<Timestamp>,
    /// The time of its last short request, in milliseconds.
    pub latency_ms: Option<u32>,
    /// The times of its short requests over the last day.
    #[serde(default, skip_serializing_if = "LatencySeries::is_empty")]
    pub latency: LatencySeries,
    /// Questions it works on.
    pub running: u32,
    /// True when it is about to stop.
    pub draining: bool,
}

/// The part of [`Agent`] that a request of the agent itself changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentReport {
    /// Its identity.
    pub id: String,
    /// Version of its program.
    pub version: String,
    /// The version of the protocol it speaks.
    pub protocol: u32,
    /// When the request came.
    pub seen_at: Timestamp,
    /// The time of its last short request, in milliseconds; `None`: as reported before.
    pub latency_ms: Option<u32>,
    /// Questions it works on.
    pub running: u32,
    /// True when it is about to stop.
    pub draining: bool,
}

/// What became of a request to join.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JoinOutcome {
    /// It is a member now.
    Joined,
    /// It is a member since an earlier request with the same key: this identity. Nothing was changed.
    Repeated(String),
    /// The token was made for this identity and not for the one asked for; it is still unused.
    Bound(String),
    /// The token is unknown, used or expired.
    Token,
    /// The identity exists; the token is still unused.
    Exists,
    /// The installation is a member of no set; the token is still unused.
    NoSet,
    /// The set has [`AGENTS_MAX`] points of presence; the token is still unused.
    Full,
}

/// What became of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkState {
    /// It was asked of another agent, or of none.
    Unknown,
    /// It was answered, or its caller no longer waits.
    Over,
    /// It is open: this is the question.
    Open(String),
}

/// Identity and points of presence.
#[async_trait]
pub trait FleetStore: Send + Sync + 'static {
    /// Claims after a name, by name, at most `limit`.
    async fn cluster_claims(&self, after: &str, limit: u32) -> Result<Vec<StoredClusterClaim>>;
    /// The claim with a name.
    async fn cluster_claim(&self, name: &str) -> Result<Option<StoredClusterClaim>>;
    /// The identity of the installation; `None` before its first start.
    async fn cluster_id(&self) -> Result<Option<String>>;
    /// What the claims other than the two of identity take, without reading them.
    async fn cluster_claims_used(&self) -> Result<ClaimsUsed>;
    /// Writes a claim, unless a rule of identity forbids it. `Conflict` when it is not at the expected position.
    async fn write_cluster_claim(
        &self,
        by: &Actor,
        write: &ClusterClaimWrite,
        now: Timestamp,
    ) -> Result<std::result::Result<StoredClusterClaim, IdentityRule>>;
    /// Deletes a claim, unless a rule of identity forbids it.
    async fn delete_cluster_claim(
        &self,
        by: &Actor,
        name: &str,
        expected: Option<LogPosition>,
        now: Timestamp,
    ) -> Result<std::result::Result<StoredClusterClaim, IdentityRule>>;
    /// Keeps a token to join with, by its hash; `id` is the identity that it is for, empty: any.
    async fn add_agent_token(
        &self,
        by: &Actor,
        hash: &str,
        id: &str,
        expires_at: Timestamp,
        now: Timestamp,
    ) -> Result<()>;
    /// Makes an agent a member and uses the token up, or does neither. Repeated with the same token and key, or with the key
    /// of the member that has the identity, it finds the member.
    async fn join_agent(&self, token_hash: &str, agent: &Agent, now: Timestamp) -> Result<JoinOutcome>;
    /// All agents, by identity.
    async fn agents(&self) -> Result<Vec<Agent>>;
    /// The agent with an identity.
    async fn agent(&self, id: &str) -> Result<Option<Agent>>;
    /// Writes what an agent reports, if `stamp` is newer than that of its last request; false when it is not. The rest of
    /// the agent stays as others wrote it.
    async fn agent_seen(&self, report: &AgentReport, stamp: i64) -> Result<bool>;
    /// The same where an agent reports nothing about itself: what it reported meanwhile stays.
    async fn agent_heard(&self, id: &str, stamp: i64, now: Timestamp) -> Result<bool>;
    /// Notes that an answer of an agent was accepted for the first time.
    async fn agent_answered(&self, id: &str, now: Timestamp) -> Result<()>;
    /// Removes an agent and what it was asked; false when there is none.
    async fn revoke_agent(&self, by: &Actor, id: &str, now: Timestamp) -> Result<bool>;
    /// Asks an agent; it has until `until`.
    async fn ask_agent(&self, agent: &str, id: &str, question: &str, until: Timestamp) -> Result<()>;
    /// Questions that wait for an agent, each taken once: number, question, end.
    async fn take_agent_work(
        &self,
        agent: &str,
        limit: u32,
        now: Timestamp,
    ) -> Result<Vec<(String, String, Timestamp)>>;
    /// Numbers of the open questions that were handed out to an agent.
    async fn agent_work_out(&self, agent: &str, now: Timestamp) -> Result<Vec<String>>;
    /// Takes back an open question that was handed out: it waits for its agent again. False when it is not open.
    async fn take_back_agent_work(&self, agent: &str, id: &str, now: Timestamp) -> Result<bool>;
    /// The state of a question that an agent wants to answer.
    async fn agent_work(&self, agent: &str, id: &str, now: Timestamp) -> Result<WorkState>;
    /// Keeps the answer to an open question, once; false when it was answered already.
    async fn answer_agent_work(&self, agent: &str, id: &str, answer: &str, now: Timestamp) -> Result<bool>;
    /// The answer to a question, if it has come.
    async fn agent_answer(&self, id: &str) -> Result<Option<String>>;
    /// Ends a question: it is removed, whatever became of it, with all whose time is over.
    async fn end_agent_work(&self, id: &str, now: Timestamp) -> Result<()>;
    /// Questions of each agent that wait or run: identity and number.
    async fn agent_queues(&self, now: Timestamp) -> Result<Vec<(String, u64)>>;
}

impl Agent {
    /// The agent after a report of its own.
    fn with(mut self, report: &AgentReport) -> Agent {
        let AgentReport { id: _, version, protocol, seen_at, latency_ms, running, draining } = report.clone();
        (self.version, self.protocol, self.seen_at) = (version, protocol, seen_at);
        (self.running, self.draining) = (running, draining);
        if let Some(ms) = latency_ms {
            self.latency_ms = Some(ms);
            self.latency.note(seen_at, ms);
        }
        self
    }
}

const AGENT: &str = "json, seen_at";

fn read_agent(r: &Cells) -> Result<Agent> {
    let agent: Agent = read_json(&r.text(0)?)?;
    Ok(Agent { seen_at: instant(r.int(1)?)?, ..agent })
}

/// The agent with an identity.
pub(crate) async fn agent(db: &Db, id: &str) -> Result<Option<Agent>> {
    let row = db.row(format!("SELECT {AGENT} FROM agents WHERE id = $1"), args![id]).await?;
    row.as_ref().map(read_agent).transpose()
}

pub(crate) async fn agents_in(tx: &mut Tx) -> Result<u64> {
    let row = tx.row("SELECT COUNT(*) FROM agents", args![]).await?;
    Ok(row.map(|r| r.int(0)).transpose()?.unwrap_or(0).unsigned_abs())
}

#[async_trait]
impl FleetStore for Database {
    async fn cluster_claims(&self, after: &str, limit: u32) -> Result<Vec<StoredClusterClaim>> {
        cluster_claims::list(&self.db, after, limit).await
    }

    async fn cluster_claim(&self, name: &str) -> Result<Option<StoredClusterClaim>> {
        cluster_claims::one(&self.db, name).await
    }

    async fn cluster_id(&self) -> Result<Option<String>> {
        let row = self.db.row("SELECT value FROM cluster_claims WHERE name = $1", args![ID_CLAIM]).await?;
        row.map(|r| r.text(0)).transpose()
    }

    async fn cluster_claims_used(&self) -> Result<ClaimsUsed> {
        cluster_claims::used(&self.db).await
    }

    async fn write_cluster_claim(
        &self,
        by: &Actor,
        write: &ClusterClaimWrite,
        now: Timestamp,
    ) -> Result<std::result::Result<StoredClusterClaim, IdentityRule>> {
        cluster_claims::write(&self.db, by, write, now).await
    }

    async fn delete_cluster_claim(
        &self,
        by: &Actor,
        name: &str,
        expected: Option<LogPosition>,
        now: Timestamp,
    ) -> Result<std::result::Result<StoredClusterClaim, IdentityRule>> {
        cluster_claims::delete(&self.db, by, (name, expected), now).await
    }

    async fn add_agent_token(
        &self,
        by: &Actor,
        hash: &str,
        id: &str,
        expires_at: Timestamp,
        now: Timestamp,
    ) -> Result<()> {
        joining::add_token(&self.db, by, (hash, id), expires_at, now).await
    }

    async fn join_agent(&self, token_hash: &str, agent: &Agent, now: Timestamp) -> Result<JoinOutcome> {
        joining::join(&self.db, token_hash, agent, now).await
    }

    async fn agents(&self) -> Result<Vec<Agent>> {
        let rows = self.db.rows(format!("SELECT {AGENT} FROM agents ORDER BY id"), args![]).await?;
        rows.iter().map(read_agent).collect()
    }

    async fn agent(&self, id: &str) -> Result<Option<Agent>> {
        agent(&self.db, id).await
    }

    async fn agent_seen(&self, report: &AgentReport, stamp: i64) -> Result<bool> {
        let mut tx = self.db.begin().await?;
        let lock = self.db.for_update();
        let sql = format!("SELECT {AGENT} FROM agents WHERE id = $1 AND version < $2{lock}");
        let Some(row) = tx.row(sql, args![report.id.as_str(), stamp]).await? else { return Ok(false) };
        let agent = read_agent(&row)?.with(report);
        let sql = "UPDATE agents SET version = $2, seen_at = $3, json = $4 WHERE id = $1";
        tx.execute(sql, args![agent.id.as_str(), stamp, micros(agent.seen_at), json(&agent)?]).await?;
        tx.commit().await?;
        Ok(true)
    }

    async fn agent_heard(&self, id: &str, stamp: i64, now: Timestamp) -> Result<bool> {
        let sql = "UPDATE agents SET version = $2, seen_at = $3 WHERE id = $1 AND version < $2";
        Ok(self.db.write(sql, args![id, stamp, micros(now)]).await? == 1)
    }

    async fn agent_answered(&self, id: &str, now: Timestamp) -> Result<()> {
        let mut tx = self.db.begin().await?;
        let sql = format!("SELECT {AGENT} FROM agents WHERE id = $1{}", self.db.for_update());
        let Some(row) = tx.row(sql, args![id]).await? else { return Ok(()) };
        let agent = read_agent(&row)?;
        if agent.first_answer_at.is_none() {
            let agent = Agent { first_answer_at: Some(now), ..agent };
            tx.execute("UPDATE agents SET json = $2 WHERE id = $1", args![id, json(&agent)?]).await?;
        }
        tx.commit().await
    }

    async fn revoke_agent(&self, by: &Actor, id: &str, now: Timestamp) -> Result<bool> {
        let mut tx = self.db.begin().await?;
        if tx.execute("DELETE FROM agents WHERE id = $1", args![id]).await? != 1 {
            return Ok(false);
        }
        tx.execute("DELETE FROM agent_work WHERE agent = $1", args![id]).await?;
        let line = (id.to_string(), None, None);
        audit::append(&mut tx, (OrgId::BUILT_IN, by, now), "agent.revoke", &[line]).await?;
        tx.commit().await?;
        Ok(true)
    }

    async fn ask_agent(&self, agent: &str, id: &str, question: &str, until: Timestamp) -> Result<()> {
        let sql = "INSERT INTO agent_work (id, agent, expires_at, question) VALUES ($1, $2, $3, $4)";
        self.db.write(sql, args![id, agent, micros(until), question]).await.map(drop)
    }

    async fn take_agent_work(
        &self,
        agent: &str,
        limit: u32,
        now: Timestamp,
    ) -> Result<Vec<(String, String, Timestamp)>> {
        agent_work::take(&self.db, agent, limit, now).await
    }

    async fn agent_work_out(&self, agent: &str, now: Timestamp) -> Result<Vec<String>> {
        agent_work::out(&self.db, agent, now).await
    }

    async fn take_back_agent_work(&self, agent: &str, id: &str, now: Timestamp) -> Result<bool> {
        agent_work::take_back(&self.db, agent, id, now).await
    }

    async fn agent_work(&self, agent: &str, id: &str, now: Timestamp) -> Result<WorkState> {
        let sql = "SELECT question, expires_at, answer FROM agent_work WHERE id = $1 AND agent = $2 AND taken_at IS NOT NULL";
        let Some(r) = self.db.row(sql, args![id, agent]).await? else { return Ok(WorkState::Unknown) };
        if r.text_or_null(2)?.is_some() || instant(r.int(1)?)? < now {
            return Ok(WorkState::Over);
        }
        Ok(WorkState::Open(r.text(0)?))
    }

    async fn answer_agent_work(&self, agent: &str, id: &str, answer: &str, now: Timestamp) -> Result<bool> {
        let sql = "UPDATE agent_work SET answer = $3 WHERE id = $1 AND agent = $2 AND taken_at IS NOT NULL \
                   AND answer IS NULL AND expires_at >= $4";
        Ok(self.db.write(sql, args![id, agent, answer, micros(now)]).await? == 1)
    }

    async fn agent_answer(&self, id: &str) -> Result<Option<String>> {
        let row = self.db.row("SELECT answer FROM agent_work WHERE id = $1", args![id]).await?;
        Ok(row.map(|r| r.text_or_null(0)).transpose()?.flatten())
    }

    async fn end_agent_work(&self, id: &str, now: Timestamp) -> Result<()> {
        let sql = "DELETE FROM agent_work WHERE id = $1 OR expires_at < $2";
        // A late answer is still told that its question is over.
        let over = now - jiff::SignedDuration::from_mins(1);
        self.db.write(sql, args![id, micros(over)]).await.map(drop)
    }

    async fn agent_queues(&self, now: Timestamp) -> Result<Vec<(String, u64)>> {
        let sql =
            "SELECT agent, COUNT(*) FROM agent_work WHERE answer IS NULL AND expires_at > $1 GROUP BY agent";
        let rows = self.db.rows(sql, args![micros(now)]).await?;
        rows.iter().map(|r| Ok((r.text(0)?, r.int(1)?.unsigned_abs()))).collect()
    }
}
