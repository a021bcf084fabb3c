//! Garbage collection of dependents, by the rules of Kubernetes: an object whose owners (`metadata.ownerReferences`) are
//! all gone is deleted; references to owners that are gone are taken out of objects that have others; an owner that is
//! deleted with `Foreground` stays until the dependents that block it are gone, one with `Orphan` until no object refers to it.
//!
//! In: the objects of an organisation that may need it, as [`Linked`]. Out: what changed. A pass reads each object again
//! before it changes it, so that passes of several replicas are harmless; it is repeated until one changes nothing.
//! <https://kubernetes.io/docs/concepts/architecture/garbage-collection/>

use crate::api::Api;
use crate::delete::{self, DeleteOptions};
use crate::failure::Failure;
use crate::kind::Kind;
use crate::kinds;
use crate::request::namespace_of;
use crate::store::{Objects, position};
use crate::write::{self, TRIES};
use jiff::Timestamp;
use model::ids::Role;
use model::ids::{Caller, OrgId};
use serde_json::Value;
use std::collections::HashMap;

/// The finalizer of an owner that goes after its dependents.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer of an owner that goes once no dependent refers to it.
pub(crate) const ORPHAN: &str = "orphan";
/// Objects that one pass changes; the next goes on.
const CHANGES_MAX: usize = 1_000;

/// An entry of `metadata.ownerReferences`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Owner {
    /// Its kind; `None`: none of this API, so that it counts as present.
    kind: Option<&'static str>,
    name: String,
    uid: String,
    blocks: bool,
}

/// An object that names owners or waits for its dependents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Linked {
    kind: &'static str,
    name: String,
    owners: Vec<Owner>,
    is_deleting: bool,
    waits: bool,
    orphans: bool,
}

/// The kind that an owner reference names, if it is one of this API.
pub(crate) fn kind_of(reference: &Value) -> Option<&'static Kind> {
    let named = |k: &&'static Kind| reference["kind"] == k.name;
    kinds::ALL.into_iter().find(named).filter(|_| reference["apiVersion"] == Kind::api_version())
}

fn owners(metadata: &Value) -> Vec<Owner> {
    let text = |v: &Value| v.as_str().unwrap_or_default().to_string();
    let each = metadata["ownerReferences"].as_array().into_iter().flatten();
    each.map(|r| Owner {
        kind: kind_of(r).map(|k| k.name),
        name: text(&r["name"]),
        uid: text(&r["uid"]),
        blocks: r["blockOwnerDeletion"] == true,
    })
    .collect()
}

fn has_finalizer(metadata: &Value, finalizer: &str) -> bool {
    metadata["finalizers"].as_array().is_some_and(|f| f.iter().any(|f| f == finalizer))
}

/// True for the metadata of an owner that waits for its dependents.
fn waits(metadata: &Value) -> bool {
    metadata.get("deletionTimestamp").is_some() && has_finalizer(metadata, FOREGROUND)
}

impl Linked {
    /// Kinds of the change log whose objects may be owners and dependents.
    pub fn log_kinds() -> impl Iterator<Item = &'static str> {
        kinds::ALL.into_iter().map(|k| k.log_kind)
    }

    /// An object from its stored metadata (JSON text); `None` when it needs no collection.
    pub fn read(log_kind: &str, name: String, metadata: &str) -> Option<Linked> {
        let kind = kinds::ALL.into_iter().find(|k| k.log_kind == log_kind)?.name;
        let metadata: Value = serde_json::from_str(metadata).ok()?;
        let linked = Linked {
            kind,
            name,
            owners: owners(&metadata),
            is_deleting: metadata.get("deletionTimestamp").is_some(),
            waits: has_finalizer(&metadata, FOREGROUND),
            orphans: has_finalizer(&metadata, ORPHAN),
        };
        (!linked.owners.is_empty() || linked.waits || linked.orphans).then_some(linked)
    }
}

/// The result of a pass.
#[derive(Debug, Default)]
pub struct Collected {
    /// Objects that were deleted, marked for deletion or changed.
    pub changed: usize,
    /// Objects that could not be, with the reason; a later pass tries again.
    pub failed: Vec<(String, Failure)>,
}

/// The state of an owner.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Present,
    /// It is being deleted and waits for its dependents.
    Waits,
    Absent,
}

struct Pass<'a> {
    api: &'a Api,
    caller: Caller,
    /// Objects by the identity of each of their owners.
    dependents: HashMap<&'a str, Vec<&'a Linked>>,
    /// Owners that were read: identity, and whether it waits for dependents.
    known: HashMap<(&'static str, &'a str), Option<(String, bool)>>,
}

impl Api {
    /// Collects among these objects of an organisation, which are all that name owners or wait for dependents.
    pub async fn collect(&self, org: OrgId, linked: &[Linked]) -> Collected {
        let mut dependents: HashMap<&str, Vec<&Linked>> = HashMap::new();
        for object in linked {
            for owner in &object.owners {
                dependents.entry(&owner.uid).or_default().push(object);
            }
        }
        let caller = Caller::new(org, "garbage collector", Role::Owner);
        let mut pass = Pass { api: self, caller, dependents, known: HashMap::new() };
        let mut done = Collected::default();
        for object in linked {
            if done.changed >= CHANGES_MAX {
                break;
            }
            match pass.handle(object).await {
                Ok(changed) => done.changed += changed,
                // Deleted meanwhile, or changed: the next pass sees it as it is then.
                Err(e) if matches!(e.reason, "NotFound" | "Conflict") => {}
                Err(e) => done.failed.push((object.name.clone(), e)),
            }
        }
        done
    }
}

impl<'a> Pass<'a> {
    fn objects(&self, kind: &str) -> Option<Objects> {
        let kind = kinds::ALL.into_iter().find(|k| k.name == kind)?;
        let namespace = namespace_of(self.caller.org);
        Some(Objects { backend: self.api.backend(), caller: self.caller.clone(), kind, namespace })
    }

    /// An object as it is now, unless its links changed since the pass began.
    async fn current(&self, linked: &Linked) -> Result<Option<(Objects, Value)>, Failure> {
        let Some(objects) = self.objects(linked.kind) else { return Ok(None) };
        let Some(object) = objects.get(&linked.name).await? else { return Ok(None) };
        let metadata = object["metadata"].to_string();
        let log_kind = objects.kind.log_kind;
        let same = Linked::read(log_kind, linked.name.clone(), &metadata).as_ref() == Some(linked);
        Ok(same.then_some((objects, object)))
    }

    async fn handle(&mut self, linked: &'a Linked) -> Result<usize, Failure> {
        if linked.is_deleting && (linked.orphans || linked.waits) {
            return self.finish(linked).await;
        }
        if linked.is_deleting || linked.owners.is_empty() {
            return Ok(0);
        }
        let mut gone = Vec::new();
        let mut waiting = false;
        for owner in &linked.owners {
            match self.standing(owner).await? {
                Standing::Present => {}
                standing => {
                    waiting |= standing == Standing::Waits;
                    gone.push(owner.uid.as_str());
                }
            }
        }
        if gone.is_empty() {
            return Ok(0);
        }
        if gone.len() < linked.owners.len() {
            return self.strip(linked, &gone).await;
        }
        let Some((objects, object)) = self.current(linked).await? else { return Ok(0) };
        let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
        let dependents = self.dependents.get(uid).map_or(&[][..], Vec::as_slice);
        // Where an owner waits for this object, its own dependents go first, too. Not in a circle, which would never end.
        let in_circle = dependents.iter().any(|d| d.is_deleting && d.waits);
        let policy = if waiting && !dependents.is_empty() && !in_circle { "Foreground" } else { "" };
        let deletion = DeleteOptions {
            policy: policy.into(),
            uid: Some(object["metadata"]["uid"].clone()),
            version: Some(object["metadata"]["resourceVersion"].clone()),
            dry_run: false,
        };
        delete::run(&objects, &linked.name, &deletion, Timestamp::now()).await?;
        Ok(1)
    }

    async fn standing(&mut self, owner: &'a Owner) -> Result<Standing, Failure> {
        let Some(kind) = owner.kind else { return Ok(Standing::Present) };
        let key = (kind, owner.name.as_str());
        if !self.known.contains_key(&key) {
            let found = match self.objects(kind) {
                Some(objects) => objects.get(&owner.name).await?,
                None => None,
            };
            let read = |o: Value| {
                let uid = o["metadata"]["uid"].as_str().unwrap_or_default().to_string();
                (uid, waits(&o["metadata"]))
            };
            self.known.insert(key, found.map(read));
        }
        // The same name with another identity is another object.
        Ok(match self.known.get(&key) {
            Some(Some((uid, waits))) if *uid == owner.uid => {
                if *waits {
                    Standing::Waits
                } else {
                    Standing::Present
                }
            }
            _ => Standing::Absent,
        })
    }

    /// Takes the finalizer of the garbage collector out of an owner once its dependents are as it was asked.
    async fn finish(&self, linked: &Linked) -> Result<usize, Failure> {
        let Some((objects, object)) = self.current(linked).await? else { return Ok(0) };
        let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
        let dependents = self.dependents.get(uid).map_or(&[][..], Vec::as_slice);
        let mut changed = 0;
        if linked.orphans {
            for dependent in dependents.iter().filter(|d| **d != linked) {
                changed += self.strip(dependent, &[uid]).await?;
            }
        } else {
            let blocks = |d: &&&Linked| **d != linked && d.owners.iter().any(|o| o.uid == uid && o.blocks);
            if dependents.iter().any(|d| blocks(&d)) {
                return Ok(0);
            }
        }
        let mut bare = object.clone();
        if let Some(finalizers) = bare["metadata"]["finalizers"].as_array_mut() {
            finalizers.retain(|f| f != FOREGROUND && f != ORPHAN);
        }
        write::store(&objects, &object, bare, false).await?;
        Ok(changed + 1)
    }

    /// Takes the references to these owners out of an object.
    async fn strip(&self, linked: &Linked, gone: &[&str]) -> Result<usize, Failure> {
        let Some(objects) = self.objects(linked.kind) else { return Ok(0) };
        let mut last = Failure::outdated(objects.kind, &linked.name);
        for _ in 0..TRIES {
            let Some(mut object) = objects.get(&linked.name).await? else { return Ok(0) };
            let Some(references) = object["metadata"]["ownerReferences"].as_array_mut() else { return Ok(0) };
            let before = references.len();
            references.retain(|r| !gone.iter().any(|uid| r["uid"] == **uid));
            if references.len() == before {
                return Ok(0);
            }
            match objects.update(&object, position(&object), false).await {
                Ok(_) => return Ok(1),
                Err(e) if e.reason == "Conflict" => last = e,
                Err(e) => return Err(e),
            }
        }
        Err(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_names_owners_or_waits_for_dependents_is_read() {
        let read = |metadata: Value| Linked::read("claim", "a".into(), &metadata.to_string());
        assert_eq!(read(json!({ "labels": { "x": "orphan" }, "finalizers": ["story.example/hold"] })), None);
        assert_eq!(Linked::read("setting", "a".into(), r#"{"finalizers":["orphan"]}"#), None);
        assert!(read(json!({ "finalizers": [ORPHAN] })).is_some_and(|l| l.orphans && !l.is_deleting));
        let owner = json!({ "apiVersion": "datumapis.com/v1alpha", "kind": "Domain", "name": "a.example", "uid": "1" });
        let foreign = json!({ "apiVersion": "v1", "kind": "Domain", "name": "a.example", "uid": "2" });
        let linked = read(json!({ "ownerReferences": [owner, foreign] })).unwrap();
        assert_eq!(linked.owners.iter().map(|o| o.kind).collect::<Vec<_>>(), [Some("Domain"), None]);
    }
}
