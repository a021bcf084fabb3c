//! What clients send.

use super::words;
use jiff::civil::Date;
use model::Timestamp;
use model::item::{ItemPatch, Ownership};
use serde::{Deserialize, Deserializer};
use utoipa::{IntoParams, ToSchema};

/// Names to add: a list, or a pasted text.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddRequest {
    /// The names.
    #[serde(default)]
    pub names: Vec<String>,
    /// Read when `names` is empty: lines, commas, URLs, CSV with a header.
    #[serde(default)]
    pub text: String,
    /// `owned` (default) or `watched`.
    #[serde(default)]
    #[schema(schema_with = words::ownership)]
    pub ownership: Ownership,
    /// Tags of all of them.
    #[serde(default)]
    pub tags: Vec<String>,
}

impl AddRequest {
    /// The text to add.
    pub fn text(&self) -> String {
        if self.names.is_empty() { self.text.clone() } else { self.names.join("\n") }
    }
}

/// Changes to a domain. A field that is absent stays; one that is `null` is cleared.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct PatchRequest {
    #[schema(schema_with = words::ownership_or_null)]
    ownership: Option<Ownership>,
    tags: Option<Vec<String>>,
    note: Option<String>,
    #[serde(deserialize_with = "present")]
    #[schema(value_type = Option<String>, format = Date)]
    manual_expires: Option<Option<Date>>,
    #[serde(deserialize_with = "present")]
    #[schema(value_type = Option<bool>)]
    auto_renew: Option<Option<bool>>,
    #[serde(deserialize_with = "present")]
    #[schema(value_type = Option<String>, format = DateTime)]
    muted_until: Option<Option<Timestamp>>,
    /// Seconds between two scheduled scans, from 300 to 604800; `null` follows the organisation.
    #[serde(deserialize_with = "present")]
    #[schema(value_type = Option<i64>, minimum = 300, maximum = 604_800)]
    scan_interval: Option<Option<i64>>,
    /// Days before an expiration at which reminders come; `null` follows the organisation.
    #[serde(deserialize_with = "present")]
    #[schema(value_type = Option<Vec<i64>>)]
    expiry_days: Option<Option<Vec<i64>>>,
}

/// A field that is present, null or not.
pub(in crate::http::api) fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    field: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(field).map(Some)
}

impl From<PatchRequest> for ItemPatch {
    fn from(p: PatchRequest) -> Self {
        ItemPatch {
            ownership: p.ownership,
            tags: p.tags,
            note: p.note,
            manual_expires: p.manual_expires,
            auto_renew: p.auto_renew,
            muted_until: p.muted_until,
            scan_interval: p.scan_interval,
            expiry_days: p.expiry_days,
        }
    }
}

/// Filters, order and page of the inventory. A filter that can't be read is left out, so that an old link still opens.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "describes the query, which `model::inventory` reads")]
pub struct ListParameters {
    /// Part of a name, tag, registrar or provider.
    q: Option<String>,
    /// Kinds of status, separated by commas.
    status: Option<String>,
    /// Registrar; may be repeated.
    registrar: Option<String>,
    /// DNS provider; may be repeated.
    provider: Option<String>,
    /// Tag; may be repeated.
    tag: Option<String>,
    /// `owned` or `watched`.
    #[param(schema_with = words::ownership)]
    ownership: Option<String>,
    /// `30d` (within 30 days or past), `next-30d`, `expired`, `unknown`, or two dates as `2027-01-01..2027-03-01`.
    expires: Option<String>,
    /// Changed within, as `7d`.
    changed: Option<String>,
    /// DNS changed within, as `7d`.
    dns_changed: Option<String>,
    /// End of the certificate: `soon` (within 14 days or past), `30d`, `ended`, or `none` for none seen.
    certificate: Option<String>,
    /// `name`, `expiration`, `registrar`, `provider`, `status`, `change` or `certificate`; with `-` in front descending.
    sort: Option<String>,
    /// Page, from 1.
    page: Option<u32>,
    /// Rows of a page, 1 to 500; 50 unless given.
    per_page: Option<u32>,
}

/// Filters and page of the event log. A filter that can't be read is left out, so that an old link still opens.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "describes the query, which `model::event` reads")]
pub struct EventParameters {
    /// Events of this domain only.
    domain: Option<String>,
    /// Part of a domain name, of a field, of a value, of the source or of the note.
    q: Option<String>,
    /// Kinds of events, separated by commas.
    kind: Option<String>,
    /// At least this severe.
    #[param(schema_with = words::severity)]
    severity: Option<String>,
    /// `1` or `true`: only events that were not acknowledged.
    open: Option<String>,
    /// Tag that the domain has now; may be repeated: any of these.
    tag: Option<String>,
    /// `owned` or `watched`: what the domain is now.
    #[param(schema_with = words::ownership)]
    ownership: Option<String>,
    /// Detected in so many days before now, as `7d`.
    last: Option<String>,
    /// Detected on this day (UTC) or later, or an instant.
    from: Option<String>,
    /// Detected on this day (UTC) or earlier; or before an instant.
    to: Option<String>,
    /// `failed`: only events with a message that was given up.
    delivery: Option<String>,
    /// Page, from 1.
    page: Option<u32>,
    /// Events of a page, 1 to 200; 50 unless given.
    per_page: Option<u32>,
}

/// What is compared.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "describes the part of the query that has no meaning for a page alone")]
pub struct CompareParameters {
    /// Host name.
    name: String,
    /// Record type; `A` unless given.
    r#type: Option<String>,
    /// `true`: ask the resolvers even about what the authoritative servers deny.
    force: Option<bool>,
}

/// Query of `GET /api/v1/check`.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "describes the query, which the handler reads by itself")]
pub struct CheckParameters {
    /// Zone.
    zone: String,
    /// Servers that it is about to move to, separated by commas: `name` or `name/address`.
    ns: Option<String>,
    /// DS records of the move, separated by spaces: `keytag,algorithm,type,digest`.
    ds: Option<String>,
}

/// Query of `GET /api/v1/trace`.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "describes the query, which the handler reads by itself")]
pub struct TraceParameters {
    /// Host name.
    name: String,
    /// Record type; `A` unless given.
    r#type: Option<String>,
}
