//! The FQDN analyzer and the registry of address space.

use super::site;
use axum::http::StatusCode;
use model::address_space::Place;
use model::fqdn::FqdnReport;
use model::ids::Caller;
use serde_json::json;
use service::resources::{ClaimDraft, ResourceBackend as _};

#[tokio::test]
async fn a_host_name_comes_with_the_claims_that_cover_its_addresses() {
    let site = site().await;
    let report = async || {
        let (status, r) = site.json::<FqdnReport>("/api/v1/fqdn?name=www.q7.io").await;
        assert_eq!(status, StatusCode::OK);
        r.unwrap()
    };
    let first = report().await;
    assert!(first.address_space.is_empty(), "no address space is claimed: {:?}", first.address_space);
    let v4 = *first.addresses.iter().find(|a| a.is_ipv4()).unwrap();
    let draft = ClaimDraft {
        name: "web".into(),
        expected: None,
        metadata: "{}".into(),
        spec: serde_json::from_value(json!({
            "addressSpace": [{ "prefix": format!("{v4}/32"), "reference": { "group": "apps", "resource": "services" } }],
        }))
        .unwrap(),
        dry_run: false,
    };
    site.services.save_network_claim(&Caller::system(), &draft).await.unwrap();
    let r = report().await;
    assert_eq!(r.address_space.len(), r.addresses.len());
    for space in &r.address_space {
        let place = if space.address == v4 { Place::Claimed } else { Place::Elsewhere };
        assert_eq!(space.place, place, "{space:?}");
    }
    let claimed = r.address_space.iter().find(|s| s.address == v4).unwrap();
    assert_eq!(
        (claimed.claim.as_deref(), claimed.component.as_deref()),
        (Some("web"), Some("apps/services"))
    );
    assert!(
        claimed.sentence.starts_with(&format!("www.q7.io points to {v4}, which {v4}/32 of claim web covers"))
    );
    // The terminal shows the sentence, the page the claim.
    let text = server::cli::text::fqdn::report(&r, false);
    assert!(text.contains("Address space") && text.contains(&claimed.sentence), "{text}");
    let page = site.get("/tools/fqdn?name=www.q7.io").await;
    let body = axum::body::to_bytes(page.into_body(), 8 << 20).await.unwrap();
    let html = String::from_utf8_lossy(&body);
    assert!(
        html.contains("web · apps/services") && html.contains(&format!("/networks?block={v4}%2F32")),
        "{html}"
    );
}

#[tokio::test]
async fn a_scan_comes_with_the_claims_that_cover_its_addresses() {
    let site = site().await;
    let scan = async || {
        let (status, r) = site.json::<service::ScanReport>("/api/v1/scan?name=q7.io").await;
        assert_eq!(status, StatusCode::OK);
        r.unwrap()
    };
    let first = scan().await;
    assert!(first.address_space.is_empty(), "no address space is claimed: {:?}", first.address_space);
    let (_, address) = first.observation.addresses().find(|(_, a)| a.is_ipv4()).unwrap();
    let draft = |name: &str, prefix: String| ClaimDraft {
        name: name.into(),
        expected: None,
        metadata: "{}".into(),
        spec: serde_json::from_value(json!({
            "addressSpace": [{ "prefix": prefix, "reference": { "group": "apps", "resource": "services" } }],
        }))
        .unwrap(),
        dry_run: false,
    };
    let operator = Caller::system();
    site.services.save_network_claim(&operator, &draft("web", format!("{address}/32"))).await.unwrap();
    let r = scan().await;
    let claimed = r.address_space.iter().find(|s| s.address == address).unwrap();
    assert_eq!((claimed.place, claimed.claim.as_deref()), (Place::Claimed, Some("web")));
    let (_, trace) = site.json::<model::dns::Trace>("/api/v1/trace?name=q7.io&type=A").await;
    let space = trace.unwrap().address_space;
    assert!(space.iter().any(|s| s.address == address && s.claim.as_deref() == Some("web")), "{space:?}");
    let (_, compared) = site.json::<model::compare::Comparison>("/api/v1/compare?name=q7.io&type=A").await;
    let space = compared.unwrap().address_space;
    assert!(space.iter().any(|s| s.address == address && s.claim.as_deref() == Some("web")), "{space:?}");
    let page = site.get("/tools/compare?name=q7.io&type=A").await;
    let body = axum::body::to_bytes(page.into_body(), 8 << 20).await.unwrap();
    assert!(String::from_utf8_lossy(&body).contains("web · apps/services"), "the comparison shows the claim");
    let page = site.get("/tools/scan?name=q7.io").await;
    let body = axum::body::to_bytes(page.into_body(), 8 << 20).await.unwrap();
    let html = String::from_utf8_lossy(&body);
    assert!(html.contains("web · apps/services"), "{html}");
    // Released, it is a finding as on the page of a domain.
    site.services.delete_network_claim(&operator, "web", None).await.unwrap();
    let r = scan().await;
    assert!(r.observation.findings.iter().any(|f| f.tag == "ADDRESS_IN_RELEASED_SPACE"), "{r:?}");
}
