//! Features that others register: programs of third parties with uses of their own. Pure.
//!
//! The state machine is the same. What differs is who reports: not the processes of this program but those of the third
//! party, with their uses and with what is still stored. A transition is complete when none of them reports the old value
//! and nothing is left.

use crate::machine::{Feature, Report, State, Step, step};
use crate::store::Remaining;
use crate::table::{Stage, Task};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Seconds after its last report during which a process of a third party counts as live.
pub const REPORT_SECONDS: i64 = 60;
/// Seconds between two stored reports that say the same.
const REPORT_AGAIN_SECONDS: i64 = 5;
/// Most features that one organisation registers.
pub const REGISTERED_MAX: usize = 100;
/// Most processes that report one feature.
pub const REPORTERS_MAX: usize = 100;
/// Suffixes of names that are ours, or not for others.
const RESERVED: [&str; 4] = ["datumapis.com", "k8s.io", "kubernetes.io", "sigs.k8s.io"];

/// The declaration of a third party.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Declared {
    /// Whether it is on when nothing is asked for.
    pub default: bool,
    /// How settled it is.
    pub stage: Stage,
    /// The version of the third party's program that it came with.
    pub version: String,
    /// Its purpose, in a few words.
    pub title: String,
    /// Whether it may be turned on and off while its processes run; else flags of its own program set it.
    #[serde(default = "is_dynamic")]
    pub dynamic: bool,
}

fn is_dynamic() -> bool {
    true
}

/// The report of one process of a third party.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedUse {
    /// The process.
    pub process: String,
    /// The version of its program.
    pub version: String,
    /// Whether it uses the feature.
    pub used: bool,
    /// When the report came, on the server's clock.
    pub seen_at: Timestamp,
}

/// Data that a third party still stores.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedRemaining {
    /// Of which data, in its own words.
    pub data: String,
    /// How much, with some names.
    pub left: Remaining,
}

/// A report may be of a later time than `now`: of another process of this program, or of before the clock was set back.
fn is_live(reported: &ReportedUse, now: Timestamp) -> bool {
    now.duration_since(reported.seen_at).as_secs().abs() < REPORT_SECONDS
}

/// The part of a [`Feature`] that only registered ones have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registered {
    /// Its purpose, in a few words.
    pub title: String,
    /// Who registered it: the name of the person or token.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
    /// True when only flags of its own program set it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_flag_only: bool,
    /// The last report of each process, by name.
    pub uses: Vec<ReportedUse>,
    /// Stored data, as reported last.
    pub leftovers: Vec<ReportedRemaining>,
}

impl Registered {
    /// Reports of processes that count as live.
    pub fn live(&self, now: Timestamp) -> impl Iterator<Item = &ReportedUse> {
        self.uses.iter().filter(move |u| is_live(u, now))
    }

    /// Returns how much of the data is left, as reported.
    pub fn remaining(&self, data: &str) -> Remaining {
        let found = self.leftovers.iter().find(|l| l.data == data);
        found.map(|l| l.left.clone()).unwrap_or_default()
    }

    /// A wait for each kind of data of which something is left.
    pub fn tasks(&self) -> Vec<Task> {
        let left = self.leftovers.iter().filter(|l| l.left.count > 0);
        left.map(|l| Task::WaitUntilGone { data: l.data.clone() }).collect()
    }
}

/// The result of taking a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reported {
    /// It says the same as one a few seconds ago: nothing is to be stored.
    Again,
    /// It says the same: the time is to be stored.
    Seen,
    /// It says something new.
    Changed,
    /// It names a process twice, or there would be more than [`REPORTERS_MAX`]: nothing was taken.
    Refused,
}

/// Why a name can't be registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// It has no domain, as those that come with the program.
    #[error(
        "must end in a domain that you hold, as in “invoices.billing.example”: names without a dot are features of this program"
    )]
    Unqualified,
    /// It is no RFC 1123 subdomain.
    #[error("must be an RFC 1123 subdomain: lower-case letters, digits, “-” and “.”, at most 253 characters")]
    Syntax,
    /// Its domain is reserved.
    #[error("names that end in {0} are reserved")]
    Reserved(&'static str),
}

/// Whether a name is one that third parties register: it has a domain.
pub fn is_registered_name(name: &str) -> bool {
    name.contains('.')
}

/// Checks the name of a feature to register.
///
/// # Errors
/// The rule that it breaks.
pub fn check_name(name: &str) -> Result<(), NameError> {
    let edge = |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    let label = |l: &str| {
        let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        l.len() <= 63 && l.bytes().all(inner) && edge(l.as_bytes().first()) && edge(l.as_bytes().last())
    };
    if name.len() > 253 || !name.split('.').all(label) {
        return Err(NameError::Syntax);
    }
    if name.split('.').count() < 3 {
        return Err(NameError::Unqualified);
    }
    let below = |suffix: &&str| name.strip_suffix(*suffix).is_some_and(|rest| rest.ends_with('.'));
    RESERVED.into_iter().rev().find(below).map_or(Ok(()), |suffix| Err(NameError::Reserved(suffix)))
}

impl Feature {
    /// A feature that a third party registers: in the state of its default, used by no process yet.
    pub fn registered(name: &str, declared: &Declared, known_by: &str, now: Timestamp) -> Self {
        let state = if declared.default { State::On } else { State::Off };
        let mut feature = Feature {
            name: name.into(),
            desired: None,
            desired_by: None,
            default: false,
            stage: Stage::Alpha,
            since: String::new(),
            known_by: known_by.into(),
            state,
            tasks: Vec::new(),
            changed_at: now,
            cleared_at: None,
            done: Vec::new(),
            is_clean_up: false,
            registered: Some(Registered::default()),
        };
        feature.declare(declared);
        feature
    }

    /// Writes what a third party declares over what it declared before.
    pub fn declare(&mut self, declared: &Declared) {
        (self.default, self.stage) = (declared.default, declared.stage);
        self.since.clone_from(&declared.version);
        if let Some(registered) = &mut self.registered {
            registered.title.clone_from(&declared.title);
            registered.by_flag_only = !declared.dynamic;
        }
    }

    /// Takes a report: uses replace those of the same processes, or with `is_whole` all; leftovers replace all.
    pub fn report(
        &mut self,
        uses: Vec<ReportedUse>,
        leftovers: Option<Vec<ReportedRemaining>>,
        is_whole: bool,
        now: Timestamp,
    ) -> Reported {
        let Some(old) = self.registered.clone() else { return Reported::Again };
        let mut new = old.clone();
        let is_replaced = |u: &ReportedUse| is_whole || uses.iter().any(|n| n.process == u.process);
        new.uses.retain(|u| is_live(u, now) && !is_replaced(u));
        new.uses.extend(uses);
        new.uses.sort_by(|a, b| a.process.cmp(&b.process));
        if new.uses.len() > REPORTERS_MAX || new.uses.windows(2).any(|w| w[0].process == w[1].process) {
            return Reported::Refused;
        }
        new.leftovers = leftovers.unwrap_or(new.leftovers);
        let without_time = |r: &Registered| {
            let uses = r.uses.iter().map(|u| (u.process.clone(), u.version.clone(), u.used));
            (uses.collect::<Vec<_>>(), r.leftovers.clone())
        };
        // Coming back is news too: others may be about to write that the process is gone.
        let mut live_before = old.clone();
        live_before.uses.retain(|u| is_live(u, now));
        let said = without_time(&new);
        let says_same = said == without_time(&old) && said == without_time(&live_before);
        let age = |(new, old): (&ReportedUse, &ReportedUse)| {
            new.seen_at.duration_since(old.seen_at).as_secs().abs()
        };
        let is_recent = new.uses.iter().zip(&old.uses).all(|pair| age(pair) < REPORT_AGAIN_SECONDS);
        self.registered = Some(new);
        match (self.settle(now) || !says_same, is_recent) {
            (true, _) => Reported::Changed,
            (false, true) => Reported::Again,
            (false, false) => Reported::Seen,
        }
    }

    /// Carries a registered feature on as far as what was reported lets it go; true when its state or its tasks changed.
    pub fn settle(&mut self, now: Timestamp) -> bool {
        let Some(registered) = self.registered.clone() else { return false };
        let live: Vec<_> = registered.live(now).collect();
        let reports: Vec<_> = live.iter().map(|u| Report { process: &u.process, used: u.used }).collect();
        let tasks = registered.tasks();
        let before = (self.state, self.tasks.clone(), self.cleared_at);
        loop {
            if self.state == State::TurningOff {
                self.replace_tasks(&tasks, now);
            }
            let next = step(self, &reports, &tasks);
            if matches!(next, Step::Rest) || !self.advance(&next, now) {
                return (self.state, &self.tasks, self.cleared_at) != (before.0, &before.1, before.2);
            }
        }
    }
}

#[cfg(test)]
mod tests;
