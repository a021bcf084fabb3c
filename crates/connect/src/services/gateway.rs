//! Kubernetes Gateway API objects (`Gateway`, `HTTPRoute`) in YAML: which host names they serve, at which addresses.

use super::{Capabilities, WebGateway};
use crate::error::{Error, Result};
use crate::template_record::TemplateRecord;
use serde_json::Value;
use std::collections::BTreeSet;
use std::net::IpAddr;

/// Largest text that is read, in bytes.
const MAX_TEXT: usize = 1 << 20;

/// One gateway and the names it serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gateways {
    /// `namespace/name`.
    pub gateway: String,
    /// Host names, lower case, sorted; wildcards as `*.example.com`.
    pub host_names: Vec<String>,
    /// Host name of the gateway (status address of type `Hostname`).
    pub target: Option<String>,
    /// Addresses of the gateway (type `IPAddress`).
    pub addresses: Vec<IpAddr>,
}

/// Reads gateways and routes from YAML with one or more documents; lists (`kind: List`) are opened, other kinds skipped.
///
/// # Errors
/// `TypeError` when the text is not YAML, is too long, or holds no Gateway.
pub fn gateways(text: &str) -> Result<Vec<Gateways>> {
    if text.len() > MAX_TEXT {
        return Err(Error::shape("the text is longer than 1 MiB"));
    }
    let documents: Vec<Value> =
        serde_saphyr::from_multiple(text).map_err(|e| Error::shape(format!("the text is not YAML: {e}")))?;
    let objects: Vec<&Value> = documents
        .iter()
        .flat_map(|document| match document["items"].as_array() {
            Some(items) => items.iter().collect(),
            None => vec![document],
        })
        .filter(|object| {
            object["apiVersion"].as_str().is_some_and(|v| v.starts_with("gateway.networking.k8s.io/"))
        })
        .collect();
    let of_kind = |kind: &'static str| objects.iter().copied().filter(move |object| object["kind"] == kind);
    let found: Vec<Gateways> =
        of_kind("Gateway").map(|gateway| read(gateway, &of_kind("HTTPRoute").collect::<Vec<_>>())).collect();
    if found.is_empty() {
        return Err(Error::shape("the text holds no Gateway of gateway.networking.k8s.io"));
    }
    Ok(found)
}

fn read(gateway: &Value, routes: &[&Value]) -> Gateways {
    let (namespace, name) = identity(gateway);
    let mut names = BTreeSet::new();
    for listener in list(&gateway["spec"]["listeners"]) {
        let own = text(&listener["hostname"]);
        let attached: Vec<&&Value> =
            routes.iter().filter(|route| attaches(route, &namespace, &name, listener)).collect();
        if attached.is_empty() {
            names.extend(own.clone());
        }
        for route in attached {
            let hosts: Vec<String> = list(&route["spec"]["hostnames"]).iter().filter_map(text).collect();
            match &own {
                Some(own) if hosts.is_empty() => names.extend([own.clone()]),
                Some(own) => names.extend(hosts.iter().filter_map(|host| narrower(own, host))),
                None => names.extend(hosts),
            }
        }
    }
    let addresses = list(&gateway["status"]["addresses"]);
    // Without a type an address is an IP address (Gateway API, GatewayStatusAddress).
    let of_type = |kind: &'static str| {
        addresses
            .iter()
            .filter(move |a| a["type"].as_str().unwrap_or("IPAddress") == kind)
            .filter_map(|a| text(&a["value"]))
    };
    Gateways {
        gateway: format!("{namespace}/{name}"),
        host_names: names.into_iter().collect(),
        target: of_type("Hostname").next(),
        addresses: of_type("IPAddress").filter_map(|address| address.parse().ok()).collect(),
    }
}

/// Whether a route names this gateway (and this listener, if it names one) as its parent.
fn attaches(route: &Value, namespace: &str, name: &str, listener: &Value) -> bool {
    let own = identity(route).0;
    list(&route["spec"]["parentRefs"]).iter().any(|parent| {
        let section = parent["sectionName"].as_str();
        parent["kind"].as_str().unwrap_or("Gateway") == "Gateway"
            && parent["name"] == name
            && parent["namespace"].as_str().unwrap_or(&own) == namespace
            && section.is_none_or(|section| listener["name"] == section)
    })
}

/// The names that both a listener and a route allow: the more specific, if one is inside the other.
fn narrower(listener: &str, route: &str) -> Option<String> {
    let covers = |wide: &str, name: &str| {
        wide == name
            || wide
                .strip_prefix('*')
                .is_some_and(|suffix| name.len() > suffix.len() && name.ends_with(suffix))
    };
    if covers(listener, route) {
        Some(route.to_string())
    } else {
        covers(route, listener).then(|| listener.to_string())
    }
}

fn identity(object: &Value) -> (String, String) {
    let metadata = &object["metadata"];
    let of = |field: &str| metadata[field].as_str().map(String::from);
    (of("namespace").unwrap_or_else(|| "default".into()), of("name").unwrap_or_default())
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(|text| text.trim_end_matches('.').to_lowercase())
}

impl Gateways {
    /// The records for the host names that are in `domain`.
    ///
    /// # Errors
    /// `InvalidData` when the gateway has no address yet, or the apex needs addresses ([`WebGateway::records`]).
    pub fn records(&self, domain: &str, provider: Capabilities, ttl: u32) -> Result<Vec<TemplateRecord>> {
        if self.target.is_none() && self.addresses.is_empty() {
            return Err(Error::data(format!("gateway {} has no address in its status yet", self.gateway)));
        }
        let domain = crate::names::domain(domain)?;
        let names = self.host_names.iter().filter_map(|name| match name.as_str() {
            name if name == domain => Some("@".to_string()),
            name => name.strip_suffix(&domain)?.strip_suffix('.').map(String::from),
        });
        WebGateway {
            target: self.target.clone(),
            addresses: self.addresses.clone(),
            names: names.collect(),
            at_apex: true,
            alpn: Vec::new(),
            ttl,
        }
        .records(provider)
    }
}
