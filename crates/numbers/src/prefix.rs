//! Single prefixes: reading them strictly, and the ranges of addresses they stand for.

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A text that is no prefix in canonical form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PrefixError {
    /// Not an address, a slash and a length.
    #[error(
        "“{text}” is not a prefix: write an address, a slash and a length, such as 192.0.2.0/24 or 2001:db8::/48"
    )]
    Malformed {
        /// What was written.
        text: String,
    },
    /// Bits after the prefix length are set.
    #[error("“{text}” has host bits set: the prefix is {network}")]
    HostBits {
        /// What was written.
        text: String,
        /// The prefix with these bits cleared.
        network: IpNet,
    },
}

/// Reads a prefix. Host bits must be zero.
///
/// # Errors
/// When it is malformed or has host bits set.
pub fn parse(text: &str) -> Result<IpNet, PrefixError> {
    let shown = || text.chars().take(80).collect::<String>();
    // The address by the standard library, which refuses leading zeros (RFC 6943 section 3.1.1: some read them as octal).
    let read = text.trim().split_once('/').and_then(|(address, len)| {
        let canonical = len.len() <= 3 && len.bytes().all(|b| b.is_ascii_digit());
        IpNet::new(address.parse().ok()?, len.parse().ok().filter(|_| canonical)?).ok()
    });
    let net = read.ok_or_else(|| PrefixError::Malformed { text: shown() })?;
    if net.trunc() == net {
        Ok(net)
    } else {
        Err(PrefixError::HostBits { text: shown(), network: net.trunc() })
    }
}

/// The prefix that holds one address only.
pub fn host(address: IpAddr) -> IpNet {
    IpNet::from(address)
}

/// True when both are of one family and share an address; one of them then contains the other.
pub fn overlaps(a: &IpNet, b: &IpNet) -> bool {
    a.contains(b) || b.contains(a)
}

/// The longest of these prefixes that contains the address.
pub fn covering<'a>(address: IpAddr, prefixes: impl IntoIterator<Item = &'a IpNet>) -> Option<&'a IpNet> {
    prefixes.into_iter().filter(|p| p.contains(&address)).max_by_key(|p| p.prefix_len())
}

/// The fewest prefixes that hold the same addresses.
pub fn aggregate(prefixes: &[IpNet]) -> Vec<IpNet> {
    IpNet::aggregate(&prefixes.to_vec())
}

/// The prefixes that lie in no other one of them, in order. All are without host bits.
pub fn outermost(prefixes: Vec<IpNet>) -> Vec<IpNet> {
    outermost_by(prefixes, |a, b| a.contains(b))
}

fn outermost_by(mut prefixes: Vec<IpNet>, mut contains: impl FnMut(&IpNet, &IpNet) -> bool) -> Vec<IpNet> {
    // In order, what lies in a prefix follows it at once: each is compared with the last one that was kept.
    prefixes.sort_unstable();
    prefixes.dedup_by(|p, kept| contains(kept, p));
    prefixes
}

/// The subnets of a length, from the lowest address up; none when the length is shorter than the prefix's own or longer
/// than its family allows. Lazy: a /0 has many.
pub fn split(prefix: IpNet, len: u8) -> impl Iterator<Item = IpNet> {
    prefix.subnets(len).into_iter().flatten()
}

/// How many addresses a prefix holds; `u128::MAX` for the whole of IPv6, which holds one more.
pub fn size(prefix: &IpNet) -> u128 {
    let (first, last) = bounds(prefix);
    (last - first).saturating_add(1)
}

/// True for IPv4.
pub fn is_v4(prefix: &IpNet) -> bool {
    matches!(prefix, IpNet::V4(_))
}

/// The first and the last address as numbers.
pub fn bounds(prefix: &IpNet) -> (u128, u128) {
    match prefix {
        IpNet::V4(p) => (u32::from(p.network()).into(), u32::from(p.broadcast()).into()),
        IpNet::V6(p) => (u128::from(p.network()), u128::from(p.broadcast())),
    }
}

/// The prefix of this family, first address and length; `None` when it does not exist.
pub(crate) fn from_bounds(v4: bool, first: u128, len: u8) -> Option<IpNet> {
    if v4 {
        let address = Ipv4Addr::from(u32::try_from(first).ok()?);
        Ipv4Net::new(address, len).ok().map(IpNet::V4)
    } else {
        Ipv6Net::new(Ipv6Addr::from(first), len).ok().map(IpNet::V6)
    }
}

/// The fewest prefixes that hold exactly the addresses from `first` to `last`, in order.
pub(crate) fn of_range(v4: bool, first: u128, last: u128) -> Vec<IpNet> {
    let width: u32 = if v4 { 32 } else { 128 };
    let mut prefixes = Vec::new();
    let mut at = first;
    while at <= last {
        // The largest aligned block that begins here and does not end after `last`.
        let aligned = at.trailing_zeros().min(width);
        let fitting = match (last - at).checked_add(1) {
            Some(n) => n.ilog2(),
            None => 128,
        };
        let bits = aligned.min(fitting);
        let len = u8::try_from(width - bits).unwrap_or(0);
        prefixes.extend(from_bounds(v4, at, len));
        let Some(next) = 1u128.checked_shl(bits).and_then(|step| at.checked_add(step)) else { break };
        at = next;
    }
    prefixes
}

/// How many prefixes [`of_range`] returns.
pub(crate) fn count_of_range(first: u128, last: u128) -> u32 {
    let end = last.wrapping_add(1);
    if end == 0 {
        return first.wrapping_neg().count_ones().max(1);
    }
    // Up to the largest power of two that both ends are on the sides of, blocks grow; behind it, they shrink.
    let split = end & (u128::MAX << (first ^ end).ilog2());
    (split - first).count_ones() + (end - split).count_ones()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prefixes_of_a_range_are_counted_without_making_them() {
        for base in [0u128, u128::MAX - 63] {
            for first in 0..64 {
                for last in first..64 {
                    let (first, last) = (base + first, base + last);
                    let made = of_range(false, first, last);
                    assert_eq!(count_of_range(first, last) as usize, made.len(), "{first} {last}");
                }
            }
        }
        assert_eq!(count_of_range(0, u128::MAX), 1);
        assert_eq!(count_of_range(1, u128::MAX), 128);
        assert_eq!(count_of_range(0, u32::MAX.into()), 1);
    }

    #[test]
    fn the_outermost_of_many_prefixes_are_found_with_one_comparison_each() {
        let block = |i: u32| IpNet::new(std::net::Ipv4Addr::from(i << 8).into(), 24).unwrap();
        let mut many: Vec<IpNet> = (0..10_000).rev().map(block).collect();
        // Inside of others, or the same once more.
        many.extend(
            (0..10_000).map(|i| IpNet::new(block(i).addr(), 24 + u8::try_from(i % 9).unwrap()).unwrap()),
        );
        let mut compared = 0;
        let found = outermost_by(many, |a, b| {
            compared += 1;
            a.contains(b)
        });
        assert_eq!(found, (0..10_000).map(block).collect::<Vec<_>>());
        assert_eq!(compared, 19_999);
        let all: Vec<IpNet> = [
            "2001:db8::/48",
            "10.0.0.0/8",
            "10.0.0.0/16",
            "10.0.0.0/8",
            "11.0.0.0/8",
            "2001:db8::/64",
            "0.0.0.0/32",
        ]
        .map(|p| p.parse().unwrap())
        .to_vec();
        let words: Vec<_> = outermost(all).iter().map(ToString::to_string).collect();
        assert_eq!(words, ["0.0.0.0/32", "10.0.0.0/8", "11.0.0.0/8", "2001:db8::/48"]);
    }
}
