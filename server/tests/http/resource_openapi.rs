//! The resource API: its descriptions in OpenAPI 2 and 3.

use crate::site::site;
use serde_json::{Value, json};

#[tokio::test]
async fn openapi_describes_the_addresses_of_statuses_with_the_verbs_that_they_have() {
    let site = site(false).await;
    for document in ["/openapi/v2", "/openapi/v3/apis/datumapis.com/v1alpha"] {
        let (_, api) = site.api("GET", document, Value::Null).await;
        let methods = |plural: &str| {
            let path =
                format!("/apis/datumapis.com/v1alpha/namespaces/{{namespace}}/{plural}/{{name}}/status");
            let found = api["paths"][&path].as_object().unwrap_or_else(|| panic!("{document}: {path}"));
            let mut methods: Vec<_> = found.keys().cloned().collect();
            methods.sort();
            methods
        };
        assert_eq!(methods("networkclaims"), ["get"]);
        assert_eq!(methods("features"), ["get", "patch", "put"]);
        let mut ids: Vec<&str> = api["paths"]
            .as_object()
            .unwrap()
            .values()
            .flat_map(|path| path.as_object().unwrap().values())
            .map(|operation| operation["operationId"].as_str().unwrap())
            .collect();
        let all = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), all, "operations have names of their own");
    }
}

#[tokio::test]
async fn openapi_describes_deletions_and_lists_of_all_namespaces() {
    let site = site(false).await;
    let base = "/apis/datumapis.com/v1alpha";
    for (document, is_v3) in [("/openapi/v2", false), ("/openapi/v3/apis/datumapis.com/v1alpha", true)] {
        let (_, api) = site.api("GET", document, Value::Null).await;
        let options = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
        let schemas = if is_v3 { &api["components"]["schemas"] } else { &api["definitions"] };
        let properties = schemas[options]["properties"].as_object().unwrap_or_else(|| panic!("{document}"));
        for name in ["dryRun", "gracePeriodSeconds", "orphanDependents", "preconditions", "propagationPolicy"]
        {
            assert!(properties.contains_key(name), "{document}: {name}");
        }
        let parameters = |operation: &Value| -> Vec<String> {
            let list = operation["parameters"].as_array().unwrap().iter();
            list.map(|p| format!("{} {}", p["in"].as_str().unwrap(), p["name"].as_str().unwrap())).collect()
        };
        let has = |operation: &Value, names: &[&str]| {
            let all = parameters(operation);
            names.iter().all(|n| all.contains(&format!("query {n}")))
        };
        // The body of a deletion may be left out.
        let body = |operation: &Value| {
            let (body, schema) = match is_v3 {
                true => (operation["requestBody"].clone(), "/content/application~1json/schema"),
                false => {
                    let list = operation["parameters"].as_array().unwrap();
                    (list.iter().find(|p| p["in"] == "body").unwrap().clone(), "/schema")
                }
            };
            (body["required"].clone(), body.pointer(schema).unwrap()["$ref"].as_str().unwrap().to_string())
        };
        let deletion = ["dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy"];
        for plural in ["domains", "networkclaims", "features"] {
            let collection = format!("{base}/namespaces/{{namespace}}/{plural}");
            let one = &api["paths"][format!("{collection}/{{name}}")]["delete"];
            assert!(has(one, &deletion), "{document} {plural}: {one}");
            let (required, of) = body(one);
            assert!(required == false && of.ends_with(options), "{document} {plural}: {one}");
            let all = &api["paths"][&collection]["delete"];
            assert_eq!(all.is_object(), plural != "features", "{document} {plural}");
            assert!(all.is_null() || (has(all, &deletion) && has(all, &["labelSelector", "fieldSelector"])));
        }
        for plural in ["domains", "domainevents", "networkclaims", "features"] {
            let everywhere = &api["paths"][format!("{base}/{plural}")];
            let list = &everywhere["get"];
            assert_eq!(everywhere.as_object().map(serde_json::Map::len), Some(1), "{document} {plural}");
            assert_eq!(list["x-kubernetes-action"], "list");
            assert!(list["operationId"].as_str().unwrap().ends_with("ForAllNamespaces"), "{list}");
            assert!(has(list, &["labelSelector", "limit", "continue", "watch", "resourceVersion"]), "{list}");
            assert!(!parameters(list).contains(&"path namespace".to_string()));
            assert_eq!(site.api("GET", &format!("{base}/{plural}"), Value::Null).await.0.as_u16(), 200);
        }
        assert!(api["paths"][format!("{base}/clusterclaims/{{name}}")]["delete"].is_object());
    }
}

#[tokio::test]
async fn openapi_describes_namespaces_of_the_core_group() {
    let site = site(false).await;
    let (_, index) = site.api("GET", "/openapi/v3", Value::Null).await;
    let core = index["paths"]["api/v1"]["serverRelativeURL"].as_str().unwrap();
    for (document, definitions) in [("/openapi/v2", "/definitions"), (core, "/components/schemas")] {
        let (_, api) = site.api("GET", document, Value::Null).await;
        let of = &api.pointer(definitions).unwrap()["io.k8s.api.core.v1.Namespace"];
        let gvk = json!({ "group": "", "version": "v1", "kind": "Namespace" });
        assert_eq!(of["x-kubernetes-group-version-kind"], json!([gvk]), "{document}");
        assert!(of["properties"]["status"]["properties"]["phase"].is_object(), "{document}: {of}");
        for (path, action) in [("/api/v1/namespaces", "list"), ("/api/v1/namespaces/{name}", "get")] {
            let operations = api["paths"][path].as_object().unwrap_or_else(|| panic!("{document}: {path}"));
            assert_eq!(operations.keys().collect::<Vec<_>>(), ["get"]);
            let get = &operations["get"];
            assert_eq!(
                (&get["x-kubernetes-action"], &get["x-kubernetes-group-version-kind"]),
                (&json!(action), &gvk)
            );
        }
    }
}
