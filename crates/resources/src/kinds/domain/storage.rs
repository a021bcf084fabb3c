//! Storage of domains: holdings of an organisation with their metadata. All else of them is observed.

use super::{holding, object};
use crate::failure::Failure;
use crate::meta;
use crate::store::{Change, Objects, Storage, name_of, position};
use async_trait::async_trait;
use jiff::Timestamp;
use model::ids::LogPosition;
use model::inventory::{AddResult, AddedLine, Row};
use model::item::{Item, Ownership};
use model::names::DomainName;
use serde_json::Value;
use service::policy::{Action, authorize};
use service::resources::DomainObject;

pub(super) struct Holdings;

#[async_trait]
impl Storage for Holdings {
    async fn get(&self, objects: &Objects, name: &str) -> Result<Option<Value>, Failure> {
        let Ok(read) = DomainName::read(name) else { return Ok(None) };
        if read.name.as_str() != name {
            return Ok(None);
        }
        let found = objects.backend.domain_object(&objects.caller, &read.name).await;
        Ok(objects.found(found, name)?.map(|d| object(objects.caller.org, &objects.namespace, &d)))
    }

    async fn after(&self, objects: &Objects, after: &str, limit: u32) -> Result<Vec<Value>, Failure> {
        let found = objects.backend.domain_objects(&objects.caller, after, limit).await?;
        Ok(found.iter().map(|d| object(objects.caller.org, &objects.namespace, d)).collect())
    }

    async fn save(&self, objects: &Objects, change: Change<'_>) -> Result<Value, Failure> {
        let name = name_of(change.object);
        let (domain, stored) = (DomainName::trusted(name), meta::stored(change.object));
        let written = match (change.expected, change.dry_run) {
            (None, true) => return preview(objects, change.object, name).await,
            (Some(_), true) => {
                authorize(&objects.caller, Action::SetDomainMetadata)?;
                return Ok(change.object.clone());
            }
            (None, false) => objects.backend.create_domain(&objects.caller, &domain, &stored).await,
            (Some(at), false) => {
                objects.backend.set_domain_metadata(&objects.caller, &domain, at, &stored).await
            }
        };
        written.map_err(|e| objects.failure(e, name))?;
        objects.get(name).await?.ok_or_else(|| Failure::not_found(objects.kind, name))
    }

    async fn delete(&self, objects: &Objects, object: &Value) -> Result<(), Failure> {
        let name = name_of(object);
        let (domain, at) = (DomainName::trusted(name), position(object));
        let gone = objects.backend.delete_domain(&objects.caller, &domain, at).await;
        gone.map_err(|e| objects.failure(e, name))
    }

    fn deleted(&self, objects: &Objects, name: &str, rv: LogPosition, kept: Value) -> Option<Value> {
        let added = kept["added_at"].as_i64().and_then(|at| Timestamp::from_microsecond(at).ok())?;
        let metadata = kept["metadata"].as_str().unwrap_or("{}");
        Some(holding(objects.caller.org, &objects.namespace, name, rv, added, metadata))
    }
}

/// The object as it would be right after it is added.
async fn preview(objects: &Objects, new: &Value, name: &str) -> Result<Value, Failure> {
    authorize(&objects.caller, Action::CreateDomain)?;
    let preview = objects.backend.preview_add(&objects.caller, name, Ownership::Owned, &[]).await;
    check_added(objects, name, &preview.map_err(|e| objects.failure(e, name))?.lines)?;
    let domain = DomainName::trusted(name);
    let unicode = domain.unicode();
    let item = Item::new(objects.caller.org, domain, Ownership::Owned, Timestamp::now());
    let row = Row::of(&item, unicode, None);
    let metadata = Some(meta::stored(new));
    let preview = DomainObject { item, row, rv: LogPosition(0), observation: None, metadata };
    Ok(object(objects.caller.org, &objects.namespace, &preview))
}

/// The error of a name that would not be added.
fn check_added(objects: &Objects, name: &str, lines: &[AddedLine]) -> Result<(), Failure> {
    let kind = objects.kind;
    match lines.first().map(|l| &l.result) {
        Some(AddResult::Added { .. }) => Ok(()),
        Some(AddResult::Refused { reason }) => {
            let message = format!("{}.{} {name:?} is forbidden: {reason}", kind.plural, crate::GROUP);
            Err(Failure::new(403, "Forbidden", message).about(kind, name))
        }
        Some(AddResult::Duplicate { .. }) | None => Err(Failure::exists(kind, name)),
    }
}
