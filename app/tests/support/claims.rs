//! Claims of the sample: q7.io pending with two near misses, halcyon.example verified, the others not claimed.

use super::now;
use model::dns::{DnssecStatus, Provider, ProviderKind};
use model::names::DomainName;
use model::ownership::view::offers;
use model::ownership::{
    Claim, ClaimPolicy, ClaimRecord, ClaimView, Elsewhere, Method, Nonce, Observed, Outcome, Reply, Round,
    ServerAnswer, Value,
};
use service::ApiResult;

/// The claim to a name.
pub fn sample(name: &str) -> ApiResult<ClaimView> {
    let policy = ClaimPolicy::default();
    let claim = Claim::new(name, Nonce::new([7; 20]), Method::Txt, now(), &policy);
    let expected = claim.challenge.expected(Method::Txt, None, "c1").expect("TXT is always offered");
    let provider = Provider { name: "Digital Ocean".into(), kind: ProviderKind::Known };
    let server = |n: u8, reply| ServerAnswer {
        nameserver: format!("ns{n}.digitalocean.com"),
        address: Some([192, 0, 2, n].into()),
        serial: Some(2_026_112_000 + u32::from(n)),
        reply,
    };
    let value = Value { rtype: "TXT".into(), text: claim.challenge.nonce.to_string() };
    let seen = Observed {
        at: now(),
        servers: vec![
            server(1, Reply::NoSuchName),
            server(2, Reply::Unusable { reason: "no reply within 5 s".into() }),
        ],
        dnssec: DnssecStatus::Insecure,
        elsewhere: vec![Elsewhere { name: format!("{}.{name}", expected.name), values: vec![value] }],
        negative_ttl: Some(1800),
    };
    let round = Round::judge(&claim.challenge, Method::Txt, &expected, seen);
    let outcome = if name == "q7.io" { round.outcome } else { Outcome::Proven };
    let (claim, _) = claim.after(outcome, now(), false, &policy);
    let record = ClaimRecord {
        id: "c1".into(),
        offers: offers(&claim.challenge, name, Some(&provider), None, "c1"),
        claim,
        round: Some(round),
    };
    Ok(ClaimView {
        suspended: None,
        name: name.into(),
        unicode: name.into(),
        domain: DomainName::trusted(name),
        claim: matches!(name, "q7.io" | "halcyon.example").then_some(record),
        methods: vec![Method::Txt, Method::TxtApex, Method::Http],
        covered_by: None,
        provider: Some(provider.name),
        now: now(),
    })
}
