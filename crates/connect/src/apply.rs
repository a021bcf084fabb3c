//! Applying a template to a zone, and taking it out again (draft section 10): what to create and what to delete.

use crate::conflict;
use crate::draft::{Draft, is_plain, like, spf_of, tracked};
use crate::error::{Error, ErrorKind, Result};
use crate::names;
use crate::record::{Owner, Record};
use crate::render::{Rendered, Source, render};
use crate::template::Template;
use crate::template_record::TemplateRecord;
use crate::variables::Scope;
use serde::Serialize;
use std::collections::BTreeMap;

/// Where and with which values a template is applied.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Zone apex.
    pub domain: String,
    /// Host below the apex; empty or `@` for the apex itself.
    pub host: String,
    /// Values of the variables.
    pub params: BTreeMap<String, String>,
    /// Groups to apply; none: the whole template.
    pub groups: Vec<String>,
    /// Address records (`type`, `pointsTo`, `ttl`) of the provider's redirect service, for REDIR301 and REDIR302.
    pub redirect_records: Vec<TemplateRecord>,
    /// Set when the zone remembers which template wrote which record (`_dc`).
    pub tracking: Option<Tracking>,
}

/// The application of a template, for a zone that remembers templates.
#[derive(Debug, Clone)]
pub struct Tracking {
    /// Service provider of the template.
    pub provider_id: Option<String>,
    /// Service of the template.
    pub service_id: Option<String>,
    /// Identifier of this application, unique in the zone.
    pub instance_id: String,
    /// A further application keeps the earlier ones.
    pub multi_instance: bool,
}

/// What applying a template comes to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// Records to create.
    pub new: Vec<Record>,
    /// Records of the zone to delete.
    pub delete: Vec<Record>,
    /// The zone afterwards.
    pub records: Vec<Record>,
    /// What is allowed but likely to be wrong, in sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl Plan {
    /// Whether the zone is right already.
    pub fn is_empty(&self) -> bool {
        self.new.is_empty() && self.delete.is_empty()
    }
}

impl Template {
    /// Applies the template: [`apply`] with the rules of the template as a whole.
    ///
    /// # Errors
    /// `HostRequired` when the template works below a host only, and those of [`apply`].
    pub fn apply(&self, zone: &[Record], request: &Request) -> Result<Plan> {
        if self.host_required && matches!(request.host.as_str(), "" | "@") {
            let message = format!("the template {} works below a host only; give one", self.service_id);
            return Err(Error::new(ErrorKind::HostRequired, message));
        }
        apply(&self.records, zone, request)
    }
}

/// Applies the records of a template to a zone whose records are in normal form.
///
/// # Errors
/// `MissingParameter`, `InvalidData`, `InvalidTemplate` or `TypeError` of the first record that cannot be rendered,
/// and `InvalidData` when the records exclude each other.
pub fn apply(template: &[TemplateRecord], zone: &[Record], request: &Request) -> Result<Plan> {
    let domain = names::domain(&request.domain).map_err(|error| error.within("domain"))?;
    let host = names::host(&request.host, &domain).map_err(|error| error.within("host"))?;
    let rendered = render_all(template, &domain, &host, request)?;
    conflict::check_among(&rendered)?;
    let owner = request.tracking.as_ref().map(|tracking| tracking.owner(&host));
    let mut draft = Draft::new(zone);
    if let (Some(tracking), Some(owner)) = (&request.tracking, &owner) {
        draft.drop_earlier_instance(&rendered, tracking, owner, !request.groups.is_empty());
    }
    draft.drop_conflicts(&rendered, owner.as_ref(), !request.groups.is_empty());
    for new in rendered.iter().filter(|new| new.source != Source::SpfMerge) {
        draft.add(tracked(new, request));
    }
    for new in rendered.iter().filter(|new| new.source == Source::SpfMerge) {
        draft.merge_spf(new, owner.as_ref(), request)?;
    }
    Ok(draft.finish())
}

/// Takes the records of a template out of a zone: those that `_dc` says it wrote if the zone remembers templates,
/// else those that are exactly what the template would write. SPF rules are taken out of the SPF record, which stays
/// as long as it holds others.
///
/// # Errors
/// As [`apply`].
pub fn remove(template: &[TemplateRecord], zone: &[Record], request: &Request) -> Result<Plan> {
    let domain = names::domain(&request.domain).map_err(|error| error.within("domain"))?;
    let host = names::host(&request.host, &domain).map_err(|error| error.within("host"))?;
    let rendered = render_all(template, &domain, &host, request)?;
    let owner = request.tracking.as_ref().map(|tracking| tracking.owner(&host));
    let mut draft = Draft::new(zone);
    for (index, record) in zone.iter().enumerate() {
        draft.gone[index] = match &owner {
            Some(owner) => is_plain(record) && Owner::of(record).is_some_and(|o| o.is_same_template(owner)),
            None => {
                rendered.iter().any(|new| new.source != Source::SpfMerge && new.record.is_same_as(record))
            }
        };
    }
    for (index, record) in zone.iter().enumerate() {
        let Some(mut spf) = spf_of(record).filter(|_| !draft.gone[index]) else { continue };
        let before = spf.clone();
        let rules = rendered.iter().filter(|n| n.source == Source::SpfMerge && n.record.name == record.name);
        rules.for_each(|rules| spf.remove(&rules.record.data));
        if spf == before {
            continue;
        }
        draft.gone[index] = true;
        if !spf.is_empty() {
            draft.new.push(Record { data: like(&record.data, spf.to_string()), ..record.clone() });
        }
    }
    Ok(draft.finish())
}

fn render_all(
    template: &[TemplateRecord],
    domain: &str,
    host: &str,
    request: &Request,
) -> Result<Vec<Rendered>> {
    let scope = Scope { domain, host, params: &request.params };
    let mut all = Vec::new();
    for record in template.iter().filter(|record| record.is_active(&request.groups)) {
        all.extend(render(record, &request.redirect_records, &scope)?);
    }
    Ok(all)
}

impl Tracking {
    fn owner(&self, host: &str) -> Owner {
        Owner {
            id: Some(self.instance_id.clone()),
            provider: self.provider_id.as_deref().map(str::to_lowercase),
            service: self.service_id.as_deref().map(str::to_lowercase),
            host: host.to_string(),
            is_essential: true,
        }
    }
}
