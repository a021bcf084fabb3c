//! From the registry to what the Networks page shows.

use super::rows::ClaimFilter;
use super::space::Map;
use super::{
    BLOCKS_MAX, ClaimRow, Named, NetworkRights, Networks, PrefixState, Preview, ROWS_PER_PAGE, attention,
    rows,
};
use model::Timestamp;
use service::addresses::AddressReview;
use service::numbers::prefix::{is_v4, overlaps, parse};
use service::numbers::{IpNet, RangeSet};
use service::resources::{ClaimHead, RefusedClaims, Registry};
use service::space::ListedBlock;

/// What the page was made from.
pub(super) struct Source {
    pub(super) registry: Registry,
    pub(super) refused: RefusedClaims,
    pub(super) listed: Vec<ListedBlock>,
    pub(super) review: AddressReview,
    /// Claims that released what is still pointed to and exist, holding something else.
    pub(super) heads: Vec<ClaimHead>,
}

/// The blocks that match a search, with the records that do.
fn matching(blocks: &[IpNet], filter: &ClaimFilter, places: impl Iterator<Item = IpNet>) -> Vec<IpNet> {
    if filter.text.is_empty() {
        return blocks.to_vec();
    }
    let text = filter.text.to_lowercase();
    let places: Vec<IpNet> = match filter.place {
        Some(place) => vec![place],
        None => places.collect(),
    };
    let found = RangeSet::of(&places);
    let is_match = |b: &&IpNet| found.intersects(b) || b.to_string().contains(&text);
    blocks.iter().filter(is_match).copied().collect()
}

pub(super) fn page(s: &Source, query: &str, preview: Option<Preview>, now: Timestamp) -> Networks {
    let view = &s.registry.view;
    let mut all = view.blocks(&s.registry.blocks);
    // One that lies in another is a block of its own where the organisation lists it.
    all.extend(s.listed.iter().map(|b| b.prefix));
    all.sort();
    all.dedup();
    let (filter, error) = match ClaimFilter::read(query) {
        Ok(filter) => (filter, None),
        Err(e) => (ClaimFilter::default(), Some(e.detail)),
    };
    // A preview is drawn in the block that it is taken from, whichever was shown.
    let gets = preview.iter().flat_map(|p| &p.gets).filter_map(|g| g.prefix.parse::<IpNet>().ok());
    let gets: Vec<IpNet> = gets.collect();
    let asked = filter.block.filter(|b| gets.is_empty() || gets.iter().any(|p| overlaps(b, p)));
    let written = ["other", "from"].into_iter().filter_map(|key| crate::query::value(query, key));
    let written: Vec<IpNet> = written.filter_map(|text| parse(&text).ok()).collect();
    let around = |p: &IpNet| {
        let holds = |b: &&IpNet| b.contains(p);
        all.iter().find(holds).or_else(|| written.iter().find(holds)).copied().unwrap_or(*p)
    };
    let shown = asked.or_else(|| gets.first().map(around)).or_else(|| all.first().copied());
    let map = Map { blocks: &all, view, refused: &s.refused.claims, listed: &s.listed };
    let space = shown.map(|p| map.space(&p, &s.review, &gets));
    let filter = ClaimFilter { block: shown, ..filter };
    let keep = |mut rows: Vec<ClaimRow>| {
        rows.retain(|r| filter.matches(r));
        rows
    };
    let unavailable = keep(rows::of_refused(&s.refused.claims));
    let released = keep(rows::of_released(&s.review.released, |p| view.is_held(p)));
    let counts = [unavailable.len(), filter.allocated(view).count(), released.len()];
    let places = unavailable.iter().chain(&released).filter_map(rows::place_of);
    let matching = matching(&all, &filter, places.chain(filter.allocated(view).map(|h| h.prefix)));
    let is_listed = |state| filter.state.is_none_or(|wanted| wanted == state);
    let listed = PrefixState::ALL.map(is_listed);
    let rows: usize = counts.iter().zip(listed).filter(|(_, is)| *is).map(|(n, _)| n).sum();
    let page = filter.page.clamp(1, rows.div_ceil(ROWS_PER_PAGE).max(1));
    let [refused, allocated, gone] = listed;
    let claims = (unavailable.into_iter().filter(|_| refused))
        .chain(filter.allocated(view).filter(|_| allocated).map(rows::of_holding))
        .chain(released.into_iter().filter(|_| gone));
    let claims: Vec<ClaimRow> = claims.skip((page - 1) * ROWS_PER_PAGE).take(ROWS_PER_PAGE).collect();
    let (attention, more) = attention::entries(s);
    let into = crate::query::value(query, "into").map(|v| v.trim().to_string()).filter(|v| !v.is_empty());
    let wrong = |text: &String| parse(text).err().map(|e| e.to_string());
    let error = error.or_else(|| into.as_ref().filter(|text| rows::place(text).is_none()).and_then(wrong));
    let named = into.as_deref().and_then(rows::place).or(filter.place).or(shown);
    let names = named.map(|p| {
        let claim = view.containing(&p).map(|h| (h.holder.claim.clone(), h.holder.since));
        let claims = if claim.is_some() { 0 } else { view.within(&p).count() };
        Named { prefix: p.to_string(), claim, claims }
    });
    let first = |v4: bool| all.iter().find(|p| is_v4(p) == v4).map(ToString::to_string);
    Networks {
        rights: NetworkRights::default(),
        blocks: matching.iter().take(BLOCKS_MAX).map(|p| map.block(p)).collect(),
        more_blocks: matching.len().saturating_sub(BLOCKS_MAX),
        total_blocks: all.len(),
        families: [true, false].into_iter().filter_map(first).collect(),
        space,
        attention,
        more_attention: (more, s.review.is_partial),
        names,
        search: filter.text,
        state: filter.state,
        counts,
        claims,
        rows,
        page,
        block_error: None,
        preview,
        yaml: None,
        total: s.registry.claims,
        is_partial: s.refused.is_partial,
        error,
        now,
    }
}
