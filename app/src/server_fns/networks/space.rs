//! A block of address space as a picture: its parts, and what was refused in it.

use super::fold::{Part, folded, percent};
use super::{Block, Cell, Preview, REFUSED_MAX, RefusedPart, Space};
use service::addresses::{AddressReview, Place};
use service::numbers::prefix::{bounds, overlaps, size};
use service::numbers::{IpNet, RangeSet};
use service::resources::Claim;

/// What the registry holds.
pub(super) struct Registry<'a> {
    pub(super) blocks: &'a [IpNet],
    pub(super) used: &'a RangeSet,
    /// Allocated prefixes in order, each with its claim.
    pub(super) held: &'a [(IpNet, String)],
    pub(super) claims: &'a [Claim],
}

impl Registry<'_> {
    pub(super) fn block(&self, prefix: &IpNet) -> Block {
        Block {
            prefix: prefix.to_string(),
            used: percent(self.used.count_within(prefix), size(prefix)),
            largest_free: self.used.largest_free(prefix).map(|p| p.to_string()),
            claims: within(self.held, prefix).len(),
        }
    }

    pub(super) fn space(&self, shown: &IpNet, review: &AddressReview, preview: Option<&Preview>) -> Space {
        let mut parts: Vec<Part> = Vec::new();
        let mut add = |prefix, claim, preview, released| {
            parts.push(Part { prefix, claim, preview, released, fold: None });
        };
        // What is around the block fills it.
        let inside = |p: &IpNet| if p.contains(shown) { *shown } else { *p };
        for (p, claim) in self.held.iter().filter(|(p, _)| overlaps(p, shown)) {
            add(inside(p), Some(claim.clone()), false, None);
        }
        let would = preview.and_then(|p| p.prefix.as_deref()).and_then(|p| p.parse::<IpNet>().ok());
        let would = would.filter(|p| shown.contains(p));
        let mut taken = self.used.clone();
        if let Some(p) = &would {
            taken.insert(p);
            add(*p, None, true, None);
        }
        let pointed_at = review.stray.iter().filter(|s| s.address.place == Place::Released);
        for cover in pointed_at.filter_map(|s| s.address.cover.as_ref()) {
            let p = inside(&cover.prefix);
            // Part of it may be allocated again, or stand for the release of another claim already.
            if shown.contains(&p) && !taken.intersects(&p) {
                taken.insert(&p);
                add(p, None, false, Some(cover.claim.clone()));
            }
        }
        taken.free(shown).into_iter().for_each(|p| add(p, None, false, None));
        parts.sort_by_key(|p| bounds(&p.prefix).0);
        let (parts, folded) = folded(shown, parts, self.used);
        let cells = parts.into_iter().map(|Part { prefix, claim, preview, released, fold }| {
            let (start, width) = extent(&prefix, shown);
            Cell { prefix: prefix.to_string(), claim, preview, start, width, released, fold }
        });
        Space {
            block: self.block(shown),
            parents: self.parents(shown),
            ends: (shown.network().to_string(), shown.broadcast().to_string()),
            cells: cells.collect(),
            folded,
            refused: self.refused(shown),
            more_refused: self.conflicts(shown).len().saturating_sub(REFUSED_MAX),
            grid: self.grid(shown),
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

    /// Exact prefixes in a block that claims were refused because of others, in order, each with its claim.
    pub(super) fn conflicts(&self, shown: &IpNet) -> Vec<(IpNet, String)> {
        let records = self.claims.iter().flat_map(|c| c.status.address_space.iter().map(move |r| (c, r)));
        let refused = records.filter(|(_, r)| r.is_conflict());
        let mut all: Vec<(IpNet, String)> = refused
            .filter_map(|(c, r)| Some((r.prefix.as_deref()?.parse().ok()?, c.name.clone())))
            .filter(|(p, _)| overlaps(p, shown))
            .collect();
        all.sort();
        all
    }

    /// The first of them as parts of the picture.
    fn refused(&self, shown: &IpNet) -> Vec<RefusedPart> {
        let part = |(p, claim): (IpNet, String)| {
            let (start, width) = extent(if p.contains(shown) { shown } else { &p }, shown);
            RefusedPart { prefix: p.to_string(), claim, start, width }
        };
        self.conflicts(shown).into_iter().take(REFUSED_MAX).map(part).collect()
    }
}

/// Allocated prefixes inside a block: they are in order, so that they need not be compared with the block one by one.
fn within<'a>(held: &'a [(IpNet, String)], block: &IpNet) -> &'a [(IpNet, String)] {
    let first = held.partition_point(|(p, _)| p < block);
    let last = held.partition_point(|(p, _)| p.network() <= block.broadcast());
    held.get(first..last).unwrap_or_default()
}

/// Where a prefix begins in a block that holds it, and how much of the block it is, both per cent.
fn extent(prefix: &IpNet, block: &IpNet) -> (f64, f64) {
    let whole = size(block);
    (percent(bounds(prefix).0 - bounds(block).0, whole), percent(size(prefix), whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_inside_a_block_is_a_range_of_what_is_held() {
        let texts =
            ["10.0.0.0/24", "10.0.1.0/24", "10.0.2.0/25", "10.1.0.0/16", "2001:db8::/48", "2001:db8:1::/64"];
        let held: Vec<(IpNet, String)> = texts.iter().map(|p| (p.parse().unwrap(), String::new())).collect();
        let blocks = [
            "0.0.0.0/0",
            "10.0.0.0/23",
            "10.0.0.0/24",
            "10.0.2.0/24",
            "10.0.0.0/25",
            "10.0.3.0/24",
            "11.0.0.0/8",
            "::/0",
            "2001:db8::/47",
            "ffff::/16",
        ];
        for block in blocks.map(|b| b.parse::<IpNet>().unwrap()) {
            let expected: Vec<_> = held.iter().filter(|(p, _)| block.contains(p)).cloned().collect();
            assert_eq!(within(&held, &block), expected, "{block}");
        }
    }
}
