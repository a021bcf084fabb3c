//! Domains that are exported and imported: filters, selections, files, page by page.

use crate::function;
use crate::site::{BEARER, site};
use axum::body::Body;
use axum::http::{Request, StatusCode};
use futures::StreamExt;
use model::Timestamp;
use model::names::DomainName;
use serde_json::{Value, json};
use tower::ServiceExt;

#[tokio::test]
async fn export_holds_the_current_filter_and_no_formula() {
    let site = site(false).await;
    let body = json!({ "names": ["alder.example", "q7.io"], "tags": ["=cmd"] });
    site.api("POST", "/api/v1/domains", body).await;
    let key = ("authorization", BEARER);
    let (status, csv) = site.ask("GET", "/domains.csv?q=alder", &[key], "").await;
    assert_eq!(status, StatusCode::OK);
    let lines: Vec<_> = csv.lines().collect();
    assert_eq!(lines.len(), 2, "{csv}");
    assert!(lines[1].starts_with("alder.example,") && lines[1].contains("'=cmd"), "{csv}");
    let (_, all) = site.ask("GET", "/domains.json", &[key], "").await;
    assert_eq!(serde_json::from_str::<Value>(&all).unwrap()["domains"].as_array().unwrap().len(), 2);
}

/// Fields of a form as a browser sends them.
fn form(fields: &[(&str, &str)]) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}

#[tokio::test]
async fn our_own_export_is_imported_without_loss() {
    let site = site(false).await;
    let key = ("authorization", BEARER);
    let names = ["alder.example", "q7.io", "halcyon.example"];
    site.api("POST", "/api/v1/domains", json!({ "names": names })).await;
    let said = json!({ "note": "=paid by card,\n\"Mira\" knows", "tags": ["prod", "=cmd", "two words"],
        "manual_expires": "2031-05-06", "auto_renew": false, "ownership": "watched" });
    site.api("PATCH", "/api/v1/domains/q7.io", said).await;
    site.api("PATCH", "/api/v1/domains/alder.example", json!({ "note": "'-quoted", "auto_renew": true }))
        .await;
    let items = async || {
        let mut items = Vec::new();
        for name in names {
            let (_, detail) = site.api("GET", &format!("/api/v1/domains/{name}"), Value::Null).await;
            let item = &detail["item"];
            items
                .push(["ownership", "tags", "note", "manual_expires", "auto_renew"].map(|k| item[k].clone()));
        }
        items
    };
    let before = items().await;
    let (status, csv) = site.ask("GET", "/domains.csv", &[key], "").await;
    assert_eq!(status, StatusCode::OK, "{csv}");
    for name in names {
        site.api("DELETE", &format!("/api/v1/domains/{name}"), Value::Null).await;
    }

    let body = form(&[("text", &csv), ("ownership", "owned"), ("tags", "")]);
    let (status, preview) = function(&site, "preview_add", &[key], &body).await;
    assert_eq!(status, StatusCode::OK, "{preview}");
    assert_eq!(preview["lines"].as_array().map(Vec::len), Some(3), "{preview}");
    assert!(preview["ignored_columns"].to_string().contains("Registrar"), "{preview}");
    let (_, page) = site.api("GET", "/api/v1/domains", Value::Null).await;
    assert_eq!(page["total"], 0, "a preview changes nothing");

    let (status, lines) = function(&site, "add", &[key], &body).await;
    assert_eq!((status, lines.as_array().map(Vec::len)), (StatusCode::OK, Some(3)), "{lines}");
    assert_eq!(items().await, before);
    let (_, detail) = site.api("GET", "/api/v1/domains/q7.io", Value::Null).await;
    assert_eq!(detail["row"]["expires"], "2031-05-06", "judged by what was imported");

    let (_, again) = function(&site, "preview_add", &[key], &body).await;
    let held = again["lines"].as_array().unwrap().iter().all(|l| l["result"]["result"] == "duplicate");
    assert!(held, "{again}");
}

#[tokio::test]
async fn a_file_is_refused_line_by_line_and_selected_domains_are_exported() {
    let site = site(false).await;
    let key = ("authorization", BEARER);
    let text = "domain,ownership,tags\nq7.io,watched,core\nalder.example,mine,\nhalcyon.example,,\"a,b\"\n";
    let (status, lines) = function(&site, "add", &[key], &form(&[("text", text), ("tags", "prod")])).await;
    assert_eq!(status, StatusCode::OK, "{lines}");
    assert_eq!(lines[1]["line"], 3);
    assert!(lines[1]["result"]["reason"].as_str().unwrap().contains("“mine” is not an ownership"), "{lines}");
    let (_, detail) = site.api("GET", "/api/v1/domains/q7.io", Value::Null).await;
    assert_eq!(
        (&detail["item"]["ownership"], &detail["item"]["tags"]),
        (&json!("watched"), &json!(["core", "prod"]))
    );
    assert_eq!(site.api("GET", "/api/v1/domains/alder.example", Value::Null).await.0, StatusCode::NOT_FOUND);
    let (status, said) =
        function(&site, "add", &[key], &form(&[("text", "x.example"), ("ownership", "mine")])).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{said}");

    let sent = ("content-type", "application/x-www-form-urlencoded");
    let chosen = form(&[("names[]", "halcyon.example"), ("names[]", "never.example")]);
    let (status, csv) = site.ask("POST", "/domains.csv", &[key, sent], &chosen).await;
    assert_eq!((status, csv.lines().count()), (StatusCode::OK, 2), "{csv}");
    assert!(csv.contains("halcyon.example,") && csv.contains("\"a, b, prod\""), "{csv}");
    let (_, names) = function(&site, "names", &[key], "query=q%3Dalcyon").await;
    assert_eq!(names, json!(["halcyon.example"]));
}

#[tokio::test]
async fn an_export_is_sent_page_by_page_and_ends() {
    let site = site(false).await;
    let fill = |from: usize, to: usize| {
        let items: Vec<_> = (from..to)
            .map(|n| DomainName::trusted(&format!("d{n:04}.example")))
            .map(|name| store::NewItem {
                unicode: name.unicode(),
                name,
                ownership: model::item::Ownership::Owned,
                tags: vec![],
                note: String::new(),
            })
            .collect();
        let store = site.scanner.store.clone();
        async move { store.add(model::ids::OrgId::BUILT_IN, &items, Timestamp::now()).await.unwrap() }
    };
    let frames = |path: &'static str| {
        let key = ("authorization", BEARER);
        let request = Request::get(path).header("host", "localhost").header(key.0, key.1);
        let router = site.router.clone();
        async move {
            let answer = router.oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
            assert_eq!(answer.status(), StatusCode::OK);
            let parts: Vec<_> = answer.into_body().into_data_stream().collect().await;
            parts.into_iter().map(|p| String::from_utf8(p.unwrap().to_vec()).unwrap()).collect::<Vec<_>>()
        }
    };
    // As many as fit one page exactly: there is no second one, though it was asked for before.
    for (from, to, pages) in [(0, 500, 1), (500, 1001, 3)] {
        fill(from, to).await;
        let parts = frames("/domains.json?sort=-name").await;
        let all: Value = serde_json::from_str(&parts.concat()).unwrap();
        let names: Vec<_> =
            all["domains"].as_array().unwrap().iter().map(|d| d["name"].to_string()).collect();
        assert_eq!(names.len(), to);
        assert!(names.windows(2).all(|w| w[0] > w[1]), "in the order of the list");
        assert_eq!(parts.len(), pages + 2, "the frame around and a part for each page");
    }
    let csv = frames("/domains.csv").await.concat();
    assert_eq!(csv.lines().count(), 1002);
    assert_eq!(csv.lines().filter(|l| l.starts_with("Domain Name,")).count(), 1);
    assert_eq!(frames("/domains.json?q=nothing-like-this").await.concat(), "{\"domains\":[]}");
}
