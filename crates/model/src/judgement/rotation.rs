//! Record sets that come back: which sets a record had lately, so that a return to one of them is recognised however long
//! the period is. In: each set that lasted for a second look. Out: whether the record rotates among sets that are known.

use crate::base::time::plus;
use crate::observation::Observation;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Sets that are remembered of one record.
const SETS: usize = 16;
/// Returns to a known set that are still reported one by one: what is changed back, and changed again.
const RETURNS: u32 = 2;
/// Seconds a set must stay until the record has settled on it.
const SETTLED_S: i64 = 7 * 86_400;

/// The sets that a record had since it was the same for a week.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rotation {
    /// The sets, that which is there now last.
    sets: Vec<SeenSet>,
    /// How often one came back.
    returns: u32,
    /// True while a set waits for its second look that is none of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_new: bool,
    /// Since when a return is held, other than for records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) held_since: Option<Timestamp>,
}

/// A set that was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SeenSet {
    /// A digest of its data; empty for no record.
    digest: String,
    /// When it came last.
    since: Timestamp,
    /// When it was seen last.
    seen_at: Timestamp,
    /// True when it had been there before.
    came_back: bool,
}

impl Rotation {
    /// True when no set is remembered.
    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// How many sets it rotates among; `None` when the set that is there now is not one of a rotation.
    pub fn sets(&self) -> Option<usize> {
        (self.returns > RETURNS && self.sets.last().is_some_and(|s| s.came_back)).then_some(self.sets.len())
    }

    /// Remembers whether the set that is there now is one of those that are known.
    pub(super) fn compare(&mut self, digest: &str) {
        self.is_new = !self.is_empty() && !self.sets.iter().any(|s| s.digest == digest);
    }

    /// True when a record that rotates has a set that it never had.
    pub(super) fn has_new_set(&self) -> bool {
        self.is_new && self.returns > RETURNS
    }

    /// True when that is so although every known set came back twice and none was forgotten: the set is not merely one
    /// of many that were not seen yet.
    pub(super) fn has_unknown_set(&self) -> bool {
        let known = u32::try_from(self.sets.len()).unwrap_or(u32::MAX);
        self.has_new_set() && self.sets.len() < SETS && self.returns >= known.saturating_mul(2)
    }

    /// The set that is there since `since` was seen once more.
    pub(super) fn see(&mut self, digest: String, since: Timestamp, now: Timestamp) {
        if self.sets.last().is_some_and(|s| s.digest == digest) {
            // Its time may be of a clock that was wrong.
            self.touch(now);
            return;
        }
        let known = self.sets.iter().position(|s| s.digest == digest);
        if let Some(i) = known {
            self.sets.remove(i);
            self.returns = self.returns.saturating_add(1);
        }
        let excess = (self.sets.len() + 1).saturating_sub(SETS);
        self.sets.drain(..excess);
        self.sets.push(SeenSet { digest, since, seen_at: now, came_back: known.is_some() });
    }

    /// The set that is there now was seen once more.
    pub(super) fn touch(&mut self, now: Timestamp) {
        if let Some(last) = self.sets.last_mut() {
            (last.seen_at, last.since) = (now, last.since.min(now));
        }
    }

    /// True when the set that is there now has been there for a week.
    pub(super) fn has_settled(&self, now: Timestamp) -> bool {
        self.has_lasted(SETTLED_S, now)
    }

    /// The same for so many seconds.
    pub(super) fn has_lasted(&self, seconds: i64, now: Timestamp) -> bool {
        self.sets.last().is_some_and(|s| s.seen_at == now && plus(s.since, seconds) <= now)
    }
}

/// A digest of the set that an observation has of a record (`www.q7.io A`); `None` when it was not answered.
pub(super) fn digest(o: &Observation, field: &str) -> Option<String> {
    let is = |name: &str, rtype: &str| format!("{} {rtype}", name.to_ascii_lowercase()) == field;
    let zone = o.zone.value.as_ref()?;
    if zone.unanswered.iter().any(|u| u.split_once(' ').is_some_and(|(n, t)| is(n, t))) {
        return None;
    }
    let Some(set) = zone.rrsets.iter().find(|r| is(&r.name, &r.rtype)) else { return Some(String::new()) };
    let mut data: Vec<&str> = set.data.iter().map(String::as_str).collect();
    data.sort_unstable();
    data.dedup();
    Some(digest_of(data))
}

/// A digest of texts in this order. FNV-1a: it must be the same in every version of the program, and withstands accidents only.
pub(super) fn digest_of<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let octets = texts.into_iter().flat_map(|d| d.bytes().chain([0]));
    let hash =
        octets.fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_of_it_reads_again_and_is_bounded() {
        let at = |s: i64| Timestamp::from_second(1_800_000_000 + s).unwrap();
        let mut r = Rotation::default();
        for n in 0..1_000 {
            r.see(format!("{}", n % 40), at(n), at(n));
        }
        assert_eq!((r.sets.len(), r.returns), (SETS, 0), "more sets than are remembered never come back");
        let text = serde_json::to_string(&r).unwrap();
        assert!(text.len() < 2_500, "{}", text.len());
        assert_eq!(serde_json::from_str::<Rotation>(&text).unwrap(), r);
    }
}
