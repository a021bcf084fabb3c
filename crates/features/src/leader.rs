//! Which process carries out the transition of a feature: rendezvous hashing (Thaler and Ravishankar 1998) over the live
//! processes. All that see the same processes name the same one, without a message; when it dies another is named, and
//! features are spread over the processes.

/// The process that leads a feature; `None` when none is live.
pub fn leader<'a>(feature: &str, live: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    live.into_iter().max_by_key(|id| (weight(feature, id), *id))
}

/// FNV-1a with a final mix (that of MurmurHash3), so that names that differ in the last letter differ in all bits. It
/// is written out because all versions of the program must compute the same.
fn weight(feature: &str, process: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in feature.bytes().chain([0]).chain(process.bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn the_leader_does_not_depend_on_the_order_and_moves_only_when_it_dies() {
        let ids = ["a-1", "b-2", "c-3", "d-4"];
        let mut count: BTreeMap<&str, usize> = BTreeMap::new();
        for n in 0..400 {
            let feature = format!("feature-{n}");
            let first = leader(&feature, ids).unwrap();
            assert_eq!(leader(&feature, ids.into_iter().rev()), Some(first));
            *count.entry(first).or_default() += 1;
            for gone in ids {
                let next = leader(&feature, ids.into_iter().filter(|i| *i != gone)).unwrap();
                assert_eq!(next == first, gone != first, "{feature} without {gone}");
            }
        }
        assert!(count.len() == 4 && count.values().all(|n| *n > 50), "{count:?}");
        assert_eq!(leader("x", []), None);
    }

    #[test]
    fn every_version_computes_the_same() {
        assert_eq!(weight("doh-server", "a-1"), WEIGHT);
    }

    /// Computed once; another value would let two versions of the program name two leaders.
    const WEIGHT: u64 = 0x46e2_5507_4129_7e44;
}
