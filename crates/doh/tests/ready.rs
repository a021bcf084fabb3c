//! Answers that are kept ready are, octet for octet, what reading, looking up and writing would give: for every form of
//! question, letter case, second of their life. No network: the answers come from a table, the time from a hand.

mod support;

use dns::wire::{Reply, Rtype};
use doh::{Bounds, Exposure};
use std::time::Duration;
use support::table::{Site, a, entry, site, site_with};
use support::*;

fn forms(name: &str, rtype: u16) -> Vec<Vec<u8>> {
    let mut forms = Vec::new();
    for flags in [[1, 0], [1, 0x10], [1, 0x20], [1, 0x30], [0, 0], [0, 0x20]] {
        forms.push(question(name, rtype, flags, None));
        for dnssec_ok in [false, true] {
            for options in [&[][..], PADDING, &[0, 10, 0, 2, 1, 2]] {
                let edns = Edns { version: 0, dnssec_ok, options: options.to_vec() };
                forms.push(question(name, rtype, flags, Some(edns)));
            }
        }
    }
    forms
}

/// The same world, asked only once: nothing can be ready there.
fn unprepared(encrypted: bool) -> Site {
    site_with(&Bounds { rate: 0, ..Bounds::default() }, Duration::ZERO, Exposure::All, encrypted)
}

#[tokio::test]
async fn a_ready_answer_is_the_answer_that_would_be_written() {
    for encrypted in [false, true] {
        for (name, rtype) in [
            ("www.example", 1),
            ("safe.example", 1),
            ("alias.example", 1),
            ("none.example", 1),
            ("www.example", 28),
            ("dangling.example", 1),
            ("bogus.example", 1),
        ] {
            let often = unprepared(encrypted);
            // Known, written and kept ready; then asked again.
            for message in forms(name, rtype) {
                for _ in 0..3 {
                    get(&often.router, &message).await;
                }
            }
            often.hand.forward(7);
            let shouted = name.to_ascii_uppercase();
            for (n, mut message) in forms(&shouted, rtype).into_iter().enumerate() {
                message[..2].copy_from_slice(&[0xAB, n as u8]);
                let once = unprepared(encrypted);
                get(&once.router, &plain(name, rtype)).await;
                once.hand.forward(7);
                let (ready, written) =
                    (get(&often.router, &message).await, get(&once.router, &message).await);
                let what = format!("{name} {rtype} form {n} encrypted {encrypted}");
                assert_eq!(ready.body, written.body, "{what}");
                assert_eq!(ready.status, written.status, "{what}");
                for header in ["cache-control", "content-type", "content-length"] {
                    assert_eq!(ready.header(header), written.header(header), "{what}: {header}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_ready_answer_ends_with_its_data() {
    let site = site();
    let message = signed("www.example", 1);
    for _ in 0..3 {
        get(&site.router, &message).await;
    }
    let before = site.asked();
    for second in 1..300u32 {
        site.hand.forward(1);
        let got = get(&site.router, &message).await;
        let Reply { answers, .. } = got.reply();
        assert!(answers.iter().all(|rr| rr.ttl == 300 - second), "{second}");
        assert_eq!(got.header("cache-control"), format!("max-age={}", 300 - second));
    }
    assert_eq!(site.asked(), before);
    site.now_says("www.example", Rtype::A, Some(entry(0, vec![a("www.example", 60, 99)], vec![], 60)));
    site.hand.forward(1);
    let renewed = get(&site.router, &message).await.reply();
    assert_eq!((renewed.answers.len(), renewed.answers[0].raw[3], site.asked()), (1, 99, before + 1));
    site.hand.forward(-400);
    let back = get(&site.router, &message).await.reply();
    assert_eq!(back.answers[0].ttl, 60, "a clock put back makes nothing younger, nor older");
}

#[tokio::test]
async fn what_is_ready_takes_bounded_memory() {
    let cache = 1 << 20;
    let site =
        site_with(&Bounds { rate: 0, cache, ..Bounds::default() }, Duration::ZERO, Exposure::All, false);
    for n in 0..3000 {
        let name = format!("n{n}.example");
        site.now_says(&name, Rtype::A, Some(entry(0, vec![a(&name, 600, 1)], vec![], 600)));
        let message = signed(&name, 1);
        for _ in 0..3 {
            assert_eq!(get(&site.router, &message).await.reply().answers.len(), 1);
        }
    }
    let (_, octets) = site.resolver.cache_size();
    assert!(octets <= cache && octets > cache / 2, "{octets}");
}
