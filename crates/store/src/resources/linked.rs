//! Objects that the garbage collector reads: those that name owners, and those that wait for their dependents.

use crate::api::Result;
use crate::db::{Db, args};
use crate::log;
use model::ids::OrgId;

/// The kinds, each with its table, its column of metadata, and the rows of it that are objects of an organisation.
const TABLES: [(&str, &str, &str, &str); 4] = [
    (log::ITEM, "object_metadata", "json", "org = $1 AND kind = 'item'"),
    (log::CLAIM, "network_claims", "metadata", "org = $1"),
    (log::FEATURE, "features", "metadata", "org = $1"),
    // These belong to the installation, which its first organisation manages.
    (log::CLUSTER_CLAIM, "cluster_claims", "metadata", "$1 = 1"),
];

/// True for metadata that may name owners or a finalizer of the garbage collector, in the words of the partial indexes
/// of migration 20. Metadata with the same word elsewhere is read and found to need nothing.
fn is_linked(db: &Db, column: &str) -> String {
    let word = |w: &str| match db {
        Db::Sqlite { .. } => format!("instr({column}, '\"{w}\"') > 0"),
        Db::Postgres(_) => format!("strpos({column}, '\"{w}\"') > 0"),
    };
    format!("({} OR {} OR {})", word("ownerReferences"), word("foregroundDeletion"), word("orphan"))
}

pub(super) async fn orgs(db: &Db) -> Result<Vec<OrgId>> {
    let of_table = |(_, table, column, _): &(&str, &str, &str, &str)| {
        let org = if *table == "cluster_claims" { "1" } else { "org" };
        format!("SELECT {org} AS org FROM {table} WHERE {}", is_linked(db, column))
    };
    let each: Vec<String> = TABLES.iter().map(of_table).collect();
    let sql = format!("SELECT DISTINCT CAST(org AS BIGINT) FROM ({}) o", each.join(" UNION ALL "));
    db.rows(sql, vec![]).await?.iter().map(|r| Ok(OrgId(r.int(0)?))).collect()
}

pub(super) async fn list(
    db: &Db,
    org: OrgId,
    kind: &str,
    after: &str,
    limit: u32,
) -> Result<Vec<(String, String)>> {
    let Some((_, table, column, own)) = TABLES.iter().find(|t| t.0 == kind) else { return Ok(Vec::new()) };
    let sql = format!(
        "SELECT name, {column} FROM {table} WHERE {own} AND {} AND name > $2 ORDER BY name LIMIT $3",
        is_linked(db, column)
    );
    let rows = db.rows(sql, args![org.0, after, i64::from(limit)]).await?;
    rows.iter().map(|r| Ok((r.text(0)?, r.text(1)?))).collect()
}
