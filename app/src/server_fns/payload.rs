//! What a page reads in one call: model types, put together with the server's clock.

use model::detail::RawAnswer;
use model::registration::Party;
use serde::{Deserialize, Serialize};
use service::Session;

/// The inventory as a page shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Inventory {
    /// The rows, and counts for the filters.
    pub page: model::inventory::Page,
    /// Scans that wait or run among the rows.
    pub scans: Vec<model::scan::ScanProgress>,
    /// The server's clock.
    pub now: model::Timestamp,
}

/// What the frame around every page shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// Who looks, at what.
    pub session: Session,
    /// The figures of the organisation.
    pub summary: model::inventory::Summary,
    /// What is wrong with the installation itself.
    #[serde(default)]
    pub health: service::Health,
    /// The server's clock.
    pub now: model::Timestamp,
}

/// A page of the event log, with the clock to read its times by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventLog {
    /// The events.
    pub page: model::event::EventPage,
    /// How messages about them stand.
    pub deliveries: Vec<service::DeliveryView>,
    /// Tags of the organisation with the number of domains that have them; empty for one domain.
    #[serde(default)]
    pub tags: Vec<model::inventory::Facet>,
    /// The server's clock.
    pub now: model::Timestamp,
}

/// The services of a domain, with the clock to read their times by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Services {
    /// Oldest first.
    pub services: Vec<model::configure::StoredService>,
    /// The server's clock.
    pub now: model::Timestamp,
}

/// The saved templates of an organisation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Templates {
    /// In the order of their names, without their texts.
    pub templates: Vec<model::configure::StoredTemplate>,
    /// Whether the caller may save and remove them.
    pub may_change: bool,
}

/// What the History tab shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// Kept states, newest first.
    pub snapshots: Vec<model::detail::SnapshotMeta>,
    /// The older of the two compared.
    pub from: Option<model::detail::SnapshotMeta>,
    /// The newer of the two compared.
    pub to: Option<model::detail::SnapshotMeta>,
    /// Their fields side by side.
    pub fields: Vec<model::fields::FieldDiff>,
    /// What held from when to when, from the newest states.
    pub lanes: Vec<model::timeline::Lane>,
    /// Raw answers of the newer one.
    pub raw: Vec<RawAnswer>,
    /// Raw answers of both compared, where they were asked for.
    #[serde(default)]
    pub raw_diffs: Vec<RawDiff>,
    /// Days for which history is kept.
    #[serde(default)]
    pub keep_days: u32,
    /// The server's clock.
    pub now: model::Timestamp,
}

/// What a raw answer is called.
pub fn raw_title(r: &RawAnswer) -> String {
    let party = match r.party {
        Party::Registry => "registry",
        Party::Registrar => "registrar",
    };
    format!("Raw {} of the {party}", r.protocol.label())
}

/// The raw answers of one source in two snapshots, line by line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawDiff {
    /// Protocol and source.
    pub title: String,
    /// The comparison.
    pub diff: model::lines::LineDiff,
}

/// The notification settings with the rule that is edited.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Notifications {
    /// Channels, rules, failed messages.
    pub settings: service::NotificationSettings,
    /// The rule in the editor, and what it would have sent.
    pub editing: Option<(model::notify::Rule, model::notify::RulePreview)>,
    /// Feeds, newest first; `None` for those who may not see them.
    #[serde(default)]
    pub feeds: Option<Vec<model::feed::Feed>>,
    /// What became of a form about feeds.
    #[serde(default)]
    pub outcome: Option<super::FormOutcome>,
}
