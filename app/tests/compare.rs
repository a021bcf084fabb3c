//! Cache vs authoritative as a browser without JavaScript gets it, in the states that matter.

mod support;

use support::backend::Sample;
use support::{page, router, says, text};

async fn html(url: &str) -> String {
    let (status, html) = page(&router(Sample::story(), ""), url).await;
    assert_eq!(status, 200, "{url}");
    html
}

#[tokio::test]
async fn a_name_that_is_missing_stops_before_anybody_is_asked() {
    let page = html("/tools/compare?name=new.alder.example&type=A").await;
    let t = text(&page);
    says(&t, &["Stopped: no resolver was queried", "new.alder.example does not exist", "for up to 30 min"]);
    says(&t, &["puts a negative answer into every cache", "until 14:35 UTC", "Query the resolvers anyway"]);
    says(&t, &["Watch until it exists", "How long negative answers are cached", "minimum 1800"]);
    assert!(page.contains("/tools/compare?name=new.alder.example&amp;type=A&amp;force=1"), "{page}");
    assert!(!t.contains("Public resolvers"), "{t}");
    // Only with the word in the address they are asked, and then it is said what that did.
    let t = text(&html("/tools/compare?name=new.alder.example&type=A&force=1&whole=1").await);
    says(&t, &["Public resolvers", "5 of 5 answered", "Queried although the authoritative servers deny"]);
}

#[tokio::test]
async fn a_bad_name_is_refused_in_words() {
    let (status, html) = page(&router(Sample::story(), ""), "/tools/compare?name=a%20b").await;
    assert_eq!(status, 400);
    says(&text(&html), &["The comparison could not be made", "“a b” contains a space"]);
}

#[tokio::test]
async fn a_broken_backend_is_said_and_nothing_asked_is_no_error() {
    let mut broken = Sample::story();
    broken.broken = true;
    let (status, html) = page(&router(broken, ""), "/tools/compare?name=www.alder.example").await;
    assert_eq!(status, 503);
    says(&text(&html), &["The database does not answer."]);
    let t = text(&self::html("/tools/compare").await);
    says(&t, &["Has the change reached everyone?", "no negative answer enters their"]);
}

#[tokio::test]
async fn the_first_paint_has_the_authority_and_everybody_pending() {
    let page = html("/tools/compare?name=www.alder.example&type=A").await;
    let t = text(&page);
    says(
        &t,
        &["Authoritative 2 of 2 agree", "queried first, 14:05:00 UTC", "ns1.alder.example", "203.0.113.80"],
    );
    says(&t, &["Querying 5 resolvers.", "0 of 5 answered", "Querying", "Watch propagation"]);
    // Without script: one link to all of it, and a form that asks for all of it.
    assert!(
        page.contains("<a href=\"/tools/compare?name=www.alder.example&amp;type=A&amp;whole=1\">"),
        "{page}"
    );
    assert!(
        page.contains("<noscript><input type=\"hidden\" name=\"whole\" value=\"1\"></noscript>"),
        "{page}"
    );
}

#[tokio::test]
async fn the_whole_page_judges_each_resolver() {
    let t = text(&html("/tools/compare?name=www.alder.example&type=A&whole=1").await);
    says(&t, &["1 of 5 resolvers agrees with the authoritative servers; 1 still gives an old answer"]);
    says(&t, &["Longshore Stale Canada Longshore Ltd · over DoH 198.51.100.44 expires 14:26"]);
    says(&t, &["Kestrel Cached “no” Chile Kestrel Ltd · over DoH NXDOMAIN gone by 14:15"]);
    says(&t, &["Kelp Same Norway Kelp Ltd · over DoH 203.0.113.80 TTL 212"]);
    says(&t, &["Filtering resolvers", "Broom Filtered Ireland · filters malware", "0.0.0.0 expected"]);
    says(
        &t,
        &[
            "Wattle Failing",
            "SERVFAIL no usable answer",
            "How to flush your own cache",
            "resolvectl flush-caches",
        ],
    );
    says(&t, &["With JavaScript, your browser queries resolvers itself."]);
    let at = |word: &str| t.find(word).unwrap_or_else(|| panic!("{word} is not in: {t}"));
    assert!(at("Authoritative 2 of 2 agree") < at("Public resolvers"), "the authority comes first");
    assert!(at("Wattle") < at("Filtering resolvers") && at("Filtering resolvers") < at("Broom"));
}
