//! From claims to what the Networks page shows.

use super::rows::ClaimFilter;
use super::space::Registry;
use super::{BLOCKS_MAX, ClaimRow, Networks, PrefixState, Preview, ROWS_MAX, attention, rows};
use model::Timestamp;
use service::addresses::AddressReview;
use service::numbers::prefix::{is_v4, outermost, parse};
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

impl Form {
    /// The object that the form makes, as YAML. Every text is a string of JSON, which is one of YAML, too.
    pub(super) fn yaml(&self) -> ApiResult<String> {
        let draft = self.draft(false)?;
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let mut out = format!(
            "apiVersion: datumapis.com/v1alpha\nkind: NetworkClaim\nmetadata:\n  name: {}\nspec:\n  addressSpace:\n",
            quoted(&draft.name)
        );
        for r in &draft.spec.address_space {
            let texts = [("prefix", &r.prefix), ("from", &r.from)];
            let mut lines: Vec<String> = texts
                .iter()
                .filter_map(|(key, v)| Some(format!("{key}: {}", quoted(v.as_deref()?))))
                .collect();
            lines.extend(r.prefix_length.map(|n| format!("prefixLength: {n}")));
            lines.push("reference:".into());
            lines.extend(
                (!r.reference.group.is_empty()).then(|| format!("  group: {}", quoted(&r.reference.group))),
            );
            lines.push(format!("  resource: {}", quoted(&r.reference.resource)));
            lines.extend(
                (!r.description.is_empty()).then(|| format!("description: {}", quoted(&r.description))),
            );
            out.push_str(&format!("    - {}\n", lines.join("\n      ")));
        }
        Ok(out)
    }
}

pub(super) fn preview(claim: &Claim) -> Preview {
    let record = claim.status.address_space.first();
    let allocated = record.filter(|r| r.status == RecordState::Allocated);
    let prefix = allocated.and_then(|r| r.prefix.clone());
    let extent = prefix.as_deref().and_then(|p| p.parse::<IpNet>().ok()).map(|p| {
        // Digits of a large IPv6 prefix say less than its length.
        let count = match p.max_prefix_len() - p.prefix_len() {
            0 => "one address".to_string(),
            bits @ 1..=16 => format!("{} addresses", 1_u32 << bits),
            bits => format!("2^{bits} addresses"),
        };
        format!("{} – {}, {count}", p.network(), p.broadcast())
    });
    Preview { prefix, extent, reason: record.and_then(|r| r.message.clone()) }
}

/// The blocks that claims take prefixes out of, and exact prefixes outside of them.
fn blocks(claims: &[Claim], held: &[(IpNet, String)]) -> Vec<IpNet> {
    let requests = claims.iter().flat_map(|c| &c.spec.address_space);
    let mut all: Vec<IpNet> = requests.filter_map(|r| parse(r.from.as_deref()?).ok()).collect();
    all.extend(held.iter().map(|(p, _)| *p));
    outermost(all)
}

/// The blocks that match a search, with the records that do.
fn matching(blocks: &[IpNet], filter: &ClaimFilter, rows: &[ClaimRow]) -> Vec<IpNet> {
    if filter.text.is_empty() {
        return blocks.to_vec();
    }
    let text = filter.text.to_lowercase();
    let places: Vec<IpNet> = match filter.place {
        Some(place) => vec![place],
        None => rows.iter().filter_map(rows::place_of).collect(),
    };
    let found = RangeSet::of(&places);
    let is_match = |b: &&IpNet| found.intersects(b) || b.to_string().contains(&text);
    blocks.iter().filter(is_match).copied().collect()
}

pub(super) fn page(
    claims: &[Claim],
    review: &AddressReview,
    query: &str,
    preview: Option<Preview>,
    now: Timestamp,
) -> Networks {
    let allocated = |c: &Claim| c.status.allocated().map(|(p, _)| (p, c.name.clone())).collect::<Vec<_>>();
    let mut held: Vec<(IpNet, String)> = claims.iter().flat_map(allocated).collect();
    held.sort();
    let used = RangeSet::of(held.iter().map(|(p, _)| p));
    let all = blocks(claims, &held);
    let (filter, error) = match ClaimFilter::read(query) {
        Ok(filter) => (filter, None),
        Err(e) => (ClaimFilter::default(), Some(e.detail)),
    };
    let shown = filter.block.or_else(|| all.first().copied());
    let registry = Registry { blocks: &all, used: &used, held: &held, claims };
    let space = shown.map(|p| registry.space(&p, review, preview.as_ref()));
    let filter = ClaimFilter { block: shown, ..filter };
    let mut rows = rows::of_claims(claims);
    rows.extend(rows::of_released(&review.released, |p| used.intersects(p)));
    rows.retain(|r| filter.matches(r));
    let matching = matching(&all, &filter, &rows);
    let counts = PrefixState::ALL.map(|state| rows.iter().filter(|r| r.state == state).count());
    rows.retain(|r| filter.state.is_none_or(|state| r.state == state));
    let more_claims = rows.len().saturating_sub(ROWS_MAX);
    rows.truncate(ROWS_MAX);
    let (attention, more) = attention::entries(claims, review);
    let first = |v4: bool| all.iter().find(|p| is_v4(p) == v4).map(ToString::to_string);
    Networks {
        blocks: matching.iter().take(BLOCKS_MAX).map(|p| registry.block(p)).collect(),
        more_blocks: matching.len().saturating_sub(BLOCKS_MAX),
        total_blocks: all.len(),
        families: [true, false].into_iter().filter_map(first).collect(),
        space,
        attention,
        more_attention: (more, review.is_partial),
        searched: filter.place.map(|p| p.to_string()),
        search: filter.text,
        state: filter.state,
        counts,
        claims: rows,
        more_claims,
        preview,
        yaml: None,
        total: claims.len(),
        is_cut: false,
        error,
        now,
    }
}
