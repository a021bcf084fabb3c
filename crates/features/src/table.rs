//! The features of this version: one row each.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// How settled a feature is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// May change or go without notice.
    Alpha,
    /// Complete; details may change.
    Beta,
    /// Stays compatible.
    Ga,
}

impl Stage {
    /// The word of the resource API and of pages.
    pub fn as_str(self) -> &'static str {
        match self {
            Stage::Alpha => "alpha",
            Stage::Beta => "beta",
            Stage::Ga => "GA",
        }
    }
}

/// A step of turning a feature off. `data` names what it is about in the words of the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Task {
    /// Deletes stored data. Safe to repeat.
    Clean {
        /// Such as `connect-links`.
        data: String,
    },
    /// Waits until people have deleted all objects of a kind.
    WaitUntilGone {
        /// Such as `network-claims`.
        data: String,
    },
    /// A task that another version stored, as it was read: writing the feature keeps it for the version that knows it.
    #[serde(untagged)]
    Unknown(Map<String, Value>),
}

impl Task {
    /// The name of the data that the task is about.
    pub fn data(&self) -> &str {
        match self {
            Task::Clean { data } | Task::WaitUntilGone { data } => data,
            Task::Unknown(fields) => fields.get("data").and_then(Value::as_str).unwrap_or_default(),
        }
    }

    /// The task in words: `Delete customer links`.
    pub fn words(&self) -> String {
        let what = match self.data().split_once('/') {
            Some((what, kind)) => format!("{what} of the kind {kind}"),
            None => self.data().replace('-', " "),
        };
        match self {
            Task::Clean { .. } => format!("Delete {what}"),
            Task::WaitUntilGone { .. } => format!("Wait until no {what} are left"),
            Task::Unknown(fields) => {
                let task = fields.get("do").and_then(Value::as_str).unwrap_or_default().replace('_', " ");
                format!("A task of another version: {}", format!("{task} {what}").trim())
            }
        }
    }
}

/// A feature of this version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spec {
    /// Its name: an RFC 1123 label.
    pub name: &'static str,
    /// Whether it is on without a setting.
    pub default: bool,
    /// How settled it is.
    pub stage: Stage,
    /// The version that it came with.
    pub since: &'static str,
    /// Its purpose, in a few words.
    pub title: &'static str,
    /// Uses that are refused while it is off.
    pub guards: &'static str,
    /// Whether it may be turned on and off while processes run; else only the flag `--feature` of each process sets it.
    pub dynamic: bool,
    /// Settings of which a process must have at least one, or it can't be turned on; none: it needs no setting.
    pub needs: &'static [&'static str],
    /// Deletes these stored data when turned off, after `waits_for`.
    cleans: &'static [&'static str],
    /// Waits for the deletion of objects of these kinds when turned off.
    waits_for: &'static [&'static str],
}

impl Spec {
    /// The settings it can't be turned on without, when a process has none of them: `A or B`.
    pub fn missing(&self, lacks: &BTreeSet<String>) -> Option<String> {
        let is_missing = !self.needs.is_empty() && self.needs.iter().all(|setting| lacks.contains(*setting));
        is_missing.then(|| self.needs.join(" or "))
    }

    /// The tasks of turning it off, in order.
    pub fn tasks(&self) -> Vec<Task> {
        let wait = self.waits_for.iter().map(|d| Task::WaitUntilGone { data: (*d).into() });
        wait.chain(self.cleans.iter().map(|d| Task::Clean { data: (*d).into() })).collect()
    }
}

/// A row for a kind of notification channel.
macro_rules! channel {
    ($kind:literal, $title:literal, $needs:expr) => {
        Spec {
            name: concat!("alerts-", $kind),
            default: true,
            stage: Stage::Ga,
            since: "0.1",
            title: concat!("notifications by ", $title),
            guards: concat!("sending to channels of the kind ", $kind, ", and adding them"),
            dynamic: true,
            needs: $needs,
            cleans: &["channel-tests"],
            waits_for: &[concat!("channels/", $kind)],
        }
    };
}

/// All features, by name.
pub const FEATURES: &[Spec] = &[
    channel!("discord", "Discord", &[]),
    channel!("email", "e-mail", &["DOMAINSCOPE_SMTP_URL"]),
    channel!("ntfy", "ntfy", &[]),
    channel!("pagerduty", "PagerDuty", &[]),
    channel!("slack", "Slack", &[]),
    channel!("teams", "Microsoft Teams", &[]),
    channel!("telegram", "Telegram", &[]),
    channel!("webhook", "webhook", &[]),
    Spec {
        name: "doh-server",
        default: true,
        stage: Stage::Beta,
        since: "0.1",
        title: "DNS over HTTPS for your resolvers and browsers",
        guards: "answers at /dns-query and /resolve",
        dynamic: true,
        needs: &[],
        cleans: &[],
        waits_for: &[],
    },
    Spec {
        name: "domain-connect-apply",
        default: true,
        stage: Stage::Beta,
        since: "0.1",
        title: "set up records at the DNS provider in one click",
        guards: "one-click links of providers, and links to customer pages",
        dynamic: true,
        needs: &[],
        cleans: &["connect-links"],
        waits_for: &[],
    },
    Spec {
        name: "fleet-agents",
        default: true,
        stage: Stage::Alpha,
        since: "0.1",
        title: "points of presence",
        guards: "joining, work for points of presence, and their answers",
        dynamic: true,
        needs: &[],
        cleans: &["agent-tokens", "agent-questions", "place-samples", "fleet-set", "fleet-key"],
        waits_for: &["agents"],
    },
    Spec {
        name: "network-claim",
        default: true,
        stage: Stage::Beta,
        since: "0.1",
        title: "registry of address space",
        guards: "creating and changing claims; they can still be read and released",
        dynamic: true,
        needs: &[],
        cleans: &["released-prefixes", "listed-blocks"],
        waits_for: &["network-claims"],
    },
    Spec {
        name: "open-tools",
        default: true,
        stage: Stage::Beta,
        since: "0.1",
        title: "tools for visitors without an account",
        guards: "what visitors ask the tools that --open-tools names",
        dynamic: true,
        needs: &["DOMAINSCOPE_OPEN_TOOLS"],
        cleans: &[],
        waits_for: &[],
    },
    Spec {
        name: "third-party-vantages",
        default: false,
        stage: Stage::Alpha,
        since: "0.1",
        title: "places of Globalping and RIPE Atlas",
        guards: "measurements at these networks, which learn the names that are looked at",
        dynamic: true,
        needs: &["DOMAINSCOPE_GLOBALPING_URL", "DOMAINSCOPE_ATLAS_KEY"],
        cleans: &["third-party-usage"],
        waits_for: &[],
    },
];

/// The feature of this version with a name.
pub fn spec(name: &str) -> Option<&'static Spec> {
    FEATURES.iter().find(|s| s.name == name)
}

/// The feature that guards a kind of notification channel.
pub fn alerts(kind: &str) -> &'static str {
    let found = FEATURES.iter().find(|s| s.name.strip_prefix("alerts-") == Some(kind));
    found.map_or("alerts-unknown", |s| s.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_of_another_version_is_written_as_it_was_read() {
        let text = r#"{"data":"old-links","days":3,"do":"archive_all"}"#;
        let task: Task = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&task).unwrap(), text);
        assert_eq!(
            (task.data(), task.words().as_str()),
            ("old-links", "A task of another version: archive all old links")
        );
        let ours = r#"{"do":"clean","data":"connect-links"}"#;
        assert_eq!(serde_json::from_str::<Task>(ours).unwrap(), Task::Clean { data: "connect-links".into() });
        assert_eq!(serde_json::to_string(&serde_json::from_str::<Task>(ours).unwrap()).unwrap(), ours);
    }

    #[test]
    fn names_are_labels_in_order_and_each_row_is_complete() {
        assert!(FEATURES.windows(2).all(|w| w[0].name < w[1].name));
        for s in FEATURES {
            let label = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
            assert!(s.name.len() <= 63 && s.name.bytes().all(label), "{}", s.name);
            assert!(!s.title.is_empty() && !s.guards.is_empty() && s.since.contains('.'), "{}", s.name);
            assert_eq!(spec(s.name), Some(s));
        }
        let lacks = |settings: &[&str]| settings.iter().map(ToString::to_string).collect();
        let missing = |name: &str, settings: &[&str]| spec(name).and_then(|s| s.missing(&lacks(settings)));
        assert_eq!(
            missing("alerts-email", &["DOMAINSCOPE_SMTP_URL"]).as_deref(),
            Some("DOMAINSCOPE_SMTP_URL")
        );
        assert_eq!(missing("alerts-email", &["DOMAINSCOPE_OPEN_TOOLS"]), None);
        assert_eq!(missing("doh-server", &["DOMAINSCOPE_SMTP_URL"]), None, "it needs none");
        // One of two is enough.
        let both = ["DOMAINSCOPE_GLOBALPING_URL", "DOMAINSCOPE_ATLAS_KEY"];
        assert_eq!(missing("third-party-vantages", &both[..1]), None);
        assert_eq!(missing("third-party-vantages", &both), Some(both.join(" or ")));
        let words: Vec<_> =
            spec("alerts-email").into_iter().flat_map(Spec::tasks).map(|t| t.words()).collect();
        assert_eq!(words, ["Wait until no channels of the kind email are left", "Delete channel tests"]);
    }
}
