//! The algebra against sets of single addresses, in the last 256 addresses of a family and around its ends.

use numbers::prefix::{aggregate, covering, overlaps, parse, size, split};
use numbers::{IpNet, RangeSet};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The small worlds the properties are tested in: 256 addresses at either end of a family.
const WORLDS: [&str; 4] =
    ["0.0.0.0/24", "255.255.255.0/24", "::/120", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ff00/120"];

fn world(i: usize) -> IpNet {
    WORLDS[i].parse().unwrap()
}

/// The prefix of `bits` host bits around an offset into a world.
fn inside(world: IpNet, offset: u8, bits: u8) -> IpNet {
    let len = world.max_prefix_len() - bits;
    let address = address(world, offset);
    IpNet::new(address, len).unwrap().trunc()
}

fn address(world: IpNet, offset: u8) -> IpAddr {
    match world.network() {
        IpAddr::V4(a) => Ipv4Addr::from(u32::from(a) + u32::from(offset)).into(),
        IpAddr::V6(a) => Ipv6Addr::from(u128::from(a) + u128::from(offset)).into(),
    }
}

fn members(world: IpNet, prefix: &IpNet) -> BTreeSet<u8> {
    (0..=255).filter(|o| prefix.contains(&address(world, *o))).collect()
}

fn union(world: IpNet, prefixes: &[IpNet]) -> BTreeSet<u8> {
    prefixes.iter().flat_map(|p| members(world, p)).collect()
}

fn some_prefixes() -> impl Strategy<Value = (IpNet, Vec<IpNet>)> {
    (0..4usize, prop::collection::vec((any::<u8>(), 0..=7u8), 0..24)).prop_map(|(w, list)| {
        let world = world(w);
        (world, list.into_iter().map(|(o, b)| inside(world, o, b)).collect())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn sets_hold_what_was_put_in_and_not_taken_out((w, list) in some_prefixes(), (_, gone) in some_prefixes()) {
        let gone: Vec<_> = gone.into_iter().filter(|p| overlaps(p, &w)).collect();
        let mut set = RangeSet::of(&list);
        gone.iter().for_each(|p| set.remove(p));
        let expected: BTreeSet<u8> = union(w, &list).difference(&union(w, &gone)).copied().collect();
        let host = |o: &u8| IpNet::from(address(w, *o));
        let held: BTreeSet<u8> = (0..=255).filter(|o| set.intersects(&host(o))).collect();
        prop_assert_eq!(&held, &expected);
        prop_assert_eq!(set.count_within(&w), expected.len() as u128);
        let rebuilt: Vec<_> = expected.iter().map(host).collect();
        prop_assert_eq!(&set, &RangeSet::of(&rebuilt), "one form for one set");
    }

    #[test]
    fn free_prefixes_are_what_is_left_and_as_few_as_can_be((w, list) in some_prefixes(), o in any::<u8>(), b in 0..=8u8) {
        let block = inside(w, o, b);
        let set = RangeSet::of(&list);
        let free = set.free(&block);
        let left: BTreeSet<u8> = members(w, &block).difference(&union(w, &list)).copied().collect();
        prop_assert_eq!(&union(w, &free), &left);
        prop_assert_eq!(free.iter().map(size).sum::<u128>(), left.len() as u128, "disjoint");
        for limit in [0, 1, 3, 64] {
            let (first, more) = set.first_free(&block, limit);
            prop_assert_eq!(&first[..], &free[..limit.min(free.len())]);
            prop_assert_eq!(more, (free.len() - first.len()) as u64);
        }
        let mut fewest = aggregate(&free);
        fewest.sort();
        prop_assert_eq!(&fewest, &free);
        let largest = set.largest_free(&block);
        let expected = free.iter().min_by_key(|p| (p.prefix_len(), **p)).copied();
        prop_assert_eq!(largest, expected);
    }

    #[test]
    fn the_smallest_fit_is_free_and_spares_larger_gaps((w, list) in some_prefixes(), bits in 0..=8u8, block_bits in 0..=8u8, o in any::<u8>()) {
        let block = inside(w, o, block_bits);
        let len = block.max_prefix_len() - bits;
        let fit = RangeSet::of(&list).smallest_fit(&block, len);
        let free = RangeSet::of(&list).free(&block);
        // The gap that every candidate of this length would break.
        let gaps: Vec<_> = free.iter().filter(|g| g.prefix_len() <= len).collect();
        match fit {
            None => prop_assert!(gaps.is_empty(), "{gaps:?} would fit"),
            Some(p) => {
                prop_assert_eq!(p.prefix_len(), len);
                prop_assert!(block.contains(&p) && list.iter().all(|u| !overlaps(u, &p)));
                let broken = gaps.iter().find(|g| g.contains(&p)).expect("inside a gap");
                prop_assert!(gaps.iter().all(|g| g.prefix_len() <= broken.prefix_len()), "no smaller gap fits");
                let first = gaps.iter().find(|g| g.prefix_len() == broken.prefix_len()).unwrap();
                prop_assert_eq!(*first, *broken, "at the lowest address");
                prop_assert_eq!(p.network(), first.network());
            }
        }
    }

    #[test]
    fn overlap_covering_and_split_agree_with_the_addresses((w, list) in some_prefixes(), o in any::<u8>(), bits in 0..=8u8) {
        let at = address(w, o);
        let expected = list.iter().filter(|p| members(w, p).contains(&o)).map(IpNet::prefix_len).max();
        prop_assert_eq!(covering(at, &list).map(IpNet::prefix_len), expected);
        let a = inside(w, o, bits);
        for b in &list {
            prop_assert_eq!(overlaps(&a, b), !members(w, &a).is_disjoint(&members(w, b)));
        }
        let halves: Vec<_> = split(a, a.max_prefix_len()).collect();
        prop_assert_eq!(halves.len(), members(w, &a).len());
        prop_assert_eq!(aggregate(&halves), vec![a]);
    }
}

#[test]
fn whole_families_do_not_overflow() {
    for all in ["0.0.0.0/0", "::/0"] {
        let all: IpNet = all.parse().unwrap();
        let mut set = RangeSet::default();
        assert_eq!(set.free(&all), [all]);
        assert_eq!(set.smallest_fit(&all, 0), Some(all));
        set.insert(&all);
        assert!(set.free(&all).is_empty() && set.smallest_fit(&all, 1).is_none());
        let last = IpNet::from(all.broadcast());
        set.remove(&last);
        assert_eq!(set.free(&all), [last]);
        assert_eq!(set.smallest_fit(&all, all.max_prefix_len()), Some(last));
    }
}

#[test]
fn prefixes_are_read_strictly() {
    for good in ["192.0.2.0/24", "2001:db8::/48", "0.0.0.0/0", "::/0", "192.0.2.7/32", " 10.0.0.0/8 "] {
        assert!(parse(good).is_ok(), "{good}");
    }
    for (bad, words) in [
        ("192.0.2.1/24", "host bits set: the prefix is 192.0.2.0/24"),
        ("2001:db8::1/48", "the prefix is 2001:db8::/48"),
        ("192.0.2.0", "is not a prefix"),
        ("192.0.2.0/33", "is not a prefix"),
        ("2001:db8::/129", "is not a prefix"),
        ("010.0.0.0/8", "is not a prefix"),
        ("example.com/24", "is not a prefix"),
        ("", "is not a prefix"),
    ] {
        let e = parse(bad).unwrap_err().to_string();
        assert!(e.contains(words), "{bad}: {e}");
    }
    assert!(parse(&"9".repeat(10_000)).unwrap_err().to_string().len() < 300, "input is not echoed whole");
}
