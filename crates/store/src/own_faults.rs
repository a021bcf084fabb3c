//! Faults of the installation as its processes find them: one setting for each process and kind, so that other processes show
//! them, and one that starts anew knows what was held back.

use crate::api::Result;
use crate::codec::{instant, json, micros, read_json};
use crate::db::{Db, args};
use jiff::Timestamp;
use model::health::OwnFault;
use model::ids::OrgId;

/// A fault that a process found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportedFault {
    /// The process.
    pub process: String,
    /// When it was last reported.
    pub at: Timestamp,
    /// The fault.
    pub fault: OwnFault,
}

/// What the keys of these settings begin with.
const PREFIX: &str = "own-fault/";

pub(crate) async fn report(
    db: &Db,
    process: &str,
    faults: &[OwnFault],
    (now, forget): (Timestamp, Timestamp),
) -> Result<()> {
    let org = OrgId::BUILT_IN.0;
    let mut tx = db.begin().await?;
    let gone = "DELETE FROM settings WHERE org = $1 AND key LIKE 'own-fault/%' AND (key LIKE $2 OR at < $3)";
    tx.execute(gone, args![org, format!("{PREFIX}{process}/%"), micros(forget)]).await?;
    let sql = "INSERT INTO settings (org, key, value, at) VALUES ($1, $2, $3, $4) \
               ON CONFLICT (org, key) DO UPDATE SET value = excluded.value, at = excluded.at";
    for (i, fault) in faults.iter().enumerate() {
        // Of a registry there may be several of one kind.
        let key = format!("{PREFIX}{process}/{}/{i}", fault.kind.as_str());
        tx.execute(sql, args![org, key, json(fault)?, micros(now)]).await?;
    }
    tx.commit().await
}

pub(crate) async fn list(db: &Db, since: Timestamp) -> Result<Vec<ReportedFault>> {
    let sql = "SELECT key, value, at FROM settings WHERE org = $1 AND key LIKE 'own-fault/%' AND at >= $2 \
               ORDER BY key";
    let mut all = Vec::new();
    for row in db.rows(sql, args![OrgId::BUILT_IN.0, micros(since)]).await? {
        let key = row.text(0)?;
        let process = key.trim_start_matches(PREFIX).split('/').next().unwrap_or_default().to_string();
        // One of a newer version may be of a kind that this one does not know.
        if let Ok(fault) = read_json(&row.text(1)?) {
            all.push(ReportedFault { process, at: instant(row.int(2)?)?, fault });
        }
    }
    Ok(all)
}
