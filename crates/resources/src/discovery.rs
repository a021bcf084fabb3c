//! Discovery: which groups, versions and resources there are, one by one and aggregated.

use crate::access::{REVIEW_VERSION, REVIEWS};
use crate::kind::{GROUP, Kind, VERSION};
use crate::kinds;
use crate::namespaces;
use serde_json::{Value, json};

/// The answer for a path of discovery, if it is one; `accept` may ask for the aggregated form.
pub(crate) fn document(path: &[&str], accept: &str) -> Option<Value> {
    let aggregated = accept.split(',').find(|r| r.contains("as=APIGroupDiscoveryList"));
    Some(match path {
        ["version"] => version(),
        ["api"] => match aggregated {
            Some(range) => discovery_list(range, &[core_discovery()]),
            None => json!({ "kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [] }),
        },
        ["api", "v1"] => {
            let namespaces = json!({
                "name": namespaces::PLURAL, "singularName": "namespace", "namespaced": false, "kind": "Namespace",
                "verbs": namespaces::VERBS, "shortNames": namespaces::SHORT,
            });
            json!({ "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "v1", "resources": [namespaces] })
        }
        ["apis"] => match aggregated {
            Some(range) => {
                let reviews = review_groups().into_iter().map(review_discovery);
                discovery_list(range, &std::iter::once(group_discovery()).chain(reviews).collect::<Vec<_>>())
            }
            None => {
                let reviews = review_groups().into_iter().map(|g| group(g, REVIEW_VERSION));
                let all: Vec<Value> = std::iter::once(group(GROUP, VERSION)).chain(reviews).collect();
                json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": all })
            }
        },
        ["apis", g] if *g == GROUP => with_type(group(GROUP, VERSION)),
        ["apis", g] if review_groups().contains(g) => with_type(group(g, REVIEW_VERSION)),
        ["apis", g, v] if (*g, *v) == (GROUP, VERSION) => resources(),
        ["apis", g, v] if *v == REVIEW_VERSION && review_groups().contains(g) => reviews(g),
        _ => return None,
    })
}

/// Groups of reviews, each once.
fn review_groups() -> Vec<&'static str> {
    let mut groups: Vec<&str> = REVIEWS.iter().map(|r| r.group).collect();
    groups.dedup();
    groups
}

/// The reviews of a group.
fn reviews(group: &str) -> Value {
    let of_group = REVIEWS.iter().filter(|r| r.group == group);
    let list: Vec<Value> = of_group
        .map(|r| {
            json!({ "name": r.plural, "singularName": "", "namespaced": false, "kind": r.kind, "verbs": ["create"] })
        })
        .collect();
    json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": format!("{group}/{REVIEW_VERSION}"),
        "resources": list,
    })
}

/// The version of the conventions that are followed, with our own in `gitVersion`.
fn version() -> Value {
    json!({
        "major": "1", "minor": "31", "gitVersion": concat!("v1.31.0+domainscope.", env!("CARGO_PKG_VERSION")),
        "gitCommit": "", "gitTreeState": "clean", "buildDate": "1970-01-01T00:00:00Z", "goVersion": "",
        "compiler": "rustc", "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    })
}

fn group(name: &str, version: &str) -> Value {
    let v = json!({ "groupVersion": format!("{name}/{version}"), "version": version });
    json!({ "name": name, "versions": [v], "preferredVersion": v })
}

fn with_type(mut group: Value) -> Value {
    group["kind"] = "APIGroup".into();
    group["apiVersion"] = "v1".into();
    group
}

fn resources() -> Value {
    let one = |k: &&Kind| {
        json!({
            "name": k.plural, "singularName": k.singular, "namespaced": k.is_namespaced, "kind": k.name, "verbs": k.verbs(),
            "shortNames": k.short, "categories": ["all", "domainscope"],
        })
    };
    let status = |k: &&Kind| {
        json!({
            "name": format!("{}/status", k.plural), "singularName": "", "namespaced": k.is_namespaced, "kind": k.name, "verbs": k.status_verbs(),
        })
    };
    let list: Vec<Value> = kinds::ALL.iter().flat_map(|k| [one(k), status(k)]).collect();
    json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": Kind::api_version(), "resources": list,
    })
}

pub(crate) fn scope(kind: &Kind) -> &'static str {
    if kind.is_namespaced { "Namespaced" } else { "Cluster" }
}

fn group_discovery() -> Value {
    let kind = |k: &&Kind| json!({ "group": GROUP, "version": VERSION, "kind": k.name });
    let resource = |k: &&Kind| {
        json!({
            "resource": k.plural, "responseKind": kind(k), "scope": scope(k), "singularResource": k.singular,
            "verbs": k.verbs(), "shortNames": k.short, "categories": ["all", "domainscope"],
            "subresources": [{ "subresource": "status", "responseKind": kind(k), "verbs": k.status_verbs() }],
        })
    };
    let resources: Vec<Value> = kinds::ALL.iter().map(resource).collect();
    json!({
        "metadata": { "name": GROUP, "creationTimestamp": null },
        "versions": [{ "version": VERSION, "resources": resources, "freshness": "Current" }],
    })
}

fn core_discovery() -> Value {
    let namespaces = json!({
        "resource": namespaces::PLURAL, "scope": "Cluster", "singularResource": "namespace",
        "responseKind": { "group": "", "version": "v1", "kind": "Namespace" },
        "verbs": namespaces::VERBS, "shortNames": namespaces::SHORT,
    });
    json!({
        "metadata": { "name": "", "creationTimestamp": null },
        "versions": [{ "version": "v1", "resources": [namespaces], "freshness": "Current" }],
    })
}

fn review_discovery(group: &str) -> Value {
    let of_group = REVIEWS.iter().filter(|r| r.group == group);
    let list: Vec<Value> = of_group
        .map(|r| {
            json!({
                "resource": r.plural, "scope": "Cluster", "singularResource": "", "verbs": ["create"],
                "responseKind": { "group": group, "version": REVIEW_VERSION, "kind": r.kind },
            })
        })
        .collect();
    json!({
        "metadata": { "name": group, "creationTimestamp": null },
        "versions": [{ "version": REVIEW_VERSION, "resources": list, "freshness": "Current" }],
    })
}

fn discovery_list(range: &str, items: &[Value]) -> Value {
    let version = if range.contains("v=v2beta1") { "v2beta1" } else { "v2" };
    json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": format!("apidiscovery.k8s.io/{version}"),
        "metadata": {}, "items": items,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_discovery_name_the_same_groups_and_resources() {
        let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        let plain = document(&["apis"], "application/json").unwrap();
        let aggregated = document(&["apis"], accept).unwrap();
        let names = |list: &Value, path: &str| -> Vec<String> {
            let items = list.as_array().unwrap().iter();
            items.map(|g| g.pointer(path).and_then(Value::as_str).unwrap().to_string()).collect()
        };
        assert_eq!(names(&plain["groups"], "/name"), names(&aggregated["items"], "/metadata/name"));
        for group in aggregated["items"].as_array().unwrap() {
            let (name, version) = (&group["metadata"]["name"], &group["versions"][0]);
            let path = ["apis", name.as_str().unwrap(), version["version"].as_str().unwrap()];
            let list = document(&path, "").unwrap();
            let mut plain = names(&list["resources"], "/name");
            plain.retain(|n| !n.contains('/'));
            assert_eq!(plain, names(&version["resources"], "/resource"), "{name}");
        }
    }
}
