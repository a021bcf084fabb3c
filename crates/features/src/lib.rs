//! The lifecycle of features: what can be turned on, and off again without anything left behind.
//!
//! A feature is a row of [`FEATURES`]. What is asked for (desired) and what is true (state) are two things: between them a
//! transition clears the uses in every process, runs the feature's tasks in order, and ends. [`step`] decides what comes
//! next and is pure; [`Runner`] carries it out in whichever live process [`leader`] names; [`Gates`] is what code asks
//! before it does something that a feature guards.

mod duty;
mod gates;
mod leader;
mod machine;
mod registered;
mod runner;
mod safety;
mod steps;
mod store;
mod table;
mod version;

pub use duty::Duty;
pub use gates::{Closed, Gates, Use};
pub use leader::leader;
pub use machine::{DesiredBy, Done, Feature, Report, State, Step, step};
pub use registered::{
    Declared, NameError, REGISTERED_MAX, REPORT_SECONDS, REPORTERS_MAX, Registered, Reported,
    ReportedRemaining, ReportedUse, check_name, is_registered_name,
};
pub use runner::{LIVE_SECONDS, Runner, SKEW_SECONDS, Tick};
pub use safety::{Earlier, downgrade_blocker, upgrade_blocker};
pub use steps::{Phase, Progress, TransitionStep, steps};
pub use store::{FeatureStore, Process, Remaining, StoreError, Stored, leading};
pub use table::{FEATURES, Spec, Stage, Task, alerts, spec};
pub use version::kept_until;
