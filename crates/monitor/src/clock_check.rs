//! Compares the clock of this machine with those of servers that answer anyway. In: the dates of their answers; out: how
//! far our clock is off, when several of them agree on it. One server alone may be wrong itself.

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
/// Hosts that are remembered.
const HOSTS: usize = 64;

/// What is known of our clock.
#[derive(Debug, Default)]
pub(crate) struct ClockCheck {
    /// Seconds by which our clock is ahead of a host's, from its newest answer.
    ahead: BTreeMap<String, i64>,
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
    /// The hosts that say so.
    pub hosts: Vec<String>,
}

fn is_off(ahead: i64) -> bool {
    ahead.abs() > TOLERANCE_S
}

impl ClockCheck {
    /// Takes dates into account: `now` is what our clock shows at `at`.
    pub fn note(&mut self, dates: Vec<ServerDate>, now: Timestamp, at: Instant) {
        if let Some((then, before)) = self.last {
            let passed = seconds(at.saturating_duration_since(before));
            let moved = now.as_second() - then.as_second();
            // Set, or the machine slept: what was known of the clock is of before.
            if (moved - passed).abs() > STEP_S && !self.ahead.is_empty() {
                self.ahead.clear();
                self.suspected = Some(at);
            }
        }
        self.last = Some((now, at));
        for date in dates {
            let since = seconds(at.saturating_duration_since(date.received));
            let ahead = now.as_second() - since - date.date.as_second();
            let before = self.ahead.insert(date.host, ahead);
            // One who changes its mind says that a clock was set, ours or its own: the older opinions are void.
            if before.is_some_and(|b| is_off(b) != is_off(ahead)) {
                self.ahead.retain(|_, a| is_off(*a) == is_off(ahead));
            }
            if self.ahead.len() > HOSTS {
                self.ahead.pop_first();
            }
        }
        let off = self.ahead.values().filter(|a| is_off(**a)).count();
        if off < self.ahead.len() {
            self.suspected = None;
        } else if off > 0 {
            self.suspected.get_or_insert(at);
        }
    }

    /// How wrong our clock is: by the largest group of hosts that agree with each other, if there are more of them than
    /// of those that agree with us.
    pub fn wrong(&self) -> Option<WrongClock> {
        let with_us = self.ahead.values().filter(|a| !is_off(**a)).count();
        let group = |center: i64| {
            self.ahead.iter().filter(move |(_, a)| is_off(**a) && (**a - center).abs() <= AGREEMENT_S)
        };
        let off = self.ahead.values().copied().filter(|a| is_off(*a));
        let center = off.max_by_key(|center| group(*center).count())?;
        let hosts: Vec<String> = group(center).map(|(host, _)| host.clone()).collect();
        (hosts.len() >= WITNESSES && hosts.len() > with_us).then_some(WrongClock { ahead_s: center, hosts })
    }

    /// True when nothing should be concluded from the time alone.
    pub fn is_doubtful(&self, at: Instant) -> bool {
        let suspected = |since: Instant| at.saturating_duration_since(since) < SUSPICION;
        self.wrong().is_some() || self.suspected.is_some_and(suspected)
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

        /// A minute later these hosts answered, whose clocks are so many seconds ahead.
        fn hears(&mut self, hosts: &[(&str, i64)]) -> (bool, bool) {
            self.passed += 60;
            let at = self.began + Duration::from_secs(self.passed);
            let truth = 1_800_000_000 + i64::try_from(self.passed).unwrap();
            let time = |ahead: i64| Timestamp::from_second(truth + ahead).unwrap();
            let date = |(host, ahead): &(&str, i64)| ServerDate {
                host: (*host).to_string(),
                date: time(*ahead),
                received: at,
            };
            self.check.note(hosts.iter().map(date).collect(), time(self.ahead), at);
            (self.check.wrong().is_some(), self.check.is_doubtful(at))
        }
    }

    #[test]
    fn two_servers_that_agree_say_that_our_clock_is_wrong() {
        for ahead in [30 * DAY, -400 * DAY, 600] {
            let mut m = Machine { ahead, ..Machine::new() };
            assert_eq!(m.hears(&[("a", 0)]), (false, true), "one may be wrong itself");
            assert_eq!(m.hears(&[("b", 30)]), (true, true));
            let wrong = m.check.wrong().unwrap();
            assert!((wrong.ahead_s - ahead).abs() <= 30 && wrong.hosts == ["a", "b"], "{wrong:?}");
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
}
