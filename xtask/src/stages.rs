//! A run in stages: every stage is announced, timed and remembered, and the table at the end tells what
//! happened to each.

use crate::sh;
use anyhow::Result;
use std::time::{Duration, Instant};

/// What became of a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed(String),
    NotRun(String),
}

/// The stages so far.
#[derive(Default)]
pub struct Stages {
    rows: Vec<(String, Outcome, Duration)>,
}

impl Stages {
    /// Runs a stage; true when it passed.
    pub fn run(&mut self, name: &str, work: impl FnOnce() -> Result<()>) -> bool {
        eprintln!("\n\x1b[1m━━ {name}\x1b[0m");
        let start = Instant::now();
        let outcome = match work() {
            Ok(()) => Outcome::Passed,
            Err(error) => {
                eprintln!("{error:#}");
                Outcome::Failed(first_line(&format!("{error:#}")))
            }
        };
        let passed = outcome == Outcome::Passed;
        self.rows.push((name.to_owned(), outcome, start.elapsed()));
        passed
    }

    /// Notes a stage that could not be run, which does not count as a failure.
    pub fn skip(&mut self, name: &str, why: &str) {
        self.rows.push((name.to_owned(), Outcome::NotRun(why.to_owned()), Duration::ZERO));
    }

    /// Whether nothing failed.
    pub fn passed(&self) -> bool {
        !self.rows.iter().any(|(_, outcome, _)| matches!(outcome, Outcome::Failed(_)))
    }

    /// The table of what each stage took.
    pub fn table(&self) -> String {
        let mut lines = vec![format!("{:<22} {:>14}  result", "stage", "time")];
        for (name, outcome, time) in &self.rows {
            let time = sh::duration(*time);
            lines.push(match outcome {
                Outcome::Passed => format!("{name:<22} {time:>14}  passed"),
                Outcome::Failed(why) => format!("{name:<22} {time:>14}  FAILED: {why}"),
                Outcome::NotRun(why) => format!("{name:<22} {:>14}  not run: {why}", "-"),
            });
        }
        let total = self.rows.iter().map(|(.., time)| *time).sum();
        lines.push(format!("{:<22} {:>14}", "together", sh::duration(total)));
        lines.join("\n")
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::bail;

    #[test]
    fn one_failure_fails_the_whole_and_later_stages_still_run() {
        let mut stages = Stages::default();
        assert!(!stages.run("first", || bail!("broken\nin two lines")));
        assert!(stages.run("second", || Ok(())));
        assert!(!stages.passed());
        let table = stages.table();
        assert!(table.contains("FAILED: broken"), "{table}");
        assert!(!table.contains("in two lines"), "{table}");
        assert!(table.lines().any(|line| line.starts_with("second") && line.ends_with("passed")), "{table}");
    }

    #[test]
    fn a_skipped_stage_is_shown_and_is_no_failure() {
        let mut stages = Stages::default();
        stages.skip("licences", "cargo-deny is not installed");
        assert!(stages.passed());
        assert!(stages.table().contains("not run: cargo-deny is not installed"));
    }
}
