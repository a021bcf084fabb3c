//! Joining: tokens, each of which makes one agent a member.

use crate::accounts::audit;
use crate::api::Result;
use crate::cluster_claims;
use crate::codec::{json, micros, read_json};
use crate::db::{Db, args};
use crate::fleet::{AGENTS_MAX, Agent, JoinOutcome, agent as agent_with, agents_in};
use jiff::Timestamp;
use model::account::Actor;
use model::ids::OrgId;
use serde::{Deserialize, Serialize};

/// What is kept of a token besides its hash and its times.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct TokenJson {
    /// The identity it is for; empty: any.
    #[serde(skip_serializing_if = "String::is_empty")]
    id: String,
    /// Who joined with it.
    #[serde(skip_serializing_if = "String::is_empty")]
    joined: String,
}

/// Keeps a token by its hash, for the identity that is named, if any.
pub(crate) async fn add_token(
    db: &Db,
    by: &Actor,
    (hash, id): (&str, &str),
    expires_at: Timestamp,
    now: Timestamp,
) -> Result<()> {
    let mut tx = db.begin().await?;
    // A used token is kept for a day, so that a join whose response was lost can be repeated.
    let day_ago = now - jiff::SignedDuration::from_hours(24);
    let sql = "DELETE FROM agent_tokens WHERE expires_at < $1 AND (used_at IS NULL OR expires_at < $2)";
    tx.execute(sql, args![micros(now), micros(day_ago)]).await?;
    let sql = "INSERT INTO agent_tokens (token_hash, expires_at, json) VALUES ($1, $2, $3)";
    let token = TokenJson { id: id.into(), joined: String::new() };
    tx.execute(sql, args![hash, micros(expires_at), json(&token)?]).await?;
    let line = (if id.is_empty() { "join token".into() } else { format!("join token for {id}") }, None, None);
    audit::append(&mut tx, (OrgId::BUILT_IN, by, now), "agent.token", &[line]).await?;
    tx.commit().await
}

/// The member that joined with a used token, if it has this key.
async fn joined_before(db: &Db, token_hash: &str, agent: &Agent) -> Result<JoinOutcome> {
    let sql = "SELECT json FROM agent_tokens WHERE token_hash = $1 AND used_at IS NOT NULL";
    let Some(row) = db.row(sql, args![token_hash]).await? else { return Ok(JoinOutcome::Token) };
    let token: TokenJson = read_json(&row.text(0)?)?;
    let member = agent_with(db, &token.joined).await?.filter(|member| member.key == agent.key);
    Ok(member.map_or(JoinOutcome::Token, |member| JoinOutcome::Repeated(member.id)))
}

/// Makes an agent a member and uses the token up, or does neither.
pub(crate) async fn join(db: &Db, token_hash: &str, agent: &Agent, now: Timestamp) -> Result<JoinOutcome> {
    const OPEN: &str = "token_hash = $1 AND used_at IS NULL AND expires_at > $2";
    // Strangers do not get the writer's turn.
    let sql = format!("SELECT json FROM agent_tokens WHERE {OPEN}");
    let Some(row) = db.row(sql, args![token_hash, micros(now)]).await? else {
        return joined_before(db, token_hash, agent).await;
    };
    let token: TokenJson = read_json(&row.text(0)?)?;
    if !token.id.is_empty() && token.id != agent.id {
        return Ok(JoinOutcome::Bound(token.id));
    }
    let used = TokenJson { joined: agent.id.clone(), ..token };
    let mut tx = db.begin().await?;
    let server = cluster_claims::lock_identity(&mut tx, db).await?;
    let sql = format!("UPDATE agent_tokens SET used_at = $2, json = $3 WHERE {OPEN}");
    if tx.execute(sql, args![token_hash, micros(now), json(&used)?]).await? != 1 {
        drop(tx);
        return joined_before(db, token_hash, agent).await;
    }
    // Where it ends without a member, the transaction is dropped with the token unused.
    if !cluster_claims::is_member(&mut tx).await? {
        return Ok(JoinOutcome::NoSet);
    }
    let sql =
        "INSERT INTO agents (id, version, seen_at, json) VALUES ($1, 0, $2, $3) ON CONFLICT (id) DO NOTHING";
    let is_new = tx.execute(sql, args![agent.id.as_str(), micros(now), json(agent)?]).await? == 1;
    if !is_new || server.as_deref() == Some(agent.id.as_str()) {
        drop(tx);
        let member = agent_with(db, &agent.id).await?.filter(|member| member.key == agent.key);
        return Ok(member.map_or(JoinOutcome::Exists, |member| JoinOutcome::Repeated(member.id)));
    }
    if agents_in(&mut tx).await? > AGENTS_MAX {
        return Ok(JoinOutcome::Full);
    }
    let by = Actor { who: format!("agent {}", agent.id), ..Actor::system() };
    let line = (agent.id.clone(), None, Some(agent.region.clone()));
    audit::append(&mut tx, (OrgId::BUILT_IN, &by, now), "agent.join", &[line]).await?;
    tx.commit().await?;
    Ok(JoinOutcome::Joined)
}
