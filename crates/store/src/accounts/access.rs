//! Sessions, API tokens and links that work once.

use super::audit::note;
use super::users::{USER, USER_LEN, read_role, read_user};
use super::{Audit, NewSession, OneTimeLink, SessionOwner};
use crate::api::{Error, Result};
use crate::codec::{instant, micros, read_json};
use crate::db::{Cells, Db, args};
use jiff::Timestamp;
use model::account::{Invitation, SessionInfo, SignInMethod, TokenInfo, TokenScope, UserId};
use model::ids::{OrgId, Role};

pub(super) async fn create_session(
    db: &Db,
    new: &NewSession,
    now: Timestamp,
    log: Option<&Audit>,
) -> Result<()> {
    let sql = "INSERT INTO sessions (hash, id, user_id, org, client, address, method, created_at, seen_at) \
               VALUES ($1, $2, $3, $4, $5, $6, $8, $7, $7)";
    let client: String = new.client.chars().take(200).collect();
    let values = args![
        new.hash.as_str(),
        new.id.as_str(),
        new.user.0.as_str(),
        new.org.0,
        client,
        new.address.as_str(),
        micros(now),
        new.method.as_str()
    ];
    let mut tx = db.begin().await?;
    tx.execute(sql, values).await?;
    note(&mut tx, log).await?;
    tx.commit().await
}

pub(super) async fn session(db: &Db, hash: &str) -> Result<Option<SessionOwner>> {
    let sql = format!(
        "SELECT {USER}, s.id, s.org, m.role, s.created_at, s.seen_at FROM sessions s JOIN users u ON u.id = s.user_id \
         LEFT JOIN members m ON m.org = s.org AND m.user_id = s.user_id WHERE s.hash = $1"
    );
    let Some(r) = db.row(sql, args![hash]).await? else { return Ok(None) };
    Ok(Some(SessionOwner {
        user: read_user(&r)?,
        id: r.text(USER_LEN)?,
        org: OrgId(r.int(USER_LEN + 1)?),
        role: r.text_or_null(USER_LEN + 2)?.map(|word| read_role(&word)).transpose()?,
        created_at: instant(r.int(USER_LEN + 3)?)?,
        seen_at: instant(r.int(USER_LEN + 4)?)?,
    }))
}

pub(super) async fn touch_session(db: &Db, hash: &str, now: Timestamp) -> Result<()> {
    let sql = "UPDATE sessions SET seen_at = $2 WHERE hash = $1 AND seen_at < $2";
    db.write(sql, args![hash, micros(now)]).await.map(drop)
}

pub(super) async fn switch_org(db: &Db, hash: &str, org: OrgId) -> Result<bool> {
    let sql = "UPDATE sessions SET org = $2 WHERE hash = $1 AND EXISTS \
               (SELECT 1 FROM members m WHERE m.org = $2 AND m.user_id = sessions.user_id)";
    Ok(db.write(sql, args![hash, org.0]).await? == 1)
}

pub(super) async fn sessions(db: &Db, user: &UserId, current: &str) -> Result<Vec<SessionInfo>> {
    let sql = "SELECT id, created_at, seen_at, client, address, method FROM sessions WHERE user_id = $1 \
               ORDER BY seen_at DESC, id LIMIT 100";
    let rows = db.rows(sql, args![user.0.as_str()]).await?;
    let read = |r: &Cells| {
        let id = r.text(0)?;
        Ok(SessionInfo {
            is_current: id == current,
            id,
            created_at: instant(r.int(1)?)?,
            seen_at: instant(r.int(2)?)?,
            client: r.text(3)?,
            address: r.text(4)?,
            method: SignInMethod::from_word(&r.text(5)?).unwrap_or_default(),
        })
    };
    rows.iter().map(read).collect()
}

pub(super) async fn end_sessions(
    db: &Db,
    user: &UserId,
    only: Option<&str>,
    keep: Option<&str>,
    log: Option<&Audit>,
) -> Result<u64> {
    let mut tx = db.begin().await?;
    let ended = match only {
        Some(id) => {
            let sql = "DELETE FROM sessions WHERE user_id = $1 AND id = $2";
            tx.execute(sql, args![user.0.as_str(), id]).await?
        }
        None => {
            let sql = "DELETE FROM sessions WHERE user_id = $1 AND id <> $2";
            tx.execute(sql, args![user.0.as_str(), keep.unwrap_or_default()]).await?
        }
    };
    if ended > 0 {
        note(&mut tx, log).await?;
    }
    tx.commit().await?;
    Ok(ended)
}

const TOKEN: &str = "id, name, scope, created_by, created_at, expires_at, last_used_at, hint";

fn read_token(r: &Cells) -> Result<TokenInfo> {
    let word = r.text(2)?;
    Ok(TokenInfo {
        id: r.text(0)?,
        name: r.text(1)?,
        scope: TokenScope::from_word(&word).ok_or_else(|| Error::Broken(format!("stored scope “{word}”")))?,
        created_by: r.text(3)?,
        created_at: instant(r.int(4)?)?,
        expires_at: r.int_or_null(5)?.map(instant).transpose()?,
        last_used_at: r.int_or_null(6)?.map(instant).transpose()?,
        hint: r.text(7)?,
    })
}

pub(super) async fn create_token(
    db: &Db,
    org: OrgId,
    hash: &str,
    token: &TokenInfo,
    log: Option<&Audit>,
) -> Result<()> {
    let sql = "INSERT INTO api_tokens (hash, org, id, name, scope, created_by, created_at, expires_at, hint) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    let values = args![
        hash,
        org.0,
        token.id.as_str(),
        token.name.as_str(),
        token.scope.as_str(),
        token.created_by.as_str(),
        micros(token.created_at),
        token.expires_at.map(micros),
        token.hint.as_str()
    ];
    let mut tx = db.begin().await?;
    tx.execute(sql, values).await?;
    note(&mut tx, log).await?;
    tx.commit().await
}

pub(super) async fn token(db: &Db, hash: &str, now: Timestamp) -> Result<Option<(OrgId, TokenInfo)>> {
    let sql = format!(
        "SELECT {TOKEN}, org FROM api_tokens WHERE hash = $1 AND (expires_at IS NULL OR expires_at > $2)"
    );
    let row = db.row(sql, args![hash, micros(now)]).await?;
    row.map(|r| Ok((OrgId(r.int(8)?), read_token(&r)?))).transpose()
}

pub(super) async fn touch_token(db: &Db, hash: &str, now: Timestamp) -> Result<()> {
    db.write("UPDATE api_tokens SET last_used_at = $2 WHERE hash = $1", args![hash, micros(now)])
        .await
        .map(drop)
}

pub(super) async fn tokens(db: &Db, org: OrgId) -> Result<Vec<TokenInfo>> {
    let sql = format!("SELECT {TOKEN} FROM api_tokens WHERE org = $1 ORDER BY created_at DESC, id");
    db.rows(sql, args![org.0]).await?.iter().map(read_token).collect()
}

pub(super) async fn revoke_token(db: &Db, org: OrgId, id: &str, log: Option<&Audit>) -> Result<bool> {
    let mut tx = db.begin().await?;
    let sql = "DELETE FROM api_tokens WHERE org = $1 AND id = $2 RETURNING name, scope";
    let Some(gone) = tx.row(sql, args![org.0, id]).await? else { return Ok(false) };
    if let Some(entry) = log {
        let entry = Audit { object: gone.text(0)?, old: Some(gone.text(1)?), ..entry.clone() };
        note(&mut tx, Some(&entry)).await?;
    }
    tx.commit().await?;
    Ok(true)
}

const LINK: &str = "id, kind, org, payload, expires_at";

fn read_link(r: &Cells) -> Result<OneTimeLink> {
    Ok(OneTimeLink {
        id: r.text(0)?,
        kind: r.text(1)?,
        org: r.int_or_null(2)?.map(OrgId),
        payload: r.text(3)?,
        expires_at: instant(r.int(4)?)?,
    })
}

pub(super) async fn create_link(db: &Db, hash: &str, link: &OneTimeLink, log: Option<&Audit>) -> Result<()> {
    let sql = "INSERT INTO one_time_links (hash, id, kind, org, payload, expires_at) VALUES ($1, $2, $3, $4, $5, $6)";
    let values = args![
        hash,
        link.id.as_str(),
        link.kind.as_str(),
        link.org.map(|org| org.0),
        link.payload.as_str(),
        micros(link.expires_at)
    ];
    let mut tx = db.begin().await?;
    tx.execute(sql, values).await?;
    note(&mut tx, log).await?;
    tx.commit().await
}

pub(super) async fn peek_link(db: &Db, hash: &str, now: Timestamp) -> Result<Option<OneTimeLink>> {
    let sql = format!("SELECT {LINK} FROM one_time_links WHERE hash = $1 AND expires_at > $2");
    db.row(sql, args![hash, micros(now)]).await?.map(|r| read_link(&r)).transpose()
}

pub(super) async fn take_link(db: &Db, hash: &str, now: Timestamp) -> Result<Option<OneTimeLink>> {
    let mut tx = db.begin().await?;
    let sql = format!("DELETE FROM one_time_links WHERE hash = $1 AND expires_at > $2 RETURNING {LINK}");
    let row = tx.row(sql, args![hash, micros(now)]).await?;
    let link = row.map(|r| read_link(&r)).transpose()?;
    tx.commit().await?;
    Ok(link)
}

pub(super) async fn withdraw_links(
    db: &Db,
    org: Option<OrgId>,
    kind: &str,
    id: Option<&str>,
    log: Option<&Audit>,
) -> Result<u64> {
    let org = org.map(|org| org.0);
    let sql = "DELETE FROM one_time_links WHERE kind = $1 AND COALESCE(org, 0) = COALESCE($2, 0) \
               AND ($3 = '' OR id = $3)";
    let mut tx = db.begin().await?;
    let gone = tx.execute(sql, args![kind, org, id.unwrap_or_default()]).await?;
    if gone > 0 {
        note(&mut tx, log).await?;
    }
    tx.commit().await?;
    Ok(gone)
}

/// What an invitation carries.
#[derive(serde::Deserialize)]
struct InvitationPayload {
    email: String,
    role: Role,
    invited_by: String,
}

pub(super) async fn invitations(db: &Db, org: OrgId, now: Timestamp) -> Result<Vec<Invitation>> {
    let sql = format!(
        "SELECT {LINK} FROM one_time_links WHERE org = $1 AND kind = 'invitation' AND expires_at > $2 ORDER BY expires_at, id"
    );
    let rows = db.rows(sql, args![org.0, micros(now)]).await?;
    let read = |r: &Cells| {
        let link = read_link(r)?;
        let carried: InvitationPayload = read_json(&link.payload)?;
        Ok(Invitation {
            id: link.id,
            email: carried.email,
            role: carried.role,
            invited_by: carried.invited_by,
            expires_at: link.expires_at,
        })
    };
    rows.iter().map(read).collect()
}
