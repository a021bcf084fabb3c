//! Accounts, organisations and who is a member of what.

use super::audit::note;
use super::{Audit, Credentials, MemberChange};
use crate::api::{Error, Result};
use crate::codec::{instant, micros};
use crate::db::{Cells, Db, args};
use jiff::Timestamp;
use model::account::{Member, Membership, User, UserId};
use model::ids::{OrgId, Role};

/// Columns of [`read_user`], in order; `users` goes by the name `u`.
pub(super) const USER: &str = "u.id, u.email, u.name, u.created_at, u.totp_secret";
/// How many these are.
pub(super) const USER_LEN: usize = 5;

pub(super) fn read_user(r: &Cells) -> Result<User> {
    Ok(User {
        id: UserId(r.text(0)?),
        email: r.text(1)?,
        name: r.text(2)?,
        created_at: instant(r.int(3)?)?,
        has_second_factor: r.text_or_null(4)?.is_some(),
    })
}

pub(super) fn read_role(word: &str) -> Result<Role> {
    Role::from_word(word).ok_or_else(|| Error::Broken(format!("stored role “{word}”")))
}

pub(super) async fn count(db: &Db) -> Result<u64> {
    let row = db.row("SELECT COUNT(*) FROM users", args![]).await?;
    row.map_or(Ok(0), |r| Ok(u64::try_from(r.int(0)?).unwrap_or(0)))
}

pub(super) async fn create(db: &Db, id: &UserId, email: &str, name: &str, now: Timestamp) -> Result<bool> {
    let sql =
        "INSERT INTO users (id, email, name, created_at) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
    Ok(db.write(sql, args![id.0.as_str(), email, name, micros(now)]).await? == 1)
}

/// `column` is one of ours, never input.
pub(super) async fn credentials(db: &Db, column: &'static str, value: &str) -> Result<Option<Credentials>> {
    let sql = format!("SELECT {USER}, u.password, u.totp_step FROM users u WHERE u.{column} = $1");
    let Some(r) = db.row(sql, args![value]).await? else { return Ok(None) };
    Ok(Some(Credentials {
        user: read_user(&r)?,
        totp_secret: r.text_or_null(4)?,
        password: r.text_or_null(USER_LEN)?,
        totp_step: r.int_or_null(USER_LEN + 1)?.and_then(|step| u64::try_from(step).ok()),
    }))
}

pub(super) async fn set_password(
    db: &Db,
    user: &UserId,
    phc: &str,
    keep: Option<&str>,
    log: Option<&Audit>,
) -> Result<()> {
    let mut tx = db.begin().await?;
    let set = tx.execute("UPDATE users SET password = $2 WHERE id = $1", args![user.0.as_str(), phc]).await?;
    if set == 0 {
        return Err(Error::NotFound);
    }
    // Sessions that were begun with the old password end.
    let end = "DELETE FROM sessions WHERE user_id = $1 AND id <> $2";
    tx.execute(end, args![user.0.as_str(), keep.unwrap_or_default()]).await?;
    note(&mut tx, log).await?;
    tx.commit().await
}

pub(super) async fn set_second_factor(
    db: &Db,
    user: &UserId,
    secret: Option<&str>,
    recovery: &[String],
    log: Option<&Audit>,
) -> Result<()> {
    let mut tx = db.begin().await?;
    let set = "UPDATE users SET totp_secret = $2, totp_step = NULL WHERE id = $1";
    if tx.execute(set, args![user.0.as_str(), secret.map(str::to_string)]).await? == 0 {
        return Err(Error::NotFound);
    }
    tx.execute("DELETE FROM recovery_codes WHERE user_id = $1", args![user.0.as_str()]).await?;
    let rows = recovery.iter().map(|hash| args![user.0.as_str(), hash.as_str()]).collect();
    tx.insert("INSERT INTO recovery_codes (user_id, hash)", rows, "ON CONFLICT DO NOTHING").await?;
    note(&mut tx, log).await?;
    tx.commit().await
}

pub(super) async fn recovery_codes(db: &Db, user: &UserId) -> Result<u64> {
    let sql = "SELECT COUNT(*) FROM recovery_codes WHERE user_id = $1";
    let row = db.row(sql, args![user.0.as_str()]).await?;
    row.map_or(Ok(0), |r| Ok(u64::try_from(r.int(0)?).unwrap_or(0)))
}

pub(super) async fn use_totp_step(db: &Db, user: &UserId, step: u64) -> Result<bool> {
    let step = i64::try_from(step).unwrap_or(i64::MAX);
    let sql = "UPDATE users SET totp_step = $2 WHERE id = $1 AND (totp_step IS NULL OR totp_step < $2)";
    Ok(db.write(sql, args![user.0.as_str(), step]).await? == 1)
}

pub(super) async fn use_recovery_code(db: &Db, user: &UserId, hash: &str) -> Result<bool> {
    let sql = "DELETE FROM recovery_codes WHERE user_id = $1 AND hash = $2";
    Ok(db.write(sql, args![user.0.as_str(), hash]).await? == 1)
}

pub(super) async fn create_org(
    db: &Db,
    org_key: &str,
    name: &str,
    owner: &UserId,
    now: Timestamp,
) -> Result<OrgId> {
    let mut tx = db.begin().await?;
    // One after the other, so that two never get one number. The built-in organisation is the first.
    let next = if let crate::db::Tx::Postgres(_) = tx {
        tx.execute("LOCK TABLE orgs IN EXCLUSIVE MODE", args![]).await?;
        tx.row("SELECT COALESCE(MAX(id), 0) + 1 FROM orgs", args![]).await?
    } else {
        tx.row("SELECT COALESCE(MAX(id), 0) + 1 FROM orgs", args![]).await?
    };
    let id = next.map_or(Ok(OrgId::BUILT_IN.0), |r| r.int(0))?;
    let insert = "INSERT INTO orgs (id, org_key, name, created_at) VALUES ($1, $2, $3, $4)";
    tx.execute(insert, args![id, org_key, name, micros(now)]).await?;
    let member = "INSERT INTO members (org, user_id, role, since) VALUES ($1, $2, 'owner', $3)";
    tx.execute(member, args![id, owner.0.as_str(), micros(now)]).await?;
    tx.commit().await?;
    Ok(OrgId(id))
}

pub(super) async fn org(db: &Db, org: OrgId) -> Result<Option<(String, String)>> {
    let row = db.row("SELECT org_key, name FROM orgs WHERE id = $1", args![org.0]).await?;
    row.map(|r| Ok((r.text(0)?, r.text(1)?))).transpose()
}

pub(super) async fn rename_org(db: &Db, org: OrgId, name: &str, log: Option<&Audit>) -> Result<()> {
    let mut tx = db.begin().await?;
    let sql = format!("SELECT name FROM orgs WHERE id = $1{}", db.for_update());
    let old = tx.row(sql, args![org.0]).await?.ok_or(Error::NotFound)?.text(0)?;
    if old == name {
        return Ok(());
    }
    tx.execute("UPDATE orgs SET name = $2 WHERE id = $1", args![org.0, name]).await?;
    note(&mut tx, log.map(|entry| Audit { old: Some(old), ..entry.clone() }).as_ref()).await?;
    tx.commit().await
}

pub(super) async fn add_member(
    db: &Db,
    org: OrgId,
    user: &UserId,
    role: Role,
    now: Timestamp,
    log: Option<&Audit>,
) -> Result<()> {
    let sql = "INSERT INTO members (org, user_id, role, since) VALUES ($1, $2, $3, $4) \
               ON CONFLICT (org, user_id) DO UPDATE SET role = excluded.role";
    let mut tx = db.begin().await?;
    tx.execute(sql, args![org.0, user.0.as_str(), role.as_str(), micros(now)]).await?;
    note(&mut tx, log).await?;
    tx.commit().await
}

pub(super) async fn change_member(
    db: &Db,
    org: OrgId,
    user: &UserId,
    role: Option<Role>,
    log: Option<&Audit>,
) -> Result<MemberChange> {
    let mut tx = db.begin().await?;
    // All members of the organisation are locked, so that two owners can't remove each other at once.
    let sql = format!("SELECT user_id, role FROM members WHERE org = $1 ORDER BY user_id{}", db.for_update());
    let mut old = None;
    let mut other_owners = 0;
    for r in tx.rows(sql, args![org.0]).await? {
        let found = read_role(&r.text(1)?)?;
        if r.text(0)? == user.0 {
            old = Some(found);
        } else if found == Role::Owner {
            other_owners += 1;
        }
    }
    let Some(old) = old else { return Ok(MemberChange::NotAMember) };
    if old == Role::Owner && role != Some(Role::Owner) && other_owners == 0 {
        return Ok(MemberChange::LastOwner);
    }
    if role == Some(old) {
        return Ok(MemberChange::Changed);
    }
    match role {
        Some(role) => {
            let sql = "UPDATE members SET role = $3 WHERE org = $1 AND user_id = $2";
            tx.execute(sql, args![org.0, user.0.as_str(), role.as_str()]).await?;
        }
        None => {
            tx.execute("DELETE FROM members WHERE org = $1 AND user_id = $2", args![org.0, user.0.as_str()])
                .await?;
            let end = "DELETE FROM sessions WHERE org = $1 AND user_id = $2";
            tx.execute(end, args![org.0, user.0.as_str()]).await?;
        }
    }
    let entry = log.map(|entry| Audit { old: Some(old.as_str().to_string()), ..entry.clone() });
    note(&mut tx, entry.as_ref()).await?;
    tx.commit().await?;
    Ok(MemberChange::Changed)
}

pub(super) async fn memberships(db: &Db, user: &UserId) -> Result<Vec<Membership>> {
    let sql = "SELECT o.id, o.org_key, o.name, m.role FROM members m JOIN orgs o ON o.id = m.org \
               WHERE m.user_id = $1 ORDER BY o.name, o.id";
    let rows = db.rows(sql, args![user.0.as_str()]).await?;
    let read = |r: &Cells| {
        Ok(Membership {
            org: OrgId(r.int(0)?),
            org_key: r.text(1)?,
            org_name: r.text(2)?,
            role: read_role(&r.text(3)?)?,
        })
    };
    rows.iter().map(read).collect()
}

pub(super) async fn members(db: &Db, org: OrgId) -> Result<Vec<Member>> {
    let sql = format!(
        "SELECT {USER}, m.role, m.since, (SELECT MAX(s.seen_at) FROM sessions s WHERE s.user_id = u.id AND s.org = m.org) \
         FROM members m JOIN users u ON u.id = m.user_id WHERE m.org = $1 ORDER BY u.name, u.id"
    );
    let rows = db.rows(sql, args![org.0]).await?;
    let read = |r: &Cells| {
        Ok(Member {
            user: read_user(r)?,
            role: read_role(&r.text(USER_LEN)?)?,
            since: instant(r.int(USER_LEN + 1)?)?,
            last_seen_at: r.int_or_null(USER_LEN + 2)?.map(instant).transpose()?,
        })
    };
    rows.iter().map(read).collect()
}
