//! A block of address space as a picture: its parts, and what was refused in it.

use super::parts::{Kind, Part, Parts, percent};
use super::{Amounts, Block, Cell, CellState, REFUSED_MAX, RefusedPart, Space, SubPrefix};
use model::words::grouped;
use service::addresses::{AddressReview, Place};
use service::numbers::prefix::{bounds, is_v4, overlaps, size, split};
use service::numbers::{AddressRecord, IpNet, RangeSet, SpaceView};
use service::resources::Claim;
use service::space::ListedBlock;

/// What the page draws from.
pub(super) struct Map<'a> {
    pub(super) blocks: &'a [IpNet],
    pub(super) view: &'a SpaceView,
    pub(super) refused: &'a [Claim],
    pub(super) listed: &'a [ListedBlock],
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
            listed: self.listed.iter().find(|b| b.prefix == *prefix).map(|b| b.description.clone()),
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
        let amounts = amounts(shown, (&used, &foreign), &released);
        let subs = subs(shown, &used);
        let (parts, folded) = Parts { view: self.view, used, foreign, preview, released }.of(shown);
        let part = |(prefix, claim, record): &Conflict<'_>| {
            let (start, width) = extent(if prefix.contains(shown) { shown } else { prefix }, shown);
            let reason = match (&record.held_prefix, &record.held_by) {
                (Some(held), Some(by)) => format!("overlaps {held}, held by {by}"),
                _ => record.message.clone().unwrap_or_default(),
            };
            RefusedPart { prefix: prefix.to_string(), claim: claim.name.clone(), reason, start, width }
        };
        Space {
            block: self.block(shown),
            parents: self.parents(shown),
            ends: (shown.network().to_string(), shown.broadcast().to_string()),
            amounts,
            subs,
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
    let size = amount(size(&prefix), is_v4(&prefix));
    Cell { prefix: prefix.to_string(), state, claim, short: short(&prefix, shown), size, start, width, fold }
}

/// A number of addresses: of IPv6, whose numbers say nothing to people, in networks of 64 bits.
fn amount(n: u128, v4: bool) -> String {
    let networks = if v4 { n } else { n >> 64 };
    match (u64::try_from(networks), v4) {
        (Ok(n), true) => grouped(n),
        (Ok(0), false) if n > 0 => "under one /64".into(),
        (Ok(n), false) if n < 1 << 32 => format!("{} /64", grouped(n)),
        _ => format!("2^{} /64", networks.ilog2()),
    }
}

fn amounts(shown: &IpNet, (used, foreign): (&RangeSet, &RangeSet), released: &[(IpNet, String)]) -> Amounts {
    let (all, taken, others) = (size(shown), used.count_within(shown), foreign.count_within(shown));
    let inside = |p: &IpNet| if p.contains(shown) { all } else { size(p) };
    let gone = released.iter().map(|(p, _)| inside(p)).fold(0, u128::saturating_add);
    let words = |n: u128| amount(n, is_v4(shown));
    Amounts {
        allocated: words(taken.saturating_sub(others)),
        foreign: words(others),
        released: words(gone),
        free: words(all.saturating_sub(taken).saturating_sub(gone)),
    }
}

fn subs(shown: &IpNet, used: &RangeSet) -> Vec<SubPrefix> {
    let len = shown.prefix_len() + 2;
    let part = |p: IpNet| {
        let (start, width) = extent(&p, shown);
        SubPrefix { prefix: p.to_string(), used: percent(used.count_within(&p), size(&p)), start, width }
    };
    if len > shown.max_prefix_len() { Vec::new() } else { split(*shown, len).map(part).collect() }
}

/// A prefix without the octets that every address of the block begins with.
fn short(prefix: &IpNet, shown: &IpNet) -> String {
    let text = prefix.to_string();
    let shared = usize::from(shown.prefix_len() / 8).min(3);
    if !is_v4(prefix) || shared == 0 {
        return text;
    }
    let own: Vec<&str> = text.splitn(shared + 1, '.').collect();
    own.last().map(|rest| format!(".{rest}")).unwrap_or(text)
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
    fn amounts_and_short_names() {
        let net = |text: &str| text.parse::<IpNet>().unwrap();
        for (prefix, shown, words) in [
            ("10.20.4.64/26", "10.20.4.0/22", ".4.64/26"),
            ("10.20.4.64/26", "10.0.0.0/8", ".20.4.64/26"),
            ("10.20.4.64/26", "8.0.0.0/5", "10.20.4.64/26"),
            ("10.20.4.64/32", "10.20.4.64/32", ".64/32"),
            ("2001:db8::/56", "2001:db8::/48", "2001:db8::/56"),
        ] {
            assert_eq!(short(&net(prefix), &net(shown)), words);
        }
        assert_eq!(amount(size(&net("10.0.0.0/8")), true), "16,777,216");
        assert_eq!(amount(size(&net("2001:db8::/48")), false), "65,536 /64");
        assert_eq!(amount(size(&net("2001:db8::/128")), false), "under one /64");
        assert_eq!(amount(size(&net("2000::/3")), false), "2^61 /64");
        assert_eq!(amount(0, false), "0 /64");
        let (mut used, mut foreign) = (RangeSet::default(), RangeSet::default());
        let shown = net("10.20.4.0/22");
        for prefix in ["10.20.4.0/24", "10.20.5.0/25"] {
            used.insert(&net(prefix));
        }
        foreign.insert(&net("10.20.5.0/25"));
        let released = [(net("10.20.7.0/25"), "old".to_string())];
        let found = amounts(&shown, (&used, &foreign), &released);
        let words = [found.allocated, found.foreign, found.released, found.free];
        assert_eq!(words, ["256", "128", "128", "512"]);
        let parts: Vec<_> = subs(&shown, &used).into_iter().map(|s| (s.prefix, s.used, s.start)).collect();
        assert_eq!(parts[1], ("10.20.5.0/24".to_string(), 50.0, 25.0));
        assert_eq!((parts.len(), subs(&net("10.0.0.0/31"), &used).len()), (4, 0));
    }
}
