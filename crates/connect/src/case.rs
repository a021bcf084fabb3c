//! One application as JSON: the input of the published compliance cases and of `domainscope configure plan --stdin`.

use crate::apply::{Plan, Request, Tracking, apply};
use crate::error::{Error, ErrorKind, Result};
use crate::names;
use crate::record::Record;
use crate::template::Template;
use crate::template_record::TemplateRecord;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Finds the template of a provider and a service, both without regard to case; `None` when there is none.
pub type FindTemplate<'a> = &'a dyn Fn(&str, &str) -> Result<Option<Template>>;

/// Plans one case. `input` holds `zone_records`, `domain`, `host`, `params`, and the records of a template
/// (`template_records`), a whole template (`template`), or the identifiers of one (`provider_id`, `service_id`).
/// Optional: `host_required` (beside bare records), `group_ids`, `multi_aware`, `multi_instance`, `unique_id` (otherwise `new_id` makes one) and
/// `redirect_records` (otherwise loopback addresses stand in for the provider's redirect service). Signatures (`sig`, `key`, `qs`) are not checked: nothing is written to a provider.
///
/// # Errors
/// As [`apply`]; `TypeError` when a member has the wrong JSON type; `InvalidTemplate` when no template is found.
pub fn plan(input: &Value, find: FindTemplate<'_>, new_id: &dyn Fn() -> String) -> Result<Plan> {
    let Value::Object(input) = input else {
        return Err(Error::shape("the input must be a JSON object"));
    };
    let domain = text(input, "domain")?.ok_or_else(|| Error::shape("domain is missing"))?;
    let normal = names::domain(&domain).map_err(|error| error.within("domain"))?;
    let zone = array(input, "zone_records")?;
    let zone: Vec<Record> = zone.iter().map(|r| Record::from_json(r, &normal)).collect::<Result<_>>()?;
    let stand_ins = redirect_stand_ins();
    let redirects = input.get("redirect_records").filter(|records| !records.is_null()).unwrap_or(&stand_ins);
    let mut request = Request {
        domain,
        host: text(input, "host")?.unwrap_or_default(),
        params: params(input)?,
        groups: groups(input)?,
        redirect_records: TemplateRecord::list(redirects)?,
        tracking: None,
    };
    let template = whole_template(input, find)?;
    let identifier = |from: Option<&String>, field: &str| match from {
        Some(id) => Ok(Some(id.clone())),
        None => text(input, field),
    };
    if flag(input, "multi_aware")? {
        request.tracking = Some(Tracking {
            provider_id: identifier(template.as_ref().map(|t| &t.provider_id), "provider_id")?,
            service_id: identifier(template.as_ref().map(|t| &t.service_id), "service_id")?,
            instance_id: text(input, "unique_id")?.unwrap_or_else(new_id),
            multi_instance: match &template {
                Some(template) => template.multi_instance,
                None => flag(input, "multi_instance")?,
            },
        });
    }
    match template {
        Some(template) => template.apply(&zone, &request),
        None => {
            if flag(input, "host_required")? && matches!(request.host.as_str(), "" | "@") {
                return Err(Error::new(
                    ErrorKind::HostRequired,
                    "the template works below a host only; give one",
                ));
            }
            let records = TemplateRecord::list(input.get("template_records").unwrap_or(&Value::Null))?;
            apply(&records, &zone, &request)
        }
    }
}

/// The output for a plan or an error: `{"new", "delete", "records"}`, or `{"error": {"kind", "message"}}`.
pub fn output(result: &Result<Plan>) -> Value {
    match result {
        Ok(plan) => json!(plan),
        Err(error) => json!({ "error": error }),
    }
}

/// Addresses shown for a redirect service that is not known, as in the published cases.
fn redirect_stand_ins() -> Value {
    json!([
        { "type": "A", "pointsTo": "127.0.0.1", "ttl": 600 },
        { "type": "AAAA", "pointsTo": "::1", "ttl": 600 },
    ])
}

/// The template as a whole; `None` when only records are given.
fn whole_template(input: &Map<String, Value>, find: FindTemplate<'_>) -> Result<Option<Template>> {
    if let Some(template) = input.get("template").filter(|template| !template.is_null()) {
        return Template::from_json(template).map(Some);
    }
    if input.get("template_records").is_some_and(|records| !records.is_null()) {
        return Ok(None);
    }
    let (provider, service) = (text(input, "provider_id")?, text(input, "service_id")?);
    let (Some(provider), Some(service)) = (provider, service) else {
        return Err(Error::template("give template_records, a template, or provider_id and service_id"));
    };
    let missing = || Error::template(format!("there is no template {service} of {provider}"));
    find(&provider, &service)?.ok_or_else(missing).map(Some)
}

fn text(input: &Map<String, Value>, member: &str) -> Result<Option<String>> {
    match input.get(member) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(Value::Number(number)) => Ok(Some(number.to_string())),
        Some(_) => Err(Error::shape(format!("{member} must be a string"))),
    }
}

fn flag(input: &Map<String, Value>, member: &str) -> Result<bool> {
    match input.get(member) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(Error::shape(format!("{member} must be true or false"))),
    }
}

fn array<'a>(input: &'a Map<String, Value>, member: &str) -> Result<&'a [Value]> {
    match input.get(member) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(values)) => Ok(values),
        Some(_) => Err(Error::shape(format!("{member} must be an array"))),
    }
}

/// Values are strings whatever their JSON type (draft section 9.2.1); `null` is a value that was not supplied.
fn params(input: &Map<String, Value>) -> Result<BTreeMap<String, String>> {
    let object = match input.get("params") {
        None | Some(Value::Null) => return Ok(BTreeMap::new()),
        Some(Value::Object(object)) => object,
        Some(_) => return Err(Error::shape("params must be an object")),
    };
    let mut params = BTreeMap::new();
    for (name, value) in object {
        let value = match value {
            Value::Null => continue,
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Bool(flag) => flag.to_string(),
            _ => return Err(Error::shape(format!("the parameter {name} must be a string"))),
        };
        params.insert(name.clone(), value);
    }
    Ok(params)
}

/// An array of names, or names separated by commas as in an apply URL.
fn groups(input: &Map<String, Value>) -> Result<Vec<String>> {
    match input.get("group_ids") {
        Some(Value::String(names)) => {
            Ok(names.split(',').map(str::trim).filter(|name| !name.is_empty()).map(String::from).collect())
        }
        _ => {
            let names = array(input, "group_ids")?.iter().map(|name| match name {
                Value::String(name) => Ok(name.clone()),
                Value::Number(number) => Ok(number.to_string()),
                _ => Err(Error::shape("group_ids must hold names")),
            });
            names.collect()
        }
    }
}
