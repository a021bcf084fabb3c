//! The FQDN analyzer as a browser without JavaScript gets it, in the states that matter.

mod support;

use support::backend::Sample;
use support::{page, router, says, text};

async fn read(url: &str) -> String {
    answered(url, 200).await
}

async fn answered(url: &str, expected: u16) -> String {
    let (status, html) = page(&router(Sample::story(), ""), url).await;
    assert_eq!(status, expected, "{url}");
    text(&html)
}

#[tokio::test]
async fn a_chain_is_steps_and_the_plan_has_the_names_own_dates() {
    let t = read("/tools/fqdn?name=www.alder.example").await;
    says(&t, &["It resolves, to one address.", "Seen from one place", "2 steps, 2 zones, no loop"]);
    says(&t, &["edge.cdn.example", "TTL 86400", "Long TTL", "Final addresses", "203.0.113.80"]);
    says(&t, &["This server uncached, from the authoritative servers", "1 of 1 answered", "11 ms"]);
    says(&t, &["Planning a change?", "Lower the TTL to 300", "now, 14:05 UTC"]);
    says(&t, &["14:05 UTC tomorrow or later", "from 14:10 UTC tomorrow", "www 300 CNAME edge.cdn.example."]);
    says(&t, &["Remind me at 14:05 UTC tomorrow", "There is no AAAA record."]);
    says(&t, &["With JavaScript, your browser queries"]);
    says(&t, &["With JavaScript, this page also asks the web server"]);
    assert!(!t.contains("How long it stays missing"), "{t}");
}

#[tokio::test]
async fn an_address_shows_where_it_lies_in_the_registry() {
    let (_, html) = page(&router(Sample::story(), ""), "/tools/fqdn?name=www.alder.example").await;
    says(&text(&html), &["203.0.113.80", "Points into space that old-edge released · 203.0.113.0/24"]);
    assert!(html.contains("href=\"/networks?block=203.0.113.0%2F24\""), "{html}");
    let t = read("/tools/fqdn?name=any.apps.example").await;
    assert!(!t.contains("Points into") && !t.contains("Outside of"), "nothing without a registry: {t}");
}

#[tokio::test]
async fn a_name_that_is_missing_says_until_when() {
    let t = read("/tools/fqdn?name=new.alder.example").await;
    says(&t, &["It does not resolve. new.alder.example does not exist.", "How long it stays missing"]);
    says(&t, &["for 30 min", "can stay missing until 14:35", "wait until 15:05", "minimum 1800"]);
    says(&t, &["Only the authoritative servers were queried", "Your browser queried no resolver"]);
    assert!(!t.contains("Planning a change?") && !t.contains("Final addresses"), "{t}");
    assert!(!t.contains("this page also asks"), "no address, no web server: {t}");
}

#[tokio::test]
async fn the_page_is_sent_before_web_servers_and_networks_answer() {
    let sample = Sample::story();
    let calls = sample.calls.clone();
    let r = router(sample, "");
    page(&r, "/tools/fqdn?name=www.alder.example").await;
    page(&r, "/tools/compare?name=www.alder.example").await;
    let made = calls.lock().unwrap().join("\n");
    assert!(!made.contains("web ") && !made.contains("third parties"), "{made}");
}

#[tokio::test]
async fn wildcards_silence_refusal_and_nothing_yet_are_told_apart() {
    let t = read("/tools/fqdn?name=any.apps.example").await;
    says(&t, &["From a wildcard", "the answer is made from *.apps.example", "whenever you like"]);
    let t = read("/tools/fqdn?name=dead.example").await;
    says(
        &t,
        &["It does not resolve.", "No server of dead.example answers usefully", "No place got an answer."],
    );
    assert!(!t.contains("How long it stays missing"), "silence is no denial: {t}");
    let t = answered("/tools/fqdn?name=a%20b", 400).await;
    says(&t, &["The name could not be analyzed", "contains a space"]);
    let t = read("/tools/fqdn").await;
    says(&t, &["Where does this name lead", "Analyze"]);
    assert!(!t.contains("Vantage points"), "{t}");
}

#[tokio::test]
async fn the_page_is_reached_by_a_load_of_its_own() {
    let (_, html) = page(&router(Sample::story(), ""), "/domains").await;
    let link = html.split("<a ").find(|a| a.contains("href=\"/tools/fqdn\"")).expect("in the rail");
    assert!(link.contains("rel=\"external\""), "its policy belongs to its document: {link}");
}
