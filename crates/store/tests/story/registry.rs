//! The registry of address space as it is read: released prefixes, surveys, blocks, and the names that point into a prefix.

use crate::numbers::{claim, exact, request, write};
use crate::world::{ONE, Place, TWO, add, later, name, now, scan};
use ::numbers::{IpNet, Policy};
use model::account::Actor;
use model::dns::{RrSet, ZoneSnapshot};
use store::{Error, Store};

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
