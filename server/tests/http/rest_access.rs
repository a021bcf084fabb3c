//! REST about access: cursors, entity tags, idempotency keys.

use crate::site::{BEARER, site};
use axum::http::StatusCode;
use model::Timestamp;
use model::account::UserId;
use model::ids::{OrgId, Role};
use serde_json::{Value, json};

#[tokio::test]
async fn a_repeated_creation_creates_once_and_shows_its_secret_once() {
    let site = site(false).await;
    let body = r#"{"name":"deploy","scope":"write","days":30}"#;
    let send = async |key: &str, body: &str| {
        let headers =
            [("authorization", BEARER), ("content-type", "application/json"), ("idempotency-key", key)];
        let (status, text) = site.ask("POST", "/api/v1/tokens", &headers, body).await;
        (status, serde_json::from_str::<Value>(&text).unwrap())
    };
    let (status, first) = send("k1", body).await;
    assert_eq!(status, StatusCode::CREATED, "{first}");
    assert!(first["secret"].as_str().unwrap().starts_with("dst_"));
    let (status, again) = send("k1", body).await;
    assert_eq!((status, &again["id"], &again["secret"]), (StatusCode::CREATED, &first["id"], &Value::Null));
    let (status, other) = send("k1", r#"{"name":"other","scope":"read"}"#).await;
    assert_eq!((status, other["type"].as_str()), (StatusCode::CONFLICT, Some("/problems/conflict")));
    let (status, refused) = send("k2", body).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "the name is taken: {refused}");
    let (status, _) = send("k2", r#"{"name":"other","scope":"read"}"#).await;
    assert_eq!(status, StatusCode::CREATED, "a refused request frees its key");
    let (_, list) = site.api("GET", "/api/v1/tokens", Value::Null).await;
    assert_eq!(list["items"].as_array().unwrap().len(), 3);
    let (_, log) = site.api("GET", "/api/v1/audit?about=token", Value::Null).await;
    assert_eq!(log["items"].as_array().unwrap().len(), 2);
    assert_eq!(log["items"][0]["who"], "token test");
}

#[tokio::test]
async fn lists_are_read_in_parts_and_changes_name_what_they_change() {
    let site = site(false).await;
    let (store, now) = (&site.scanner.store, Timestamp::now());
    for n in 0..4 {
        let user = UserId(format!("u{n}"));
        store.create_user(&user, &format!("u{n}@alder.example"), &format!("User {n}"), now).await.unwrap();
        store.add_member(OrgId::BUILT_IN, &user, Role::Viewer, now, None).await.unwrap();
    }
    let mut names = Vec::new();
    let mut path = "/api/v1/members?limit=2".to_string();
    loop {
        let (_, part) = site.api("GET", &path, Value::Null).await;
        let items = part["items"].as_array().unwrap();
        assert!(items.len() <= 2);
        names.extend(items.iter().map(|m| m["name"].as_str().unwrap().to_string()));
        let Some(next) = part["next"].as_str() else { break };
        path = format!("/api/v1/members?limit=2&cursor={next}");
    }
    assert_eq!(names, ["Mira Holt", "User 0", "User 1", "User 2", "User 3"]);

    let auth = ("authorization", BEARER);
    let (_, member) = site.api("GET", "/api/v1/members/u1", Value::Null).await;
    let tag = site.etag("/api/v1/members/u1").await;
    let (status, _) = site.ask("GET", "/api/v1/members/u1", &[auth, ("if-none-match", &tag)], "").await;
    assert_eq!((status, member["role"].as_str()), (StatusCode::NOT_MODIFIED, Some("viewer")));
    let change = async |tag: &str, role: &str| {
        let headers = [auth, ("content-type", "application/json"), ("if-match", tag)];
        let body = json!({ "role": role }).to_string();
        site.ask("PATCH", "/api/v1/members/u1", &headers, &body).await
    };
    let (status, text) = change(&tag, "member").await;
    assert_eq!(status, StatusCode::OK, "{text}");
    let (status, text) = change(&tag, "admin").await;
    assert_eq!(status, StatusCode::PRECONDITION_FAILED, "{text}");
    let tag = site.etag("/api/v1/organisation").await;
    let headers = [auth, ("content-type", "application/json"), ("if-match", tag.as_str())];
    let (status, text) = site.ask("PATCH", "/api/v1/organisation", &headers, r#"{"name":"Alder"}"#).await;
    assert!(status == StatusCode::OK && text.contains("\"name\":\"Alder\""), "{text}");
    // The schedule of checks: each field by itself, within its bounds.
    let patch = async |path: &str, body: Value| site.api("PATCH", path, body).await;
    let organisation = "/api/v1/organisation";
    let (status, o) = patch(organisation, json!({ "scan_interval": 86_400, "expiry_days": [7, 30] })).await;
    assert_eq!((status, &o["scan_interval"]), (StatusCode::OK, &json!(86_400)), "{o}");
    let (_, o) = patch(organisation, json!({ "scan_interval": null })).await;
    assert_eq!(
        (&o["scan_interval"], &o["expiry_days"], &o["name"]),
        (&Value::Null, &json!([30, 7]), &json!("Alder"))
    );
    for body in [
        json!({ "scan_interval": 299 }),
        json!({ "scan_interval": 604_801 }),
        json!({ "expiry_days": [] }),
        json!({ "expiry_days": [366] }),
    ] {
        let (status, refused) = patch(organisation, body.clone()).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{body}: {refused}");
    }
    let (status, _) = site.api("GET", "/api/v1/audit?cursor=x", Value::Null).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
}
