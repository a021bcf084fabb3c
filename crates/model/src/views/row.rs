//! What a table row says beside its values: the second line under an expiration, only when it is something to act
//! on or to doubt. In: a row and now. Out: words and their urgency.

use crate::base::time::{DAY, relative};
use crate::certificate::hosts::WARNING_DAYS;
use crate::judgement::status::{Rule, StatusKind};
use crate::views::inventory::Row;
use jiff::Timestamp;

/// How soon a note asks for action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// Grey.
    Low,
    /// Amber.
    Soon,
    /// Red.
    Immediate,
}

/// A second line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The words.
    pub words: String,
    /// How soon it asks for action.
    pub urgency: Urgency,
    /// True when the value above it is old and is to be shown muted.
    pub doubt: bool,
}

impl Row {
    /// The second line under the expiration.
    pub fn expiry_note(&self, now: Timestamp) -> Option<Note> {
        let rule = |rule: Rule| self.status.reasons.iter().find(|r| r.rule == rule);
        let age = self.registered_read_at.map(|at| relative(at, now));
        let stale = rule(Rule::Stale).is_some() || self.error.is_some();
        let note = |words: String, urgency, doubt| Some(Note { words, urgency, doubt });
        let Some(expires) = &self.expires else {
            return match (&self.error, age) {
                (Some(_), None) => note("could not be read".into(), Urgency::Low, true),
                (Some(_), Some(age)) => note(format!("read {age}"), Urgency::Low, true),
                _ => None,
            };
        };
        let days = expires.days_from(now);
        let auto = if self.auto_renew == Some(true) { " · auto-renew" } else { "" };
        if expires.passed_at() <= now {
            let ago = match -days {
                0 => "expired today".to_string(),
                1 => "expired yesterday".to_string(),
                n => format!("expired {n} days ago"),
            };
            let doubt = stale && !self.expires_by_hand;
            let read = age.filter(|_| doubt).map(|a| format!(" · read {a}")).unwrap_or_default();
            return note(format!("{ago}{read}"), Urgency::Immediate, doubt);
        }
        if stale && !self.expires_by_hand {
            return note(age.map_or("never read well".into(), |a| format!("read {a}")), Urgency::Low, true);
        }
        if let Some(reason) = rule(Rule::ExpiresSoon) {
            let left = match days {
                0 => "today".to_string(),
                1 => "tomorrow".to_string(),
                n => format!("in {n} days"),
            };
            let critical = reason.kind == StatusKind::Critical;
            let urgency = if critical { Urgency::Immediate } else { Urgency::Soon };
            return note(format!("{left}{auto}"), urgency, false);
        }
        if self.expires_by_hand {
            return note(format!("set manually{auto}"), Urgency::Low, false);
        }
        (days <= 92).then(|| Note {
            words: format!("in {days} days{auto}"),
            urgency: Urgency::Low,
            doubt: false,
        })
    }

    /// How long the certificate that ends first is valid, in days; `None` where none was seen.
    pub fn certificate_note(&self, now: Timestamp) -> Option<Note> {
        let ends = self.certificate_ends?;
        let days = (ends.as_second() - now.as_second()).div_euclid(DAY);
        let (words, urgency) = match days {
            _ if ends <= now => ("ended".to_string(), Urgency::Immediate),
            0 => ("ends today".to_string(), Urgency::Soon),
            1 => ("1 day".to_string(), Urgency::Soon),
            n if n < WARNING_DAYS => (format!("{n} days"), Urgency::Soon),
            n => (format!("{n} days"), Urgency::Low),
        };
        Some(Note { words, urgency, doubt: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::names::DomainName;
    use crate::judgement::item::Ownership;
    use crate::judgement::status::{Reason, Status};

    fn at(s: &str) -> Timestamp {
        s.parse().unwrap()
    }

    fn row(expires: Option<&str>, rules: &[Rule]) -> Row {
        let reasons = rules
            .iter()
            .map(|r| Reason { kind: StatusKind::Warning, rule: *r, sentence: String::new() })
            .collect();
        Row {
            name: DomainName::trusted("alder.example"),
            unicode: "alder.example".into(),
            ownership: Ownership::Owned,
            tags: vec![],
            expires: expires.map(|e| e.parse().unwrap()),
            expires_by_hand: false,
            auto_renew: None,
            registrar: None,
            provider: None,
            status: Status { kind: StatusKind::Warning, reasons, judge_again_at: None },
            outcome: None,
            last_change_at: None,
            last_dns_change_at: None,
            modified: None,
            certificate_ends: None,
            last_scan_at: None,
            registered_read_at: Some(at("2026-11-16T14:05:00Z")),
            error: None,
            confirming: 0,
            claim: None,
            transitions: crate::inventory::Transitions::default(),
        }
    }

    fn words(row: &Row) -> Option<String> {
        row.expiry_note(at("2026-11-20T14:05:00Z")).map(|n| n.words)
    }

    #[test]
    fn only_what_matters_is_said() {
        assert_eq!(words(&row(Some("2029-07-06"), &[])), None);
        assert_eq!(words(&row(Some("2026-12-04"), &[Rule::ExpiresSoon])).as_deref(), Some("in 14 days"));
        assert_eq!(words(&row(Some("2026-11-18"), &[Rule::Expired])).as_deref(), Some("expired 2 days ago"));
        assert_eq!(words(&row(None, &[])), None);
    }

    #[test]
    fn an_old_value_says_its_age_and_never_looks_healthy() {
        let mut r = row(Some("2028-01-08"), &[Rule::Stale]);
        let note = r.expiry_note(at("2026-11-20T14:05:00Z")).unwrap();
        assert!(note.doubt && note.words == "read 4 days ago", "{note:?}");
        r.expires_by_hand = true;
        assert_eq!(words(&r).as_deref(), Some("set manually"));
        let mut failed = row(None, &[]);
        failed.registered_read_at = None;
        failed.error = Some("timed out".into());
        assert_eq!(words(&failed).as_deref(), Some("could not be read"));
    }

    #[test]
    fn a_certificate_has_days_left() {
        let now = at("2026-11-20T12:00:00Z");
        let with = |ends: &str| Row { certificate_ends: Some(at(ends)), ..row(None, &[]) };
        for (ends, words, urgency) in [
            ("2026-11-20T11:59:59Z", "ended", Urgency::Immediate),
            ("2026-11-20T23:00:00Z", "ends today", Urgency::Soon),
            ("2026-11-21T23:00:00Z", "1 day", Urgency::Soon),
            ("2026-12-04T11:59:59Z", "13 days", Urgency::Soon),
            ("2026-12-04T12:00:00Z", "14 days", Urgency::Low),
            ("2027-02-18T12:00:00Z", "90 days", Urgency::Low),
        ] {
            let note = with(ends).certificate_note(now).unwrap();
            assert_eq!((note.words.as_str(), note.urgency), (words, urgency), "{ends}");
        }
        assert_eq!(row(None, &[]).certificate_note(now), None);
    }
}
