//! Records that come back to sets they had before, with any period: a few reports, then one finding.

use super::confirm::{CALM, Watch, World};
use proptest::prelude::*;

/// An hour of looks at a record with this set, with the second look where something waits.
fn hour(w: &mut Watch, set: u8) {
    let world = World { www: Some(set), ..CALM };
    if w.look(55, world).1 {
        w.look(5, world);
    } else {
        w.at_rest(5);
    }
}

fn hours(w: &mut Watch, set: u8, n: usize) {
    for _ in 0..n {
        hour(w, set);
    }
}

fn rotates_among(w: &Watch) -> Option<usize> {
    w.stored.pending.iter().find_map(|p| p.rotation.sets())
}

#[test]
fn what_alternates_every_eight_hours_is_one_finding_and_no_change_each_time() {
    for period in [3, 8, 24, 60] {
        let mut w = Watch::new();
        for turn in 0..40 {
            hours(&mut w, 1 + turn % 2, period);
        }
        assert_eq!(w.reported.len(), 3, "{period} h: there, back, and there again");
        assert_eq!(rotates_among(&w), Some(2), "{period} h");
        // It settles on either: that is reported once if it is not what was reported last, a week later.
        let last = w.reported.last().unwrap().1.new.clone();
        hours(&mut w, 1, 6 * 24);
        assert_eq!(w.reported.len(), 3);
        hours(&mut w, 1, 2 * 24);
        let settled = usize::from(last.as_deref() != Some("192.0.2.1"));
        assert_eq!(w.reported.len(), 3 + settled, "{period} h");
        assert_eq!((rotates_among(&w), w.stored.pending.len()), (None, 0), "{period} h");
        // From then on a change is a change again.
        hours(&mut w, 7, 2);
        assert_eq!(w.reported.len(), 4 + settled);
    }
}

#[test]
fn a_new_set_is_reported_while_others_rotate() {
    let mut w = Watch::new();
    for turn in 0..12 {
        hours(&mut w, 1 + turn % 2, 8);
    }
    assert_eq!(w.reported.len(), 3);
    hours(&mut w, 9, 8);
    assert_eq!(w.reported.last().unwrap().1.new.as_deref(), Some("192.0.2.9"));
    for turn in 0..12 {
        hours(&mut w, 1 + turn % 2, 8);
    }
    assert_eq!((w.reported.len(), rotates_among(&w)), (4, Some(3)));
}

#[test]
fn a_new_set_gets_its_second_look_soon_while_others_rotate() {
    // Every eight hours, and so often that the record flaps.
    for period in [8, 2] {
        let mut w = Watch::new();
        for turn in 0..40 {
            hours(&mut w, 1 + turn % 2, period);
        }
        let before = w.reported.len();
        let known = World { www: Some(1), ..CALM };
        assert_eq!(w.look(55, known), (0, false), "one of them");
        let new = World { www: Some(9), ..CALM };
        assert_eq!(w.look(60, new), (0, true), "every {period} h");
        assert_eq!(w.look(5, new), (1, false), "every {period} h");
        assert_eq!(w.reported.last().unwrap().1.new.as_deref(), Some("192.0.2.9"));
        // Back to what rotates: no report, and no look for its sake.
        assert_eq!(w.look(60, known), (0, false), "every {period} h");
        assert_eq!(w.reported.len(), before + 1);
    }
}

#[test]
fn sets_by_chance_are_not_reported_one_by_one() {
    // Of forty sets another each hour, more than are remembered.
    let mut w = Watch::new();
    for turn in 0..400_u32 {
        hour(&mut w, u8::try_from(turn * 7 % 40).unwrap() + 1);
    }
    assert!(w.reported.len() <= 4, "{}", w.reported.len());
}

#[test]
fn lost_packets_do_not_keep_a_record_from_settling() {
    let mut w = Watch::new();
    for turn in 0..13 {
        hours(&mut w, 1 + turn % 2, 8);
    }
    let before = w.reported.len();
    for day in 0..9 {
        hours(&mut w, 1, 23);
        // One look in a day sees something else.
        w.look(55, World { www: Some(100 + day), ..CALM });
        w.look(5, World { www: Some(1), ..CALM });
    }
    assert!(rotates_among(&w).is_none() && w.reported.len() <= before + 1, "{:?}", w.reported);
}

#[test]
fn what_was_stored_before_reads_without_a_rotation() {
    let text = r#"{"kind":"record_changed","field":"www.q7.io A","change":null,
        "since":"2026-11-20T14:05:00Z","flips":["2026-11-20T14:05:00Z"]}"#;
    let p: model::confirm::Pending = serde_json::from_str(text).unwrap();
    assert!(p.rotation.is_empty());
    assert!(!serde_json::to_string(&p).unwrap().contains("rotation"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// However a record goes to and fro among some sets, and however long each stays (less than a week): every set is
    /// reported once when it is new, and two returns.
    #[test]
    fn no_flapping_makes_more_than_a_few_reports(
        sets in 2_u8..9,
        script in prop::collection::vec((0_u8..8, 1_usize..80), 1..25),
    ) {
        let mut w = Watch::new();
        let mut set = 0;
        for (other, stays) in script {
            // Another one than before.
            set = (set + 1 + other % (sets - 1)) % sets;
            hours(&mut w, 1 + set, stays);
        }
        prop_assert!(w.reported.len() <= usize::from(sets) + 1, "{} of {sets} sets", w.reported.len());
    }
}
