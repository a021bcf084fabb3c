//! A claim as pages and the API show it: where it stands, what to publish, and how to enter it at the DNS provider.

use super::claim::{Claim, ClaimState, ContestReason, LapseReason};
use super::{Challenge, ExpectedRecord, Method, Round};
use crate::base::names::DomainName;
use crate::dns::{Provider, ProviderKind};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Where a claim stands, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// The record is not published yet.
    Pending,
    /// Proven, while another organisation still holds the domain.
    Waiting,
    /// Control is proven.
    Verified,
    /// The record is gone; the claim lapses when it does not come back.
    Lapsing,
    /// A new challenge must be answered.
    Contested,
    /// Was verified and no longer is.
    Lapsed,
    /// The challenge was not answered in time.
    Expired,
    /// The present holder proved control again.
    Refused,
}

impl Standing {
    /// The word people see.
    pub fn label(self) -> &'static str {
        match self {
            Standing::Pending => "Pending",
            Standing::Waiting => "Waiting for the holder",
            Standing::Verified => "Verified",
            Standing::Lapsing => "Lapsing",
            Standing::Contested => "Contested",
            Standing::Lapsed => "Lapsed",
            Standing::Expired => "Expired",
            Standing::Refused => "Refused",
        }
    }

    /// The stable word.
    pub fn as_str(self) -> &'static str {
        match self {
            Standing::Pending => "pending",
            Standing::Waiting => "waiting",
            Standing::Verified => "verified",
            Standing::Lapsing => "lapsing",
            Standing::Contested => "contested",
            Standing::Lapsed => "lapsed",
            Standing::Expired => "expired",
            Standing::Refused => "refused",
        }
    }

    /// True when the organisation may act for the domain.
    pub fn counts(self) -> bool {
        matches!(self, Standing::Verified | Standing::Lapsing | Standing::Contested)
    }

    /// True when nothing will happen any more unless the claim is started again.
    pub fn is_over(self) -> bool {
        matches!(self, Standing::Lapsed | Standing::Expired | Standing::Refused)
    }
}

impl Claim {
    /// Where it stands, in one word.
    pub fn standing(&self) -> Standing {
        match self.state {
            ClaimState::Pending => Standing::Pending,
            ClaimState::Waiting { .. } => Standing::Waiting,
            ClaimState::Verified { .. } => Standing::Verified,
            ClaimState::Grace { .. } => Standing::Lapsing,
            ClaimState::Contested { .. } => Standing::Contested,
            ClaimState::Lapsed { .. } => Standing::Lapsed,
            ClaimState::Closed { refused: false, .. } => Standing::Expired,
            ClaimState::Closed { refused: true, .. } => Standing::Refused,
        }
    }

    /// What that means and what to do, in a sentence or two. Says nothing about who another organisation is.
    pub fn meaning(&self) -> String {
        let day = crate::time::human_instant;
        match &self.state {
            ClaimState::Pending => format!(
                "Publish the record below before {}. It is looked for on the authoritative name servers only.",
                day(self.challenge.expires_at)
            ),
            ClaimState::Waiting { until } => format!(
                "Your proof was found. Another organisation holds this domain and has until {} to answer a new \
                 challenge. Keep the record published.",
                day(*until)
            ),
            ClaimState::Verified { since } => {
                format!("Verified since {}. Keep the record published: it is checked every day.", day(*since))
            }
            ClaimState::Grace { until, .. } => format!(
                "The record is no longer published. Publish it again before {}, or the claim lapses.",
                day(*until)
            ),
            ClaimState::Contested { until, reason, .. } => {
                let why = match reason {
                    ContestReason::OtherProof => "Another organisation proved control of this domain.",
                    ContestReason::CreationChanged => "The domain was deleted and registered again.",
                    ContestReason::RegistrarChanged => "The domain moved to another registrar.",
                };
                format!(
                    "{why} Replace the record by the new value (tab Ownership) before {}, or the claim lapses.",
                    day(*until)
                )
            }
            ClaimState::Lapsed { at, reason } => {
                let why = match reason {
                    LapseReason::ProofGone => "The record was removed and did not come back in time.",
                    LapseReason::ChallengeNotAnswered => "The new challenge was not answered in time.",
                    LapseReason::DnsProof => {
                        "Another organisation proved the domain by DNS, which counts more than a file."
                    }
                };
                format!("Lapsed on {}. {why}", day(*at))
            }
            ClaimState::Closed { at, refused: false } => {
                format!("The challenge was not answered by {}. Start again for a new value.", day(*at))
            }
            ClaimState::Closed { at, refused: true } => {
                format!("The present holder proved control again on {}.", day(*at))
            }
        }
    }
}

/// What to publish by one method.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// The method.
    pub method: Method,
    /// The record or file.
    pub record: ExpectedRecord,
    /// What to enter as the host name at the provider; the path for a file.
    pub host: String,
    /// How to enter it, in a sentence.
    pub hint: String,
}

/// The offers for a challenge. `zone` is the zone the provider manages (the registered domain), `suffix` the operator's
/// domain for CNAME challenges, `id` the claim's identifier.
pub fn offers(
    challenge: &Challenge,
    zone: &str,
    provider: Option<&Provider>,
    suffix: Option<&str>,
    id: &str,
) -> Vec<Offer> {
    let offer = |method: Method| {
        let record = challenge.expected(method, suffix, id)?;
        let (host, hint) = match method {
            Method::Http => (
                record.name.clone(),
                "Serve the value as plain text at this address; redirects are followed on the same host only. A file \
                 proves this host name, not the names below it."
                    .to_string(),
            ),
            _ => entry(&record.name, zone, provider),
        };
        Some(Offer { method, record, host, hint })
    };
    Method::ALL.into_iter().filter_map(offer).collect()
}

/// Providers whose form has the name of the zone itself as an empty field; elsewhere it is `@`.
const EMPTY_APEX: [&str; 2] = ["Amazon Route 53", "Google Cloud DNS"];

/// What to enter as the host name of a record, and how.
fn entry(name: &str, zone: &str, provider: Option<&Provider>) -> (String, String) {
    let relative = name.strip_suffix(zone).map_or(name, |rest| rest.trim_end_matches('.'));
    let known = provider.filter(|p| p.kind == ProviderKind::Known).map(|p| p.name.as_str());
    let is_own = provider.is_some_and(|p| p.kind == ProviderKind::SelfHosted);
    let who = known.unwrap_or("your DNS provider");
    if relative.is_empty() {
        let empty = known.is_some_and(|name| EMPTY_APEX.contains(&name));
        let how = if empty { "leave the host name empty" } else { "enter “@” as the host name" };
        return (
            "@".into(),
            format!("At {who}, {how}: the record belongs to {zone} itself. Keep the other values."),
        );
    }
    let hint = if is_own {
        format!("In the zone file of {zone}, write only {relative}, or the full name with a final dot.")
    } else {
        format!("At {who}, enter only “{relative}” as the host name: .{zone} is added automatically.")
    };
    (relative.to_string(), hint)
}

/// A claim that was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimRecord {
    /// Its identifier, which names the file of an HTTP proof.
    pub id: String,
    /// The claim.
    pub claim: Claim,
    /// The last round of questions.
    pub round: Option<Round>,
    /// What to publish, by every method that is offered.
    pub offers: Vec<Offer>,
}

/// All that the ownership page of a name shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimView {
    /// The name, A-labels.
    pub name: String,
    /// The name as people read it.
    pub unicode: String,
    /// The registered domain it belongs to.
    pub domain: DomainName,
    /// The organisation's claim to it, if there is one.
    pub claim: Option<ClaimRecord>,
    /// Methods that are offered.
    pub methods: Vec<Method>,
    /// The verified name above it that covers it.
    pub covered_by: Option<String>,
    /// Who runs the name servers, where that is known.
    pub provider: Option<String>,
    /// Why scheduled checks are suspended and how they start again, if they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspended: Option<String>,
    /// The server's clock when this was read.
    pub now: Timestamp,
}

/// A claim in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimBadge {
    /// The name, A-labels.
    pub name: String,
    /// How it is proven.
    pub method: Method,
    /// Where it stands.
    pub standing: Standing,
    /// When it is checked next; `None` when it is over.
    pub next_check_at: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ownership::{ClaimPolicy, Nonce};

    fn challenge(domain: &str) -> Challenge {
        let at = Timestamp::from_second(1_800_000_000).unwrap();
        Claim::new(domain, Nonce::new([7; 20]), Method::Txt, at, &ClaimPolicy::default()).challenge
    }

    fn provider(name: &str, kind: ProviderKind) -> Provider {
        Provider { name: name.into(), kind }
    }

    #[test]
    fn a_provider_gets_the_host_name_without_the_zone() {
        let ocean = provider("Digital Ocean", ProviderKind::Known);
        let rows = offers(
            &challenge("alder.example"),
            "alder.example",
            Some(&ocean),
            Some("verify.example.net"),
            "c1",
        );
        let row = |method| rows.iter().find(|o| o.method == method).unwrap();
        assert_eq!(row(Method::Txt).host, "_domainscope-challenge");
        assert_eq!(
            row(Method::Txt).hint,
            "At Digital Ocean, enter only “_domainscope-challenge” as the host name: .alder.example is added automatically."
        );
        assert_eq!(row(Method::TxtApex).host, "@");
        assert!(row(Method::Http).host.starts_with("http://alder.example/.well-known/"));
        assert_eq!(rows.len(), 4);
        let below = offers(&challenge("shop.alder.example"), "alder.example", None, None, "c1");
        assert_eq!(below[0].host, "_domainscope-challenge.shop");
        assert_eq!(below.len(), 3, "no CNAME without a suffix");
    }

    #[test]
    fn forms_with_an_empty_apex_and_zone_files_have_words_of_their_own() {
        let hint = |p: &Provider, method| {
            let rows = offers(&challenge("alder.example"), "alder.example", Some(p), None, "c1");
            rows.into_iter().find(|o| o.method == method).unwrap().hint
        };
        let route53 = provider("Amazon Route 53", ProviderKind::Known);
        assert!(hint(&route53, Method::TxtApex).contains("leave the host name empty"));
        let own = provider("Self-hosted", ProviderKind::SelfHosted);
        assert!(hint(&own, Method::Txt).contains("final dot"));
    }
}
