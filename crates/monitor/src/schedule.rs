//! When a domain is due: every name has its own second inside the interval, computed from its name, so the load is
//! even, a restart changes nothing, and replicas agree.

use jiff::{Timestamp, ToSpan};
use model::names::DomainName;

const DAY: i64 = 86_400;

/// The next instant of a name's schedule that is later than `now` by at least half an interval: a manual scan
/// just now counts for the scheduled one that would follow at once.
pub fn next_scan(name: &DomainName, interval_s: i64, now: Timestamp) -> Timestamp {
    let interval = interval_s.max(60);
    let phase = i64::try_from(hash(name.as_str()) % interval.unsigned_abs()).unwrap_or(0);
    let earliest = now.as_second() + interval / 2;
    let next = earliest + (phase - earliest).rem_euclid(interval);
    now.checked_add((next - now.as_second()).seconds()).unwrap_or(Timestamp::MAX)
}

/// The latest instant of a name's place in the day that is not after `now`. The scan of its schedule that follows comes at
/// once where the interval is a part of a day.
pub(crate) fn day_began(name: &DomainName, now: Timestamp) -> Timestamp {
    let phase = i64::try_from(hash(name.as_str()) % DAY.unsigned_abs()).unwrap_or(0);
    let age = (now.as_second() - phase).rem_euclid(DAY);
    Timestamp::from_second(now.as_second() - age).unwrap_or(now)
}

/// True when points of presence are to be asked about a name that is scanned now: once in its day. A name that was never
/// asked about waits for its place in the day, so that a new point of presence is not asked about all names at once. Where
/// its turn is missed or the places give nothing, one more scan may ask (two intervals, as a rescan by a person may have
/// moved the first), then none until the next day: places that never answer are not asked at every scan.
pub(crate) fn places_are_due(
    name: &DomainName,
    interval_s: i64,
    asked_at: Option<Timestamp>,
    now: Timestamp,
) -> bool {
    let began = day_began(name, now);
    let (age, interval) = (now.as_second() - began.as_second(), interval_s.max(60));
    match asked_at.filter(|at| *at <= now) {
        Some(at) => at < began && age < interval.saturating_mul(2),
        None => age < interval,
    }
}

/// No scan is due later than that: twice the interval, and at least a day, so that replicas with other settings (or
/// clocks that are a little off) move nothing of each other's.
pub fn furthest(interval_s: i64, now: Timestamp) -> Timestamp {
    let ahead = interval_s.max(60).saturating_mul(2).max(DAY);
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

    #[test]
    fn places_are_asked_once_in_the_day_of_each_name_and_evenly() {
        let start: Timestamp = "2026-11-20T14:05:00Z".parse().unwrap();
        let mut per_hour = [0_u32; 24];
        for i in 0..2_400 {
            let name = DomainName::trusted(&format!("name-{i}.example"));
            let (mut at, mut asked) = (next_scan(&name, 3600, start), Vec::new());
            // Three days of hourly scans, each a few seconds late.
            for _ in 0..72 {
                let scanned = at + 3.seconds();
                if places_are_due(&name, 3600, asked.last().copied(), scanned) {
                    asked.push(scanned);
                }
                at = next_scan(&name, 3600, scanned);
            }
            assert_eq!(asked.len(), 3, "{asked:?}");
            per_hour[usize::try_from(asked[0].as_second() / 3600 % 24).unwrap()] += 1;
            // A rescan by a person is not another one; a clock that was wrong does not stop them.
            assert!(!places_are_due(&name, 3600, asked.last().copied(), asked[2] + 60.seconds()));
            let wrong = asked[2] + 9_000_000.seconds();
            assert!(places_are_due(&name, 3600, Some(wrong), asked[2]));
        }
        assert!(per_hour.iter().all(|n| (60..=140).contains(n)), "{per_hour:?}");
        // Places that give nothing are asked by two scans in a day at most.
        let name = DomainName::trusted("silent.example");
        let before = day_began(&name, start);
        for asked_at in [None, Some(before - 60.seconds())] {
            let due = |hour: i64| places_are_due(&name, 3600, asked_at, before + (hour * 3600 + 3).seconds());
            let tries = (0..24).filter(|hour| due(*hour)).count();
            assert_eq!(tries, if asked_at.is_some() { 2 } else { 1 });
        }
        let rare = DomainName::trusted("rare.example");
        assert!(places_are_due(&rare, 7 * DAY, None, start), "scanned less often than daily: at each scan");
    }
}
