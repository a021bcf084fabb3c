//! The page Networks: blocks, the picture of one, claims with their state, the preview, and what is left out.

#[path = "networks/form.rs"]
mod form;
#[path = "networks/grid.rs"]
mod grid;
mod support;

use model::ids::{Caller, Role};
use service::addresses::{AddressReview, Place, PlacedAddress, Pointer, Ptr, StrayAddress};
use service::numbers::{AddressRequest, ClaimSpec, Reference};
use service::resources::{Claim, Cover};
use service::space::ListedBlock;
use support::backend::Sample;
use support::numbers::decided;
use support::{page, post, read, router, router_as, says, text};

fn request(prefix: Option<&str>, from: Option<&str>, len: Option<u8>) -> AddressRequest {
    AddressRequest {
        prefix: prefix.map(Into::into),
        from: from.map(Into::into),
        prefix_length: len,
        reference: Reference { group: "apps".into(), resource: "session-store".into() },
        description: "One address per shard".into(),
    }
}

/// Adds a claim, decided beside those there are.
fn claim(claims: &mut Vec<Claim>, name: &str, request: AddressRequest) {
    let made = decided(claims, name, &ClaimSpec { address_space: vec![request] });
    claims.push(made);
    claims.sort_by(|a, b| a.name.cmp(&b.name));
}

fn app(claims: Vec<Claim>) -> axum::Router {
    router(Sample { claims, ..Sample::of(Vec::new()) }, "")
}

#[tokio::test]
async fn a_block_is_drawn_with_its_claims_and_what_is_free() {
    let mut claims = Vec::new();
    claim(&mut claims, "pool", request(None, Some("10.20.0.0/16"), Some(18)));
    claim(&mut claims, "web", request(Some("10.20.64.0/18"), None, None));
    claim(&mut claims, "edge", request(Some("10.20.80.0/24"), None, None));
    let app = app(claims);
    let (status, html) = page(&app, "/networks?block=10.20.0.0/16").await;
    assert_eq!(status, 200);
    let t = text(&html);
    says(&t, &["1 blocks, 3 claims", "50 % used", "10.20.0.0", "10.20.255.255", "10.20.128.0/17 free"]);
    // The conflict in words, refused ones first.
    says(&t, &["Unavailable", "Overlaps 10.20.64.0/18, held by web since Nov 20, 2026."]);
    let (_, list) = t.rsplit_once("Since Actions").unwrap();
    assert!(list.find("Unavailable") < list.find("Allocated"), "{t}");
    // A picture of links is a group with a name, not an image.
    assert!(html.contains("role=\"group\" aria-label=\"Free and used space in 10.20.0.0/16\""), "{html}");
    // The whole block, its quarters, sizes, amounts, and what is in the way of the claim that is refused.
    says(&t, &["10.20.0.0/16 50 % used", "10.20.0.0/18 100 %", "10.20.128.0/18 0 %", ".0.0/18 pool 16,384"]);
    says(&t, &["10.20.80.0/24 edge overlaps 10.20.64.0/18, held by web", "Allocated 32,768", "Free 32,768"]);
    says(&t, &["All blocks", "The red cell is refused for edge.", "0 1 2 3 4 5 6 7 8 9 a b c d e f"]);
    for label in ["10.20.0.0/18, pool", "10.20.64.0/18, web", "10.20.128.0/17, free"] {
        assert!(html.contains(&format!("aria-label=\"{label}\"")), "{label}: {html}");
    }
    // Zoomed in, the way back is there.
    let t = read(&app, "/networks?block=10.20.64.0/20").await;
    says(&t, &["10.20.0.0/16", "10.20.64.0/20", "100 % used"]);
}

#[tokio::test]
async fn records_are_listed_in_pages_and_sums_are_those_of_all() {
    let mut claims = Vec::new();
    claim(&mut claims, "web", request(Some("10.20.0.0/24"), None, None));
    claim(&mut claims, "x", request(Some("10.20.0.0/25"), None, None));
    let one = claims.pop().unwrap();
    claims.extend((0..450).map(|i| Claim { name: format!("c-{i:05}"), ..one.clone() }));
    let (_, html) = page(&app(claims.clone()), "/networks?page=2").await;
    let t = text(&html);
    says(&t, &["451 claims", "Unavailable 450", "Allocated 1", "201–400 of 451", "Page 2 of 3"]);
    says(&t, &["c-00200", "c-00399"]);
    assert!(!t.contains("c-00199") && !t.contains("c-00400") && !t.contains("Not all"), "{t}");
    assert!(html.contains("href=\"/networks?block=10.20.0.0%2F24&amp;page=3#claims\""), "{html}");
    // Beyond the last page is the last page; the allocated record follows the refused ones and can be released.
    let t = read(&app(claims.clone()), "/networks?page=99").await;
    says(&t, &["401–451 of 451", "c-00449", "10.20.0.0/24 web", "Release web and its prefix"]);
    let many = Sample { claims, is_partial: true, ..Sample::of(Vec::new()) };
    says(&read(&router(many, ""), "/networks").await, &["Not all refused claims are shown"]);
}

#[tokio::test]
async fn what_another_organisation_holds_is_not_free_and_not_named() {
    let mut claims = Vec::new();
    claim(&mut claims, "pool", request(None, Some("10.20.0.0/22"), Some(24)));
    let foreign = vec!["10.20.2.0/23".parse().unwrap()];
    let app = router(Sample { claims, foreign, ..Sample::of(Vec::new()) }, "");
    let (_, html) = page(&app, "/networks?block=10.20.0.0/22").await;
    let t = text(&html);
    says(&t, &["10.20.0.0/22 largest free 10.20.1.0/24 75 % 1", "Held by another organisation"]);
    says(&t, &["192 of 256 /30 are allocated in whole or in part, 128 of them to other organisations"]);
    for label in ["10.20.0.0/24, pool", "10.20.1.0/24, free", "10.20.2.0/23, held by another organisation"] {
        assert!(html.contains(&format!("aria-label=\"{label}\"")), "{label}: {html}");
    }
    assert!(html.contains("<title>10.20.3.252/30, held by another organisation<"), "{html}");
    assert!(!html.contains("secret") && !t.contains("10.20.2.0/23 free"), "{html}");
    // What is offered is what a claim gets.
    says(
        &read(&app, "/networks?block=10.20.0.0/22&name=x&from=10.20.0.0/22&length=24&resource=y").await,
        &["You would get 10.20.1.0/24"],
    );
    says(
        &read(&app, "/networks?block=10.20.0.0/22&name=x&prefix=10.20.2.0/24&resource=y").await,
        &["Overlaps addresses that another organisation holds."],
    );
    // A block that others hold whole.
    let t = read(&app, "/networks?block=10.20.2.0/24").await;
    says(&t, &["100 % used", "Held by another organisation"]);
}

#[tokio::test]
async fn the_list_is_searched_and_limited_to_a_state_by_the_address_of_the_page() {
    let mut claims = Vec::new();
    claim(&mut claims, "pool", request(None, Some("10.20.0.0/16"), Some(18)));
    claim(&mut claims, "web", request(Some("10.20.64.0/18"), None, None));
    claim(&mut claims, "edge", request(Some("10.20.80.0/24"), None, None));
    claim(&mut claims, "six", request(Some("2001:db8::/48"), None, None));
    let app = app(claims);
    // By default the first block; a search covers all.
    let t = read(&app, "/networks").await;
    says(&t, &["Claims in 10.20.0.0/16 3", "All 3", "Unavailable 1", "Allocated 2", "Released 0"]);
    let t = read(&app, "/networks?q=2001:db8::53").await;
    says(&t, &["Claims that match “2001:db8::53” 1", "2001:db8::/48 six"]);
    let (_, html) = page(&app, "/networks?block=10.20.0.0/16&q=10.20.80.9&state=unavailable").await;
    let t = text(&html);
    says(&t, &["All 2", "10.20.80.0/24 edge"]);
    let (_, list) = t.rsplit_once("Since Actions").unwrap();
    assert!(!list.contains("10.20.64.0/18 web"), "{t}");
    // Links and the form keep what the address says, and the export has the same.
    let kept = "block=10.20.0.0%2F16&amp;q=10.20.80.9";
    for link in [
        format!("href=\"/networks?{kept}&amp;state=allocated\""),
        format!("href=\"/networks.csv?{kept}&amp;state=unavailable\""),
        format!("href=\"/networks.json?{kept}&amp;state=unavailable\""),
        "<input type=\"hidden\" name=\"state\" value=\"unavailable\"".to_string(),
        "value=\"10.20.80.9\"".to_string(),
    ] {
        assert!(html.contains(&link), "{link}: {html}");
    }
    let t = read(&app, "/networks?q=nothing-like-this").await;
    says(&t, &["No record matches.", "Show all in this block"]);
    let t = read(&app, "/networks?state=held").await;
    says(&t, &["“held” is not a state: use unavailable, allocated or released."]);
}

#[tokio::test]
async fn what_is_refused_names_the_claim_and_the_conflict() {
    let mut claims = Vec::new();
    claim(&mut claims, "web", request(Some("10.20.64.0/18"), None, None));
    assert!(!read(&app(claims.clone()), "/networks").await.contains("Needs attention"));
    // One record is free and refused with the other, which is the one to name.
    let two = [request(Some("10.20.0.0/24"), None, None), request(Some("10.20.80.0/24"), None, None)];
    claims.insert(0, decided(&claims, "edge", &ClaimSpec { address_space: two.to_vec() }));
    let (_, html) = page(&app(claims), "/networks?block=10.20.0.0/16").await;
    says(
        &text(&html),
        &["Needs attention 1", "edge is refused 10.20.80.0/24: Overlaps 10.20.64.0/18, held by web"],
    );
    assert!(html.contains("href=\"/objects/networkclaims/edge\""), "{html}");
    // The refused prefix is drawn below what it overlaps; the free one is not.
    assert!(html.contains("aria-label=\"10.20.80.0/24, unavailable for edge\""), "{html}");
    assert!(!html.contains("aria-label=\"10.20.0.0/24, unavailable"), "{html}");
}

#[tokio::test]
async fn of_many_blocks_the_first_are_listed_and_a_search_finds_the_others() {
    let mut claims: Vec<Claim> = (0..10_000)
        .map(|i| {
            let prefix = format!("10.{}.{}.0/24", i / 128, i % 128 * 2);
            let spec = ClaimSpec { address_space: vec![request(Some(&prefix), None, None)] };
            decided(&[], &format!("c-{i:05}"), &spec)
        })
        .collect();
    claims.push(decided(
        &[],
        "six",
        &ClaimSpec { address_space: vec![request(Some("2001:db8::/48"), None, None)] },
    ));
    let app = app(claims);
    let (_, html) = page(&app, "/networks").await;
    let t = text(&html);
    says(
        &t,
        &["10,001 blocks, 10,001 claims", "Blocks 10,001", "9,801 more blocks are not listed. Search for"],
    );
    assert!(t.contains("10.1.142.0/24") && !t.contains("10.1.144.0/24"), "the first 200 by address");
    // The switch of the family leads to a block that is not listed.
    assert!(html.contains("block=2001:db8::%2F48"), "{html}");
    for (search, block) in
        [("10.77.2.9", "10.77.2.0/24"), ("c-09857", "10.77.2.0/24"), ("2001:db8::/32", "2001:db8::/48")]
    {
        let t = read(&app, &format!("/networks?q={search}")).await;
        says(&t, &["10,001 blocks, 10,001 claims", "Blocks 1 ", block]);
        assert!(!t.contains("not listed"), "{search}: {t}");
    }
    says(&read(&app, "/networks?q=nothing-like-this").await, &["No block matches the search."]);
}

#[tokio::test]
async fn a_release_says_what_goes_before_it_is_confirmed() {
    let mut claims = Vec::new();
    claim(&mut claims, "web", request(Some("10.20.0.0/24"), None, None));
    claim(&mut claims, "xerox", request(Some("10.20.0.0/25"), None, None));
    let two = [request(Some("10.21.0.0/24"), None, None), request(Some("10.22.0.0/24"), None, None)];
    claims.push(decided(&claims, "yew", &ClaimSpec { address_space: two.to_vec() }));
    let app = app(claims);
    let (_, html) = page(&app, "/networks?q=apps").await;
    says(
        &text(&html),
        &[
            "Release web and its prefix",
            "Release xerox, which holds no prefix",
            "Release yew and its 2 prefixes",
        ],
    );
    // The second step names the claim and the position at which it was shown.
    let form = html.split_once("aria-label=\"Release yew\"").unwrap().1;
    let form = form.split_once("</form>").unwrap().0;
    assert!(form.contains("action=\"/api/fn/release\""), "{form}");
    assert!(
        form.contains("name=\"name\" value=\"yew\"") && form.contains("name=\"position\" value=\"1\""),
        "{form}"
    );
}

#[tokio::test]
async fn names_go_on_and_what_was_not_asked_is_not_what_had_no_answer() {
    let pointer = |i: u8, ptr| Pointer {
        domain: "q7.io".into(),
        name: format!("n{i}.q7.io"),
        address: std::net::Ipv4Addr::new(10, 20, 0, i).into(),
        ptr,
        seen_at: None,
    };
    let mut claims = Vec::new();
    claim(&mut claims, "web", request(Some("10.20.0.0/24"), None, None));
    let pointers = vec![
        pointer(1, Ptr::NoAnswer),
        pointer(2, Ptr::NotAsked),
        pointer(3, Ptr::Agrees),
        pointer(4, Ptr::Missing),
        pointer(5, Ptr::Missing),
    ];
    let app = router(Sample { claims, pointers, ..Sample::of(Vec::new()) }, "");
    let (_, html) = page(&app, "/networks?q=web").await;
    let t = text(&html);
    says(
        &t,
        &[
            "first 2 names",
            "n1.q7.io A 10.20.0.1 no answer",
            "n2.q7.io A 10.20.0.2 not looked up",
            "More names",
        ],
    );
    assert!(!t.contains("n3.q7.io") && !t.contains("First names"), "{t}");
    let next = "/networks?block=10.20.0.0%2F24&amp;q=web&amp;names=10.20.0.2,q7.io,n2.q7.io#names";
    assert!(html.contains(&format!("href=\"{next}\"")), "{html}");
    let address = next.replace("&amp;", "&").replace("#names", "");
    let (_, html) = page(&app, &address).await;
    says(
        &text(&html),
        &["next 2 names", "n3.q7.io A 10.20.0.3 agrees", "n4.q7.io A 10.20.0.4 none set", "More names"],
    );
    assert!(html.contains("href=\"/networks?block=10.20.0.0%2F24&amp;q=web#names\""), "{html}");
    let t = read(&app, "/networks?names=10.20.0.4,q7.io,n4.q7.io").await;
    says(&t, &["last 1 name", "n5.q7.io", "First names"]);
    assert!(!t.contains("More names"), "{t}");
    says(&read(&app, "/networks?names=nowhere").await, &["“nowhere” is not a position in this list"]);
    // Of another prefix or address than what is shown, with who holds it.
    let (_, html) = page(&app, "/networks?block=10.20.0.0/24&into=10.20.0.7").await;
    says(&text(&html), &["Names that point into 10.20.0.7/32", "Claimed by web , allocated Nov 20, 2026"]);
    assert!(html.contains("block=10.20.0.0%2F24&amp;into=10.20.0.7&amp;names=10.20.0.2"), "{html}");
    let t = read(&app, "/networks?into=10.20.0.0/16").await;
    says(&t, &["Names that point into 10.20.0.0/16", "1 claimed prefix in it"]);
    says(&read(&app, "/networks?into=192.0.2.0/24").await, &["No claim covers it"]);
    says(&read(&app, "/networks?into=nothing").await, &["“nothing” is not a prefix"]);
}

#[tokio::test]
async fn a_released_prefix_says_who_released_it_and_what_still_points_there() {
    let cover = |prefix: &str, claim: &str, by: Option<&str>| Cover {
        prefix: prefix.parse().unwrap(),
        claim: claim.into(),
        reference: Reference { group: "services".into(), resource: claim.into() },
        since: support::now(),
        released_at: Some(support::now()),
        released_by: by.map(Into::into),
    };
    let mut claims = Vec::new();
    claim(&mut claims, "web", request(None, Some("10.20.0.0/16"), Some(18)));
    claim(&mut claims, "edge", request(Some("10.20.0.0/24"), None, None));
    let old = cover("10.20.64.0/24", "mail-old", Some("DNS operations"));
    let stray = |domain: &str, address: &str| StrayAddress {
        domain: domain.into(),
        address: PlacedAddress {
            name: format!("www.{domain}"),
            rtype: "A".into(),
            address: address.parse().unwrap(),
            place: Place::Released,
            cover: Some(old.clone()),
            block: None,
        },
    };
    let stray = vec![
        stray("q7.io", "10.20.64.1"),
        stray("q7.io", "10.20.64.2"),
        stray("alder.example", "10.20.64.1"),
    ];
    let released = vec![old.clone(), cover("10.20.65.0/24", "web", None)];
    let review = AddressReview { released, stray, is_partial: false };
    let app = router(Sample { claims, review, ..Sample::of(Vec::new()) }, "");
    let (_, html) = page(&app, "/networks").await;
    let t = text(&html);
    says(&t, &["Claim deleted by DNS operations. 2 domains still point here.", "Released from the claim."]);
    // Who holds what a refused claim asks for is a link.
    assert!(html.contains("held by <a href=\"/networks?q=web\" class=\"underline\">web"), "{html}");
}

#[tokio::test]
async fn a_block_is_listed_before_any_claim_names_it() {
    let (status, html) = page(&app(Vec::new()), "/networks").await;
    assert!(status == 200 && html.contains("href=\"/networks?add=block#add-block\""), "{html}");
    let listed = |prefix: &str, description: &str| ListedBlock {
        prefix: prefix.parse().unwrap(),
        description: description.into(),
        created_at: support::now(),
    };
    let blocks = vec![listed("10.20.0.0/16", "Data centre west"), listed("10.20.4.0/22", "")];
    let app = router(Sample { blocks, ..Sample::of(Vec::new()) }, "");
    let (_, html) = page(&app, "/networks").await;
    says(
        &text(&html),
        &[
            "2 blocks, 0 claims",
            "10.20.0.0/16 largest free 10.20.0.0/16 Data centre west 0 %",
            "10.20.4.0/22",
        ],
    );
    assert!(html.contains("<option value=\"10.20.4.0/22\""), "the form offers it: {html}");
    assert!(html.contains("action=\"/api/fn/remove_block\""), "{html}");
    let to = post(&app, "add_block", "prefix=10.30.0.1%2F16&description=East+%26+more", "").await;
    let (_, html) = page(&app, to.split_once('#').unwrap().0).await;
    says(&text(&html), &["Not listed “10.30.0.1/16” has host bits set"]);
    assert!(html.contains("value=\"10.30.0.1/16\"") && html.contains("value=\"East &amp; more\""), "{html}");
    let to = post(&app, "add_block", "prefix=10.30.0.0%2F16", "").await;
    assert_eq!(to, "/networks?block=10.30.0.0%2F16&done=block.1");
    says(&read(&app, &to).await, &["Block listed"]);
}

#[tokio::test]
async fn who_may_not_claim_sees_the_registry_and_who_may() {
    let mut claims = Vec::new();
    claim(&mut claims, "web", request(Some("10.20.64.0/18"), None, None));
    let listed = ListedBlock {
        prefix: "10.20.0.0/16".parse().unwrap(),
        description: "Data centre west".into(),
        created_at: support::now(),
    };
    let sample = || Sample { claims: claims.clone(), blocks: vec![listed.clone()], ..Sample::of(Vec::new()) };
    let forms =
        ["claim_prefix", "release", "add_block", "remove_block"].map(|f| format!("action=\"/api/fn/{f}\""));
    let address = "/networks?block=10.20.0.0/16&add=block&resource=y&prefix=10.20.0.0/24";
    let viewer = Caller { role: Role::Viewer, ..support::caller() };
    let (status, html) = page(&router_as(viewer, sample(), ""), address).await;
    assert_eq!(status, 200);
    says(
        &text(&html),
        &[
            "10.20.64.0/18 web",
            "Data centre west",
            "Members, admins and owners of the organisation can claim",
        ],
    );
    for form in &forms {
        assert!(!html.contains(form), "{form}: {html}");
    }
    assert!(!html.contains("add=block#add-block"), "{html}");
    // The page says so to a person whose role no longer allows to list blocks.
    let refused = format!("{address}&refused=block");
    let (_, html) =
        page(&router_as(Caller { role: Role::Viewer, ..support::caller() }, sample(), ""), &refused).await;
    says(&text(&html), &["Not listed"]);
    let member = Caller { role: Role::Member, ..support::caller() };
    let (_, html) = page(&router_as(member, sample(), ""), address).await;
    for form in &forms {
        assert!(html.contains(form), "{form}: {html}");
    }
    assert!(html.contains("add=block#add-block") && !text(&html).contains("Your role can see"), "{html}");
}
