//! Services of a domain, and documents that travel as the command line prints them.

use super::words;
use model::Timestamp;
use model::configure::{
    ServiceKind, ServiceReport, ServiceSpec, ServiceState, StoredService, StoredTemplate,
};
use serde::{Deserialize, Serialize};
use service::{ConnectRequest, CreatedLink, TemplateDraft};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A service as it is described: kind, host and the values of its fields.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = ServiceSpec)]
pub struct ServiceSpecV1 {
    #[schema(schema_with = words::service)]
    service: ServiceKind,
    /// Host below the domain; empty: the domain itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    host: String,
    /// Values of the fields that the kind has (`domainscope configure --help` lists them).
    #[serde(default)]
    values: BTreeMap<String, String>,
}

impl From<ServiceSpecV1> for ServiceSpec {
    fn from(s: ServiceSpecV1) -> Self {
        ServiceSpec { service: s.service, host: s.host, values: s.values }
    }
}

impl From<ServiceSpec> for ServiceSpecV1 {
    fn from(s: ServiceSpec) -> Self {
        ServiceSpecV1 { service: s.service, host: s.host, values: s.values }
    }
}

/// A kept service, and how it stood last.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Service)]
pub struct ServiceV1 {
    id: String,
    domain: String,
    spec: ServiceSpecV1,
    title: String,
    /// `working`, `partial`, `not_set_up`, `drifted` or `unknown`.
    #[schema(value_type = String)]
    state: ServiceState,
    /// Records that were as expected.
    present: u32,
    /// Expected records; 0 before the first check.
    total: u32,
    /// The verdict of the last check.
    sentence: String,
    /// Why the last check came to nothing; the rest is from the check before.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(required = false)]
    error: String,
    /// When it was last seen working.
    worked_at: Option<Timestamp>,
    /// Checks since then that did not see it working.
    misses: u32,
    checked_at: Option<Timestamp>,
    created_at: Timestamp,
}

impl From<StoredService> for ServiceV1 {
    fn from(s: StoredService) -> Self {
        ServiceV1 {
            id: s.id,
            domain: s.domain,
            spec: s.spec.into(),
            title: s.title,
            state: s.state,
            present: s.present,
            total: s.total,
            sentence: s.sentence,
            error: s.error,
            worked_at: s.worked_at,
            misses: s.misses,
            checked_at: s.checked_at,
            created_at: s.created_at,
        }
    }
}

/// A link for a person without an account.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkRequest {
    /// In whose name the page speaks.
    brand: String,
    /// Accent colour, `#rrggbb`; empty: the product's.
    #[serde(default)]
    accent: String,
    /// Mailbox or https address of help; empty: none.
    #[serde(default)]
    help: String,
    /// Days the link works; 7 unless given.
    days: Option<u32>,
}

impl LinkRequest {
    /// The same for a service.
    pub fn of(self, service: String) -> ConnectRequest {
        let LinkRequest { brand, accent, help, days } = self;
        ConnectRequest { service, brand, accent, help, days: days.unwrap_or(7) }
    }
}

/// A template to save: its text, or the URL where it is, one of the two.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct TemplateRequest {
    /// The JSON text.
    json: String,
    /// An http or https URL.
    url: String,
}

impl From<TemplateRequest> for TemplateDraft {
    fn from(r: TemplateRequest) -> Self {
        TemplateDraft { json: r.json, url: r.url }
    }
}

/// A Domain Connect template that the organisation keeps. `PROVIDER/SERVICE` can stand in the place of its text in the
/// field `template` of a service.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Template)]
pub struct TemplateV1 {
    provider_id: String,
    service_id: String,
    provider_name: String,
    service_name: String,
    version: Option<u64>,
    /// Variables that need a value.
    variables: Vec<String>,
    groups: Vec<String>,
    /// Where it was read; empty: its text was given.
    url: String,
    saved_by: String,
    saved_at: Timestamp,
    /// The JSON text.
    json: String,
}

impl From<StoredTemplate> for TemplateV1 {
    fn from(t: StoredTemplate) -> Self {
        TemplateV1 {
            provider_id: t.provider_id,
            service_id: t.service_id,
            provider_name: t.provider_name,
            service_name: t.service_name,
            version: t.version,
            variables: t.variables,
            groups: t.groups,
            url: t.url,
            saved_by: t.saved_by,
            saved_at: t.saved_at,
            json: t.json,
        }
    }
}

/// A link that was made.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Link)]
pub struct LinkV1 {
    /// Path on this server. It holds the secret and is shown once.
    path: String,
    expires_at: Timestamp,
}

impl From<CreatedLink> for LinkV1 {
    fn from(l: CreatedLink) -> Self {
        LinkV1 { path: l.path, expires_at: l.expires_at }
    }
}

/// Expected against live records, and the plan: the document that `configure --json` prints.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ServiceReport, value_type = Object)]
#[serde(transparent)]
pub struct ServiceReportV1(pub ServiceReport);

/// Authoritative servers beside resolvers: the document that `compare --json` prints.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Comparison, value_type = Object)]
#[serde(transparent)]
pub struct ComparisonV1(pub model::compare::Comparison);

/// Registration and DNS of a domain, read now: name, observation with each part's time and source, raw answers.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ScanReport, value_type = Object)]
#[serde(transparent)]
pub struct ScanReportV1(pub service::ScanReport);

/// The health checks of a zone: findings with level, tag and sentence, and the test cases that were made.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CheckReport, value_type = Object)]
#[serde(transparent)]
pub struct CheckReportV1(pub service::CheckOutcome);

/// A trace from the root: the document that `trace --json` prints.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Trace, value_type = Object)]
#[serde(transparent)]
pub struct TraceV1(pub model::dns::Trace);

/// A host name from every vantage point: the document that `fqdn --json` prints.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = FqdnReport, value_type = Object)]
#[serde(transparent)]
pub struct FqdnReportV1(pub model::fqdn::FqdnReport);
