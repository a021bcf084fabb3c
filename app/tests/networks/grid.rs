//! The picture of a block.

use crate::support::numbers::decided;
use crate::support::{page, read, says, text};
use crate::{app, claim, request};
use service::numbers::ClaimSpec;

#[tokio::test]
async fn a_block_is_a_grid_and_address_families_are_switched() {
    let mut claims = Vec::new();
    claim(&mut claims, "pool", request(None, Some("10.20.0.0/16"), Some(18)));
    let one = app(claims.clone());
    assert!(
        !page(&one, "/networks").await.1.contains("aria-label=\"Address family\""),
        "one family is no choice"
    );
    claim(&mut claims, "edge", request(Some("10.20.0.0/24"), None, None));
    claim(&mut claims, "six", request(Some("2001:db8:20::/64"), None, None));
    claim(&mut claims, "more", request(Some("2001:db8:20:8000::/49"), None, None));
    claim(&mut claims, "pool-6", request(None, Some("2001:db8:20::/48"), Some(64)));
    let app = app(claims);
    let (_, html) = page(&app, "/networks?block=10.20.0.0/16").await;
    let words = "A column is a /20, a cell a /24. 64 of 256 /24 are allocated in whole or in part; 12 whole /20 are free, the first \
                 is 10.20.64.0/20. The red cell is refused for edge.";
    assert!(html.contains(&format!("role=\"img\" aria-label=\"{words}\"")), "{html}");
    for title in
        ["10.20.0.0/24, unavailable for a claim", "10.20.1.0/24, allocated", "10.20.63.0/24, allocated"]
    {
        assert!(html.contains(&format!("<title>{title}<")), "{title}: {html}");
    }
    assert!(!html.contains("<title>10.20.64.0/24,"), "free cells are the ground: {html}");
    let switch = html
        .split_once("aria-label=\"Address family\"")
        .and_then(|(_, t)| t.split_once("</span>"))
        .unwrap()
        .0;
    let (v4, v6) = switch.split_once("IPv4").unwrap();
    assert!(v4.contains("block=10.20.0.0%2F16") && v4.contains("aria-current=\"true\""), "{switch}");
    assert!(
        v6.contains("block=2001") && v6.contains("IPv6") && !v6.contains("aria-current=\"true\""),
        "{switch}"
    );
    let t = read(&app, "/networks?block=2001:db8:20::/48").await;
    says(
        &t,
        &[
            "A column is a /52, a cell a /56. 129 of 256 /56 are allocated in whole or in part; 7 whole /52 are free",
        ],
    );
    // Two addresses are a grid of two, one is none.
    says(&read(&app, "/networks?block=10.20.0.0/31").await, &["A column is a /32, a cell a /32. 2 of 2 /32"]);
    assert!(!read(&app, "/networks?block=10.20.0.0/32").await.contains("A column is"));
}

#[tokio::test]
async fn many_small_parts_are_drawn_as_the_prefixes_that_hold_them() {
    let mut claims = Vec::new();
    for i in 0..300 {
        let prefix = format!("10.20.{}.{}/30", i / 32, (i % 32) * 8);
        let spec = ClaimSpec { address_space: vec![request(Some(&prefix), None, None)] };
        claims.push(decided(&[], &format!("c-{i:03}"), &spec));
    }
    claims.push(decided(
        &[],
        "pool",
        &ClaimSpec { address_space: vec![request(None, Some("10.20.0.0/16"), Some(17))] },
    ));
    // Out of the way of the others.
    claims.last_mut().unwrap().status.address_space[0].prefix = Some("10.20.128.0/17".into());
    let (_, html) = page(&app(claims), "/networks?block=10.20.0.0/16").await;
    says(&text(&html), &["small parts are drawn as the prefixes that hold them", "10.20.0.0/24 50 % used"]);
    assert!(html.contains("aria-label=\"10.20.0.0/24, 50 % used, 32 claimed prefixes\""), "{html}");
    assert!(html.contains("aria-label=\"10.20.128.0/17, pool\""), "{html}");
    // Nothing of it is left out: zoomed in, each is there.
    assert!(!html.contains("not drawn"), "{html}");
}
