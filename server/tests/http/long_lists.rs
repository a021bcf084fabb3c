//! The resource API: lists that are longer than what is read at once.

use crate::site::{BEARER, Site, site};
use axum::body::{Body, Bytes};
use axum::http::Request;
use futures::StreamExt as _;
use model::ids::OrgId;
use model::item::Ownership;
use model::names::DomainName;
use serde_json::{Value, json};
use store::NewItem;
use tower::ServiceExt as _;

const DOMAINS: &str = "/apis/datumapis.com/v1alpha/namespaces/default/domains";
const HELD: usize = 2_345;

async fn add(site: &Site, names: impl Iterator<Item = String>) {
    let new = |name: String| NewItem {
        name: DomainName::trusted(&name),
        unicode: name,
        ownership: Ownership::Owned,
        tags: Vec::new(),
        note: String::new(),
    };
    let items: Vec<NewItem> = names.map(new).collect();
    site.scanner.store.add(OrgId::BUILT_IN, &items, model::Timestamp::now()).await.unwrap();
}

async fn many() -> Site {
    let site = site(false).await;
    add(&site, (0..HELD).map(|i| format!("d{i:04}.example"))).await;
    site
}

/// The parts of a body as they come.
async fn parts(site: &Site, query: &str, accept: &str) -> impl futures::Stream<Item = Bytes> + Unpin {
    let request = Request::get(format!("{DOMAINS}?{query}")).header("host", "localhost:8080");
    let request = request.header("authorization", BEARER).header("accept", accept);
    let answer = site.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(answer.status().as_u16(), 200);
    answer.into_body().into_data_stream().map(|part| part.expect("goes on"))
}

async fn whole(site: &Site, query: &str, accept: &str) -> Value {
    let parts: Vec<Bytes> = parts(site, query, accept).await.collect().await;
    serde_json::from_slice(&parts.concat()).unwrap()
}

async fn json_of(site: &Site, query: &str) -> Value {
    whole(site, query, "application/json").await
}

fn names(objects: &Value) -> Vec<String> {
    let each = objects.as_array().unwrap().iter();
    each.map(|o| o["metadata"]["name"].as_str().unwrap().to_string()).collect()
}

#[tokio::test]
async fn a_list_without_a_limit_is_the_one_in_chunks_and_is_sent_in_parts() {
    let site = many().await;
    let mut chunks = Vec::new();
    let mut token = String::new();
    let chunked = loop {
        let mut chunk = json_of(&site, &format!("limit=500&continue={token}")).await;
        let rv = chunk["metadata"]["resourceVersion"].take();
        chunks.extend(chunk["items"].take().as_array().unwrap().clone());
        match chunk["metadata"]["continue"].as_str() {
            Some(next) => token = next.to_string(),
            None => {
                break json!({ "rv": rv, "items": chunks, "kind": chunk["kind"], "apiVersion": chunk["apiVersion"] });
            }
        }
    };
    let sent: Vec<Bytes> = parts(&site, "", "application/json").await.collect().await;
    let all: Value = serde_json::from_slice(&sent.concat()).unwrap();
    let flat = json!({
        "rv": all["metadata"]["resourceVersion"], "items": all["items"], "kind": all["kind"],
        "apiVersion": all["apiVersion"],
    });
    assert!(all["metadata"].get("continue").is_none() && flat == chunked, "{}", all["metadata"]);
    assert_eq!(names(&all["items"]).len(), HELD);
    // No part has more than a hundred and one of the objects.
    let most = sent.iter().map(Bytes::len).max().unwrap();
    let length: usize = sent.iter().map(Bytes::len).sum();
    assert!(
        sent.len() > HELD / 101 && most < length / 20,
        "{} parts, the longest {most} of {length}",
        sent.len()
    );
    // Tables, metadata alone, and long chunks are sent so, too.
    let table = whole(&site, "", "application/json;as=Table;v=v1;g=meta.k8s.io").await;
    let rows: Vec<Value> = table["rows"].as_array().unwrap().iter().map(|r| r["object"].clone()).collect();
    assert_eq!(names(&rows.into()), names(&all["items"]));
    assert_eq!((&table["kind"], &table["columnDefinitions"][0]["name"]), (&json!("Table"), &json!("Name")));
    assert_eq!(table["metadata"], all["metadata"]);
    let partial = whole(&site, "", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io").await;
    assert_eq!(names(&partial["items"]), names(&all["items"]));
    assert_eq!(
        (&partial["kind"], &partial["metadata"]),
        (&json!("PartialObjectMetadataList"), &all["metadata"])
    );
    let yaml: Vec<Bytes> = parts(&site, "", "application/yaml").await.collect().await;
    let yaml: Value = serde_saphyr::from_str(std::str::from_utf8(&yaml.concat()).unwrap()).unwrap();
    assert!(yaml == all, "{}", yaml["metadata"]);
    let mut first = json_of(&site, "limit=1000").await;
    let token = first["metadata"]["continue"].take().as_str().unwrap().to_string();
    let rest = json_of(&site, &format!("limit=100000&continue={token}")).await;
    assert_eq!(names(&first["items"])[..], names(&all["items"])[..1_000]);
    assert_eq!(names(&rest["items"])[..], names(&all["items"])[1_000..]);
    assert!(rest["metadata"].get("continue").is_none(), "{}", rest["metadata"]);
}

#[tokio::test]
async fn few_that_match_are_found_in_a_long_list() {
    let site = many().await;
    for i in [0, 1_200, HELD - 1] {
        let (status, e) = {
            let patch = json!({ "metadata": { "labels": { "team": "web" } } }).to_string();
            let headers = [("authorization", BEARER), ("content-type", "application/merge-patch+json")];
            site.ask("PATCH", &format!("{DOMAINS}/d{i:04}.example"), &headers, &patch).await
        };
        assert_eq!(status.as_u16(), 200, "{e}");
    }
    let found = json_of(&site, "labelSelector=team%3Dweb").await;
    assert_eq!(names(&found["items"]), ["d0000.example", "d1200.example", "d2344.example"]);
    let first = json_of(&site, "labelSelector=team%3Dweb&limit=2").await;
    let token = first["metadata"]["continue"].as_str().unwrap();
    let rest = json_of(&site, &format!("labelSelector=team%3Dweb&limit=2&continue={token}")).await;
    assert_eq!((names(&first["items"]).len(), names(&rest["items"])), (2, vec!["d2344.example".to_string()]));
    assert_eq!(json_of(&site, "labelSelector=team%3Dnone").await["items"], json!([]));
    assert_eq!(
        json_of(&site, "labelSelector=team%21%3Dweb").await["items"].as_array().unwrap().len(),
        HELD - 3
    );
}

/// What changes meanwhile may be in the list or not; a watch from its position has it.
#[tokio::test]
async fn a_long_list_has_the_position_of_its_beginning() {
    let site = many().await;
    let before = json_of(&site, "limit=1").await["metadata"]["resourceVersion"].clone();
    let mut list = parts(&site, "", "application/json").await;
    let mut text = list.next().await.unwrap().to_vec();
    add(&site, std::iter::once("z.example".to_string())).await;
    site.scanner
        .store
        .remove(OrgId::BUILT_IN, &[DomainName::trusted("d2344.example")], model::Timestamp::now())
        .await
        .unwrap();
    while let Some(part) = list.next().await {
        text.extend_from_slice(&part);
    }
    let list: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(list["metadata"]["resourceVersion"], before);
    let names = names(&list["items"]);
    assert_eq!((names.len(), names.last().map(String::as_str)), (HELD, Some("z.example")));
    let rv = before.as_str().unwrap();
    let watch = format!("watch=true&resourceVersion={rv}");
    let mut changes = parts(&site, &watch, "application/json").await;
    let mut seen = Vec::new();
    for _ in 0..2 {
        let line: Value = serde_json::from_slice(&changes.next().await.unwrap()).unwrap();
        seen.push(format!(
            "{} {}",
            line["type"].as_str().unwrap(),
            line["object"]["metadata"]["name"].as_str().unwrap()
        ));
    }
    assert_eq!(seen, ["ADDED z.example", "DELETED d2344.example"]);
}
