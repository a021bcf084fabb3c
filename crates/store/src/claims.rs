//! Claims of organisations to domains, and what the authoritative servers returned for them (SPEC section 7).
//!
//! In: claims as `model::ownership` judged them, each with the version it was judged from. Out: all of them written with
//! their events, log entries and next checks in one transaction, or none.

use crate::api::{Error, Result};
use crate::codec::{instant, json, micros, read_json};
use crate::db::{Cells, Db, Tx, args};
use crate::job::{Job, Priority};
use crate::jobs;
use crate::log::Line;
use crate::record::{append_events, locked};
use crate::store::Database;
use async_trait::async_trait;
use jiff::Timestamp;
use model::event::Change;
use model::ids::OrgId;
use model::names::{DomainName, Fqdn};
use model::ownership::{Claim, Round};
use model::scan::Op;

/// A claim as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredClaim {
    /// Random; names the file of an HTTP proof and the job that checks the claim.
    pub id: String,
    /// Whose claim it is.
    pub org: OrgId,
    /// What is claimed: A-labels, lower case, without the final dot.
    pub name: String,
    /// The claim.
    pub claim: Claim,
    /// The last round of questions.
    pub round: Option<Round>,
    /// When it was started.
    pub created_at: Timestamp,
    /// Events of the registration up to this instant have been considered.
    pub reviewed_at: Timestamp,
    /// Increases with every write; 0 for one that is not stored yet.
    pub version: i64,
}

impl StoredClaim {
    /// The registered domain the name belongs to; the name itself for a public suffix.
    pub fn domain(&self) -> DomainName {
        let name = Fqdn::trusted(&self.name);
        name.registrable().unwrap_or_else(|| DomainName::trusted(&self.name))
    }
}

/// A claim to write. `claim.version` is what must still be stored.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimWrite {
    /// The claim with its new content and its old version.
    pub claim: StoredClaim,
    /// What becomes an event of its organisation.
    pub changes: Vec<Change>,
}

/// The part of the store that knows claims.
#[async_trait]
pub trait ClaimStore: Send + Sync + 'static {
    /// Claims of an organisation by name, at most `limit`.
    async fn claims(&self, org: OrgId, limit: u32) -> Result<Vec<StoredClaim>>;
    /// Those of an organisation among these names, in no order.
    async fn claims_among(&self, org: OrgId, names: &[String]) -> Result<Vec<StoredClaim>>;
    /// Claims of all organisations to one name: for the decision between them only, never shown.
    async fn claims_to(&self, name: &str) -> Result<Vec<StoredClaim>>;
    /// Claims of all organisations to a registered domain and the names below it: for the schedule only.
    async fn claims_of_domain(&self, domain: &DomainName) -> Result<Vec<StoredClaim>>;
    /// The claim of an identifier, of whichever organisation: for the job that checks it.
    async fn claim_of_id(&self, id: &str) -> Result<Option<StoredClaim>>;
    /// Claims of all organisations by identifier after `after`, at most `limit`: for the operator.
    async fn all_claims(&self, after: &str, limit: u32) -> Result<Vec<StoredClaim>>;
    /// How many claims of an organisation wait for their first proof or for the holder.
    async fn pending_claims(&self, org: OrgId) -> Result<u64>;
    /// Writes claims with their events and queues their next checks; [`Error::Conflict`] when one of them was changed
    /// meanwhile, and nothing is written.
    async fn write_claims(&self, writes: &[ClaimWrite], now: Timestamp) -> Result<()>;
    /// Withdraws a claim; false when there is none.
    async fn remove_claim(&self, org: OrgId, name: &str, now: Timestamp) -> Result<bool>;
}

const COLUMNS: &str = "id, org, name, json, round, created_at, reviewed_at, version";

fn read(r: &Cells) -> Result<StoredClaim> {
    Ok(StoredClaim {
        id: r.text(0)?,
        org: OrgId(r.int(1)?),
        name: r.text(2)?,
        claim: read_json(&r.text(3)?)?,
        round: r.text_or_null(4)?.map(|text| read_json(&text)).transpose()?,
        created_at: instant(r.int(5)?)?,
        reviewed_at: instant(r.int(6)?)?,
        version: r.int(7)?,
    })
}

async fn write(tx: &mut Tx, claim: &StoredClaim) -> Result<()> {
    let round = claim.round.as_ref().map(json).transpose()?;
    let values = args![
        claim.org.0,
        claim.name.as_str(),
        claim.id.as_str(),
        claim.claim.standing().as_str(),
        json(&claim.claim)?,
        round,
        micros(claim.created_at),
        micros(claim.reviewed_at),
        claim.version,
        claim.domain().as_str()
    ];
    let sql = if claim.version == 0 {
        "INSERT INTO claims (org, name, id, standing, json, round, created_at, reviewed_at, version, domain) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9 + 1, $10) ON CONFLICT (org, name) DO NOTHING"
    } else {
        "UPDATE claims SET id = $3, standing = $4, json = $5, round = $6, created_at = $7, reviewed_at = $8, \
         domain = $10, version = version + 1 WHERE org = $1 AND name = $2 AND version = $9"
    };
    if tx.execute(sql, values).await? == 1 { Ok(()) } else { Err(Error::Conflict) }
}

async fn stored(tx: &mut Tx, org: OrgId, name: &str) -> Result<Option<StoredClaim>> {
    let sql = format!("SELECT {COLUMNS} FROM claims WHERE org = $1 AND name = $2");
    tx.row(sql, args![org.0, name]).await?.as_ref().map(read).transpose()
}

/// Notes in the row of the holding when a claim to its name begins or ends to count.
async fn turned(
    db: &Db,
    tx: &mut Tx,
    before: Option<&StoredClaim>,
    after: Option<&StoredClaim>,
    now: Timestamp,
) -> Result<()> {
    let counts = |claim: Option<&StoredClaim>| claim.is_some_and(|c| c.claim.counts());
    let Some(claim) = after.or(before).filter(|_| counts(before) != counts(after)) else { return Ok(()) };
    let name = DomainName::trusted(&claim.name);
    // Claims to names below a holding say nothing about it.
    let Some((_, mut row)) = locked(db, tx, claim.org, &name).await? else { return Ok(()) };
    row.transitions.verified = Some(now);
    let sql = "UPDATE items SET row_json = $3 WHERE org = $1 AND name = $2";
    tx.execute(sql, args![claim.org.0, name.as_str(), json(&row)?]).await.map(drop)
}

async fn write_all(db: &Db, writes: &[ClaimWrite], now: Timestamp) -> Result<()> {
    let mut sorted: Vec<&ClaimWrite> = writes.iter().collect();
    sorted.sort_by(|a, b| (a.claim.org, &a.claim.name).cmp(&(b.claim.org, &b.claim.name)));
    let mut tx = db.begin().await?;
    let mut checks = Vec::new();
    for one in &sorted {
        let before = stored(&mut tx, one.claim.org, &one.claim.name).await?;
        write(&mut tx, &one.claim).await?;
        turned(db, &mut tx, before.as_ref(), Some(&one.claim), now).await?;
        checks.extend(one.claim.claim.next_check_at.map(|at| (Job::Claim(one.claim.id.clone()), at)));
    }
    jobs::put(&mut tx, &checks, Priority::Scheduled).await?;
    for one in &sorted {
        let domain = one.claim.domain();
        let lines = vec![Line::item(one.claim.org, domain.as_str(), Op::Update)];
        let changes: Vec<&Change> = one.changes.iter().collect();
        append_events(&mut tx, &domain, lines, &[(one.claim.org, changes)], now).await?;
    }
    tx.commit().await
}

async fn select(db: &Db, condition: &str, values: Vec<crate::db::Arg>) -> Result<Vec<StoredClaim>> {
    let sql = format!("SELECT {COLUMNS} FROM claims WHERE {condition}");
    db.rows(sql, values).await?.iter().map(read).collect()
}

#[async_trait]
impl ClaimStore for Database {
    async fn claims(&self, org: OrgId, limit: u32) -> Result<Vec<StoredClaim>> {
        select(&self.db, "org = $1 ORDER BY name LIMIT $2", args![org.0, i64::from(limit)]).await
    }

    async fn claims_among(&self, org: OrgId, names: &[String]) -> Result<Vec<StoredClaim>> {
        let condition = format!("org = $1 AND {}", self.db.any("name", 2));
        select(&self.db, &condition, args![org.0, names.to_vec()]).await
    }

    async fn claims_to(&self, name: &str) -> Result<Vec<StoredClaim>> {
        select(&self.db, "name = $1 ORDER BY org", args![name]).await
    }

    async fn claims_of_domain(&self, domain: &DomainName) -> Result<Vec<StoredClaim>> {
        select(&self.db, "domain = $1 ORDER BY org, name", args![domain.as_str()]).await
    }

    async fn claim_of_id(&self, id: &str) -> Result<Option<StoredClaim>> {
        Ok(select(&self.db, "id = $1", args![id]).await?.pop())
    }

    async fn all_claims(&self, after: &str, limit: u32) -> Result<Vec<StoredClaim>> {
        select(&self.db, "id > $1 ORDER BY id LIMIT $2", args![after, i64::from(limit)]).await
    }

    async fn pending_claims(&self, org: OrgId) -> Result<u64> {
        let sql = "SELECT COUNT(*) FROM claims WHERE org = $1 AND standing IN ('pending', 'waiting')";
        let row = self.db.row(sql, args![org.0]).await?;
        Ok(row.map_or(Ok(0), |r| r.int(0))?.unsigned_abs())
    }

    async fn write_claims(&self, writes: &[ClaimWrite], now: Timestamp) -> Result<()> {
        if writes.is_empty() { Ok(()) } else { write_all(&self.db, writes, now).await }
    }

    async fn remove_claim(&self, org: OrgId, name: &str, now: Timestamp) -> Result<bool> {
        let mut tx = self.db.begin().await?;
        let sql = format!("DELETE FROM claims WHERE org = $1 AND name = $2 RETURNING {COLUMNS}");
        let Some(gone) = tx.row(sql, args![org.0, name]).await? else { return Ok(false) };
        let gone = read(&gone)?;
        turned(&self.db, &mut tx, Some(&gone), None, now).await?;
        jobs::forget_parked(&mut tx, &Job::Claim(gone.id.clone())).await?;
        let domain = gone.domain();
        append_events(&mut tx, &domain, vec![Line::item(org, domain.as_str(), Op::Update)], &[], now).await?;
        tx.commit().await?;
        Ok(true)
    }
}
