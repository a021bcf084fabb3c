use super::*;
use serde_json::json;

fn shared(limits: TailLimits, together: &Arc<AtomicUsize>) -> (Arc<Shared>, Tail) {
    let at = LogPosition(10);
    let ring = Ring { from: at, read_to: at, changes: VecDeque::new(), weight: 0, end: None };
    let (moved, receiver) = watch::channel(());
    let shared = Arc::new(Shared { ring: Mutex::new(ring), moved, limits, together: together.clone() });
    (shared.clone(), Tail { shared, moved: receiver })
}

fn change(rv: i64, text: &str) -> Change {
    let object = json!({ "metadata": { "name": "a", "resourceVersion": rv.to_string() }, "spec": text });
    Change { rv: LogPosition(rv), op: Op::Update, name: "a".into(), object, lines: Default::default() }
}

fn found(tail: &mut Tail, at: i64) -> String {
    match tail.after(LogPosition(at), 2) {
        Found::Changes(all) => all.iter().map(|c| c.rv.0.to_string()).collect::<Vec<_>>().join(" "),
        Found::Nothing(read_to) => format!("nothing up to {}", read_to.0),
        Found::Gone => "gone".into(),
        Found::Ended(failure) => failure.reason.into(),
    }
}

#[test]
fn a_ring_keeps_the_newest_changes_within_its_limits() {
    let together = Arc::default();
    let (ring, mut tail) = shared(TailLimits { changes: 3, ..TailLimits::default() }, &together);
    assert_eq!((found(&mut tail, 10), found(&mut tail, 9)), ("nothing up to 10".into(), "gone".into()));
    for rv in [12, 14, 16] {
        ring.push(change(rv, ""));
    }
    // A few at a time, from a position between two changes too.
    assert_eq!((found(&mut tail, 10), found(&mut tail, 13)), ("12 14".into(), "14 16".into()));
    assert!(tail.reaches_back_to(LogPosition(10)));
    ring.push(change(18, ""));
    // One fell out: who has read it goes on, who has not is too late.
    assert_eq!((found(&mut tail, 12), found(&mut tail, 11)), ("14 16".into(), "gone".into()));
    assert!(!tail.reaches_back_to(LogPosition(11)) && tail.reaches_back_to(LogPosition(12)));
    assert_eq!(found(&mut tail, 20), "nothing up to 20");
    ring.ring().end = Some(Failure::expired());
    assert_eq!((found(&mut tail, 16), found(&mut tail, 18)), ("18".into(), "Expired".into()));
}

#[test]
fn memory_is_bounded_for_one_ring_and_for_all_and_returned() {
    let together = Arc::new(AtomicUsize::new(0));
    let text = "x".repeat(1_000);
    let one = change(1, &text).weight();
    let limits = TailLimits { changes: 100, octets: 4 * one, octets_together: 6 * one + 100 * WEIGHT };
    let (a, _a) = shared(limits, &together);
    let (b, _b) = shared(limits, &together);
    for rv in 11..30 {
        a.push(change(rv, &text));
        assert!(a.ring().weight <= limits.octets);
    }
    let kept = a.ring().changes.len();
    assert!((3..=4).contains(&kept), "{kept}");
    for rv in 30..50 {
        b.push(change(rv, &text));
        assert!(together.load(Ordering::Relaxed) <= limits.octets_together);
    }
    // A change that is larger than all the limits is kept as long as it is the newest.
    b.push(change(50, &"x".repeat(100_000)));
    assert_eq!(b.ring().changes.len(), 1);
    drop((a, _a, b, _b));
    assert_eq!(together.load(Ordering::Relaxed), 0);
}

#[test]
fn a_line_is_made_once() {
    let change = change(7, "x");
    assert!(Arc::ptr_eq(&change.line(EventType::Added), &change.line(EventType::Added)));
    let event: Value = serde_json::from_slice(&change.line(EventType::Deleted)).unwrap();
    assert_eq!((event["type"].as_str(), &event["object"]), (Some("DELETED"), &change.object));
}

#[tokio::test]
async fn a_watch_is_woken_by_what_comes_after_its_last_look() {
    let (ring, mut tail) = shared(TailLimits::default(), &Arc::default());
    assert_eq!(found(&mut tail, 10), "nothing up to 10");
    ring.push(change(11, ""));
    tail.changed().await;
    assert_eq!(found(&mut tail, 10), "11");
}
