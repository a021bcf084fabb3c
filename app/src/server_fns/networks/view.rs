//! From claims to what the Networks page shows.

use super::fold::{Part, folded, percent};
use super::{Block, Cell, ClaimRow, Networks, Preview, ROWS_MAX, Space};
use model::Timestamp;
use service::addresses::component;
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
        let resource =
            given(&self.resource).unwrap_or_else(|| if dry_run { "preview".into() } else { String::new() });
        let request = AddressRequest {
            prefix,
            from: given(&self.from),
            prefix_length,
            reference: Reference { group: self.group.trim().into(), resource },
            description: self.description.trim().into(),
        };
        let spec = ClaimSpec { address_space: vec![request] };
        Ok(ClaimDraft { name: self.name.trim().into(), expected: None, metadata: "{}".into(), spec, dry_run })
    }
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
                reference: component(&record.reference),
                allocated: record.status == RecordState::Allocated,
                words: record.message.clone().unwrap_or_else(|| record.description.clone()),
                date: record.date,
            });
        }
    }
    all.sort_by_key(|r| r.allocated);
    all
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
    let allocated = |c: &Claim| c.status.allocated().map(|(p, _)| (p, c.name.clone())).collect::<Vec<_>>();
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
            r.prefix.rsplit(' ').next().and_then(|t| t.parse().ok()).is_none_or(|q: IpNet| overlaps(p, &q))
        });
    }
    let more_claims = rows.len().saturating_sub(ROWS_MAX);
    rows.truncate(ROWS_MAX);
    Networks {
        blocks: all.iter().map(|p| block(p, &used, &held)).collect(),
        space,
        claims: rows,
        more_claims,
        preview,
        total: claims.len(),
        is_cut: false,
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
    let mut parts: Vec<Part> = Vec::new();
    let mut add = |prefix, claim, preview| parts.push(Part { prefix, claim, preview, fold: None });
    for (p, claim) in held.iter().filter(|(p, _)| overlaps(p, shown)) {
        // A claim around the block fills it.
        add(if p.contains(shown) { *shown } else { *p }, Some(claim.clone()), false);
    }
    let would = preview.and_then(|p| p.prefix.as_deref()).and_then(|p| p.parse::<IpNet>().ok());
    let would = would.filter(|p| shown.contains(p));
    let mut taken = used.clone();
    if let Some(p) = &would {
        taken.insert(p);
        add(*p, None, true);
    }
    taken.free(shown).into_iter().for_each(|p| add(p, None, false));
    parts.sort_by_key(|p| bounds(&p.prefix).0);
    let (parts, folded) = folded(shown, parts, used);
    let cells = parts.into_iter().map(|Part { prefix, claim, preview, fold }| Cell {
        start: percent(bounds(&prefix).0 - first, whole),
        width: percent(size(&prefix), whole),
        prefix: prefix.to_string(),
        claim,
        preview,
        fold,
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
    Space { block: block(shown, used, held), parents, ends, cells: cells.collect(), folded }
}
