//! Which domains point into a prefix: the addresses of A and AAAA records and of name servers, written with each observation.

use super::{Pointing, PointingKey};
use crate::api::{Error, Result};
use crate::db::{Db, Tx, args};
use model::ids::{OrgId, Vantage};
use model::names::DomainName;
use model::observation::Observation;
use numbers::IpNet;
use numbers::prefix::{bounds, host};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// Addresses of a domain that are kept; a zone snapshot has a few.
const KEPT_MAX: usize = 500;

/// First and last key of a prefix.
fn keys(prefix: &IpNet) -> (String, String) {
    let (first, last) = bounds(prefix);
    match prefix {
        IpNet::V4(_) => (format!("4{first:08x}"), format!("4{last:08x}")),
        IpNet::V6(_) => (format!("6{first:032x}"), format!("6{last:032x}")),
    }
}

fn address(key: &str) -> Result<IpAddr> {
    let broken = || Error::Broken(format!("stored address {key:?}"));
    let (family, digits) = key.split_at_checked(1).ok_or_else(broken)?;
    match family {
        "4" => u32::from_str_radix(digits, 16).map(|n| IpAddr::V4(n.into())).map_err(|_| broken()),
        _ => u128::from_str_radix(digits, 16).map(|n| IpAddr::V6(n.into())).map_err(|_| broken()),
    }
}

/// The addresses of an observation, those of name servers too, each with the name that has it; `None` where the zone could
/// not be read.
pub(crate) fn of(o: &Observation) -> Option<BTreeSet<(String, String)>> {
    if o.zone.value.is_none() || o.vantage != Vantage::local() {
        return None;
    }
    let each = o.addresses().take(KEPT_MAX);
    Some(each.map(|(name, address)| (keys(&host(address)).0, name.to_string())).collect())
}

/// Keeps the addresses of domains in place of those that were found before; what could not be read is as it was.
pub(crate) async fn keep(
    db: &Db,
    tx: &mut Tx,
    found: impl Iterator<Item = (&DomainName, Option<&BTreeSet<(String, String)>>)>,
) -> Result<()> {
    let found: BTreeMap<String, _> = found.filter_map(|(n, f)| Some((n.to_string(), f?))).collect();
    if found.is_empty() {
        return Ok(());
    }
    let names = found.keys().cloned().collect::<Vec<_>>();
    let sql = format!("SELECT name, address, owner FROM observed_addresses WHERE {}", db.any("name", 1));
    let mut kept: BTreeMap<String, BTreeSet<(String, String)>> = BTreeMap::new();
    for r in tx.rows(sql, args![names]).await? {
        kept.entry(r.text(0)?).or_default().insert((r.text(1)?, r.text(2)?));
    }
    let none = BTreeSet::new();
    let before = |name: &String| kept.get(name).unwrap_or(&none);
    let changed: BTreeMap<&String, _> = found.iter().filter(|(name, f)| before(name) != **f).collect();
    let outdated: Vec<String> =
        changed.keys().filter(|n| kept.contains_key(**n)).map(|n| (*n).clone()).collect();
    if !outdated.is_empty() {
        let sql = format!("DELETE FROM observed_addresses WHERE {}", db.any("name", 1));
        tx.execute(sql, args![outdated]).await?;
    }
    let of_name = |(name, found): (&String, &&BTreeSet<(String, String)>)| {
        found
            .iter()
            .map(|(address, owner)| args![address.clone(), name.clone(), owner.clone()])
            .collect::<Vec<_>>()
    };
    let rows = changed.iter().flat_map(|(name, found)| of_name((name, found))).collect();
    tx.insert("INSERT INTO observed_addresses (address, name, owner)", rows, "").await.map(drop)
}

/// Names of an organisation up to which their addresses are sorted for each part.
const SMALL: i64 = 2000;

pub(super) async fn pointing_into(
    db: &Db,
    org: OrgId,
    prefix: &IpNet,
    after: Option<PointingKey<'_>>,
    limit: u32,
) -> Result<Vec<Pointing>> {
    let (first, last) = keys(prefix);
    let (address_after, domain, owner) = match after {
        Some((address, domain, owner)) => (keys(&host(address)).0, domain, owner),
        None => (String::new(), "", ""),
    };
    // SQLite keeps the order of a cross join. Addresses first, in their order, where it would else sort all names of a large
    // organisation for each part; names first where that would read the addresses of all others.
    let small = "SELECT COUNT(*) FROM (SELECT 1 FROM items WHERE org = $1 LIMIT $2) AS held";
    let names = db.row(small, args![org.0, SMALL + 1]).await?.map(|r| r.int(0)).transpose()?.unwrap_or(0);
    let tables = match names {
        ..=SMALL => "items i CROSS JOIN observed_addresses a",
        _ => "observed_addresses a CROSS JOIN items i",
    };
    let rows = db
        .rows(
            format!(
                "SELECT a.address, a.name, a.owner FROM {tables} \
                 WHERE i.name = a.name AND i.org = $1 AND a.address BETWEEN $2 AND $3 \
                 AND (a.address, a.name, a.owner) > ($5, $6, $7) ORDER BY a.address, a.name, a.owner LIMIT $4"
            ),
            // Begins where the part before ended, so that each part costs what it holds.
            args![
                org.0,
                first.max(address_after.clone()),
                last,
                i64::from(limit),
                address_after,
                domain,
                owner
            ],
        )
        .await?;
    let pointing = |r: &crate::db::Cells| {
        let domain = DomainName::trusted(&r.text(1)?);
        Ok(Pointing { address: address(&r.text(0)?)?, domain, owner: r.text(2)? })
    };
    rows.iter().map(pointing).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_in_the_order_of_addresses_and_read_back() {
        for text in ["0.0.0.0", "9.255.0.1", "10.0.0.0", "255.255.255.255", "::", "2001:db8::1", "ffff::"] {
            let parsed: IpAddr = text.parse().unwrap();
            assert_eq!(address(&keys(&host(parsed)).0).unwrap(), parsed);
        }
        let (first, last) = keys(&"10.20.0.0/16".parse().unwrap());
        assert_eq!((first.as_str(), last.as_str()), ("40a140000", "40a14ffff"));
        assert!(address("").is_err() && address("4xyz").is_err());
    }
}
