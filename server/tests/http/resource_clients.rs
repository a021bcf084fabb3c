//! The resource API: what client libraries and GitOps tools rely on beyond reading and writing.

use crate::resources::{CLAIMS, claim, send};
use crate::site::{BEARER, site};
use serde_json::{Value, json};

#[tokio::test]
async fn reviews_say_who_the_caller_is_and_all_that_it_may_do() {
    let site = site(false).await;
    let authorization = "/apis/authorization.k8s.io/v1";
    let rules = format!("{authorization}/selfsubjectrulesreviews");
    let asked = json!({ "kind": "SelfSubjectRulesReview", "spec": { "namespace": "default" } });
    let (status, answer) = site.api("POST", &rules, asked).await;
    assert_eq!((status.as_u16(), &answer["status"]["incomplete"]), (201, &json!(false)), "{answer}");
    let all = answer["status"]["resourceRules"].as_array().unwrap();
    let verbs = |resource: &str| {
        let found = all.iter().find(|r| r["resources"] == json!([resource]));
        found.map_or(Value::Null, |r| r["verbs"].clone())
    };
    assert_eq!(verbs("domainevents"), json!(["get", "list", "watch"]));
    assert_eq!(verbs("domains/status"), json!(["get"]));
    assert!(verbs("networkclaims").as_array().unwrap().contains(&"create".into()), "{answer}");
    // In discovery, both forms of which are made from one list.
    let (_, list) = site.api("GET", authorization, Value::Null).await;
    let names: Vec<_> = list["resources"].as_array().unwrap().iter().map(|r| r["name"].clone()).collect();
    assert_eq!(names, ["selfsubjectaccessreviews", "selfsubjectrulesreviews"]);
    // Any other subresource than the status does not exist.
    let access = format!("{authorization}/selfsubjectaccessreviews");
    for (subresource, allowed) in [("", true), ("status", true), ("scale", false)] {
        let attributes = json!({
            "verb": "get", "group": "datumapis.com", "resource": "domains", "subresource": subresource,
        });
        let (_, answer) =
            site.api("POST", &access, json!({ "spec": { "resourceAttributes": attributes } })).await;
        assert_eq!(answer["status"]["allowed"], allowed, "{subresource}: {answer}");
    }
    let (status, who) =
        site.api("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", json!({})).await;
    assert_eq!(
        (status.as_u16(), &who["status"]["userInfo"]["username"]),
        (201, &json!("token test")),
        "{who}"
    );
    assert_eq!(site.api("GET", &rules, Value::Null).await.0.as_u16(), 405);
}

#[tokio::test]
async fn names_are_generated_after_a_prefix_that_the_object_keeps() {
    let site = site(false).await;
    let unnamed = |prefix: &str, block: u8| {
        let mut object = claim("", &format!("10.0.{block}.0/24"));
        object["metadata"] = json!({ "generateName": prefix });
        object
    };
    let mut names = Vec::new();
    for block in 0..2 {
        let (status, made) = site.api("POST", CLAIMS, unnamed("web-", block)).await;
        assert_eq!((status.as_u16(), &made["metadata"]["generateName"]), (201, &json!("web-")), "{made}");
        let name = made["metadata"]["name"].as_str().unwrap().to_string();
        assert!(name.len() == 9 && name.starts_with("web-"), "{name}");
        assert_eq!(site.api("GET", &format!("{CLAIMS}/{name}"), Value::Null).await.1, made);
        names.push(name);
    }
    assert_ne!(names[0], names[1]);
    // It is no field that a later write changes, and no one's whose name was given.
    let one = format!("{CLAIMS}/{}", names[0]);
    let (_, mut object) = site.api("GET", &one, Value::Null).await;
    object["metadata"]["generateName"] = "other-".into();
    object["metadata"]["labels"] = json!({ "a": "1" });
    let (status, changed) = site.api("PUT", &one, object).await;
    assert_eq!((status.as_u16(), &changed["metadata"]["generateName"]), (200, &json!("web-")), "{changed}");
    let (_, named) = site.api("POST", CLAIMS, claim("named", "10.0.2.0/24")).await;
    assert!(named["metadata"].get("generateName").is_none(), "{named}");
    // A dry run has a name, too; a prefix that no name can begin with is refused as such.
    let (status, preview) = site.api("POST", &format!("{CLAIMS}?dryRun=All"), unnamed("dry-", 3)).await;
    assert!(status.as_u16() == 201 && preview["metadata"]["name"].as_str().unwrap().starts_with("dry-"));
    let (status, e) = site.api("POST", CLAIMS, unnamed("Web_", 3)).await;
    let causes = e["details"]["causes"].as_array().unwrap();
    assert!(status.as_u16() == 422 && causes.iter().any(|c| c["field"] == "metadata.generateName"), "{e}");
    let (status, e) = site.api("POST", CLAIMS, unnamed("", 3)).await;
    assert_eq!((status.as_u16(), &e["details"]["causes"][0]["field"]), (422, &json!("metadata.name")), "{e}");
    // Without a body that is YAML or JSON there is no prefix.
    let (status, _, e) = send(&site, "POST", CLAIMS, "application/json", b"[]".to_vec()).await;
    assert_eq!((status.as_u16(), e["reason"].as_str()), (400, Some("BadRequest")), "{e}");
}

/// What kubectl (from 1.26 on) sends before `apply --server-side` of an object that was applied on the client's side, and
/// what Flux sends to take fields over: a JSON patch of the managers.
#[tokio::test]
async fn managers_are_migrated_by_json_patches() {
    let site = site(false).await;
    let mut object = claim("web", "10.0.0.0/24");
    object["metadata"]["labels"] = json!({ "a": "1", "b": "1" });
    let applied = object.to_string();
    let annotation = "kubectl.kubernetes.io/last-applied-configuration";
    object["metadata"]["annotations"] = json!({ annotation: applied });
    let manager = "kubectl-client-side-apply";
    let (status, made) = site.api("POST", &format!("{CLAIMS}?fieldManager={manager}"), object.clone()).await;
    assert_eq!(status.as_u16(), 201, "{made}");
    // kubectl looks for the manager that owns the annotation.
    let entry = &made["metadata"]["managedFields"][0];
    assert!(
        entry["fieldsV1"]["f:metadata"]["f:annotations"][format!("f:{annotation}")].is_object(),
        "{made}"
    );
    let web = format!("{CLAIMS}/web");
    let patch = async |managers: Value, version: &Value| {
        let patch = json!([
            { "op": "replace", "path": "/metadata/managedFields", "value": managers },
            { "op": "replace", "path": "/metadata/resourceVersion", "value": version },
        ]);
        let (status, _, answer) =
            send(&site, "PATCH", &web, "application/json-patch+json", patch.to_string().into_bytes()).await;
        (status.as_u16(), answer)
    };
    let mut migrated = entry.clone();
    migrated["manager"] = "kubectl".into();
    migrated["operation"] = "Apply".into();
    let version = &made["metadata"]["resourceVersion"];
    let (status, moved) = patch(json!([migrated]), version).await;
    assert_eq!((status, &moved["metadata"]["managedFields"]), (200, &json!([migrated])), "{moved}");
    assert_eq!(moved["metadata"]["generation"], 1, "nothing of the spec changed");
    assert_eq!(patch(json!([migrated]), version).await.0, 409, "it was read at an older position");
    // Now the manager owns what it no longer names.
    let mut intent = claim("web", "10.0.0.0/24");
    intent["metadata"]["labels"] = json!({ "a": "2" });
    let apply = format!("{web}?fieldManager=kubectl");
    let body = intent.to_string().into_bytes();
    let (status, _, after) = send(&site, "PATCH", &apply, "application/apply-patch+yaml", body).await;
    assert_eq!((status.as_u16(), &after["metadata"]["labels"]), (200, &json!({ "a": "2" })), "{after}");
    // An empty list, or one empty entry, begins anew.
    let (status, bare) = patch(json!([{}]), &after["metadata"]["resourceVersion"]).await;
    assert_eq!((status, bare["metadata"].get("managedFields")), (200, None), "{bare}");
}

#[tokio::test]
async fn entries_of_managers_that_are_not_well_formed_are_refused_with_their_path() {
    let site = site(false).await;
    let (_, made) = site.api("POST", CLAIMS, claim("web", "10.0.0.0/24")).await;
    for (field, value, path) in [
        ("operation", json!("Merge"), "operation"),
        ("operation", Value::Null, "operation"),
        ("fieldsType", json!("FieldsV2"), "fieldsType"),
        ("apiVersion", json!("datumapis.com/v2"), "apiVersion"),
        ("manager", json!("m".repeat(129)), "manager"),
        ("manager", json!(1), "manager"),
        ("time", json!("yesterday"), "time"),
        ("fieldsV1", json!({ "spec": {} }), "fieldsV1"),
        ("fieldsV1", json!({ "f:spec": 1 }), "fieldsV1"),
        ("fieldsV1", json!([]), "fieldsV1"),
        ("subresource", json!("s".repeat(257)), "subresource"),
    ] {
        let mut object = made.clone();
        object["metadata"]["managedFields"][0][field] = value.clone();
        let (status, e) = site.api("PUT", &format!("{CLAIMS}/web"), object.clone()).await;
        let path = format!("metadata.managedFields[0].{path}");
        let causes = e["details"]["causes"].as_array().cloned().unwrap_or_default();
        assert!(status.as_u16() == 422 && causes.iter().any(|c| c["field"] == path), "{path} {value}: {e}");
        // On creation, too.
        object["metadata"]["name"] = "other".into();
        for key in ["resourceVersion", "uid"] {
            object["metadata"].as_object_mut().unwrap().remove(key);
        }
        assert_eq!(site.api("POST", CLAIMS, object).await.0.as_u16(), 422, "{path}");
    }
    let mut many = made.clone();
    let entry = made["metadata"]["managedFields"][0].clone();
    many["metadata"]["managedFields"] = vec![entry; 101].into();
    let (status, e) = site.api("PUT", &format!("{CLAIMS}/web"), many).await;
    assert!(status.as_u16() == 422 && e.to_string().contains("at most 100 items"), "{e}");
    assert_eq!(site.api("GET", &format!("{CLAIMS}/web"), Value::Null).await.1, made, "nothing was stored");
}

#[tokio::test]
async fn a_list_is_at_the_position_that_its_options_name_or_refused() {
    let site = site(false).await;
    for i in 0..3 {
        site.api("POST", CLAIMS, claim(&format!("c{i}"), &format!("10.0.{i}.0/24"))).await;
    }
    let (_, first) = site.api("GET", &format!("{CLAIMS}?limit=2"), Value::Null).await;
    let rv = first["metadata"]["resourceVersion"].as_str().unwrap().to_string();
    let token = first["metadata"]["continue"].as_str().unwrap().to_string();
    let get = async |query: &str| {
        let (status, answer) = site.api("GET", &format!("{CLAIMS}?{query}"), Value::Null).await;
        (status.as_u16(), answer)
    };
    for how in ["Exact", "NotOlderThan"] {
        let (status, list) = get(&format!("resourceVersion={rv}&resourceVersionMatch={how}")).await;
        assert_eq!((status, &list["metadata"]["resourceVersion"]), (200, &json!(rv)), "{list}");
        assert_eq!(get(&format!("resourceVersion=99999&resourceVersionMatch={how}")).await.0, 504);
    }
    assert_eq!(get("resourceVersion=0&resourceVersionMatch=NotOlderThan").await.0, 200);
    assert_eq!(get("resourceVersion=x").await.0, 400);
    for (version, code) in [(rv.as_str(), 200), ("0", 200), ("99999", 504)] {
        let one = format!("{CLAIMS}/c0?resourceVersion={version}");
        assert_eq!(site.api("GET", &one, Value::Null).await.0.as_u16(), code, "{version}");
    }
    for (query, field, words) in [
        ("resourceVersionMatch=Exact", "resourceVersionMatch", "unless resourceVersion is provided"),
        (
            "resourceVersion=0&resourceVersionMatch=Exact",
            "resourceVersionMatch",
            "forbidden for resourceVersion 0",
        ),
        ("resourceVersion=1&resourceVersionMatch=Near", "resourceVersionMatch", "Exact, NotOlderThan"),
        (
            "continue=x&resourceVersion=1&resourceVersionMatch=Exact",
            "resourceVersionMatch",
            "when continue is provided",
        ),
        ("sendInitialEvents=true", "sendInitialEvents", "forbidden for a list"),
    ] {
        let (status, e) = get(query).await;
        assert_eq!((status, e["reason"].as_str()), (422, Some("Invalid")), "{query}: {e}");
        assert_eq!(e["details"]["causes"][0]["field"], field, "{e}");
        assert!(e["message"].as_str().unwrap().contains(words), "{e}");
    }
    let (status, e) = get(&format!("continue={token}&resourceVersion={rv}")).await;
    assert!(
        status == 400 && e["message"].as_str().unwrap().contains("not allowed when using continue"),
        "{e}"
    );
    // What happened to other kinds leaves the state as it was; a change of these objects does not.
    let domain = json!({ "metadata": { "name": "q7.io" }, "spec": { "name": "q7.io" } });
    site.api("POST", "/apis/datumapis.com/v1alpha/namespaces/default/domains", domain).await;
    let exact = format!("resourceVersion={rv}&resourceVersionMatch=Exact");
    assert_eq!(get(&exact).await.0, 200);
    site.api("POST", CLAIMS, claim("c3", "10.0.3.0/24")).await;
    let (status, e) = get(&exact).await;
    assert_eq!((status, e["reason"].as_str()), (410, Some("Expired")), "{e}");
    assert_eq!(get(&format!("resourceVersion={rv}&resourceVersionMatch=NotOlderThan")).await.0, 200);
    // A list whose position was pruned says how to get the rest of it.
    let later = model::Timestamp::now() + jiff::SignedDuration::from_hours(25);
    site.scanner.store.prune_log(later, 400).await.unwrap();
    let (status, e) = get(&format!("limit=2&continue={token}")).await;
    assert_eq!((status, e["reason"].as_str()), (410, Some("Expired")), "{e}");
    let fresh = e["metadata"]["continue"].as_str().expect("a token");
    let (status, rest) = get(&format!("limit=2&continue={fresh}")).await;
    let names: Vec<_> =
        rest["items"].as_array().unwrap().iter().map(|o| o["metadata"]["name"].clone()).collect();
    assert_eq!((status, names), (200, vec![json!("c2"), json!("c3")]), "{rest}");
}

#[tokio::test]
async fn media_types_that_are_not_supported_are_refused_before_anything_is_written() {
    let site = site(false).await;
    let body = claim("web", "10.0.0.0/24").to_string();
    let post = async |accept: &str, media: &str| {
        let headers = [("authorization", crate::site::BEARER), ("accept", accept), ("content-type", media)];
        let (status, text) = site.ask("POST", &format!("{CLAIMS}?dryRun=All"), &headers, &body).await;
        (status.as_u16(), text)
    };
    let json = "application/json";
    for (accept, media, code, words) in [
        ("*/*", json, 201, "NetworkClaim"),
        ("application/vnd.kubernetes.protobuf, */*", json, 201, "NetworkClaim"),
        ("application/vnd.kubernetes.protobuf", json, 406, "\"NotAcceptable\""),
        ("application/xml", json, 406, "application/json, application/yaml"),
        (json, "application/json; charset=utf-8", 201, "NetworkClaim"),
        (json, "application/yaml", 201, "NetworkClaim"),
        (json, "", 201, "NetworkClaim"),
        (json, "application/x-www-form-urlencoded", 415, "\"UnsupportedMediaType\""),
        (json, "application/merge-patch+json", 415, "unknown format"),
        (json, "application/vnd.kubernetes.protobuf", 415, "\"UnsupportedMediaType\""),
    ] {
        let (status, text) = post(accept, media).await;
        assert!(status == code && text.contains(words), "{accept} {media}: {status} {text}");
    }
    let headers = [("authorization", crate::site::BEARER), ("accept", "image/png"), ("content-type", json)];
    assert_eq!(site.ask("POST", CLAIMS, &headers, &body).await.0.as_u16(), 406);
    assert_eq!(site.api("GET", CLAIMS, Value::Null).await.1["items"], json!([]));
    let (status, e) = site.api("GET", &format!("{CLAIMS}?labelSelector=size%3Ea"), Value::Null).await;
    assert!(status.as_u16() == 400 && e["message"].as_str().unwrap().contains("must be an integer"), "{e}");
}

#[tokio::test]
async fn the_namespace_of_the_caller_is_read_as_one_of_the_core_group() {
    let site = site(false).await;
    let namespaces = "/api/v1/namespaces";
    let (status, list) = site.api("GET", namespaces, Value::Null).await;
    let names: Vec<_> =
        list["items"].as_array().unwrap().iter().map(|n| n["metadata"]["name"].clone()).collect();
    assert_eq!((status.as_u16(), names.len(), &names[0]), (200, 2, &json!("default")), "{list}");
    let own = names[1].as_str().unwrap();
    assert!(own.starts_with("org-"), "{own}");
    for name in ["default", own] {
        let (status, one) = site.api("GET", &format!("{namespaces}/{name}"), Value::Null).await;
        assert_eq!(
            (status.as_u16(), &one["kind"], &one["status"]["phase"]),
            (200, &json!("Namespace"), &json!("Active"))
        );
        let selected = format!("{namespaces}?fieldSelector=metadata.name%3D{name}");
        assert_eq!(site.api("GET", &selected, Value::Null).await.1["items"], json!([one]));
    }
    let (status, e) = site.api("GET", &format!("{namespaces}/org-999"), Value::Null).await;
    assert_eq!((status.as_u16(), e["reason"].as_str()), (404, Some("NotFound")), "{e}");
    for method in ["POST", "DELETE", "PUT", "PATCH"] {
        assert_eq!(site.api(method, namespaces, json!({})).await.0.as_u16(), 405, "{method}");
    }
    let future = format!("{namespaces}?watch=true&resourceVersion=2");
    assert_eq!(site.api("GET", &future, Value::Null).await.0.as_u16(), 504);
    // Without an account it is a Status; what is beside it is REST as before.
    let (status, text) = site.ask("GET", namespaces, &[], "").await;
    assert!(status.as_u16() == 401 && text.contains("\"Status\""), "{text}");
    let (status, problem) = site.api("GET", "/api/v1/namespace", Value::Null).await;
    assert_eq!((status.as_u16(), problem["type"].as_str()), (404, Some("/problems/not-found")), "{problem}");
    let (_, list) = site.api("GET", "/api/v1", Value::Null).await;
    assert_eq!(
        (&list["kind"], &list["resources"][0]["name"]),
        (&json!("APIResourceList"), &json!("namespaces"))
    );
}

/// They never change: a watch sends them, or nothing to a client that has them, and ends when its client asked for that.
#[tokio::test]
async fn a_watch_of_namespaces_sends_the_state_and_nothing_after_it() {
    let site = site(false).await;
    let watch = async |query: &str| -> Vec<String> {
        let path = format!("/api/v1/namespaces?watch=true&timeoutSeconds=1&{query}");
        let (status, text) = site.ask("GET", &path, &[("authorization", BEARER)], "").await;
        assert_eq!(status.as_u16(), 200, "{text}");
        let event = |line: &str| {
            let event: Value = serde_json::from_str(line).unwrap();
            let (kind, metadata) = (event["type"].as_str().unwrap(), &event["object"]["metadata"]);
            format!("{kind} {}", metadata["name"].as_str().or(metadata["resourceVersion"].as_str()).unwrap())
        };
        text.lines().map(event).collect()
    };
    let all = watch("").await;
    assert!(all.len() == 2 && all[0] == "ADDED default" && all[1].starts_with("ADDED org-"), "{all:?}");
    assert_eq!(watch("fieldSelector=metadata.name%3Ddefault").await, ["ADDED default"]);
    let (_, list) = site.api("GET", "/api/v1/namespaces", Value::Null).await;
    let rv = list["metadata"]["resourceVersion"].as_str().unwrap();
    assert!(watch(&format!("resourceVersion={rv}")).await.is_empty());
    let streamed = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    assert_eq!(watch(streamed).await[2], format!("BOOKMARK {rv}"));
}
