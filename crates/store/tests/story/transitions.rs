//! Since when scans and status of a holding are as they are.

use crate::world::{ONE, Place, add, later, name, scan};
use model::inventory::Transitions;
use model::status::{Status, StatusKind};
use store::Store;

/// The transitions of the holding after a scan in this minute, which found this status and this error.
async fn scanned(s: &dyn Store, minute: i64, kind: StatusKind, error: Option<&str>) -> Transitions {
    let mut record = scan(s, "q7.io", &[], later(minute)).await;
    for outcome in &mut record.outcomes {
        outcome.item.status = Status { kind, ..Status::never_scanned() };
        outcome.row.status = outcome.item.status.clone();
        outcome.row.error = error.map(str::to_owned);
        // A row is computed from the scan alone.
        outcome.row.transitions = Transitions::default();
    }
    s.record(&record).await.expect("records");
    s.domain_object(ONE, &name("q7.io")).await.unwrap().unwrap().row.transitions
}

pub async fn a_transition_is_when_the_word_changes(place: &Place) {
    let s = place.open().await;
    add(&*s, ONE, &["q7.io"]).await;
    let at = |observed: Option<i64>, healthy: Option<i64>| Transitions {
        observed: observed.map(later),
        healthy: healthy.map(later),
        ..Transitions::default()
    };
    assert_eq!(scanned(&*s, 1, StatusKind::Unknown, Some("silent")).await, at(None, None));
    assert_eq!(scanned(&*s, 2, StatusKind::Normal, None).await, at(Some(2), Some(2)));
    assert_eq!(scanned(&*s, 3, StatusKind::Secure, None).await, at(Some(2), Some(2)), "as good as before");
    assert_eq!(scanned(&*s, 4, StatusKind::Warning, None).await, at(Some(2), Some(4)));
    assert_eq!(scanned(&*s, 5, StatusKind::Critical, Some("silent")).await, at(Some(5), Some(4)));
    // Judged again by time alone.
    let (mut item, mut row) = s.item(ONE, &name("q7.io")).await.unwrap().unwrap();
    item.status.kind = StatusKind::Normal;
    row.status = item.status.clone();
    row.transitions = Transitions::default();
    s.update_judged(&[(item, row)], later(6)).await.unwrap();
    let shown = s.domain_object(ONE, &name("q7.io")).await.unwrap().unwrap().row;
    assert_eq!(shown.transitions, at(Some(5), Some(6)));
}
