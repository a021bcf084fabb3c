//! Identity of the installation, its points of presence, and what these are asked. Claims are logged for watches under the
//! built-in organisation. Work is short-lived: a question, taken by one agent, answered once.

use crate::accounts::audit;
use crate::api::{Error, Result};
use crate::codec::{instant, json, micros, read_json};
use crate::db::{Cells, Tx, args};
use crate::log::{self, CLUSTER_CLAIM, Line};
use crate::resources::tombstone_rows;
use crate::store::Database;
use ::fleet::{CLUSTERSET_CLAIM, ID_CLAIM};
use async_trait::async_trait;
use jiff::Timestamp;
use model::account::Actor;
use model::ids::{LogPosition, OrgId};
use model::scan::Op;
use serde::{Deserialize, Serialize};

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
    /// The time of its last short request, in milliseconds.
    pub latency_ms: Option<u32>,
    /// Questions it works on.
    pub running: u32,
    /// True when it is about to stop.
    pub draining: bool,
}

/// What became of a request to join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinOutcome {
    /// It is a member now.
    Joined,
    /// The token is unknown, used or expired.
    Token,
    /// The identity exists; the token is still unused.
    Exists,
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
    /// Keeps a token to join with, by its hash.
    async fn add_agent_token(
        &self,
        by: &Actor,
        hash: &str,
        expires_at: Timestamp,
        now: Timestamp,
    ) -> Result<()>;
    /// Makes an agent a member and uses the token up, or does neither.
    async fn join_agent(&self, token_hash: &str, agent: &Agent, now: Timestamp) -> Result<JoinOutcome>;
    /// All agents, by identity.
    async fn agents(&self) -> Result<Vec<Agent>>;
    /// Writes what an agent reports, if `stamp` is newer than that of its last request; false when it is not.
    async fn agent_seen(&self, agent: &Agent, stamp: i64) -> Result<bool>;
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

const CLAIM: &str = "name, rv, metadata, value, created_at";

fn read_claim(r: &Cells) -> Result<StoredClusterClaim> {
    Ok(StoredClusterClaim {
        name: r.text(0)?,
        rv: LogPosition(r.int(1)?),
        metadata: r.text(2)?,
        value: r.text(3)?,
        created_at: instant(r.int(4)?)?,
    })
}

async fn claim_in(tx: &mut Tx, name: &str, lock: &str) -> Result<Option<StoredClusterClaim>> {
    let sql = format!("SELECT {CLAIM} FROM cluster_claims WHERE name = $1{lock}");
    tx.row(sql, args![name]).await?.as_ref().map(read_claim).transpose()
}

async fn agents_in(tx: &mut Tx) -> Result<u64> {
    let row = tx.row("SELECT COUNT(*) FROM agents", args![]).await?;
    Ok(row.map(|r| r.int(0)).transpose()?.unwrap_or(0).unsigned_abs())
}

/// The identity of the installation, inside a transaction; `None` before its first start.
pub(crate) async fn cluster_id(tx: &mut Tx) -> Result<Option<String>> {
    let row = tx.row("SELECT value FROM cluster_claims WHERE name = $1", args![ID_CLAIM]).await?;
    row.map(|r| r.text(0)).transpose()
}

async fn logged(tx: &mut Tx, name: &str, op: Op, now: Timestamp) -> Result<LogPosition> {
    let line = Line { org: OrgId::BUILT_IN, kind: CLUSTER_CLAIM, name: Some(name.to_string()), op };
    let rv = log::append(tx, vec![line], now).await?;
    tx.execute("UPDATE cluster_claims SET rv = $2 WHERE name = $1", args![name, rv.0]).await?;
    Ok(rv)
}

#[async_trait]
impl FleetStore for Database {
    async fn cluster_claims(&self, after: &str, limit: u32) -> Result<Vec<StoredClusterClaim>> {
        let sql = format!("SELECT {CLAIM} FROM cluster_claims WHERE name > $1 ORDER BY name LIMIT $2");
        self.db.rows(sql, args![after, i64::from(limit)]).await?.iter().map(read_claim).collect()
    }

    async fn write_cluster_claim(
        &self,
        by: &Actor,
        write: &ClusterClaimWrite,
        now: Timestamp,
    ) -> Result<std::result::Result<StoredClusterClaim, IdentityRule>> {
        let mut tx = self.db.begin().await?;
        let name = write.name.as_str();
        let old = claim_in(&mut tx, name, self.db.for_update()).await?;
        if old.as_ref().map(|o| o.rv) != write.expected {
            return Err(if old.is_none() { Error::NotFound } else { Error::Conflict });
        }
        let changed = old.as_ref().is_some_and(|o| o.value != write.value);
        if name == ID_CLAIM && changed && claim_in(&mut tx, CLUSTERSET_CLAIM, "").await?.is_some() {
            return Ok(Err(IdentityRule::IsMember));
        }
        if name == CLUSTERSET_CLAIM && changed {
            match agents_in(&mut tx).await? {
                0 => {}
                n => return Ok(Err(IdentityRule::HasAgents(n))),
            }
        }
        let created_at = old.as_ref().map_or(now, |o| o.created_at);
        let (metadata, value) = (write.metadata.clone(), write.value.clone());
        let mut claim =
            StoredClusterClaim { name: name.into(), rv: LogPosition(0), metadata, value, created_at };
        if write.dry_run {
            claim.rv = old.map_or(claim.rv, |o| o.rv);
            return Ok(Ok(claim));
        }
        let sql = "INSERT INTO cluster_claims (name, rv, metadata, value, created_at) VALUES ($1, 0, $2, $3, $4) \
                   ON CONFLICT (name) DO UPDATE SET metadata = excluded.metadata, value = excluded.value";
        let values = args![name, claim.metadata.as_str(), claim.value.as_str(), micros(created_at)];
        tx.execute(sql, values).await?;
        let op = if old.is_some() { Op::Update } else { Op::Create };
        let line = (name.to_string(), old.map(|o| o.value), Some(claim.value.clone()));
        audit::append(&mut tx, (OrgId::BUILT_IN, by, now), "cluster.claim", &[line]).await?;
        claim.rv = logged(&mut tx, name, op, now).await?;
        tx.commit().await?;
        Ok(Ok(claim))
    }

    async fn delete_cluster_claim(
        &self,
        by: &Actor,
        name: &str,
        expected: Option<LogPosition>,
        now: Timestamp,
    ) -> Result<std::result::Result<StoredClusterClaim, IdentityRule>> {
        let mut tx = self.db.begin().await?;
        let Some(old) = claim_in(&mut tx, name, self.db.for_update()).await? else {
            return Err(Error::NotFound);
        };
        if expected.is_some_and(|rv| rv != old.rv) {
            return Err(Error::Conflict);
        }
        if name == ID_CLAIM {
            return Ok(Err(IdentityRule::IsRequired));
        }
        let members = if name == CLUSTERSET_CLAIM { agents_in(&mut tx).await? } else { 0 };
        if members > 0 {
            return Ok(Err(IdentityRule::HasAgents(members)));
        }
        tx.execute("DELETE FROM cluster_claims WHERE name = $1", args![name]).await?;
        let line = (name.to_string(), Some(old.value.clone()), None);
        audit::append(&mut tx, (OrgId::BUILT_IN, by, now), "cluster.claim", &[line]).await?;
        let rv = logged(&mut tx, name, Op::Delete, now).await?;
        tombstone_rows(&mut tx, vec![(rv, json(&old)?)]).await?;
        tx.commit().await?;
        Ok(Ok(StoredClusterClaim { rv, ..old }))
    }

    async fn add_agent_token(
        &self,
        by: &Actor,
        hash: &str,
        expires_at: Timestamp,
        now: Timestamp,
    ) -> Result<()> {
        let mut tx = self.db.begin().await?;
        tx.execute("DELETE FROM agent_tokens WHERE expires_at < $1", args![micros(now)]).await?;
        let sql = "INSERT INTO agent_tokens (token_hash, expires_at, json) VALUES ($1, $2, '{}')";
        tx.execute(sql, args![hash, micros(expires_at)]).await?;
        let line = ("join token".to_string(), None, None);
        audit::append(&mut tx, (OrgId::BUILT_IN, by, now), "agent.token", &[line]).await?;
        tx.commit().await
    }

    async fn join_agent(&self, token_hash: &str, agent: &Agent, now: Timestamp) -> Result<JoinOutcome> {
        let mut tx = self.db.begin().await?;
        let sql = "UPDATE agent_tokens SET used_at = $2 WHERE token_hash = $1 AND used_at IS NULL AND expires_at > $2";
        if tx.execute(sql, args![token_hash, micros(now)]).await? != 1 {
            return Ok(JoinOutcome::Token);
        }
        let sql = "INSERT INTO agents (id, version, seen_at, json) VALUES ($1, 0, $2, $3) ON CONFLICT (id) DO NOTHING";
        let is_new = tx.execute(sql, args![agent.id.as_str(), micros(now), json(agent)?]).await? == 1;
        // The transaction is dropped with the token unused.
        if !is_new || cluster_id(&mut tx).await?.as_deref() == Some(agent.id.as_str()) {
            return Ok(JoinOutcome::Exists);
        }
        let by = Actor { who: format!("agent {}", agent.id), ..Actor::system() };
        let line = (agent.id.clone(), None, Some(agent.region.clone()));
        audit::append(&mut tx, (OrgId::BUILT_IN, &by, now), "agent.join", &[line]).await?;
        tx.commit().await?;
        Ok(JoinOutcome::Joined)
    }

    async fn agents(&self) -> Result<Vec<Agent>> {
        let rows = self.db.rows("SELECT json FROM agents ORDER BY id", args![]).await?;
        rows.iter().map(|r| read_json(&r.text(0)?)).collect()
    }

    async fn agent_seen(&self, agent: &Agent, stamp: i64) -> Result<bool> {
        let sql = "UPDATE agents SET version = $2, seen_at = $3, json = $4 WHERE id = $1 AND version < $2";
        let values = args![agent.id.as_str(), stamp, micros(agent.seen_at), json(agent)?];
        Ok(self.db.write(sql, values).await? == 1)
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
        let waits = "SELECT id FROM agent_work WHERE agent = $1 AND taken_at IS NULL AND expires_at > $2";
        if self.db.row(format!("{waits} LIMIT 1"), args![agent, micros(now)]).await?.is_none() {
            return Ok(Vec::new());
        }
        let mut tx = self.db.begin().await?;
        let sql = format!(
            "UPDATE agent_work SET taken_at = $2 WHERE id IN ({waits} ORDER BY expires_at LIMIT $3{}) \
             RETURNING id, question, expires_at",
            self.db.skip_locked()
        );
        let rows = tx.rows(sql, args![agent, micros(now), i64::from(limit)]).await?;
        let taken =
            rows.iter().map(|r| Ok((r.text(0)?, r.text(1)?, instant(r.int(2)?)?))).collect::<Result<_>>()?;
        tx.commit().await?;
        Ok(taken)
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
