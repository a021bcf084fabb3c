//! The schedule waits for its turn at a registry, and a clock that was wrong holds up no later scan.

use crate::stage::{Stage, registration};
use jiff::{Timestamp, ToSpan};
use model::ids::{OrgId, Vantage};
use model::item::ItemPatch;
use monitor::Clock;

impl Stage {
    /// The schedule's scan of now: when it wants to come back, what was looked at (DNS, registry), and the stored error.
    async fn scheduled(&self) -> (Option<Timestamp>, (u32, u32), Option<String>) {
        *self.world.looks.lock().unwrap() = (0, 0);
        let scanned = self.scanner.scan_in_turn(&self.name, false).await.unwrap();
        let looks = *self.world.looks.lock().unwrap();
        assert_eq!(scanned.recorded, looks != (0, 0), "recorded is what was looked at");
        let stored = self.scanner.store.observation(&self.name, &Vantage::local()).await.unwrap().unwrap();
        let error = stored.observation.registration.error.map(|e| e.sentence);
        (scanned.again_at, *self.world.looks.lock().unwrap(), error)
    }

    fn no_room_for(&self, minutes: i64) -> Timestamp {
        let at = self.world.now() + minutes.minutes();
        *self.world.no_room.lock().unwrap() = Some(at);
        at
    }

    fn minutes_later(&self, minutes: i64) {
        *self.world.now.lock().unwrap() += minutes.minutes();
    }
}

#[tokio::test]
async fn a_registration_whose_turn_comes_later_is_the_rest_of_the_same_scan() {
    let s = Stage::new().await;
    // Nothing is known yet: the wait is told, and the DNS is seen at once.
    let turn = s.no_room_for(3);
    assert_eq!(s.scheduled().await, (Some(turn), (1, 0), Some("our own limit".into())));
    // Someone else was faster: nothing new, nothing recorded.
    s.minutes_later(3);
    let head = s.scanner.store.head().await.unwrap();
    let turn = s.no_room_for(2);
    let (again, looks, _) = s.scheduled().await;
    assert_eq!((again, looks), (Some(turn), (0, 0)));
    assert_eq!(s.scanner.store.head().await.unwrap(), head);
    // Its turn: the registry alone is asked.
    s.minutes_later(2);
    assert_eq!(s.scheduled().await, (None, (0, 1), None));
    // Seven hours later both are due. That the registry has no room for a while is not worth an error.
    s.later(7);
    let turn = s.no_room_for(5);
    assert_eq!(s.scheduled().await, (Some(turn), (1, 0), None));
    s.minutes_later(5);
    assert_eq!(s.scheduled().await, (None, (0, 1), None));
    assert!(s.events().await.is_empty());
}

/// A domain with an interval of its own, near its expiration: each scan reads the registration, and looks at the DNS too.
#[tokio::test]
async fn what_is_recent_follows_from_the_interval_of_the_domain() {
    let s = Stage::new().await;
    let patch = ItemPatch { scan_interval: Some(Some(300)), ..ItemPatch::default() };
    s.scanner.store.patch(OrgId::BUILT_IN, &s.name, &patch, s.world.now()).await.unwrap();
    s.world_is(Ok(registration("2026-11-30T13:58:57Z")));
    for _ in 0..3 {
        assert_eq!(s.scheduled().await.1, (1, 1));
        s.minutes_later(5);
    }
    // A wait of more than half its interval is shown, a shorter one is not.
    let turn = s.no_room_for(2);
    assert_eq!(s.scheduled().await, (Some(turn), (1, 0), None));
    s.minutes_later(5);
    let turn = s.no_room_for(3);
    assert_eq!(s.scheduled().await, (Some(turn), (1, 0), Some("our own limit".into())));
}

#[tokio::test]
async fn a_long_wait_is_shown_and_not_asked_about_before_its_time() {
    let s = Stage::new().await;
    s.scheduled().await;
    s.later(7);
    let turn = s.no_room_for(5 * 60);
    assert_eq!(s.scheduled().await, (Some(turn), (1, 0), Some("our own limit".into())));
    // The place in the queue is kept: scheduled scans look at the DNS and do not ask for another.
    s.later(1);
    *s.world.no_room.lock().unwrap() = None;
    assert_eq!(s.scheduled().await, (Some(turn), (1, 0), Some("our own limit".into())));
    // A person does not wait for the schedule's turn.
    assert!(!s.scanner.scan(&s.name, true).await.unwrap().failed);
    assert_eq!(s.scheduled().await, (None, (1, 0), None), "fresh now");
}

/// A machine whose clock was ten years ahead when it scanned, and was then set right.
#[tokio::test]
async fn a_clock_that_was_ahead_keeps_nothing_fresh_and_nobody_waiting() {
    let s = Stage::new().await;
    s.later(10 * 365 * 24);
    s.scheduled().await;
    s.later(-10 * 365 * 24);
    assert_eq!(s.scheduled().await.1, (1, 1), "looked at again");
    s.later(7);
    // A turn in ten years, told by that clock, is no turn.
    s.no_room_for(10 * 365 * 24 * 60);
    s.scheduled().await;
    *s.world.no_room.lock().unwrap() = None;
    s.later(1);
    assert_eq!(s.scheduled().await, (None, (1, 1), None));
}
