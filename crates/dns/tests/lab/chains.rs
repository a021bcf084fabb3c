//! Chains of trust, and proofs of what is not there.

use crate::world::{demo, now, start};
use lab::Scenario;
use model::dns::{DenialProof, DnssecStatus};
use std::time::Duration;

#[tokio::test]
async fn chains_are_judged_as_they_were_made() {
    use DnssecStatus::{Bogus, Insecure, Secure};
    let w = demo().await;
    for (domain, status) in [
        ("sealed.example", Secure),
        ("vantage.example", Secure),
        ("alder.example", Secure),
        ("kestrel-demo.com", Secure),
        ("dev.alder.example", Secure),
        ("copperworks-demo.de", Secure),
        ("half-life.example", Secure),
        ("q7.io", Insecure),
        ("lumen.example", Insecure),
        ("unsealed.example", Insecure),
        ("harbour.test", Insecure),
        ("halcyon-demo.com", Insecure),
        ("forged.example", Bogus),
        ("sour-milk.example", Bogus),
        ("wrong-key.example", Bogus),
    ] {
        let told = w.engine.dnssec(domain, now()).await.unwrap();
        assert_eq!(told.status, status, "{domain}: {}", told.reason);
        assert_eq!(
            told.status == Insecure && domain != "unsealed.example",
            told.key_tags.is_empty(),
            "{domain}"
        );
    }
    let before = now() - jiff::SignedDuration::from_hours(400 * 24);
    let told = w.engine.dnssec("sealed.example", before).await.unwrap();
    assert_eq!(told.status, Bogus, "{}", told.reason);
    assert!(told.reason.contains("valid only from"), "a clock that is slow: {}", told.reason);
    let told = w.engine.dnssec("half-life.example", now()).await.unwrap();
    let left = told.signatures_expire.unwrap().duration_since(now());
    assert!(left.as_hours() < 72, "{left:?}");
    let later = now() + Duration::from_secs(40 * 86_400);
    let told = w.engine.dnssec("half-life.example", later).await.unwrap();
    assert_eq!(told.status, Bogus, "{}", told.reason);
    assert!(told.reason.contains("expired"), "{}", told.reason);
}

#[tokio::test]
async fn a_name_that_does_not_exist_is_said_to_be_missing_and_one_without_a_zone_to_have_none() {
    use DnssecStatus::{Indeterminate, Insecure};
    let w = demo().await;
    for (name, status, words) in [
        ("no-such-name.example", Indeterminate, "does not exist: example proves it"),
        ("nothing.alder.example", Indeterminate, "does not exist: alder.example proves it"),
        ("a.b.nothing.sealed.example", Indeterminate, "does not exist: sealed.example proves it"),
        ("no-such-tld-at-all", Indeterminate, "does not exist: . proves it"),
        ("api.dev.alder.example", Indeterminate, "no zone of its own: its records are in dev.alder.example"),
        (
            "gateway.dev.alder.example",
            Indeterminate,
            "no zone of its own: its records are in dev.alder.example",
        ),
        ("nothing.q7.io", Insecure, "io proves that q7.io, above nothing.q7.io, has no DS record"),
    ] {
        let told = w.engine.dnssec(name, now()).await.unwrap();
        assert_eq!(told.status, status, "{name}: {}", told.reason);
        assert!(told.reason.contains(words), "{name}: {}", told.reason);
    }
}

#[tokio::test]
async fn an_unsigned_zone_on_the_servers_of_its_signed_parent_is_no_forgery() {
    use DnssecStatus::{Insecure, Secure};
    let zone = |name: &str, dnssec: &str| {
        format!(
            "\n[[zone]]\nname = \"{name}\"\nprovider = \"one\"\ndnssec = \"{dnssec}\"\nrecords = [\"@ 300 A 192.0.2.9\"]\n"
        )
    };
    let small = include_str!("../../../lab/scenarios/small.toml").to_string();
    let more = zone("open.signed.example", "none")
        + &zone("deep.open.signed.example", "none")
        + &zone("shut.signed.example", "nsec")
        + &zone("deep.shut.signed.example", "nsec");
    let w = start(Scenario::parse(&(small + &more), "hidden").unwrap()).await;
    for (name, status) in [
        ("signed.example", Secure),
        ("shut.signed.example", Secure),
        ("deep.shut.signed.example", Secure),
        ("open.signed.example", Insecure),
        ("deep.open.signed.example", Insecure),
    ] {
        let told = w.engine.dnssec(name, now()).await.unwrap();
        assert_eq!(told.status, status, "{name}: {}", told.reason);
    }
}

#[tokio::test]
async fn signed_zones_prove_what_is_not_there() {
    let w = demo().await;
    // NSEC and NSEC3, and a zone without signatures.
    for (domain, proof) in [
        ("sealed.example", Some(DenialProof::Holds)),
        ("vantage.example", Some(DenialProof::Holds)),
        ("alder.example", Some(DenialProof::Holds)),
        ("kestrel-demo.com", Some(DenialProof::Holds)),
        ("q7.io", None),
    ] {
        let told = w.engine.dnssec(domain, now()).await.unwrap();
        assert_eq!(told.denial, proof, "{domain}: {}", told.reason);
    }
}
