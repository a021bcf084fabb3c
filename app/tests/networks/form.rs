//! The form of a claim: its preview, what is typed and refused, and its object.

use crate::support::{page, post, read, says, text};
use crate::{app, claim, request};

#[tokio::test]
async fn a_preview_says_what_a_claim_would_get_or_why_nothing() {
    let mut claims = Vec::new();
    claim(&mut claims, "web", request(Some("10.20.0.0/17"), None, None));
    let app = app(claims);
    let t = read(&app, "/networks?name=x&from=10.20.0.0/16&length=26&resource=y").await;
    says(
        &t,
        &["You would get 10.20.128.0/26 10.20.128.0 – 10.20.128.63, 64 addresses", "Claim 10.20.128.0/26"],
    );
    let t = read(&app, "/networks?name=x&prefix=2001:db8::/48&resource=y").await;
    says(&t, &["You would get 2001:db8::/48", "2^80 addresses"]);
    let t = read(&app, "/networks?name=x&prefix=10.20.1.0/24&resource=y").await;
    says(&t, &["Overlaps 10.20.0.0/17, held by web"]);
    // It has the claim's own name: what the claim is refused for, it says.
    let t = read(&app, "/networks?name=web&from=10.20.0.0/16&length=26&resource=y").await;
    says(&t, &["A claim named web exists already."]);
    // Both families at once, all or nothing.
    let two =
        "/networks?block=10.20.0.0/17&from=10.20.0.0/16&length=26&from2=2001:db8::/48&length2=64&resource=y";
    let (_, html) = page(&app, two).await;
    let t = text(&html);
    says(&t, &["10.20.128.0/26", "2001:db8::/64", "Claim 2 prefixes"]);
    // It is drawn in a block that holds it, not in the one that was shown.
    assert!(html.contains("aria-label=\"10.20.128.0/26, preview of your claim\""), "{html}");
    // A selected block says nothing about an exact prefix elsewhere, a written one does.
    let t = read(&app, "/networks?from=10.20.0.0/16&prefix=10.9.0.0/24&resource=y").await;
    says(&t, &["You would get 10.9.0.0/24"]);
    let t = read(&app, "/networks?from=10.20.0.0/16&other=10.8.0.0/16&length=24&resource=y").await;
    says(&t, &["You would get 10.8.0.0/24"]);
}

#[tokio::test]
async fn a_claim_that_is_refused_keeps_what_was_typed() {
    let mut claims = Vec::new();
    claim(&mut claims, "web", request(Some("10.20.0.0/17"), None, None));
    let app = app(claims);
    let typed = "block=10.20.0.0%2F17&name=web&from=10.20.0.0%2F16&length=26&group=apps&resource=shop&description=For+%26+by";
    let to = post(&app, "claim_prefix", typed, "http://localhost/networks").await;
    let (address, place) = to.split_once('#').unwrap();
    assert_eq!(place, "claim");
    let (_, html) = page(&app, address).await;
    says(&text(&html), &["Not claimed A claim named web exists already.", "8 of 255"]);
    for kept in [
        "name=\"name\" value=\"web\"",
        "<option value=\"10.20.0.0/16\" selected",
        "<option value=\"26\" selected",
        "value=\"apps\"",
        "value=\"shop\"",
        "value=\"For &amp; by\"",
    ] {
        assert!(html.contains(kept), "{kept}: {html}");
    }
    // What is no draft at all, too.
    let to = post(&app, "claim_prefix", "name=x&length=many&resource=shop&from=10.20.0.0%2F16", "").await;
    says(&read(&app, to.split_once('#').unwrap().0).await, &["Not claimed “many” is not a prefix length"]);
    // A claim leads to where it lies.
    let to =
        post(&app, "claim_prefix", "block=10.1.0.0%2F16&resource=shop&from=10.20.0.0%2F16&length=26", "")
            .await;
    assert_eq!(to, "/networks?block=10.20.0.0%2F16&done=claimed.1");
}

#[tokio::test]
async fn the_form_is_also_an_object_that_can_be_edited() {
    let app = app(Vec::new());
    let (_, html) = page(&app, "/networks").await;
    assert!(!html.contains("<textarea") && html.contains("name=\"view\" value=\"yaml\""), "{html}");
    let asked =
        "/networks?name=x&from=10.20.0.0/16&length=26&group=apps&resource=y&description=a%3A%20%22b%22";
    let (_, html) = page(&app, &format!("{asked}&view=yaml")).await;
    assert!(html.contains("action=\"/objects/networkclaims\""), "{html}");
    let area = html.split_once("<textarea").and_then(|(_, t)| t.split_once("</textarea>")).unwrap().0;
    let yaml = area.split_once('>').unwrap().1.trim_end_matches("<!>");
    let expected = "apiVersion: datumapis.com/v1alpha\nkind: NetworkClaim\nmetadata:\n  name: \"x\"\nspec:\n  addressSpace:\n    \
                    - from: \"10.20.0.0/16\"\n      prefixLength: 26\n      reference:\n        group: \"apps\"\n        \
                    resource: \"y\"\n      description: \"a: \\\"b\\\"\"\n";
    assert_eq!(yaml.replace("&quot;", "\""), expected);
    // And back, with the same values.
    assert!(
        html.contains("href=\"/networks?name=x&amp;from=10.20.0.0%2F16&amp;length=26&amp;group=apps"),
        "{html}"
    );
}
