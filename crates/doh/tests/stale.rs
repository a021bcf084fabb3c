//! What is told when nothing newer can be had (RFC 8767), and what never is. No network: the answers come from a table,
//! the time from a hand.

mod support;

use axum::http::StatusCode;
use dns::wire::{Reply, Rtype};
use doh::{Bounds, Entry, Exposure, Security};
use std::time::Duration;
use support::table::{Site, a, entry, site, site_with, soa};
use support::*;

/// RCODE, TTLs of the answers, extended error and its words.
async fn told(site: &Site, name: &str) -> (u16, Vec<u32>, Option<u16>, String) {
    let got = get(&site.router, &explained(name, 1)).await;
    let Reply { rcode, answers, edns, .. } = got.reply();
    let error = edns.unwrap().options.into_iter().find(|(code, _)| *code == 15).map(|(_, data)| data);
    let code = error.as_ref().map(|data| u16::from_be_bytes([data[0], data[1]]));
    let words = error.map_or(String::new(), |data| String::from_utf8_lossy(&data[2..]).into_owned());
    (rcode, answers.iter().map(|rr| rr.ttl).collect(), code, words)
}

#[tokio::test]
async fn what_was_known_is_told_for_half_a_minute_at_a_time_while_nobody_answers() {
    let site = site();
    assert_eq!(told(&site, "safe.example").await, (0, vec![60], None, String::new()));
    site.fall_silent();
    site.hand.forward(60);
    let old = (0, vec![30], Some(3), "stale answer: no one answers".to_string());
    assert_eq!(told(&site, "safe.example").await, old);
    let got = get(&site.router, &explained("safe.example", 1)).await;
    assert_eq!(got.header("cache-control"), "max-age=30");
    assert!(!got.authentic(), "its signature may have run out");
    let json = ask(&site.router, "GET", "/resolve?name=safe.example", &[], &[]).await.json();
    assert_eq!((&json["Status"], &json["Answer"][0]["TTL"]), (&0.into(), &30.into()));
    assert_eq!(json["Comment"], "stale answer: no one answers");
    let asked = site.asked();
    site.hand.forward(29);
    assert_eq!(told(&site, "safe.example").await, old);
    assert_eq!(site.asked(), asked, "servers that fail are left alone for half a minute");
    site.hand.forward(1);
    assert_eq!(told(&site, "safe.example").await, old);
    assert_eq!(site.asked(), asked + 1, "and then asked again");
    site.recover();
    site.hand.forward(30);
    assert_eq!(told(&site, "safe.example").await, (0, vec![60], None, String::new()), "the new answer");
}

#[tokio::test]
async fn it_is_told_for_a_day_and_no_longer_and_not_at_all_when_switched_off() {
    let day = 86_400;
    for (stale, past, rcode) in [(day, day - 1, 0), (day, day, 2), (0, 0, 2), (10, 9, 0), (10, 10, 2)] {
        let bounds = Bounds { stale, rate: 0, ..Bounds::default() };
        let site = site_with(&bounds, Duration::ZERO, Exposure::All, false);
        get(&site.router, &plain("www.example", 1)).await;
        site.fall_silent();
        site.hand.forward(300 + i64::from(past));
        assert_eq!(told(&site, "www.example").await.0, rcode, "{stale}: {past} s past its time");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_waits_less_where_something_old_is_known() {
    let site = site();
    get(&site.router, &plain("www.example", 1)).await;
    get(&site.router, &plain("alias.example", 1)).await;
    site.slow(Duration::from_secs(5));
    site.hand.forward(300);
    let start = tokio::time::Instant::now();
    assert_eq!(told(&site, "www.example").await.1, [30, 30]);
    assert_eq!(start.elapsed(), Duration::from_millis(1800));
    // An alias and what it leads to: one time for both, not one each.
    let start = tokio::time::Instant::now();
    assert_eq!(told(&site, "alias.example").await.1, [30, 30, 30]);
    assert_eq!(start.elapsed(), Duration::from_millis(1800));
    let start = tokio::time::Instant::now();
    assert_eq!(told(&site, "safe.example").await.1, [60], "nothing old is known: it is waited for");
    assert_eq!(start.elapsed(), Duration::from_secs(5));
    let asked = site.asked();
    assert_eq!(
        told(&site, "www.example").await,
        (0, vec![300, 300], None, String::new()),
        "meanwhile it came"
    );
    assert_eq!(site.asked(), asked);
}

#[tokio::test]
async fn a_name_that_was_denied_since_is_not_brought_back() {
    let site = site();
    let gone = |ttl: u32| entry(3, vec![], vec![soa("example", ttl, ttl)], ttl);
    // Denied by a question for another type, for a minute; then no one answers.
    get(&site.router, &plain("safe.example", 1)).await;
    site.hand.forward(60);
    site.now_says("safe.example", Rtype::AAAA, Some(gone(60)));
    assert_eq!(get(&site.router, &plain("safe.example", 28)).await.reply().rcode, 3);
    let asked = site.asked();
    assert_eq!(told(&site, "safe.example").await.0, 3, "known to be denied");
    assert_eq!(site.asked(), asked);
    site.fall_silent();
    site.hand.forward(60);
    let (rcode, ttls, code, _) = told(&site, "safe.example").await;
    assert_eq!((rcode, ttls.len(), code), (3, 0, Some(19)), "an old denial is newer than the older data");
    // A denial that may not be kept takes away what it denies all the same.
    site.now_says("www.example", Rtype::A, Some(entry(0, vec![a("www.example", 5, 1)], vec![], 5)));
    get(&site.router, &plain("www.example", 1)).await;
    site.hand.forward(5);
    site.now_says("www.example", Rtype::A, Some(entry(3, vec![], vec![], 0)));
    assert_eq!(told(&site, "www.example").await.0, 3);
    site.fall_silent();
    assert_eq!(told(&site, "www.example").await.0, 3);
}

#[tokio::test]
async fn a_name_that_came_back_is_not_denied_by_what_was_said_before() {
    let site = site();
    assert_eq!(get(&site.router, &plain("none.example", 1)).await.reply().rcode, 3);
    site.hand.forward(120);
    let there = entry(0, vec![a("none.example", 50, 7)], vec![], 50);
    site.now_says("none.example", Rtype::AAAA, Some(there));
    assert_eq!(get(&site.router, &plain("none.example", 28)).await.reply().rcode, 0);
    site.fall_silent();
    // What was said of A was said before, but of A itself: an answer of its own time.
    site.hand.forward(60);
    assert_eq!(
        get(&site.router, &plain("none.example", 16)).await.reply().rcode,
        2,
        "nothing is known of TXT"
    );
}

#[tokio::test]
async fn forgeries_and_failures_are_never_told_as_old() {
    let site = site();
    assert_eq!(told(&site, "bogus.example").await.0, 2);
    site.fall_silent();
    site.hand.forward(31);
    assert_eq!(told(&site, "bogus.example").await.2, Some(22), "what no one could prove is gone");
    // What validated once does not stand in for what does not validate now.
    let site = support::table::site();
    get(&site.router, &plain("safe.example", 1)).await;
    site.hand.forward(60);
    let forged = Entry {
        security: Security::Bogus("the signature is false".into()),
        ..entry(0, vec![a("safe.example", 30, 66)], vec![], 30)
    };
    site.now_says("safe.example", Rtype::A, Some(forged));
    assert_eq!(told(&site, "safe.example").await.2, Some(6));
    site.fall_silent();
    site.hand.forward(31);
    assert_eq!(told(&site, "safe.example").await.0, 2);
}

#[tokio::test]
async fn keys_out_of_reach_are_no_forgery() {
    let site = site();
    get(&site.router, &plain("safe.example", 1)).await;
    site.hand.forward(60);
    let why = "the keys of example can't be had";
    let unproved = Entry {
        security: Security::Bogus(why.into()),
        explained: Some((22, why.into())),
        ..entry(0, vec![a("safe.example", 5, 10)], vec![], 5)
    };
    site.now_says("safe.example", Rtype::A, Some(unproved.clone()));
    let old = format!("stale answer: {why}");
    assert_eq!(told(&site, "safe.example").await, (0, vec![30], Some(3), old), "what was proved");
    site.now_says("fresh.example", Rtype::A, Some(unproved));
    assert_eq!(told(&site, "fresh.example").await, (2, vec![], Some(22), why.into()), "nothing is known");
    let cd = get(&site.router, &question("fresh.example", 1, [1, 0x10], None)).await.reply();
    assert_eq!(cd.answers.len(), 1, "who checks by itself gets it");
}

#[tokio::test(start_paused = true)]
async fn the_old_is_told_rather_than_that_too_much_is_under_way() {
    let bounds = Bounds { rate: 0, lookups: 1, ..Bounds::default() };
    let site = site_with(&bounds, Duration::ZERO, Exposure::All, false);
    get(&site.router, &plain("www.example", 1)).await;
    site.hand.forward(300);
    site.slow(Duration::from_secs(9));
    let other = plain("safe.example", 1);
    let mut other = std::pin::pin!(get(&site.router, &other));
    assert!(futures::poll!(&mut other).is_pending());
    tokio::task::yield_now().await;
    let (rcode, ttls, code, words) = told(&site, "www.example").await;
    assert_eq!((rcode, ttls, code), (0, vec![30, 30], Some(3)));
    assert!(words.contains("in progress"), "{words}");
    assert_eq!(get(&site.router, &plain("bogus.example", 1)).await.status, StatusCode::SERVICE_UNAVAILABLE);
}
