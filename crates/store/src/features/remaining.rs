//! How much of the data of a feature is left, counted by the database, and the names of a few.

use super::lifecycle::failed;
use crate::alerts::read_channel;
use crate::api::{Error, Result};
use crate::db::{Db, args};
use crate::seal::SecretKey;
use ::features::{Remaining, StoreError};
use model::ids::OrgId;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// Names of leftovers that are listed, and organisations.
const NAMES_MAX: i64 = 10;
/// Channels that one statement reads.
const CHANNELS_PAGE: i64 = 200;

/// The rows of some data.
struct Rows {
    table: &'static str,
    condition: &'static str,
    /// The column of the organisation; `None`: they belong to the installation.
    org: Option<&'static str>,
    /// The column with the name; `None`: they have none, or none that may be shown.
    name: Option<&'static str>,
}

const ALL: &str = "1 = 1";

/// Where data are that the database can count.
fn rows_of(data: &str) -> Option<Rows> {
    let of_orgs = |table, condition, name| Rows { table, condition, org: Some("org"), name: Some(name) };
    let ours = |table, condition, name| Rows { table, condition, org: None, name };
    Some(match data {
        "connect-links" => of_orgs("connect_links", ALL, "name"),
        "released-prefixes" => of_orgs("prefixes", "released_at IS NOT NULL", "prefix"),
        "listed-blocks" => of_orgs("network_blocks", ALL, "prefix"),
        "network-claims" => of_orgs("network_claims", ALL, "name"),
        "fleet-key" => of_orgs("settings", "key IN ('fleet-key', 'fleet-refused')", "key"),
        "channel-tests" => of_orgs(
            "settings s",
            "key LIKE 'channel-test/%' AND NOT EXISTS (SELECT 1 FROM notification_settings n WHERE n.org = s.org \
             AND n.kind = 'channel' AND s.key = 'channel-test/' || n.id)",
            "key",
        ),
        "agents" => ours("agents", ALL, Some("id")),
        "agent-questions" => ours("agent_work", ALL, Some("agent")),
        "agent-tokens" => ours("agent_tokens", ALL, None),
        // Which organisation holds a name is its own affair.
        "place-samples" => ours("observations", "sampled <> 0", None),
        "fleet-set" => ours("cluster_claims", "name = 'clusterset.k8s.io'", Some("value")),
        "third-party-usage" => ours("host_budgets", "host LIKE 'third-party/%'", Some("host")),
        _ => return None,
    })
}

/// The kind of the channels that data name, as in `channels/slack`.
fn channel_kind(data: &str) -> Option<&str> {
    data.strip_prefix("channels/")
}

/// Counts the data and names some: those of other organisations by organisation only, since their names are their own.
pub(super) async fn remaining(
    db: &Db,
    key: Option<&SecretKey>,
    data: &str,
) -> std::result::Result<Remaining, StoreError> {
    if let Some(kind) = channel_kind(data) {
        let mut tally = Tally::default();
        each_channel(db, key, kind, |org, name| {
            tally.add(org, name);
            ControlFlow::Continue(())
        })
        .await?;
        return Ok(tally.done());
    }
    let rows = rows_of(data).ok_or_else(|| StoreError::UnknownData(data.into()))?;
    counted(db, &rows).await.map_err(failed)
}

/// Whether any of the data is left, found by the first of them.
pub(super) async fn has_remaining(
    db: &Db,
    key: Option<&SecretKey>,
    data: &str,
) -> std::result::Result<bool, StoreError> {
    if let Some(kind) = channel_kind(data) {
        let mut is_left = false;
        each_channel(db, key, kind, |_, _| {
            is_left = true;
            ControlFlow::Break(())
        })
        .await?;
        return Ok(is_left);
    }
    let Rows { table, condition, .. } = rows_of(data).ok_or_else(|| StoreError::UnknownData(data.into()))?;
    let sql = format!("SELECT CAST(1 AS BIGINT) FROM {table} WHERE {condition} LIMIT 1");
    Ok(db.row(sql, args![]).await.map_err(failed)?.is_some())
}

async fn counted(db: &Db, rows: &Rows) -> Result<Remaining> {
    let Rows { table, condition, org, name } = rows;
    let sql = format!("SELECT COUNT(*) FROM {table} WHERE {condition}");
    let count = db.row(sql, args![]).await?.map_or(Ok(0), |r| r.int(0))?.unsigned_abs();
    if count == 0 {
        return Ok(Remaining::default());
    }
    let mut names = Vec::new();
    if let Some(name) = name {
        let own = org.map_or_else(String::new, |org| format!(" AND {org} = {}", OrgId::BUILT_IN.0));
        let sql = format!("SELECT {name} FROM {table} WHERE {condition}{own} ORDER BY {name} LIMIT $1");
        for r in db.rows(sql, args![NAMES_MAX]).await? {
            names.push(r.text(0)?);
        }
    }
    if let Some(org) = org {
        let sql = format!(
            "SELECT {org}, COUNT(*) FROM {table} WHERE {condition} AND {org} <> $1 GROUP BY {org} ORDER BY {org} LIMIT $2"
        );
        for r in db.rows(sql, args![OrgId::BUILT_IN.0, NAMES_MAX]).await? {
            names.push(of_org(r.int(0)?, r.int(1)?.unsigned_abs()));
        }
    }
    Ok(Remaining { count, names })
}

fn of_org(org: i64, count: u64) -> String {
    format!("{count} of org-{org}")
}

/// Channels by name. Their kind is encrypted with the rest, so the database can't count them.
#[derive(Default)]
struct Tally {
    count: u64,
    names: Vec<String>,
    others: BTreeMap<i64, u64>,
}

impl Tally {
    fn add(&mut self, org: OrgId, name: String) {
        self.count += 1;
        if org != OrgId::BUILT_IN {
            *self.others.entry(org.0).or_default() += 1;
        } else if self.names.len() < max_names() {
            self.names.push(name);
        }
    }

    fn done(mut self) -> Remaining {
        let others = self.others.iter().map(|(org, n)| of_org(*org, *n));
        self.names.extend(others.take(max_names()));
        Remaining { count: self.count, names: self.names }
    }
}

fn max_names() -> usize {
    usize::try_from(NAMES_MAX).unwrap_or(usize::MAX)
}

/// Hands over the channels of a kind, by organisation and identity, page after page, until it is told to stop.
async fn each_channel(
    db: &Db,
    key: Option<&SecretKey>,
    kind: &str,
    mut take: impl FnMut(OrgId, String) -> ControlFlow<()>,
) -> std::result::Result<(), StoreError> {
    let page = "SELECT org, id, json FROM notification_settings \
                WHERE kind = 'channel' AND (org, id) > ($1, $2) ORDER BY org, id LIMIT $3";
    let (mut org, mut id) = (OrgId(i64::MIN), String::new());
    loop {
        let rows = db.rows(page, args![org.0, id.as_str(), CHANNELS_PAGE]).await.map_err(failed)?;
        if rows.is_empty() {
            return Ok(());
        }
        for r in &rows {
            let text = (|| Ok::<_, Error>((OrgId(r.int(0)?), r.text(1)?, r.text(2)?)))().map_err(failed)?;
            (org, id) = (text.0, text.1);
            let channel = read_channel(key, org, &id, text.2);
            let channel = channel.map_err(|e| StoreError::Unreadable(e.to_string()))?;
            if channel.target.kind() == kind && take(org, channel.name).is_break() {
                return Ok(());
            }
        }
    }
}
