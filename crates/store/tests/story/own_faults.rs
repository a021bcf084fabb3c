//! Faults that processes tell each other of.

use crate::world::Place;
use jiff::{Timestamp, ToSpan};
use model::health::{FaultKind, OwnFault};
use model::ids::OrgId;

pub async fn faults_are_kept_by_process_and_forgotten(place: &Place) {
    let s = place.open().await;
    let at = |minutes: i64| "2026-11-20T14:00:00Z".parse::<Timestamp>().unwrap() + minutes.minutes();
    let fault = |kind, minutes| OwnFault { kind, since: at(minutes), sentence: "100 % of it.".into() };
    let (root, part) = (fault(FaultKind::RootInvalid, 0), fault(FaultKind::PartOfNetworkDown, 1));
    s.report_own_faults("a", &[root.clone(), part.clone()], at(2), at(-90)).await.unwrap();
    s.report_own_faults("b", std::slice::from_ref(&root), at(3), at(-90)).await.unwrap();
    s.set_setting(OrgId::BUILT_IN, "other", "{}", at(0)).await.unwrap();
    let told = async |since| {
        let all = s.own_faults(since).await.unwrap();
        all.into_iter().map(|f| (f.process, f.at, f.fault.kind)).collect::<Vec<_>>()
    };
    let of_b = ("b".to_string(), at(3), FaultKind::RootInvalid);
    let both = [
        ("a".to_string(), at(2), FaultKind::PartOfNetworkDown),
        ("a".to_string(), at(2), FaultKind::RootInvalid),
        of_b.clone(),
    ];
    assert_eq!(told(at(0)).await, both);
    assert_eq!(told(at(3)).await, std::slice::from_ref(&of_b), "what was said lately");
    assert_eq!(s.own_faults(at(0)).await.unwrap()[0].fault, part);
    // One ends its fault; what the other said is forgotten once it is old.
    s.report_own_faults("a", &[], at(4), at(-90)).await.unwrap();
    assert_eq!(told(at(0)).await, [of_b]);
    s.report_own_faults("a", &[], at(100), at(4)).await.unwrap();
    assert_eq!(told(at(0)).await, []);
    assert!(s.setting(OrgId::BUILT_IN, "other").await.unwrap().is_some());
}
