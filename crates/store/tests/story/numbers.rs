//! Claims of address space: allocated whole, released, and decided about again.

use crate::world::{ONE, Place, TWO, later, log, now};
use model::account::Actor;
use model::ids::{LogPosition, OrgId};
use model::scan::Op;
use numbers::prefix::overlaps;
use numbers::{AddressRequest, ClaimSpec, IpNet, Policy, RecordState, Reference};
use store::{Error, NetworkClaimWrite, Store, StoredNetworkClaim};

pub fn request(prefix: Option<&str>, from: Option<&str>, len: Option<u8>) -> AddressRequest {
    AddressRequest {
        prefix: prefix.map(Into::into),
        from: from.map(Into::into),
        prefix_length: len,
        reference: Reference { group: "apps".into(), resource: "services".into() },
        description: "story".into(),
    }
}

pub fn exact(prefix: &str) -> AddressRequest {
    request(Some(prefix), None, None)
}

pub fn write(
    org: OrgId,
    name: &str,
    expected: Option<LogPosition>,
    requests: &[AddressRequest],
) -> NetworkClaimWrite {
    NetworkClaimWrite {
        org,
        name: name.into(),
        expected,
        metadata: r#"{"labels":{"app":"story"}}"#.into(),
        spec: ClaimSpec { address_space: requests.to_vec() },
        policy: Policy::default(),
        limit: u64::MAX,
        dry_run: false,
    }
}

pub async fn claim(s: &dyn Store, org: OrgId, name: &str, requests: &[AddressRequest]) -> StoredNetworkClaim {
    s.write_network_claim(&Actor::system(), &write(org, name, None, requests), now()).await.expect("writes")
}

pub fn prefixes(c: &StoredNetworkClaim) -> Vec<String> {
    c.status.allocated().map(|(p, _)| p.to_string()).collect()
}

pub async fn claims_are_allocated_whole_and_released(place: &Place) {
    let s = place.open().await;
    let web = claim(&*s, ONE, "web", &[exact("10.20.5.0/24")]).await;
    assert_eq!(prefixes(&web), ["10.20.5.0/24"]);
    assert_eq!(s.network_claim(ONE, "web").await.unwrap().as_ref(), Some(&web));
    assert_eq!(s.network_claim(TWO, "web").await.unwrap(), None);
    // Nothing is written on a dry run, and nothing when the claim exists or was changed.
    let trial = NetworkClaimWrite {
        dry_run: true,
        ..write(ONE, "trial", None, &[request(None, Some("10.20.4.0/23"), Some(26))])
    };
    assert_eq!(
        prefixes(&s.write_network_claim(&Actor::system(), &trial, now()).await.unwrap()),
        ["10.20.4.0/26"]
    );
    assert_eq!(s.network_claim(ONE, "trial").await.unwrap(), None);
    let again = s
        .write_network_claim(&Actor::system(), &write(ONE, "web", None, &[exact("10.9.0.0/24")]), now())
        .await;
    assert!(matches!(again, Err(Error::Conflict)), "{again:?}");
    let stale = s
        .write_network_claim(
            &Actor::system(),
            &write(ONE, "web", Some(LogPosition(0)), &[exact("10.9.0.0/24")]),
            now(),
        )
        .await;
    assert!(matches!(stale, Err(Error::Conflict)), "{stale:?}");
    // Refused as a whole: the free half is not taken.
    let edge = claim(&*s, ONE, "edge", &[exact("10.20.5.128/25"), exact("2001:db8::/48")]).await;
    assert_eq!(prefixes(&edge), [""; 0]);
    assert_eq!(edge.status.address_space[0].held_by.as_deref(), Some("web"));
    let foreign = claim(&*s, TWO, "theirs", &[exact("10.20.5.0/25")]).await;
    assert_eq!(foreign.status.address_space[0].held_by, None, "another organisation is not named");
    assert_eq!(prefixes(&claim(&*s, TWO, "six", &[exact("2001:db8::/48")]).await), ["2001:db8::/48"]);
    // An update moves; a new process sees the same.
    let moved = write(ONE, "web", Some(web.rv), &[exact("10.20.6.0/24"), exact("10.20.7.0/24")]);
    let moved = s.write_network_claim(&Actor::system(), &moved, later(1)).await.unwrap();
    assert!(moved.rv > web.rv && moved.created_at == web.created_at);
    let other = place.open().await;
    let addresses =
        ["10.20.6.1", "10.20.5.200", "10.20.5.1", "192.0.2.1", "2001:db8::1"].map(|a| a.parse().unwrap());
    let covers = other.covering(ONE, &addresses).await.unwrap();
    let words: Vec<_> =
        covers.iter().map(|c| c.as_ref().map(|c| (c.claim.as_str(), c.released_at))).collect();
    // 10.20.5.0/24 was released by the update; the claim that waited for half of it needs an IPv6 prefix that is taken.
    assert_eq!(
        words,
        [Some(("web", None)), Some(("web", Some(later(1)))), Some(("web", Some(later(1)))), None, None]
    );
    let covers = other.covering(TWO, &addresses).await.unwrap();
    assert_eq!(covers[4].as_ref().map(|c| c.claim.as_str()), Some("six"));
    // Deleted: the position is that of the tombstone, which keeps what it was.
    let gone = other
        .delete_network_claim(&Actor::system(), ONE, "web", Some(moved.rv), &Policy::default(), later(2))
        .await
        .unwrap();
    assert_eq!(s.network_claim(ONE, "web").await.unwrap(), None);
    let kept = s.tombstones(&[gone.rv]).await.unwrap();
    assert!(kept[0].1.contains("10.20.6.0/24") && kept[0].1.contains("story"), "{kept:?}");
    let deleted = s.delete_network_claim(&Actor::system(), ONE, "web", None, &Policy::default(), now()).await;
    assert!(matches!(deleted, Err(Error::NotFound)));
    assert_eq!(s.released(ONE, 10).await.unwrap().len(), 3);
    let entries = log(&*s, Some(ONE), LogPosition(0), 100).await;
    let ops: Vec<_> = entries.iter().filter(|e| e.name == "web").map(|e| (e.kind.as_str(), e.op)).collect();
    assert_eq!(ops, [("claim", Op::Create), ("claim", Op::Update), ("claim", Op::Delete)]);
    assert_eq!(
        claim(&*s, ONE, "web", &[exact("10.20.6.0/23")]).await.status.address_space[0].status,
        RecordState::Allocated
    );
}

pub async fn replicas_that_claim_at_once_never_overlap(place: &Place) {
    const EACH: usize = 24;
    let mut replicas = tokio::task::JoinSet::new();
    for r in 0..4 {
        let s = place.open().await;
        replicas.spawn(async move {
            let org = if r % 2 == 0 { ONE } else { TWO };
            for i in 0..EACH {
                let len = 26 + u8::try_from(i % 3).unwrap();
                let name = format!("r{r}-{i}");
                let made = claim(&*s, org, &name, &[request(None, Some("10.0.0.0/20"), Some(len))]).await;
                assert!(made.status.is_allocated(), "{:?}", made.status);
                // Every third is released again, so that gaps appear under the others' feet.
                if i % 3 == 2 {
                    s.delete_network_claim(
                        &Actor::system(),
                        org,
                        &name,
                        Some(made.rv),
                        &Policy::default(),
                        now(),
                    )
                    .await
                    .expect("releases");
                }
            }
        });
    }
    replicas.join_all().await;
    let s = place.open().await;
    let mut held: Vec<IpNet> = Vec::new();
    for org in [ONE, TWO] {
        let claims = s.network_claims(org, "", 1000).await.unwrap();
        assert_eq!(claims.len(), 2 * EACH * 2 / 3);
        held.extend(claims.iter().flat_map(|c| c.status.allocated().map(|(p, _)| p).collect::<Vec<_>>()));
    }
    for (i, a) in held.iter().enumerate() {
        assert!(held[i + 1..].iter().all(|b| !overlaps(a, b)), "{a} was allocated twice");
    }
    // No block was lost: what is free now and what is held is the whole block.
    let free = numbers::RangeSet::of(&held).free(&"10.0.0.0/20".parse().unwrap());
    for (i, prefix) in free.iter().enumerate() {
        let whole = claim(&*s, ONE, &format!("rest-{i}"), &[exact(&prefix.to_string())]).await;
        assert!(whole.status.is_allocated(), "{prefix} is free");
    }
    let full = claim(&*s, ONE, "full", &[request(None, Some("10.0.0.0/20"), Some(32))]).await;
    assert_eq!(
        full.status.address_space[0].message.as_deref(),
        Some("No /32 is free in 10.0.0.0/20: the block is full.")
    );
}

pub async fn a_released_prefix_goes_to_the_claim_that_waited(place: &Place) {
    let s = place.open().await;
    let first = claim(&*s, ONE, "first", &[exact("10.0.0.0/24")]).await;
    for (name, at) in [("second", 1), ("third", 2)] {
        let refused = s
            .write_network_claim(
                &Actor::system(),
                &write(ONE, name, None, &[exact("10.0.0.0/25")]),
                later(at),
            )
            .await
            .unwrap();
        assert!(!refused.status.is_allocated());
    }
    s.delete_network_claim(&Actor::system(), ONE, "first", Some(first.rv), &Policy::default(), later(3))
        .await
        .unwrap();
    let second = s.network_claim(ONE, "second").await.unwrap().unwrap();
    assert_eq!(prefixes(&second), ["10.0.0.0/25"], "the older one");
    assert_eq!(second.status.address_space[0].date, later(3));
    assert!(!s.network_claim(ONE, "third").await.unwrap().unwrap().status.is_allocated());
    let entries = log(&*s, Some(ONE), LogPosition(0), 100).await;
    let last = entries.last().unwrap();
    assert_eq!((last.name.as_str(), last.op, last.rv), ("second", Op::Update, second.rv));
}

pub async fn hopeless_claims_starve_no_other(place: &Place) {
    let s = place.open().await;
    claim(&*s, TWO, "keeper", &[exact("192.168.0.0/16")]).await;
    let first = claim(&*s, ONE, "first", &[exact("10.0.0.0/24")]).await;
    let refused = async |org, name: String, requests: &[AddressRequest], at| {
        let made = s
            .write_network_claim(&Actor::system(), &write(org, &name, None, requests), later(at))
            .await
            .expect("writes");
        assert!(!made.status.is_allocated());
    };
    // More than one page of older claims that stay refused; some of them touch what is released.
    for i in 0..120 {
        let taken = request(None, Some("192.168.0.0/16"), Some(26));
        let requests = if i % 4 == 0 { vec![exact("10.0.0.0/25"), taken] } else { vec![taken] };
        let org = if i % 2 == 0 { ONE } else { TWO };
        refused(org, format!("hopeless-{i}"), &requests, 1).await;
    }
    refused(ONE, "exact".into(), &[exact("10.0.0.0/26")], 2).await;
    refused(TWO, "any".into(), &[request(None, Some("10.0.0.0/24"), Some(25))], 3).await;
    s.delete_network_claim(&Actor::system(), ONE, "first", Some(first.rv), &Policy::default(), later(4))
        .await
        .unwrap();
    let held = async |org, name: &str| prefixes(&s.network_claim(org, name).await.unwrap().unwrap());
    assert_eq!(held(ONE, "exact").await, ["10.0.0.0/26"]);
    assert_eq!(held(TWO, "any").await, ["10.0.0.128/25"]);
    assert_eq!(held(ONE, "hopeless-0").await, [""; 0]);
}

pub async fn claims_beyond_the_quota_are_refused_whichever_process_made_the_others(place: &Place) {
    let (s, other) = (place.open().await, place.open().await);
    let limited =
        |org, name: &str| NetworkClaimWrite { limit: 2, ..write(org, name, None, &[exact("10.0.0.0/24")]) };
    let is_full = |e: Result<StoredNetworkClaim, Error>| matches!(e, Err(Error::Full { limit: 2 }));
    s.write_network_claim(&Actor::system(), &limited(ONE, "a"), now()).await.unwrap();
    // The second is refused its prefix, and counts all the same.
    let b = other.write_network_claim(&Actor::system(), &limited(ONE, "b"), now()).await.unwrap();
    assert!(!b.status.is_allocated());
    assert!(is_full(s.write_network_claim(&Actor::system(), &limited(ONE, "c"), now()).await));
    assert!(is_full(other.write_network_claim(&Actor::system(), &limited(ONE, "c"), now()).await));
    let trial = NetworkClaimWrite { dry_run: true, ..limited(ONE, "c") };
    assert!(is_full(s.write_network_claim(&Actor::system(), &trial, now()).await));
    // Others are not counted, a change of what exists is none, and a deletion makes room.
    s.write_network_claim(&Actor::system(), &limited(TWO, "a"), now()).await.unwrap();
    let changed = NetworkClaimWrite { expected: Some(b.rv), metadata: "{}".into(), ..limited(ONE, "b") };
    s.write_network_claim(&Actor::system(), &changed, now()).await.unwrap();
    other.delete_network_claim(&Actor::system(), ONE, "a", None, &Policy::default(), now()).await.unwrap();
    s.write_network_claim(&Actor::system(), &limited(ONE, "c"), now()).await.unwrap();
    assert!(is_full(other.write_network_claim(&Actor::system(), &limited(ONE, "d"), now()).await));
}
