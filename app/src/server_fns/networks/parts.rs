//! A block as parts that can be drawn: what is held, free, or stands out. Small parts of a block with many are folded into the
//! sub-prefix that holds them.

use super::{CELLS_MAX, Fold};
use service::numbers::prefix::{overlaps, size};
use service::numbers::{IpNet, RangeSet, SpaceView};

/// Bits by which the smallest sub-prefix of a block with many parts is longer than the block: there are [`CELLS_MAX`] of them.
const BITS: u8 = 8;

/// What a part is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    /// The claim holds it.
    Claim(String),
    /// Another organisation holds it.
    Foreign,
    /// The preview would allocate it.
    Preview,
    /// The claim released it, and names still point into it.
    Released(String),
    Free,
    /// Smaller parts; true with the preview among them.
    Fold(Fold, bool),
}

/// A part of a block.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Part {
    pub(super) prefix: IpNet,
    pub(super) kind: Kind,
}

/// A block and what is known of it.
pub(super) struct Parts<'a> {
    pub(super) view: &'a SpaceView,
    /// What can't be claimed.
    pub(super) used: RangeSet,
    /// What of it others hold.
    pub(super) foreign: RangeSet,
    /// What a preview would allocate.
    pub(super) preview: Vec<IpNet>,
    /// What was released and is still pointed to, with the claim that held it; disjoint, and none of it is used.
    pub(super) released: Vec<(IpNet, String)>,
}

pub(super) fn percent(part: u128, whole: u128) -> f64 {
    #[allow(clippy::cast_precision_loss)]
    let p = part as f64 / whole as f64 * 100.0;
    p
}

impl Parts<'_> {
    /// The parts of a block in order, at most [`CELLS_MAX`], and how many were folded.
    pub(super) fn of(&self, block: &IpNet) -> (Vec<Part>, usize) {
        let (parts, is_whole) = self.down_to(block, block.max_prefix_len());
        if is_whole {
            return (parts, 0);
        }
        let (parts, _) =
            self.down_to(block, block.prefix_len().saturating_add(BITS).min(block.max_prefix_len()));
        let small = parts.iter().filter(|p| matches!(p.kind, Kind::Fold(..)));
        let count = |p: &Part| self.view.within(&p.prefix).count() + self.free_parts(&p.prefix);
        let folded = small.map(count).sum();
        (parts, folded)
    }

    fn free_parts(&self, prefix: &IpNet) -> usize {
        usize::try_from(self.used.first_free(prefix, 0).1).unwrap_or(usize::MAX)
    }

    /// The parts, none of them longer than a length; cut, with false, once there are more than can be drawn.
    fn down_to(&self, block: &IpNet, longest: u8) -> (Vec<Part>, bool) {
        let mut parts = Vec::new();
        let mut rest = vec![*block];
        while let Some(prefix) = rest.pop() {
            let kind = match self.whole(&prefix) {
                Some(kind) => kind,
                None if prefix.prefix_len() == longest => {
                    let claims = self.view.within(&prefix).count();
                    let used = percent(self.used.count_within(&prefix), size(&prefix));
                    Kind::Fold(Fold { used, claims }, self.preview.iter().any(|p| overlaps(p, &prefix)))
                }
                None => {
                    let halves = prefix.subnets(prefix.prefix_len() + 1).into_iter().flatten();
                    let from = rest.len();
                    rest.extend(halves);
                    if let Some(new) = rest.get_mut(from..) {
                        new.reverse();
                    }
                    continue;
                }
            };
            if parts.len() == CELLS_MAX {
                return (parts, false);
            }
            parts.push(Part { prefix, kind });
        }
        (parts, true)
    }

    /// What all of a prefix is; `None` when it has parts.
    fn whole(&self, prefix: &IpNet) -> Option<Kind> {
        if let Some(h) = self.view.containing(prefix) {
            return Some(Kind::Claim(h.holder.claim.clone()));
        }
        if self.foreign.contains(prefix) {
            return Some(Kind::Foreign);
        }
        if self.preview.iter().any(|p| p.contains(prefix)) {
            return Some(Kind::Preview);
        }
        if let Some((_, claim)) = self.released.iter().find(|(p, _)| p.contains(prefix)) {
            return Some(Kind::Released(claim.clone()));
        }
        let mut marked = self.preview.iter().chain(self.released.iter().map(|(p, _)| p));
        let is_free = !self.used.intersects(prefix) && !marked.any(|p| overlaps(p, prefix));
        is_free.then_some(Kind::Free)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use service::numbers::{Holder, Holding, Policy, Reference, Space};

    fn view(own: &[IpNet], others: &[&str]) -> SpaceView {
        let mut space = Space::default();
        let others = others.iter().map(|p| (2, p.parse().unwrap()));
        for (tenant, prefix) in own.iter().map(|p| (1, *p)).chain(others) {
            let since = jiff::Timestamp::UNIX_EPOCH;
            let (claim, reference) = (format!("claim-of-{tenant}"), Reference::default());
            let holder = Holder { tenant, claim, reference, description: String::new(), since };
            space.insert(Holding { prefix, holder });
        }
        SpaceView::new(space, 1, Policy::default())
    }

    fn parts<'a>(view: &'a SpaceView, block: &IpNet) -> Parts<'a> {
        let (preview, released) = (Vec::new(), Vec::new());
        Parts { view, used: view.used(block), foreign: view.foreign(block), preview, released }
    }

    #[test]
    fn every_part_is_what_it_is() {
        let own = ["10.0.0.0/26".parse().unwrap()];
        let view = view(&own, &["10.0.0.128/26", "10.0.1.0/24"]);
        let block = "10.0.0.0/22".parse().unwrap();
        let mut parts = parts(&view, &block);
        parts.preview.push("10.0.0.64/27".parse().unwrap());
        parts.released.push(("10.0.2.0/25".parse().unwrap(), "old".into()));
        let (drawn, folded) = parts.of(&block);
        let words: Vec<_> = drawn.iter().map(|p| format!("{} {:?}", p.prefix, p.kind)).collect();
        let expected = [
            "10.0.0.0/26 Claim(\"claim-of-1\")",
            "10.0.0.64/27 Preview",
            "10.0.0.96/27 Free",
            "10.0.0.128/26 Foreign",
            "10.0.0.192/26 Free",
            "10.0.1.0/24 Foreign",
            "10.0.2.0/25 Released(\"old\")",
            "10.0.2.128/25 Free",
            "10.0.3.0/24 Free",
        ];
        assert_eq!((words, folded), (expected.map(String::from).to_vec(), 0));
        // Inside of one part, it fills the picture.
        let inside = "10.0.1.128/25".parse().unwrap();
        assert_eq!(parts.of(&inside).0, [Part { prefix: inside, kind: Kind::Foreign }]);
    }

    #[test]
    fn small_parts_are_folded_and_large_ones_stay() {
        let block: IpNet = "10.0.0.0/16".parse().unwrap();
        let small = |len| service::numbers::prefix::split("10.0.0.0/20".parse().unwrap(), len);
        // 100 /28 in 10.0.0.0/20, one /17, and what is free between them.
        let mut held: Vec<IpNet> = small(28).take(100).collect();
        held.push("10.0.128.0/17".parse().unwrap());
        let view_of_few = view(&held, &[]);
        let (drawn, folded) = parts(&view_of_few, &block).of(&block);
        assert_eq!(folded, 0, "few enough");
        assert_eq!(drawn.iter().filter(|p| matches!(p.kind, Kind::Claim(_))).count(), 101);
        let mut held: Vec<IpNet> = small(29).step_by(2).take(250).collect();
        held.push("10.0.128.0/17".parse().unwrap());
        let view_of_many = view(&held, &[]);
        let (drawn, folded) = parts(&view_of_many, &block).of(&block);
        assert!(drawn.len() <= CELLS_MAX && folded >= 400, "{} {folded}", drawn.len());
        assert_eq!(drawn[0].prefix.to_string(), "10.0.0.0/24");
        assert_eq!(drawn[0].kind, Kind::Fold(Fold { used: 50.0, claims: 16 }, false));
        assert!(
            drawn.iter().any(|p| p.prefix.to_string() == "10.0.128.0/17" && matches!(p.kind, Kind::Claim(_)))
        );
        // Nothing is drawn twice and nothing left out.
        assert_eq!(drawn.iter().map(|p| size(&p.prefix)).sum::<u128>(), size(&block));
    }
}
