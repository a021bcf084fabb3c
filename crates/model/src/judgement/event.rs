//! Changes and events: what differs between two observations, and the entry of the event log made of it.

pub use super::event_query::{EventCounts, EventGroup, EventPage, EventQuery};
pub use crate::finding::severity::Severity;

use super::status::StatusKind;
use crate::base::ids::{EventId, OrgId};
use crate::base::names::DomainName;
use crate::base::time::{StatedTime, human_date, human_instant};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// What kind of thing happened. The snake_case words are stable (rules, API, feeds).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A name that was not registered is now.
    Registered,
    /// A name that was registered no longer is.
    Released,
    /// The creation date changed: the name was dropped and registered again.
    CreationChanged,
    /// Another registrar.
    RegistrarChanged,
    /// The expiration moved.
    ExpirationChanged,
    /// The expiration moved on and nothing speaks against it having been paid.
    Renewed,
    /// The expiration is near: a reminder, made by time rather than by a change.
    ExpiresSoon,
    /// The expiration has come.
    Expired,
    /// The registry's "last changed" date moved.
    ModifiedChanged,
    /// An EPP status code appeared.
    StatusAdded,
    /// An EPP status code went away.
    StatusRemoved,
    /// The NS set at the registry or parent changed.
    NameserversChanged,
    /// DNSSEC was switched on or off, or the DS set changed.
    DnssecChanged,
    /// Validation went from one state to another.
    DnssecStatusChanged,
    /// Another DNS provider.
    ProviderChanged,
    /// A name server began or ceased to answer for the zone.
    DelegationHealthChanged,
    /// A watched RRset changed.
    RecordChanged,
    /// A host presents another certificate.
    CertificateChanged,
    /// The certificate of a host ends soon, or ended.
    CertificateEnds,
    /// Control of the domain was proven, or proven again.
    OwnershipVerified,
    /// A verified claim lapses soon unless its record is published.
    OwnershipAtRisk,
    /// A verified claim lapsed.
    OwnershipLost,
    /// A claim ended without a proof.
    OwnershipNotProven,
    /// A configured service has all its records for the first time.
    ServiceReady,
    /// A configured service worked and no longer does.
    ServiceDrifted,
    /// A configured service that had drifted works again.
    ServiceRecovered,
}

impl EventKind {
    /// Every kind, in the order filters list them.
    pub const ALL: [EventKind; 26] = [
        EventKind::Registered,
        EventKind::Released,
        EventKind::CreationChanged,
        EventKind::RegistrarChanged,
        EventKind::ExpirationChanged,
        EventKind::Renewed,
        EventKind::ExpiresSoon,
        EventKind::Expired,
        EventKind::ModifiedChanged,
        EventKind::StatusAdded,
        EventKind::StatusRemoved,
        EventKind::NameserversChanged,
        EventKind::DnssecChanged,
        EventKind::DnssecStatusChanged,
        EventKind::ProviderChanged,
        EventKind::DelegationHealthChanged,
        EventKind::RecordChanged,
        EventKind::CertificateChanged,
        EventKind::CertificateEnds,
        EventKind::OwnershipVerified,
        EventKind::OwnershipAtRisk,
        EventKind::OwnershipLost,
        EventKind::OwnershipNotProven,
        EventKind::ServiceReady,
        EventKind::ServiceDrifted,
        EventKind::ServiceRecovered,
    ];

    /// The stable word.
    pub fn as_str(self) -> &'static str {
        match self {
            EventKind::Registered => "registered",
            EventKind::Released => "released",
            EventKind::CreationChanged => "creation_changed",
            EventKind::RegistrarChanged => "registrar_changed",
            EventKind::ExpirationChanged => "expiration_changed",
            EventKind::Renewed => "renewed",
            EventKind::ExpiresSoon => "expires_soon",
            EventKind::Expired => "expired",
            EventKind::ModifiedChanged => "modified_changed",
            EventKind::StatusAdded => "status_added",
            EventKind::StatusRemoved => "status_removed",
            EventKind::NameserversChanged => "nameservers_changed",
            EventKind::DnssecChanged => "dnssec_changed",
            EventKind::DnssecStatusChanged => "dnssec_status_changed",
            EventKind::ProviderChanged => "provider_changed",
            EventKind::DelegationHealthChanged => "delegation_health_changed",
            EventKind::RecordChanged => "record_changed",
            EventKind::CertificateChanged => "certificate_changed",
            EventKind::CertificateEnds => "certificate_ends",
            EventKind::OwnershipVerified => "ownership_verified",
            EventKind::OwnershipAtRisk => "ownership_at_risk",
            EventKind::OwnershipLost => "ownership_lost",
            EventKind::OwnershipNotProven => "ownership_not_proven",
            EventKind::ServiceReady => "service_ready",
            EventKind::ServiceDrifted => "service_drifted",
            EventKind::ServiceRecovered => "service_recovered",
        }
    }

    /// Reads the stable word.
    pub fn from_word(word: &str) -> Option<EventKind> {
        EventKind::ALL.into_iter().find(|k| k.as_str() == word)
    }

    /// The words people see.
    pub fn label(self) -> &'static str {
        match self {
            EventKind::Registered => "Registered",
            EventKind::Released => "No longer registered",
            EventKind::CreationChanged => "Registered again",
            EventKind::RegistrarChanged => "Registrar changed",
            EventKind::ExpirationChanged => "Expiration changed",
            EventKind::Renewed => "Renewed",
            EventKind::ExpiresSoon => "Expires soon",
            EventKind::Expired => "Expired",
            EventKind::ModifiedChanged => "Modified date changed",
            EventKind::StatusAdded => "Status flag added",
            EventKind::StatusRemoved => "Status flag removed",
            EventKind::NameserversChanged => "Nameservers changed",
            EventKind::DnssecChanged => "DNSSEC changed",
            EventKind::DnssecStatusChanged => "DNSSEC validation changed",
            EventKind::ProviderChanged => "DNS provider changed",
            EventKind::DelegationHealthChanged => "Nameserver health changed",
            EventKind::RecordChanged => "Record changed",
            EventKind::CertificateChanged => "Certificate changed",
            EventKind::CertificateEnds => "Certificate ends",
            EventKind::OwnershipVerified => "Ownership verified",
            EventKind::OwnershipAtRisk => "Ownership at risk",
            EventKind::OwnershipLost => "Ownership lost",
            EventKind::OwnershipNotProven => "Ownership not proven",
            EventKind::ServiceReady => "Service ready",
            EventKind::ServiceDrifted => "Service drifted",
            EventKind::ServiceRecovered => "Service recovered",
        }
    }

    /// True for what happened to a claim of the organisation to the domain.
    pub fn is_about_ownership(self) -> bool {
        matches!(
            self,
            EventKind::OwnershipVerified
                | EventKind::OwnershipAtRisk
                | EventKind::OwnershipLost
                | EventKind::OwnershipNotProven
        )
    }

    /// True for what time alone makes: nothing differs between two observations.
    pub fn is_reminder(self) -> bool {
        matches!(self, EventKind::ExpiresSoon | EventKind::Expired)
    }

    /// True when the values before and after say more than the headline does.
    pub fn shows_values(self) -> bool {
        !self.is_reminder()
            && !self.is_about_ownership()
            && !matches!(
                self,
                EventKind::StatusAdded
                    | EventKind::StatusRemoved
                    | EventKind::Registered
                    | EventKind::Released
                    | EventKind::CertificateEnds
            )
    }

    /// True for changes of the registration itself: they set *Last Change Detected* and tint the row.
    pub fn is_registration_change(self) -> bool {
        !matches!(
            self,
            EventKind::ExpiresSoon
                | EventKind::Expired
                | EventKind::DnssecStatusChanged
                | EventKind::ProviderChanged
                | EventKind::DelegationHealthChanged
                | EventKind::RecordChanged
                | EventKind::CertificateChanged
                | EventKind::CertificateEnds
                | EventKind::ServiceReady
                | EventKind::ServiceDrifted
                | EventKind::ServiceRecovered
        ) && !self.is_about_ownership()
    }

    /// True for changes of what the zone publishes: they set the row's DNS badge. A server that fails or recovers
    /// is none: the zone is the same.
    pub fn is_dns_change(self) -> bool {
        matches!(self, EventKind::DnssecStatusChanged | EventKind::ProviderChanged | EventKind::RecordChanged)
    }
}

/// One difference between two observations, explained by exactly one field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// What happened.
    pub kind: EventKind,
    /// How bad.
    pub severity: Severity,
    /// The field that differs (`registrar`, `nameservers`, `www A`, ...).
    pub field: String,
    /// Value before, as people read it; `None` when there was none.
    pub old: Option<String>,
    /// Value after.
    pub new: Option<String>,
    /// Who said the new value.
    pub source: String,
    /// What has to be known beside the two values; empty mostly.
    #[serde(default)]
    pub note: String,
    /// When a first look saw it, where it was reported only after a later look had confirmed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_seen_at: Option<Timestamp>,
    /// The status of the domain before the scan that reported it, where that scan changed the status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_before: Option<StatusKind>,
}

impl Change {
    /// The change in a sentence without the domain name.
    pub fn sentence(&self) -> String {
        let headline = self.headline();
        if self.note.is_empty() { headline } else { format!("{headline}. {}", self.note) }
    }

    /// The same without the note.
    pub fn headline(&self) -> String {
        let none = "none";
        let (old, new) = (self.old.as_deref().unwrap_or(none), self.new.as_deref().unwrap_or(none));
        match self.kind {
            kind if kind.is_about_ownership() => new.to_string(),
            EventKind::CertificateEnds => new.to_string(),
            EventKind::CertificateChanged if self.new.is_none() => {
                format!("The certificate of {} is no longer checked", self.field)
            }
            EventKind::CertificateChanged => {
                format!("The certificate of {} went from {old} to {new}", self.field)
            }
            EventKind::StatusAdded => format!("Status flag {new} was set"),
            EventKind::StatusRemoved => format!("Status flag {old} was removed"),
            EventKind::Registered => "The name was registered".to_string(),
            EventKind::Released => "The name is no longer registered".to_string(),
            EventKind::Renewed => format!("Renewed until {}", day(new)),
            EventKind::ExpiresSoon => format!("Registration ends on {}", day(new)),
            EventKind::Expired => format!("Registration ended on {}", day(new)),
            EventKind::DelegationHealthChanged if self.old.is_none() => {
                format!("{}, new among the name servers: {new}", self.field)
            }
            EventKind::DelegationHealthChanged => format!("{} went from {old} to {new}", self.field),
            EventKind::ExpirationChanged if self.field == "registrar_expires" => {
                format!("Expiration at the registrar went from {old} to {new}")
            }
            EventKind::RecordChanged => match (&self.old, &self.new) {
                (None, Some(n)) => format!("{} was added: {n}", self.field),
                (Some(o), None) => format!("{} was removed: {o}", self.field),
                _ => format!("{} went from {old} to {new}", self.field),
            },
            _ => format!("{} went from {old} to {new}", self.kind.label().trim_end_matches(" changed")),
        }
    }

    /// How it was confirmed, in a sentence; `None` where one look was enough.
    pub fn confirmation_sentence(&self) -> Option<String> {
        let first = human_instant(self.first_seen_at?);
        Some(format!("First seen {first}, and confirmed by a later check."))
    }

    /// The note as a sentence with its full stop; `None` where there is none.
    pub fn note_sentence(&self) -> Option<String> {
        let note = self.note.trim_end();
        match note.chars().last()? {
            '.' | '!' | '?' => Some(note.to_string()),
            _ => Some(format!("{note}.")),
        }
    }
}

/// A stated time as people read it; anything else as it is.
fn day(text: &str) -> String {
    text.parse::<StatedTime>().map_or_else(|_| text.to_string(), |t| human_date(t.date()))
}

/// Who acknowledged an event, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acknowledged {
    /// Name of the person.
    pub by: String,
    /// When.
    pub at: Timestamp,
}

/// An entry of an organisation's event log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Identity; also the dedupe key of notifications.
    pub id: EventId,
    /// Whose log.
    pub org: OrgId,
    /// The domain.
    pub domain: DomainName,
    /// When it was detected.
    pub at: Timestamp,
    /// What changed.
    #[serde(flatten)]
    pub change: Change,
    /// Acknowledgement, if any.
    pub acknowledged: Option<Acknowledged>,
    /// Identity of the installation that detected it (`id.k8s.io`); `None` of events from before it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// The set that the installation was a member of (`clusterset.k8s.io`); `None` when of none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clusterset: Option<String>,
    /// Note of the maintenance window during which it was detected: no message about it was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maintenance: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(kind: EventKind, note: &str) -> Change {
        Change {
            kind,
            field: "ownership".into(),
            old: None,
            new: Some("Ownership of a.example was verified".into()),
            severity: Severity::Info,
            source: "TXT".into(),
            note: note.into(),
            first_seen_at: None,
            status_before: None,
        }
    }

    #[test]
    fn a_note_ends_with_one_full_stop() {
        let note = |text| change(EventKind::OwnershipVerified, text).note_sentence();
        assert_eq!(note("Keep the record").as_deref(), Some("Keep the record."));
        assert_eq!(note("Keep the record.").as_deref(), Some("Keep the record."));
        assert_eq!(note(""), None);
    }

    #[test]
    fn what_is_the_headline_is_no_value_beside_it() {
        for kind in EventKind::ALL.into_iter().filter(|k| k.shows_values()) {
            let c = change(kind, "");
            assert_ne!(Some(c.headline()), c.new, "{kind:?}");
        }
    }
}
