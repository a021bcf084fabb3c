//! Settings, ownership claims and notifications: what their pages say, and that they work as plain forms.

mod support;

use axum::body::Body;
use axum::http::Request;
use support::backend::Sample;
use support::{page, read, router, says, send, story, text};

#[tokio::test]
async fn settings_read_without_script_and_their_forms_go_to_their_own_address() {
    let (status, html) = page(&story(), "/settings/members").await;
    assert_eq!(status, 200);
    let t = text(&html);
    says(
        &t,
        &["Mira Holt", "you", "dns-ops@alder.example", "Only one owner", "registrar-desk@alder.example"],
    );
    says(&t, &["invited by Mira Holt", "in 6 days", "4 of 500 members and invitations", "Change owners"]);
    assert!(html.contains("action=\"/settings/members\"") && html.contains("value=\"invite\""));
    let (_, html) = page(&story(), "/settings/tokens").await;
    says(&text(&html), &["ci-inventory", "dst_h2kc…", "in 11 days", "expired", "46 of 50 tokens"]);
    assert!(html.contains("larger quota"), "a quota is shown before it is reached");
    let t = read(&story(), "/settings/audit?about=member").await;
    says(&t, &["Role changed", "security@alder.example", "was member", "is now viewer", "198.51.100.7"]);
    assert!(!t.contains("Token created"), "{t}");
    let (status, html) = page(&story(), "/settings/audit?from=yesterday").await;
    assert_eq!(status, 400);
    says(&text(&html), &["“yesterday” is not a day"]);
    let t = read(&story(), "/settings/account").await;
    says(&t, &["Firefox on Linux", "this session", "Safari on iOS", "Password and recovery code"]);
    says(&t, &["9 recovery codes left", "Change password", "Sign out all others"]);
    says(&t, &["Work laptop", "Remove Work laptop", "Add a passkey"]);
    says(&t, &["You can sign in with https://old.example", "Unlink https://old.example", "Link Alder ID"]);
    says(&t, &["Your role here follows your groups at Alder ID"]);
    let t = read(&story(), "/settings/account?link_problem=taken").await;
    says(&t, &["Nothing was linked", "or your account here, is already linked to another one"]);
    let t = read(&story(), "/settings/account?link_problem=no-role").await;
    says(&t, &["Nothing was linked", "has no role here"]);
    let t = read(&story(), "/settings/organisation").await;
    says(&t, &["Every 15 minutes", "As the server: every hour", "Expiry reminders, days before"]);
    says(&t, &["Alder Labs", "312 of 100000 domains", "2 of 100 claims that wait for a proof"]);
    says(&t, &["Look-ups 120 of 300 points", "Your look-ups 55 of 60 points within a minute"]);
}

#[tokio::test]
async fn features_say_where_they_stand_and_what_a_transition_waits_for() {
    let (status, html) = page(&story(), "/settings/features").await;
    assert_eq!(status, 200);
    let t = text(&html);
    says(&t, &["Not safe to upgrade", "network-claim is TurningOff", "version 0.1.0 · 2 processes"]);
    says(&t, &["domain-connect-apply is off, but leftovers exist", "alder.example", "Off · leftovers"]);
    says(&t, &["Run clean-up", "Feature/domain-connect-apply condition LeftoversExist=True", "Leftovers 2"]);
    says(&t, &["Turning off · 2 left", "Wait until no network claims are left (2: office, lab)"]);
    says(&t, &["All 8", "In transition 3", "Differs from default 4", "Keep it on"]);
    says(&t, &["third-party-vantages waits for alder-main-b01e, which still reports Off"]);
    says(
        &t,
        &["was started with --feature third-party-vantages=off", "Turn it off again", "1 of 2 report On"],
    );
    says(&t, &["unknown to 0.1.0; kept until 0.5", "third party", "by flag"]);
    assert!(!t.contains("zone-mirror waits for"), "{t}");
    says(&t, &["doh-server", "DNS over HTTPS for your resolvers", "2 of 2 report On"]);
    says(&t, &["invoices.billing.example is off, but leftovers exist", "(1: 2026-10)", "invoices by e-mail"]);
    for form in ["value=\"desire\"", "value=\"clean\""] {
        assert!(html.contains("action=\"/settings/features\"") && html.contains(form), "{form}");
    }
    // A registered feature is cleaned by its own program.
    assert_eq!(html.matches("value=\"clean\"").count(), 1);
    let t = read(&story(), "/settings/features?feature=invoices.billing.example").await;
    says(&t, &["Registered by", "quarry-ci, through the resource API", "60 s is considered stopped"]);
    says(&t, &["flags of each process; not at run time"]);
    let t = read(&story(), "/settings/features?feature=doh-server").await;
    says(&t, &["No answers at /dns-query and /resolve.", "alder-main-7c2f", "leader", "Reports"]);
}

#[tokio::test]
async fn a_transition_is_a_list_of_steps_and_filters_narrow_the_table() {
    let (_, html) = page(&story(), "/settings/features?feature=network-claim").await;
    let t = text(&html);
    says(&t, &["network-claim is turning off", "step 3 of 5", "Keep it on", "Clear uses", "took 38 s"]);
    says(&t, &["New uses are refused: creating and changing claims; they can still be read and released."]);
    says(&t, &["2 of 2 processes report Off.", "2 left: office, lab. Continues once they are deleted."]);
    says(
        &t,
        &["Waiting since", "Queued", "The state becomes Off.", "set by DNS operations", "Reset to default"],
    );
    assert!(html.contains("/features/network-claim"), "the object as YAML");
    let t = read(&story(), "/settings/features?feature=third-party-vantages").await;
    says(&t, &["is turning on", "step 2 of 3", "Begin uses", "Set by flag in", "alder-main-b01e (Off)"]);
    let (_, html) = page(&story(), "/settings/features?feature=third-party-vantages").await;
    assert!(html.contains("value=\"reset\""), "its default is off: deleting takes two steps");
    let (_, html) = page(&story(), "/settings/features?feature=alerts-slack").await;
    assert!(!html.contains("value=\"reset\""), "its default is on");
    let t = text(&html);
    says(&t, &["Cleaning up alerts-slack", "step 2 of 4", "Cleaning up · 1 left"]);
    says(&t, &["alerts-slack is being cleaned up. Next: Delete channel tests (1: channel-test/gone)."]);
    assert_eq!(t.matches("Keep it on").count(), 1, "that of network-claim: {t}");
    // With the list of what asks for attention and the card.
    assert_eq!(t.matches("Stop the clean-up and turn it on").count(), 2, "{t}");
    says(&t, &["It ends when none are left. Turning the feature on stops it"]);
    let rows = |t: &str| t.matches("Turn off").count() + t.matches("Turn on").count();
    let all = read(&story(), "/settings/features").await;
    let turning = read(&story(), "/settings/features?show=transition").await;
    assert!(rows(&turning) < rows(&all), "{turning}");
    assert!(!turning.contains("DNS over HTTPS for your resolvers"), "{turning}");
    let t = read(&story(), "/settings/features?show=nonsense").await;
    says(&t, &["DNS over HTTPS for your resolvers"]);
}

#[tokio::test]
async fn the_fleet_says_who_is_where_and_how_to_add_a_place() {
    let (status, html) = page(&story(), "/fleet").await;
    assert_eq!(status, 200);
    let t = text(&html);
    says(
        &t,
        &[
            "alder-fleet · 6 points of presence, 3 online",
            "fra-1",
            "eu-central",
            "14 ms",
            "Add point of presence",
        ],
    );
    says(
        &t,
        &[
            "gru-1 is offline",
            "ended without a drain",
            "moved to fra-1, lhr-1 and sin-1",
            "goes on with its key",
        ],
    );
    assert!(!t.contains("syd-1 is offline") && t.contains("Stopped"), "it stopped in order: {t}");
    says(&t, &["covers gru-1, syd-1 with others", "sin-1 is 412 ms away"]);
    says(&t, &["alder-main", "clusterset.k8s.io", "Make a token", "Revoke gru-1"]);
    says(
        &t,
        &[
            "An agent was refused: the id fra-1 exists",
            "203.0.113.0/24",
            "Join as fra-2",
            "did not use up the token",
        ],
    );
    says(&t, &["203.0.113.0/24, id taken", "eu-west", "Refused", "tried to join", "Copy command for fra-2"]);
    assert!(html.contains("name=\"region\" value=\"eu-west\""), "its region is kept");
    let place =
        |id: &str| html.rfind(&format!("Revoke {id}")).unwrap_or_else(|| panic!("{id} is not listed"));
    let listed = ["gru-1", "sin-1", "iad-1", "syd-1", "fra-1", "lhr-1"].map(place);
    assert!(listed.is_sorted(), "worst first, then by region: {listed:?}");
    assert!(html.contains("action=\"/fleet\"") && html.contains("value=\"invite\""));
    says(&t, &["Make a token for fra-2", "accepts agents that speak protocol 1 to 2"]);
    assert!(html.contains("clusterclaims/id.k8s.io"), "the claim as YAML");
    // The last day, as a line with its words.
    let line = "Measured in 2 hours of the last 24: median 12 to 14 ms, p95 30 to 90 ms";
    assert_eq!(html.matches(line).count(), 3, "of each agent that is online");
}

#[tokio::test]
async fn a_fleet_whose_feature_is_off_says_that_and_not_what_follows_from_it() {
    let off = || Sample { fleet_off: true, ..Sample::story() };
    let (status, html) = page(&router(off(), ""), "/fleet").await;
    assert_eq!(status, 200);
    let t = text(&html);
    says(
        &t,
        &["Points of presence are turned off", "fleet-agents", "is off", "Turn it on", "Turned off", "gru-1"],
    );
    for gone in
        ["Needs attention", "Start the agent again", "Make a token", "Add point of presence", "moved to"]
    {
        assert!(!t.contains(gone), "{gone}: {t}");
    }
    assert!(html.contains("/settings/features?feature=fleet-agents") && !html.contains("value=\"invite\""));
}

#[tokio::test]
async fn one_server_is_asked_from_each_place_without_script() {
    let (_, html) = page(&story(), "/fleet").await;
    assert!(html.contains("action=\"/fleet#server\"") && html.contains("the slowest"), "{html}");
    let (status, html) = page(&story(), "/fleet?name=www.alder.example").await;
    assert_eq!(status, 200);
    let t = text(&html);
    says(&t, &["One server from each place", "412 ms", "12 ms from This server and in 412 ms from sin-1"]);
    says(&t, &["one machine, unicast", "1 of 4 points of presence were asked", "Ask from each place"]);
    assert!(
        html.contains("<option") && html.contains("value=\"ns1.alder.example\""),
        "its servers are a choice"
    );
    let t = read(&story(), "/fleet?name=www.alder.example&server=ns9.other.example").await;
    says(&t, &["ns9.other.example is no name server of this zone; showing ns1.alder.example instead"]);
    let t = read(&story(), "/fleet?name=q7.io").await;
    says(&t, &["No point of presence is online."]);
}

#[tokio::test]
async fn a_claim_says_what_to_publish_where_and_why_it_does_not_count_yet() {
    let t = read(&story(), "/domains/q7.io/ownership").await;
    says(
        &t,
        &[
            "Pending",
            "Record to create at Digital Ocean",
            "At Digital Ocean, enter only “_domainscope-challenge” as the host name",
            "Digital Ocean appended the domain to a name that ended in it",
            "ns1.digitalocean.com",
            "2026112001",
            "NXDOMAIN",
            "no reply within 5 s",
            "Next check in",
            "Check now",
            "up to 1 h",
        ],
    );
    let t = read(&story(), "/domains/halcyon.example/ownership").await;
    says(&t, &["Verified since", "halcyon.example and the names below it", "Withdraw the claim"]);
    let t = read(&story(), "/domains/alder.example/ownership").await;
    says(&t, &["Prove that alder.example is yours", "TXT record (recommended)", "Start verification"]);
}

#[tokio::test]
async fn claims_work_as_plain_forms() {
    let sample = Sample::story();
    let calls = sample.calls.clone();
    let router = router(sample, "");
    for (path, body) in [
        ("start_claim", "name=q7.io&method=cname"),
        ("check_claim", "name=q7.io"),
        ("withdraw_claim", "name=q7.io"),
    ] {
        let request = Request::post(format!("/api/fn/{path}"))
            .header("content-type", "application/x-www-form-urlencoded")
            .header("accept", "text/html")
            .header("referer", "http://localhost/domains/q7.io/ownership")
            .body(Body::from(body))
            .expect("a request");
        assert_eq!(send(&router, request).await.status(), 302, "{path}");
    }
    let wanted = ["claim q7.io by cname", "check the claim to q7.io", "withdraw the claim to q7.io"];
    assert_eq!(*calls.lock().expect("the calls"), wanted);
}

#[tokio::test]
async fn notification_settings_read_and_change_without_javascript() {
    let t = read(&story(), "/settings/notifications").await;
    says(
        &t,
        &[
            "4 channels, 3 rules",
            "Operations mailbox",
            "ops@alder.example",
            "250 OK by mx1.alder.example:587",
        ],
    );
    says(&t, &["Test delivered at 14:05", "Test failed at 14:05", "Retrying, next at 14:09 UTC", "whsec_"]);
    says(
        &t,
        &[
            "All kinds, Warning or more, owned",
            "quiet 22:00 to 07:00",
            "Last 7 days",
            "Muted until Nov 23, 2026",
        ],
    );
    says(&t, &["1 failing", "Failing since 09:12: 404 Not Found", "attempt 4 of 12 · no answer in 10 s"]);
    says(&t, &["Failed messages", "tidewater.example and 2 more", "Send again", "Drop"]);
    // Events without a message yet can be tried again, not dropped.
    says(&t, &["cinder.example", "before any rule was applied"]);
    let (_, html) = page(&story(), "/settings/notifications").await;
    assert!(
        html.contains("Drop: tidewater.example and 2 more to Microsoft Teams")
            && !html.contains("Drop: cinder")
    );
    says(&t, &["1,234", "The oldest 2 are listed", "1,234 failed messages will not be sent any more"]);
    assert!(!t.contains("Edit rule"));
    for part in
        ["Maintenance", "Domains tagged prod", "Move to the new name servers", "End now", "Plan maintenance"]
    {
        assert!(t.contains(part), "{part}: {t}");
    }
    let t = read(&story(), "/settings/notifications?rule=prod").await;
    says(
        &t,
        &[
            "Edit rule",
            "This would have sent 3 messages in the last 7 days",
            "to 2 channels each",
            "4 of 12 events",
            "Not sent: 7 events “Record changed” (kind not selected), 4 events about other domains, 1 less severe event.",
            "held in quiet hours from 00:20",
            "Record changed 7",
            "Warning or more (7)",
            "34 domains",
            "Microsoft Teams failing since 09:12",
            "Send Critical events at once, also in quiet hours",
        ],
    );
    // A preview is an address: the editor keeps what was typed.
    let (_, html) = page(&story(), "/settings/notifications?rule=new&name=Typed&at_least=critical").await;
    assert!(html.contains("value=\"Typed\""));

    let sample = Sample::story();
    let calls = sample.calls.clone();
    let r = router(sample, "");
    let post = async |to: &str, body: &'static str| {
        let request = Request::post(format!("/api/fn/{to}"))
            .header("content-type", "application/x-www-form-urlencoded")
            .header("accept", "text/html")
            .header("referer", "http://h/settings/notifications")
            .body(Body::from(body))
            .unwrap();
        let answer = send(&r, request).await;
        let to = answer.headers().get("location").map(|v| v.to_str().unwrap().to_string());
        (answer.status().as_u16(), to.unwrap_or_default())
    };
    let (status, to) =
        post("save_rule", "rule=new&name=Prod&kinds%5B%5D=expired&channels%5B%5D=mail&at_least=info").await;
    assert_eq!((status, to.as_str()), (302, "/settings/notifications?done=saved.1"));
    post("save_channel", "name=Mail&kind=email&to=ops%40alder.example&with_rule=yes").await;
    post("test_channel", "id=hook").await;
    post("save_channel", "id=teams&kind=teams&name=Teams&url=https%3A%2F%2Fnew.example%2Fx").await;
    let (_, to) = post("resend", "id=2&channel=teams").await;
    assert_eq!(to, "/settings/notifications?done=resent.1");
    let (_, to) = post("drop_failed", "id=2&channel=teams").await;
    assert_eq!(to, "/settings/notifications?done=dropped.1");
    post("drop_failed", "channel=*").await;
    let held = "rule=new&name=Held&channels%5B%5D=mail&critical%5B%5D=no&muted_until=2026-11-23";
    post("save_rule", held).await;
    let (status, _) = post("drop_failed", "").await;
    assert_ne!(status, 200, "an incomplete form drops nothing");
    let calls = calls.lock().unwrap();
    assert!(calls.iter().any(|c| c == "held Some(2026-11-24T00:00:00Z)"), "{calls:?}");
    assert_eq!(calls[0], "save_rule Prod [Expired] [\"mail\"]");
    assert_eq!(calls[1], "save_channel email Mail ops@alder.example");
    assert_eq!(calls[3], "save_channel teams Teams ");
    assert_eq!([&calls[2], &calls[4]], ["test_channel hook", "resend Some((EventId(2), \"teams\"))"]);
    assert_eq!(calls[5..7], ["drop_failed Some((EventId(2), \"teams\"))", "drop_failed None"]);
}

#[tokio::test]
async fn a_channel_is_edited_and_its_failed_messages_are_not_dropped_unsaid() {
    let (status, html) = page(&story(), "/settings/notifications").await;
    assert_eq!(status, 200);
    // The address of the failing one can be replaced; secrets are not in the page.
    for part in ["name=\"id\" value=\"teams\"", "name=\"kind\" value=\"teams\"", "Leave empty to keep it"] {
        assert!(html.contains(part), "{part}");
    }
    assert!(html.contains("value=\"ops@alder.example\""), "recipients are no secret");
    let t = text(&html);
    says(&t, &["Save channel", "failed message", "will not be sent any more", "Remove it and drop"]);
}

#[tokio::test]
async fn events_say_whether_messages_about_them_were_sent() {
    let t = read(&story(), "/events").await;
    says(&t, &["seen by alder-main (alder-fleet)"]);
    says(
        &t,
        &[
            "Sent to Operations mailbox, Nov 20, 2026, 14:05 UTC",
            "Not sent to Microsoft Teams: 404 Not Found",
            "Not sent: no rule sends it",
            "Muted until Nov 21, 2026, 14:05 UTC; problems that remain then are sent",
        ],
    );
}
