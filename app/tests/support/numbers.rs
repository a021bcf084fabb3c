//! The sample's address space: what pages of domains ask about it has empty answers, claims are decided as a server does.

use super::backend::Sample;
use async_trait::async_trait;
use model::event::Event;
use model::ids::{Caller, EventId, LogPosition};
use model::names::DomainName;
use service::addresses::{AddressReview, PlacedAddress, PointerCursor, Pointers};
use service::numbers::{
    ClaimSpec, ClaimStatus, Holder, Holding, IpNet, Policy, Reference, Space, SpaceView, allocate,
};
use service::resources::{
    Changes, Claim, ClaimDraft, ClaimHead, DomainObject, RefusedClaims, Registry, ResourceBackend,
};
use service::space::{ListedBlock, PrefixSpace, read_block};
use service::{ApiError, ApiResult};
use std::time::Duration;

fn none<T>() -> ApiResult<T> {
    Err(ApiError::not_found("The sample holds no objects."))
}

/// What these claims hold, and what another organisation does.
fn space(claims: &[Claim], foreign: &[IpNet]) -> Space {
    let mut space = Space::default();
    for claim in claims {
        for (prefix, record) in claim.status.allocated() {
            let holder = Holder {
                tenant: 1,
                claim: claim.name.clone(),
                reference: record.reference.clone(),
                description: record.description.clone(),
                since: record.date,
            };
            space.insert(Holding { prefix, holder });
        }
    }
    for prefix in foreign {
        let (claim, reference) = ("secret".to_string(), Reference::default());
        let holder =
            Holder { tenant: 2, claim, reference, description: "secret".into(), since: super::now() };
        space.insert(Holding { prefix: *prefix, holder });
    }
    space
}

/// What a claim gets beside others.
pub fn decided(others: &[Claim], name: &str, spec: &ClaimSpec) -> Claim {
    decided_beside(&space(others, &[]), name, spec)
}

fn decided_beside(space: &Space, name: &str, spec: &ClaimSpec) -> Claim {
    let (policy, before) = (Policy::default(), ClaimStatus::default());
    let status = allocate(space, &policy, (1, name), spec, &before, super::now());
    let (spec, name) = (spec.clone(), name.to_string());
    Claim { name, rv: LogPosition(1), metadata: "{}".into(), spec, status, created_at: super::now() }
}

#[async_trait]
impl ResourceBackend for Sample {
    async fn log_head(&self, _: &Caller) -> ApiResult<LogPosition> {
        Ok(LogPosition(0))
    }
    async fn changes(&self, _: &Caller, after: LogPosition, _: Duration) -> ApiResult<Changes> {
        Ok(Changes { entries: Some(Vec::new()), upto: after })
    }
    async fn domain_objects(&self, _: &Caller, _: &str, _: u32) -> ApiResult<Vec<DomainObject>> {
        Ok(Vec::new())
    }
    async fn domain_object(&self, _: &Caller, _: &DomainName) -> ApiResult<DomainObject> {
        none()
    }
    async fn set_domain_metadata(
        &self,
        _: &Caller,
        _: &DomainName,
        _: LogPosition,
        _: &str,
    ) -> ApiResult<()> {
        none()
    }
    async fn delete_domain(&self, _: &Caller, _: &DomainName, _: LogPosition) -> ApiResult<()> {
        none()
    }
    async fn create_domain(&self, _: &Caller, _: &DomainName, _: &str) -> ApiResult<()> {
        none()
    }
    async fn event_objects(&self, _: &Caller, _: EventId, _: u32) -> ApiResult<Vec<(Event, LogPosition)>> {
        Ok(Vec::new())
    }
    async fn network_claims(&self, _: &Caller, after: &str, limit: u32) -> ApiResult<Vec<Claim>> {
        let later = self.claims.iter().filter(|c| c.name.as_str() > after);
        Ok(later.take(limit as usize).cloned().collect())
    }
    async fn network_claim(&self, _: &Caller, _: &str) -> ApiResult<Claim> {
        none()
    }
    async fn refused_claims(&self, _: &Caller) -> ApiResult<RefusedClaims> {
        let claims = self.claims.iter().filter(|c| !c.status.is_allocated()).cloned();
        Ok(RefusedClaims { claims: claims.collect(), is_partial: self.is_partial })
    }
    async fn claim_heads(&self, _: &Caller, names: &[String]) -> ApiResult<Vec<ClaimHead>> {
        let named = self.claims.iter().filter(|c| names.contains(&c.name));
        let head =
            |c: &Claim| ClaimHead { name: c.name.clone(), rv: c.rv, prefixes: c.status.allocated().count() };
        Ok(named.map(head).collect())
    }
    async fn registry(&self, _: &Caller) -> ApiResult<Registry> {
        let view = SpaceView::new(space(&self.claims, &self.foreign), 1, Policy::default());
        let requests = self.claims.iter().flat_map(|c| &c.spec.address_space);
        let named = requests.filter_map(|r| r.from.as_deref()?.parse().ok());
        let blocks = named.chain(self.blocks.iter().map(|b| b.prefix)).collect();
        Ok(Registry { view, claims: self.claims.len() as u64, blocks })
    }
    async fn listed_blocks(&self, _: &Caller) -> ApiResult<Vec<ListedBlock>> {
        Ok(self.blocks.clone())
    }
    async fn save_block(&self, _: &Caller, prefix: &str, description: &str) -> ApiResult<ListedBlock> {
        let (prefix, description) = read_block(prefix, description)?;
        Ok(ListedBlock { prefix, description, created_at: super::now() })
    }
    async fn remove_block(&self, _: &Caller, _: &IpNet) -> ApiResult<()> {
        Ok(())
    }
    async fn save_network_claim(&self, _: &Caller, draft: &ClaimDraft) -> ApiResult<Claim> {
        if self.claims.iter().any(|c| c.name == draft.name) {
            return Err(ApiError::conflict(format!("A claim named {} exists already.", draft.name)));
        }
        Ok(decided_beside(&space(&self.claims, &self.foreign), &draft.name, &draft.spec))
    }
    async fn delete_network_claim(&self, _: &Caller, _: &str, _: Option<LogPosition>) -> ApiResult<Claim> {
        none()
    }
    async fn addresses(&self, _: &Caller, _: &DomainName) -> ApiResult<Vec<PlacedAddress>> {
        Ok(Vec::new())
    }
    async fn address_review(&self, _: &Caller) -> ApiResult<AddressReview> {
        Ok(self.review.clone())
    }
    async fn prefix_space(&self, _: &Caller, _: &IpNet) -> ApiResult<PrefixSpace> {
        none()
    }
    /// Two at once.
    async fn pointing(
        &self,
        _: &Caller,
        prefix: &IpNet,
        after: Option<&PointerCursor>,
    ) -> ApiResult<Pointers> {
        let later = self.pointers.iter().skip_while(|p| after.is_some_and(|a| p.address <= a.address));
        let mut pointers: Vec<_> = later.take(3).cloned().collect();
        let more = pointers.len() > 2;
        pointers.truncate(2);
        let next = pointers.last().filter(|_| more).map(|p| {
            PointerCursor { address: p.address, domain: p.domain.clone(), name: p.name.clone() }.to_string()
        });
        Ok(Pointers { prefix: *prefix, pointers, next })
    }
}
