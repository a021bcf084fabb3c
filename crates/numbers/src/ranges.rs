//! Sets of addresses as disjoint ranges.

use crate::prefix::{bounds, count_of_range, from_bounds, is_v4, of_range};
use ipnet::IpNet;
use std::collections::BTreeMap;

/// A set of IPv4 and IPv6 addresses, kept as disjoint ranges that do not touch each other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RangeSet {
    /// First address to last address, IPv4.
    v4: BTreeMap<u128, u128>,
    /// The same, IPv6.
    v6: BTreeMap<u128, u128>,
}

impl RangeSet {
    /// The set of the addresses of these prefixes.
    pub fn of<'a>(prefixes: impl IntoIterator<Item = &'a IpNet>) -> Self {
        let mut set = RangeSet::default();
        for prefix in prefixes {
            set.insert(prefix);
        }
        set
    }

    fn family(&self, prefix: &IpNet) -> &BTreeMap<u128, u128> {
        if is_v4(prefix) { &self.v4 } else { &self.v6 }
    }

    fn family_mut(&mut self, prefix: &IpNet) -> &mut BTreeMap<u128, u128> {
        if is_v4(prefix) { &mut self.v4 } else { &mut self.v6 }
    }

    /// Adds the addresses of a prefix.
    pub fn insert(&mut self, prefix: &IpNet) {
        let (mut first, mut last) = bounds(prefix);
        let ranges = self.family_mut(prefix);
        // Joined with every range that overlaps or touches it.
        while let Some((&f, &l)) = ranges.range(..=last.saturating_add(1)).next_back() {
            if l < first && l.checked_add(1) != Some(first) {
                break;
            }
            first = first.min(f);
            last = last.max(l);
            ranges.remove(&f);
        }
        ranges.insert(first, last);
    }

    /// Takes the addresses of a prefix out.
    pub fn remove(&mut self, prefix: &IpNet) {
        let (first, last) = bounds(prefix);
        let ranges = self.family_mut(prefix);
        while let Some((&f, &l)) = ranges.range(..=last).next_back() {
            if l < first {
                break;
            }
            ranges.remove(&f);
            if l > last {
                ranges.insert(last + 1, l);
            }
            if f < first {
                ranges.insert(f, first - 1);
            }
        }
    }

    /// True when no address is in the set.
    pub fn is_empty(&self) -> bool {
        self.v4.is_empty() && self.v6.is_empty()
    }

    /// True when at least one address of the prefix is in the set.
    pub fn intersects(&self, prefix: &IpNet) -> bool {
        let (first, last) = bounds(prefix);
        self.family(prefix).range(..=last).next_back().is_some_and(|(_, &l)| l >= first)
    }

    /// True when every address of the prefix is in the set.
    pub fn contains(&self, prefix: &IpNet) -> bool {
        let (first, last) = bounds(prefix);
        self.family(prefix).range(..=first).next_back().is_some_and(|(_, &l)| l >= last)
    }

    /// The ranges inside a block, cut at its ends, in order.
    pub fn within(&self, block: &IpNet) -> impl Iterator<Item = (u128, u128)> {
        let (first, last) = bounds(block);
        let ranges = self.family(block);
        let before = ranges.range(..first).next_back().map(|(_, &l)| l).filter(|l| *l >= first);
        before
            .map(|l| (first, l.min(last)))
            .into_iter()
            .chain(ranges.range(first..=last).map(move |(&f, &l)| (f, l.min(last))))
    }

    /// How many addresses of a block are in the set; at most `u128::MAX`.
    pub fn count_within(&self, block: &IpNet) -> u128 {
        self.within(block).fold(0u128, |n, (f, l)| n.saturating_add((l - f).saturating_add(1)))
    }

    /// The ranges of a block that are not in the set, in order.
    fn gaps(&self, block: &IpNet) -> impl Iterator<Item = (u128, u128)> {
        let (first, last) = bounds(block);
        // The next address that may be free; `None` behind the last address there is.
        let mut next = Some(first);
        let ends = self.within(block).map(Some).chain(std::iter::once(None));
        ends.filter_map(move |used| {
            let from = next?;
            let Some((f, l)) = used else { return (from <= last).then_some((from, last)) };
            next = l.checked_add(1);
            (from < f).then(|| (from, f - 1))
        })
    }

    /// The fewest prefixes of a block that hold its free addresses, in order.
    pub fn free(&self, block: &IpNet) -> Vec<IpNet> {
        let v4 = is_v4(block);
        self.gaps(block).flat_map(|(f, l)| of_range(v4, f, l)).collect()
    }

    /// The first of [`RangeSet::free`], at most `limit`, and how many more there are. Those beyond are counted and not made: a
    /// wide block with many small holes has millions.
    pub fn first_free(&self, block: &IpNet, limit: usize) -> (Vec<IpNet>, u64) {
        let v4 = is_v4(block);
        let (mut free, mut more) = (Vec::new(), 0);
        for (first, last) in self.gaps(block) {
            if free.len() < limit {
                free.extend(of_range(v4, first, last));
            } else {
                more += u64::from(count_of_range(first, last));
            }
        }
        more += free.len().saturating_sub(limit) as u64;
        free.truncate(limit);
        (free, more)
    }

    /// The shortest free prefix of a block, the one at the lowest address where several are as short.
    pub fn largest_free(&self, block: &IpNet) -> Option<IpNet> {
        let v4 = is_v4(block);
        let free = self.gaps(block).flat_map(|(f, l)| of_range(v4, f, l));
        free.reduce(|best, p| if p.prefix_len() < best.prefix_len() { p } else { best })
    }

    /// A free prefix of this length in a block: from the smallest free prefix that is large enough, so that larger ones
    /// stay whole, and there at the lowest address.
    pub fn smallest_fit(&self, block: &IpNet, len: u8) -> Option<IpNet> {
        let v4 = is_v4(block);
        if len < block.prefix_len() || len > block.max_prefix_len() {
            return None;
        }
        let width = u32::from(block.max_prefix_len());
        let needed = width - u32::from(len);
        let mut best: Option<IpNet> = None;
        for (first, last) in self.gaps(block) {
            // A gap that is too short needs no closer look: this is the common case in a full block.
            if needed < 128 && (last - first) < (1u128 << needed) - 1 {
                continue;
            }
            for free in of_range(v4, first, last) {
                if free.prefix_len() == len {
                    return Some(free);
                }
                if free.prefix_len() < len && best.is_none_or(|b| free.prefix_len() > b.prefix_len()) {
                    best = Some(free);
                }
            }
        }
        best.and_then(|b| from_bounds(v4, bounds(&b).0, len))
    }

    /// Takes every address of another set that lies inside a block out.
    pub fn remove_within(&mut self, other: &RangeSet, block: &IpNet) {
        for (f, l) in other.within(block) {
            for prefix in of_range(is_v4(block), f, l) {
                self.remove(&prefix);
            }
        }
    }

    /// Adds every address of another set that lies inside a block.
    pub fn insert_within(&mut self, other: &RangeSet, block: &IpNet) {
        for (f, l) in other.within(block) {
            for prefix in of_range(is_v4(block), f, l) {
                self.insert(&prefix);
            }
        }
    }
}
