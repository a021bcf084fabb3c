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
    save_over(site, path, text, "").await
}

async fn save_over(site: &Site, path: &str, text: &str, version: &str) -> (StatusCode, String) {
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    let body: String = form.append_pair("yaml", text).append_pair("over", version).finish();
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
    let current = "href=\"/objects/networkclaims/web\" aria-current=\"page\"";
    assert!(page.contains(current) && page.contains("href=\"/networks?q=web\""), "{page}");

    let edited = text.replacen("metadata:\n", "metadata:\n  labels:\n    team: edge\n", 1);
    let (status, answer) = save(&site, PAGE, &edited).await;
    assert_eq!(status, StatusCode::SEE_OTHER, "{answer}");
    let (_, now) = site.api("GET", OBJECT, serde_json::Value::Null).await;
    assert_eq!(now["metadata"]["labels"]["team"], "edge");
    assert!(yaml(&read().await.1).contains("team: edge"));

    // What was refused stays in the area, and nothing is changed.
    let current = yaml(&read().await.1);
    for (sent, code, words) in [
        (edited.clone(), 409, "changed after you opened it"),
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

    // A text that is out of date is saved over the version that was shown, and no other.
    let (_, page) = save(&site, PAGE, &edited).await;
    let shown = now["metadata"]["resourceVersion"].as_str().unwrap();
    assert!(
        page.contains(&format!("name=\"over\" value=\"{shown}\"")) && page.contains("id=\"newer\""),
        "{page}"
    );
    let other = edited.replace("team: edge", "team: shop");
    assert_eq!(save_over(&site, PAGE, &other, shown).await.0, StatusCode::SEE_OTHER);
    assert_eq!(save_over(&site, PAGE, &edited, shown).await.0, StatusCode::CONFLICT);
    let current = yaml(&read().await.1);
    assert!(current.contains("team: shop"), "{current}");
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

#[tokio::test]
async fn yaml_is_a_tab_of_the_domain() {
    let site = site(false).await;
    let domain = json!({ "metadata": { "name": "q7.io" }, "spec": { "name": "q7.io" } });
    let domains = "/apis/datumapis.com/v1alpha/namespaces/default/domains";
    assert_eq!(site.api("POST", domains, domain).await.0, StatusCode::CREATED);
    let read = async |path: &str| site.ask("GET", path, &[("authorization", BEARER)], "").await.1;
    let tabs = ["/domains/q7.io", "/domains/q7.io/history", "/domains/q7.io/dns", "/objects/domains/q7.io"];
    for path in ["/domains/q7.io", "/objects/domains/q7.io"] {
        let page = read(path).await;
        for tab in tabs {
            assert!(page.contains(&format!("href=\"{tab}\"")), "{path}: {tab}: {page}");
        }
    }
    let page = read("/objects/domains/q7.io").await;
    assert_eq!(page.matches("aria-current").count(), 1, "{page}");
    assert!(page.contains("href=\"/objects/domains/q7.io\" aria-current=\"page\""), "{page}");
}

#[tokio::test]
async fn a_claim_is_made_from_its_text_previewed_or_refused_with_the_text_kept() {
    let site = site(false).await;
    let new = "/objects/networkclaims";
    let text = "apiVersion: datumapis.com/v1alpha\nkind: NetworkClaim\nmetadata:\n  name: pool\nspec:\n  addressSpace:\n    \
                - from: 10.20.0.0/16\n      prefixLength: 26\n      reference: {group: apps, resource: shop}\n";
    let tried = async |text: &str| {
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        let body: String = form.append_pair("yaml", text).append_pair("preview", "1").finish();
        let headers = [("authorization", BEARER), ("content-type", "application/x-www-form-urlencoded")];
        site.ask("POST", new, &headers, &body).await
    };
    let (status, page) = tried(text).await;
    assert_eq!(status, StatusCode::OK);
    assert!(page.contains("10.20.0.0/26 would be allocated.") && yaml(&page).trim() == text.trim(), "{page}");
    let pool = OBJECT.replace("/web", "/pool");
    assert_eq!(site.api("GET", &pool, json!(null)).await.0, StatusCode::NOT_FOUND, "nothing was stored");
    let (status, answer) = save(&site, new, text).await;
    assert_eq!(status, StatusCode::SEE_OTHER, "{answer}");
    let (_, made) = site.api("GET", &pool, json!(null)).await;
    assert_eq!(made["status"]["addressSpace"][0]["prefix"], "10.20.0.0/26");
    // Refused as a client would be, with the text.
    let wrong = text.replace("pool", "other").replace("prefixLength: 26", "prefixLength: 8");
    for (sent, words) in [(text, "exists"), (&wrong, "spec.addressSpace[0].prefixLength"), ("a: [", "YAML")] {
        let (status, page) = save(&site, new, sent).await;
        assert!(status.is_client_error() && page.contains(words), "{words}: {status} {page}");
        assert_eq!(yaml(&page).trim(), sent.trim());
    }
    // Domains are added elsewhere.
    assert_eq!(save(&site, "/objects/domains", text).await.0, StatusCode::NOT_FOUND);
}
