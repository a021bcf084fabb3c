//! The rule in the editor as pairs of a form, so that a preview is an address and needs no script.

#[cfg(feature = "ssr")]
use crate::query;
#[cfg(feature = "ssr")]
use model::Timestamp;
#[cfg(feature = "ssr")]
use model::event::EventKind;
use model::event::Severity;
use model::item::Ownership;
#[cfg(feature = "ssr")]
use model::notify::Quiet;
use model::notify::{Delivery, Rule};
#[cfg(feature = "ssr")]
use service::NotificationSettings;

/// The rule that an address edits: the fields it carries, else the saved rule it names.
#[cfg(feature = "ssr")]
pub(crate) fn edited(search: &str, settings: &NotificationSettings) -> Option<Rule> {
    let pairs = query::pairs(search);
    let id = query::value(search, "rule")?;
    if pairs.iter().any(|(k, _)| k == "name") {
        return Some(rule(&pairs));
    }
    if id == "new" {
        let channels = settings.channels.iter().map(|c| c.id.clone()).take(1).collect();
        return Some(Rule { channels, ..Rule::default() });
    }
    settings.rules.iter().find(|r| r.rule.id == id).map(|r| r.rule.clone())
}

/// The rule of the pairs of a form.
#[cfg(feature = "ssr")]
pub(crate) fn rule(pairs: &[(String, String)]) -> Rule {
    let all = |key: &str| -> Vec<String> {
        pairs.iter().filter(|(k, _)| k == key).map(|(_, v)| v.trim().to_string()).collect()
    };
    let one = |key: &str| all(key).into_iter().next().unwrap_or_default();
    let id = one("rule");
    let hour = one("hour").split(':').next().and_then(|h| h.parse().ok()).unwrap_or(8);
    let quiet = minute(&one("quiet_from")).zip(minute(&one("quiet_to")));
    Rule {
        id: if id == "new" { String::new() } else { id },
        name: one("name"),
        enabled: one("enabled") != "no",
        kinds: all("kinds[]").iter().filter_map(|k| EventKind::from_word(k)).collect(),
        at_least: Severity::from_word(&one("at_least")).unwrap_or(Severity::Warning),
        ownership: Ownership::from_word(&one("ownership")),
        tags: one("tags").split(',').map(|t| t.trim().to_string()).filter(|t| !t.is_empty()).collect(),
        channels: all("channels[]"),
        delivery: match one("delivery").as_str() {
            "daily" => Delivery::Daily { hour },
            "weekly" => Delivery::Weekly { hour },
            _ => Delivery::Immediate,
        },
        quiet: quiet.map(|(from, to)| Quiet { from, to }),
        // A box that is not ticked sends nothing: a hidden field says that the form had one.
        critical_at_once: all("critical[]").last().is_none_or(|word| word == "yes"),
        muted_until: muted_until(&one("muted_until"), &one("muted_before")),
        // What is no number of hours is refused where it is saved, not dropped.
        repeat_hours: Some(one("repeat_hours")).filter(|h| !h.is_empty()).map(|h| h.parse().unwrap_or(0)),
    }
}

/// Until when a rule is muted: `before`, the instant that the form was made with, where its day was left as it was, so that one
/// that REST set to an hour is not moved; else the end of the day.
#[cfg(feature = "ssr")]
fn muted_until(day: &str, before: &str) -> Option<Timestamp> {
    let before: Option<Timestamp> = before.parse().ok();
    before.filter(|at| muted_day_of(*at).is_some_and(|d| d.to_string() == day)).or_else(|| end_of_day(day))
}

/// The end (UTC) of a day.
#[cfg(feature = "ssr")]
fn end_of_day(day: &str) -> Option<Timestamp> {
    let day: jiff::civil::Date = day.parse().ok()?;
    let next = day.checked_add(jiff::ToSpan::day(1)).ok()?;
    format!("{next}T00:00:00Z").parse().ok()
}

/// The last day (UTC) on which a rule is muted.
pub(crate) fn muted_day(rule: &Rule) -> Option<jiff::civil::Date> {
    muted_day_of(rule.muted_until?)
}

fn muted_day_of(until: model::Timestamp) -> Option<jiff::civil::Date> {
    let last = until.checked_sub(jiff::SignedDuration::from_secs(1)).ok()?;
    Some(model::time::StatedTime::utc(last).date())
}

/// `07:30` as minutes of the day.
#[cfg(feature = "ssr")]
fn minute(text: &str) -> Option<u16> {
    let (h, m) = text.split_once(':')?;
    let (h, m): (u16, u16) = (h.parse().ok()?, m.get(..2)?.parse().ok()?);
    (h < 24 && m < 60).then_some(h * 60 + m)
}

/// Minutes of the day as `07:30`.
pub(crate) fn clock(minute: u16) -> String {
    format!("{:02}:{:02}", minute / 60, minute % 60)
}

/// When a rule sends, in words.
pub(crate) fn when(rule: &Rule) -> String {
    let quiet = rule.quiet.map(|q| {
        let critical = if rule.critical_at_once { "" } else { ", Critical too" };
        format!(", quiet {} to {}{critical}", clock(q.from), clock(q.to))
    });
    let when = match rule.delivery {
        Delivery::Immediate => format!("Immediate{}", quiet.unwrap_or_default()),
        Delivery::Daily { hour } => format!("Daily at {hour:02}:00"),
        Delivery::Weekly { hour } => format!("Mondays at {hour:02}:00"),
    };
    match rule.repeat_hours {
        None => when,
        Some(1) => format!("{when}, repeated every hour"),
        Some(hours) => format!("{when}, repeated every {hours} hours"),
    }
}

/// What a rule is about, in words.
pub(crate) fn what(rule: &Rule) -> String {
    let kinds: Vec<_> = rule.kinds.iter().map(|k| k.label().to_lowercase()).collect();
    let kinds = if kinds.is_empty() { "All kinds".to_string() } else { kinds.join(", ") };
    let severity = match rule.at_least {
        Severity::Info => String::new(),
        Severity::Critical => ", Critical".into(),
        s => format!(", {} or more", s.label()),
    };
    let whose = match rule.ownership {
        Some(Ownership::Owned) => ", owned",
        Some(Ownership::Watched) => ", watched",
        None => ", owned and watched",
    };
    let tags =
        if rule.tags.is_empty() { String::new() } else { format!(", tags {}", rule.tags.join(" or ")) };
    let mut words = format!("{kinds}{severity}{whose}{tags}");
    if let Some(first) = words.get(..1).map(str::to_uppercase) {
        words.replace_range(..1, &first);
    }
    words
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_a_rule() {
        let search = "rule=r1&name=Prod&at_least=critical&ownership=&tags=prod,+edge&kinds%5B%5D=expired\
                      &channels%5B%5D=a&channels%5B%5D=b&delivery=daily&hour=09:00&quiet_from=22:00&quiet_to=07:30&repeat_hours=24";
        let r = rule(&query::pairs(search));
        assert_eq!((r.id.as_str(), r.at_least, r.ownership), ("r1", Severity::Critical, None));
        assert_eq!((r.tags.len(), r.channels.len(), r.kinds.len()), (2, 2, 1));
        assert_eq!(r.delivery, Delivery::Daily { hour: 9 });
        assert_eq!(r.quiet, Some(Quiet { from: 1320, to: 450 }));
        assert_eq!(what(&r), "Expired, Critical, owned and watched, tags prod or edge");
        assert_eq!(
            (r.repeat_hours, when(&r).as_str()),
            (Some(24), "Daily at 09:00, repeated every 24 hours")
        );
        assert_eq!(rule(&query::pairs("repeat_hours=soon")).repeat_hours, Some(0), "refused, not dropped");
        assert_eq!(clock(450), "07:30");
        assert_eq!((rule(&[]).quiet, rule(&[]).repeat_hours), (None, None));
        assert!(
            r.critical_at_once && r.muted_until.is_none(),
            "an address from before says nothing of these"
        );
        let held = rule(&query::pairs("critical%5B%5D=no&muted_until=2026-11-23"));
        assert!(!held.critical_at_once);
        assert_eq!(
            held.muted_until.unwrap().to_string(),
            "2026-11-24T00:00:00Z",
            "until the end of that day"
        );
        assert_eq!(muted_day(&held).unwrap().to_string(), "2026-11-23");
        let until = |search: &str| rule(&query::pairs(search)).muted_until.map(|at| at.to_string());
        let before = "muted_before=2026-11-23T15:30:00Z&muted_until=";
        let kept = |day: &str| until(&format!("{before}{day}"));
        assert_eq!(kept("2026-11-23").as_deref(), Some("2026-11-23T15:30:00Z"), "the day was not changed");
        assert_eq!(kept("2026-11-25").as_deref(), Some("2026-11-26T00:00:00Z"));
        assert_eq!(kept(""), None, "the day was removed");
        assert!(rule(&query::pairs("critical%5B%5D=no&critical%5B%5D=yes")).critical_at_once);
    }
}
