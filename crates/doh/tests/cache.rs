//! What is kept and for how long, what failures and forgeries become, and what one client and all together may ask.
//! No network: the answers come from a table, the time from a hand.

mod support;

use axum::http::StatusCode;
use doh::{Bounds, Client, Exposure};
use std::time::Duration;
use support::table::{site, site_with};
use support::*;

#[tokio::test]
async fn the_cache_counts_down_and_nothing_stale_is_served() {
    let site = site();
    let message = plain("alias.example", 1);
    let first = get(&site.router, &message).await;
    assert_eq!((site.asked(), first.header("cache-control")), (2, "max-age=40"), "the smallest of the chain");
    site.hand.forward(39);
    let again = get(&site.router, &message).await;
    let ttls: Vec<u32> = again.reply().answers.iter().map(|rr| rr.ttl).collect();
    assert_eq!((site.asked(), again.header("cache-control"), ttls), (2, "max-age=1", vec![1, 261, 261]));
    site.hand.forward(1);
    let renewed = get(&site.router, &message).await;
    let ttls: Vec<u32> = renewed.reply().answers.iter().map(|rr| rr.ttl).collect();
    assert_eq!((site.asked(), ttls), (3, vec![40, 260, 260]), "only the alias had run out");
    assert_eq!(site.resolver.cache_size().0, 2);
}

#[tokio::test]
async fn denials_are_kept_as_long_as_their_soa_says() {
    let site = site();
    for (message, rcode) in [(plain("none.example", 1), 3), (plain("www.example", 28), 0)] {
        let before = site.asked();
        let got = get(&site.router, &message).await;
        let reply = got.reply();
        assert_eq!((reply.rcode, reply.answers.len(), reply.authority.len()), (rcode, 0, 1));
        assert_eq!(got.header("cache-control"), "max-age=120");
        site.hand.forward(100);
        let got = get(&site.router, &message).await;
        assert_eq!((got.header("cache-control"), got.reply().authority[0].ttl), ("max-age=20", 20));
        assert_eq!(site.asked(), before + 1);
        site.hand.forward(20);
        get(&site.router, &message).await;
        assert_eq!(site.asked(), before + 2);
    }
    let dangling = get(&site.router, &plain("dangling.example", 1)).await;
    let reply = dangling.reply();
    assert_eq!(
        (reply.rcode, reply.answers.len(), reply.authority.len()),
        (3, 1, 1),
        "the alias and the denial"
    );
}

#[tokio::test]
async fn failures_are_kept_for_seconds_and_never_by_http() {
    let site = site();
    let edns = Some(Edns { version: 0, dnssec_ok: false, options: vec![] });
    let message = question("unknown.example", 1, [1, 0], edns);
    let got = get(&site.router, &message).await;
    let reply = got.reply();
    assert_eq!((reply.rcode, got.header("cache-control")), (2, "no-store"));
    let explained = reply.edns.unwrap().options.into_iter().find(|(code, _)| *code == 15).unwrap().1;
    assert_eq!((&explained[..2], &explained[2..]), (&[0u8, 22][..], &b"no one answers"[..]));
    get(&site.router, &message).await;
    assert_eq!(site.asked(), 1);
    site.hand.forward(30);
    get(&site.router, &message).await;
    assert_eq!(site.asked(), 2);
    let circle = get(&site.router, &plain("one.example", 1)).await.reply();
    assert_eq!((circle.rcode, circle.answers.len()), (2, 0));
}

#[tokio::test]
async fn what_does_not_validate_is_given_only_to_those_who_check_themselves() {
    let site = site();
    let bogus = get(&site.router, &signed("bogus.example", 1)).await;
    assert_eq!((bogus.reply().rcode, bogus.reply().answers.len()), (2, 0));
    assert_eq!(bogus.reply().edns.unwrap().options[0].1[..2], [0, 6], "DNSSEC Bogus");
    let cd = get(&site.router, &question("bogus.example", 1, [1, 0x10], None)).await;
    assert_eq!((cd.reply().rcode, cd.reply().answers.len(), cd.authentic()), (0, 1, false));
    assert_eq!(cd.body[3] & 0x10, 0x10, "CD is repeated");
    assert!(get(&site.router, &signed("safe.example", 1)).await.authentic());
    assert!(
        get(&site.router, &question("safe.example", 1, [1, 0x20], None)).await.authentic(),
        "AD asked for"
    );
    assert!(!get(&site.router, &plain("safe.example", 1)).await.authentic(), "no one asked");
    assert!(!get(&site.router, &signed("www.example", 1)).await.authentic());
}

#[tokio::test]
async fn without_recursion_only_what_is_known_is_told() {
    let site = site();
    let message = question("www.example", 1, [0, 0], None);
    assert_eq!(get(&site.router, &message).await.reply().rcode, 5);
    get(&site.router, &plain("www.example", 1)).await;
    assert_eq!(get(&site.router, &message).await.reply().answers.len(), 2);
    assert_eq!(site.asked(), 1);
}

#[tokio::test(start_paused = true)]
async fn many_who_ask_the_same_cause_one_lookup_and_too_many_are_turned_away() {
    let bounds = Bounds { rate: 0, lookups: 2, ..Bounds::default() };
    let site = site_with(&bounds, Duration::from_secs(1), Exposure::All, false);
    let message = plain("www.example", 1);
    let all = futures::future::join_all((0..50).map(|_| get(&site.router, &message))).await;
    assert!(all.iter().all(|got| got.reply().answers.len() == 2));
    assert_eq!(site.asked(), 1);
    let names = ["safe.example", "bogus.example", "none.example", "alias.example"].map(|n| plain(n, 1));
    let all = futures::future::join_all(names.iter().map(|m| get(&site.router, m))).await;
    let busy: Vec<_> = all.iter().filter(|got| got.status == StatusCode::SERVICE_UNAVAILABLE).collect();
    assert_eq!(busy.len(), 2);
    assert_eq!(busy[0].header("retry-after"), "1");
    assert_eq!(get(&site.router, &names[3]).await.status, 200, "there is room again");
    for (seconds, name) in [(60, "www.example"), (6, "alias.example")] {
        let slow = site_with(&Bounds::default(), Duration::from_secs(seconds), Exposure::All, false);
        let start = tokio::time::Instant::now();
        assert_eq!(get(&slow.router, &plain(name, 1)).await.reply().rcode, 2, "{name}: a lookup has an end");
        assert_eq!(start.elapsed().as_secs(), 10, "{name}");
    }
}

#[tokio::test]
async fn a_client_that_asks_too_often_is_told_when_to_come_back() {
    let site = site_with(&Bounds { rate: 5, ..Bounds::default() }, Duration::ZERO, Exposure::All, false);
    let message = path(&plain("www.example", 1));
    let from = |address: &str| {
        let request =
            axum::http::Request::builder().uri(&message).extension(Client(address.parse().unwrap()));
        send(&site.router, request.body(axum::body::Body::empty()).unwrap())
    };
    for n in 0..15 {
        assert_eq!(from("2001:db8::1").await.status, 200, "{n}");
    }
    let refused = from("2001:db8:0:ff::2").await;
    assert_eq!((refused.status.as_u16(), refused.header("retry-after")), (429, "1"));
    assert_eq!(from("192.0.2.1").await.status, 200);
    site.hand.forward(1);
    assert_eq!(from("2001:db8::1").await.status, 200);
}

#[tokio::test]
async fn a_question_of_the_reserved_type_says_nothing_about_others() {
    let site = site();
    assert_eq!(get(&site.router, &plain("www.example", 0)).await.reply().rcode, 5, "refused, and not kept");
    assert_eq!(get(&site.router, &plain("www.example", 1)).await.reply().answers.len(), 2, "it is there");
    let asked = site.asked();
    get(&site.router, &plain("none.example", 1)).await;
    assert_eq!(get(&site.router, &plain("none.example", 28)).await.reply().rcode, 3);
    assert_eq!(site.asked(), asked + 1, "a name that is not there has no record of any type");
}
