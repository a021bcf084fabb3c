//! Accounts at OpenID Connect providers, and whom they sign in here.

use super::audit::note;
use super::{Audit, NewIdentity};
use crate::api::Result;
use crate::codec::{instant, micros};
use crate::db::{Db, args};
use jiff::Timestamp;
use model::account::{IdentityInfo, UserId};
use model::ids::OrgId;

pub(super) async fn find(db: &Db, issuer: &str, subject: &str) -> Result<Option<UserId>> {
    let sql = "SELECT user_id FROM identities WHERE issuer = $1 AND subject = $2";
    db.row(sql, args![issuer, subject]).await?.map(|r| r.text(0).map(UserId)).transpose()
}

pub(super) async fn link(db: &Db, new: &NewIdentity, now: Timestamp, log: Option<&Audit>) -> Result<bool> {
    let (user, at) = (new.user.0.as_str(), micros(now));
    let mut tx = db.begin().await?;
    // A transaction that is dropped changes nothing.
    if let Some((email, name)) = &new.create {
        let sql =
            "INSERT INTO users (id, email, name, created_at) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
        if tx.execute(sql, args![user, email.as_str(), name.as_str(), at]).await? == 0 {
            return Ok(false);
        }
    }
    let sql = "INSERT INTO identities (issuer, subject, user_id, created_at) VALUES ($1, $2, $3, $4) \
               ON CONFLICT DO NOTHING";
    if tx.execute(sql, args![new.issuer.as_str(), new.subject.as_str(), user, at]).await? == 0 {
        return Ok(false);
    }
    if let Some((org, role)) = new.join {
        let sql =
            "INSERT INTO members (org, user_id, role, since) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
        tx.execute(sql, args![org.0, user, role.as_str(), at]).await?;
    }
    note(&mut tx, log).await?;
    tx.commit().await?;
    Ok(true)
}

pub(super) async fn of_user(db: &Db, user: &UserId) -> Result<Vec<IdentityInfo>> {
    let sql = "SELECT issuer, created_at FROM identities WHERE user_id = $1 ORDER BY created_at, issuer";
    let rows = db.rows(sql, args![user.0.as_str()]).await?;
    rows.iter().map(|r| Ok(IdentityInfo { issuer: r.text(0)?, linked_at: instant(r.int(1)?)? })).collect()
}

pub(super) async fn unlink(db: &Db, user: &UserId, issuer: &str, log: Option<&Audit>) -> Result<bool> {
    let mut tx = db.begin().await?;
    let sql = "DELETE FROM identities WHERE user_id = $1 AND issuer = $2";
    let is_gone = tx.execute(sql, args![user.0.as_str(), issuer]).await? == 1;
    if is_gone {
        note(&mut tx, log).await?;
    }
    tx.commit().await?;
    Ok(is_gone)
}

pub(super) async fn orgs_called(db: &Db, text: &str) -> Result<Vec<OrgId>> {
    let sql = "SELECT id FROM orgs WHERE org_key = $1 OR name = $1 ORDER BY id LIMIT 2";
    db.rows(sql, args![text]).await?.iter().map(|r| r.int(0).map(OrgId)).collect()
}
