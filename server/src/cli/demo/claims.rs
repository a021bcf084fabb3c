//! Ownership claims of the demo: a verified, a pending, a lapsing and a contested domain, by two organisations. Records
//! are published in the lab's zones and read back from its servers; what takes days is played with earlier instants.

use anyhow::{Context, Result};
use jiff::{SignedDuration, Timestamp};
use lab::{Command, Lab};
use model::ids::{Caller, OrgId, Role};
use model::item::Ownership;
use model::ownership::{Claim, ClaimPolicy, ClaimView, Method, Outcome};
use monitor::claims::nonce;
use product::Services;
use service::Backend;
use store::{ClaimWrite, StoredClaim};

const VERIFIED: &str = "fernhill.example";
const PENDING: &str = "juniper-lab.example";
const LAPSING: &str = "brightmoor.example";
const CONTESTED: &str = "copperline.example";

async fn publish(lab: &Lab, name: String, value: &str) -> Result<()> {
    let data = format!("\"{value}\"");
    let record = Command::AddRecord { name, rtype: "TXT".into(), ttl: 300, data };
    lab.apply(record).await.map(drop).context("a record of the demo")
}

fn expected(view: &ClaimView) -> Result<(String, String)> {
    let claim = view.claim.as_ref().context("the claim was started")?;
    let offer = claim.offers.first().context("TXT is always offered")?;
    Ok((offer.record.name.clone(), offer.record.value.clone()))
}

/// A claim that was verified ten days ago and then saw these outcomes, each some hours before now.
async fn earlier(services: &Services, org: OrgId, name: &str, seen: &[(i64, Outcome)]) -> Result<Claim> {
    let now = Timestamp::now();
    let before = |hours: i64| now - SignedDuration::from_hours(hours);
    let policy = ClaimPolicy::default();
    let mut claim = Claim::new(name, nonce(), Method::Txt, before(241), &policy);
    let mut changes = Vec::new();
    for (hours, outcome) in [&[(240, Outcome::Proven)][..], seen].concat() {
        let (next, event) = claim.after(outcome, before(hours), false, &policy);
        changes.extend(event.map(|event| event.change(name, &next)));
        claim = next;
    }
    let stored = StoredClaim {
        id: nonce().as_str().to_string(),
        org,
        name: name.into(),
        claim: claim.clone(),
        round: None,
        created_at: before(241),
        reviewed_at: now,
        version: 0,
    };
    services.store().write_claims(&[ClaimWrite { claim: stored, changes }], now).await?;
    Ok(claim)
}

/// Starts the claims. `other` is the second organisation.
pub(super) async fn start(services: &Services, lab: &Lab, other: OrgId) -> Result<()> {
    let alder = Caller::system();
    let verified = services.start_claim(&alder, VERIFIED, Method::Txt).await?;
    let (name, value) = expected(&verified)?;
    publish(lab, name, &value).await?;
    services.check_claim(&alder, VERIFIED).await?;

    // The mistake most people make: the provider appended the domain once more.
    let pending = services.start_claim(&alder, PENDING, Method::Txt).await?;
    let (name, value) = expected(&pending)?;
    publish(lab, format!("{name}.{PENDING}"), &value).await?;
    services.check_claim(&alder, PENDING).await?;

    let gone = [(26, Outcome::Denied), (25, Outcome::Denied)];
    earlier(services, alder.org, LAPSING, &gone).await?;
    services.check_claim(&alder, LAPSING).await?;

    let held = earlier(services, alder.org, CONTESTED, &[]).await?;
    let name = format!("{}.{CONTESTED}", model::ownership::challenge::LABEL);
    publish(lab, name.clone(), held.challenge.nonce.as_str()).await?;
    let quarry = Caller::new(other, "Quarry audit", Role::Member);
    services.add(&quarry, CONTESTED, Ownership::Owned, &[]).await?;
    let rival = services.start_claim(&quarry, CONTESTED, Method::Txt).await?;
    publish(lab, name, &expected(&rival)?.1).await?;
    services.check_claim(&quarry, CONTESTED).await?;
    services.check_claim(&alder, CONTESTED).await?;
    Ok(())
}
