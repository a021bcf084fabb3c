//! Creating a Domain: a holding with its metadata, and what a dry run says of it.

use crate::failure::Failure;
use crate::kinds;
use crate::meta;
use crate::store::Objects;
use jiff::Timestamp;
use model::ids::LogPosition;
use model::inventory::{AddResult, AddedLine, Row};
use model::item::{Item, Ownership};
use model::names::DomainName;
use serde_json::Value;
use service::ErrorKind;
use service::policy::{Action, authorize};
use service::resources::DomainObject;

impl Objects {
    /// Adds a domain that has passed validation.
    pub(crate) async fn create_domain(
        &self,
        object: &Value,
        name: &str,
        dry_run: bool,
    ) -> Result<Value, Failure> {
        authorize(&self.caller, Action::CreateDomain)?;
        if dry_run {
            let preview = self.backend.preview_add(&self.caller, name, Ownership::Owned, &[]).await;
            self.check_added(name, &preview.map_err(|e| self.failure(e, name))?.lines)?;
            return Ok(self.previewed_domain(object, name));
        }
        let domain = DomainName::trusted(name);
        match self.backend.create_domain(&self.caller, &domain, &meta::stored(object)).await {
            Ok(()) => self.get(name).await?.ok_or_else(|| Failure::not_found(self.kind, name)),
            Err(e) if e.kind == ErrorKind::Conflict => Err(Failure::exists(self.kind, name)),
            Err(e) => Err(self.failure(e, name)),
        }
    }

    /// The error of a name that was not added.
    fn check_added(&self, name: &str, lines: &[AddedLine]) -> Result<(), Failure> {
        match lines.first().map(|l| &l.result) {
            Some(AddResult::Added { .. }) => Ok(()),
            Some(AddResult::Refused { reason }) => {
                let message =
                    format!("{}.{} {name:?} is forbidden: {reason}", self.kind.plural, crate::GROUP);
                Err(Failure::new(403, "Forbidden", message).about(self.kind, name))
            }
            Some(AddResult::Duplicate { .. }) | None => Err(Failure::exists(self.kind, name)),
        }
    }

    /// The object as it would be right after it is added.
    fn previewed_domain(&self, object: &Value, name: &str) -> Value {
        let domain = DomainName::trusted(name);
        let unicode = domain.unicode();
        let item = Item::new(self.caller.org, domain, Ownership::Owned, Timestamp::now());
        let row = Row::of(&item, unicode, None);
        let metadata = Some(meta::stored(object));
        let preview = DomainObject { item, row, rv: LogPosition(0), observation: None, metadata };
        kinds::domain(self.caller.org, &self.namespace, &preview)
    }
}
