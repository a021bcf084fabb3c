//! The settings `--critical-days`, `--warning-days` and `--stale-days`: the thresholds of the status.

use super::{EngineArgs, Wrong};
use model::inventory::CALENDAR_DAYS;
use model::judge::Thresholds;

/// Most days for which registration data that can't be read again is judged by.
const STALE_MAX: i64 = 30;

impl EngineArgs {
    /// The thresholds of the status.
    ///
    /// # Errors
    /// [`Wrong`], with the value and the rule it breaks.
    pub fn thresholds(&self) -> Result<Thresholds, Wrong> {
        let usual = Thresholds::default();
        let t = Thresholds {
            critical_days: self.critical_days.unwrap_or(usual.critical_days),
            warning_days: self.warning_days.unwrap_or(usual.warning_days),
            stale_days: self.stale_days.unwrap_or(usual.stale_days),
        };
        let within = |what: &str, days: i64, least: i64, most: i64| {
            let words = || format!("{what}: {days} is not a number of days from {least} to {most}");
            (least..=most).contains(&days).then_some(()).ok_or_else(|| Wrong(words()))
        };
        within("critical_days", t.critical_days, 0, CALENDAR_DAYS - 1)?;
        within("warning_days", t.warning_days, 1, CALENDAR_DAYS)?;
        within("stale_days", t.stale_days, 1, STALE_MAX)?;
        if t.critical_days >= t.warning_days {
            return Err(Wrong(format!(
                "critical_days: {} is not below warning_days ({}); a domain is Warning first, then Critical",
                t.critical_days, t.warning_days
            )));
        }
        Ok(t)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(critical: Option<i64>, warning: Option<i64>, stale: Option<i64>) -> Result<Thresholds, String> {
        let args = EngineArgs {
            critical_days: critical,
            warning_days: warning,
            stale_days: stale,
            ..EngineArgs::default()
        };
        args.thresholds().map_err(|e| e.to_string())
    }

    #[test]
    fn thresholds_are_in_order_and_bounded() {
        assert_eq!(read(None, None, None).unwrap(), Thresholds::default());
        let t = read(Some(14), Some(60), Some(5)).unwrap();
        assert_eq!((t.critical_days, t.warning_days, t.stale_days), (14, 60, 5));
        for (critical, warning, stale, words) in [
            (Some(30), None, None, "critical_days: 30 is not below warning_days (30)"),
            (None, Some(7), None, "critical_days: 7 is not below warning_days (7)"),
            (Some(-1), None, None, "critical_days: -1 is not a number of days from 0 to 89"),
            (None, Some(91), None, "warning_days: 91 is not a number of days from 1 to 90"),
            (None, None, Some(0), "stale_days: 0 is not a number of days from 1 to 30"),
        ] {
            let e = read(critical, warning, stale).unwrap_err();
            assert!(e.starts_with(words), "{e}");
        }
    }

    #[test]
    fn the_settings_file_has_them_and_flags_win() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("engine.toml");
        std::fs::write(&path, "critical_days = 10\nwarning_days = 45\nstale_days = 2\n").unwrap();
        let args = EngineArgs { config: Some(path), warning_days: Some(50), ..EngineArgs::default() };
        let t = args.resolved().unwrap().thresholds().unwrap();
        assert_eq!((t.critical_days, t.warning_days, t.stale_days), (10, 50, 2));
    }
}
