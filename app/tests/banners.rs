//! What stands above the pages when something is wrong with the installation, or waits for a second look.

mod support;

use model::Timestamp;
use model::health::{FaultKind, OwnFault};
use service::Health;
use support::backend::Sample;
use support::{page, read, router, says, story};

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

#[tokio::test]
async fn faults_of_the_installation_and_overdue_checks_are_above_every_page() {
    let fault = |kind, sentence: &str| OwnFault {
        kind,
        sentence: sentence.into(),
        since: at("2026-11-20T13:00:00Z"),
    };
    let health = Health {
        overdue_s: Some(3900),
        faults: vec![
            fault(FaultKind::NetworkDown, "No name server answers."),
            fault(FaultKind::RootInvalid, "The root zone does not validate."),
        ],
    };
    let site = router(Sample { health, ..Sample::story() }, "");
    for page in ["/domains", "/events", "/domains/alder.example", "/settings/notifications"] {
        let t = read(&site, page).await;
        says(
            &t,
            &[
                FaultKind::NetworkDown.title(),
                "No name server answers. Since Nov 20, 2026, 13:00 UTC.",
                FaultKind::RootInvalid.title(),
                "Checks are overdue",
                "The oldest check is 65 min late",
            ],
        );
    }
    let hours = Health { overdue_s: Some(3 * 3600), faults: vec![] };
    let t = read(&router(Sample { health: hours, ..Sample::story() }, ""), "/domains").await;
    says(&t, &["The oldest check is 3 h late"]);
    let t = read(&story(), "/domains").await;
    for words in ["Checks are overdue", FaultKind::NetworkDown.title()] {
        assert!(!t.contains(words), "{words} without reason");
    }
}

#[tokio::test]
async fn a_change_that_waits_for_a_second_look_says_so() {
    let change = |field: &str| {
        serde_json::json!({
            "kind": "record_changed", "severity": "notice", "field": field, "old": "192.0.2.1", "new": "192.0.2.9",
            "source": "ns1.meridian-dns.example"
        })
    };
    let pending = |field: &str, flips: usize| {
        let flips = vec!["2026-11-20T12:00:00Z"; flips];
        serde_json::from_value(serde_json::json!({
            "kind": "record_changed", "field": field, "change": change(field), "since": "2026-11-20T13:55:00Z",
            "flips": flips
        }))
        .unwrap()
    };
    let mut sample = Sample::story();
    let of = |d: &&mut support::world::Domain| d.item.name.as_str() == "alder.example";
    let domain = sample.domains.iter_mut().find(of).unwrap();
    let observation = domain.observation.as_mut().unwrap();
    observation.pending = vec![pending("www A", 1), pending("mail A", 9)];
    let router = router(sample, "");
    for tab in ["/domains/alder.example", "/domains/alder.example/events"] {
        let t = read(&router, tab).await;
        says(
            &t,
            &[
                "Being confirmed by a second scan",
                "www A went from 192.0.2.1 to 192.0.2.9.",
                "Changes often; reported when it stays the same for a day",
                "mail A went from 192.0.2.1 to 192.0.2.9.",
            ],
        );
    }
    let (_, html) = page(&router, "/domains").await;
    assert!(
        html.contains("Confirming")
            && html.contains("title=\"1 change is being confirmed by a second scan\"")
    );
    assert!(!read(&story(), "/domains").await.contains("Confirming"));
    assert!(!read(&story(), "/domains/alder.example").await.contains("Being confirmed"));
}
