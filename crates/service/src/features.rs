//! Features: what can be turned on and off, and where each stands.

use crate::ApiResult;
use ::features::{Declared, Feature, Phase, Progress, Remaining, ReportedRemaining, State, Task, steps};
use async_trait::async_trait;
use model::Timestamp;
use model::ids::{Caller, LogPosition};
use serde::{Deserialize, Serialize};

/// The report of one live process about a feature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeatureUse {
    /// The process.
    pub process: String,
    /// The version of its program.
    pub version: String,
    /// When it announced itself last.
    pub seen_at: Timestamp,
    /// Whether it uses the feature; `None` when its version does not know the feature.
    pub used: Option<bool>,
    /// True when a flag of this process fixes that.
    #[serde(default)]
    pub is_fixed: bool,
}

/// A task with what is left of its data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeatureTask {
    /// The task.
    pub task: Task,
    /// What is left.
    pub left: Remaining,
    /// Why that is not known; `None`: it is.
    #[serde(default)]
    pub uncounted: Option<String>,
}

/// A step of a transition, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureStep {
    /// What it does.
    pub title: String,
    /// What that means here: how many report what, what is left.
    pub detail: String,
    /// How far it is.
    pub progress: Progress,
    /// True when it needs others to act: processes or people.
    pub is_wait: bool,
    /// When it began; `None` while it is queued.
    pub since: Option<Timestamp>,
    /// When it was done.
    pub done_at: Option<Timestamp>,
    /// Seconds that it took.
    pub took_seconds: Option<i64>,
    /// What is left of the data of a task that is not done.
    pub left: Option<Remaining>,
}

/// A number of things with some of their names: `2: office, lab`.
fn listed(left: &Remaining) -> String {
    named(left, "")
}

/// The same, with a word after the number: `2 left: office, lab`.
fn named(left: &Remaining, word: &str) -> String {
    let (n, names) = (format!("{}{word}", left.count), left.names.join(", "));
    match left.count.saturating_sub(left.names.len() as u64) {
        0 if names.is_empty() => n,
        0 => format!("{n}: {names}"),
        _ if names.is_empty() => n,
        more => format!("{n}: {names} and {more} more"),
    }
}

impl FeatureTask {
    /// The task and what is left: `Wait until no network claims are left: office, lab`.
    pub fn sentence(&self) -> String {
        match (self.left.count, &self.uncounted) {
            (_, Some(why)) => format!("{} (leftovers unknown: {why})", self.task.words()),
            (0, None) => self.task.words(),
            _ => format!("{} ({})", self.task.words(), listed(&self.left)),
        }
    }
}

/// A feature and where it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeatureView {
    /// Position of the newest change.
    pub rv: LogPosition,
    /// Metadata as JSON text.
    pub metadata: String,
    /// When it was first seen.
    pub created_at: Timestamp,
    /// What is asked for and what is true.
    pub feature: Feature,
    /// What it offers; empty for a feature that this version does not know.
    pub title: String,
    /// What is refused while it is off.
    pub guards: String,
    /// Whether it may be turned on and off while processes run; else flags set it.
    pub dynamic: bool,
    /// For a feature that this version does not know: the release that forgets it.
    pub kept_until: Option<String>,
    /// What the live processes report.
    pub uses: Vec<FeatureUse>,
    /// The process that carries on a transition.
    pub leader: Option<String>,
    /// Tasks of the transition that are not done, in order.
    pub tasks: Vec<FeatureTask>,
    /// What is stored although the feature is off.
    pub leftovers: Vec<FeatureTask>,
    /// Why it is not known whether more is stored although the feature is off; `None`: it is known.
    #[serde(default)]
    pub uncounted: Option<String>,
}

impl FeatureView {
    /// Processes that report another value than the state asks for.
    pub fn waits_for(&self) -> Vec<&FeatureUse> {
        let wanted = self.feature.state.is_used();
        self.uses.iter().filter(|u| u.used.unwrap_or(false) != wanted).collect()
    }

    /// The steps of the transition that it is in, in order; none outside of one.
    pub fn steps(&self) -> Vec<FeatureStep> {
        let behind = self.waits_for();
        let value = if self.feature.state.is_used() { "On" } else { "Off" };
        let counts =
            format!("{} of {} processes report {value}", self.uses.len() - behind.len(), self.uses.len());
        let detail = |phase: &Phase, progress: Progress, task: Option<&FeatureTask>| match phase {
            Phase::BeginUses => "Processes start using it.".to_string(),
            Phase::ClearUses if self.guards.is_empty() => "Processes accept no new uses.".to_string(),
            Phase::ClearUses => format!("New uses are refused: {}.", self.guards),
            Phase::AwaitReports { .. } if behind.is_empty() => format!("{counts}."),
            Phase::AwaitReports { .. } => {
                let names: Vec<_> = behind.iter().map(|u| u.process.as_str()).collect();
                format!("{counts}. Waits for {}.", names.join(", "))
            }
            Phase::Task(_) if progress == Progress::Done => "None left.".to_string(),
            Phase::Task(Task::Unknown(_)) => {
                format!("A process of version {} knows it.", self.feature.known_by)
            }
            Phase::Task(kind) => match task {
                Some(FeatureTask { uncounted: Some(why), .. }) => format!("Leftovers unknown: {why}."),
                Some(FeatureTask { left, .. }) if left.count > 0 => {
                    let is_wait = matches!(kind, Task::WaitUntilGone { .. });
                    let next = match is_wait {
                        true => "Continues once they are deleted.",
                        false => "They are deleted in small batches.",
                    };
                    format!("{}. {next}", named(left, " left"))
                }
                _ => "None left.".to_string(),
            },
            Phase::Finish(state) => format!("The state becomes {}.", state.as_str()),
        };
        let step = |s: ::features::TransitionStep| {
            let task = self.tasks.iter().find(|t| s.phase == Phase::Task(t.task.clone()));
            let task = task.filter(|_| s.progress != Progress::Done);
            let is_wait = !matches!(s.phase, Phase::Task(Task::Clean { .. }) | Phase::Finish(_));
            FeatureStep {
                title: s.phase.words(),
                detail: detail(&s.phase, s.progress, task),
                progress: s.progress,
                is_wait,
                since: s.since,
                done_at: s.done_at,
                took_seconds: s.took().map(|t| t.as_secs()),
                left: task.filter(|t| t.uncounted.is_none()).map(|t| t.left.clone()),
            }
        };
        steps(&self.feature, !behind.is_empty()).into_iter().map(step).collect()
    }

    /// True when it is turning off and no running process knows its next task.
    fn is_led_by_none(&self) -> bool {
        self.feature.state == State::TurningOff && self.feature.registered.is_none() && self.leader.is_none()
    }

    /// What asks for attention, in a sentence: leftovers, or what a transition waits for.
    pub fn attention(&self) -> Option<String> {
        let name = &self.feature.name;
        // Processes that do not know it report nothing about it.
        if self.kept_until.is_some() {
            return None;
        }
        if let Some(left) = self.leftovers.first() {
            return Some(format!("{name} is off, but leftovers exist: {}.", left.sentence()));
        }
        if self.feature.state.is_transition() && self.uses.is_empty() {
            return Some(format!(
                "{name} is {} and no process runs to carry it on.",
                self.feature.state.as_str()
            ));
        }
        if self.is_led_by_none()
            && let Some(task) = self.tasks.first()
        {
            let (task, version) = (task.task.words(), &self.feature.known_by);
            return Some(format!(
                "{name} is turning off, and no running process knows its next task ({task}): start one of version {version} or newer."
            ));
        }
        let behind = self.waits_for();
        // Outside of a transition nothing waits: a flag that fixes the feature in one process is a decision.
        if self.feature.state.is_transition() && !behind.is_empty() {
            let names: Vec<_> = behind.iter().map(|u| u.process.as_str()).collect();
            let value = if self.feature.state.is_used() { "Off" } else { "On" };
            let fixed: Vec<_> = behind.iter().filter(|u| u.is_fixed).map(|u| u.process.as_str()).collect();
            let by_flag = match fixed.is_empty() {
                true => String::new(),
                false => {
                    let flag = format!("--feature {name}={}", value.to_lowercase());
                    format!(" {} was started with {flag}.", fixed.join(", "))
                }
            };
            let reports = if behind.len() == 1 { "reports" } else { "report" };
            let names = names.join(", ");
            return Some(format!("{name} waits for {names}, which still {reports} {value}.{by_flag}"));
        }
        let task = self.tasks.first().filter(|_| self.feature.state == State::TurningOff)?;
        let doing = if self.feature.is_clean_up { "being cleaned up" } else { "turning off" };
        Some(format!("{name} is {doing}. Next: {}.", task.sentence()))
    }
}

/// All features of the installation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeaturesReport {
    /// By name.
    pub features: Vec<FeatureView>,
    /// The version of this program.
    pub version: String,
    /// How many processes are live.
    pub processes: u64,
    /// Why it is not safe to upgrade.
    pub upgrade: Option<String>,
    /// Why it is not safe to downgrade.
    pub downgrade: Option<String>,
    /// The release before this one; `None`: there is none to go back to.
    #[serde(default)]
    pub earlier: Option<String>,
    /// Whether the caller may turn features on and off.
    pub may_change: bool,
}

/// What to ask of a feature.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeatureDraft {
    /// Its name.
    pub name: String,
    /// On, off, or the default.
    pub desired: Option<bool>,
    /// The position it must be at; `None`: any.
    pub expected: Option<LogPosition>,
    /// Metadata as JSON text; `None`: as it is.
    pub metadata: Option<String>,
    /// What a third party declares of a feature of its own; `None`: as it is.
    pub declared: Option<Declared>,
    /// True to check and store nothing.
    pub dry_run: bool,
}

/// What the processes of a third party report about a feature of their own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeatureReport {
    /// Its name.
    pub name: String,
    /// Process, version of its program, and whether it uses the feature.
    pub uses: Vec<(String, String, bool)>,
    /// What is stored; `None`: as reported before.
    pub leftovers: Option<Vec<ReportedRemaining>>,
    /// True when `uses` are those of all processes, false when others stay as they are.
    pub is_whole: bool,
    /// The position it must be at; `None`: any.
    pub expected: Option<LogPosition>,
    /// True to check and store nothing.
    #[serde(default)]
    pub dry_run: bool,
}

/// The calls. Each method is an [`Action`](crate::policy::Action) of the same name. Features of the installation belong
/// to its first organisation; others see none.
#[async_trait]
pub trait FeatureBackend: Send + Sync + 'static {
    /// All features and where they stand.
    async fn features(&self, caller: &Caller) -> ApiResult<FeaturesReport>;
    /// One feature and where it stands, read by itself; `None` when there is none of this name. Allowed to whom
    /// [`FeatureBackend::features`] is.
    async fn feature(&self, caller: &Caller, name: &str) -> ApiResult<Option<FeatureView>>;
    /// Asks for a feature to be on, off, or as its default is; the transition follows.
    async fn set_feature(&self, caller: &Caller, draft: &FeatureDraft) -> ApiResult<FeatureView>;
    /// Deletes what is left of a feature that is off, without turning it on; safe to repeat.
    async fn clean_feature(
        &self,
        caller: &Caller,
        name: &str,
        expected: Option<LogPosition>,
    ) -> ApiResult<FeatureView>;
    /// Registers a feature of a third party in the caller's organisation.
    async fn register_feature(&self, caller: &Caller, draft: &FeatureDraft) -> ApiResult<FeatureView>;
    /// Takes what a third party's processes report about a feature it registered.
    async fn report_feature(&self, caller: &Caller, report: &FeatureReport) -> ApiResult<FeatureView>;
    /// Deletes a registered feature that is off and left nothing.
    async fn delete_feature(
        &self,
        caller: &Caller,
        name: &str,
        expected: Option<LogPosition>,
    ) -> ApiResult<()>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::features::spec;

    #[test]
    fn a_process_with_another_value_asks_for_attention_in_a_transition_alone() {
        let at = Timestamp::UNIX_EPOCH;
        let one_use = |process: &str, used: bool| FeatureUse {
            process: process.into(),
            version: "0.1.0".into(),
            seen_at: at,
            used: Some(used),
            is_fixed: !used,
        };
        let mut view = FeatureView {
            rv: LogPosition(1),
            metadata: "{}".into(),
            created_at: at,
            feature: Feature::new(spec("doh-server").unwrap(), "0.1.0", at),
            title: String::new(),
            guards: String::new(),
            dynamic: true,
            kept_until: None,
            uses: vec![one_use("one", true), one_use("two", false)],
            leader: Some("one".into()),
            tasks: Vec::new(),
            leftovers: Vec::new(),
            uncounted: None,
        };
        assert_eq!(view.attention(), None, "a flag fixes it in one process");
        view.feature.state = State::TurningOn;
        let words = view.attention().unwrap();
        assert!(words.contains("waits for two") && words.contains("--feature doh-server=off"), "{words}");
        // Data that can't be read are not said to be gone.
        let task = Task::WaitUntilGone { data: "channels/slack".into() };
        (view.feature.state, view.feature.cleared_at) = (State::TurningOff, Some(at));
        view.feature.tasks = vec![task.clone()];
        view.uses.clear();
        let (left, uncounted) = (Remaining { count: 2, names: vec!["a".into()] }, None);
        view.tasks = vec![FeatureTask { task, left, uncounted }];
        let detail = |view: &FeatureView| view.steps()[2].detail.clone();
        assert_eq!(detail(&view), "2 left: a and 1 more. Continues once they are deleted.");
        view.tasks[0].left = Remaining::default();
        assert_eq!(detail(&view), "None left.");
        view.tasks[0].uncounted = Some("needs the secret key".into());
        assert_eq!(detail(&view), "Leftovers unknown: needs the secret key.");
    }
}
