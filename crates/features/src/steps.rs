//! The steps of a transition, from its begin to its end. Pure.

use crate::machine::{Feature, State};
use crate::table::Task;
use jiff::{SignedDuration, Timestamp};

/// The work of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// Processes begin to use it.
    BeginUses,
    /// Processes let no use begin any more.
    ClearUses,
    /// Waits until no process reports the old value.
    AwaitReports {
        /// Whether the old value is On.
        old: bool,
    },
    /// Runs a task.
    Task(Task),
    /// The transition ends.
    Finish(State),
}

impl Phase {
    /// The step in words.
    pub fn words(&self) -> String {
        match self {
            Phase::BeginUses => "Begin uses".into(),
            Phase::ClearUses => "Clear uses".into(),
            Phase::AwaitReports { old } => {
                format!("Wait until no process reports {}", if *old { "On" } else { "Off" })
            }
            Phase::Task(task) => task.words(),
            Phase::Finish(_) => "Finish".into(),
        }
    }
}

/// How far a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// It is done.
    Done,
    /// It waits for others, or runs.
    Running,
    /// The steps before it are not done.
    Queued,
}

impl Progress {
    /// The word of the command line and of APIs.
    pub fn as_str(self) -> &'static str {
        match self {
            Progress::Done => "Done",
            Progress::Running => "Running",
            Progress::Queued => "Queued",
        }
    }
}

/// A step of a transition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransitionStep {
    /// Its work.
    pub phase: Phase,
    /// How far it is.
    pub progress: Progress,
    /// When it began; `None` while it is queued.
    pub since: Option<Timestamp>,
    /// When it was done.
    pub done_at: Option<Timestamp>,
}

impl TransitionStep {
    fn done(phase: Phase, since: Timestamp, at: Timestamp) -> Self {
        // Clocks of the processes that wrote the two may differ.
        let done_at = Some(at.max(since));
        TransitionStep { phase, progress: Progress::Done, since: Some(since), done_at }
    }

    /// How long it took.
    pub fn took(&self) -> Option<SignedDuration> {
        Some(self.done_at?.duration_since(self.since?))
    }
}

/// The steps of the transition that a feature is in, in order; none outside of one. `is_awaited`: a live process reports
/// the old value.
pub fn steps(feature: &Feature, is_awaited: bool) -> Vec<TransitionStep> {
    let is_turning_on = match feature.state {
        State::TurningOn => true,
        State::TurningOff => false,
        State::On | State::Off => return Vec::new(),
    };
    let began = feature.changed_at;
    let first = if is_turning_on { Phase::BeginUses } else { Phase::ClearUses };
    let mut out = vec![TransitionStep::done(first, began, began)];
    // A process that came later with the old value is waited for again.
    let cleared_at = feature.cleared_at.filter(|_| !is_awaited);
    // Since when the step that is not done yet runs; `None` once there is one.
    let mut since = Some(began);
    let reports = Phase::AwaitReports { old: !is_turning_on };
    let mut tasks: Vec<_> = feature.tasks.iter().cloned().map(Phase::Task).collect();
    if let Some(at) = cleared_at {
        out.push(TransitionStep::done(reports, began, at));
        let mut from = at;
        for d in &feature.done {
            out.push(TransitionStep::done(Phase::Task(d.task.clone()), from, d.at));
            from = from.max(d.at);
        }
        since = Some(from);
    } else {
        tasks.insert(0, reports);
    }
    tasks.push(Phase::Finish(if is_turning_on { State::On } else { State::Off }));
    for phase in tasks {
        let progress = if since.is_some() { Progress::Running } else { Progress::Queued };
        out.push(TransitionStep { phase, progress, since: since.take(), done_at: None });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Done;
    use crate::table::spec;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds)
    }

    /// Each step as `words progress since-done`.
    fn lines(feature: &Feature, is_awaited: bool) -> Vec<String> {
        let second = |t: Option<Timestamp>| t.map(|t| t.as_second().to_string()).unwrap_or_default();
        let line = |s: TransitionStep| {
            format!("{} {} {}-{}", s.phase.words(), s.progress.as_str(), second(s.since), second(s.done_at))
        };
        steps(feature, is_awaited).into_iter().map(line).collect()
    }

    #[test]
    fn each_moment_of_turning_off_has_its_step() {
        let mut f = Feature::new(spec("network-claim").unwrap(), "0.1.0", at(0));
        assert!(steps(&f, false).is_empty());
        let tasks = spec("network-claim").unwrap().tasks();
        let [wait, clean] = <[Task; 2]>::try_from(tasks[..2].to_vec()).unwrap();
        (f.state, f.changed_at, f.tasks) = (State::TurningOff, at(10), vec![wait.clone(), clean.clone()]);
        let (clear, reports) = ("Clear uses Done 10-10", "Wait until no process reports On");
        let (claims, prefixes) = ("Wait until no network claims are left", "Delete released prefixes");
        let expected = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        let before = expected(&[
            clear,
            &format!("{reports} Running 10-"),
            &format!("{claims} Queued -"),
            &format!("{prefixes} Queued -"),
            "Finish Queued -",
        ]);
        assert_eq!(lines(&f, true), before);
        assert_eq!(lines(&f, false), before, "nobody has written that they are cleared");
        f.cleared_at = Some(at(48));
        assert_eq!(
            lines(&f, false),
            expected(&[
                clear,
                &format!("{reports} Done 10-48"),
                &format!("{claims} Running 48-"),
                &format!("{prefixes} Queued -"),
                "Finish Queued -",
            ])
        );
        assert_eq!(lines(&f, true), before, "a process came that uses it");
        assert_eq!(steps(&f, false)[1].took(), Some(SignedDuration::from_secs(38)));
        f.task_done(at(60));
        assert_eq!(f.done, [Done { task: wait, at: at(60) }]);
        f.task_done(at(61));
        assert_eq!(
            lines(&f, false),
            expected(&[
                clear,
                &format!("{reports} Done 10-48"),
                &format!("{claims} Done 48-60"),
                &format!("{prefixes} Done 60-61"),
                "Finish Running 61-",
            ])
        );
        // The next transition begins anew.
        f.advance(&crate::machine::Step::BeginOn, at(70));
        assert_eq!(
            lines(&f, true),
            ["Begin uses Done 70-70", "Wait until no process reports Off Running 70-", "Finish Queued -"]
        );
    }
}
