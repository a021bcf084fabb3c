//! When caches agree after a change that is made now: old values live as long as their TTL, "does not exist" as long as
//! the zone's SOA says (RFC 2308). In: the changes and the TTLs in force. Out: dated steps with clock times.

use super::{ChangeAction, PlannedChange, service::START_TTL};
use crate::base::time::{clock_utc, human_seconds};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// TTL worth going back to once a change has proved itself, in seconds.
const USUAL_TTL: u32 = 3600;

/// A step of the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheStep {
    /// When.
    pub at: Timestamp,
    /// When, as a clock time in UTC.
    pub when: String,
    /// What is the case from then on, or what to do.
    pub title: String,
    /// Why, with this zone's numbers.
    pub detail: String,
    /// True where something has to be waited for.
    pub waits: bool,
}

/// The steps of making `changes` now; empty when there are none. `negative_ttl`: seconds for which a resolver may keep
/// "does not exist" in this zone.
pub fn when_caches_agree(
    changes: &[PlannedChange],
    negative_ttl: Option<u32>,
    now: Timestamp,
) -> Vec<CacheStep> {
    if changes.is_empty() {
        return Vec::new();
    }
    let at = |seconds: u32| {
        let at = now.checked_add(SignedDuration::from_secs(i64::from(seconds))).unwrap_or(now);
        (at, clock_utc(at, now))
    };
    let step = |seconds: u32, title: String, detail: String, waits: bool| {
        let (at, when) = at(seconds);
        CacheStep { at, when, title, detail, waits }
    };
    let of = |actions: &[ChangeAction]| {
        let mut names: Vec<&str> =
            changes.iter().filter(|c| actions.contains(&c.action)).map(|c| c.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    let mut steps = vec![step(
        0,
        "Save the changes.".into(),
        "The check queries the authoritative servers directly and sees them within a minute.".into(),
        false,
    )];
    let created: Vec<&str> = of(&[ChangeAction::Create]);
    if let (Some(ttl), false) = (negative_ttl, created.is_empty()) {
        let (name, all) = some(&created);
        steps.push(step(
            ttl,
            format!("{all} visible everywhere."),
            format!(
                "If {name} was looked up before it exists, resolvers keep “does not exist” for up to {}: the smaller of the SOA’s last field and its TTL. Resolvers with limits of their own may take longer; allow twice that.",
                human_seconds(ttl.into())
            ),
            true,
        ));
    }
    let replaced = changes.iter().filter(|c| !c.old.is_empty());
    if let Some(ttl) = replaced.filter_map(|c| c.old_ttl).max() {
        let gone = of(&[ChangeAction::Change, ChangeAction::Delete]);
        let (_, all) = some(&gone);
        steps.push(step(
            ttl,
            format!("Old values of {all} are out of caches."),
            format!("Their TTL is up to {ttl} s, counted from the last look-up before the change. Keep what they point to running until then."),
            true,
        ));
    }
    let starts_low = changes.iter().any(|c| !c.new.is_empty() && c.ttl.is_some_and(|t| t <= START_TTL));
    if starts_low {
        steps.push(step(
            24 * 3600,
            format!("Raise the TTLs to {USUAL_TTL}."),
            format!(
                "They start at {START_TTL}, so that a mistake costs {}.",
                human_seconds(START_TTL.into())
            ),
            false,
        ));
    }
    steps.sort_by_key(|s| s.at);
    steps
}

/// One of the names, and all of them in words.
fn some(names: &[&str]) -> (String, String) {
    match names {
        [] => (String::new(), String::new()),
        [one] => ((*one).to_string(), (*one).to_string()),
        [first, second] => ((*first).to_string(), format!("{first} and {second}")),
        [first, rest @ ..] => ((*first).to_string(), format!("{first} and {} more names", rest.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(action: ChangeAction, name: &str, old_ttl: Option<u32>) -> PlannedChange {
        PlannedChange {
            action,
            rtype: "A".into(),
            host: "@".into(),
            name: name.into(),
            old: old_ttl.map(|_| "192.0.2.1".to_string()).into_iter().collect(),
            new: if action == ChangeAction::Delete { vec![] } else { vec!["192.0.2.2".into()] },
            ttl: Some(300),
            old_ttl,
            why: String::new(),
        }
    }

    #[test]
    fn steps_have_the_clock_times_of_this_zone() {
        let now = "2026-11-20T14:05:00Z".parse().unwrap();
        let changes = [
            change(ChangeAction::Create, "k._domainkey.a.example", None),
            change(ChangeAction::Change, "_mta-sts.a.example", Some(3600)),
        ];
        let steps = when_caches_agree(&changes, Some(1800), now);
        let told: Vec<_> = steps.iter().map(|s| (s.when.as_str(), s.title.as_str())).collect();
        assert_eq!(told[0].1, "Save the changes.");
        assert!(
            told[1].0.contains("14:35") && told[1].1.starts_with("k._domainkey.a.example visible"),
            "{told:?}"
        );
        assert!(steps[1].detail.contains("30 min"), "{}", steps[1].detail);
        assert!(told[2].0.contains("15:05") && told[2].1.contains("_mta-sts.a.example"), "{told:?}");
        assert!(told[3].1.starts_with("Raise the TTLs"), "{told:?}");
        assert_eq!(when_caches_agree(&[], Some(1800), now), []);
    }
}
