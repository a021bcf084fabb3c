//! Compares the clock of this machine with those of servers that answer anyway. In: the dates of their answers; out: how
//! far our clock is off, when several of them agree on it. One server alone may be wrong itself.

use crate::reach::party;
use jiff::Timestamp;
use registration::ServerDate;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Seconds by which a clock may differ and count as right: answers wait, and servers are not exact either.
const TOLERANCE_S: i64 = 5 * 60;
/// Seconds by which servers that agree with each other may differ.
const AGREEMENT_S: i64 = 2 * 60;
/// Servers that must agree that our clock is wrong.
const WITNESSES: usize = 2;
/// Seconds that the clock may move against the time that passed before what servers said earlier counts no longer.
const STEP_S: i64 = 10 * 60;
/// How long what depends on the time is held back on suspicion alone: a single server that differs, or a clock that was
/// set. Longer, and one server with a wrong clock would silence reminders.
const SUSPICION: Duration = Duration::from_secs(3_600);
/// How long what a server said counts.
const GOOD_FOR: Duration = Duration::from_secs(6 * 3_600);
/// Parties that are remembered.
const PARTIES: usize = 64;

/// What the newest answer of a party said.
#[derive(Debug)]
struct Heard {
    /// Seconds by which our clock is ahead of it.
    ahead: i64,
    /// When it arrived.
    at: Instant,
}

/// What is known of our clock.
#[derive(Debug, Default)]
pub(crate) struct ClockCheck {
    /// By registrable domain: the servers of one party have their time from one source.
    heard: BTreeMap<String, Heard>,
    /// Our clock, and the time that runs whatever it is set to, at the last call.
    last: Option<(Timestamp, Instant)>,
    /// Since when something speaks against our clock and nothing for it.
    suspected: Option<Instant>,
}

/// A clock that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WrongClock {
    /// Seconds by which it is ahead; negative when it is slow.
    pub ahead_s: i64,
    /// The registrable domains of the servers that say so.
    pub parties: Vec<String>,
}

fn is_off(ahead: i64) -> bool {
    ahead.abs() > TOLERANCE_S
}

fn is_good(heard: &Heard, at: Instant) -> bool {
    at.saturating_duration_since(heard.at) < GOOD_FOR
}

impl ClockCheck {
    /// Takes dates into account: `now` is what our clock shows at `at`.
    pub fn note(&mut self, dates: Vec<ServerDate>, now: Timestamp, at: Instant) {
        if let Some((then, before)) = self.last {
            let passed = seconds(at.saturating_duration_since(before));
            let moved = now.as_second() - then.as_second();
            // Set, or the machine slept: what was known of the clock is of before.
            if (moved - passed).abs() > STEP_S && !self.heard.is_empty() {
                self.heard.clear();
                self.suspected = Some(at);
            }
        }
        self.last = Some((now, at));
        self.heard.retain(|_, h| is_good(h, at));
        for date in dates {
            let since = seconds(at.saturating_duration_since(date.received));
            let ahead = now.as_second() - since - date.date.as_second();
            self.heard.insert(party(&date.host), Heard { ahead, at: date.received });
            if self.heard.len() > PARTIES
                && let Some(oldest) = self.heard.iter().min_by_key(|(_, h)| h.at).map(|(p, _)| p.clone())
            {
                self.heard.remove(&oldest);
            }
        }
        let off = self.heard.values().filter(|h| is_off(h.ahead)).count();
        if off < self.heard.len() {
            self.suspected = None;
        } else if off > 0 {
            self.suspected.get_or_insert(at);
        }
    }

    /// How wrong our clock is: by the largest group of parties that agree with each other, if there are more of them than
    /// of those that agree with us.
    pub fn wrong(&self, at: Instant) -> Option<WrongClock> {
        let heard = || self.heard.iter().filter(move |(_, h)| is_good(h, at)).map(|(p, h)| (p, h.ahead));
        let with_us = heard().filter(|(_, a)| !is_off(*a)).count();
        let group =
            |center: i64| heard().filter(move |(_, a)| is_off(*a) && (a - center).abs() <= AGREEMENT_S);
        let off = heard().map(|(_, a)| a).filter(|a| is_off(*a));
        let center = off.max_by_key(|center| group(*center).count())?;
        let parties: Vec<String> = group(center).map(|(party, _)| party.clone()).collect();
        let enough = parties.len() >= WITNESSES && parties.len() > with_us;
        enough.then_some(WrongClock { ahead_s: center, parties })
    }

    /// True when nothing should be concluded from the time alone.
    pub fn is_doubtful(&self, at: Instant) -> bool {
        let suspected = |since: Instant| at.saturating_duration_since(since) < SUSPICION;
        self.wrong(at).is_some() || self.suspected.is_some_and(suspected)
    }
}

fn seconds(d: Duration) -> i64 {
    i64::try_from(d.as_secs()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400;

    struct Machine {
        check: ClockCheck,
        began: Instant,
        /// Seconds that passed.
        passed: u64,
        /// Seconds by which our clock is ahead.
        ahead: i64,
    }

    impl Machine {
        fn new() -> Machine {
            Machine { check: ClockCheck::default(), began: Instant::now(), passed: 0, ahead: 0 }
        }

        fn at(&self) -> Instant {
            self.began + Duration::from_secs(self.passed)
        }

        /// A minute later these hosts answered, whose clocks are so many seconds ahead.
        fn hears(&mut self, hosts: &[(&str, i64)]) -> (bool, bool) {
            self.passed += 60;
            let at = self.at();
            let truth = 1_800_000_000 + i64::try_from(self.passed).unwrap();
            let time = |ahead: i64| Timestamp::from_second(truth + ahead).unwrap();
            let date = |(host, ahead): &(&str, i64)| ServerDate {
                host: (*host).to_string(),
                date: time(*ahead),
                received: at,
            };
            self.check.note(hosts.iter().map(date).collect(), time(self.ahead), at);
            (self.check.wrong(at).is_some(), self.check.is_doubtful(at))
        }
    }

    #[test]
    fn two_servers_that_agree_say_that_our_clock_is_wrong() {
        for ahead in [30 * DAY, -400 * DAY, 600] {
            let mut m = Machine { ahead, ..Machine::new() };
            assert_eq!(m.hears(&[("a", 0)]), (false, true), "one may be wrong itself");
            assert_eq!(m.hears(&[("b", 30)]), (true, true));
            let wrong = m.check.wrong(m.at()).unwrap();
            assert!((wrong.ahead_s - ahead).abs() <= 30 && wrong.parties == ["a", "b"], "{wrong:?}");
            m.ahead = 0;
            assert_eq!(m.hears(&[("b", 0)]), (false, false), "it was set right");
        }
        let mut m = Machine { ahead: 200, ..Machine::new() };
        assert_eq!(m.hears(&[("a", 0), ("b", 0)]), (false, false), "a few minutes are tolerated");
    }

    #[test]
    fn servers_with_wrong_clocks_of_their_own_are_not_believed() {
        let mut m = Machine::new();
        assert_eq!(m.hears(&[("a", 0), ("wrong", DAY)]), (false, false));
        assert_eq!(m.hears(&[("wrong-too", 3 * DAY)]), (false, false), "they do not even agree");
        assert_eq!(m.hears(&[("wrong-as-well", DAY)]), (true, true), "two against one");
        assert_eq!(m.hears(&[("b", 0), ("c", 0)]), (false, false));
        // A single server that can be heard at all holds things back for an hour, no longer.
        let mut m = Machine::new();
        assert_eq!(m.hears(&[("wrong", DAY)]), (false, true));
        m.passed += 3_600;
        assert_eq!(m.hears(&[("wrong", DAY)]), (false, false));
    }

    #[test]
    fn a_clock_that_is_set_is_doubtful_until_a_server_answers() {
        let mut m = Machine::new();
        assert_eq!(m.hears(&[]), (false, false), "nothing speaks against it");
        m.ahead = 30 * DAY;
        assert_eq!(m.hears(&[]), (false, false), "nor for it");
        let mut m = Machine::new();
        assert_eq!(m.hears(&[("a", 0), ("b", 0)]), (false, false));
        m.ahead = 30 * DAY;
        assert_eq!(m.hears(&[]), (false, true));
        assert_eq!(m.hears(&[("a", 0), ("b", 0)]), (true, true));
        m.ahead = 0;
        assert_eq!(m.hears(&[]), (false, true));
        assert_eq!(m.hears(&[("a", 0)]), (false, false));
    }

    #[test]
    fn hosts_of_one_party_are_one_witness() {
        let mut m = Machine::new();
        assert_eq!(m.hears(&[("rdap.one.example", DAY), ("data.one.example", DAY)]), (false, true));
        assert_eq!(m.hears(&[("192.0.2.1", DAY)]), (true, true));
        assert_eq!(m.check.wrong(m.at()).unwrap().parties, ["192.0.2.1", "one.example"]);
    }

    #[test]
    fn a_witness_that_changes_its_mind_changes_no_other() {
        let mut m = Machine::new();
        assert_eq!(m.hears(&[("a", DAY), ("b", DAY), ("c", DAY)]), (true, true));
        assert_eq!(m.hears(&[("a", 0)]), (true, true), "two against one");
        assert_eq!(m.hears(&[("b", 0)]), (false, false));
        // Nor do those that agree with us lose their say by one that does not.
        assert_eq!(m.hears(&[("c", 0)]), (false, false));
        assert_eq!(m.hears(&[("a", DAY)]), (false, false));
    }

    #[test]
    fn what_was_heard_six_hours_ago_counts_no_longer() {
        let mut m = Machine::new();
        assert_eq!(m.hears(&[("a", DAY), ("b", DAY)]), (true, true));
        let later = |s| m.at() + Duration::from_secs(s);
        assert!(m.check.wrong(later(6 * 3_600 - 1)).is_some());
        assert!(m.check.wrong(later(6 * 3_600)).is_none() && !m.check.is_doubtful(later(6 * 3_600)));
        m.passed += 5 * 3_600;
        m.hears(&[("a", DAY)]);
        m.passed += 3_600;
        assert_eq!(m.hears(&[]), (false, false), "one is left");
    }
}
