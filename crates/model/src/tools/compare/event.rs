//! What a running comparison tells, event by event, and how far a watch has come. The same for server-sent events
//! (`/live/compare`), the command line and pages.

use super::{Comparison, Judged, Summary, Verdict};
use crate::base::time::{clock_utc, plus};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Shortest pause between two looks of a watch, seconds.
pub const LOOK_MIN: i64 = 5;
/// Longest pause, seconds.
pub const LOOK_MAX: i64 = 300;

/// One event of a comparison that runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", content = "data", rename_all = "lowercase")]
pub enum CompareEvent {
    /// The authoritative answer is known; resolvers are pending, or it was stopped. Comes again in every round of a watch.
    Authority(Box<Comparison>),
    /// One resolver's verdict; replaces the one with the same resolver id.
    Answer(Box<Judged>),
    /// What all come to, after each round.
    Summary(Summary),
    /// How far a watch has come.
    Watch(WatchProgress),
    /// Nothing more will come.
    End(Ended),
}

impl CompareEvent {
    /// The event's name in a stream of server-sent events.
    pub fn name(&self) -> &'static str {
        match self {
            CompareEvent::Authority(_) => "authority",
            CompareEvent::Answer(_) => "answer",
            CompareEvent::Summary(_) => "summary",
            CompareEvent::Watch(_) => "watch",
            CompareEvent::End(_) => "end",
        }
    }
}

/// How a comparison or a watch ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndKind {
    /// All that was asked for was said.
    Done,
    /// A watch saw the record everywhere.
    Everywhere,
    /// A watch reached its bound.
    GaveUp,
    /// It could not be done.
    Failed,
}

/// The last event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// How.
    pub kind: EndKind,
    /// In a sentence.
    pub sentence: String,
}

/// What a watch waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WatchPhase {
    /// All authoritative servers must serve the record first; no resolver has been asked.
    Authority,
    /// Resolvers are asked again as their copies run out.
    Resolvers,
}

/// How far a watch has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchProgress {
    /// What it waits for.
    pub phase: WatchPhase,
    /// Looks so far.
    pub round: u32,
    /// How many servers (or resolvers) are as wanted.
    pub ready: u32,
    /// Of how many that count.
    pub of: u32,
    /// When it looks again; `None` when this was the last look.
    pub next_look: Option<Timestamp>,
    /// When it gives up.
    pub gives_up: Timestamp,
    /// All of this in a sentence.
    pub sentence: String,
}

impl WatchProgress {
    /// Progress with its sentence.
    pub fn new(
        phase: WatchPhase,
        round: u32,
        (ready, of): (u32, u32),
        next_look: Option<Timestamp>,
        gives_up: Timestamp,
        now: Timestamp,
    ) -> Self {
        let next =
            next_look.map_or_else(String::new, |t| format!("; next check at {}", seconds_clock(t, now)));
        let sentence = match phase {
            WatchPhase::Authority => {
                format!(
                    "{ready} of {of} authoritative servers serve it; resolvers are asked once all do{next}."
                )
            }
            WatchPhase::Resolvers => format!("{ready} of {of} resolvers have it{next}."),
        };
        WatchProgress { phase, round, ready, of, next_look, gives_up, sentence }
    }
}

/// A clock time with its seconds when it is near: watches look again within seconds.
fn seconds_clock(at: Timestamp, now: Timestamp) -> String {
    if at.as_second() - now.as_second() < 600 {
        let d = jiff::tz::Offset::UTC.to_datetime(at);
        return format!("{:02}:{:02}:{:02} UTC", d.hour(), d.minute(), d.second());
    }
    clock_utc(at, now)
}

/// When to look again: when the first copy runs out, at least [`LOOK_MIN`] and at most [`LOOK_MAX`] from now.
pub fn next_look(answers: &[Judged], now: Timestamp) -> Timestamp {
    let waiting = answers.iter().filter(|j| j.verdict.waits()).filter_map(|j| match j.verdict {
        Verdict::Different { until, .. } => until,
        _ => j.verdict.right_at(),
    });
    // A second later: TTLs are whole seconds, and the copy must be gone.
    let first = waiting.min().map_or(LOOK_MAX, |t| t.as_second().saturating_sub(now.as_second()) + 1);
    plus(now, first.clamp(LOOK_MIN, LOOK_MAX))
}
