//! The sample holds no address space: what pages of domains ask about it has empty answers.

use super::backend::Sample;
use async_trait::async_trait;
use model::event::Event;
use model::ids::{Caller, EventId, LogPosition};
use model::names::DomainName;
use service::addresses::{PlacedAddress, Pointers};
use service::numbers::IpNet;
use service::resources::{Changes, Claim, ClaimDraft, DomainObject, ResourceBackend};
use service::{ApiError, ApiResult};
use std::time::Duration;

fn none<T>() -> ApiResult<T> {
    Err(ApiError::not_found("The sample holds no objects."))
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
    async fn event_objects(&self, _: &Caller, _: EventId, _: u32) -> ApiResult<Vec<Event>> {
        Ok(Vec::new())
    }
    async fn network_claims(&self, _: &Caller, _: &str, _: u32) -> ApiResult<Vec<Claim>> {
        Ok(Vec::new())
    }
    async fn network_claim(&self, _: &Caller, _: &str) -> ApiResult<Claim> {
        none()
    }
    async fn save_network_claim(&self, _: &Caller, _: &ClaimDraft) -> ApiResult<Claim> {
        none()
    }
    async fn delete_network_claim(&self, _: &Caller, _: &str, _: Option<LogPosition>) -> ApiResult<Claim> {
        none()
    }
    async fn addresses(&self, _: &Caller, _: &DomainName) -> ApiResult<Vec<PlacedAddress>> {
        Ok(Vec::new())
    }
    async fn pointing(&self, _: &Caller, prefix: &IpNet) -> ApiResult<Pointers> {
        Ok(Pointers { prefix: *prefix, pointers: Vec::new(), more: false })
    }
}
