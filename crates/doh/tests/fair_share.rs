//! What one client or one zone can take from the others: lookups in flight, questions to name servers.

mod support;

use axum::http::StatusCode;
use dns::wire::Rtype;
use doh::{Bounds, Entry, Exposure};
use lab::Scenario;
use std::fmt::Write;
use std::time::{Duration, Instant};
use support::table::{entry, site_with};
use support::world::start_with;
use support::*;

/// The small scenario with a zone whose thirteen servers never answer: a lookup there lasts as long as it may.
fn with_silent_zone() -> Scenario {
    let mut text = include_str!("../../lab/scenarios/small.toml").to_string();
    let servers: Vec<String> = (0..13).map(|n| format!("ns{n}.void.example")).collect();
    let list: Vec<String> =
        servers.iter().map(|name| format!("{{ name = \"{name}\", faults = [\"dead\"] }}")).collect();
    write!(
        text,
        "\n[[provider]]\nid = \"void\"\nname = \"Void\"\nservers = [{}]\n\n[[domain]]\nname = \"void.example\"\n\
         provider = \"void\"\nregistrar = \"reg\"\nlisted = false\n",
        list.join(", ")
    )
    .unwrap();
    Scenario::parse(&text, "with_silent_zone").unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_asks_below_a_silent_zone_does_not_starve_the_others() {
    let world = start_with(with_silent_zone(), &Bounds::default(), 200).await;
    let ask = |client: String, name: String| {
        let router = world.router.clone();
        tokio::spawn(async move {
            let start = Instant::now();
            let got = get_from(&router, &client, &plain(&name, 1)).await;
            let rcode = (got.status == StatusCode::OK).then(|| got.reply().rcode);
            (got.status, rcode, start.elapsed())
        })
    };
    let (mut attack, mut others) = (Vec::new(), Vec::new());
    let mut ticks = tokio::time::interval(Duration::from_millis(100));
    // 90 queries a second from one client, 40 from forty others, each for a name not asked for before.
    for tick in 0..60 {
        ticks.tick().await;
        if tick % 10 == 0 {
            world.hand.forward(1);
        }
        attack.extend((0..9).map(|n| ask("198.51.100.66".into(), format!("n{tick}-{n}.void.example"))));
        others.extend((0..4).map(|n| {
            ask(format!("203.0.113.{}", (tick * 4 + n) % 40), format!("m{tick}-{n}.plain.example"))
        }));
    }
    let others: Vec<_> = futures::future::join_all(others).await.into_iter().map(Result::unwrap).collect();
    let answered = others.iter().filter(|(_, rcode, _)| *rcode == Some(3)).count();
    let mut waits: Vec<Duration> = others.iter().map(|(_, _, wait)| *wait).collect();
    waits.sort();
    let mut refused = 0;
    for query in &mut attack {
        // Those that still wait for the silent servers are of no interest.
        query.abort();
        refused += usize::from(query.await.is_ok_and(|(status, ..)| status == StatusCode::TOO_MANY_REQUESTS));
    }
    println!(
        "others: {answered} of {} answered, p50 {:?}, p99 {:?}; attacker: {refused} of {} refused",
        others.len(),
        waits[waits.len() / 2],
        waits[waits.len() * 99 / 100],
        attack.len()
    );
    assert!(answered * 100 >= others.len() * 99, "{answered} of {} answered", others.len());
    assert!(refused > 0, "the attack reaches the limit");
    world.lab.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn lookups_below_one_domain_are_limited_whoever_asks() {
    let site = site_with(&Bounds::default(), Duration::from_secs(5), Exposure::All, false);
    let all = futures::future::join_all((0..200u8).map(|n| {
        let router = site.router.clone();
        async move {
            let message = explained(&format!("n{n}.void.example"), 1);
            let got = get_from(&router, &format!("192.0.2.{n}"), &message).await.reply();
            let text = got.edns.map(|e| String::from_utf8_lossy(&e.options[0].1[2..]).into_owned());
            (got.rcode, text.unwrap_or_default())
        }
    }))
    .await;
    let limited =
        all.iter().filter(|(_, text)| text == "too many lookups below void.example are in progress");
    assert_eq!((site.asked(), limited.count()), (85, 115));
    assert!(all.iter().all(|(rcode, _)| *rcode == 2), "nothing is known of any of them");
    let again = get_from(&site.router, "192.0.2.199", &explained("n199.void.example", 1)).await.reply();
    let text = again.edns.map(|e| String::from_utf8_lossy(&e.options[0].1[2..]).into_owned());
    assert_eq!(text.as_deref(), Some("no one answers"), "the refusal is not cached");
}

#[tokio::test(start_paused = true)]
async fn a_client_beyond_its_share_is_asked_to_wait_and_others_are_not() {
    let site = site_with(&Bounds::default(), Duration::from_secs(5), Exposure::All, false);
    let ask = |client: &'static str, name: String| {
        let router = site.router.clone();
        async move { get_from(&router, client, &plain(&name, 1)).await }
    };
    let many = futures::future::join_all((0..200).map(|n| ask("192.0.2.1", format!("n{n}.example"))));
    let one = ask("192.0.2.2", "www.example".into());
    let (many, one) = futures::join!(many, one);
    let refused: Vec<_> = many.iter().filter(|got| got.status == StatusCode::TOO_MANY_REQUESTS).collect();
    assert_eq!((refused.len(), refused[0].header("retry-after")), (115, "1"));
    assert_eq!(one.reply().answers.len(), 2);
}

#[tokio::test]
async fn a_chain_of_aliases_has_one_budget_of_questions() {
    let site = site_with(&Bounds { rate: 0, ..Bounds::default() }, Duration::ZERO, Exposure::All, false);
    for n in 0..10 {
        let (owner, target) = (format!("c{n}.example"), format!("c{}.example", n + 1));
        let next = Some(name(&target));
        let alias = Entry { next, questions: 150, ..entry(0, vec![], vec![], 300) };
        site.now_says(&owner, Rtype::A, Some(alias));
    }
    let got = get(&site.router, &explained("c0.example", 1)).await.reply();
    let text = String::from_utf8_lossy(&got.edns.unwrap().options[0].1[2..]).into_owned();
    assert_eq!((got.rcode, site.asked()), (2, 3), "{text}");
    assert!(text.contains("450 queries"), "{text}");
    get(&site.router, &plain("c0.example", 1)).await;
    assert_eq!(site.asked(), 6, "what is cached costs nothing");
}

#[tokio::test]
async fn validation_shares_the_budget_of_its_lookup() {
    for budget in [4, 9] {
        let world = start_with(with_silent_zone(), &Bounds::default(), budget).await;
        let got = get(&world.router, &explained("signed.example", 1)).await.reply();
        let text = String::from_utf8_lossy(&got.edns.unwrap().options[0].1[2..]).into_owned();
        assert_eq!(got.rcode, 2, "{budget}: {text}");
        let sent = world.lab.query_log().dns_total();
        assert!(sent <= u64::from(budget), "{sent} questions of {budget}");
        world.lab.shutdown().await;
    }
}
