//! The Networks page: blocks, claims, free space, a preview; and what covers the addresses of a domain.

#[cfg(feature = "ssr")]
use super::context;
use leptos::prelude::*;
use model::Timestamp;
use serde::{Deserialize, Serialize};
use service::ApiError;

/// A block of address space as the list shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// The prefix.
    pub prefix: String,
    /// Part that is allocated, per cent.
    pub used: f64,
    /// The largest prefix that is free.
    pub largest_free: Option<String>,
    /// Allocated prefixes in it.
    pub claims: usize,
}

/// One part of a block: an allocated or a free prefix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The prefix.
    pub prefix: String,
    /// The claim that holds it; `None`: free.
    pub claim: Option<String>,
    /// True for what a preview would allocate.
    pub preview: bool,
    /// Where it begins, per cent of the block.
    pub start: f64,
    /// Its part of the block, per cent.
    pub width: f64,
}

/// A block with its parts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Space {
    /// The block.
    pub block: Block,
    /// The next larger prefixes that can be shown, the largest first.
    pub parents: Vec<String>,
    /// First and last address.
    pub ends: (String, String),
    /// Its parts in order, at most [`CELLS_MAX`].
    pub cells: Vec<Cell>,
    /// Parts beyond.
    pub more: usize,
}

/// A record of a claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimRow {
    /// The claim.
    pub claim: String,
    /// The prefix, or what was asked for.
    pub prefix: String,
    /// The component.
    pub reference: String,
    /// True when it is allocated.
    pub allocated: bool,
    /// What it is for, or why it is unavailable.
    pub words: String,
    /// When it was allocated or refused.
    pub date: Timestamp,
}

/// What a claim would get.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Preview {
    /// The prefix.
    pub prefix: Option<String>,
    /// Why none.
    pub reason: Option<String>,
}

/// All of the page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Networks {
    /// Blocks, IPv4 first.
    pub blocks: Vec<Block>,
    /// The block that is shown.
    pub space: Option<Space>,
    /// Claims in it, refused ones first.
    pub claims: Vec<ClaimRow>,
    /// What the form would get.
    pub preview: Option<Preview>,
    /// Claims in all.
    pub total: usize,
    /// Why the block of the address can't be shown.
    pub error: Option<String>,
    /// The server's clock.
    pub now: Timestamp,
}

/// Parts of a block that are drawn and listed.
pub const CELLS_MAX: usize = 256;

/// The page for an address's query.
#[server(name = ReadNetworks, prefix = "/api/fn", endpoint = "networks")]
pub async fn networks(query: String) -> Result<Networks, ApiError> {
    let (backend, caller) = context::backend()?;
    let mut claims = Vec::new();
    loop {
        let after = claims.last().map_or_else(String::new, |c: &service::resources::Claim| c.name.clone());
        let page = backend.network_claims(&caller, &after, 1000).await?;
        let more = page.len() == 1000;
        claims.extend(page);
        if !more || claims.len() >= 20_000 {
            break;
        }
    }
    let value = |key: &str| crate::query::value(&query, key).unwrap_or_default().trim().to_string();
    let mut preview = None;
    if !value("from").is_empty() || !value("prefix").is_empty() {
        // A preview does not collide with a claim of the same name.
        let name = format!("preview-{}", context::now().as_microsecond());
        let form = view::Form { name, ..view::Form::read(&value) };
        let saved = match form.draft(true) {
            Ok(draft) => backend.save_network_claim(&caller, &draft).await,
            Err(e) => Err(e),
        };
        preview = Some(match saved {
            Ok(c) => view::preview(&c),
            Err(e) => Preview { prefix: None, reason: Some(e.detail) },
        });
    }
    Ok(view::page(&claims, &value("block"), preview, context::now()))
}

/// Claims a prefix.
#[server(name = ClaimPrefix, prefix = "/api/fn", endpoint = "claim_prefix")]
pub async fn claim_prefix(
    name: String,
    #[server(default)] from: String,
    #[server(default)] length: String,
    #[server(default)] prefix: String,
    #[server(default)] group: String,
    #[server(default)] resource: String,
    #[server(default)] description: String,
) -> Result<ClaimRow, ApiError> {
    let (backend, caller) = context::backend()?;
    let form = view::Form { name, from, length, prefix, group, resource, description };
    let saved = backend.save_network_claim(&caller, &form.draft(false)?).await?;
    context::go_back(&[("done", "claimed.1".into())]);
    view::rows(std::slice::from_ref(&saved)).pop().ok_or_else(ApiError::internal)
}

/// Releases a claim.
#[server(name = ReleaseClaim, prefix = "/api/fn", endpoint = "release")]
pub async fn release_claim(name: String) -> Result<(), ApiError> {
    let (backend, caller) = context::backend()?;
    backend.delete_network_claim(&caller, &name, None).await?;
    context::go_back(&[("done", "released.1".into())]);
    Ok(())
}

/// An address that a domain's records point to, and what covers it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AddressRow {
    /// Owner name of the record.
    pub name: String,
    /// `A` or `AAAA`.
    pub rtype: String,
    /// The address.
    pub address: String,
    /// The prefix that covers it.
    pub prefix: Option<String>,
    /// The claim that holds it, or held it last.
    pub claim: Option<String>,
    /// The component.
    pub reference: String,
    /// When it was released, if it is not allocated any more.
    pub released_at: Option<Timestamp>,
}

/// What covers the addresses of a domain; empty when the organisation claims no address space.
#[server(name = ReadAddresses, prefix = "/api/fn", endpoint = "addresses")]
pub async fn addresses(name: String) -> Result<Vec<AddressRow>, ApiError> {
    let (backend, caller) = context::backend()?;
    if backend.network_claims(&caller, "", 1).await?.is_empty() {
        return Ok(Vec::new());
    }
    let detail = backend.detail(&caller, &context::name(&name)?).await?;
    let zone = detail.observation.and_then(|o| o.zone.value).unwrap_or_default();
    let mut found = Vec::new();
    for set in zone.rrsets.iter().filter(|s| matches!(s.rtype.as_str(), "A" | "AAAA")) {
        for address in set.data.iter().filter_map(|d| d.parse::<std::net::IpAddr>().ok()) {
            found.push((set, address));
        }
    }
    found.truncate(500);
    let list: Vec<_> = found.iter().map(|(_, a)| *a).collect();
    let covers = backend.covering(&caller, &list).await?;
    let rows = found.into_iter().zip(covers).map(|((set, address), cover)| AddressRow {
        name: set.name.clone(),
        rtype: set.rtype.clone(),
        address: address.to_string(),
        prefix: cover.as_ref().map(|c| c.prefix.to_string()),
        claim: cover.as_ref().map(|c| c.claim.clone()),
        reference: cover.as_ref().map(|c| view::reference(&c.reference)).unwrap_or_default(),
        released_at: cover.and_then(|c| c.released_at),
    });
    Ok(rows.collect())
}

/// From claims to what the page shows.
#[cfg(feature = "ssr")]
mod view {
    use super::{Block, CELLS_MAX, Cell, ClaimRow, Networks, Preview, Space};
    use model::Timestamp;
    use service::numbers::prefix::{bounds, overlaps, parse, size};
    use service::numbers::{AddressRequest, ClaimSpec, IpNet, RangeSet, RecordState, Reference};
    use service::resources::{Claim, ClaimDraft};
    use service::{ApiError, ApiResult};

    /// The claim form.
    #[derive(Default)]
    pub(super) struct Form {
        pub(super) name: String,
        pub(super) from: String,
        pub(super) length: String,
        pub(super) prefix: String,
        pub(super) group: String,
        pub(super) resource: String,
        pub(super) description: String,
    }

    impl Form {
        pub(super) fn read(value: &dyn Fn(&str) -> String) -> Self {
            Form {
                name: value("name"),
                from: value("from"),
                length: value("length"),
                prefix: value("prefix"),
                group: value("group"),
                resource: value("resource"),
                description: value("description"),
            }
        }

        pub(super) fn draft(&self, dry_run: bool) -> ApiResult<ClaimDraft> {
            let given = |text: &str| Some(text.trim().to_string()).filter(|t| !t.is_empty());
            let (prefix, length) = (given(&self.prefix), given(self.length.trim_start_matches('/')));
            let prefix_length = match length.filter(|_| prefix.is_none()) {
                None => None,
                Some(text) => Some(text.parse().map_err(|_| {
                    ApiError::invalid(format!(
                        "“{}” is not a prefix length: enter a number such as 26.",
                        self.length
                    ))
                })?),
            };
            let resource = given(&self.resource)
                .unwrap_or_else(|| if dry_run { "preview".into() } else { String::new() });
            let request = AddressRequest {
                prefix,
                from: given(&self.from),
                prefix_length,
                reference: Reference { group: self.group.trim().into(), resource },
                description: self.description.trim().into(),
            };
            let spec = ClaimSpec { address_space: vec![request] };
            Ok(ClaimDraft {
                name: self.name.trim().into(),
                expected: None,
                metadata: "{}".into(),
                spec,
                dry_run,
            })
        }
    }

    pub(super) fn reference(r: &Reference) -> String {
        if r.group.is_empty() { r.resource.clone() } else { format!("{}/{}", r.group, r.resource) }
    }

    pub(super) fn preview(claim: &Claim) -> Preview {
        let record = claim.status.address_space.first();
        let allocated = record.filter(|r| r.status == RecordState::Allocated);
        Preview {
            prefix: allocated.and_then(|r| r.prefix.clone()),
            reason: record.and_then(|r| r.message.clone()),
        }
    }

    /// Records of claims, refused ones first.
    pub(super) fn rows(claims: &[Claim]) -> Vec<ClaimRow> {
        let mut all: Vec<ClaimRow> = Vec::new();
        for c in claims {
            for (record, request) in c.status.address_space.iter().zip(&c.spec.address_space) {
                let asked = || {
                    let len = request.prefix_length.map(|l| format!("/{l} from ")).unwrap_or_default();
                    format!("{len}{}", request.from.clone().unwrap_or_default())
                };
                all.push(ClaimRow {
                    claim: c.name.clone(),
                    prefix: record.prefix.clone().unwrap_or_else(asked),
                    reference: reference(&record.reference),
                    allocated: record.status == RecordState::Allocated,
                    words: record.message.clone().unwrap_or_else(|| record.description.clone()),
                    date: record.date,
                });
            }
        }
        all.sort_by_key(|r| r.allocated);
        all
    }

    fn percent(part: u128, whole: u128) -> f64 {
        #[allow(clippy::cast_precision_loss)]
        let p = part as f64 / whole as f64 * 100.0;
        p
    }

    fn block(prefix: &IpNet, used: &RangeSet, held: &[(IpNet, String)]) -> Block {
        Block {
            prefix: prefix.to_string(),
            used: percent(used.count_within(prefix), size(prefix)),
            largest_free: used.largest_free(prefix).map(|p| p.to_string()),
            claims: held.iter().filter(|(p, _)| prefix.contains(p)).count(),
        }
    }

    /// The blocks that claims take prefixes out of, and exact prefixes outside of them.
    fn blocks(claims: &[Claim], held: &[(IpNet, String)]) -> Vec<IpNet> {
        let requests = claims.iter().flat_map(|c| &c.spec.address_space);
        let mut all: Vec<IpNet> = requests.filter_map(|r| parse(r.from.as_deref()?).ok()).collect();
        all.extend(held.iter().map(|(p, _)| *p));
        all.sort_by_key(IpNet::prefix_len);
        let mut kept: Vec<IpNet> = Vec::new();
        for p in all {
            if !kept.iter().any(|k| k.contains(&p)) {
                kept.push(p);
            }
        }
        kept.sort();
        kept
    }

    pub(super) fn page(claims: &[Claim], wanted: &str, preview: Option<Preview>, now: Timestamp) -> Networks {
        let allocated =
            |c: &Claim| c.status.allocated().map(|(p, _)| (p, c.name.clone())).collect::<Vec<_>>();
        let mut held: Vec<(IpNet, String)> = claims.iter().flat_map(allocated).collect();
        held.sort();
        let used = RangeSet::of(held.iter().map(|(p, _)| p));
        let all = blocks(claims, &held);
        let (shown, error) = match wanted {
            "" => (all.first().copied(), None),
            text => match parse(text) {
                Ok(p) => (Some(p), None),
                Err(e) => (all.first().copied(), Some(e.to_string())),
            },
        };
        let space = shown.map(|p| space(&p, &all, &used, &held, preview.as_ref()));
        let mut rows = rows(claims);
        if let Some(p) = &shown {
            rows.retain(|r| {
                r.prefix
                    .rsplit(' ')
                    .next()
                    .and_then(|t| t.parse().ok())
                    .is_none_or(|q: IpNet| overlaps(p, &q))
            });
        }
        rows.truncate(1000);
        Networks {
            blocks: all.iter().map(|p| block(p, &used, &held)).collect(),
            space,
            claims: rows,
            preview,
            total: claims.len(),
            error,
            now,
        }
    }

    fn space(
        shown: &IpNet,
        all: &[IpNet],
        used: &RangeSet,
        held: &[(IpNet, String)],
        preview: Option<&Preview>,
    ) -> Space {
        let (first, last) = bounds(shown);
        let whole = size(shown);
        let mut parts: Vec<(IpNet, Option<String>)> = Vec::new();
        for (p, claim) in held.iter().filter(|(p, _)| overlaps(p, shown)) {
            // A claim around the block fills it.
            parts.push((if p.contains(shown) { *shown } else { *p }, Some(claim.clone())));
        }
        let would = preview.and_then(|p| p.prefix.as_deref()).and_then(|p| p.parse::<IpNet>().ok());
        let would = would.filter(|p| shown.contains(p));
        let mut taken = used.clone();
        if let Some(p) = &would {
            taken.insert(p);
            parts.push((*p, None));
        }
        parts.extend(taken.free(shown).into_iter().map(|p| (p, None)));
        parts.sort_by_key(|(p, _)| bounds(p).0);
        let more = parts.len().saturating_sub(CELLS_MAX);
        let cells = parts.into_iter().take(CELLS_MAX).map(|(p, claim)| Cell {
            preview: would == Some(p),
            start: percent(bounds(&p).0 - first, whole),
            width: percent(size(&p), whole),
            prefix: p.to_string(),
            claim,
        });
        // One step up at a time, from the block that contains it.
        let mut parents: Vec<String> = Vec::new();
        if let Some(top) = all.iter().find(|b| b.contains(shown) && *b != shown) {
            parents.push(top.to_string());
            let mut at = *shown;
            let mut between = Vec::new();
            while let Some(up) = at.supernet().filter(|u| top.contains(u) && u != top) {
                if up.prefix_len() % 4 == 0 {
                    between.push(up.to_string());
                }
                at = up;
            }
            parents.extend(between.into_iter().rev());
        }
        let ends = (shown.network().to_string(), shown.broadcast().to_string());
        debug_assert!(first <= last);
        Space { block: block(shown, used, held), parents, ends, cells: cells.collect(), more }
    }
}
