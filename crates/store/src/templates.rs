//! Domain Connect templates of organisations. They are settings, one for each template.

use crate::accounts::Audit;
use crate::accounts::audit::note;
use crate::api::{Error, Result};
use crate::codec::{json, micros, read_json};
use crate::db::{Db, args};
use model::configure::StoredTemplate;
use model::configure::template::MAX_TEMPLATES;
use model::ids::OrgId;

/// The key of a template among the settings.
fn key(template: &str) -> String {
    format!("template/{template}")
}

pub(crate) async fn list(db: &Db, org: OrgId) -> Result<Vec<StoredTemplate>> {
    let sql = "SELECT value FROM settings WHERE org = $1 AND key LIKE 'template/%' ORDER BY key";
    let rows = db.rows(sql, args![org.0]).await?;
    rows.iter().map(|r| read_json(&r.text(0)?)).collect()
}

pub(crate) async fn save(db: &Db, org: OrgId, template: &StoredTemplate, log: &Audit) -> Result<()> {
    let key = key(&template.key());
    let mut tx = db.begin().await?;
    let others = "SELECT COUNT(*) FROM settings WHERE org = $1 AND key LIKE 'template/%' AND key <> $2";
    let others = tx.row(others, args![org.0, key.as_str()]).await?.map_or(Ok(0), |r| r.int(0))?;
    if usize::try_from(others).is_ok_and(|n| n >= MAX_TEMPLATES) {
        return Err(Error::Conflict);
    }
    let sql = "INSERT INTO settings (org, key, value, at) VALUES ($1, $2, $3, $4) \
               ON CONFLICT (org, key) DO UPDATE SET value = excluded.value, at = excluded.at";
    tx.execute(sql, args![org.0, key, json(template)?, micros(log.at)]).await?;
    note(&mut tx, Some(log)).await?;
    tx.commit().await
}

pub(crate) async fn delete(db: &Db, org: OrgId, template: &str, log: &Audit) -> Result<bool> {
    let mut tx = db.begin().await?;
    let gone =
        tx.execute("DELETE FROM settings WHERE org = $1 AND key = $2", args![org.0, key(template)]).await?;
    if gone == 0 {
        return Ok(false);
    }
    note(&mut tx, Some(log)).await?;
    tx.commit().await?;
    Ok(true)
}
