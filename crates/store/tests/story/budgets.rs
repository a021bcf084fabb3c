//! Budgets of registry hosts: however many replicas count at the same time, nothing is counted twice or lost.

use crate::world::{Place, later, now};

pub async fn replicas_change_a_budget_one_after_the_other(place: &Place) {
    const EACH: u64 = 60;
    let s = place.open().await;
    assert_eq!(s.budget("whois.example").await.unwrap(), None);
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..6 {
        let s = place.open().await;
        tasks.spawn(async move {
            let mut overtaken = 0_u64;
            for _ in 0..EACH {
                loop {
                    let kept = s.budget("whois.example").await.unwrap();
                    let count: u64 = kept.as_ref().map_or(0, |(_, text)| text.parse().unwrap());
                    let next = (count + 1).to_string();
                    let version = kept.map(|k| k.0);
                    if s.swap_budget("whois.example", version, &next, now()).await.unwrap().is_some() {
                        break;
                    }
                    overtaken += 1;
                }
            }
            overtaken
        });
    }
    let overtaken: u64 = tasks.join_all().await.into_iter().sum();
    println!("overtaken {overtaken} times");
    let (version, count) = s.budget("whois.example").await.unwrap().unwrap();
    assert_eq!(count, (6 * EACH).to_string(), "every write was made from the one before it");

    // What was written is what the version names; an old version and a second beginning write nothing.
    let next = s.swap_budget("whois.example", Some(version), "{\"a\":1}", now()).await.unwrap().unwrap();
    assert!(next > version);
    assert_eq!(s.swap_budget("whois.example", Some(version), "old", now()).await.unwrap(), None);
    assert_eq!(s.swap_budget("whois.example", None, "new", now()).await.unwrap(), None);
    assert_eq!(s.budget("whois.example").await.unwrap(), Some((next, "{\"a\":1}".into())));
    assert_eq!(
        s.swap_budget("other.example", Some(next), "x", now()).await.unwrap(),
        None,
        "nothing is there"
    );
}

pub async fn a_budget_nobody_needs_is_forgotten_and_begins_anew(place: &Place) {
    let s = place.open().await;
    let day = 24 * 60;
    let first = s.swap_budget("a.example", None, "1", now()).await.unwrap().unwrap();
    s.swap_budget("b.example", None, "1", later(3 * day)).await.unwrap().unwrap();
    s.prune(later(4 * day), 400).await.unwrap();
    assert_eq!(s.budget("a.example").await.unwrap(), None);
    assert!(s.budget("b.example").await.unwrap().is_some());
    // A replica that still remembers the old row can't write over the new one.
    let anew = s.swap_budget("a.example", None, "2", later(4 * day)).await.unwrap().unwrap();
    assert!(anew > first);
    assert_eq!(s.swap_budget("a.example", Some(first), "old", later(4 * day)).await.unwrap(), None);
}
