//! The picture of a delegation at its largest: every server and every address is told, by words as well as by colour.

mod support;

use support::backend::Sample;
use support::legion::{NAME, legion};
use support::{page, router, text};

/// What the links of the picture are called.
fn links(html: &str) -> Vec<&str> {
    html.split("<a ")
        .filter(|a| a.contains("class=\"p-link\""))
        .filter_map(|a| a.split("aria-label=\"").nth(1)?.split('"').next())
        .collect()
}

#[tokio::test]
async fn thirteen_servers_of_two_families_are_told_one_by_one() {
    let r = router(Sample::of(vec![legion()]), "");
    let (status, html) = page(&r, &format!("/domains/{NAME}/dns")).await;
    assert_eq!(status, 200);
    let links = links(&html);
    // The wide and the tall drawing.
    assert_eq!(links.len(), 26, "{links:?}");
    assert_eq!(links[..13], links[13..]);
    let of = |n: u8| links.iter().find(|l| l.starts_with(&format!("ns{n}."))).copied().unwrap_or_default();
    assert!(of(3).contains("def0 slow, 1840 ms"), "{}", of(3));
    assert!(of(5).contains("192.0.2.5 older, 2026111901"), "{}", of(5));
    assert!(
        of(7).contains("192.0.2.7 authoritative") && of(7).contains("2001:db8:ffff:7::1 no answer"),
        "{}",
        of(7)
    );
    assert!(of(9).contains("192.0.2.9 lame, refused"), "{}", of(9));
    let words = text(&html);
    let sum = "13 nameservers: 9 well, 1 slow, 1 with older data, 1 lame, 1 without an answer";
    assert!(words.contains(sum), "{words}");
    assert_eq!(words.matches("Older data").count(), 2, "the table says so too");
    // Each link has a row to lead to, once.
    for n in 1..=13 {
        assert_eq!(html.matches(&format!("id=\"nameserver-{n}\"")).count(), 1, "{n}");
        assert_eq!(html.matches(&format!("href=\"#nameserver-{n}\"")).count(), 2, "{n}");
    }
    // What is drawn short can be read whole.
    assert!(html.contains(&format!("<title>ns12.{NAME}: ")), "the whole name");
}
