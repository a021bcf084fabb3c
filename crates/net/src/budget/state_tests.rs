use super::*;
use proptest::prelude::*;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

const NO_WAIT: Duration = Duration::ZERO;

fn at(seconds: f64) -> Timestamp {
    let base: Timestamp = "2026-11-20T12:00:00Z".parse().unwrap();
    base + jiff::SignedDuration::from_secs_f64(seconds)
}

fn limit(concurrency: usize, ms: u64, per_day: Option<u32>) -> Limit {
    Limit { concurrency, spacing: Duration::from_millis(ms), per_day }
}

/// The most that starts in any window of this length.
fn most_in(starts: &[i64], window: i64) -> usize {
    let mut inside = VecDeque::new();
    let mut most = 0;
    for s in starts {
        inside.push_back(*s);
        while inside.front().is_some_and(|first| s - first >= window) {
            inside.pop_front();
        }
        most = most.max(inside.len());
    }
    most
}

#[test]
fn a_lease_of_a_process_that_died_runs_out() {
    let mut s = HostState::default();
    let one = limit(1, 0, None);
    assert_eq!(s.take(one, at(0.0), NO_WAIT, 1), Decision::Granted(at(0.0)));
    // Killed. Others are told to come back until the lease has run out.
    assert!(matches!(s.take(one, at(29.9), NO_WAIT, 2), Decision::NotBefore(_, Reason::OwnLimit)));
    assert_eq!(s.take(one, at(30.1), NO_WAIT, 2), Decision::Granted(at(30.1)));
    // It was only asleep: what it gives back now is not counted twice.
    s.release(1, at(31.0), true);
    assert!(s.holds(2));
    assert!(matches!(s.take(one, at(31.0), NO_WAIT, 3), Decision::NotBefore(..)));
}

#[test]
fn what_the_host_asked_for_is_kept_to_and_the_queue_forms_behind_it() {
    let mut s = HostState::default();
    let l = limit(2, 1000, None);
    let second = Duration::from_secs(1);
    assert_eq!(s.penalise(at(0.0), Some(Duration::from_secs(120)), second, 0.5).as_secs(), 120);
    assert_eq!(s.blocked_until(at(0.0)), Some(at(120.0)));
    let places: Vec<_> = (0..3).map(|i| s.take(l, at(1.0), Duration::from_secs(10), i)).collect();
    let place = |t: f64| Decision::NotBefore(at(t), Reason::Asked);
    assert_eq!(places, [place(120.0), place(121.0), place(122.0)], "one by one, not all at once");
    // A shorter wish of a question that was under way does not shorten it.
    s.penalise(at(2.0), Some(second), second, 0.0);
    assert_eq!(s.blocked_until(at(2.0)), Some(at(120.0)));
    assert_eq!(s.take(l, at(120.0), NO_WAIT, 9), Decision::Granted(at(120.0)));
    // Whatever a host says, it is asked again the next day.
    assert_eq!(s.penalise(at(130.0), Some(Duration::MAX), second, 0.0), LONGEST_BLOCK);
}

#[test]
fn a_host_that_says_nothing_is_left_alone_twice_as_long_each_time() {
    let mut s = HostState::default();
    let minute = Duration::from_secs(60);
    let mut now = 0.0;
    let mut waits = Vec::new();
    for _ in 0..9 {
        let wait = s.penalise(at(now), None, minute, 0.0);
        // Another question that was under way gets the same text: still one strike.
        assert!(s.penalise(at(now + 0.1), None, minute, 0.0) <= wait);
        waits.push(wait.as_secs());
        now += wait.as_secs_f64() + 1.0;
    }
    assert_eq!(waits, [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]);
    assert_eq!(s.take(limit(1, 0, None), at(now), NO_WAIT, 1), Decision::Granted(at(now)));
    s.release(1, at(now), true);
    assert_eq!(s.penalise(at(now), None, minute, 0.0).as_secs(), 60, "a good answer forgives");
    let mut spread = HostState::default();
    assert_eq!(spread.penalise(at(0.0), None, minute, 1.0).as_secs(), 75);
}

#[test]
fn a_host_that_always_says_one_second_is_not_asked_every_second() {
    let mut s = HostState::default();
    let second = Some(Duration::from_secs(1));
    let mut now = 0.0;
    let mut waits = Vec::new();
    for _ in 0..6 {
        let wait = s.penalise(at(now), second, Duration::from_secs(60), 0.0);
        waits.push(wait.as_secs());
        now += wait.as_secs_f64();
    }
    assert_eq!(waits, [1, 1, 60, 120, 240, 480]);
    // What it says itself still counts when it is more.
    let asked = Some(Duration::from_secs(7200));
    assert_eq!(s.penalise(at(now), asked, Duration::from_secs(60), 0.0).as_secs(), 7200);
    s.release(1, at(now + 7200.0), true);
    assert_eq!(s.penalise(at(now + 7200.0), second, Duration::from_secs(60), 0.0).as_secs(), 1, "forgiven");
}

#[test]
fn a_lease_given_back_before_it_began_teaches_nothing() {
    let mut s = HostState::default();
    let l = limit(2, 5000, None);
    s.take(l, at(0.0), NO_WAIT, 1);
    s.release(1, at(2.0), true);
    let before = s.held;
    assert!(before > 0);
    assert_eq!(s.take(l, at(2.0), Duration::from_secs(10), 2), Decision::Granted(at(5.0)));
    s.release(2, at(3.0), false);
    assert_eq!(s.held, before);
}

#[test]
fn a_daily_quota_holds_in_any_24_hours_and_says_when_there_is_room() {
    let mut s = HostState::default();
    let l = limit(1, 0, Some(3));
    for (i, t) in [0.0, 1800.0, 7200.0].into_iter().enumerate() {
        assert_eq!(s.take(l, at(t), NO_WAIT, i as u64), Decision::Granted(at(t)));
        s.release(i as u64, at(t + 1.0), true);
    }
    // Two were asked in the hour from 12:00: it counts until 13:00 of the next day.
    let day = 86_400.0;
    let first = s.take(l, at(7300.0), NO_WAIT, 7);
    assert_eq!(first, Decision::NotBefore(at(day + 3600.0), Reason::DailyQuota));
    // At three a day, the next in the queue has his turn eight hours later.
    let second = s.take(l, at(7300.0), NO_WAIT, 8);
    assert_eq!(second, Decision::NotBefore(at(day + 3600.0 + 8.0 * 3600.0), Reason::DailyQuota));
    assert!(matches!(s.take(l, at(day + 3599.0), NO_WAIT, 9), Decision::NotBefore(_, Reason::DailyQuota)));
    assert_eq!(s.take(l, at(day + 3600.0), NO_WAIT, 9), Decision::Granted(at(day + 3600.0)));
}

#[test]
fn a_replica_with_a_wrong_clock_does_not_stop_the_others() {
    let mut s = HostState::default();
    let l = limit(2, 1000, Some(100));
    for i in 0..2 {
        s.take(l, at(864_000.0), NO_WAIT, i);
    }
    s.penalise(at(864_000.0), Some(Duration::from_secs(60)), Duration::from_secs(1), 0.0);
    // Ten days behind it, the others wait a day at most for the block, a minute for the leases.
    let Decision::NotBefore(back, _) = s.take(l, at(0.0), NO_WAIT, 7) else { panic!("it was blocked") };
    assert!(back <= at(86_400.0), "{back}");
    assert_eq!(s.take(l, at(86_401.0), NO_WAIT, 8), Decision::Granted(at(86_401.0)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Callers ask, give back, die and wait in any order: no limit is passed.
    #[test]
    fn no_limit_is_ever_passed(
        concurrency in 1_usize..5,
        spacing in 0_u64..3000,
        per_day in prop::option::of(1_u32..40),
        steps in prop::collection::vec((0_u8..10, 0_u64..20_000, 0_u64..5_000), 1..300),
        leap in 1_u64..200,
    ) {
        let l = limit(concurrency, spacing, per_day);
        let mut s = HostState::default();
        let mut ms = 0_u64;
        let mut held: VecDeque<(u64, i64)> = VecDeque::new();
        let mut starts: Vec<i64> = Vec::new();
        let mut blocked = i64::MIN;
        for (id, (what, pass, patience)) in steps.into_iter().enumerate() {
            let id = id as u64;
            ms += if what == 9 { pass * leap } else { pass / 10 };
            let now = at(0.0) + Duration::from_millis(ms);
            match what {
                0..=5 | 9 => match s.take(l, now, Duration::from_millis(patience), id) {
                    Decision::Granted(start) => {
                        prop_assert!(start >= now && start <= now + Duration::from_millis(patience));
                        prop_assert!(start.as_microsecond() >= blocked);
                        held.retain(|(_, until)| *until > now.as_microsecond());
                        held.push_back((id, start.as_microsecond() + micros(LEASE)));
                        prop_assert!(held.len() <= concurrency);
                        starts.push(start.as_microsecond());
                    }
                    Decision::Look(t) => prop_assert!(t > now),
                    Decision::NotBefore(t, _) => prop_assert!(t > now),
                },
                6 | 7 => if let Some((id, _)) = held.pop_front() { s.release(id, now, what == 7) },
                _ => {
                    let asked = (patience % 2 == 0).then_some(Duration::from_millis(patience));
                    let wait = s.penalise(now, asked, Duration::from_secs(1), 0.3);
                    blocked = blocked.max(now.as_microsecond() + micros(wait));
                }
            }
            // As it travels through the ledger.
            let text = serde_json::to_string(&s).unwrap();
            prop_assert!(text.len() < 4000);
            s = serde_json::from_str(&text).unwrap();
        }
        starts.sort_unstable();
        prop_assert!(starts.windows(2).all(|w| w[1] - w[0] >= micros(l.spacing)));
        if let Some(most) = per_day {
            prop_assert!(most_in(&starts, 24 * HOUR) <= most as usize);
        }
    }
}

/// What happens next in the simulation: when, then in which order it was planned.
type Next = Reverse<(i64, u64, Event)>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A job (its registry, its replica) tries to take, with patience until then.
    Try { host: usize, replica: usize, until: i64 },
    /// An exchange ends.
    End { host: usize, replica: usize, id: u64 },
    /// A job is due again.
    Due { host: usize },
}

/// 10,000 names that are due at once at five registries, worked off by two replicas of 16 slots each that share
/// nothing but the states, without the clock, so it takes no time.
#[test]
fn ten_thousand_due_names_at_five_registries() {
    let limits = [
        limit(8, 100, None),      // a large one
        limit(2, 200, None),      // the default
        limit(1, 500, None),      // one that is slow to answer: three seconds each
        limit(2, 250, Some(900)), // one with a daily quota
        limit(4, 50, None),       // one that throttles now and then
    ];
    let takes = [400_000, 300_000, 3 * SECOND, 200_000, 150_000];
    let patience = Duration::from_millis(500);
    let base = at(0.0).as_microsecond();
    let mut queue: VecDeque<usize> = (0..10_000).map(|i| i % 5).collect();
    let mut free = [16_usize; 2];
    let mut states: Vec<HostState> = vec![HostState::default(); 5];
    let mut events: BinaryHeap<Next> = BinaryHeap::new();
    let mut planned = 0_u64;
    let mut starts: Vec<Vec<i64>> = vec![Vec::new(); 5];
    let (mut open, mut most_open, mut done, mut finished) = ([0_usize; 5], [0_usize; 5], [0; 5], [0_i64; 5]);
    let mut tries = 0_usize;
    let mut blocked = 0_i64;
    let mut now = base;
    let day = base + 24 * HOUR;
    loop {
        // Idle slots take what is due.
        for (replica, free) in free.iter_mut().enumerate() {
            while *free > 0
                && let Some(host) = queue.pop_front()
            {
                *free -= 1;
                planned += 1;
                let until = now + micros(patience);
                events.push(Reverse((now, planned, Event::Try { host, replica, until })));
            }
        }
        let Some(Reverse((t, _, event))) = events.pop() else { break };
        if t > day {
            break;
        }
        now = t;
        let plan = |t, e, planned: &mut u64, events: &mut BinaryHeap<Next>| {
            *planned += 1;
            events.push(Reverse((t, *planned, e)));
        };
        match event {
            Event::Due { host } => queue.push_back(host),
            Event::Try { host, replica, until } => {
                tries += 1;
                let id = tries as u64;
                let left = Duration::from_micros(u64::try_from(until - now).unwrap_or(0));
                match states[host].take(limits[host], instant(now), left, id) {
                    Decision::Granted(start) => {
                        let start = start.as_microsecond();
                        if host == 4 {
                            assert!(start >= blocked, "asked although it asked to be left alone");
                        }
                        starts[host].push(start);
                        open[host] += 1;
                        most_open[host] = most_open[host].max(open[host]);
                        plan(
                            start + takes[host],
                            Event::End { host, replica, id },
                            &mut planned,
                            &mut events,
                        );
                    }
                    Decision::Look(t) => {
                        let again = Event::Try { host, replica, until };
                        plan(t.as_microsecond(), again, &mut planned, &mut events);
                    }
                    Decision::NotBefore(t, _) => {
                        free[replica] += 1;
                        plan(t.as_microsecond(), Event::Due { host }, &mut planned, &mut events);
                    }
                }
            }
            Event::End { host, replica, id } => {
                free[replica] += 1;
                open[host] -= 1;
                // Every 300th answer of the last registry is "come back later".
                let throttled = host == 4 && starts[4].len().is_multiple_of(300);
                states[host].release(id, instant(now), !throttled);
                if throttled {
                    let wait = states[host].penalise(instant(now), None, Duration::from_secs(60), 0.5);
                    blocked = blocked.max(now + micros(wait));
                    plan(now + micros(wait), Event::Due { host }, &mut planned, &mut events);
                } else {
                    done[host] += 1;
                    finished[host] = now - base;
                }
            }
        }
    }
    for host in 0..5 {
        let l = limits[host];
        assert!(most_open[host] <= l.concurrency, "{host}: {}", most_open[host]);
        starts[host].sort_unstable();
        for window in [SECOND, 10 * SECOND, 60 * SECOND, HOUR] {
            let allowed = window / micros(l.spacing) + 1;
            assert!(
                most_in(&starts[host], window) <= usize::try_from(allowed).unwrap(),
                "{host} in {window}"
            );
        }
        if let Some(most) = l.per_day {
            assert!(most_in(&starts[host], 24 * HOUR) <= most as usize);
        }
    }
    assert_eq!(done, [2000, 2000, 2000, 900, 2000], "all that no quota stops is done");
    // No one waits behind another registry: each is done in about the time its own limits need.
    let seconds = |h: usize| finished[h] / SECOND;
    assert!(seconds(0) <= 240, "200 s at best: {}", seconds(0));
    assert!(seconds(1) <= 480, "400 s at best: {}", seconds(1));
    assert!(seconds(2) <= 7200, "6,000 s at best: {}", seconds(2));
    println!("{tries} tries; done after {finished:?} microseconds");
    assert!(tries < 80_000, "{tries} tries for 10,000 names, second looks included");
}
