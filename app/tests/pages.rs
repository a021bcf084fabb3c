//! What a person reads on rendered pages, in the states that matter; and what forms without JavaScript do.

mod support;

use support::backend::Sample;
use support::{page, post, read, router, says, story, text, world};

#[tokio::test]
async fn the_inventory_reads_without_javascript() {
    let (status, html) = page(&story(), "/domains").await;
    let t = text(&html);
    assert_eq!(status, 200);
    says(
        &t,
        &[
            "Domain Name",
            "Expiration",
            "Registrar",
            "DNS Provider",
            "Status",
            "Last Change Detected",
            "Actions",
        ],
    );
    says(
        &t,
        &["q7.io", "Jul 6, 2029", "NAMECHEAP INC", "Digital Ocean", "Normal", "Aug 17, 2019", "Details"],
    );
    says(&t, &["13 · 10 owned, 3 watched", "expired 2 days ago", "in 14 days · auto-renew", "set manually"]);
    says(&t, &["bücherei.example", "Secure · registry lock", "Scanning · zone, 3 of 6", "1–13 of 13"]);
    assert!(html.starts_with("<!DOCTYPE html>") && html.contains("<meta name=\"bundle\" content=\"tags\">"));
    assert!(html.contains("<title>Domains · Domainscope</title>"));
}

#[tokio::test]
async fn a_recent_change_is_tinted_and_says_so_in_words() {
    let (_, html) = page(&story(), "/domains").await;
    let row = |name: &str| {
        let at = html.find(&format!("data-name=\"{name}\"")).expect("the row is there");
        let start = html[..at].rfind("<tr").expect("a row begins");
        html[start..].split("</tr>").next().expect("and ends").to_string()
    };
    let changed = row("alder.example");
    assert!(changed.contains("bg-yellow-50") && changed.contains("New change"), "{changed}");
    let old = row("q7.io");
    assert!(!old.contains("bg-yellow-50") && !old.contains("New change"), "{old}");
    assert!(old.contains("text-muted"), "{old}");
}

#[tokio::test]
async fn what_was_detected_here_is_told_apart_from_what_the_registry_states() {
    let (_, html) = page(&story(), "/domains").await;
    let t = text(&html);
    // Expired is not expiring, a detected change is not a registry's date, DNS is not the registration.
    says(&t, &["1 Expired", "3 Expire in 30 days", "2 Registration changes, 7 d", "1 DNS changes, 7 d"]);
    says(&t, &["Aug 17, 2019 registry date", "DNS changed", "Registration, last 7 days", "DNS, last 7 days"]);
    for filter in ["expires=expired", "expires=next-30d", "changed=7d", "dns_changed=7d"] {
        assert!(html.contains(filter), "the strip links to {filter}");
    }
    let at = html.find("data-name=\"brightmoor.example\"").expect("the row is there");
    let start = html[..at].rfind("<tr").expect("a row begins");
    let row = html[start..].split("</tr>").next().expect("and ends");
    assert!(row.contains("badge-dns") && !row.contains("bg-yellow-50"), "a badge without a tint: {row}");
    let t = text(&page(&story(), "/domains?dns_changed=7d&expires=next-30d").await.1);
    says(&t, &["DNS change detected, 7 days", "Expiration: in the next 30 days"]);
    says(&read(&story(), "/domains/brightmoor.example").await, &["DNS changed"]);
}

#[tokio::test]
async fn the_strip_follows_the_thresholds() {
    let thresholds = model::judge::Thresholds { critical_days: 14, warning_days: 60, stale_days: 3 };
    let (_, html) = page(&router(Sample { thresholds, ..Sample::story() }, ""), "/domains").await;
    says(&text(&html), &["3 Expire in 60 days"]);
    assert!(html.contains("expires=next-60d"));
    assert!(html.contains(">60 days<") && !html.contains(">30 days<"));
}

#[tokio::test]
async fn an_old_value_says_its_age_and_why() {
    let t = read(&story(), "/domains/meadow.example").await;
    says(&t, &["Unknown", "read", "Registration: rate limited by the server", "asks for fewer questions"]);
    says(&t, &["Showing the data read 4 days ago", "Next attempt after 14:40 UTC", "Jan 8, 2028"]);
    let list = read(&story(), "/domains?q=meadow").await;
    says(&list, &["read 4 days ago", "Unknown"]);
}

#[tokio::test]
async fn sorting_and_filters_are_links_that_keep_the_rest() {
    let (_, html) = page(&story(), "/domains?tag=core&sort=-change").await;
    assert!(html.contains("aria-sort=\"descending\""), "the sorted column says so");
    assert!(
        html.contains("href=\"/domains?sort=name&amp;tag=core\"")
            || html.contains("href=\"/domains?sort=name&tag=core\"")
    );
    assert!(html.contains("name=\"tag\" value=\"core\""), "the search form keeps the filter");
    says(&text(&html), &["Tag: core", "1 match"]);
    let t = read(&story(), "/domains?q=nothing.example").await;
    says(&t, &["No domain matches “nothing.example”", "Clear all filters", "Add it"]);
}

#[tokio::test]
async fn the_first_start_begins_the_work() {
    let empty = router(Sample::of(vec![]), "");
    let (_, html) = page(&empty, "/domains").await;
    says(&text(&html), &["Add your domains", "none yet", "Domains, one per line"]);
    assert!(html.contains("action=\"/api/fn/add\""));
}

#[tokio::test]
async fn a_failure_is_a_banner_and_a_status_code() {
    let broken = router(Sample { broken: true, ..Sample::of(vec![]) }, "");
    let (status, html) = page(&broken, "/domains").await;
    assert_eq!(status, 503);
    says(&text(&html), &["The inventory could not be read", "The database does not answer."]);
    let (status, html) = page(&story(), "/domains/missing.example").await;
    assert_eq!(status, 404);
    says(&text(&html), &["Not found in this organisation", "Scan without adding"]);
    let (status, html) = page(&story(), "/nowhere").await;
    assert_eq!(status, 404);
    says(&text(&html), &["Page not found"]);
}

#[tokio::test]
async fn the_overview_of_q7_io_has_every_fact() {
    let (_, html) = page(&story(), "/domains/q7.io").await;
    let t = text(&html);
    says(
        &t,
        &[
            "q7.io",
            "Registered with NAMECHEAP INC",
            "DNS Provider D Digital Ocean",
            "Last Scan 4 minutes ago",
        ],
    );
    says(
        &t,
        &["Created Jul 6, 2012", "Modified Aug 17, 2019", "Expiration Jul 6, 2029", "Registrar IANA ID 1068"],
    );
    says(
        &t,
        &["959 days left", "clientTransferProhibited", "clientUpdateProhibited", "clientDeleteProhibited"],
    );
    says(&t, &["The registrar rejects requests to delete the name", "Insecure (unsigned)", "Rescan"]);
    assert!(
        html.contains("2012-07-06T13:58:57Z") && html.contains("2019-08-17T16:33:24.36Z"),
        "exact on hover"
    );
    assert!(html.contains("RDAP of the registry, https://rdap.registry.example/"), "the source on hover");
    says(
        &t,
        &[
            "Where each fact comes from",
            "created, expiration, nameservers, registrar, status flags, modified",
        ],
    );
}

#[tokio::test]
async fn what_is_wrong_stands_on_top_with_what_to_do() {
    let t = read(&story(), "/domains/alder.example").await;
    let needs = t.find("Needs attention").expect("is there");
    assert!(needs < t.find("Domain Info").expect("is there"));
    says(&t, &["Remove it from the delegation at the registrar", "ERROR IS_NOT_AUTHORITATIVE, Delegation04"]);
    says(
        &t,
        &[
            "Expires in 23 days, on Dec 13, 2026",
            "Mark auto-renew",
            "412 ms",
            "Lame",
            "only the parent lists it",
        ],
    );
    says(&t, &["does not exist for 30 min", "can stay missing until 14:35; wait until 15:05"]);
}

#[tokio::test]
async fn names_nobody_scanned_or_registered() {
    let t = read(&story(), "/domains/brandnew.example").await;
    says(&t, &["Not scanned yet", "Registrar unknown", "Last Scan Never"]);
    let t = read(&story(), "/domains/nobody.example").await;
    says(&t, &["Not registered", "do not delegate this name", "nobody.example was asked for just now"]);
}

#[tokio::test]
async fn an_idn_is_shown_readable_and_text_is_not_markup() {
    let (_, html) = page(&story(), "/domains/xn--bcherei-n2a.example").await;
    assert!(!html.contains("<b>Sorgen</b>") && html.contains("&lt;b&gt;Sorgen"), "a note is text");
    let t = text(&html);
    says(&t, &["bücherei.example", "xn--bcherei-n2a.example", "Mar 1, 2027", "set manually", "Self-hosted"]);
}

#[tokio::test]
async fn a_scan_shows_its_stages() {
    let (_, html) = page(&story(), "/domains/halcyon.example").await;
    says(
        &text(&html),
        &["RDAP answered, 412 ms", "1 of 4 servers is lame, 1.5 s", "Zone running", "Compare Queued"],
    );
    assert!(html.contains("role=\"progressbar\"") && html.contains("aria-valuenow=\"2\""));
}

#[tokio::test]
async fn history_compares_any_two_states() {
    let r = story();
    let (_, html) = page(&r, "/domains/alder.example/history?from=1&to=3").await;
    let t = text(&html);
    says(
        &t,
        &["Over time", "Snapshots 3", "What differs", "Harbor Names Ltd", "added clientTransferProhibited"],
    );
    says(
        &t,
        &["removed ns1.quarry-dns.example", "Raw RDAP of the registry", "\"ldhName\": \"alder.example\""],
    );
    assert!(!t.contains("added old-ns.alder.example"), "what both have is not marked");
    let swapped = read(&r, "/domains/alder.example/history?from=3&to=1").await;
    says(&swapped, &["removed ns1.quarry-dns.example"]);
    let newest = read(&r, "/domains/alder.example/history?from=99&to=abc").await;
    says(&newest, &["removed ns1.quarry-dns.example"]);
    assert!(!newest.contains("added Lantern Registrar"));
    assert!(t.contains("kept 400 days"), "{t}");
    let raw = read(&r, "/domains/alder.example/history?from=1&to=3&show=raw").await;
    says(&raw, &["1 of 1 answers", "D1-EXAMPLE", "D2-EXAMPLE", "removed", "added"]);
    let equal = read(&r, "/domains/alder.example/history?from=2&to=3&show=raw").await;
    says(&equal, &["0 of 1 answers", "The two answers are equal."]);
}

#[tokio::test]
async fn tabs_are_addresses() {
    let (_, html) = page(&story(), "/domains/alder.example/dns").await;
    let tab = html.split("id=\"tab-dns\"").next().and_then(|h| h.rsplit('<').next()).unwrap_or_default();
    assert!(tab.starts_with("a "), "a tab is a link: {tab}");
    assert!(html.contains("aria-labelledby=\"tab-dns\""));
    says(
        &text(&html),
        &[
            "Delegation",
            "parent lists 4, zone 3",
            "_dmarc",
            "SPF",
            "unknown, not absent",
            "IS_NOT_AUTHORITATIVE",
        ],
    );
    let everywhere = read(&story(), "/tools/compare?name=www.alder.example&type=SOA").await;
    says(
        &everywhere,
        &[
            "From each place",
            "12 ms",
            "412 ms",
            "from sin-1: slow, unicast authoritative DNS. 1 of 4 points of presence were asked, spread over their regions.",
        ],
    );
    let traced = read(&story(), "/domains/alder.example/dns?trace=SOA").await;
    says(&traced, &["alder.example does not exist", "7 questions in 41 ms", "refers to example"]);
}

#[tokio::test]
async fn events_have_severity_values_and_source() {
    let r = story();
    let t = read(&r, "/events").await;
    says(
        &t,
        &[
            "3 events",
            "Status flag removed",
            "Status flag clientTransferProhibited was removed",
            "Critical",
            "Acknowledge",
        ],
    );
    let worst = read(&r, "/events?severity=critical").await;
    assert!(worst.contains("1 events") || worst.contains("1 event"));
    assert!(!worst.contains("is now Lantern Registrar"), "{worst}");
    let one = read(&r, "/domains/alder.example/events").await;
    assert!(one.contains("Registrar changed") && !one.contains("tidewater.example"), "{one}");
}

#[tokio::test]
async fn events_are_filtered_and_acknowledged_without_script() {
    let sample = Sample::story();
    let calls = sample.calls.clone();
    let r = router(sample, "");
    let (_, html) =
        page(&r, "/events?q=tidewater&last=7d&tag=prod&ownership=owned&from=2026-11-01&to=2026-11-19").await;
    let words = text(&html);
    says(
        &words,
        &[
            "“tidewater”",
            "Last 7 days",
            "Nov 1, 2026 to Nov 19, 2026",
            "Tag prod",
            "Delivery failed",
            "Not acknowledged",
        ],
    );
    says(&html, &[r#"name="q" value="tidewater""#, r#"name="to" value="2026-11-19""#]);
    // A chip removes its own filter and keeps the others, the search keeps them as hidden fields.
    says(
        &html,
        &[
            "/events?q=tidewater&amp;tag=prod&amp;ownership=owned&amp;last=7d\"",
            r#"<input type="hidden" name="tag" value="prod""#,
        ],
    );
    says(
        &words,
        &["Acknowledge all 3 that match", "3 events that match the filters are acknowledged, on all pages."],
    );
    let form = "query=%3Fseverity%3Dwarning&domain=&up_to=3";
    let to = post(&r, "acknowledge_matching", form, "http://localhost/events?severity=warning").await;
    assert_eq!(to, "/events?severity=warning&done=acknowledged.2");
    says(&read(&r, &to).await, &["2 events acknowledged"]);
    says(
        &calls.lock().expect("not poisoned").join("\n"),
        &["acknowledge_matching ?severity=warning up to 3"],
    );
}

#[tokio::test]
async fn tools_answer_by_address() {
    let r = story();
    let t = read(&r, "/tools/scan?name=https://www.alder.example/x").await;
    says(&t, &["Read as alder.example", "How long a missing name stays missing", "Open in the inventory"]);
    let (status, html) = page(&r, "/tools/scan?name=exa%20mple.com").await;
    assert_eq!(status, 400, "a tool that refuses says so in its status too");
    says(&text(&html), &["The domain could not be looked up"]);
    let t = read(&r, "/tools/trace?name=new.alder.example&type=mx").await;
    says(
        &t,
        &["new.alder.example does not exist", "No IPv6 on this host.", "1 of 2 servers answered", "14:35"],
    );
}

#[tokio::test]
async fn forms_work_without_javascript_and_lead_back() {
    let sample = Sample::story();
    let calls = sample.calls.clone();
    let r = router(sample, "");
    let here = "http://localhost/domains?sort=name";
    let to = post(&r, "rescan", "names%5B%5D=q7.io&names%5B%5D=alder.example", here).await;
    assert_eq!(to, "/domains?sort=name&done=rescan.2");
    says(&read(&r, &to).await, &["Rescan of 2 domains queued"]);
    let to = post(&r, "add", "text=new.example%0D%0Aexa+mple.com&ownership=watched&tags=b%2C+a", here).await;
    assert_eq!(to, "/domains?sort=name&done=added.1&refused=2:exa%20mple.com");
    let t = read(&r, &to.replace("/domains?", "/domains/add?")).await;
    says(&t, &["1 domain added", "line 2:", "exa mple.com"]);
    let to = post(&r, "set_renewal", "name=alder.example&expires=2027-03-01&auto_renew=yes", here).await;
    says(&read(&r, &to).await, &["Saved"]);
    let calls = calls.lock().expect("not poisoned").join("\n");
    says(
        &calls,
        &["rescan q7.io alder.example", "add watched a+b", "manual_expires: Some(Some(2027-03-01))"],
    );
    says(&calls, &["auto_renew: Some(Some(true))"]);
}

#[tokio::test]
async fn a_form_that_is_refused_says_why() {
    let r = story();
    let to =
        post(&r, "set_renewal", "name=alder.example&expires=soon", "http://localhost/domains/alder.example")
            .await;
    assert!(to.contains("__err="), "{to}");
    let local = to.trim_start_matches("http://localhost");
    says(&read(&r, local).await, &["Request failed", "“soon” is not a date"]);
    let to = post(&r, "remove", "", "http://localhost/domains").await;
    says(&read(&r, to.trim_start_matches("http://localhost")).await, &["No domain was selected."]);
}

#[tokio::test]
async fn an_address_cannot_put_words_into_our_mouth() {
    for url in ["/domains/add?text=", "/tools/configure?service=template&template="] {
        let (_, html) = page(&story(), &format!("{url}%3C/textarea%3E%3Cscript%3Ealert(2)")).await;
        assert!(html.contains("alert(2)") && !html.contains("<script>alert(2)"), "{url}");
    }
    let t = read(&story(), "/domains?done=Your%20account%20is%20locked.1").await;
    assert!(!t.contains("account is locked"), "{t}");
    let (_, html) = page(&story(), "/domains?q=%3Cscript%3Ealert(1)%3C/script%3E").await;
    assert!(!html.contains("<script>alert(1)"));
}

#[tokio::test]
async fn a_page_of_a_hundred_rows_has_its_pages() {
    let many = (0..120).map(|i| {
        let r = world::registration("R", "1", "2020-01-01", "2020-01-01", Some("2029-01-01"), &["ok"]);
        world::domain(&format!("name{i:03}.example"), r, "P")
    });
    let r = router(Sample::of(many.collect()), "");
    let (_, html) = page(&r, "/domains?page=2").await;
    says(&text(&html), &["51–100 of 120", "Page 2 of 3", "Previous", "Next"]);
    assert!(
        html.contains("href=\"/domains?page=3\"") && html.contains("rel=\"prev\" href=\"/domains\""),
        "links"
    );
}
