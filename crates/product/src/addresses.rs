//! The names that point into a prefix, with their PTR records, and those that point into released or unclaimed space.

use super::{Services, unavailable};
use crate::Work;
use crate::places::{BLOCKS_MAX, Blocks, place, place_addresses, placed};
use futures::StreamExt as _;
use model::ids::{Caller, OrgId, Vantage};
use model::names::Fqdn;
use model::observation::Observation;
use numbers::IpNet;
use numbers::prefix::aggregate;
use service::addresses::{
    AddressReview, Place, PlacedAddress, Pointer, PointerCursor, Pointers, Ptr, StrayAddress,
};
use service::policy::{Action, authorize};
use service::{ApiError, ApiResult};
use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use store::{Pointing, Store};

/// Released prefixes that are reviewed.
const RELEASED_MAX: u32 = 1_000;
/// Areas (blocks and released prefixes, aggregated) whose names are reviewed, and the addresses that are read for it.
const AREAS_MAX: usize = 200;
const REVIEWED_MAX: usize = 20_000;
/// Addresses looked up at once: each that no claim covers is compared with every prefix that may have held it.
const LOOKED_UP: usize = 250;
/// Addresses of one kind that a review reports.
const STRAY_MAX: usize = 200;
/// Names of one answer.
const POINTERS_MAX: usize = 200;
/// Addresses whose PTR records are looked up for one answer, and how many at once.
const PTR_MAX: usize = 64;
const PTR_AT_ONCE: usize = 16;
/// How long the PTR records of one answer may take.
const PTR_TIME: Duration = Duration::from_secs(6);

/// Released prefixes, and the addresses in released or unclaimed space that names of the organisation point to. Each kind
/// has its own limits: names in unclaimed space, of which a new registry has many, hide none in released space.
pub(super) async fn review(store: &dyn Store, org: OrgId) -> Result<AddressReview, store::Error> {
    let blocks = store.network_blocks(org, BLOCKS_MAX).await?;
    let released = store.released(org, RELEASED_MAX).await?;
    let prefixes: Vec<IpNet> = released.iter().map(|r| r.prefix).collect();
    let mut review =
        AddressReview { is_partial: released.len() == RELEASED_MAX as usize, ..Default::default() };
    for (kind, prefixes) in [(Place::Released, &prefixes), (Place::Unclaimed, &blocks)] {
        let (stray, is_partial) = strays(store, org, kind, prefixes, &Blocks::of(&blocks)).await?;
        review.stray.extend(stray);
        review.is_partial |= is_partial;
    }
    review.released = released.into_iter().map(super::resources::cover).collect();
    Ok(review)
}

/// The addresses of one kind in these prefixes, and whether there is more than was read.
async fn strays(
    store: &dyn Store,
    org: OrgId,
    kind: Place,
    prefixes: &[IpNet],
    blocks: &Blocks,
) -> Result<(Vec<StrayAddress>, bool), store::Error> {
    let areas = aggregate(prefixes);
    let mut found: Vec<Pointing> = Vec::new();
    for area in areas.iter().take(AREAS_MAX) {
        let left = u32::try_from(REVIEWED_MAX - found.len()).unwrap_or(u32::MAX);
        if left == 0 {
            break;
        }
        found.extend(store.pointing_into(org, area, None, left).await?);
    }
    let mut stray = Vec::new();
    for part in found.chunks(LOOKED_UP) {
        let addresses: Vec<IpAddr> = part.iter().map(|p| p.address).collect();
        for (p, cover) in part.iter().zip(store.covering(org, &addresses).await?) {
            let rtype = if p.address.is_ipv4() { "A" } else { "AAAA" };
            let address = place(p.owner.clone(), rtype.into(), p.address, cover, blocks);
            if address.place == kind {
                stray.push(StrayAddress { domain: p.domain.as_str().into(), address });
            }
        }
        if stray.len() > STRAY_MAX {
            stray.truncate(STRAY_MAX);
            return Ok((stray, true));
        }
    }
    Ok((stray, areas.len() > AREAS_MAX || found.len() == REVIEWED_MAX))
}

/// A part of the names that point into a prefix, behind one of them, and where the next part begins.
async fn part_into(
    store: &dyn Store,
    org: OrgId,
    prefix: &IpNet,
    after: Option<&PointerCursor>,
) -> ApiResult<(Vec<Pointing>, Option<PointerCursor>)> {
    if let Some(after) = after.filter(|a| !prefix.contains(&a.address)) {
        return Err(ApiError::invalid(format!(
            "“{after}” is not a position in the list of {prefix}. Start again from the first names."
        )));
    }
    let key = after.map(|a| (a.address, a.domain.as_str(), a.name.as_str()));
    let limit = u32::try_from(POINTERS_MAX + 1).unwrap_or(u32::MAX);
    let mut found = store.pointing_into(org, prefix, key, limit).await.map_err(unavailable)?;
    let is_last = found.len() <= POINTERS_MAX;
    found.truncate(POINTERS_MAX);
    let next = found.last().filter(|_| !is_last).map(|p| PointerCursor {
        address: p.address,
        domain: p.domain.as_str().into(),
        name: p.owner.clone(),
    });
    Ok((found, next))
}

/// A part of the names that point into a prefix, each as its domain and where its address lies; and where the next part begins.
///
/// # Errors
/// Those of the store, and a place to go on from that is not in the prefix.
pub async fn names_into(
    store: &dyn Store,
    org: OrgId,
    prefix: &IpNet,
    after: Option<&PointerCursor>,
) -> ApiResult<(Vec<(String, PlacedAddress)>, Option<PointerCursor>)> {
    let (found, next) = part_into(store, org, prefix, after).await?;
    let rtype = |a: &IpAddr| if a.is_ipv4() { "A" } else { "AAAA" };
    let addresses = found.iter().map(|p| (p.owner.as_str(), rtype(&p.address), p.address)).collect();
    let places = placed(store, org, addresses).await.map_err(unavailable)?;
    Ok((found.iter().map(|p| p.domain.as_str().to_string()).zip(places).collect(), next))
}

impl Services {
    /// An observation with what its addresses mean in an organisation; what is stored is the same for all of them.
    pub(super) async fn with_address_findings(
        &self,
        org: OrgId,
        mut o: Observation,
    ) -> ApiResult<Observation> {
        let placed = place_addresses(&**self.store(), org, &o).await.map_err(unavailable)?;
        o.findings.extend(placed.iter().filter_map(|p| p.finding(o.name.as_str())));
        Ok(o)
    }

    /// The names of an organisation that point into a prefix, with their PTR records where the caller may query.
    pub(super) async fn pointers(
        &self,
        caller: &Caller,
        prefix: IpNet,
        after: Option<&PointerCursor>,
    ) -> ApiResult<Pointers> {
        let (found, next) = part_into(&**self.store(), caller.org, &prefix, after).await?;
        let addresses: BTreeSet<IpAddr> = found.iter().map(|p| p.address).collect();
        let names = self.reverse_names(caller, addresses).await;
        let mut seen = HashMap::new();
        for domain in found.iter().map(|p| p.domain.clone()).collect::<BTreeSet<_>>() {
            let read = self.store().observation(&domain, &Vantage::local()).await.map_err(unavailable)?;
            seen.insert(domain, read.and_then(|v| v.observation.zone.observed_at));
        }
        let pointers = found.into_iter().map(|p| {
            let ptr = match names.get(&p.address) {
                None => Ptr::NotAsked,
                Some(None) => Ptr::NoAnswer,
                Some(Some(names)) if names.is_empty() => Ptr::Missing,
                Some(Some(names)) if names.contains(&p.owner) => Ptr::Agrees,
                Some(Some(names)) => Ptr::Differs { names: names.clone() },
            };
            let seen_at = seen.get(&p.domain).copied().flatten();
            Pointer { domain: p.domain.as_str().into(), name: p.owner, address: p.address, ptr, seen_at }
        });
        Ok(Pointers { prefix, pointers: pointers.collect(), next: next.map(|c| c.to_string()) })
    }

    /// PTR records of the addresses that were looked up; `None` of one without a usable answer in time.
    async fn reverse_names(
        &self,
        caller: &Caller,
        addresses: BTreeSet<IpAddr>,
    ) -> HashMap<IpAddr, Option<Vec<String>>> {
        if addresses.is_empty() || authorize(caller, Action::LookUp).is_err() {
            return HashMap::new();
        }
        let Ok(_permit) = self.tools.limits.enter(caller, Work::Trace).await else { return HashMap::new() };
        let found = Mutex::new(HashMap::new());
        let keep = |address: IpAddr, names: Option<Vec<String>>| {
            found.lock().unwrap_or_else(PoisonError::into_inner).insert(address, names);
        };
        let keep = &keep;
        let ask = |address: IpAddr| async move {
            keep(address, None);
            keep(address, self.reverse_name(address).await);
        };
        let answers = futures::stream::iter(addresses.into_iter().take(PTR_MAX).map(ask));
        // What came until then counts.
        let _ = tokio::time::timeout(PTR_TIME, answers.buffer_unordered(PTR_AT_ONCE).collect::<()>()).await;
        found.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    async fn reverse_name(&self, address: IpAddr) -> Option<Vec<String>> {
        let name = Fqdn::read(&reverse(address)).ok()?.name;
        let found = self.engine.resolve(&name, "PTR").await.ok()?;
        let names = found.records.iter().filter(|r| r.rtype == "PTR");
        Some(names.map(|r| r.data.trim_end_matches('.').to_ascii_lowercase()).collect())
    }
}

/// The name of an address in the reverse tree (RFC 1035 section 3.5, RFC 3596 section 2.5).
fn reverse(address: IpAddr) -> String {
    match address {
        IpAddr::V4(a) => {
            let [a, b, c, d] = a.octets();
            format!("{d}.{c}.{b}.{a}.in-addr.arpa")
        }
        IpAddr::V6(a) => {
            let digits = format!("{:032x}", u128::from(a));
            let labels: Vec<String> = digits.chars().rev().map(String::from).collect();
            format!("{}.ip6.arpa", labels.join("."))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::account::Actor;

    fn request(prefix: Option<&str>, from: Option<&str>, len: Option<u8>) -> numbers::AddressRequest {
        numbers::AddressRequest {
            prefix: prefix.map(Into::into),
            from: from.map(Into::into),
            prefix_length: len,
            reference: numbers::Reference { group: "apps".into(), resource: "shop".into() },
            description: String::new(),
        }
    }

    /// A registry that was begun lately has many names in space that nothing claims: one in released space is found beside them.
    #[tokio::test]
    async fn names_in_unclaimed_space_hide_none_in_released_space() {
        let now = "2026-11-20T12:00:00Z".parse().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let s = store::open(&folder.path().to_string_lossy()).await.unwrap();
        let name = model::names::DomainName::trusted("q7.io");
        let held = store::NewItem {
            unicode: name.unicode(),
            name: name.clone(),
            ownership: model::item::Ownership::Owned,
            tags: vec![],
            note: String::new(),
        };
        s.add(OrgId::BUILT_IN, &[held], now).await.unwrap();
        let claim = |name: &str, asked| store::NetworkClaimWrite {
            org: OrgId::BUILT_IN,
            name: name.into(),
            expected: None,
            metadata: "{}".into(),
            spec: numbers::ClaimSpec { address_space: vec![asked] },
            policy: numbers::Policy::default(),
            limit: u64::MAX,
            dry_run: false,
        };
        let block = claim("block", request(None, Some("10.0.0.0/16"), Some(30)));
        s.write_network_claim(&Actor::system(), &block, now).await.unwrap();
        let old = s
            .write_network_claim(
                &Actor::system(),
                &claim("old", request(Some("192.0.2.0/24"), None, None)),
                now,
            )
            .await
            .unwrap();
        s.delete_network_claim(
            &Actor::system(),
            OrgId::BUILT_IN,
            "old",
            Some(old.rv),
            &numbers::Policy::default(),
            now,
        )
        .await
        .unwrap();
        let set = |owner: &str, data: Vec<String>| model::dns::RrSet {
            name: owner.into(),
            rtype: "A".into(),
            ttl: 300,
            data,
        };
        let many = (0..=STRAY_MAX).map(|i| format!("10.0.{}.{}", 1 + i / 200, 1 + i % 200)).collect();
        let mut observation = Observation::empty(name.clone(), Vantage::local());
        observation.zone.value = Some(model::dns::ZoneSnapshot {
            rrsets: vec![set("many.q7.io", many), set("old.q7.io", vec!["192.0.2.7".into()])],
            ..Default::default()
        });
        observation.zone.attempted_at = Some(now);
        let (item, _) = s.scan_grounds(&name).await.unwrap().holdings.remove(0);
        let (_, row) = s.item(OrgId::BUILT_IN, &name).await.unwrap().unwrap();
        let outcomes = vec![store::ItemOutcome { item, row, changes: vec![] }];
        let record = store::Record {
            expected_version: 0,
            observation,
            snapshot: None,
            raw: vec![],
            outcomes,
            at: now,
        };
        s.record(&record).await.unwrap();
        let found = review(&*s, OrgId::BUILT_IN).await.unwrap();
        let of = |kind| found.stray.iter().filter(|s| s.address.place == kind).count();
        assert_eq!((of(Place::Released), of(Place::Unclaimed), found.is_partial), (1, STRAY_MAX, true));
    }

    #[test]
    fn names_of_the_reverse_tree() {
        assert_eq!(reverse("192.0.2.25".parse().unwrap()), "25.2.0.192.in-addr.arpa");
        let six = reverse("2001:db8::1".parse().unwrap());
        assert!(six.starts_with("1.0.0.0.") && six.ends_with(".8.b.d.0.1.0.0.2.ip6.arpa"), "{six}");
        assert_eq!(six.split('.').count(), 34);
    }
}
