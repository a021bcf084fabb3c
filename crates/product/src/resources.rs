//! Claims of address space, and holdings and events as objects of the resource API.

use super::{Services, read_name, unavailable};
use async_trait::async_trait;
use model::event::Event;
use model::ids::{Caller, EventId, LogPosition, OrgId};
use model::names::DomainName;
use model::scan::{Live, LogEntry, Op};
use numbers::IpNet;
use service::addresses::{AddressReview, PlacedAddress, PointerCursor, Pointers};
use service::policy::{Action, authorize};
use service::resources::{
    Changes, Claim, ClaimDraft, ClaimHead, Cover, DomainObject, RefusedClaims, Registry, ResourceBackend,
};
use service::space::{BLOCKS_MAX, ListedBlock, PrefixSpace, read_block};
use service::{ApiError, ApiResult, ErrorKind};
use std::time::Duration;
use store::{LogRead, NetworkClaimWrite, StoredCover, StoredDomain, StoredNetworkClaim};
use tokio::sync::broadcast::error::RecvError;

/// Log entries that one call returns.
const LOG_READ: u32 = 1_000;
/// Objects of one call.
const OBJECTS_MAX: u32 = 1_000;
/// Refused claims of one call.
const REFUSED_MAX: u32 = 5_000;

fn claim(c: StoredNetworkClaim) -> Claim {
    let StoredNetworkClaim { name, rv, metadata, spec, status, created_at, .. } = c;
    Claim { name, rv, metadata, spec, status, created_at }
}

pub(super) fn cover(c: StoredCover) -> Cover {
    let StoredCover { prefix, claim, reference, since, released_at, released_by } = c;
    Cover { prefix, claim, reference, since, released_at, released_by }
}

fn domain(d: StoredDomain) -> DomainObject {
    let StoredDomain { item, row, rv, observation, metadata } = d;
    DomainObject { item, row, rv, observation, metadata }
}

fn changed(name: &str) -> impl Fn(store::Error) -> ApiError {
    move |e| match e {
        store::Error::Conflict => {
            ApiError::conflict(format!("{name} was changed meanwhile, or exists already. Read it again."))
        }
        store::Error::NotFound => ApiError::not_found(format!("{name} does not exist in this organisation.")),
        e => unavailable(e),
    }
}

#[async_trait]
impl ResourceBackend for Services {
    async fn log_head(&self, caller: &Caller) -> ApiResult<LogPosition> {
        authorize(caller, Action::LogHead)?;
        self.store().head().await.map_err(unavailable)
    }

    async fn changes(&self, caller: &Caller, after: LogPosition, wait: Duration) -> ApiResult<Changes> {
        authorize(caller, Action::Changes)?;
        let until = tokio::time::Instant::now() + wait;
        // Subscribed before the log is read, so that nothing falls between.
        let mut live = self.scanner.hub.subscribe();
        loop {
            let head = self.store().head().await.map_err(unavailable)?;
            let read =
                self.store().log_since(Some(caller.org), after, LOG_READ).await.map_err(unavailable)?;
            let LogRead::Entries(entries) = read else { return Ok(Changes { entries: None, upto: head }) };
            if !entries.is_empty() || tokio::time::Instant::now() >= until {
                let last = entries.last().map_or(after, |e| e.rv);
                let complete = entries.len() < LOG_READ as usize;
                let upto = if complete { last.max(head) } else { last };
                return Ok(Changes { entries: Some(self.with_tombstones(entries).await?), upto });
            }
            loop {
                match tokio::time::timeout_at(until, live.recv()).await {
                    Ok(Ok(Live::Changed(e))) if e.org == caller.org && e.rv > after => break,
                    Ok(Ok(Live::Reset { .. }) | Err(RecvError::Lagged(_))) | Err(_) => break,
                    Ok(Ok(_)) => {}
                    // The hub ends with the process.
                    Ok(Err(RecvError::Closed)) => {
                        return Err(ApiError::unavailable(
                            "The server is stopping. Connect again in a moment.",
                        ));
                    }
                }
            }
        }
    }

    async fn domain_objects(&self, caller: &Caller, after: &str, limit: u32) -> ApiResult<Vec<DomainObject>> {
        authorize(caller, Action::DomainObjects)?;
        let read = self.store().domain_objects(caller.org, after, limit.min(OBJECTS_MAX)).await;
        self.with_claims(caller.org, read.map_err(unavailable)?).await
    }

    async fn domain_object(&self, caller: &Caller, name: &DomainName) -> ApiResult<DomainObject> {
        authorize(caller, Action::DomainObject)?;
        let name = read_name(name.as_str())?;
        let read = self.store().domain_object(caller.org, &name).await.map_err(unavailable)?;
        let mut found = self.with_claims(caller.org, read.into_iter().collect()).await?;
        found.pop().ok_or_else(|| super::not_held(&name))
    }

    async fn create_domain(&self, caller: &Caller, name: &DomainName, metadata: &str) -> ApiResult<()> {
        authorize(caller, Action::CreateDomain)?;
        self.add_object(caller, &read_name(name.as_str())?, metadata).await
    }

    async fn set_domain_metadata(
        &self,
        caller: &Caller,
        name: &DomainName,
        expected: LogPosition,
        metadata: &str,
    ) -> ApiResult<()> {
        authorize(caller, Action::SetDomainMetadata)?;
        let name = read_name(name.as_str())?;
        let by = caller.actor();
        let write = self.store().set_domain_metadata(&by, caller.org, &name, expected, metadata, self.now());
        write.await.map_err(changed(name.as_str()))?;
        self.scanner.hub.recorded();
        Ok(())
    }

    async fn delete_domain(
        &self,
        caller: &Caller,
        name: &DomainName,
        expected: LogPosition,
    ) -> ApiResult<()> {
        authorize(caller, Action::DeleteDomain)?;
        let name = read_name(name.as_str())?;
        let by = caller.actor();
        let gone = self.store().delete_domain(&by, caller.org, &name, expected, self.now()).await;
        gone.map_err(changed(name.as_str()))?;
        self.scanner.hub.recorded();
        Ok(())
    }

    async fn event_objects(
        &self,
        caller: &Caller,
        after: EventId,
        limit: u32,
    ) -> ApiResult<Vec<(Event, LogPosition)>> {
        authorize(caller, Action::EventObjects)?;
        self.store().event_objects(caller.org, after, limit.min(OBJECTS_MAX)).await.map_err(unavailable)
    }

    async fn network_claims(&self, caller: &Caller, after: &str, limit: u32) -> ApiResult<Vec<Claim>> {
        authorize(caller, Action::NetworkClaims)?;
        let read = self.store().network_claims(caller.org, after, limit.min(OBJECTS_MAX)).await;
        Ok(read.map_err(unavailable)?.into_iter().map(claim).collect())
    }

    async fn network_claim(&self, caller: &Caller, name: &str) -> ApiResult<Claim> {
        authorize(caller, Action::NetworkClaim)?;
        let read = self.store().network_claim(caller.org, name).await.map_err(unavailable)?;
        read.map(claim).ok_or_else(|| changed(name)(store::Error::NotFound))
    }

    async fn refused_claims(&self, caller: &Caller) -> ApiResult<RefusedClaims> {
        authorize(caller, Action::RefusedClaims)?;
        let (claims, is_all) =
            self.store().refused_claims(caller.org, REFUSED_MAX).await.map_err(unavailable)?;
        Ok(RefusedClaims { claims: claims.into_iter().map(claim).collect(), is_partial: !is_all })
    }

    async fn claim_heads(&self, caller: &Caller, names: &[String]) -> ApiResult<Vec<ClaimHead>> {
        authorize(caller, Action::ClaimHeads)?;
        let names = names.get(..OBJECTS_MAX as usize).unwrap_or(names);
        let heads = self.store().claim_heads(caller.org, names).await.map_err(unavailable)?;
        let head = |h: store::ClaimHead| ClaimHead { name: h.name, rv: h.rv, prefixes: h.prefixes };
        Ok(heads.into_iter().map(head).collect())
    }

    async fn registry(&self, caller: &Caller) -> ApiResult<Registry> {
        authorize(caller, Action::Registry)?;
        let max = crate::places::BLOCKS_MAX;
        let read = self.store().registry(caller.org, &self.overlap, max).await.map_err(unavailable)?;
        Ok(Registry { view: read.view, claims: read.claims, blocks: read.blocks })
    }

    async fn listed_blocks(&self, caller: &Caller) -> ApiResult<Vec<ListedBlock>> {
        authorize(caller, Action::ListedBlocks)?;
        let blocks = self.store().listed_blocks(caller.org).await.map_err(unavailable)?;
        let listed = |b: store::ListedBlock| ListedBlock {
            prefix: b.prefix,
            description: b.description,
            created_at: b.created_at,
        };
        Ok(blocks.into_iter().map(listed).collect())
    }

    async fn save_block(&self, caller: &Caller, prefix: &str, description: &str) -> ApiResult<ListedBlock> {
        authorize(caller, Action::SaveBlock)?;
        let _use = self.using("network-claim")?;
        let (prefix, description) = read_block(prefix, description)?;
        let block = store::ListedBlock { prefix, description, created_at: self.now() };
        let new = Some(block.description.clone()).filter(|d| !d.is_empty());
        let log = self.identity.entry(caller, "network.block", &prefix.to_string(), new);
        self.store().save_block(&block, BLOCKS_MAX as u64, &log).await.map_err(|e| match e {
            store::Error::Full { limit } => ApiError::invalid(format!(
                "An organisation lists at most {limit} blocks. Remove one that is no longer needed."
            )),
            e => unavailable(e),
        })?;
        Ok(ListedBlock { prefix, description: block.description, created_at: block.created_at })
    }

    async fn remove_block(&self, caller: &Caller, prefix: &IpNet) -> ApiResult<()> {
        authorize(caller, Action::RemoveBlock)?;
        let log = self.identity.entry(caller, "network.unblock", &prefix.to_string(), None);
        self.store().remove_block(prefix, &log).await.map_err(|e| match e {
            store::Error::NotFound => ApiError::not_found(format!(
                "{prefix} is not a block that this organisation lists. Blocks that claims name go with the claims."
            )),
            e => unavailable(e),
        })
    }

    async fn save_network_claim(&self, caller: &Caller, draft: &ClaimDraft) -> ApiResult<Claim> {
        authorize(caller, Action::SaveNetworkClaim)?;
        let _use = match self.using("network-claim") {
            Ok(held) => Some(held),
            // Off or turning off: finalizers of claims that exist can still be taken out, so that the claims can go.
            Err(e) if e.kind == ErrorKind::Forbidden && self.keeps_spec(caller.org, draft).await? => None,
            Err(e) => return Err(e),
        };
        checked_claim_name(&draft.name)?;
        let mut errors = numbers::claim::validate(&draft.spec);
        if draft.expected.is_none() {
            errors.extend(numbers::well_known::validate(&draft.name, &draft.spec));
        }
        if let Some(e) = errors.first() {
            return Err(ApiError::invalid(e.to_string()));
        }
        let write = NetworkClaimWrite {
            org: caller.org,
            name: draft.name.clone(),
            expected: draft.expected,
            metadata: draft.metadata.clone(),
            spec: draft.spec.clone(),
            policy: self.overlap.clone(),
            limit: self.quotas.network_claims,
            dry_run: draft.dry_run,
        };
        let written = self.store().write_network_claim(&caller.actor(), &write, self.now()).await;
        let written = written.map_err(|e| match e {
            store::Error::Full { limit } => ApiError::forbidden(format!(
                "The quota of {limit} claims of address space of this organisation is used up. Release claims, or ask the \
                 operator of this server for more (--max-network-claims)."
            )),
            store::Error::Conflict if draft.expected.is_none() => ApiError::conflict(format!(
                "A claim named {} exists already. Choose another name, or change that claim.",
                draft.name
            )),
            e => changed(&draft.name)(e),
        })?;
        self.scanner.hub.recorded();
        Ok(claim(written))
    }

    async fn delete_network_claim(
        &self,
        caller: &Caller,
        name: &str,
        expected: Option<LogPosition>,
    ) -> ApiResult<Claim> {
        authorize(caller, Action::DeleteNetworkClaim)?;
        let (by, now) = (caller.actor(), self.now());
        let gone =
            self.store().delete_network_claim(&by, caller.org, name, expected, &self.overlap, now).await;
        let gone = gone.map_err(|e| match e {
            store::Error::Conflict => ApiError::conflict(format!(
                "{name} was changed meanwhile, and nothing was released. See what it holds now, then release it again."
            )),
            e => changed(name)(e),
        })?;
        self.scanner.hub.recorded();
        Ok(claim(gone))
    }

    async fn addresses(&self, caller: &Caller, name: &DomainName) -> ApiResult<Vec<PlacedAddress>> {
        authorize(caller, Action::Addresses)?;
        let object = self.domain_object(caller, name).await?;
        let Some(observation) = object.observation else { return Ok(Vec::new()) };
        crate::place_addresses(&**self.store(), caller.org, &observation).await.map_err(unavailable)
    }

    async fn address_review(&self, caller: &Caller) -> ApiResult<AddressReview> {
        authorize(caller, Action::AddressReview)?;
        crate::addresses::review(&**self.store(), caller.org).await.map_err(unavailable)
    }

    async fn prefix_space(&self, caller: &Caller, prefix: &IpNet) -> ApiResult<PrefixSpace> {
        authorize(caller, Action::PrefixSpace)?;
        let found = crate::prefix_space(&**self.store(), caller.org, *prefix, &self.overlap).await;
        found.map_err(unavailable)
    }

    async fn pointing(
        &self,
        caller: &Caller,
        prefix: &IpNet,
        after: Option<&PointerCursor>,
    ) -> ApiResult<Pointers> {
        authorize(caller, Action::Pointing)?;
        self.pointers(caller, *prefix, after).await
    }
}

impl Services {
    /// True when a draft changes no more than the metadata of the claim at the position that it names. The write is refused
    /// if the claim is at another position by then.
    async fn keeps_spec(&self, org: OrgId, draft: &ClaimDraft) -> ApiResult<bool> {
        let Some(expected) = draft.expected else { return Ok(false) };
        let stored = self.store().network_claim(org, &draft.name).await.map_err(unavailable)?;
        Ok(stored.is_some_and(|c| c.rv == expected && c.spec == draft.spec))
    }

    /// Holdings as objects, each with the standing of its ownership claim.
    async fn with_claims(&self, org: OrgId, read: Vec<StoredDomain>) -> ApiResult<Vec<DomainObject>> {
        let mut rows: Vec<_> = read.iter().map(|d| d.row.clone()).collect();
        self.mark_claims(org, &mut rows).await?;
        let marked = read.into_iter().zip(rows).map(|(d, row)| DomainObject { row, ..domain(d) });
        Ok(marked.collect())
    }

    async fn with_tombstones(&self, entries: Vec<LogEntry>) -> ApiResult<Vec<(LogEntry, Option<String>)>> {
        let deleted: Vec<_> = entries.iter().filter(|e| e.op == Op::Delete).map(|e| e.rv).collect();
        let mut kept = self.store().tombstones(&deleted).await.map_err(unavailable)?;
        let entries = entries.into_iter().map(|e| {
            let at = kept.iter().position(|(rv, _)| *rv == e.rv);
            (e, at.map(|i| kept.swap_remove(i).1))
        });
        Ok(entries.collect())
    }
}

/// Checks the name of a claim: an RFC 1123 subdomain, as names of Kubernetes objects are.
fn checked_claim_name(name: &str) -> ApiResult<()> {
    let label = |l: &str| {
        !l.is_empty()
            && l.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            && !l.starts_with('-')
            && !l.ends_with('-')
    };
    if name.len() <= 253 && name.split('.').all(label) {
        return Ok(());
    }
    let shown: String = name.chars().take(80).collect();
    Err(ApiError::invalid(format!(
        "“{shown}” is not a valid name of a claim: use lower-case letters, digits, “-” and “.”, at most 253 characters, \
         beginning and ending with a letter or digit."
    )))
}
