//! How far an agent was away from its server over the last day: one sample a minute, kept as median and 95th percentile of
//! each hour. Bounded, whatever an agent reports.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Hours that are kept, with the one under way.
const HOURS: i64 = 24;
/// Longest time that is believed, in milliseconds: a request ends before.
const MS_MAX: u32 = 60_000;

/// The times of an agent's short requests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LatencySeries {
    /// Hours that are over, oldest first: hours since 1970, median and 95th percentile in milliseconds.
    hours: Vec<(i64, u32, u32)>,
    /// The minute of the newest sample, in minutes since 1970.
    minute: i64,
    /// Samples of that minute's hour, milliseconds.
    samples: Vec<u32>,
}

/// One hour of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HourLatency {
    /// When the hour began.
    pub at: Timestamp,
    /// Half of the samples are shorter, milliseconds.
    pub median: u32,
    /// 95 of 100 are shorter, milliseconds.
    pub p95: u32,
}

fn quantile(sorted: &[u32], of_100: usize) -> u32 {
    let rank = (sorted.len() * of_100).div_ceil(100);
    sorted.get(rank.max(1) - 1).copied().unwrap_or(0)
}

fn summary(hour: i64, samples: &[u32]) -> Option<(i64, u32, u32)> {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    (!sorted.is_empty()).then(|| (hour, quantile(&sorted, 50), quantile(&sorted, 95)))
}

impl LatencySeries {
    /// True when there is no sample.
    pub fn is_empty(&self) -> bool {
        self.hours.is_empty() && self.samples.is_empty()
    }

    /// Adds the time of a request; of each minute the first one counts.
    pub fn note(&mut self, now: Timestamp, ms: u32) {
        let minute = now.as_second().div_euclid(60);
        if minute == self.minute && !self.samples.is_empty() {
            return;
        }
        let (hour, before) = (minute.div_euclid(60), self.minute.div_euclid(60));
        if hour != before {
            self.hours.extend(summary(before, &self.samples));
            self.samples.clear();
        }
        // What a clock wrote that was ahead does not stay.
        self.hours.retain(|(h, ..)| *h < hour && *h > hour - HOURS);
        self.minute = minute;
        // A clock that is set back again and again adds no more than an hour has.
        if self.samples.len() < 60 {
            self.samples.push(ms.min(MS_MAX));
        }
    }

    /// The hours of the last day that have samples, oldest first.
    pub fn hours(&self, now: Timestamp) -> Vec<HourLatency> {
        let this = now.as_second().div_euclid(3_600);
        let newest = summary(self.minute.div_euclid(60), &self.samples);
        let of_day = |(hour, ..): &&(i64, u32, u32)| *hour <= this && *hour > this - HOURS;
        let hours = self.hours.iter().chain(newest.as_ref()).filter(of_day);
        hours
            .filter_map(|(hour, median, p95)| {
                let at = Timestamp::from_second(hour.checked_mul(3_600)?).ok()?;
                Some(HourLatency { at, median: *median, p95: *p95 })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: i64 = 1_700_000_000 / 3_600 * 3_600;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(START + minute * 60).unwrap()
    }

    #[test]
    fn each_hour_has_median_and_p95_and_a_day_is_kept() {
        let mut s = LatencySeries::default();
        assert!(s.is_empty() && s.hours(at(0)).is_empty());
        for minute in 0..60 {
            s.note(at(minute), u32::try_from(minute).unwrap());
        }
        let hour = HourLatency { at: at(0), median: 29, p95: 56 };
        assert_eq!(s.hours(at(59)), [hour]);
        // An hour without a sample is a gap.
        s.note(at(120), 7);
        let after = HourLatency { at: at(120), median: 7, p95: 7 };
        assert_eq!(s.hours(at(121)), [hour, after]);
        for hour in 3..200 {
            s.note(at(hour * 60), 5);
        }
        let kept = s.hours(at(199 * 60));
        assert_eq!((kept.len(), kept[0].at), (24, at(176 * 60)));
        assert!(serde_json::to_string(&s).unwrap().len() < 1_000);
        assert_eq!(s.hours(at(199 * 60 + 23 * 60)).len(), 1);
        assert_eq!(s.hours(at(199 * 60 + 24 * 60)), [], "silent for a day");
    }

    #[test]
    fn many_reports_and_clocks_that_are_set_add_nothing_without_end() {
        let mut s = LatencySeries::default();
        for n in 0..10_000 {
            s.note(at(0), n);
            s.note(at(n.into()).max(at(1)), u32::MAX);
            s.note(at(2), 3);
        }
        assert!(s.samples.len() <= 60 && s.hours.len() <= 24, "{s:?}");
        s.note(at(9_999_999), 9);
        s.note(at(5), 4);
        let told = s.hours(at(6));
        assert!(told.iter().all(|h| h.at <= at(6) && h.p95 <= MS_MAX), "{told:?}");
        assert_eq!(told.last().map(|h| h.median), Some(4));
    }

    #[test]
    fn a_stored_series_reads_back() {
        let mut s = LatencySeries::default();
        s.note(at(0), 1);
        s.note(at(61), 2);
        let text = serde_json::to_string(&s).unwrap();
        assert_eq!(serde_json::from_str::<LatencySeries>(&text).unwrap(), s);
        assert_eq!(serde_json::from_str::<LatencySeries>("{}").unwrap(), LatencySeries::default());
    }
}
