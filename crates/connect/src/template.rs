//! Templates: reading, and checks against the published JSON schema and the specification (draft section 6).

use crate::error::{Error, Result};
use crate::template_record::{TemplateRecord, check_critical};
use crate::variables;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// The template format this crate implements (`templateSpecVersion`).
const SPEC_VERSION: u64 = 1;

/// A template: who offers which service, and the records it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// Identifier of the service provider, by convention a domain name.
    pub provider_id: String,
    /// Name of the service provider.
    pub provider_name: String,
    /// Identifier of the service within the provider.
    pub service_id: String,
    /// Name of the service.
    pub service_name: String,
    /// Version, informational.
    pub version: Option<u64>,
    /// What the template does, for developers.
    pub description: Option<String>,
    /// What the variables mean, for developers.
    pub variable_description: Option<String>,
    /// The template works below a host only, not at the zone apex.
    pub host_required: bool,
    /// The template may be applied several times to one host.
    pub multi_instance: bool,
    /// The synchronous flow is refused.
    pub sync_block: bool,
    /// Domain under which the key that signs apply requests is published; set: requests must be signed.
    pub sync_pub_key_domain: Option<String>,
    /// Domains to which the provider may send the user back, comma-separated.
    pub sync_redirect_domain: Option<String>,
    /// The caller may add a provider name to show.
    pub shared_provider_name: bool,
    /// The caller may add a service name to show.
    pub shared_service_name: bool,
    /// The records.
    pub records: Vec<TemplateRecord>,
}

impl Template {
    /// Reads and checks a template.
    ///
    /// # Errors
    /// `InvalidTemplate`, naming the property and the rule.
    pub fn from_json(value: &Value) -> Result<Self> {
        let Value::Object(object) = value else {
            return Err(Error::template("a template must be a JSON object"));
        };
        check_critical(object, PROPERTIES, "the template")?;
        let spec = object.get("templateSpecVersion").filter(|v| !v.is_null());
        if spec.is_some_and(|version| version.as_u64() != Some(SPEC_VERSION)) {
            return Err(Error::template("templateSpecVersion is not 1, the version this program knows"));
        }
        let records = match object.get("records") {
            Some(records @ Value::Array(_)) => TemplateRecord::list(records)?,
            _ => return Err(Error::template("records must be an array")),
        };
        let version = match object.get("version") {
            None | Some(Value::Null) => None,
            Some(version) => {
                Some(version.as_u64().ok_or_else(|| Error::template("version must be a whole number"))?)
            }
        };
        let template = Self {
            provider_id: identifier(object, "providerId")?,
            provider_name: required(object, "providerName")?,
            service_id: identifier(object, "serviceId")?,
            service_name: required(object, "serviceName")?,
            version,
            description: optional(object, "description")?,
            variable_description: optional(object, "variableDescription")?,
            host_required: flag(object, "hostRequired")?,
            multi_instance: flag(object, "multiInstance")?,
            sync_block: flag(object, "syncBlock")?,
            sync_pub_key_domain: optional(object, "syncPubKeyDomain")?.filter(|domain| !domain.is_empty()),
            sync_redirect_domain: optional(object, "syncRedirectDomain")?.filter(|domain| !domain.is_empty()),
            shared_provider_name: flag(object, "sharedProviderName")? || flag(object, "shared")?,
            shared_service_name: flag(object, "sharedServiceName")?,
            records,
        };
        template.check_records()?;
        Ok(template)
    }

    /// Checks each record without rendering it: type, fields, options, and that nothing is put at the apex that
    /// cannot be there.
    fn check_records(&self) -> Result<()> {
        for (index, record) in self.records.iter().enumerate() {
            let place = format!("record {}", index + 1);
            record.check().map_err(|error| Error::template(error.message).within(&place))?;
            let kind = record.kind().unwrap_or_default();
            let at_apex = matches!(record.0.get("host").and_then(Value::as_str), Some("@" | ""));
            if at_apex && matches!(kind.as_str(), "CNAME" | "NS") && !self.host_required {
                return Err(Error::template(format!(
                    "{place}: {kind} at {:?} needs hostRequired, because it cannot be at the zone apex",
                    "@"
                )));
            }
        }
        Ok(())
    }

    /// Variables a caller must supply, sorted; the built-in ones are not among them. `groups` as in
    /// [`crate::Request::groups`].
    pub fn variables(&self, groups: &[String]) -> BTreeSet<String> {
        let active = self.records.iter().filter(|record| record.is_active(groups));
        let texts = active.flat_map(|record| record.0.values().filter_map(Value::as_str));
        texts
            .flat_map(variables::names)
            .filter(|name| !variables::BUILT_IN.iter().any(|known| known.eq_ignore_ascii_case(name)))
            .map(String::from)
            .collect()
    }

    /// Group names of the records, sorted.
    pub fn groups(&self) -> BTreeSet<&str> {
        self.records.iter().filter_map(TemplateRecord::group).collect()
    }
}

const PROPERTIES: &[&str] = &[
    "providerId",
    "providerName",
    "serviceId",
    "serviceName",
    "version",
    "templateSpecVersion",
    "logoUrl",
    "description",
    "variableDescription",
    "syncBlock",
    "shared",
    "sharedProviderName",
    "sharedServiceName",
    "syncPubKeyDomain",
    "syncRedirectDomain",
    "multiInstance",
    "warnPhishing",
    "hostRequired",
    "records",
    "crit",
];
fn optional(object: &Map<String, Value>, property: &str) -> Result<Option<String>> {
    match object.get(property) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(Error::template(format!("{property} must be a string"))),
    }
}

fn required(object: &Map<String, Value>, property: &str) -> Result<String> {
    optional(object, property)?.ok_or_else(|| Error::template(format!("{property} is missing")))
}

/// An identifier is part of URLs and of file names (`dc-id`).
fn identifier(object: &Map<String, Value>, property: &str) -> Result<String> {
    let id = required(object, property)?;
    let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    if id.is_empty() || id.len() > 63 || !id.bytes().all(fits) {
        return Err(Error::template(format!(
            "{property} {id:?} must be 1 to 63 letters, digits, hyphens, underscores or dots"
        )));
    }
    Ok(id)
}

fn flag(object: &Map<String, Value>, property: &str) -> Result<bool> {
    match object.get(property) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(Error::template(format!("{property} must be true or false"))),
    }
}
