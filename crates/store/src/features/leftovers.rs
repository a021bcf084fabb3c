//! How the data of a feature are deleted.

use super::lifecycle::failed;
use crate::api::{Error, Result};
use crate::cluster_claims;
use crate::codec::read_json;
use crate::db::{Db, Tx, args};
use crate::stored;
use ::features::{Feature, State, StoreError};
use ::fleet::CLUSTERSET_CLAIM;
use jiff::Timestamp;
use model::account::Actor;
use model::ids::OrgId;

/// Rows that one step of a clean-up deletes: short enough for others to write in between.
const CLEAN_STEP: i64 = 1000;
/// Observations that one step unpacks and writes again.
const SAMPLES_STEP: i64 = 100;

/// Deletes some of the data of a feature that is turning off at a position; how many. 0 means that none are left, or that
/// the feature was written since: it may be on again.
pub(super) async fn clean(
    db: &Db,
    of: (&str, i64),
    data: &str,
    now: Timestamp,
) -> std::result::Result<u64, StoreError> {
    let mut tx = db.begin().await.map_err(failed)?;
    if !is_turning_off(&mut tx, db, of).await.map_err(failed)? {
        return Ok(0);
    }
    let gone = clean_in(&mut tx, db, data, now).await?;
    tx.commit().await.map_err(failed)?;
    Ok(gone)
}

/// Whether a feature is turning off at a position. Who turns it on waits until the transaction ends.
async fn is_turning_off(tx: &mut Tx, db: &Db, (name, rv): (&str, i64)) -> Result<bool> {
    let lock = db.for_share();
    let sql = format!("SELECT json FROM features WHERE org = $1 AND name = $2 AND rv = $3{lock}");
    let Some(row) = tx.row(sql, args![OrgId::BUILT_IN.0, name, rv]).await? else { return Ok(false) };
    let feature: Feature = read_json(&row.text(0)?)?;
    Ok(feature.state == State::TurningOff)
}

async fn clean_in(tx: &mut Tx, db: &Db, data: &str, now: Timestamp) -> std::result::Result<u64, StoreError> {
    let sql = match data {
        "connect-links" => {
            "DELETE FROM connect_links WHERE token_hash IN (SELECT token_hash FROM connect_links LIMIT $1)"
        }
        "released-prefixes" => {
            "DELETE FROM prefixes WHERE id IN (SELECT id FROM prefixes WHERE released_at IS NOT NULL LIMIT $1)"
        }
        "listed-blocks" => return clean_blocks(tx).await.map_err(failed),
        // Results of tests of channels that were removed.
        "channel-tests" => {
            "DELETE FROM settings WHERE (org, key) IN (SELECT org, key FROM settings s WHERE key LIKE 'channel-test/%' \
             AND NOT EXISTS (SELECT 1 FROM notification_settings n WHERE n.org = s.org AND n.kind = 'channel' \
             AND s.key = 'channel-test/' || n.id) LIMIT $1)"
        }
        "agent-questions" => "DELETE FROM agent_work WHERE id IN (SELECT id FROM agent_work LIMIT $1)",
        "place-samples" => return clean_samples(tx, db).await.map_err(failed),
        // An empty set: its last member was revoked before.
        "fleet-set" => return clean_set(tx, db, now).await.map_err(failed),
        // With it goes what was refused.
        "fleet-key" => {
            "DELETE FROM settings WHERE (org, key) IN (SELECT org, key FROM settings \
             WHERE key IN ('fleet-key', 'fleet-refused') LIMIT $1)"
        }
        "agent-tokens" => {
            "DELETE FROM agent_tokens WHERE token_hash IN (SELECT token_hash FROM agent_tokens LIMIT $1)"
        }
        "third-party-usage" => {
            "DELETE FROM host_budgets WHERE host IN (SELECT host FROM host_budgets WHERE host LIKE 'third-party/%' LIMIT $1)"
        }
        other => return Err(StoreError::UnknownData(other.into())),
    };
    tx.execute(sql, args![CLEAN_STEP]).await.map_err(failed)
}

/// Deletes blocks that organisations list, with a version of the index: processes keep them in memory.
async fn clean_blocks(tx: &mut Tx) -> Result<u64> {
    tx.execute("UPDATE space_head SET version = version + 1 WHERE id = 1", args![]).await?;
    let sql =
        "DELETE FROM network_blocks WHERE (org, prefix) IN (SELECT org, prefix FROM network_blocks LIMIT $1)";
    tx.execute(sql, args![CLEAN_STEP]).await
}

/// Removes what points of presence measured from observations, in the order in which recorders lock them; how many may have
/// held some. Those that were read are in the index no more, so the next step begins behind them. A scan that read one before
/// finds another version and reads it again.
async fn clean_samples(tx: &mut Tx, db: &Db) -> Result<u64> {
    let sql = format!(
        "SELECT name, vantage, json, packed FROM observations WHERE sampled <> 0 ORDER BY name, vantage LIMIT $1{}",
        db.for_update()
    );
    let rows = tx.rows(sql, args![SAMPLES_STEP]).await?;
    for r in &rows {
        let (name, vantage) = (r.text(0)?, r.text(1)?);
        // One that can't be read shows no samples either, and must not hold up the others.
        let Some(mut observation) = stored::observation(r, 2).ok().filter(stored::is_sampled) else {
            let sql = "UPDATE observations SET sampled = 0 WHERE name = $1 AND vantage = $2";
            tx.execute(sql, args![name, vantage]).await?;
            continue;
        };
        if let Some(delegation) = &mut observation.delegation.value {
            delegation.latency.places.clear();
        }
        let packed = stored::Text::of(&observation)?.pack(None)?;
        let sql = "UPDATE observations SET version = version + 1, json = '', packed = $3, sampled = 0 \
                   WHERE name = $1 AND vantage = $2";
        tx.execute(sql, args![name, vantage, packed]).await?;
    }
    Ok(rows.len() as u64)
}

/// Leaves the set, with its entry of the log; how many sets that were. While members are left it stays.
async fn clean_set(tx: &mut Tx, db: &Db, now: Timestamp) -> Result<u64> {
    match cluster_claims::delete_in(tx, db, &Actor::system(), (CLUSTERSET_CLAIM, None), now).await {
        Ok(Ok(_)) => Ok(1),
        Ok(Err(_)) | Err(Error::NotFound) => Ok(0),
        Err(e) => Err(e),
    }
}
