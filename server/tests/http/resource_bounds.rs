//! The resource API: hostile input costs little, and an object has a size.

use crate::resources::{CLAIMS, claim, send};
use crate::site::site;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
const PATCH: &str = "application/json-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

#[tokio::test]
async fn hostile_bodies_are_refused_at_once() {
    let site = site(false).await;
    site.api("POST", CLAIMS, claim("web", "10.0.0.0/24")).await;
    let web = format!("{CLAIMS}/web");
    let patch = |operations: Vec<Value>| Value::Array(operations).to_string().into_bytes();
    let double = |n: usize| json!({ "op": "copy", "from": "/metadata", "path": format!("/metadata/x{n}") });
    let bomb = {
        let level = |n: usize| format!("l{n}: &l{n} [{}]\n", vec![format!("*l{}", n - 1); 9].join(","));
        let levels: String = (1..10).map(level).collect();
        format!("l0: &l0 [x,x,x,x,x,x,x,x,x]\n{levels}").into_bytes()
    };
    let deep = format!("{{\"metadata\":{}1{}}}", "{\"a\":".repeat(100_000), "}".repeat(100_000)).into_bytes();
    let nest = json!({ "op": "copy", "from": "/metadata", "path": "/metadata/x" });
    let apply = format!("{web}?fieldManager=git");
    for (what, path, media, body, code, field) in [
        ("exponential copies", &web, PATCH, patch((0..60).map(double).collect()), 422, ""),
        ("nesting by copies", &web, PATCH, patch(vec![nest; 100]), 422, ""),
        (
            "a million operations",
            &web,
            PATCH,
            "[".to_string()
                .into_bytes()
                .into_iter()
                .chain("{\"op\":\"test\"},".repeat(1_000_000).into_bytes())
                .collect(),
            413,
            "body",
        ),
        ("100,000 operations", &web, PATCH, patch(vec![json!({"op":"remove"}); 100_000]), 413, "body"),
        ("nesting in a merge patch", &web, MERGE, deep.clone(), 400, "body"),
        ("nesting in a JSON patch", &web, PATCH, deep.clone(), 400, "body"),
        ("nesting in an apply patch", &apply, APPLY, deep, 400, "body"),
        ("an alias bomb", &apply, APPLY, bomb, 400, "body"),
    ] {
        let began = Instant::now();
        let (status, _, e) = send(&site, "PATCH", path, media, body).await;
        assert_eq!((status.as_u16(), e["kind"].as_str()), (code, Some("Status")), "{what}: {e}");
        let cause = &e["details"]["causes"][0];
        assert!(cause["message"].is_string() && (field.is_empty() || cause["field"] == field), "{what}: {e}");
        assert!(e.to_string().len() < 2_000, "{what}: {e}");
        assert!(began.elapsed() < Duration::from_secs(10), "{what}: {:?}", began.elapsed());
    }
    // The server goes on, and the object is as it was.
    let (_, now) = site.api("GET", &web, Value::Null).await;
    assert_eq!(now["metadata"]["generation"], 1);
}

/// The largest of what clients write: annotations up to their own limit, labels, and the managers of all of them.
#[tokio::test]
async fn an_object_has_a_size_however_it_grows() {
    let site = site(false).await;
    let many = |from: usize, n: usize| -> Value {
        (from..from + n)
            .map(|i| (format!("{}.example/{i}", "p".repeat(60)), json!("v".repeat(60))))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    let too_large = |what: &str, status: u16, e: &Value| {
        assert_eq!((status, e["reason"].as_str()), (413, Some("RequestEntityTooLarge")), "{what}: {e}");
        let (cause, message) = (&e["details"]["causes"][0], e["message"].as_str().unwrap());
        assert!(message.contains("Request entity too large: limit is 1572864"), "{what}: {message}");
        assert!(
            cause["field"] == "metadata" && cause["message"].as_str().unwrap().contains("1572864"),
            "{what}: {e}"
        );
    };
    // Each label counts twice: itself, and as a field of its manager.
    let with_labels = |n: usize| {
        let mut object = claim("web", "10.0.0.0/24");
        object["metadata"]["labels"] = many(0, n);
        object.to_string().into_bytes()
    };
    for query in ["", "?dryRun=All"] {
        let (status, _, e) = send(&site, "POST", &format!("{CLAIMS}{query}"), JSON, with_labels(9_000)).await;
        too_large("create", status.as_u16(), &e);
    }
    let (status, _, made) = send(&site, "POST", CLAIMS, JSON, with_labels(5_000)).await;
    assert_eq!(status.as_u16(), 201, "{}", made["message"]);
    let web = format!("{CLAIMS}/web");
    let (more, labels) = (many(5_000, 4_000), many(0, 9_000));
    let merge = json!({ "metadata": { "labels": more } }).to_string().into_bytes();
    let patch =
        json!([{ "op": "add", "path": "/metadata/labels", "value": labels }]).to_string().into_bytes();
    let mut intent = claim("web", "10.0.0.0/24");
    intent["metadata"]["labels"] = more;
    let apply = format!("{web}?fieldManager=git&force=true");
    for (what, method, path, media, body) in [
        ("update", "PUT", &web, JSON, with_labels(9_000)),
        ("merge patch", "PATCH", &web, MERGE, merge),
        ("JSON patch", "PATCH", &web, PATCH, patch),
        ("apply", "PATCH", &apply, APPLY, intent.to_string().into_bytes()),
    ] {
        let (status, _, e) = send(&site, method, path, media, body).await;
        too_large(what, status.as_u16(), &e);
    }
    // Many managers of the same few fields: nobody sends much, the bookkeeping grows.
    let mut small = claim("web", "10.0.0.0/24");
    small["metadata"]["labels"] = many(0, 1_000);
    let mut last = (200, Value::Null);
    for n in 0..30 {
        let path = format!("{web}?fieldManager=m{n}&force=true");
        let (status, _, e) = send(&site, "PATCH", &path, APPLY, small.to_string().into_bytes()).await;
        last = (status.as_u16(), e);
        if last.0 != 200 {
            break;
        }
    }
    too_large("managers", last.0, &last.1);
    let (_, now) = site.api("GET", &web, Value::Null).await;
    assert!(now["metadata"].to_string().len() + now["spec"].to_string().len() <= 1_572_864);
}
