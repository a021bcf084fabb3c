//! A block of address space as a picture: its parts, and what was refused in it.

use super::parts::{Kind, Part, Parts, percent};
use super::{Block, Cell, CellState, REFUSED_MAX, RefusedPart, Space};
use service::addresses::{AddressReview, Place};
use service::numbers::prefix::{bounds, overlaps, size};
use service::numbers::{AddressRecord, IpNet, SpaceView};
use service::resources::Claim;

/// What the page draws from.
pub(super) struct Map<'a> {
    pub(super) blocks: &'a [IpNet],
    pub(super) view: &'a SpaceView,
    pub(super) refused: &'a [Claim],
}

/// A prefix that a claim was refused because of others.
pub(super) type Conflict<'a> = (IpNet, &'a Claim, &'a AddressRecord);

impl<'a> Map<'a> {
    pub(super) fn block(&self, prefix: &IpNet) -> Block {
        let survey = self.view.survey(prefix, 0);
        Block {
            prefix: prefix.to_string(),
            used: percent(survey.used, size(prefix)),
            largest_free: survey.largest_free.map(|p| p.to_string()),
            claims: survey.more_held,
        }
    }

    pub(super) fn space(&self, shown: &IpNet, review: &AddressReview, gets: &[IpNet]) -> Space {
        let used = self.view.used(shown);
        let preview: Vec<IpNet> = gets.iter().filter(|p| overlaps(p, shown)).copied().collect();
        let mut released: Vec<(IpNet, String)> = Vec::new();
        let pointed_at = review.stray.iter().filter(|s| s.address.place == Place::Released);
        for cover in pointed_at.filter_map(|s| s.address.cover.as_ref()) {
            // Part of it may be allocated again, or stand for the release of another claim already.
            let mut others = preview.iter().chain(released.iter().map(|(p, _)| p));
            let is_alone = others.all(|p| !overlaps(p, &cover.prefix));
            if overlaps(&cover.prefix, shown) && is_alone && !used.intersects(&cover.prefix) {
                released.push((cover.prefix, cover.claim.clone()));
            }
        }
        let foreign = self.view.foreign(shown);
        let conflicts = self.conflicts(shown);
        let grid = super::grid::of(shown, (&used, &foreign), &conflicts);
        let (parts, folded) = Parts { view: self.view, used, foreign, preview, released }.of(shown);
        let part = |(prefix, claim, _): &Conflict<'_>| {
            let (start, width) = extent(if prefix.contains(shown) { shown } else { prefix }, shown);
            RefusedPart { prefix: prefix.to_string(), claim: claim.name.clone(), start, width }
        };
        Space {
            block: self.block(shown),
            parents: self.parents(shown),
            ends: (shown.network().to_string(), shown.broadcast().to_string()),
            cells: parts.into_iter().map(|p| cell(p, shown)).collect(),
            folded,
            refused: conflicts.iter().take(REFUSED_MAX).map(part).collect(),
            more_refused: conflicts.len().saturating_sub(REFUSED_MAX),
            grid,
        }
    }

    /// The next larger prefixes that can be shown, one step at a time from the block that contains this one.
    fn parents(&self, shown: &IpNet) -> Vec<String> {
        let Some(top) = self.blocks.iter().find(|b| b.contains(shown) && *b != shown) else {
            return Vec::new();
        };
        let mut between = Vec::new();
        let mut at = *shown;
        while let Some(up) = at.supernet().filter(|u| top.contains(u) && u != top) {
            if up.prefix_len() % 4 == 0 {
                between.push(up.to_string());
            }
            at = up;
        }
        between.push(top.to_string());
        between.reverse();
        between
    }

    /// Exact prefixes in a block that claims were refused because of others, by address.
    fn conflicts(&self, shown: &IpNet) -> Vec<Conflict<'a>> {
        let records = self.refused.iter().flat_map(|c| c.status.address_space.iter().map(move |r| (c, r)));
        let refused = records.filter(|(_, r)| r.is_conflict());
        let mut all: Vec<Conflict<'a>> = refused
            .filter_map(|(c, r)| Some((r.prefix.as_deref()?.parse().ok()?, c, r)))
            .filter(|(p, ..)| overlaps(p, shown))
            .collect();
        all.sort_by(|(p, a, _), (q, b, _)| (p, &a.name).cmp(&(q, &b.name)));
        all
    }
}

fn cell(part: Part, shown: &IpNet) -> Cell {
    let Part { prefix, kind } = part;
    let (start, width) = extent(&prefix, shown);
    let (state, claim, fold) = match kind {
        Kind::Claim(claim) => (CellState::Allocated, Some(claim), None),
        Kind::Foreign => (CellState::Foreign, None, None),
        Kind::Preview => (CellState::Preview, None, None),
        Kind::Released(claim) => (CellState::Released, Some(claim), None),
        Kind::Free => (CellState::Free, None, None),
        Kind::Fold(fold, true) => (CellState::Preview, None, Some(fold)),
        Kind::Fold(fold, false) => (CellState::Allocated, None, Some(fold)),
    };
    Cell { prefix: prefix.to_string(), state, claim, start, width, fold }
}

/// Where a prefix begins in a block that holds it, and how much of the block it is, both per cent.
fn extent(prefix: &IpNet, block: &IpNet) -> (f64, f64) {
    let whole = size(block);
    (percent(bounds(prefix).0 - bounds(block).0, whole), percent(size(prefix), whole))
}
