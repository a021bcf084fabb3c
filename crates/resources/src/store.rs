//! Objects of a kind as a caller sees them, and how each kind stores its own.

use crate::failure::Failure;
use crate::kind::Kind;
use crate::schema::Violation;
use async_trait::async_trait;
use model::ids::{Caller, LogPosition};
use model::scan::LogEntry;
use serde_json::Value;
use service::{ApiError, ErrorKind, SharedBackend};

/// The objects of a kind that a caller sees.
#[derive(Clone)]
pub(crate) struct Objects {
    pub(crate) backend: SharedBackend,
    pub(crate) caller: Caller,
    pub(crate) kind: &'static Kind,
    pub(crate) namespace: String,
}

/// A change of an object that passed validation.
#[derive(Clone, Copy)]
pub(crate) struct Change<'a> {
    /// The object as it is to be.
    pub(crate) object: &'a Value,
    /// The position that the stored object must have; `None`: it must not exist.
    pub(crate) expected: Option<LogPosition>,
    /// True to store nothing.
    pub(crate) dry_run: bool,
}

/// A status that programs report.
#[derive(Clone, Copy)]
pub(crate) struct Report<'a> {
    /// The status; it has passed the schema.
    pub(crate) status: &'a Value,
    /// True when it replaces all that was reported.
    pub(crate) is_whole: bool,
    /// The position that the stored object must have, if any.
    pub(crate) expected: Option<LogPosition>,
    /// True to store nothing.
    pub(crate) dry_run: bool,
}

/// Reads and writes the objects of a kind through the backend. Kinds that clients only read leave out what writes.
#[async_trait]
pub(crate) trait Storage: Send + Sync {
    /// One object, if it exists.
    async fn get(&self, objects: &Objects, name: &str) -> Result<Option<Value>, Failure>;

    /// Objects after a name, in order, at most `limit`.
    async fn after(&self, objects: &Objects, after: &str, limit: u32) -> Result<Vec<Value>, Failure>;

    /// Creates or changes an object; what is stored then. A creation that finds one of its name is a conflict.
    async fn save(&self, objects: &Objects, change: Change<'_>) -> Result<Value, Failure> {
        Err(objects.read_only(name_of(change.object)))
    }

    /// Writes what programs report of the object of a name.
    async fn report(&self, objects: &Objects, name: &str, report: Report<'_>) -> Result<Value, Failure> {
        let _ = report;
        Err(objects.read_only(name))
    }

    /// Deletes an object that is still at its position.
    async fn delete(&self, objects: &Objects, object: &Value) -> Result<(), Failure> {
        Err(objects.read_only(name_of(object)))
    }

    /// The reason for which no object of this name can ever be deleted, if there is one.
    fn undeletable(&self, name: &str) -> Option<String> {
        let _ = name;
        None
    }

    /// The reason for which this object can't be deleted now, if there is one.
    async fn holds(&self, objects: &Objects, object: &Value) -> Result<Option<String>, Failure> {
        let _ = (objects, object);
        Ok(None)
    }

    /// The name of the object that an entry of the change log is about.
    fn name_of(&self, entry: &LogEntry) -> String {
        entry.name.clone()
    }

    /// The last state of a deleted object from its tombstone, in which `metadata` is text; `None` when that can't be read.
    fn deleted(&self, objects: &Objects, name: &str, rv: LogPosition, kept: Value) -> Option<Value>;
}

/// The position in an object's `resourceVersion`.
pub(crate) fn position(object: &Value) -> LogPosition {
    let text = object["metadata"]["resourceVersion"].as_str();
    LogPosition(text.and_then(|t| t.parse().ok()).unwrap_or(0))
}

/// The name of an object.
pub(crate) fn name_of(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

impl Objects {
    pub(crate) fn failure(&self, e: ApiError, name: &str) -> Failure {
        match e.kind {
            ErrorKind::NotFound => Failure::not_found(self.kind, name),
            ErrorKind::Conflict => Failure::outdated(self.kind, name),
            _ => Failure::from(e).about(self.kind, name),
        }
    }

    /// The result of a look-up; `None` when the object does not exist.
    pub(crate) fn found<T>(&self, looked_up: Result<T, ApiError>, name: &str) -> Result<Option<T>, Failure> {
        match looked_up {
            Ok(found) => Ok(Some(found)),
            Err(e) if e.kind == ErrorKind::NotFound => Ok(None),
            Err(e) => Err(self.failure(e, name)),
        }
    }

    fn read_only(&self, name: &str) -> Failure {
        Failure::method_not_allowed("write").about(self.kind, name)
    }

    /// One object, if it exists.
    pub(crate) async fn get(&self, name: &str) -> Result<Option<Value>, Failure> {
        self.kind.storage.get(self, name).await
    }

    /// Objects after a name (for events: after an identifier), in order.
    pub(crate) async fn after(&self, after: &str, limit: u32) -> Result<Vec<Value>, Failure> {
        self.kind.storage.after(self, after, limit).await
    }

    /// Creates an object that has passed validation.
    pub(crate) async fn create(&self, object: &Value, dry_run: bool) -> Result<Value, Failure> {
        let name = name_of(object);
        if self.get(name).await?.is_some() {
            return Err(Failure::exists(self.kind, name));
        }
        match self.kind.storage.save(self, Change { object, expected: None, dry_run }).await {
            // Another request was faster.
            Err(e) if e.reason == "Conflict" => Err(Failure::exists(self.kind, name)),
            other => other,
        }
    }

    /// Writes an object over the one at a position.
    pub(crate) async fn update(
        &self,
        object: &Value,
        expected: LogPosition,
        dry_run: bool,
    ) -> Result<Value, Failure> {
        self.kind.storage.save(self, Change { object, expected: Some(expected), dry_run }).await
    }

    /// Writes what a status reports.
    pub(crate) async fn report(&self, name: &str, report: Report<'_>) -> Result<Value, Failure> {
        self.kind.storage.report(self, name, report).await
    }

    /// Deletes an object at a position.
    pub(crate) async fn delete(&self, object: &Value) -> Result<(), Failure> {
        self.kind.storage.delete(self, object).await
    }

    /// Refuses what can never be deleted.
    pub(crate) fn check_deletable(&self, name: &str) -> Result<(), Failure> {
        self.refused(name, self.kind.storage.undeletable(name))
    }

    /// Refuses in a dry run what the deletion would refuse.
    pub(crate) async fn check_deletion(&self, object: &Value) -> Result<(), Failure> {
        self.refused(name_of(object), self.kind.storage.holds(self, object).await?)
    }

    fn refused(&self, name: &str, rule: Option<String>) -> Result<(), Failure> {
        let Some(rule) = rule else { return Ok(()) };
        Err(Failure::invalid(self.kind, name, &[Violation::invalid("metadata.name", name, rule)]))
    }

    /// The name of the object that an entry of the change log is about.
    pub(crate) fn name_of(&self, entry: &LogEntry) -> String {
        self.kind.storage.name_of(entry)
    }

    /// The last state of a deleted object, from its tombstone.
    pub(crate) fn deleted(&self, name: &str, rv: LogPosition, kept: Option<&str>) -> Value {
        let mut kept: Value = kept.and_then(|k| serde_json::from_str(k).ok()).unwrap_or_default();
        // As text, the way live objects have it.
        let metadata = match &kept["metadata"] {
            Value::String(text) => text.clone(),
            Value::Null => "{}".into(),
            object => object.to_string(),
        };
        kept["metadata"] = metadata.into();
        self.kind.storage.deleted(self, name, rv, kept).unwrap_or_else(|| {
            serde_json::json!({
                "apiVersion": Kind::api_version(), "kind": self.kind.name,
                "metadata": { "name": name, "namespace": self.namespace, "resourceVersion": rv.0.to_string() },
            })
        })
    }
}

/// The live object of a kind as YAML, for people to copy.
///
/// # Errors
/// As the API would answer.
pub async fn yaml_of(
    backend: SharedBackend,
    caller: &Caller,
    kind: &'static Kind,
    name: &str,
) -> Result<String, Failure> {
    let namespace = crate::request::namespace_of(caller.org);
    let objects = Objects { backend, caller: caller.clone(), kind, namespace };
    let mut object = objects.get(name).await?.ok_or_else(|| Failure::not_found(kind, name))?;
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    to_yaml(&object).map_err(|e| Failure::new(500, "InternalError", e))
}

/// An object as YAML.
///
/// # Errors
/// When it can't be written as YAML.
pub fn to_yaml(object: &Value) -> Result<String, String> {
    serde_saphyr::to_string(object).map_err(|e| e.to_string())
}

/// The `metadata.resourceVersion` of a YAML text.
pub fn version_of(yaml: &str) -> Option<String> {
    let object: Value = serde_saphyr::from_str(yaml).ok()?;
    object["metadata"]["resourceVersion"].as_str().map(str::to_owned)
}

/// A YAML text with another `metadata.resourceVersion`; `None` when it is not the text of an object.
pub fn with_version(yaml: &str, version: &str) -> Option<String> {
    let mut object: Value = serde_saphyr::from_str(yaml).ok()?;
    object.get_mut("metadata")?.as_object_mut()?.insert("resourceVersion".into(), version.into());
    to_yaml(&object).ok()
}
