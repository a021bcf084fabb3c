//! Objects of each kind, read and written through the backend.

use crate::failure::Failure;
use crate::kind::Kind;
use crate::kind::Verb;
use crate::kinds::{self, CLUSTER_CLAIM, DOMAIN, DOMAIN_EVENT, FEATURE};
use crate::meta;
use crate::schema::Violation;
use fleet::{CLUSTERSET_CLAIM, ID_CLAIM};
use jiff::Timestamp;
use model::ids::{Caller, EventId, LogPosition};
use model::names::DomainName;
use model::scan::LogEntry;
use serde_json::Value;
use service::resources::ClaimDraft;
use service::{ApiError, ClusterClaimDraft, ErrorKind, FeatureDraft, FeatureReport, SharedBackend};
use std::ptr;

/// Claims of an installation that are read at once; it has a handful.
const CLUSTER_CLAIMS_MAX: u32 = 1_000;

/// The objects of a kind that a caller sees.
#[derive(Clone)]
pub(crate) struct Objects {
    pub(crate) backend: SharedBackend,
    pub(crate) caller: Caller,
    pub(crate) kind: &'static Kind,
    pub(crate) namespace: String,
}

/// The position in an object's `resourceVersion`.
pub(crate) fn position(object: &Value) -> LogPosition {
    let text = object["metadata"]["resourceVersion"].as_str();
    LogPosition(text.and_then(|t| t.parse().ok()).unwrap_or(0))
}

impl Objects {
    fn is(&self, kind: &'static Kind) -> bool {
        ptr::eq(self.kind, kind)
    }

    pub(crate) fn failure(&self, e: ApiError, name: &str) -> Failure {
        match e.kind {
            ErrorKind::NotFound => Failure::not_found(self.kind, name),
            ErrorKind::Conflict => Failure::outdated(self.kind, name),
            _ => Failure::from(e).about(self.kind, name),
        }
    }

    /// One object, if it exists.
    pub(crate) async fn get(&self, name: &str) -> Result<Option<Value>, Failure> {
        let (caller, org, ns) = (&self.caller, self.caller.org, self.namespace.as_str());
        let found = if self.is(&DOMAIN) {
            let Ok(read) = DomainName::read(name) else { return Ok(None) };
            if read.name.as_str() != name {
                return Ok(None);
            }
            self.backend.domain_object(caller, &read.name).await.map(|d| kinds::domain(org, ns, &d))
        } else if self.is(&DOMAIN_EVENT) {
            let Some(id) = kinds::event_id(name) else { return Ok(None) };
            let mut found = self.backend.event_objects(caller, EventId(id.0 - 1), 1).await?;
            let event = found.pop().filter(|(e, _)| e.id == id);
            return Ok(event.map(|(e, rv)| kinds::domain_event(org, ns, &e, rv)));
        } else if self.is(&CLUSTER_CLAIM) {
            let all = self.backend.cluster_claims(caller, "", CLUSTER_CLAIMS_MAX).await?;
            return Ok(all.iter().find(|c| c.name == name).map(kinds::cluster_claim));
        } else if self.is(&FEATURE) {
            let report = self.backend.features(caller).await?;
            let found = report.features.iter().find(|f| f.feature.name == name);
            return Ok(found.map(|f| kinds::feature(org, ns, f)));
        } else {
            self.backend.network_claim(caller, name).await.map(|c| kinds::network_claim(org, ns, &c))
        };
        match found {
            Ok(object) => Ok(Some(object)),
            Err(e) if e.kind == ErrorKind::NotFound => Ok(None),
            Err(e) => Err(self.failure(e, name)),
        }
    }

    /// Objects after a name (for events: after an identifier), in order.
    pub(crate) async fn after(&self, after: &str, limit: u32) -> Result<Vec<Value>, Failure> {
        let (caller, org, ns) = (&self.caller, self.caller.org, self.namespace.as_str());
        Ok(if self.is(&DOMAIN) {
            let found = self.backend.domain_objects(caller, after, limit).await?;
            found.iter().map(|d| kinds::domain(org, ns, d)).collect()
        } else if self.is(&DOMAIN_EVENT) {
            let after = kinds::event_id(after).unwrap_or(EventId(0));
            let found = self.backend.event_objects(caller, after, limit).await?;
            found.iter().map(|(e, rv)| kinds::domain_event(org, ns, e, *rv)).collect()
        } else if self.is(&CLUSTER_CLAIM) {
            let found = self.backend.cluster_claims(caller, after, limit).await?;
            found.iter().map(kinds::cluster_claim).collect()
        } else if self.is(&FEATURE) {
            let report = self.backend.features(caller).await?;
            let next = report.features.iter().filter(|f| f.feature.name.as_str() > after);
            next.take(limit as usize).map(|f| kinds::feature(org, ns, f)).collect()
        } else {
            let found = self.backend.network_claims(caller, after, limit).await?;
            found.iter().map(|c| kinds::network_claim(org, ns, c)).collect()
        })
    }

    /// Creates an object that has passed validation.
    pub(crate) async fn create(&self, object: &Value, dry_run: bool) -> Result<Value, Failure> {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        if (self.kind.action)(Verb::Create).is_none() {
            return Err(Failure::not_found(self.kind, name));
        }
        if self.get(name).await?.is_some() {
            return Err(Failure::exists(self.kind, name));
        }
        if self.is(&CLUSTER_CLAIM) {
            return match self.save_cluster_claim(object, None, dry_run).await {
                Err(e) if e.reason == "Conflict" => Err(Failure::exists(self.kind, name)),
                other => other,
            };
        }
        if self.is(&FEATURE) {
            let draft = FeatureDraft { expected: None, dry_run, ..Self::feature_draft(object) };
            let made =
                self.backend.register_feature(&self.caller, &draft).await.map_err(|e| match e.kind {
                    ErrorKind::Conflict => Failure::exists(self.kind, name),
                    _ => self.failure(e, name),
                })?;
            return Ok(kinds::feature(self.caller.org, &self.namespace, &made));
        }
        if !self.is(&DOMAIN) {
            return match self.save_network_claim(object, None, dry_run).await {
                Err(e) if e.reason == "Conflict" => Err(Failure::exists(self.kind, name)),
                other => other,
            };
        }
        self.create_domain(object, name, dry_run).await
    }

    /// Writes an object over the one at a position.
    pub(crate) async fn update(
        &self,
        object: &Value,
        expected: LogPosition,
        dry_run: bool,
    ) -> Result<Value, Failure> {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        if self.is(&CLUSTER_CLAIM) {
            return self.save_cluster_claim(object, Some(expected), dry_run).await;
        }
        if self.is(&FEATURE) {
            let draft = FeatureDraft { expected: Some(expected), dry_run, ..Self::feature_draft(object) };
            let set = self.backend.set_feature(&self.caller, &draft).await;
            let set = set.map_err(|e| self.failure(e, name))?;
            return Ok(kinds::feature(self.caller.org, &self.namespace, &set));
        }
        if !self.is(&DOMAIN) {
            return self.save_network_claim(object, Some(expected), dry_run).await;
        }
        if dry_run {
            service::policy::authorize(&self.caller, service::policy::Action::SetDomainMetadata)?;
            return Ok(object.clone());
        }
        self.set_metadata(name, expected, &meta::stored(object)).await
    }

    fn feature_draft(object: &Value) -> FeatureDraft {
        FeatureDraft {
            name: object["metadata"]["name"].as_str().unwrap_or_default().to_string(),
            desired: kinds::feature_desired(object),
            metadata: Some(meta::stored(object)),
            declared: kinds::feature_declared(object),
            ..FeatureDraft::default()
        }
    }

    /// Writes what a status that has passed the schema reports; with `is_whole` it replaces all that was reported.
    pub(crate) async fn report(
        &self,
        name: &str,
        status: &Value,
        is_whole: bool,
        expected: Option<LogPosition>,
        dry_run: bool,
    ) -> Result<Value, Failure> {
        let report = kinds::feature_report(name, status, is_whole, expected);
        let report = report.map_err(|violations| Failure::invalid(self.kind, name, &violations))?;
        let report = FeatureReport { dry_run, ..report };
        let written = self.backend.report_feature(&self.caller, &report).await;
        let written = written.map_err(|e| self.failure(e, name))?;
        Ok(kinds::feature(self.caller.org, &self.namespace, &written))
    }

    pub(crate) async fn set_metadata(
        &self,
        name: &str,
        expected: LogPosition,
        stored: &str,
    ) -> Result<Value, Failure> {
        let domain = DomainName::trusted(name);
        let written = self.backend.set_domain_metadata(&self.caller, &domain, expected, stored).await;
        written.map_err(|e| self.failure(e, name))?;
        self.get(name).await?.ok_or_else(|| Failure::not_found(self.kind, name))
    }

    async fn save_cluster_claim(
        &self,
        object: &Value,
        expected: Option<LogPosition>,
        dry_run: bool,
    ) -> Result<Value, Failure> {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let draft = ClusterClaimDraft {
            name: name.to_string(),
            expected,
            metadata: meta::stored(object),
            value: kinds::cluster_claim_value(object),
            dry_run,
        };
        let saved = self.backend.save_cluster_claim(&self.caller, &draft).await;
        Ok(kinds::cluster_claim(&saved.map_err(|e| self.failure(e, name))?))
    }

    async fn save_network_claim(
        &self,
        object: &Value,
        expected: Option<LogPosition>,
        dry_run: bool,
    ) -> Result<Value, Failure> {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let draft = ClaimDraft {
            name: name.to_string(),
            expected,
            metadata: meta::stored(object),
            spec: kinds::claim_spec(object),
            dry_run,
        };
        let saved =
            self.backend.save_network_claim(&self.caller, &draft).await.map_err(|e| self.failure(e, name))?;
        Ok(kinds::network_claim(self.caller.org, &self.namespace, &saved))
    }

    /// Refuses what can't be deleted: features of the program. Names of registered ones end in a domain.
    pub(crate) fn check_deletable(&self, name: &str) -> Result<(), Failure> {
        if !self.is(&FEATURE) || name.contains('.') {
            return Ok(());
        }
        let rule = "came with the program: it is turned off, not deleted";
        Err(Failure::invalid(self.kind, name, &[Violation::invalid("metadata.name", name, rule)]))
    }

    /// Refuses in a dry run what the deletion would refuse.
    pub(crate) async fn check_deletion(&self, object: &Value) -> Result<(), Failure> {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let (state, leftovers) = (&object["status"]["state"], object["status"]["leftovers"].as_array());
        let rule = if self.is(&FEATURE) && *state != "Off" {
            format!("is {}: set spec.desired to Off first", state.as_str().unwrap_or_default())
        } else if self.is(&FEATURE) && leftovers.is_some_and(|l| !l.is_empty()) {
            "is off, but leftovers exist".to_string()
        } else if self.is(&CLUSTER_CLAIM) && name == ID_CLAIM {
            "an installation always has an identity".to_string()
        } else if self.is(&CLUSTER_CLAIM) && name == CLUSTERSET_CLAIM {
            let members = self.backend.fleet(&self.caller).await?.agents.len();
            if members == 0 {
                return Ok(());
            }
            format!("stays while the set has {members} points of presence")
        } else {
            return Ok(());
        };
        Err(Failure::invalid(self.kind, name, &[Violation::invalid("metadata.name", name, rule)]))
    }

    /// Deletes an object at a position.
    pub(crate) async fn delete(&self, object: &Value) -> Result<(), Failure> {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let gone = if self.is(&DOMAIN) {
            let removed = self.backend.remove(&self.caller, &[DomainName::trusted(name)]).await;
            removed.map(|r| r.len())
        } else if self.is(&CLUSTER_CLAIM) {
            self.backend.delete_cluster_claim(&self.caller, name, Some(position(object))).await.map(|_| 1)
        } else if self.is(&FEATURE) {
            self.backend.delete_feature(&self.caller, name, Some(position(object))).await.map(|()| 1)
        } else {
            self.backend.delete_network_claim(&self.caller, name, Some(position(object))).await.map(|_| 1)
        };
        match gone {
            Ok(0) => Err(Failure::not_found(self.kind, name)),
            Ok(_) => Ok(()),
            Err(e) => Err(self.failure(e, name)),
        }
    }

    /// The name of the object that an entry of the change log is about.
    pub(crate) fn name_of(&self, entry: &LogEntry) -> String {
        if self.is(&DOMAIN_EVENT) { format!("event-{}", entry.name) } else { entry.name.clone() }
    }

    /// The last state of a deleted object, from its tombstone.
    pub(crate) fn deleted(&self, name: &str, rv: LogPosition, kept: Option<&str>) -> Value {
        let (org, ns) = (self.caller.org, self.namespace.as_str());
        let mut kept: Value = kept.and_then(|k| serde_json::from_str(k).ok()).unwrap_or_default();
        // As text, the way live objects have it.
        let metadata = match &kept["metadata"] {
            Value::String(text) => text.clone(),
            Value::Null => "{}".into(),
            object => object.to_string(),
        };
        let object = if self.is(&DOMAIN) {
            let added = kept["added_at"].as_i64().and_then(|at| Timestamp::from_microsecond(at).ok());
            added.map(|added| kinds::holding(org, ns, name, rv, added, &metadata))
        } else if self.is(&FEATURE) {
            kinds::deleted_feature(org, ns, rv, &kept)
        } else {
            kept["name"] = name.into();
            kept["rv"] = rv.0.into();
            kept["metadata"] = metadata.into();
            if self.is(&CLUSTER_CLAIM) {
                serde_json::from_value(kept).ok().map(|claim| kinds::cluster_claim(&claim))
            } else {
                serde_json::from_value(kept).ok().map(|claim| kinds::network_claim(org, ns, &claim))
            }
        };
        object.unwrap_or_else(|| {
            serde_json::json!({
                "apiVersion": Kind::api_version(), "kind": self.kind.name,
                "metadata": { "name": name, "namespace": ns, "resourceVersion": rv.0.to_string() },
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
