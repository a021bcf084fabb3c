//! Allocation: whole or nothing, deterministic, never an overlap that the policy forbids.

use numbers::claim::{DESCRIPTION_MAX, granted, validate};
use numbers::prefix::overlaps;
use numbers::{
    AddressRecord, AddressRequest, ClaimSpec, ClaimStatus, Holder, Holding, IpNet, Policy, RangeSet,
    RecordState, Reference, Space, SpaceView, Tenant, allocate,
};
use proptest::prelude::*;

fn now() -> jiff::Timestamp {
    "2026-11-20T12:00:00Z".parse().unwrap()
}

fn reference() -> Reference {
    Reference { group: "kube-apiserver".into(), resource: "services".into() }
}

fn exact(prefix: &str) -> AddressRequest {
    AddressRequest { prefix: Some(prefix.into()), reference: reference(), ..AddressRequest::default() }
}

fn any_of(from: &str, len: u8) -> AddressRequest {
    let (from, prefix_length) = (Some(from.into()), Some(len));
    AddressRequest { from, prefix_length, reference: reference(), ..AddressRequest::default() }
}

fn spec(requests: &[AddressRequest]) -> ClaimSpec {
    ClaimSpec { address_space: requests.to_vec() }
}

/// Allocates and records what was allocated.
fn claim(space: &mut Space, policy: &Policy, tenant: Tenant, name: &str, spec: &ClaimSpec) -> ClaimStatus {
    let status = allocate(space, policy, (tenant, name), spec, &ClaimStatus::default(), now());
    record(space, tenant, name, &status);
    status
}

fn record(space: &mut Space, tenant: Tenant, name: &str, status: &ClaimStatus) {
    for (prefix, r) in status.allocated() {
        let holder = Holder {
            tenant,
            claim: name.into(),
            reference: r.reference.clone(),
            description: r.description.clone(),
            since: r.date,
        };
        space.insert(Holding { prefix, holder });
    }
}

fn prefixes(status: &ClaimStatus) -> Vec<String> {
    status.allocated().map(|(p, _)| p.to_string()).collect()
}

#[test]
fn a_survey_says_who_holds_what_and_what_is_free_of_ones_own() {
    let (mut space, alone) = (Space::default(), Policy::default());
    claim(&mut space, &alone, 1, "web", &spec(&[exact("10.0.0.0/24"), exact("10.0.2.0/25")]));
    claim(&mut space, &alone, 2, "theirs", &spec(&[exact("10.0.1.0/24")]));
    let words = |tenant, prefix: &str, policy: &Policy, limit| {
        let s = space.survey(tenant, &prefix.parse().unwrap(), policy, limit);
        let held: Vec<_> = s.held.iter().map(|h| format!("{} {}", h.prefix, h.holder.claim)).collect();
        let free: Vec<_> = s.free.iter().map(ToString::to_string).collect();
        let around = s.covering.as_ref().map(|h| h.prefix.to_string()).unwrap_or_default();
        let largest = s.largest_free.map(|p| p.to_string()).unwrap_or_default();
        format!(
            "around {around}; {} +{}; free {} +{}, largest {largest}; {} used, others {}",
            held.join(" "),
            s.more_held,
            free.join(" "),
            s.more_free,
            s.used,
            s.has_foreign
        )
    };
    // The other one's is neither named nor free.
    assert_eq!(
        words(1, "10.0.0.0/22", &alone, 9),
        "around ; 10.0.0.0/24 web 10.0.2.0/25 web +0; free 10.0.2.128/25 10.0.3.0/24 +0, largest 10.0.3.0/24; 640 used, others true"
    );
    // Where organisations may overlap, it is free.
    let shared = Policy { shared: vec!["10.0.0.0/8".parse().unwrap()] };
    assert_eq!(
        words(1, "10.0.0.0/23", &shared, 9),
        "around ; 10.0.0.0/24 web +0; free 10.0.1.0/24 +0, largest 10.0.1.0/24; 256 used, others false"
    );
    // Lists end at the limit; the rest is counted, and the largest free prefix found all the same.
    assert_eq!(
        words(1, "10.0.0.0/22", &alone, 1),
        "around ; 10.0.0.0/24 web +1; free 10.0.2.128/25 +1, largest 10.0.3.0/24; 640 used, others true"
    );
    // Inside an allocation there is nothing but what contains it; the prefix itself is inside.
    assert_eq!(
        words(1, "10.0.0.7/32", &alone, 9),
        "around 10.0.0.0/24;  +0; free  +0, largest ; 1 used, others false"
    );
    assert_eq!(
        words(1, "10.0.0.0/24", &alone, 9),
        "around ; 10.0.0.0/24 web +0; free  +0, largest ; 256 used, others false"
    );
    assert_eq!(words(2, "10.0.0.7/32", &alone, 9), "around ;  +0; free  +0, largest ; 1 used, others true");
    // The whole of a family is one free prefix.
    let s = space.survey(1, &"::/0".parse().unwrap(), &alone, 9);
    assert_eq!((s.free.len(), s.more_free, s.used), (1, 0, 0));
}

#[test]
fn dates_move_only_when_the_decision_does() {
    let (mut space, policy) = (Space::default(), Policy::default());
    let at = |minutes: i64| now() + jiff::SignedDuration::from_mins(minutes);
    claim(&mut space, &policy, 1, "holder", &spec(&[exact("10.0.0.0/24")]));
    let decide = |space: &Space, spec: &ClaimSpec, before: &ClaimStatus, minutes| {
        allocate(space, &policy, (1, "web"), spec, before, at(minutes))
    };
    let dates = |s: &ClaimStatus| s.address_space.iter().map(|r| r.date).collect::<Vec<_>>();
    let wanted = spec(&[exact("10.0.0.0/25"), any_of("10.0.0.0/24", 26), any_of("10.9.0.0/24", 26)]);
    let refused = decide(&space, &wanted, &ClaimStatus::default(), 1);
    assert_eq!((dates(&refused), refused.since), (vec![at(1); 3], Some(at(1))));
    // Written again, and moved within the claim: refused since the first time.
    let again = decide(&space, &wanted, &refused, 2);
    assert_eq!(again, refused);
    let mut moved = wanted.clone();
    moved.address_space.push(exact("10.0.0.128/25"));
    let moved = decide(&space, &moved, &again, 3);
    assert_eq!((dates(&moved), moved.since), (vec![at(1), at(1), at(1), at(3)], Some(at(1))));
    // Allocated: a new state, which an allocated entry more does not change.
    space.remove(&"10.0.0.0/24".parse().unwrap(), 1, "holder");
    let granted = decide(&space, &wanted, &moved, 4);
    assert_eq!((dates(&granted), granted.since), (vec![at(4); 3], Some(at(4))));
    let more = spec(&[&wanted.address_space[..], &[exact("10.8.0.0/24")]].concat());
    let more = decide(&space, &more, &granted, 5);
    assert_eq!((dates(&more)[3], more.since), (at(5), Some(at(4))));
    // A status of an earlier version does not say since when.
    let old = ClaimStatus { since: None, ..granted };
    assert_eq!(decide(&space, &wanted, &old, 6).since, Some(at(4)));
}

#[test]
fn a_claim_is_allocated_whole_or_its_records_say_why() {
    let (mut space, policy) = (Space::default(), Policy::default());
    let web = claim(&mut space, &policy, 1, "web-front", &spec(&[exact("10.20.5.0/24")]));
    assert!(web.is_allocated());
    assert_eq!(web.held_for(&reference()).count(), 1);
    assert_eq!(web.held_for(&Reference::default()).count(), 0);
    let both = spec(&[exact("10.20.5.128/25"), exact("2001:db8:20:5000::/56")]);
    let edge = claim(&mut space, &policy, 1, "edge-cache", &both);
    assert!(!edge.is_allocated());
    assert_eq!(prefixes(&edge), [""; 0]);
    let [refused, free] = &edge.address_space[..] else { panic!("two records") };
    assert_eq!(refused.held_by.as_deref(), Some("web-front"));
    assert_eq!(refused.held_prefix.as_deref(), Some("10.20.5.0/24"));
    assert_eq!(
        refused.message.as_deref(),
        Some("Overlaps 10.20.5.0/24, held by web-front since Nov 20, 2026.")
    );
    assert_eq!(free.status, RecordState::Unavailable);
    assert_eq!(
        free.message.as_deref(),
        Some("Free, but a claim is allocated as a whole. Change or remove 10.20.5.128/25.")
    );
    assert!(refused.is_conflict() && !free.is_conflict());
    // What an earlier version stored is read as the same.
    let earlier = "Free, but a claim is allocated as a whole, and another entry was refused.";
    assert!(!AddressRecord { message: Some(earlier.into()), ..free.clone() }.is_conflict());
    let any = spec(&[any_of("10.20.5.0/24", 26), exact("10.9.0.0/24")]);
    let edge = claim(&mut space, &policy, 1, "any", &any);
    let words = edge.address_space[1].message.as_deref().unwrap();
    assert!(words.ends_with("Change or remove the /26 from 10.20.5.0/24."), "{words}");
    assert_eq!(space.len(), 1);
    assert_eq!(space.covering(1, "10.20.5.200".parse().unwrap()).unwrap().holder.claim, "web-front");
    assert!(space.covering(2, "10.20.5.200".parse().unwrap()).is_none(), "another tenant does not see it");
}

#[test]
fn other_tenants_are_in_the_way_unless_the_policy_shares_the_space_and_are_never_named() {
    let strict = Policy::default();
    let shared = Policy { shared: vec!["10.0.0.0/8".parse().unwrap()] };
    let mut space = Space::default();
    assert!(claim(&mut space, &strict, 1, "secret", &spec(&[exact("10.1.0.0/16")])).is_allocated());
    for request in [exact("10.1.0.0/16"), exact("10.1.2.0/24"), exact("10.0.0.0/8")] {
        let refused = claim(&mut space, &strict, 2, "b", &spec(&[request]));
        let record = &refused.address_space[0];
        assert_eq!((record.status, &record.held_by), (RecordState::Unavailable, &None));
        assert!(!format!("{record:?}").contains("secret"), "{record:?}");
    }
    assert_eq!(prefixes(&claim(&mut space, &strict, 2, "fit", &spec(&[any_of("10.1.0.0/15", 16)]))), [""; 0]);
    assert_eq!(
        prefixes(&claim(&mut space, &strict, 2, "fit", &spec(&[any_of("10.0.0.0/15", 16)]))),
        ["10.0.0.0/16"]
    );
    assert_eq!(
        prefixes(&claim(&mut space, &shared, 2, "b", &spec(&[exact("10.1.0.0/16")]))),
        ["10.1.0.0/16"]
    );
    // The larger prefix reaches beyond the shared space; what both hold lies inside it.
    assert!(claim(&mut space, &shared, 3, "c", &spec(&[exact("10.0.0.0/7")])).is_allocated());
    assert!(!claim(&mut space, &shared, 1, "d", &spec(&[exact("11.0.0.0/8")])).is_allocated());
}

#[test]
fn a_view_tells_which_addresses_others_hold_and_nothing_else_and_stays_as_it_was() {
    let (strict, shared) = (Policy::default(), Policy { shared: vec!["10.1.0.0/16".parse().unwrap()] });
    let mut space = Space::default();
    claim(&mut space, &strict, 1, "mine", &spec(&[exact("10.0.0.0/24")]));
    claim(&mut space, &strict, 2, "secret", &spec(&[exact("10.0.1.0/24"), exact("10.1.0.0/24")]));
    let block: IpNet = "10.0.0.0/15".parse().unwrap();
    let before = SpaceView::new(space.clone(), 1, strict.clone());
    let ranges = |set: &RangeSet| set.free(&block).iter().map(ToString::to_string).collect::<Vec<_>>();
    let foreign = before.foreign(&block);
    assert!(
        foreign.contains(&"10.0.1.0/24".parse().unwrap())
            && foreign.intersects(&"10.1.0.0/16".parse().unwrap())
    );
    assert!(!foreign.intersects(&"10.0.0.0/24".parse().unwrap()));
    assert!(before.used(&block).contains(&"10.0.0.0/23".parse().unwrap()));
    let names = |view: &SpaceView| view.held().map(|h| h.holder.claim.clone()).collect::<Vec<_>>();
    assert_eq!(names(&before), ["mine"]);
    assert!(!format!("{:?}", before.survey(&block, 9)).contains("secret"));
    // Where tenants may overlap, others count for nothing.
    let open = SpaceView::new(space.clone(), 1, shared);
    assert!(!open.foreign(&block).intersects(&"10.1.0.0/16".parse().unwrap()));
    // What is written later does not change it.
    let was = ranges(&before.used(&block));
    claim(&mut space, &strict, 1, "late", &spec(&[exact("10.0.2.0/24")]));
    claim(&mut space, &strict, 3, "other", &spec(&[exact("10.0.3.0/24")]));
    assert!(space.remove(&"10.0.1.0/24".parse().unwrap(), 2, "secret"));
    assert_eq!((ranges(&before.used(&block)), names(&before)), (was, vec!["mine".to_string()]));
    assert_eq!(names(&SpaceView::new(space, 1, strict)), ["mine", "late"]);
    assert_eq!(before.blocks(&["10.0.0.0/16".parse().unwrap()]), ["10.0.0.0/16".parse::<IpNet>().unwrap()]);
    assert_eq!(before.blocks(&[]), ["10.0.0.0/24".parse::<IpNet>().unwrap()]);
}

#[test]
fn a_prefix_out_of_a_block_is_the_smallest_fit_and_stays_when_the_claim_changes() {
    let (mut space, policy) = (Space::default(), Policy::default());
    for (name, prefix) in [("a", "10.20.4.0/26"), ("b", "10.20.4.128/25"), ("c", "10.20.5.0/24")] {
        claim(&mut space, &policy, 1, name, &spec(&[exact(prefix)]));
    }
    let wanted = spec(&[any_of("10.20.4.0/22", 26)]);
    let first = claim(&mut space, &policy, 1, "mine", &wanted);
    assert_eq!(prefixes(&first), ["10.20.4.64/26"]);
    // The same claim with one more request: what it holds stays, the new one comes besides.
    let mut without = space.clone();
    assert!(without.remove(&"10.20.4.64/26".parse().unwrap(), 1, "mine"));
    let more = spec(&[any_of("10.20.4.0/22", 25), any_of("10.20.4.0/22", 26)]);
    let second = allocate(&without, &policy, (1, "mine"), &more, &first, now());
    assert_eq!(prefixes(&second), ["10.20.6.0/25", "10.20.4.64/26"]);
    // A request that can't be met changes nothing of what is held.
    let too_much = spec(&[any_of("10.20.4.0/22", 26), any_of("10.20.4.0/22", 22)]);
    let third = allocate(&without, &policy, (1, "mine"), &too_much, &first, now());
    assert_eq!(prefixes(&third), ["10.20.4.64/26"]);
    let why = third.address_space[1].message.as_deref().unwrap();
    assert_eq!(why, "No /22 is free in 10.20.4.0/22: the largest free prefix is 10.20.6.0/23.");
}

#[test]
fn each_broken_rule_is_named_with_its_field() {
    let long = AddressRequest { description: "x".repeat(DESCRIPTION_MAX + 1), ..exact("192.0.2.0/24") };
    let just = AddressRequest { description: "ä".repeat(DESCRIPTION_MAX), ..exact("192.0.2.0/24") };
    assert_eq!(validate(&spec(&[just])), []);
    let outside = AddressRequest { from: Some("10.0.0.0/8".into()), ..exact("192.0.2.0/24") };
    let mixed = AddressRequest { from: Some("2001:db8::/32".into()), ..exact("192.0.2.0/24") };
    let unnamed = AddressRequest { reference: Reference::default(), ..exact("192.0.2.0/24") };
    let length = AddressRequest { prefix_length: Some(25), ..exact("192.0.2.0/24") };
    let no_length = AddressRequest { prefix_length: None, ..any_of("10.0.0.0/8", 9) };
    for (request, field, words) in [
        (exact("192.0.2.1/24"), ".prefix", "has host bits set: the prefix is 192.0.2.0/24"),
        (exact("192.0.2.0"), ".prefix", "is not a prefix"),
        (outside, ".prefix", "lies outside the block 10.0.0.0/8"),
        (mixed, ".prefix", "is IPv4, the block 2001:db8::/32 is IPv6"),
        (any_of("10.0.0.0/8", 7), ".prefixLength", "must be from 8 to 32"),
        (any_of("10.0.0.0/8", 33), ".prefixLength", "must be from 8 to 32"),
        (length, ".prefixLength", "differs from the length"),
        (no_length, ".prefixLength", "required"),
        (AddressRequest { reference: reference(), ..AddressRequest::default() }, "", "needs prefix, or from"),
        (unnamed, ".reference.resource", "required"),
        (long, ".description", "has 256 characters, at most 255 are allowed"),
    ] {
        let errors = validate(&spec(std::slice::from_ref(&request)));
        let [e] = &errors[..] else { panic!("{request:?}: {errors:?}") };
        assert_eq!(e.field, format!("spec.addressSpace[0]{field}"), "{e}");
        assert!(e.rule.contains(words), "{e}");
        let refused = allocate(
            &Space::default(),
            &Policy::default(),
            (1, "x"),
            &spec(&[request]),
            &ClaimStatus::default(),
            now(),
        );
        assert!(!refused.is_allocated(), "never allocated either");
    }
    let twice = validate(&spec(&[exact("192.0.2.0/24"), exact("192.0.2.128/25")]));
    assert_eq!(twice[0].rule, "overlaps 192.0.2.0/24 of spec.addressSpace[0]");
    assert_eq!(validate(&ClaimSpec::default())[0].field, "spec.addressSpace");
    assert_eq!(validate(&spec(&vec![exact("192.0.2.0/24"); 257])).len(), 1);
}

/// What happens to the registry: a claim of a tenant for some prefixes, or the release of the n-th claim.
#[derive(Debug, Clone)]
enum Step {
    Claim(Tenant, Vec<AddressRequest>),
    Release(usize),
}

#[test]
fn what_is_granted_is_what_was_asked_for() {
    let asked = spec(&[any_of("10.20.4.0/22", 24), exact("2001:db8::/48")]);
    let status =
        allocate(&Space::default(), &Policy::default(), (1, "web"), &asked, &ClaimStatus::default(), now());
    let prefixes: Vec<_> = granted(&asked, &status).unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(prefixes, ["10.20.4.0/24", "2001:db8::/48"]);
    let changed = |change: &dyn Fn(&mut ClaimStatus)| {
        let mut other = status.clone();
        change(&mut other);
        let error = granted(&asked, &other).unwrap_err();
        (error.field, error.rule)
    };
    let first = |change: &'static dyn Fn(&mut numbers::AddressRecord)| {
        changed(&move |s: &mut ClaimStatus| change(&mut s.address_space[0]))
    };
    for ((field, rule), (at, words)) in [
        (
            first(&|r| r.prefix = Some("10.20.8.0/24".into())),
            (0, "is not what spec.addressSpace[0] asks for"),
        ),
        (first(&|r| r.prefix = Some("10.20.4.0/25".into())), (0, "is not what")),
        (first(&|r| r.reference.resource = "nodes".into()), (0, "is not what")),
        (first(&|r| r.prefix = Some("10.20.4.1/24".into())), (0, "host bits")),
        (first(&|r| r.prefix = None), (0, "prefix")),
        (first(&|r| r.status = RecordState::Unavailable), (0, "is unavailable")),
        (changed(&|s| drop(s.address_space.pop())), (1, "is missing")),
    ] {
        assert_eq!(field, format!("status.addressSpace[{at}]"));
        assert!(rule.contains(words), "{rule}");
    }
    // Two answers from one block that overlap are refused although each by itself is in order.
    let two = spec(&[any_of("10.20.4.0/22", 24), any_of("10.20.4.0/22", 25)]);
    let mut status =
        allocate(&Space::default(), &Policy::default(), (1, "web"), &two, &ClaimStatus::default(), now());
    assert_eq!(granted(&two, &status).unwrap().len(), 2);
    status.address_space[1].prefix = Some("10.20.4.128/25".into());
    assert!(granted(&two, &status).unwrap_err().rule.contains("overlaps 10.20.4.0/24"));
}

fn a_request() -> impl Strategy<Value = AddressRequest> {
    let exact_one = (0..64u32, 26..=32u8).prop_map(|(o, len)| {
        let net = IpNet::new(std::net::IpAddr::from((0x0a00_0000 + o).to_be_bytes()), len).unwrap().trunc();
        exact(&net.to_string())
    });
    prop_oneof![exact_one, (24..=32u8).prop_map(|len| any_of("10.0.0.0/26", len.max(26)))]
}

fn a_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1..=2i64, prop::collection::vec(a_request(), 1..4)).prop_map(|(t, r)| Step::Claim(t, r)),
        1 => (0..20usize).prop_map(Step::Release),
    ]
}

proptest! {
    #[test]
    fn no_sequence_of_claims_and_releases_gives_an_address_to_two(
        steps in prop::collection::vec(a_step(), 1..40),
        share in any::<bool>(),
    ) {
        let shared: IpNet = "10.0.0.0/27".parse().unwrap();
        let policy = Policy { shared: if share { vec![shared] } else { vec![] } };
        let mut space = Space::default();
        let mut made: Vec<(Tenant, String, ClaimStatus)> = Vec::new();
        for (i, step) in steps.into_iter().enumerate() {
            match step {
                Step::Claim(tenant, requests) => {
                    let name = format!("c{i}");
                    let status = claim(&mut space, &policy, tenant, &name, &spec(&requests));
                    let allocated = status.allocated().count();
                    prop_assert!(allocated == 0 || allocated == requests.len(), "whole or nothing");
                    for r in status.address_space.iter().filter(|r| r.status == RecordState::Unavailable) {
                        prop_assert!(r.message.is_some(), "a refusal says why: {r:?}");
                    }
                    made.push((tenant, name, status));
                }
                Step::Release(n) if n < made.len() => {
                    let (tenant, name, status) = made.swap_remove(n);
                    for (prefix, _) in status.allocated() {
                        prop_assert!(space.remove(&prefix, tenant, &name));
                    }
                }
                Step::Release(_) => {}
            }
            let held: Vec<_> = made.iter().flat_map(|(t, _, s)| s.allocated().map(|(p, _)| (*t, p)).collect::<Vec<_>>()).collect();
            prop_assert_eq!(space.len(), held.len());
            for (i, (t, p)) in held.iter().enumerate() {
                for (u, q) in &held[i + 1..] {
                    let inner = if p.prefix_len() > q.prefix_len() { p } else { q };
                    let allowed = t != u && share && shared.contains(inner);
                    prop_assert!(allowed || !overlaps(p, q), "{t} {p} and {u} {q}");
                }
            }
            prop_assert_eq!(space.first_double(1).or(space.first_double(2)), None);
        }
    }
}
