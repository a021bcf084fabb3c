//! A block with more parts than can be drawn: small ones are folded into the sub-prefix that holds them.

use super::{CELLS_MAX, Fold};
use service::numbers::prefix::size;
use service::numbers::{IpNet, RangeSet};

/// Bits by which a sub-prefix is longer than the block: there are [`CELLS_MAX`] of them.
const BITS: u8 = 8;

/// An allocated, free or folded part of a block.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Part {
    pub(super) prefix: IpNet,
    pub(super) claim: Option<String>,
    pub(super) preview: bool,
    /// The claim that released it, when names still point into it.
    pub(super) released: Option<String>,
    pub(super) fold: Option<Fold>,
}

pub(super) fn percent(part: u128, whole: u128) -> f64 {
    #[allow(clippy::cast_precision_loss)]
    let p = part as f64 / whole as f64 * 100.0;
    p
}

/// The parts of a block, which are in order and do not overlap, as they are drawn; and how many of them were folded.
pub(super) fn folded(block: &IpNet, parts: Vec<Part>, used: &RangeSet) -> (Vec<Part>, usize) {
    if parts.len() <= CELLS_MAX {
        return (parts, 0);
    }
    let len = block.prefix_len().saturating_add(BITS).min(block.max_prefix_len());
    let (mut drawn, mut count): (Vec<Part>, usize) = (Vec::new(), 0);
    for part in parts {
        let around = IpNet::new(part.prefix.addr(), len).map(|p| p.trunc());
        let (Ok(around), true) = (around, part.prefix.prefix_len() > len) else {
            drawn.push(part);
            continue;
        };
        count += 1;
        let claims = usize::from(part.claim.is_some());
        match drawn.last_mut().filter(|p| p.prefix == around) {
            Some(Part { fold: Some(fold), preview, released, .. }) => {
                fold.claims += claims;
                *preview |= part.preview;
                *released = released.take().or(part.released);
            }
            _ => {
                let used = percent(used.count_within(&around), size(&around));
                let fold = Some(Fold { used, claims });
                drawn.push(Part {
                    prefix: around,
                    claim: None,
                    preview: part.preview,
                    released: part.released,
                    fold,
                });
            }
        }
    }
    (drawn, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(prefix: &str, claim: Option<&str>) -> Part {
        let claim = claim.map(str::to_owned);
        Part { prefix: prefix.parse().unwrap(), claim, preview: false, released: None, fold: None }
    }

    #[test]
    fn small_parts_are_folded_and_large_ones_stay() {
        let block: IpNet = "10.0.0.0/16".parse().unwrap();
        // 200 /28 in 10.0.0.0/20, one /17, and what is free between them.
        let mut held: Vec<IpNet> =
            service::numbers::prefix::split("10.0.0.0/20".parse().unwrap(), 28).take(200).collect();
        held.push("10.0.128.0/17".parse().unwrap());
        let used = RangeSet::of(&held);
        let mut parts: Vec<Part> = held.iter().map(|p| part(&p.to_string(), Some("a"))).collect();
        parts.extend(used.free(&block).iter().map(|p| part(&p.to_string(), None)));
        parts.sort_by_key(|p| p.prefix);
        assert_eq!(folded(&block, parts.clone(), &used), (parts.clone(), 0), "few enough");
        // Twice as many.
        let mut held: Vec<IpNet> = held.iter().filter(|p| p.prefix_len() != 28).copied().collect();
        held.extend(service::numbers::prefix::split("10.0.0.0/20".parse().unwrap(), 29).step_by(2).take(400));
        held.sort();
        let used = RangeSet::of(&held);
        let mut parts: Vec<Part> = held.iter().map(|p| part(&p.to_string(), Some("a"))).collect();
        parts.extend(used.free(&block).iter().map(|p| part(&p.to_string(), None)));
        parts.sort_by_key(|p| p.prefix);
        let (drawn, count) = folded(&block, parts, &used);
        assert!(drawn.len() <= CELLS_MAX && count >= 400, "{} {count}", drawn.len());
        let first = &drawn[0];
        assert_eq!(first.prefix.to_string(), "10.0.0.0/24");
        assert_eq!(first.fold, Some(Fold { used: 50.0, claims: 16 }));
        assert_eq!(drawn.iter().filter_map(|p| p.fold).map(|f| f.claims).sum::<usize>(), held.len() - 1);
        assert!(drawn.iter().any(|p| p.prefix.to_string() == "10.0.128.0/17" && p.claim.is_some()));
        // Nothing is drawn twice and nothing left out.
        let sizes: u128 = drawn.iter().map(|p| size(&p.prefix)).sum();
        assert_eq!(sizes, size(&block));
    }
}
