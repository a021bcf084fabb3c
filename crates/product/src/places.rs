//! The place of an address in the registry of address space: the claim that covers it, released or unclaimed space, or elsewhere.

use model::address_space::AddressSpace;
use model::compare::Comparison;
use model::dns::{Record, Trace};
use model::fqdn::FqdnReport;
use model::ids::OrgId;
use model::observation::Observation;
use numbers::IpNet;
use numbers::prefix::host;
use service::addresses::{Place, PlacedAddress};
use std::collections::HashSet;
use std::net::IpAddr;
use store::{Store, StoredCover};

/// Addresses of a domain that are placed.
const PLACED_MAX: usize = 200;
/// Blocks in which addresses that no claim covers are looked for.
pub(super) const BLOCKS_MAX: u32 = 10_000;

/// Where the addresses of a domain and its name servers lie; empty for an organisation that claims no address space and released none.
///
/// # Errors
/// Those of the store.
pub async fn place_addresses(
    store: &dyn Store,
    org: OrgId,
    o: &Observation,
) -> Result<Vec<PlacedAddress>, store::Error> {
    let rtype = |a: &IpAddr| if a.is_ipv4() { "A" } else { "AAAA" };
    let found = o.addresses().take(PLACED_MAX).map(|(name, a)| (name, rtype(&a), a));
    place_all(store, org, found.collect()).await
}

/// Adds to the report on a host name where its addresses lie.
///
/// # Errors
/// Those of the store.
pub async fn place_report(store: &dyn Store, org: OrgId, r: &mut FqdnReport) -> Result<(), store::Error> {
    let rtype = |a: &IpAddr| if a.is_ipv4() { "A" } else { "AAAA" };
    let found = r.addresses.iter().take(PLACED_MAX).map(|a| (r.name.as_str(), rtype(a), *a));
    let placed = place_all(store, org, found.collect()).await?;
    r.address_space = placed.into_iter().map(Into::into).collect();
    Ok(())
}

/// Adds to a trace where the addresses of its answer lie.
///
/// # Errors
/// Those of the store.
pub async fn place_trace(store: &dyn Store, org: OrgId, t: &mut Trace) -> Result<(), store::Error> {
    t.address_space = place_records(store, org, &t.records).await?;
    Ok(())
}

/// Adds to a comparison where the addresses of the authoritative answer lie.
///
/// # Errors
/// Those of the store.
pub async fn place_comparison(store: &dyn Store, org: OrgId, c: &mut Comparison) -> Result<(), store::Error> {
    c.address_space = place_records(store, org, &c.authority.records).await?;
    Ok(())
}

async fn place_records(
    store: &dyn Store,
    org: OrgId,
    records: &[Record],
) -> Result<Vec<AddressSpace>, store::Error> {
    let address = |r: &Record| match r.rtype.as_str() {
        "A" => r.data.parse().ok().map(IpAddr::V4).map(|a| ("A", a)),
        "AAAA" => r.data.parse().ok().map(IpAddr::V6).map(|a| ("AAAA", a)),
        _ => None,
    };
    let name = |r: &Record| r.name.trim_end_matches('.').to_string();
    let found: Vec<_> =
        records.iter().filter_map(|r| Some((name(r), address(r)?))).take(PLACED_MAX).collect();
    let found = found.iter().map(|(name, (rtype, address))| (name.as_str(), *rtype, *address));
    let placed = place_all(store, org, found.collect()).await?;
    Ok(placed.into_iter().map(Into::into).collect())
}

async fn place_all(
    store: &dyn Store,
    org: OrgId,
    found: Vec<(&str, &'static str, IpAddr)>,
) -> Result<Vec<PlacedAddress>, store::Error> {
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let claims = !store.network_claims(org, "", 1).await?.is_empty();
    let blocks = async || Ok::<_, store::Error>(!store.listed_blocks(org).await?.is_empty());
    if !claims && store.released(org, 1).await?.is_empty() && !blocks().await? {
        return Ok(Vec::new());
    }
    placed(store, org, found).await
}

pub(super) async fn placed(
    store: &dyn Store,
    org: OrgId,
    found: Vec<(&str, &'static str, IpAddr)>,
) -> Result<Vec<PlacedAddress>, store::Error> {
    let addresses: Vec<IpAddr> = found.iter().map(|(.., a)| *a).collect();
    let covers = store.covering(org, &addresses).await?;
    let is_covered = covers.iter().all(Option::is_some);
    let blocks = if is_covered {
        Blocks::default()
    } else {
        Blocks::of(&store.network_blocks(org, BLOCKS_MAX).await?)
    };
    let placed = found.into_iter().zip(covers).map(|((name, rtype, address), cover)| {
        place(name.to_string(), rtype.to_string(), address, cover, &blocks)
    });
    Ok(placed.collect())
}

/// The blocks that an organisation allocates out of. Finding the one around an address takes as many steps as there are
/// lengths of prefixes, not as there are blocks.
#[derive(Default)]
pub(super) struct Blocks(HashSet<IpNet>);

impl Blocks {
    pub(super) fn of(blocks: &[IpNet]) -> Self {
        Blocks(blocks.iter().copied().collect())
    }

    /// The longest block that holds an address.
    fn around(&self, address: IpAddr) -> Option<IpNet> {
        let lengths = (0..=host(address).max_prefix_len()).rev();
        let mut around = lengths.filter_map(|len| Some(IpNet::new(address, len).ok()?.trunc()));
        around.find(|prefix| self.0.contains(prefix))
    }
}

/// Where an address lies, from what covers it and from the blocks that the organisation allocates out of.
pub(super) fn place(
    name: String,
    rtype: String,
    address: IpAddr,
    cover: Option<StoredCover>,
    blocks: &Blocks,
) -> PlacedAddress {
    let block = if cover.is_some() { None } else { blocks.around(address) };
    let place = match (&cover, block) {
        (Some(c), _) if c.released_at.is_none() => Place::Claimed,
        (Some(_), _) => Place::Released,
        (None, Some(_)) => Place::Unclaimed,
        (None, None) => Place::Elsewhere,
    };
    PlacedAddress { name, rtype, address, place, cover: cover.map(crate::resources::cover), block }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_block_around_an_address_is_found_among_many() {
        let mut blocks: Vec<IpNet> = (0..10_000u32)
            .map(|i| IpNet::new(std::net::Ipv4Addr::from(i << 16).into(), 16).unwrap())
            .collect();
        blocks.extend(["10.20.5.0/24", "2001:db8::/32", "::/0"].map(|p| p.parse::<IpNet>().unwrap()));
        let blocks = Blocks::of(&blocks);
        let around = |a: &str| blocks.around(a.parse().unwrap()).map(|p| p.to_string());
        assert_eq!(around("10.20.5.7").as_deref(), Some("10.20.5.0/24"));
        assert_eq!(around("10.20.6.7").as_deref(), Some("10.20.0.0/16"));
        assert_eq!(around("2001:db8::1").as_deref(), Some("2001:db8::/32"));
        assert_eq!(around("2001:db9::1").as_deref(), Some("::/0"));
        assert_eq!(around("192.0.2.1"), None);
    }
}
