//! The provider's side of Domain Connect (draft-ietf-dconn-domainconnect): settings, template query, and the page on which
//! a user applies a template to the lab's zone. In: a request to the provider's host. Out: JSON or a page; after a
//! confirmed POST the zone has the records. Simple on purpose: A, AAAA, CNAME, TXT and MX, variables, no groups.

use crate::{
    Error,
    command::Command,
    http::{self, Body, whole},
    lab::Shared,
    scenario::{DomainConnect, Web},
};
use hyper::{
    Method, Request, Response, StatusCode,
    body::Incoming,
    header::{self, HeaderValue},
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::PoisonError;

const JSON: &str = "application/json";
const HTML: &str = "text/html; charset=utf-8";

/// Label of the record that says where the provider's settings are.
pub(crate) const LABEL: &str = "_domainconnect";

/// A page with a status.
fn page(status: StatusCode, text: &str) -> Response<Body> {
    http::response(
        status,
        HTML,
        whole(format!("<!doctype html><title>Domain Connect</title><p>{text}</p>\n")),
    )
}

fn shown(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Answers one request to the provider's host.
pub(crate) fn answer(
    shared: &Shared,
    site: &Web,
    provider: &DomainConnect,
    request: &Request<Incoming>,
) -> Response<Body> {
    let path = request.uri().path().trim_matches('/').to_owned();
    let parts: Vec<&str> = path.split('/').collect();
    match parts.as_slice() {
        ["v2", domain, "settings"] => settings(shared, site, provider, domain),
        ["v2", "domainTemplates", "providers", id, "services", service, rest @ ..] => {
            let Some(template) = template(provider, id, service) else {
                return page(StatusCode::NOT_FOUND, "this provider does not know the template");
            };
            match rest {
                [] => http::response(StatusCode::OK, JSON, whole(template.to_string())),
                ["apply"] => apply(shared, &template, request),
                _ => page(StatusCode::NOT_FOUND, "no such page"),
            }
        }
        _ => page(StatusCode::NOT_FOUND, "no such page"),
    }
}

fn settings(shared: &Shared, site: &Web, provider: &DomainConnect, domain: &str) -> Response<Body> {
    let world = shared.world.read().unwrap_or_else(PoisonError::into_inner);
    let Some(held) = world.domains.get(domain) else {
        return page(StatusCode::NOT_FOUND, "this provider does not host the domain");
    };
    let url = format!("https://{}:{}", site.host, world.https_port);
    let document = json!({
        "providerId": provider.id, "providerName": provider.name,
        "urlSyncUX": url, "urlAPI": url, "nameServers": held.nameservers,
    });
    http::response(StatusCode::OK, JSON, whole(document.to_string()))
}

fn template(provider: &DomainConnect, id: &str, service: &str) -> Option<Value> {
    let all = provider.templates.iter().filter_map(|text| serde_json::from_str::<Value>(text).ok());
    all.into_iter().find(|t| t["providerId"] == id && t["serviceId"] == service)
}

fn apply(shared: &Shared, template: &Value, request: &Request<Incoming>) -> Response<Body> {
    let query = request.uri().query().unwrap_or_default();
    let values: BTreeMap<String, String> =
        url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    if template["syncPubKeyDomain"].is_string() && !(values.contains_key("sig") && values.contains_key("key"))
    {
        return page(StatusCode::FORBIDDEN, "requests for this template must be signed");
    }
    let commands = match commands(template, &values) {
        Ok(commands) => commands,
        Err(reason) => return page(StatusCode::BAD_REQUEST, &shown(&reason)),
    };
    if *request.method() != Method::POST {
        let list: String =
            commands.iter().map(|c| format!("<li>{}</li>", shown(&format!("{c:?}")))).collect();
        let text = format!(
            "Apply these changes?</p><ul>{list}</ul><form method=\"post\"><button>Apply</button></form><p>"
        );
        return page(StatusCode::OK, &text);
    }
    for command in commands {
        // A record that is not there need not be removed.
        let is_removal = matches!(command, Command::RemoveRecord { .. });
        match shared.apply(command) {
            Err(Error::Command(reason)) if !is_removal => {
                return page(StatusCode::BAD_REQUEST, &shown(&reason));
            }
            _ => {}
        }
    }
    let back = values.get("redirect_uri").and_then(|to| HeaderValue::from_str(to).ok());
    let mut response = page(StatusCode::OK, "Applied.");
    if let Some(location) = back.filter(|_| template["syncRedirectDomain"].is_string()) {
        *response.status_mut() = StatusCode::FOUND;
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

/// What applying the template comes to.
fn commands(template: &Value, values: &BTreeMap<String, String>) -> Result<Vec<Command>, String> {
    let value = |name: &str| values.get(name).map(String::as_str).unwrap_or_default();
    let domain = value("domain");
    if domain.is_empty() {
        return Err("the parameter domain is missing".into());
    }
    let host = value("host");
    let place = if host.is_empty() { domain.to_owned() } else { format!("{host}.{domain}") };
    let filled = |text: &str| -> Result<String, String> {
        let mut out = String::new();
        for (i, part) in text.split('%').enumerate() {
            match (i % 2, part) {
                (0, _) => out.push_str(part),
                (_, "domain") => out.push_str(domain),
                (_, "host") => out.push_str(host),
                (_, "fqdn") => out.push_str(&place),
                (_, name) => {
                    out.push_str(values.get(name).ok_or_else(|| format!("the variable {name} is missing"))?);
                }
            }
        }
        Ok(out)
    };
    let (mut removals, mut additions) = (Vec::new(), Vec::new());
    for record in template["records"].as_array().into_iter().flatten() {
        let text = |field: &str| filled(record[field].as_str().unwrap_or_default());
        let rtype = record["type"].as_str().unwrap_or_default().to_uppercase();
        let label = text("host")?;
        let name =
            if matches!(label.as_str(), "" | "@") { place.clone() } else { format!("{label}.{place}") };
        let data = match rtype.as_str() {
            "A" | "AAAA" => text("pointsTo")?,
            "CNAME" => format!("{}.", text("pointsTo")?.trim_end_matches('.')),
            "MX" => format!(
                "{} {}.",
                record["priority"].as_u64().unwrap_or(10),
                text("pointsTo")?.trim_end_matches('.')
            ),
            "TXT" => format!("\"{}\"", text("data")?.replace('\\', "\\\\").replace('"', "\\\"")),
            other => return Err(format!("this provider cannot create {other} records from a template")),
        };
        let replaced: &[&str] = match rtype.as_str() {
            "CNAME" => &["A", "AAAA", "CNAME", "TXT", "MX"],
            "A" | "AAAA" => &["A", "AAAA", "CNAME"],
            "MX" => &["MX", "CNAME"],
            _ => &["CNAME"],
        };
        for gone in replaced {
            removals.push(Command::RemoveRecord { name: name.clone(), rtype: (*gone).into(), data: None });
        }
        let ttl = record["ttl"].as_u64().and_then(|t| u32::try_from(t).ok()).unwrap_or(3600);
        additions.push(Command::AddRecord { name, rtype, ttl, data });
    }
    removals.extend(additions);
    Ok(removals)
}
