//! When a domain is due: every name has its own second inside the interval, computed from its name, so the load is
//! even, a restart changes nothing, and replicas agree.

use jiff::{Timestamp, ToSpan};
use model::names::DomainName;

/// The next instant of a name's schedule that is later than `now` by at least half an interval: a manual scan
/// just now counts for the scheduled one that would follow at once.
pub fn next_scan(name: &DomainName, interval_s: i64, now: Timestamp) -> Timestamp {
    let interval = interval_s.max(60);
    let phase = i64::try_from(hash(name.as_str()) % interval.unsigned_abs()).unwrap_or(0);
    let earliest = now.as_second() + interval / 2;
    let next = earliest + (phase - earliest).rem_euclid(interval);
    now.checked_add((next - now.as_second()).seconds()).unwrap_or(Timestamp::MAX)
}

/// No scan is due later than that: twice the interval, and at least a day, so that replicas with other settings (or
/// clocks that are a little off) move nothing of each other's.
pub fn furthest(interval_s: i64, now: Timestamp) -> Timestamp {
    let ahead = interval_s.max(60).saturating_mul(2).max(86_400);
    now.checked_add(ahead.seconds()).unwrap_or(Timestamp::MAX)
}

/// FNV-1a with a final mix: the same on every platform and in every release, unlike the standard library's hasher.
fn hash(s: &str) -> u64 {
    let mut h =
        s.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    h ^= h >> 33;
    h = h.wrapping_mul(0xff51_afd7_ed55_8ccd);
    h ^ (h >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_load_is_even_and_a_restart_changes_nothing() {
        let now: Timestamp = "2026-11-20T14:05:00Z".parse().unwrap();
        let mut per_minute = [0_u32; 60];
        for i in 0..30_000 {
            let name = DomainName::trusted(&format!("name-{i}.example"));
            let next = next_scan(&name, 3600, now);
            let wait = next.as_second() - now.as_second();
            assert!((1800..5400).contains(&wait), "{wait}");
            per_minute[usize::try_from(next.as_second() / 60 % 60).unwrap()] += 1;
            let again = next_scan(&name, 3600, next);
            assert_eq!(
                again.as_second() - next.as_second(),
                3600,
                "the second inside the hour is the name's own"
            );
        }
        let max = f64::from(*per_minute.iter().max().unwrap());
        assert!(max / 500.0 <= 1.5, "{max}");
    }
}
