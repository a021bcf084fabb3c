//! Passkeys, and challenges that wait for an answer.

use super::audit::note;
use super::{Audit, Passkey};
use crate::api::Result;
use crate::codec::{instant, micros};
use crate::db::{Cells, Db, args};
use jiff::Timestamp;
use model::account::UserId;

/// Challenges that may be open at the same time. Anyone can ask for one, so there has to be an end.
const OPEN_MAX: i64 = 20_000;
const PASSKEY: &str = "id, user_id, credential, site, name, data, created_at, last_used_at";

fn read(r: &Cells) -> Result<Passkey> {
    Ok(Passkey {
        id: r.text(0)?,
        user: UserId(r.text(1)?),
        credential: r.text(2)?,
        site: r.text(3)?,
        name: r.text(4)?,
        data: r.text(5)?,
        created_at: instant(r.int(6)?)?,
        last_used_at: r.int_or_null(7)?.map(instant).transpose()?,
    })
}

pub(super) async fn add(db: &Db, new: &Passkey, log: Option<&Audit>) -> Result<bool> {
    let sql = "INSERT INTO passkeys (id, user_id, credential, site, name, data, created_at) \
               VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (credential) DO NOTHING";
    let values = args![
        new.id.as_str(),
        new.user.0.as_str(),
        new.credential.as_str(),
        new.site.as_str(),
        new.name.as_str(),
        new.data.as_str(),
        micros(new.created_at)
    ];
    let mut tx = db.begin().await?;
    let added = tx.execute(sql, values).await? == 1;
    if added {
        note(&mut tx, log).await?;
    }
    tx.commit().await?;
    Ok(added)
}

pub(super) async fn of_user(db: &Db, user: &UserId) -> Result<Vec<Passkey>> {
    let sql = format!("SELECT {PASSKEY} FROM passkeys WHERE user_id = $1 ORDER BY created_at, id");
    db.rows(sql, args![user.0.as_str()]).await?.iter().map(read).collect()
}

pub(super) async fn by_credential(db: &Db, credential: &str) -> Result<Option<Passkey>> {
    let sql = format!("SELECT {PASSKEY} FROM passkeys WHERE credential = $1");
    db.row(sql, args![credential]).await?.map(|r| read(&r)).transpose()
}

pub(super) async fn used(db: &Db, id: &str, data: &str, now: Timestamp) -> Result<bool> {
    let sql = "UPDATE passkeys SET data = $2, last_used_at = $3 WHERE id = $1";
    Ok(db.write(sql, args![id, data, micros(now)]).await? == 1)
}

pub(super) async fn remove(db: &Db, user: &UserId, id: &str, log: Option<&Audit>) -> Result<bool> {
    let mut tx = db.begin().await?;
    let sql = "DELETE FROM passkeys WHERE user_id = $1 AND id = $2 RETURNING name";
    let Some(gone) = tx.row(sql, args![user.0.as_str(), id]).await? else { return Ok(false) };
    if let Some(entry) = log {
        let entry = Audit { old: Some(gone.text(0)?), ..entry.clone() };
        note(&mut tx, Some(&entry)).await?;
    }
    tx.commit().await?;
    Ok(true)
}

pub(super) async fn keep_challenge(
    db: &Db,
    hash: &str,
    state: &str,
    expires_at: Timestamp,
    now: Timestamp,
) -> Result<bool> {
    let mut tx = db.begin().await?;
    tx.execute("DELETE FROM passkey_challenges WHERE expires_at <= $1", args![micros(now)]).await?;
    let open = tx.row("SELECT COUNT(*) FROM passkey_challenges", args![]).await?;
    if open.map(|r| r.int(0)).transpose()?.unwrap_or(0) >= OPEN_MAX {
        tx.commit().await?;
        return Ok(false);
    }
    let sql = "INSERT INTO passkey_challenges (hash, state, expires_at) VALUES ($1, $2, $3) \
               ON CONFLICT (hash) DO UPDATE SET state = excluded.state, expires_at = excluded.expires_at";
    tx.execute(sql, args![hash, state, micros(expires_at)]).await?;
    tx.commit().await?;
    Ok(true)
}

pub(super) async fn take_challenge(db: &Db, hash: &str, now: Timestamp) -> Result<Option<String>> {
    let mut tx = db.begin().await?;
    let sql = "DELETE FROM passkey_challenges WHERE hash = $1 RETURNING state, expires_at";
    let row = tx.row(sql, args![hash]).await?;
    tx.commit().await?;
    let Some(row) = row else { return Ok(None) };
    (row.int(1)? > micros(now)).then(|| row.text(0)).transpose()
}
