//! Ownership claims of the caller's organisation: start, check now, withdraw, show. In: a caller and a name. Out: what to
//! publish and where the claim stands; nothing about claims of other organisations.

use super::{Services, Work, not_held, unavailable};
use model::ids::{Caller, OrgId, Vantage};
use model::inventory::Row;
use model::names::{DomainName, Fqdn};
use model::ownership::decide::MAX_PENDING;
use model::ownership::scope::{claimable, covering};
use model::ownership::view::{ClaimBadge, ClaimRecord, ClaimView, offers};
use model::ownership::{Claim, Method};
use model::time::human_instant;
use monitor::Checked;
use monitor::claims::nonce;
use service::{ApiError, ApiResult};
use store::{ClaimWrite, Job, JobPhase, StoredClaim};

/// Claims of one list.
const LISTED: u32 = 1000;

fn invalid(e: &dyn std::fmt::Display) -> ApiError {
    ApiError::invalid(format!("{e}."))
}

/// A name to claim: any host name, whether registered or below a registered domain.
fn read(text: &str) -> ApiResult<Fqdn> {
    let name = Fqdn::read(text).map_err(|e| ApiError::invalid(e.to_string()))?.name;
    if name.as_str().is_empty() {
        return Err(ApiError::invalid("The root can't be claimed: enter a domain name."));
    }
    Ok(name)
}

fn badge(claim: &StoredClaim) -> ClaimBadge {
    ClaimBadge {
        name: claim.name.clone(),
        method: claim.claim.method,
        standing: claim.claim.standing(),
        next_check_at: claim.claim.next_check_at,
    }
}

impl Services {
    /// The organisation's claims by name.
    pub(super) async fn claim_list(&self, org: OrgId) -> ApiResult<Vec<ClaimBadge>> {
        let claims = self.store().claims(org, LISTED).await.map_err(unavailable)?;
        Ok(claims.iter().map(badge).collect())
    }

    /// Puts the standing of the organisation's claims on its rows.
    pub(super) async fn mark_claims(&self, org: OrgId, rows: &mut [Row]) -> ApiResult<()> {
        let names: Vec<String> = rows.iter().map(|r| r.name.as_str().to_string()).collect();
        if names.is_empty() {
            return Ok(());
        }
        for claim in self.store().claims_among(org, &names).await.map_err(unavailable)? {
            if let Some(row) = rows.iter_mut().find(|r| r.name.as_str() == claim.name) {
                row.claim = Some(claim.claim.standing());
                // A row of an earlier version did not note it.
                row.transitions.verified = row.transitions.verified.or(claim.claim.turned_at());
            }
        }
        Ok(())
    }

    async fn own_claim(&self, org: OrgId, name: &Fqdn) -> ApiResult<Option<StoredClaim>> {
        let names = [name.as_str().to_string()];
        Ok(self.store().claims_among(org, &names).await.map_err(unavailable)?.pop())
    }

    /// The registered domain of a name, which must be in the inventory; a public suffix can't be.
    async fn held_domain(&self, org: OrgId, name: &Fqdn) -> ApiResult<DomainName> {
        let Some(domain) = name.registrable() else { return Ok(DomainName::trusted(name.as_str())) };
        let held = self.store().held(org, std::slice::from_ref(&domain)).await.map_err(unavailable)?;
        if held.is_empty() { Err(not_held(&domain)) } else { Ok(domain) }
    }

    pub(super) async fn claim_view(&self, org: OrgId, name: &str) -> ApiResult<ClaimView> {
        let name = read(name)?;
        let domain = self.held_domain(org, &name).await?;
        let stored = self.own_claim(org, &name).await?;
        self.view(org, &name, domain, stored).await
    }

    async fn view(
        &self,
        org: OrgId,
        name: &Fqdn,
        domain: DomainName,
        stored: Option<StoredClaim>,
    ) -> ApiResult<ClaimView> {
        let observation = self.store().observation(&domain, &Vantage::local()).await.map_err(unavailable)?;
        let provider = observation.and_then(|o| o.observation.delegation.value?.provider);
        let suffix = self.scanner.policy.claim_suffix.as_deref();
        let above: Vec<(String, Method)> = self
            .store()
            .claims(org, LISTED)
            .await
            .map_err(unavailable)?
            .into_iter()
            .filter(|c| c.claim.counts() && c.name != name.as_str())
            .map(|c| (c.name, c.claim.method))
            .collect();
        let methods = Method::ALL
            .into_iter()
            .filter(|m| (suffix.is_some() || *m != Method::Cname) && claimable(name.as_str(), *m).is_ok());
        let job = stored.iter().map(|stored| Job::Claim(stored.id.clone()));
        let suspended = self.suspended_checks(job.collect()).await?.pop();
        let suspended = suspended.map(|(_, why)| format!("{why} “Check now” starts them again."));
        let claim = stored.map(|stored| ClaimRecord {
            offers: offers(&stored.claim.challenge, domain.as_str(), provider.as_ref(), suffix, &stored.id),
            id: stored.id,
            claim: stored.claim,
            round: stored.round,
        });
        Ok(ClaimView {
            name: name.as_str().to_string(),
            unicode: model::names::to_unicode(name.as_str()),
            covered_by: covering(&above, name.as_str()).map(str::to_string),
            methods: methods.collect(),
            provider: provider.filter(|p| p.kind == model::dns::ProviderKind::Known).map(|p| p.name),
            domain,
            claim,
            suspended,
            now: self.now(),
        })
    }

    /// Starts a claim, starts one again that is over, or changes the method of an open one.
    pub(super) async fn claim_start(&self, org: OrgId, name: &str, method: Method) -> ApiResult<ClaimView> {
        let name = read(name)?;
        claimable(name.as_str(), method).map_err(|e| invalid(&e))?;
        let domain = self.held_domain(org, &name).await?;
        let policy = &self.scanner.policy;
        if method == Method::Cname && policy.claim_suffix.is_none() {
            return Err(ApiError::invalid("This installation has no domain for CNAME challenges: use TXT."));
        }
        self.with_a_right_clock("The claim was not started")?;
        let (now, known) = (self.now(), self.own_claim(org, &name).await?);
        let written = match known {
            Some(open) if !open.claim.is_over() => {
                let claim = open
                    .claim
                    .clone()
                    .with_method(method, now)
                    .map_err(|e| ApiError::invalid(format!("The method can't be changed: {e}.")))?;
                if claim == open.claim {
                    return self.view(org, &name, domain, Some(open)).await;
                }
                StoredClaim { claim, round: None, ..open }
            }
            known => {
                if let Some(at) = known
                    .as_ref()
                    .and_then(|c| c.claim.claimable_again_at(&policy.claims))
                    .filter(|at| *at > now)
                {
                    return Err(ApiError::invalid(format!(
                        "The present holder of {name} has just proven control again. You can claim it again from {} on.",
                        human_instant(at)
                    )));
                }
                let pending = self.store().pending_claims(org).await.map_err(unavailable)?;
                if pending >= MAX_PENDING as u64 {
                    return Err(ApiError::invalid(format!(
                        "{pending} claims wait for a proof; at most {MAX_PENDING} may. Publish their records, or withdraw some."
                    )));
                }
                StoredClaim {
                    id: nonce().as_str().to_string(),
                    org,
                    name: name.as_str().to_string(),
                    claim: Claim::new(name.as_str(), nonce(), method, now, &policy.claims),
                    round: None,
                    created_at: now,
                    reviewed_at: now,
                    version: known.map_or(0, |c| c.version),
                }
            }
        };
        let write = ClaimWrite { claim: written.clone(), changes: Vec::new() };
        match self.store().write_claims(&[write], now).await {
            // Started twice at the same moment: the other one stands.
            Ok(()) | Err(store::Error::Conflict) => {}
            Err(e) => return Err(unavailable(e)),
        }
        self.scanner.hub.recorded();
        let stored = self.own_claim(org, &name).await?;
        self.view(org, &name, domain, stored).await
    }

    /// Which of these checks, all of one kind, are suspended; with the reason in a sentence.
    pub(super) async fn suspended_checks(&self, jobs: Vec<Job>) -> ApiResult<Vec<(Job, String)>> {
        let Some(kind) = jobs.first().map(Job::kind) else { return Ok(Vec::new()) };
        let keys = jobs.iter().map(|job| job.key().to_string()).collect();
        let states = self.store().job_states(kind, keys).await.map_err(unavailable)?;
        let parked = states.into_iter().filter(|s| matches!(s.phase, JobPhase::Parked { .. }));
        Ok(parked
            .map(|s| {
                let reason = s.last_error.unwrap_or_else(|| "the reason is not known".into());
                let reason = reason.trim_end_matches('.');
                (s.job, format!("Checks are suspended after {} failed attempts: {reason}.", s.attempts))
            })
            .collect())
    }

    /// Asks the authoritative servers now, whatever the schedule says.
    pub(super) async fn claim_check(&self, caller: &Caller, name: &str) -> ApiResult<ClaimView> {
        let name = read(name)?;
        let domain = self.held_domain(caller.org, &name).await?;
        let Some(stored) = self.own_claim(caller.org, &name).await? else { return Err(not_claimed(&name)) };
        self.with_a_right_clock("The record was not checked, and the claim stays as it is")?;
        let _permit = self.tools.limits.enter(caller, Work::Scan).await?;
        let stored = match self.scanner.check_claim(&stored.id).await.map_err(unavailable)? {
            Checked::Stands(claim) => Some(*claim),
            Checked::Gone => None,
        };
        self.view(caller.org, &name, domain, stored).await
    }

    /// Challenges and claims end by the clock: none begins, is proven or lapses by one that is wrong.
    fn with_a_right_clock(&self, outcome: &str) -> ApiResult<()> {
        if !self.scanner.is_clock_doubtful() {
            return Ok(());
        }
        Err(ApiError::unavailable(format!(
            "{outcome}: the clock of this server may be wrong, and ownership is judged by time. Where the clock is \
             right, a rescan of a domain that is registered shows that, and so does an hour; where it is wrong, the operator \
             sets it (check with timedatectl)."
        )))
    }

    pub(super) async fn claim_withdraw(&self, org: OrgId, name: &str) -> ApiResult<()> {
        let name = read(name)?;
        let gone = self.store().remove_claim(org, name.as_str(), self.now()).await.map_err(unavailable)?;
        self.scanner.hub.recorded();
        if gone { Ok(()) } else { Err(not_claimed(&name)) }
    }
}

fn not_claimed(name: &Fqdn) -> ApiError {
    ApiError::not_found(format!(
        "{} is not claimed in this organisation.",
        model::names::to_unicode(name.as_str())
    ))
}
