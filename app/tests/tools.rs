//! The tools' pages as a browser without JavaScript gets them, in the states that matter.

mod support;

use model::ids::{Caller, Role};
use support::backend::Sample;
use support::{page, read, router, router_as, says, story, text};

#[tokio::test]
async fn a_check_says_what_is_wrong_worst_first_and_what_to_do() {
    let r = story();
    let t = read(&r, "/tools/check?zone=alder.example").await;
    says(
        &t,
        &["alder.example: old-ns.alder.example answers without authority over UDP", "1 error, 1 warning."],
    );
    says(&t, &["5 test cases, 131 questions in 1.2 s · 14:05 UTC"]);
    says(
        &t,
        &["old-ns.alder.example answers without authority", "Remove it from the delegation at the registrar"],
    );
    says(
        &t,
        &[
            "ERROR IS_NOT_AUTHORITATIVE ns = old-ns.alder.example/192.0.2.77",
            "Name servers answer with authority",
        ],
    );
    says(
        &t,
        &[
            "Notice and above 3",
            "Error 1",
            "Warning 1",
            "Notice 1",
            "Info 1",
            "All 4",
            "No IPv6 on this host.",
        ],
    );
    let at = |word: &str| t.find(word).expect(word);
    assert!(at("IS_NOT_AUTHORITATIVE") < at("IPV4_ONE_ASN") && at("IPV4_ONE_ASN") < at("SOA_DEFAULT_TTL"));
    assert!(!t.contains("B01_CHILD_FOUND"), "what is well waits for “All”");
    says(&t, &["All test cases", "3 of 5 test cases without a warning"]);
}

#[tokio::test]
async fn a_service_is_chosen_described_planned_and_checked() {
    let r = story();
    let (_, html) = page(&r, "/tools/configure?domain=juniper-lab.example").await;
    assert!(html.contains("/tools/configure?service=mail&amp;domain=juniper-lab.example"), "{html}");
    let t = read(&r, "/tools/configure?domain=juniper-lab.example&service=web").await;
    says(&t, &["Set up Web gateway", "Host name of the gateway", "Make the plan"]);
    assert!(!t.contains("Live check"), "nothing is asked before the service is described");
    let (status, html) =
        page(&r, "/tools/configure?domain=juniper-lab.example&service=web&target=edge.northlake.example")
            .await;
    assert_eq!(status, 200);
    let t = text(&html);
    says(&t, &["Web gateway: Incomplete", "Plan 2 changes", "Delete A www", "Create CNAME www"]);
    says(&t, &["What to do at Meridian DNS", "Zones › Records", "keep the dot at the end"]);
    says(&t, &["Confirm there, then come back; this page checks automatically."]);
    says(&t, &["When caches agree", "Live check 1 of 2 ready", "Zone appended twice", "Do not open www"]);
    assert!(html.contains("download=\"juniper-lab.example.zone\""), "a file without script");
    let (status, html) =
        page(&r, "/tools/configure?domain=nowhere.example&service=web&target=x.example").await;
    assert_eq!(status, 400);
    says(&text(&html), &["The service could not be checked", "no zone of its own"]);
}

#[tokio::test]
async fn a_saved_template_is_listed_without_its_text_and_its_variables_are_filled_in_first() {
    let sample = Sample::story();
    let calls = sample.calls.clone();
    let r = router(sample, "");
    let wizard = "/tools/configure?service=template&domain=juniper-lab.example";
    let (_, html) = page(&r, wizard).await;
    says(&text(&html), &["Web shop", "post.example/web", "needs ip, token", "Save a template", "Remove"]);
    assert!(!html.contains("The whole text"), "{html}");
    let values = "&template=post.example%2Fweb&values=ip%3D%0Atoken%3D&draft=1";
    let link = format!("{wizard}{values}").replace('&', "&amp;");
    assert!(html.contains(&link), "{link} is not in {html}");
    let (_, html) = page(&r, &format!("{wizard}{values}")).await;
    assert!(html.contains("ip=\ntoken=</textarea>") && html.contains("<details open"), "{html}");
    assert!(!calls.lock().expect("not poisoned").join("\n").contains("configure "), "no plan without values");
}

#[tokio::test]
async fn a_viewer_is_offered_nothing_that_is_refused() {
    let viewer = Caller { role: Role::Viewer, ..support::caller() };
    let r = router_as(viewer, Sample::story(), "");
    let t = read(&r, "/tools/configure?service=template").await;
    says(&t, &["Web shop", "Use"]);
    assert!(!t.contains("Save a template") && !t.contains("Remove"), "{t}");
}

#[tokio::test]
async fn kept_services_say_how_they_stand_and_open_beside_the_list() {
    let sample = Sample::story();
    let calls = sample.calls.clone();
    let r = router(sample, "");
    let t = read(&r, "/domains/alder.example/configuration").await;
    says(&t, &["Services 3", "Web gateway", "Working", "2 of 2 as expected", "checked 4 minutes ago"]);
    says(&t, &["Drifted", "4 of 6 as expected", "worked until 22 hours ago", "Not set up", "0 of 1"]);
    let t = read(&r, "/domains/alder.example/configuration?service=mail1").await;
    says(&t, &["Mail expected and live", "Zone appended twice", "What to do at Meridian DNS"]);
    says(&t, &["Confirm there, then reload this page."]);
    let t = read(&r, "/domains/q7.io/configuration").await;
    says(&t, &["Set up a service", "Choose what this domain is for"]);
    let form = axum::http::Request::post("/api/fn/add_service")
        .header("accept", "text/html")
        .header("content-type", "application/x-www-form-urlencoded")
        .body(axum::body::Body::from(
            "query=service%3Dweb%26domain%3Dq7.io%26target%3Dedge.northlake.example",
        ))
        .expect("a request");
    let answer = support::send(&r, form).await;
    assert_eq!(answer.status().as_u16(), 302);
    assert_eq!(answer.headers()["location"], "/domains/q7.io/configuration");
    assert!(calls.lock().expect("not poisoned").contains(&"add_service q7.io web".to_string()));
}

#[test]
fn the_customer_page_needs_no_script_and_names_what_went_wrong() {
    use model::configure::{ConnectLink, ServiceKind, ServiceSpec};
    let spec =
        ServiceSpec::new(ServiceKind::Web, "", [("target", "edge.northlake.example")]).expect("a spec");
    let link = ConnectLink {
        service: "1".into(),
        domain: "marigold-bakery.example".into(),
        brand: "Northlake Shops".into(),
        accent: "#0a7d4b".into(),
        help: "help@northlake.example".into(),
        expires_at: "2026-11-27T00:00:00Z".parse().expect("a time"),
    };
    let report = support::configure::report("marigold-bakery.example", &spec).expect("a report");
    let html = app::connect_document("", &service::ConnectView { link, report });
    let t = text(&html);
    says(&t, &["Northlake Shops", "Connect marigold-bakery.example", "Almost: zone appended twice."]);
    says(&t, &["At Meridian DNS, open Zones › Records.", "Record 1 of 2 found", "1 of 2 found"]);
    says(&t, &["until Nov 27, 2026", "help@northlake.example"]);
    assert!(html.contains("--accent-fill:#0a7d4b") && html.contains("http-equiv=\"refresh\""), "{html}");
    assert!(!html.contains("<script"), "{html}");
}

#[tokio::test]
async fn findings_are_filtered_by_links() {
    let r = story();
    let (_, html) = page(&r, "/tools/check?zone=alder.example&level=warning").await;
    assert!(
        html.contains("href=\"/tools/check?zone=alder.example&amp;level=error\"")
            || html.contains("level=error\"")
    );
    let t = text(&html);
    assert!(t.contains("IPV4_ONE_ASN") && !t.contains("IS_NOT_AUTHORITATIVE"), "{t}");
    says(&read(&r, "/tools/check?zone=alder.example&level=all").await, &["B01_CHILD_FOUND"]);
    says(&read(&r, "/tools/check?zone=alder.example&level=critical").await, &["No finding of this level."]);
}

#[tokio::test]
async fn all_well_nothing_yet_and_refused_are_different_pages() {
    let r = story();
    says(
        &read(&r, "/tools/check?zone=q7.io").await,
        &["q7.io is in order", "All 5 test cases found no problem"],
    );
    says(&read(&r, "/tools/check").await, &["Is this zone healthy?"]);
    let (_, html) = page(&r, "/tools/check?zone=exa+mple").await;
    says(&text(&html), &["The check could not be made", "contains a space"]);
}

#[tokio::test]
async fn before_a_move_the_new_servers_are_asked_for_and_then_tested() {
    let sample = Sample::story();
    let calls = sample.calls.clone();
    let r = router(sample, "");
    let (_, html) = page(&r, "/tools/check?zone=alder.example&move=1&ds=1,13,2,AB").await;
    assert!(html.contains("<details open class=\"card fold\""), "the section is open");
    assert!(html.contains("1,13,2,AB</textarea>"), "the DS is filled in");
    says(&text(&html), &["Where does alder.example move to?"]);
    assert!(calls.lock().expect("not poisoned").is_empty(), "nothing is asked before the servers are named");
    let url =
        "/tools/check?zone=alder.example&ns=ns1.new.example+192.0.2.1%0D%0Ans2.new.example&ds=1,13,2,AB";
    says(&read(&r, url).await, &["Don’t switch yet: 1 error, 1 warning", "ns1.new.example 192.0.2.1"]);
    let asked = calls.lock().expect("not poisoned").join("\n");
    assert_eq!(asked, "check alder.example [ns1.new.example/192.0.2.1 ns2.new.example] [1,13,2,AB]");
    says(
        &read(&r, "/tools/check?zone=q7.io&ns=ns1.new.example").await,
        &["These servers are ready to take over q7.io"],
    );
    let dns = page(&r, "/domains/alder.example/dns").await.1;
    assert!(
        dns.contains("href=\"/tools/check?zone=alder.example&amp;move=1")
            || dns.contains("zone=alder.example&move=1")
    );
}
