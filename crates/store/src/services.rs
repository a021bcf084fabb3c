//! Services set up on domains, and the links of customer pages. In: what the service layer judged. Out: rows, events and
//! messages in one transaction.

use crate::api::{Error, Result};
use crate::cluster_claims::origin;
use crate::codec::{instant, json, micros, read_json};
use crate::db::{Cells, Db, args};
use crate::events::StoredChange;
use crate::job::Job;
use crate::jobs;
use crate::log::{self, Line};
use crate::outbox;
use crate::record::severity_rank;
use jiff::Timestamp;
use model::configure::{ConnectLink, StoredService};
use model::event::Change;
use model::ids::OrgId;
use model::names::DomainName;
use model::scan::Op;

/// A stored service with its organisation and the version a write must still find.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionedService {
    /// Whose it is.
    pub org: OrgId,
    /// Increases with every write.
    pub version: i64,
    /// The service.
    pub service: StoredService,
}

const COLUMNS: &str = "org, version, json";

fn read(r: &Cells) -> Result<VersionedService> {
    Ok(VersionedService { org: OrgId(r.int(0)?), version: r.int(1)?, service: read_json(&r.text(2)?)? })
}

pub(crate) async fn add(db: &Db, org: OrgId, service: &StoredService, now: Timestamp) -> Result<()> {
    let mut tx = db.begin().await?;
    let held = "SELECT 1 FROM items WHERE org = $1 AND name = $2";
    if tx.row(held, args![org.0, service.domain.as_str()]).await?.is_none() {
        return Err(Error::NotFound);
    }
    let sql = "INSERT INTO services (id, org, name, version, json) VALUES ($1, $2, $3, 1, $4)";
    let values = args![service.id.as_str(), org.0, service.domain.as_str(), json(service)?];
    tx.execute(sql, values).await?;
    log::append(&mut tx, vec![Line::item(org, &service.domain, Op::Update)], now).await?;
    tx.commit().await
}

pub(crate) async fn of_domain(db: &Db, org: OrgId, name: &DomainName) -> Result<Vec<VersionedService>> {
    let sql = format!("SELECT {COLUMNS} FROM services WHERE org = $1 AND name = $2");
    let rows = db.rows(sql, args![org.0, name.as_str()]).await?;
    let mut all: Vec<VersionedService> = rows.iter().map(read).collect::<Result<_>>()?;
    all.sort_by(|a, b| (a.service.created_at, &a.service.id).cmp(&(b.service.created_at, &b.service.id)));
    Ok(all)
}

pub(crate) async fn by_id(db: &Db, id: &str) -> Result<Option<VersionedService>> {
    let sql = format!("SELECT {COLUMNS} FROM services WHERE id = $1");
    db.row(sql, args![id]).await?.as_ref().map(read).transpose()
}

/// Writes a service after a look, with the event it led to.
pub(crate) async fn record(
    db: &Db,
    before: &VersionedService,
    after: &StoredService,
    change: Option<&Change>,
    now: Timestamp,
) -> Result<()> {
    let (org, name) = (before.org, DomainName::trusted(&after.domain));
    let mut tx = db.begin().await?;
    let sql = "UPDATE services SET version = version + 1, json = $3 WHERE id = $1 AND version = $2";
    if tx.execute(sql, args![after.id.as_str(), before.version, json(after)?]).await? != 1 {
        return Err(Error::Conflict);
    }
    let mut lines = vec![Line::item(org, name.as_str(), Op::Update)];
    lines.extend(change.map(|_| Line::new_event(org)));
    let first = log::append(&mut tx, lines, now).await?.0;
    if let Some(change) = change {
        let id = first + 1;
        let (cluster, clusterset) = origin(&mut tx).await?;
        let row = args![
            id,
            org.0,
            name.as_str(),
            micros(now),
            change.kind.as_str(),
            severity_rank(change.severity),
            json(&StoredChange { change: change.clone(), clusterset })?,
            cluster
        ];
        tx.insert("INSERT INTO events (id, org, name, at, kind, severity, json, cluster)", vec![row], "")
            .await?;
        outbox::put(&mut tx, vec![outbox::row(org, &name, id, id, now)]).await?;
    }
    tx.commit().await
}

pub(crate) async fn remove(db: &Db, org: OrgId, name: &DomainName, id: &str, now: Timestamp) -> Result<bool> {
    let mut tx = db.begin().await?;
    let sql = "DELETE FROM services WHERE id = $1 AND org = $2 AND name = $3";
    let gone = tx.execute(sql, args![id, org.0, name.as_str()]).await? == 1;
    if gone {
        jobs::forget_parked(&mut tx, &Job::Service(id.to_string())).await?;
        log::append(&mut tx, vec![Line::item(org, name.as_str(), Op::Update)], now).await?;
    }
    tx.commit().await?;
    Ok(gone)
}

pub(crate) async fn put_link(db: &Db, org: OrgId, token_hash: &str, link: &ConnectLink) -> Result<()> {
    let sql =
        "INSERT INTO connect_links (token_hash, org, name, expires_at, json) VALUES ($1, $2, $3, $4, $5)";
    let values = args![token_hash, org.0, link.domain.as_str(), micros(link.expires_at), json(link)?];
    db.write(sql, values).await.map(drop)
}

pub(crate) async fn link(db: &Db, token_hash: &str) -> Result<Option<(OrgId, ConnectLink)>> {
    let sql = "SELECT org, json, expires_at FROM connect_links WHERE token_hash = $1";
    let Some(r) = db.row(sql, args![token_hash]).await? else { return Ok(None) };
    let link = ConnectLink { expires_at: instant(r.int(2)?)?, ..read_json(&r.text(1)?)? };
    Ok(Some((OrgId(r.int(0)?), link)))
}

/// Links that ended.
pub(crate) async fn prune(db: &Db, before: Timestamp) -> Result<u64> {
    db.write("DELETE FROM connect_links WHERE expires_at < $1", args![micros(before)]).await
}
