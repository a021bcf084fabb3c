//! The state machine of one feature: what it is, and what comes next. Pure.

use crate::registered::Registered;
use crate::table::{Spec, Stage, Task};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The state of a feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum State {
    /// In use in every live process.
    On,
    /// In use nowhere, and nothing of it is stored.
    Off,
    /// Processes begin to use it.
    TurningOn,
    /// Processes stop to use it, then its tasks run.
    TurningOff,
}

impl State {
    /// All states.
    pub const ALL: [State; 4] = [State::On, State::Off, State::TurningOn, State::TurningOff];

    /// The word of the resource API, of metrics and of pages.
    pub fn as_str(self) -> &'static str {
        match self {
            State::On => "On",
            State::Off => "Off",
            State::TurningOn => "TurningOn",
            State::TurningOff => "TurningOff",
        }
    }

    /// True where processes use the feature.
    pub fn is_used(self) -> bool {
        matches!(self, State::On | State::TurningOn)
    }

    /// True between On and Off.
    pub fn is_transition(self) -> bool {
        matches!(self, State::TurningOn | State::TurningOff)
    }
}

/// Most tasks of a transition that are remembered as done: third parties choose those of their features.
const DONE_MAX: usize = 20;

/// A task of a transition that is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// The task.
    pub task: Task,
    /// When it was found to be done.
    pub at: Timestamp,
}

/// Who set the desired value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DesiredBy {
    /// The name of the person or token.
    pub by: String,
    /// When.
    pub at: Timestamp,
}

/// A feature as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feature {
    /// Its name.
    pub name: String,
    /// The desired value; `None`: the default.
    pub desired: Option<bool>,
    /// Who set that; `None`: not set yet.
    #[serde(rename = "asked", default, skip_serializing_if = "Option::is_none")]
    pub desired_by: Option<DesiredBy>,
    /// Whether it is on by default.
    pub default: bool,
    /// How settled it is.
    pub stage: Stage,
    /// The version that it came with.
    pub since: String,
    /// The newest version of the program that knew it.
    pub known_by: String,
    /// The state.
    pub state: State,
    /// Tasks of the transition that are not done, in order.
    pub tasks: Vec<Task>,
    /// When the state changed last; in a transition, when it began.
    pub changed_at: Timestamp,
    /// In a transition with tasks: when no process reported the old value any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cleared_at: Option<Timestamp>,
    /// Tasks of the transition that are done, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub done: Vec<Done>,
    /// True while it turns off to delete what is left of it: it was off before, and was not asked to turn off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_clean_up: bool,
    /// Reports of a third party; `None`: a feature of this program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registered: Option<Registered>,
}

impl Feature {
    /// A feature that no process has seen before: in the state of its default.
    pub fn new(spec: &Spec, version: &str, now: Timestamp) -> Self {
        Feature {
            name: spec.name.into(),
            desired: None,
            desired_by: None,
            default: spec.default,
            stage: spec.stage,
            since: spec.since.into(),
            known_by: version.into(),
            state: if spec.default { State::On } else { State::Off },
            tasks: Vec::new(),
            changed_at: now,
            cleared_at: None,
            done: Vec::new(),
            is_clean_up: false,
            registered: None,
        }
    }

    /// Returns the desired value, or else the default.
    pub fn is_wanted(&self) -> bool {
        self.desired.unwrap_or(self.default)
    }

    /// Sets the desired value; nothing changes when it is set already.
    pub fn set_desired(&mut self, desired: Option<bool>, by: &str, now: Timestamp) {
        if self.desired != desired {
            self.desired = desired;
            self.desired_by = Some(DesiredBy { by: by.into(), at: now });
        }
    }

    fn enter(&mut self, state: State, tasks: Vec<Task>, now: Timestamp) {
        (self.state, self.tasks, self.changed_at) = (state, tasks, now);
        (self.cleared_at, self.done, self.is_clean_up) = (None, Vec::new(), false);
    }

    /// Carries out the part of a step that is in the state alone; false when there is nothing to write.
    pub fn advance(&mut self, step: &Step, now: Timestamp) -> bool {
        match step {
            Step::BeginOn => self.enter(State::TurningOn, Vec::new(), now),
            Step::BeginOff(tasks) => self.enter(State::TurningOff, tasks.clone(), now),
            Step::Finish(state) => self.enter(*state, Vec::new(), now),
            Step::Run(_) if self.cleared_at.is_none() => self.cleared_at = Some(now),
            Step::Run(_) | Step::Wait(_) | Step::Rest => return false,
        }
        true
    }

    /// Begins to delete what is left of a feature that is off: the tasks of turning it off run again, and no use begins
    /// meanwhile. False, and nothing changed, when it is not off or about to be on.
    pub fn clean_up(&mut self, off_tasks: &[Task], now: Timestamp) -> bool {
        let may_begin = self.state == State::Off && !self.is_wanted() && self.registered.is_none();
        if may_begin {
            self.enter(State::TurningOff, off_tasks.to_vec(), now);
            self.is_clean_up = true;
        }
        may_begin
    }

    /// Marks the first task as done.
    pub fn task_done(&mut self, now: Timestamp) {
        if !self.tasks.is_empty() {
            let task = self.tasks.remove(0);
            self.remember(task, now);
        }
    }

    /// Replaces the tasks; those that are gone are done, one that is there again is not.
    pub(crate) fn replace_tasks(&mut self, tasks: &[Task], now: Timestamp) {
        self.done.retain(|d| !tasks.contains(&d.task));
        for task in std::mem::replace(&mut self.tasks, tasks.to_vec()) {
            if !tasks.contains(&task) {
                self.remember(task, now);
            }
        }
    }

    fn remember(&mut self, task: Task, at: Timestamp) {
        if self.done.len() >= DONE_MAX {
            self.done.remove(0);
        }
        self.done.push(Done { task, at });
    }
}

/// The report of one live process about a feature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report<'a> {
    /// The process.
    pub process: &'a str,
    /// Whether it uses the feature; a process that does not know the feature does not use it.
    pub used: bool,
}

/// The next step of a feature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Nothing is to be done.
    Rest,
    /// Begin to turn it on.
    BeginOn,
    /// Begin to turn it off, with these tasks.
    BeginOff(Vec<Task>),
    /// These processes report the old value.
    Wait(Vec<String>),
    /// Run this task, the first that is left.
    Run(Task),
    /// The transition is complete.
    Finish(State),
}

/// Decides what comes next. `off_tasks` are those of the feature in this version of the program; a transition that
/// has begun keeps the tasks it began with.
pub fn step(feature: &Feature, reports: &[Report<'_>], off_tasks: &[Task]) -> Step {
    match (feature.state, feature.is_wanted()) {
        (State::On, true) | (State::Off, false) => Step::Rest,
        (State::On | State::TurningOn, false) => Step::BeginOff(off_tasks.to_vec()),
        (State::Off | State::TurningOff, true) => Step::BeginOn,
        (State::TurningOn, true) => waiting(reports, false).unwrap_or(Step::Finish(State::On)),
        (State::TurningOff, false) => waiting(reports, true).unwrap_or_else(|| {
            feature.tasks.first().map_or(Step::Finish(State::Off), |task| Step::Run(task.clone()))
        }),
    }
}

/// The processes that report `old`, if there are any.
fn waiting(reports: &[Report<'_>], old: bool) -> Option<Step> {
    let behind: Vec<String> =
        reports.iter().filter(|r| r.used == old).map(|r| r.process.to_string()).collect();
    (!behind.is_empty()).then_some(Step::Wait(behind))
}
