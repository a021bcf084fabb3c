//! Objects as YAML pages: what a person reads, edits, and gets told.

use crate::site::{BEARER, Site, site};
use axum::http::StatusCode;
use serde_json::json;

const PAGE: &str = "/objects/networkclaims/web";
const OBJECT: &str = "/apis/datumapis.com/v1alpha/namespaces/default/networkclaims/web";

/// The text inside the page's area.
fn yaml(page: &str) -> String {
    let start = page.find("<textarea").unwrap();
    let start = start + page[start..].find('>').unwrap() + 1;
    let text = &page[start..start + page[start..].find("</textarea>").unwrap()];
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

async fn save(site: &Site, path: &str, text: &str) -> (StatusCode, String) {
    let body: String =
        url::form_urlencoded::Serializer::new(String::new()).append_pair("yaml", text).finish();
    let headers = [("authorization", BEARER), ("content-type", "application/x-www-form-urlencoded")];
    site.ask("POST", path, &headers, &body).await
}

#[tokio::test]
async fn an_object_is_read_edited_and_refused_with_the_field_and_the_rule() {
    let site = site(false).await;
    let claim = json!({
        "apiVersion": "datumapis.com/v1alpha", "kind": "NetworkClaim", "metadata": { "name": "web" },
        "spec": { "addressSpace": [{ "prefix": "10.0.0.0/24", "reference": { "resource": "a<b&c" } }] },
    });
    let (status, made) = site.api("POST", OBJECT.trim_end_matches("/web"), claim).await;
    assert_eq!(status, StatusCode::CREATED, "{made}");
    let read = async || site.ask("GET", PAGE, &[("authorization", BEARER)], "").await;
    let (status, page) = read().await;
    let text = yaml(&page);
    assert_eq!(status, StatusCode::OK);
    assert!(
        text.contains("kind: NetworkClaim") && text.contains("10.0.0.0/24") && text.contains("a<b&c"),
        "{text}"
    );
    assert!(!text.contains("managedFields") && page.contains("Save"), "{page}");

    let edited = text.replacen("metadata:\n", "metadata:\n  labels:\n    team: edge\n", 1);
    let (status, answer) = save(&site, PAGE, &edited).await;
    assert_eq!(status, StatusCode::SEE_OTHER, "{answer}");
    let (_, now) = site.api("GET", OBJECT, serde_json::Value::Null).await;
    assert_eq!(now["metadata"]["labels"]["team"], "edge");
    assert!(yaml(&read().await.1).contains("team: edge"));

    // What was refused stays in the area, and nothing is changed.
    let current = yaml(&read().await.1);
    for (sent, code, words) in [
        (edited.clone(), 409, "modified"),
        (current.replace("10.0.0.0/24", "10.0.0.1/24"), 422, "spec.addressSpace"),
        (current.replace("spec:\n", "spec:\n  colour: red\n"), 400, "colour"),
        ("a: [".to_string(), 400, "YAML"),
    ] {
        let (status, page) = save(&site, PAGE, &sent).await;
        assert_eq!(status.as_u16(), code, "{page}");
        let told = &page[page.find("Not saved").unwrap()..page.find("<textarea").unwrap()];
        assert!(told.contains(words), "{words}: {told}");
        assert_eq!(yaml(&page).trim(), sent.trim());
    }
    assert_eq!(yaml(&read().await.1), current);
    for path in
        ["/objects/networkclaims/none", "/objects/features/doh-server", "/objects/domains/none.example"]
    {
        let (status, page) = site.ask("GET", path, &[("authorization", BEARER)], "").await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{path}");
        let back = if path.contains("networkclaims") { "href=\"/networks\"" } else { "href=\"/domains\"" };
        assert!(page.starts_with("<!DOCTYPE html>") && page.contains(back), "{path}: {page}");
        let (status, _) = save(&site, path, &current).await;
        assert!(status.is_client_error(), "{path}: {status}");
    }
}
