//! Names meet numbers over HTTP: where the addresses of a domain lie, and the names that point into a prefix.

use crate::resources::{CLAIMS, claim, send};
use crate::site::{BEARER, Site, site};
use model::dns::{Delegation, NsName, RrSet, ZoneSnapshot};
use model::ids::Vantage;
use model::names::DomainName;
use model::observation::Observation;
use serde_json::{Value, json};
use service::resources::ResourceBackend as _;
use store::Record;

#[tokio::test]
async fn addresses_lie_in_claims_released_prefixes_unclaimed_blocks_or_elsewhere() {
    let site = site(false).await;
    let domains = "/apis/datumapis.com/v1alpha/namespaces/default/domains";
    let domain = json!({ "metadata": { "name": "q7.io" }, "spec": { "name": "q7.io" } });
    let (status, made) = site.api("POST", domains, domain).await;
    assert_eq!(status.as_u16(), 201, "{made}");
    let verified = made["status"]["conditions"].as_array().unwrap().iter().find(|c| c["type"] == "Verified");
    assert_eq!(verified.map(|c| (&c["status"], &c["reason"])), Some((&json!("False"), &json!("NotClaimed"))));
    observed(&site, "q7.io", "www.q7.io", &["10.0.0.7", "10.0.1.7", "10.0.2.7", "192.0.2.7"]).await;
    let places = async || {
        let (status, all) = site.api("GET", "/api/v1/domains/q7.io/addresses", Value::Null).await;
        assert_eq!(status.as_u16(), 200, "{all}");
        all.as_array().unwrap().clone()
    };
    let tags = async || {
        let (_, detail) = site.api("GET", "/api/v1/domains/q7.io", Value::Null).await;
        let findings = detail["observation"]["findings"].as_array().unwrap().clone();
        findings.iter().map(|f| f["tag"].as_str().unwrap().to_string()).collect::<Vec<_>>()
    };
    // Without claims nothing is said.
    assert!(places().await.is_empty() && tags().await.is_empty());
    site.api("POST", CLAIMS, claim("web", "10.0.0.0/24")).await;
    site.api("POST", CLAIMS, claim("old", "10.0.1.0/24")).await;
    site.api("DELETE", &format!("{CLAIMS}/old"), Value::Null).await;
    let words =
        |all: &[Value]| all.iter().map(|a| a["place"].as_str().unwrap().to_string()).collect::<Vec<_>>();
    assert_eq!(words(&places().await), ["claimed", "released", "elsewhere", "elsewhere", "claimed"]);
    assert_eq!(tags().await, ["ADDRESS_IN_RELEASED_SPACE"]);
    // Addresses that no claim covers are a finding in blocks from which the organisation allocates.
    let mut pool = claim("pool", "10.0.9.0/24");
    pool["spec"]["addressSpace"][0]["from"] = "10.0.0.0/16".into();
    site.api("POST", CLAIMS, pool).await;
    let all = places().await;
    assert_eq!(words(&all), ["claimed", "released", "unclaimed", "elsewhere", "claimed"]);
    assert_eq!((all[0]["claim"].as_str(), all[0]["prefix"].as_str()), (Some("web"), Some("10.0.0.0/24")));
    assert!(all[1]["sentence"].as_str().unwrap().contains("which claim old released on"), "{}", all[1]);
    assert_eq!(all[2]["block"], "10.0.0.0/16");
    // Those of name servers are named, too.
    assert_eq!((&all[4]["name"], &all[4]["claim"]), (&json!("ns1.q7.io"), &json!("web")));
    assert_eq!(tags().await, ["ADDRESS_IN_RELEASED_SPACE", "ADDRESS_IN_UNCLAIMED_SPACE"]);
    // From the prefix to the names; the network is down, so that no PTR record is known.
    let (_, found) = site.api("GET", "/api/v1/networks/names?prefix=10.0.0.0/23", Value::Null).await;
    let names: Vec<_> =
        found["names"].as_array().unwrap().iter().map(|n| n["address"].as_str().unwrap()).collect();
    assert_eq!(names, ["10.0.0.7", "10.0.0.53", "10.0.1.7"]);
    assert_eq!(found["names"][1]["name"], "ns1.q7.io", "{found}");
    assert_eq!(
        (&found["names"][0]["name"], &found["names"][0]["ptr"]),
        (&json!("www.q7.io"), &json!("no_answer"))
    );
    assert_eq!((&found["more"], &found["next"]), (&json!(false), &Value::Null), "{found}");
    assert!(found["names"][0]["seen_at"].is_string(), "{found}");
    // The last claim goes; what points into its prefix is still found.
    for name in ["web", "pool"] {
        assert_eq!(site.api("DELETE", &format!("{CLAIMS}/{name}"), Value::Null).await.0.as_u16(), 200);
    }
    assert_eq!(words(&places().await), ["released", "released", "elsewhere", "elsewhere", "released"]);
    assert_eq!(tags().await, ["ADDRESS_IN_RELEASED_SPACE"; 3]);
    let (status, e) = site.api("GET", "/api/v1/networks/names?prefix=10.0.0.1/23", Value::Null).await;
    assert!(status.as_u16() == 422 && e["detail"].as_str().unwrap().contains("host bits"), "{e}");
}

/// More names than one answer holds are read in parts, none twice and none left out; of each part 64 addresses are looked up.
#[tokio::test]
async fn names_that_point_into_a_prefix_go_on_in_parts() {
    let site = site(false).await;
    let domains = "/apis/datumapis.com/v1alpha/namespaces/default/domains";
    for name in ["q7.io", "birch.example"] {
        let domain = json!({ "metadata": { "name": name }, "spec": { "name": name } });
        assert_eq!(site.api("POST", domains, domain).await.0.as_u16(), 201);
    }
    let many = |third: u8, count: u8| (0..count).map(|i| format!("10.0.{third}.{i}")).collect::<Vec<_>>();
    let (a, b) = (many(1, 240), many(1, 10));
    observed(&site, "q7.io", "www.q7.io", &a.iter().map(String::as_str).collect::<Vec<_>>()).await;
    observed(&site, "birch.example", "www.birch.example", &b.iter().map(String::as_str).collect::<Vec<_>>())
        .await;
    let part = async |after: &str| {
        let path = format!("/api/v1/networks/names?prefix=10.0.1.0/24{after}");
        let (status, found) = site.api("GET", &path, Value::Null).await;
        assert_eq!(status.as_u16(), 200, "{found}");
        found
    };
    let first = part("").await;
    assert_eq!((first["names"].as_array().unwrap().len(), &first["more"]), (200, &json!(true)));
    let of = |state: &str| {
        first["names"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|n| n["ptr"] == state)
            .map(|n| n["address"].as_str().unwrap().to_string())
            .collect::<std::collections::BTreeSet<_>>()
            .len()
    };
    // What was asked without an answer is one thing, what was not asked another: beyond 64 addresses nothing is.
    let (asked, not_asked) = (of("no_answer"), of("not_asked"));
    assert!((1..=64).contains(&asked) && asked + not_asked == 190, "{asked} {not_asked}");
    let next = first["next"].as_str().unwrap();
    assert_eq!(next, "10.0.1.189,q7.io,www.q7.io");
    let second = part(&format!("&after={next}")).await;
    assert_eq!((second["names"].as_array().unwrap().len(), &second["next"]), (50, &Value::Null));
    let mut all: Vec<String> = [&first, &second]
        .iter()
        .flat_map(|p| p["names"].as_array().unwrap())
        .map(|n| format!("{} {}", n["address"], n["name"]))
        .collect();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 250);
    // A position in another prefix, or none, is refused with the reason; a read-only caller gets names without look-ups.
    for after in ["192.0.2.1,q7.io,www.q7.io", "x", ""] {
        let path = format!("/api/v1/networks/names?prefix=10.0.1.0/24&after={after}");
        let (status, e) = site.api("GET", &path, Value::Null).await;
        assert!(
            status.as_u16() == 422 && e["detail"].as_str().unwrap().contains("a position in"),
            "{after}: {e}"
        );
    }
    let viewer = model::ids::Caller::new(model::ids::OrgId::BUILT_IN, "test", model::ids::Role::Viewer);
    let found = site.services.pointing(&viewer, &"10.0.1.0/30".parse().unwrap(), None).await.unwrap();
    assert!(found.pointers.iter().all(|p| p.ptr == service::addresses::Ptr::NotAsked), "{found:?}");
}

#[tokio::test]
async fn the_space_of_a_prefix_is_what_is_held_refused_released_and_free() {
    let site = site(false).await;
    for made in [claim("web", "10.0.0.0/24"), claim("late", "10.0.0.128/25"), claim("old", "10.0.1.0/25")] {
        assert_eq!(site.api("POST", CLAIMS, made).await.0.as_u16(), 201);
    }
    assert_eq!(site.api("DELETE", &format!("{CLAIMS}/old"), Value::Null).await.0.as_u16(), 200);
    let space = async |prefix: &str| {
        let (status, found) =
            site.api("GET", &format!("/api/v1/networks/space?prefix={prefix}"), Value::Null).await;
        assert_eq!(status.as_u16(), 200, "{found}");
        found
    };
    let short = |list: &Value| {
        let all = list.as_array().unwrap().iter();
        all.map(|c| format!("{} {} {}", c["prefix"], c["claim"], c["state"]).replace('"', ""))
            .collect::<Vec<_>>()
    };
    let found = space("10.0.0.0/23").await;
    assert_eq!(
        short(&found["claims"]),
        ["10.0.0.0/24 web allocated", "10.0.0.128/25 late unavailable", "10.0.1.0/25 old released"]
    );
    assert_eq!(found["free"], json!(["10.0.1.0/24"]));
    assert_eq!(
        (
            &found["largest_free"],
            &found["used_percent"],
            &found["allocated"],
            &found["more_claims"],
            &found["partial"]
        ),
        (&json!("10.0.1.0/24"), &json!(50.0), &json!(1), &json!(0), &json!(false))
    );
    assert!(
        found["claims"][0]["since"].is_string() && found["claims"][2]["released_at"].is_string(),
        "{found}"
    );
    assert!(found["claims"][1]["message"].as_str().unwrap().contains("held by web"), "{found}");
    assert_eq!(found["claims"][0]["component"], "services", "{found}");
    // An address, as a prefix: what covers it.
    let found = space("10.0.0.200/32").await;
    assert_eq!(short(&found["covering"]), ["10.0.0.0/24 web allocated", "10.0.0.128/25 late unavailable"]);
    assert_eq!((&found["claims"], &found["free"]), (&json!([]), &json!([])));
    assert!(
        found["sentence"]
            .as_str()
            .unwrap()
            .starts_with("10.0.0.200/32 lies in 10.0.0.0/24, which claim web holds"),
        "{found}"
    );
    assert_eq!(space("2001:db8::/32").await["sentence"], "2001:db8::/32 is free.");
    // More than one answer lists: the first by address, the rest counted; so with what is free.
    let entry = |i: u32| json!({ "prefix": format!("10.9.{}.{}/32", i / 128, i % 128 * 2), "reference": { "resource": "x" } });
    let many = json!({ "metadata": { "name": "many" }, "spec": { "addressSpace": (0..256).map(entry).collect::<Vec<_>>() } });
    assert_eq!(site.api("POST", CLAIMS, many).await.0.as_u16(), 201);
    let found = space("10.9.0.0/16").await;
    assert_eq!(
        (found["claims"].as_array().unwrap().len(), &found["more_claims"], &found["allocated"]),
        (200, &json!(56), &json!(256))
    );
    assert_eq!(found["claims"][199]["prefix"], "10.9.1.142/32");
    assert_eq!(
        (found["free"].as_array().unwrap().len(), &found["more_free"], &found["largest_free"]),
        (200, &json!(63), &json!("10.9.128.0/17"))
    );
    // Wrong input names the rule.
    for (prefix, rule) in [
        ("10.0.0.1/23", "has host bits set: the prefix is 10.0.0.0/23"),
        ("10.0.0.0", "is not a prefix"),
        ("10.0.0.0/33", "is not a prefix"),
    ] {
        let (status, e) =
            site.api("GET", &format!("/api/v1/networks/space?prefix={prefix}"), Value::Null).await;
        assert!(status.as_u16() == 422 && e["detail"].as_str().unwrap().contains(rule), "{prefix}: {e}");
    }
    assert_eq!(site.api("GET", "/api/v1/networks/space", Value::Null).await.0.as_u16(), 400);
}

/// *Release* names how many prefixes go, and releases nothing of a claim that is not as it was shown.
#[tokio::test]
async fn a_claim_that_changed_since_it_was_shown_is_not_released() {
    let site = site(false).await;
    let two = json!([
        { "prefix": "10.0.0.0/24", "reference": { "resource": "x" } },
        { "prefix": "10.0.1.0/24", "reference": { "resource": "x" } },
    ]);
    let mut made = json!({ "metadata": { "name": "web" }, "spec": { "addressSpace": two } });
    assert_eq!(site.api("POST", CLAIMS, made.clone()).await.0.as_u16(), 201);
    let shown = async || {
        let (_, html) = site.ask("GET", "/networks", &[("authorization", BEARER)], "").await;
        let position = html.split_once("name=\"position\" value=\"").and_then(|(_, t)| t.split_once('"'));
        (position.map(|(p, _)| p.to_string()).unwrap_or_else(|| panic!("{html}")), html)
    };
    let release = async |position: &str| {
        let headers = [("authorization", BEARER), ("content-type", "application/x-www-form-urlencoded")];
        site.ask("POST", "/api/fn/release", &headers, &format!("name=web&position={position}")).await
    };
    let (before, html) = shown().await;
    assert!(html.contains("Release web and its 2 prefixes"), "{html}");
    // Meanwhile it gets another prefix.
    made["spec"]["addressSpace"]
        .as_array_mut()
        .unwrap()
        .push(json!({ "prefix": "10.0.2.0/24", "reference": { "resource": "x" } }));
    let (_, stored) = site.api("GET", &format!("{CLAIMS}/web"), Value::Null).await;
    made["metadata"]["resourceVersion"] = stored["metadata"]["resourceVersion"].clone();
    let (status, e) = site.api("PUT", &format!("{CLAIMS}/web"), made).await;
    assert_eq!(status.as_u16(), 200, "{e}");
    let (status, e) = release(&before).await;
    assert_eq!(status.as_u16(), 409, "{e}");
    assert!(e.contains("web was changed meanwhile, and nothing was released."), "{e}");
    let (position, html) = shown().await;
    assert!(html.contains("Release web and its 3 prefixes"), "{html}");
    let (status, e) = release(&position).await;
    assert_eq!(status.as_u16(), 200, "{e}");
    assert_eq!(site.api("GET", &format!("{CLAIMS}/web"), Value::Null).await.0.as_u16(), 404);
}

/// A scan of a domain found these addresses.
async fn observed(site: &Site, name: &str, owner: &str, addresses: &[&str]) {
    let (store, domain) = (&site.scanner.store, DomainName::trusted(name));
    let known = store.observation(&domain, &Vantage::local()).await.unwrap().map_or(0, |k| k.version);
    let mut observation = Observation::empty(domain, Vantage::local());
    let rrset = RrSet {
        name: owner.into(),
        rtype: "A".into(),
        ttl: 300,
        data: addresses.iter().map(|a| (*a).to_string()).collect(),
    };
    observation.zone.observed_at = Some(model::Timestamp::now());
    observation.zone.value = Some(ZoneSnapshot { rrsets: vec![rrset], ..ZoneSnapshot::default() });
    let server =
        NsName { name: format!("ns1.{name}"), addresses: vec!["10.0.0.53".parse().unwrap()], glue: true };
    observation.delegation.value = Some(Delegation {
        zone: name.into(),
        parent: "io".into(),
        delegated: true,
        parent_ns: vec![server],
        child_ns: vec![],
        ds: vec![],
        servers: vec![],
        soa: None,
        negative_soa: None,
        parents_differ: None,
        provider: None,
        latency: Default::default(),
        notes: vec![],
    });
    let at = model::Timestamp::now();
    let record =
        Record { expected_version: known, observation, snapshot: None, raw: vec![], outcomes: vec![], at };
    store.record(&record).await.unwrap();
}

#[tokio::test]
async fn the_yaml_of_the_claim_form_makes_the_claim() {
    let site = site(false).await;
    let form = "view=yaml&name=session&from=10.20.0.0/16&length=26&group=apps&resource=store&description=\"one: per shard\" # x";
    let query: String = url::form_urlencoded::byte_serialize(form.as_bytes()).collect();
    let headers = [("authorization", BEARER), ("content-type", "application/x-www-form-urlencoded")];
    let (_, page) = site.ask("POST", "/api/fn/networks", &headers, &format!("query={query}")).await;
    let page: Value = serde_json::from_str(&page).unwrap();
    let yaml = page["yaml"].as_str().unwrap_or_else(|| panic!("{page}")).as_bytes().to_vec();
    let path = format!("{CLAIMS}?fieldValidation=Strict");
    let (status, _, made) = send(&site, "POST", &path, "application/yaml", yaml).await;
    assert_eq!(status.as_u16(), 201, "{made}");
    let entry = json!({
        "from": "10.20.0.0/16", "prefixLength": 26, "reference": { "group": "apps", "resource": "store" },
        "description": "\"one: per shard\" # x",
    });
    assert_eq!(made["spec"]["addressSpace"], json!([entry]));
}

#[tokio::test]
async fn the_page_calls_attention_to_refused_released_and_unclaimed_space_and_exports_what_it_lists() {
    let site = site(false).await;
    let domains = "/apis/datumapis.com/v1alpha/namespaces/default/domains";
    let domain = json!({ "metadata": { "name": "q7.io" }, "spec": { "name": "q7.io" } });
    assert_eq!(site.api("POST", domains, domain).await.0.as_u16(), 201);
    let addresses = ["10.0.0.7", "10.0.1.7", "10.0.2.7", "192.0.2.7"];
    observed(&site, "q7.io", "www.q7.io", &addresses).await;
    let mut pool = claim("pool", "10.0.9.0/24");
    pool["spec"]["addressSpace"][0]["from"] = "10.0.0.0/16".into();
    pool["spec"]["addressSpace"][0]["description"] = "=HYPERLINK(\"x\")".into();
    for made in
        [claim("web", "10.0.0.0/24"), claim("old", "10.0.1.0/24"), pool, claim("late", "10.0.0.128/25")]
    {
        assert_eq!(site.api("POST", CLAIMS, made).await.0.as_u16(), 201);
    }
    assert_eq!(site.api("DELETE", &format!("{CLAIMS}/old"), Value::Null).await.0.as_u16(), 200);
    let text = async |path: &str| {
        let (status, body) = site.ask("GET", path, &[("authorization", BEARER)], "").await;
        assert_eq!(status.as_u16(), 200, "{path}: {body}");
        body
    };
    let html = text("/networks").await;
    for words in
        ["Needs attention", "is refused", "points into space released on", "points into unclaimed space"]
    {
        assert!(html.contains(words), "{words}: {html}");
    }
    assert!(html.contains("aria-label=\"10.0.1.0/24, released by old, still in DNS\""), "{html}");
    assert!(html.contains("aria-label=\"10.0.0.128/25, unavailable for late\""), "{html}");
    // A form that claims the released prefix again, and the record that points there.
    assert!(html.contains("/networks?block=10.0.1.0%2F24&amp;prefix=10.0.1.0%2F24&amp;name=old"), "{html}");
    assert!(html.contains("href=\"/domains/q7.io/dns\""), "{html}");

    let records = async |query: &str| {
        let all: Value = serde_json::from_str(&text(&format!("/networks.json{query}")).await).unwrap();
        let all = all.as_array().unwrap().clone();
        let short = |r: &Value| format!("{} {} {}", r["prefix"], r["claim"], r["state"]).replace('"', "");
        all.iter().map(short).collect::<Vec<_>>()
    };
    let everything = [
        "10.0.0.128/25 late unavailable",
        "10.0.9.0/24 pool allocated",
        "10.0.0.0/24 web allocated",
        "10.0.1.0/24 old released",
    ];
    assert_eq!(records("").await, everything);
    assert_eq!(records("?state=released").await, ["10.0.1.0/24 old released"]);
    assert_eq!(records("?block=10.0.8.0%2F21").await, ["10.0.9.0/24 pool allocated"]);
    // An address finds what holds it and what was refused it, whatever block is shown.
    assert_eq!(
        records("?block=10.0.8.0%2F21&q=10.0.0.200").await,
        ["10.0.0.128/25 late unavailable", "10.0.0.0/24 web allocated"]
    );
    let csv = text("/networks.csv?q=pool").await;
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], "Prefix,Claim,Reference,State,Since,Description,Message");
    assert!(lines[1].starts_with("10.0.9.0/24,pool,") && lines[1].contains("'=HYPERLINK"), "{csv}");
    assert_eq!(lines.len(), 2);
    // What is no state or block is an error and no file.
    for (query, rule) in
        [("state=held", "unavailable, allocated or released"), ("block=10.0.0.1%2F8", "host bits")]
    {
        let (status, e) = site.api("GET", &format!("/networks.csv?{query}"), Value::Null).await;
        assert!(status.as_u16() == 400 && e["detail"].as_str().unwrap().contains(rule), "{e}");
    }
    // Claimed again, it needs no attention.
    assert_eq!(site.api("POST", CLAIMS, claim("old", "10.0.1.0/24")).await.0.as_u16(), 201);
    assert_eq!(records("?state=released").await, Vec::<String>::new());
    assert!(!text("/networks").await.contains("points into space released"));
}

#[tokio::test]
async fn blocks_are_listed_with_what_is_free_of_them() {
    let site = site(false).await;
    let blocks = "/api/v1/networks/blocks";
    let made = json!({ "prefix": "10.20.0.0/16", "description": "Data centre west" });
    let (status, block) = site.api("POST", blocks, made).await;
    assert_eq!((status.as_u16(), &block["largest_free"]), (200, &json!("10.20.0.0/16")), "{block}");
    let claim = json!({ "metadata": { "name": "pool" }, "spec": { "addressSpace": [
        { "from": "10.20.0.0/16", "prefixLength": 17, "reference": { "resource": "shop" } }] } });
    let claims = "/apis/datumapis.com/v1alpha/namespaces/default/networkclaims";
    assert_eq!(site.api("POST", claims, claim).await.0.as_u16(), 201);
    let (_, listed) = site.api("GET", blocks, Value::Null).await;
    let expected = json!([50.0, 1, "10.20.128.0/17", "Data centre west", false]);
    let b = &listed[0];
    let found = json!([
        b["used_percent"],
        b["allocated"],
        b["largest_free"],
        b["description"],
        b["other_organisations"]
    ]);
    assert_eq!(found, expected);
    for (body, words) in [
        (json!({ "prefix": "10.20.0.1/16" }), "host bits"),
        (json!({ "prefix": "10.20.0.0/16", "description": "x".repeat(256) }), "at most 255 characters"),
    ] {
        let (status, e) = site.api("POST", blocks, body).await;
        assert!(status.as_u16() == 422 && e["detail"].as_str().unwrap().contains(words), "{status} {e}");
    }
    let one = format!("{blocks}?prefix=10.20.0.0/16");
    assert_eq!(site.api("DELETE", &one, Value::Null).await.0.as_u16(), 200);
    assert_eq!(site.api("DELETE", &one, Value::Null).await.0.as_u16(), 404);
}
