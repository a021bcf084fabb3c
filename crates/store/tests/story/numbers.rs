//! Claims of address space and holdings as objects.

use crate::world::{ONE, Place, TWO, add, later, log, name, now, scan};
use model::account::Actor;
use model::dns::{RrSet, ZoneSnapshot};
use model::ids::{LogPosition, OrgId};
use model::item::ItemPatch;
use model::scan::Op;
use numbers::prefix::overlaps;
use numbers::{AddressRequest, ClaimSpec, IpNet, Policy, RecordState, Reference};
use std::sync::Arc;
use store::{Error, NetworkClaimWrite, Store, StoredNetworkClaim};

fn request(prefix: Option<&str>, from: Option<&str>, len: Option<u8>) -> AddressRequest {
    AddressRequest {
        prefix: prefix.map(Into::into),
        from: from.map(Into::into),
        prefix_length: len,
        reference: Reference { group: "apps".into(), resource: "services".into() },
        description: "story".into(),
    }
}

fn exact(prefix: &str) -> AddressRequest {
    request(Some(prefix), None, None)
}

fn write(
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

async fn claim(s: &dyn Store, org: OrgId, name: &str, requests: &[AddressRequest]) -> StoredNetworkClaim {
    s.write_network_claim(&Actor::system(), &write(org, name, None, requests), now()).await.expect("writes")
}

fn prefixes(c: &StoredNetworkClaim) -> Vec<String> {
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

/// A prefix that comes and goes is one entry, and fills no limit; one that is held again is none.
pub async fn released_prefixes_are_listed_once_and_not_while_they_are_held(place: &Place) {
    let s = place.open().await;
    let released = async || {
        let found = s.released(ONE, 2).await.unwrap();
        found.into_iter().map(|c| format!("{} {}", c.prefix, c.claim)).collect::<Vec<_>>()
    };
    let round = async |name: &str, prefix: &str, at| {
        let made = s
            .write_network_claim(&Actor::system(), &write(ONE, name, None, &[exact(prefix)]), later(at))
            .await
            .unwrap();
        s.delete_network_claim(&Actor::system(), ONE, name, Some(made.rv), &Policy::default(), later(at + 1))
            .await
            .unwrap();
    };
    round("once", "10.0.0.0/24", 1).await;
    for i in 0..5 {
        round(&format!("often-{i}"), "10.0.1.0/24", 10 + 2 * i).await;
    }
    assert_eq!(released().await, ["10.0.1.0/24 often-4", "10.0.0.0/24 once"]);
    claim(&*s, ONE, "again", &[exact("10.0.1.0/24")]).await;
    assert_eq!(released().await, ["10.0.0.0/24 once"]);
}

/// What an organisation sees of a prefix, whichever process wrote it: its own claims in all their states and what is free.
pub async fn a_prefix_is_surveyed(place: &Place) {
    let (s, policy) = (place.open().await, Policy::default());
    let web = claim(&*s, ONE, "web", &[exact("10.0.0.0/24"), exact("2001:db8::/48")]).await;
    let other = place.open().await;
    let survey = async |org, prefix: &str, limit| {
        s.survey(org, &prefix.parse().unwrap(), &policy, limit).await.expect("reads")
    };
    assert_eq!(survey(ONE, "10.0.0.0/22", 9).await.survey.held.len(), 1);
    let old = claim(&*other, ONE, "old", &[exact("10.0.2.0/24"), exact("10.0.3.0/25")]).await;
    claim(&*other, ONE, "late", &[exact("10.0.0.128/25")]).await;
    claim(&*other, TWO, "theirs", &[exact("10.0.1.0/25")]).await;
    other.delete_network_claim(&Actor::system(), ONE, "old", Some(old.rv), &policy, later(1)).await.unwrap();
    // A part of what was released is held again: then it is no longer released.
    claim(&*other, ONE, "again", &[exact("10.0.3.64/26")]).await;
    let found = survey(ONE, "10.0.0.0/22", 9).await;
    let held: Vec<_> = found.survey.held.iter().map(|h| format!("{} {}", h.prefix, h.holder.claim)).collect();
    assert_eq!(held, ["10.0.0.0/24 web", "10.0.3.64/26 again"]);
    let free: Vec<_> = found.survey.free.iter().map(ToString::to_string).collect();
    assert_eq!(free, ["10.0.1.128/25", "10.0.2.0/24", "10.0.3.0/26", "10.0.3.128/25"]);
    assert!(found.survey.has_foreign && !found.is_partial);
    assert_eq!(found.refused.iter().map(|c| c.claim.as_str()).collect::<Vec<_>>(), ["late"]);
    let released: Vec<_> =
        found.released.iter().map(|r| (r.prefix.to_string(), r.released_at == Some(later(1)))).collect();
    assert_eq!(released, [("10.0.2.0/24".to_string(), true)]);
    assert_eq!(found.released[0].released_by, Some(Actor::system().who));
    // Of an address: what contains it. Of another organisation's: that it is not free, and nothing else.
    let found = survey(ONE, "10.0.0.7/32", 9).await;
    assert_eq!(
        found.survey.covering.map(|h| (h.prefix, h.holder.since)),
        Some(("10.0.0.0/24".parse().unwrap(), now()))
    );
    assert!(found.survey.free.is_empty() && found.released.is_empty());
    let found = survey(TWO, "10.0.0.0/24", 9).await;
    assert!(found.survey.held.is_empty() && found.survey.free.is_empty() && found.refused.is_empty());
    // The other family, and lists that end at the limit.
    assert_eq!(survey(ONE, "2001:db8::/47", 9).await.survey.free.len(), 1);
    let found = survey(ONE, "10.0.0.0/22", 1).await.survey;
    assert_eq!((found.held.len(), found.more_held, found.free.len(), found.more_free), (1, 1, 1, 3));
    // What is moved away is seen at once.
    s.write_network_claim(
        &Actor::system(),
        &write(ONE, "web", Some(web.rv), &[exact("10.9.0.0/24")]),
        later(2),
    )
    .await
    .unwrap();
    assert_eq!(survey(ONE, "10.9.0.0/16", 9).await.survey.held.len(), 1);
}

/// What the page is drawn from: a copy of the whole index, as one organisation may know it, and what is read beside it.
pub async fn the_registry_is_read_as_a_copy(place: &Place) {
    let (s, policy) = (place.open().await, Policy::default());
    let registry = async |org| s.registry(org, &policy, 9).await.expect("reads");
    assert_eq!(registry(ONE).await.claims, 0);
    let web =
        claim(&*s, ONE, "web", &[exact("10.0.0.0/24"), request(None, Some("10.2.0.0/16"), Some(24))]).await;
    claim(&*s, ONE, "late", &[exact("10.0.0.128/25"), exact("10.5.0.0/24")]).await;
    claim(&*s, TWO, "theirs", &[exact("10.0.1.0/24")]).await;
    let read = registry(ONE).await;
    let held: Vec<_> = read.view.held().map(|h| format!("{} {}", h.prefix, h.holder.claim)).collect();
    assert_eq!(held, ["10.0.0.0/24 web", "10.2.0.0/24 web"]);
    let block = "10.0.0.0/22".parse().unwrap();
    assert!(read.view.foreign(&block).contains(&"10.0.1.0/24".parse().unwrap()));
    assert_eq!((read.claims, read.blocks), (2, vec!["10.2.0.0/16".parse().unwrap()]));
    // Another process writes: the copy stays, the next one has it.
    let other = place.open().await;
    claim(&*other, ONE, "more", &[exact("10.9.0.0/24")]).await;
    assert_eq!(read.view.held().count(), 2);
    let read = registry(ONE).await;
    assert_eq!((read.claims, read.view.held().count()), (3, 3));
    // Refused claims, oldest first, and what tells whether a claim is still the one that was shown.
    let (refused, is_all) = s.refused_claims(ONE, 9).await.unwrap();
    assert_eq!((refused.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(), is_all), (vec!["late"], true));
    claim(&*s, ONE, "later", &[exact("10.0.0.128/25")]).await;
    let (refused, is_all) = s.refused_claims(ONE, 1).await.unwrap();
    assert_eq!((refused.len(), is_all), (1, false));
    let heads = s.claim_heads(ONE, &["web".into(), "theirs".into(), "none".into()]).await.unwrap();
    assert_eq!(heads, [store::ClaimHead { name: "web".into(), rv: web.rv, prefixes: 2 }]);
}

/// Blocks that an organisation lists are among those it allocates out of, in every process, and others do not see them.
pub async fn blocks_are_listed_and_removed(place: &Place) {
    let (s, other) = (place.open().await, place.open().await);
    let audit = |org, action| store::Audit {
        org,
        by: Actor::system(),
        at: now(),
        action,
        object: "10.20.0.0/16".into(),
        old: None,
        new: None,
    };
    let block = |prefix: &str, description: &str| store::ListedBlock {
        prefix: prefix.parse().unwrap(),
        description: description.into(),
        created_at: now(),
    };
    claim(&*s, ONE, "web", &[request(None, Some("10.9.0.0/16"), Some(24))]).await;
    assert_eq!(other.network_blocks(ONE, 9).await.unwrap().len(), 1, "kept in memory from now on");
    let log = audit(ONE, "network.block");
    s.save_block(&block("10.20.0.0/16", "West"), 2, &log).await.unwrap();
    s.save_block(&block("10.9.0.0/16", ""), 2, &log).await.unwrap();
    s.save_block(&block("10.20.0.0/16", "East"), 2, &log).await.unwrap();
    let full = s.save_block(&block("10.30.0.0/16", ""), 2, &log).await;
    assert!(matches!(full, Err(Error::Full { limit: 2 })), "{full:?}");
    let listed = other.listed_blocks(ONE).await.unwrap();
    assert_eq!(listed, [block("10.9.0.0/16", ""), block("10.20.0.0/16", "East")]);
    assert!(other.listed_blocks(TWO).await.unwrap().is_empty());
    let blocks = async |s: &dyn Store| s.network_blocks(ONE, 9).await.unwrap().len();
    assert_eq!((blocks(&*s).await, blocks(&*other).await), (2, 2));
    let prefix = "10.20.0.0/16".parse().unwrap();
    let foreign = s.remove_block(&prefix, &audit(TWO, "network.unblock")).await;
    assert!(matches!(foreign, Err(Error::NotFound)), "{foreign:?}");
    s.remove_block(&prefix, &audit(ONE, "network.unblock")).await.unwrap();
    assert_eq!((blocks(&*s).await, blocks(&*other).await), (1, 1), "that of the claim stays");
    let log =
        s.audit_log(ONE, &model::account::AuditQuery { limit: 20, ..Default::default() }).await.unwrap();
    assert_eq!(
        log.entries
            .iter()
            .filter(|e| e.action.starts_with("network.") && e.action.ends_with("block"))
            .count(),
        4
    );
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

pub async fn blocks_are_those_of_all_claims_of_an_organisation(place: &Place) {
    let s = place.open().await;
    let out_of = |block: &str| request(None, Some(block), Some(64));
    for i in 0..20 {
        claim(&*s, ONE, &format!("a-{i}"), &[out_of("2001:db8::/48"), exact(&format!("10.0.{i}.0/24"))])
            .await;
    }
    claim(&*s, ONE, "z", &[request(None, Some("10.20.0.0/16"), Some(26))]).await;
    claim(&*s, TWO, "a", &[out_of("2001:db8:1::/48")]).await;
    let blocks = async |org, limit| {
        let found = s.network_blocks(org, limit).await.expect("reads");
        found.iter().map(IpNet::to_string).collect::<Vec<_>>()
    };
    assert_eq!(blocks(ONE, 100).await, ["10.20.0.0/16", "2001:db8::/48"]);
    assert_eq!(blocks(TWO, 100).await, ["2001:db8:1::/48"]);
    assert_eq!(blocks(ONE, 1).await.len(), 1);
    // Those that were read before are brought forward: by a new claim, a change, a release, and by another process.
    let y = claim(&*s, ONE, "y", &[request(None, Some("10.30.0.0/16"), Some(26))]).await;
    assert_eq!(blocks(ONE, 100).await, ["10.20.0.0/16", "10.30.0.0/16", "2001:db8::/48"]);
    let moved = write(ONE, "y", Some(y.rv), &[request(None, Some("10.40.0.0/16"), Some(26))]);
    s.write_network_claim(&Actor::system(), &moved, now()).await.unwrap();
    assert_eq!(blocks(ONE, 100).await, ["10.20.0.0/16", "10.40.0.0/16", "2001:db8::/48"]);
    let (other, policy) = (place.open().await, Policy::default());
    claim(&*other, ONE, "x", &[request(None, Some("10.50.0.0/16"), Some(26))]).await;
    other.delete_network_claim(&Actor::system(), ONE, "z", None, &policy, now()).await.unwrap();
    assert_eq!(blocks(ONE, 100).await, ["10.40.0.0/16", "10.50.0.0/16", "2001:db8::/48"]);
    s.delete_network_claim(&Actor::system(), ONE, "y", None, &policy, now()).await.unwrap();
    assert_eq!(blocks(ONE, 100).await, ["10.50.0.0/16", "2001:db8::/48"]);
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

pub async fn what_has_a_finalizer_is_not_deleted(place: &Place) {
    const HELD: &str = r#"{"finalizers":["story.example/hold"]}"#;
    let s = place.open().await;
    add(&*s, ONE, &["a.example", "b.example"]).await;
    let object = async || s.domain_object(ONE, &name("b.example")).await.unwrap().unwrap();
    s.set_domain_metadata(&Actor::system(), ONE, &name("b.example"), object().await.rv, HELD, now())
        .await
        .unwrap();
    let is_held = |e: &Error, of: &str| matches!(e, Error::Held { name, finalizer } if name == of && finalizer == "story.example/hold");
    let e = s.remove(ONE, &[name("a.example"), name("b.example")], now()).await.unwrap_err();
    assert!(is_held(&e, "b.example"), "{e:?}");
    assert_eq!(s.domain_objects(ONE, "", 10).await.unwrap().len(), 2, "none of them was removed");
    let write =
        NetworkClaimWrite { metadata: HELD.into(), ..write(ONE, "web", None, &[exact("10.0.0.0/24")]) };
    let made = s.write_network_claim(&Actor::system(), &write, now()).await.unwrap();
    let policy = Policy::default();
    let e = s.delete_network_claim(&Actor::system(), ONE, "web", None, &policy, now()).await.unwrap_err();
    assert!(is_held(&e, "web"), "{e:?}");
    // Without the finalizer they go.
    s.set_domain_metadata(&Actor::system(), ONE, &name("b.example"), object().await.rv, "{}", now())
        .await
        .unwrap();
    // Written since it was read.
    let (at, other) = (object().await.rv, LogPosition(object().await.rv.0 - 1));
    let delete = async |at| s.delete_domain(&Actor::system(), ONE, &name("b.example"), at, now()).await;
    assert!(matches!(delete(other).await, Err(Error::Conflict)));
    delete(at).await.unwrap();
    assert!(matches!(delete(at).await, Err(Error::NotFound)));
    assert_eq!(s.remove(ONE, &[name("a.example"), name("b.example")], now()).await.unwrap(), 1);
    let bare = NetworkClaimWrite { metadata: "{}".into(), expected: Some(made.rv), ..write };
    s.write_network_claim(&Actor::system(), &bare, now()).await.unwrap();
    s.delete_network_claim(&Actor::system(), ONE, "web", None, &policy, now()).await.unwrap();
}

pub async fn objects_that_name_owners_or_wait_are_found_without_the_others(place: &Place) {
    const OWNED: &str = r#"{"ownerReferences":[{"name":"a"}]}"#;
    const WAITS: &str = r#"{"finalizers":["foregroundDeletion"]}"#;
    let s = place.open().await;
    assert!(s.linked_orgs().await.unwrap().is_empty());
    add(&*s, ONE, &["a.example", "b.example", "c.example"]).await;
    for (name_of, metadata) in [("a.example", OWNED), ("b.example", "{}"), ("c.example", WAITS)] {
        let rv = s.domain_object(ONE, &name(name_of)).await.unwrap().unwrap().rv;
        s.set_domain_metadata(&Actor::system(), ONE, &name(name_of), rv, metadata, now()).await.unwrap();
    }
    for (org, of, metadata) in [(TWO, "web", r#"{"finalizers":["orphan"]}"#), (TWO, "db", "{}")] {
        let block = format!("10.{}.0.0/24", of.len());
        let write = NetworkClaimWrite { metadata: metadata.into(), ..write(org, of, None, &[exact(&block)]) };
        s.write_network_claim(&Actor::system(), &write, now()).await.unwrap();
    }
    let mut orgs = s.linked_orgs().await.unwrap();
    orgs.sort();
    assert_eq!(orgs, [ONE, TWO]);
    let found = async |org, kind, after, limit| {
        let rows = s.linked_objects(org, kind, after, limit).await.unwrap();
        rows.into_iter().map(|(n, m)| format!("{n} {m}")).collect::<Vec<_>>()
    };
    assert_eq!(found(ONE, "item", "", 9).await, [format!("a.example {OWNED}"), format!("c.example {WAITS}")]);
    assert_eq!(found(ONE, "item", "", 1).await.len(), 1);
    assert_eq!(found(ONE, "item", "a.example", 9).await, [format!("c.example {WAITS}")]);
    assert_eq!(found(TWO, "claim", "", 9).await, [r#"web {"finalizers":["orphan"]}"#]);
    for (org, kind) in
        [(TWO, "item"), (ONE, "claim"), (ONE, "feature"), (ONE, "cluster_claim"), (ONE, "event")]
    {
        assert!(found(org, kind, "", 9).await.is_empty(), "{kind}");
    }
}

pub async fn a_holding_is_created_with_its_metadata_at_once(place: &Place) {
    const LABELLED: &str = r#"{"labels":{"team":"web"}}"#;
    let s = place.open().await;
    let item = crate::world::new("a.example");
    assert!(s.create_domain(&Actor::system(), ONE, &item, LABELLED, now()).await.unwrap());
    let made = s.domain_object(ONE, &name("a.example")).await.unwrap().unwrap();
    assert_eq!((made.rv, made.metadata.as_deref()), (LogPosition(1), Some(LABELLED)), "one entry of the log");
    // What is held stays as it is.
    assert!(!s.create_domain(&Actor::system(), ONE, &item, "{}", now()).await.unwrap());
    let kept = s.domain_object(ONE, &name("a.example")).await.unwrap().unwrap();
    assert_eq!((kept.rv, kept.metadata.as_deref()), (LogPosition(1), Some(LABELLED)));
}

pub async fn holdings_have_positions_metadata_and_tombstones(place: &Place) {
    let s = place.open().await;
    add(&*s, ONE, &["a.example", "b.example", "c.example"]).await;
    let listed = s.domain_objects(ONE, "a.example", 1).await.unwrap();
    assert_eq!(listed.iter().map(|d| d.item.name.as_str()).collect::<Vec<_>>(), ["b.example"]);
    let object = || async { s.domain_object(ONE, &name("b.example")).await.unwrap().unwrap() };
    let before = object().await;
    assert_eq!(before.rv, LogPosition(2));
    s.patch(ONE, &name("b.example"), &ItemPatch { note: Some("x".into()), ..ItemPatch::default() }, now())
        .await
        .unwrap();
    let patched = object().await;
    assert_eq!(patched.rv, LogPosition(4), "the position of its newest entry");
    let write = |rv| {
        let s: Arc<dyn Store> = s.clone();
        async move {
            s.set_domain_metadata(
                &Actor::system(),
                ONE,
                &name("b.example"),
                rv,
                r#"{"labels":{"team":"web"}}"#,
                now(),
            )
            .await
        }
    };
    assert!(matches!(write(before.rv).await, Err(Error::Conflict)));
    write(patched.rv).await.unwrap();
    assert_eq!(object().await.metadata.as_deref(), Some(r#"{"labels":{"team":"web"}}"#));
    s.remove(ONE, &[name("a.example"), name("b.example")], now()).await.unwrap();
    let head = s.head().await.unwrap();
    let kept = s.tombstones(&[LogPosition(head.0 - 1), head]).await.unwrap();
    assert!(kept[0].1.contains("added_at") && kept[1].1.contains("team"), "{kept:?}");
    add(&*s, ONE, &["b.example"]).await;
    assert_eq!(object().await.metadata, None, "a later holding of the name is another object");
    s.prune_log(later(25 * 60), 400).await.unwrap();
    assert!(s.tombstones(&[head]).await.unwrap().is_empty());
}

pub async fn names_are_found_by_the_prefix_they_point_into(place: &Place) {
    let s = place.open().await;
    let rrset = |owner: &str, rtype: &str, data: &[&str]| RrSet {
        name: owner.into(),
        rtype: rtype.into(),
        ttl: 300,
        data: data.iter().map(|d| (*d).to_string()).collect(),
    };
    let scanned = async |domain: &str, sets: Option<Vec<RrSet>>| {
        let mut record = scan(&*s, domain, &[], now()).await;
        record.observation.zone.value = sets.map(|rrsets| ZoneSnapshot { rrsets, ..ZoneSnapshot::default() });
        s.record(&record).await.expect("records");
    };
    let found = async |org, prefix: &str| {
        let found = s.pointing_into(org, &prefix.parse().unwrap(), None, 10).await.expect("reads");
        found.iter().map(|p| format!("{} {}", p.owner, p.address)).collect::<Vec<_>>().join(", ")
    };
    add(&*s, ONE, &["q7.io", "alder.example"]).await;
    add(&*s, TWO, &["alder.example"]).await;
    let six = rrset("www.q7.io", "AAAA", &["2001:db8::7"]);
    scanned("q7.io", Some(vec![rrset("q7.io", "A", &["10.20.5.7", "9.255.0.1"]), six.clone()])).await;
    scanned("alder.example", Some(vec![rrset("mx.alder.example", "A", &["10.20.5.1"])])).await;
    assert_eq!(found(ONE, "10.20.0.0/16").await, "mx.alder.example 10.20.5.1, q7.io 10.20.5.7");
    assert_eq!(found(ONE, "0.0.0.0/0").await, "q7.io 9.255.0.1, mx.alder.example 10.20.5.1, q7.io 10.20.5.7");
    assert_eq!(found(ONE, "::/0").await, "www.q7.io 2001:db8::7");
    assert_eq!(found(TWO, "10.20.0.0/16").await, "mx.alder.example 10.20.5.1");
    // In parts, each behind the last of the one before: also between names of one address, and none twice.
    let both = |owner: &str| rrset(owner, "A", &["10.20.5.1"]);
    scanned("alder.example", Some(vec![both("mx.alder.example"), both("a.alder.example")])).await;
    let everything: IpNet = "0.0.0.0/0".parse().unwrap();
    let (mut parts, mut last) = (Vec::new(), None::<store::Pointing>);
    loop {
        let after = last.as_ref().map(|p| (p.address, p.domain.as_str(), p.owner.as_str()));
        let mut part = s.pointing_into(ONE, &everything, after, 1).await.unwrap();
        let Some(found) = part.pop() else { break };
        assert!(part.is_empty());
        parts.push(format!("{} {}", found.owner, found.address));
        last = Some(found);
    }
    let expected =
        ["q7.io 9.255.0.1", "a.alder.example 10.20.5.1", "mx.alder.example 10.20.5.1", "q7.io 10.20.5.7"];
    assert_eq!(parts, expected);
    // What lies before the prefix is not read, wherever the part before ended.
    let after = Some(("10.20.5.1".parse().unwrap(), "alder.example", "a.alder.example"));
    let part = s.pointing_into(ONE, &"10.20.5.4/30".parse().unwrap(), after, 9).await.unwrap();
    assert_eq!(part.iter().map(|p| p.owner.as_str()).collect::<Vec<_>>(), ["q7.io"]);
    scanned("alder.example", Some(vec![both("mx.alder.example")])).await;
    // The addresses of name servers too.
    let mut record = scan(&*s, "alder.example", &[], now()).await;
    record.observation.zone.value = Some(ZoneSnapshot {
        rrsets: vec![rrset("mx.alder.example", "A", &["10.20.5.1"])],
        ..ZoneSnapshot::default()
    });
    let server = serde_json::json!({ "name": "ns1.alder.example", "addresses": ["10.20.5.9"], "glue": true });
    let delegation = serde_json::json!({ "zone": "alder.example", "parent": "example", "delegated": true, "parent_ns": [server], "child_ns": [], "ds": [], "servers": [], "notes": [] });
    record.observation.delegation.value = Some(serde_json::from_value(delegation).unwrap());
    s.record(&record).await.expect("records");
    assert_eq!(found(ONE, "10.20.5.8/29").await, "ns1.alder.example 10.20.5.9");
    // What could not be read stays as it was; what is gone is gone.
    scanned("q7.io", None).await;
    assert_eq!(found(ONE, "10.20.5.4/30").await, "q7.io 10.20.5.7");
    scanned("q7.io", Some(vec![six])).await;
    assert_eq!(found(ONE, "10.20.5.4/30").await, "");
    s.remove(TWO, &[name("alder.example")], now()).await.expect("removes");
    assert_eq!(found(TWO, "10.20.0.0/16").await, "");
}
