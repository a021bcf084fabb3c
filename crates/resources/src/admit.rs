//! Checks of every written object: its schema, the rules of its kind, and the fields that only the server sets.

use crate::collect;
use crate::failure::{CAUSES_MAX, Failure};
use crate::kind::Kind;
use crate::managed;
use crate::meta;
use crate::request::Options;
use crate::schema::{self, Violation};
use crate::store::Objects;
use serde_json::{Value, json};

/// Characters of a field's path in errors and warnings; the rest is cut.
const FIELD_MAX: usize = 200;

/// Treatment of fields that the schema does not know.
#[derive(Clone, Copy)]
enum Unknown {
    Refuse,
    Warn,
    Drop,
}

impl Unknown {
    fn read(options: &Options) -> Result<Self, Failure> {
        match options.get("fieldValidation") {
            "Strict" => Ok(Unknown::Refuse),
            "" | "Warn" => Ok(Unknown::Warn),
            "Ignore" => Ok(Unknown::Drop),
            other => Err(Failure::bad_request(format!(
                "fieldValidation is {other:?}, must be Strict, Warn or Ignore"
            ))),
        }
    }
}

/// Refuses or warns of fields that the schema does not know and keys that are repeated, as the client wishes.
pub(crate) fn decoded(
    objects: &Objects,
    name: &str,
    fields: &[(String, &'static str)],
    options: &Options,
) -> Result<Vec<String>, Failure> {
    match Unknown::read(options)? {
        _ if fields.is_empty() => Ok(Vec::new()),
        Unknown::Refuse => Err(Failure::strict(objects.kind, name, fields)),
        Unknown::Warn => {
            let more = fields.len().saturating_sub(CAUSES_MAX);
            let named = fields.iter().take(CAUSES_MAX).map(|(f, what)| format!("{what} {f:?}"));
            Ok(named.chain((more > 0).then(|| format!("{more} more unknown or duplicate fields"))).collect())
        }
        Unknown::Drop => Ok(Vec::new()),
    }
}

/// Fields that a schema does not know, with the words for them.
pub(crate) fn unknown(fields: Vec<String>) -> Vec<(String, &'static str)> {
    let cut = |f: String| if f.len() > FIELD_MAX { f.chars().take(FIELD_MAX).collect() } else { f };
    fields.into_iter().map(|f| (cut(f), "unknown field")).collect()
}

/// Keys that a body has more than once, with the words for them.
pub(crate) fn duplicate(fields: Vec<String>) -> Vec<(String, &'static str)> {
    fields.into_iter().map(|f| (f, "duplicate field")).collect()
}

/// Refuses what is no object, or has metadata that is none.
pub(crate) fn is_object(body: &Value) -> Result<(), Failure> {
    if !body.is_object() {
        return Err(Failure::bad_body("the body is not an object"));
    }
    match body.get("metadata") {
        Some(m) if !m.is_object() => Err(Failure::bad_body("metadata is not an object")),
        _ => Ok(()),
    }
}

/// Refuses an object that says of itself that it belongs to another address: another kind, namespace or, when the address
/// has one, name. What it does not say is taken from the address.
pub(crate) fn belongs(objects: &Objects, name: Option<&str>, object: &Value) -> Result<(), Failure> {
    let mut fields = Vec::new();
    for (key, expected) in [("apiVersion", Kind::api_version()), ("kind", objects.kind.name.to_string())] {
        if object.get(key).is_some_and(|v| *v != expected) {
            let words = format!("{key} is {}, at this address it must be {expected:?}", shown(&object[key]));
            fields.push((key, words));
        }
    }
    let metadata = &object["metadata"];
    if let Some(name) = name
        && metadata["name"].as_str().is_some_and(|n| n != name)
    {
        let words = "the name of the object does not match the name on the URL";
        fields.push(("metadata.name", format!("{words}: {} and {name:?}", shown(&metadata["name"]))));
    }
    let ns = metadata["namespace"].as_str().unwrap_or_default();
    if objects.kind.is_namespaced && !ns.is_empty() && ns != objects.namespace {
        let words = "the namespace of the provided object does not match the namespace sent on the request";
        let words = format!("{words}: {} and {:?}", shown(&metadata["namespace"]), objects.namespace);
        fields.push(("metadata.namespace", words));
    }
    if fields.is_empty() {
        Ok(())
    } else {
        Err(Failure::elsewhere(objects.kind, name.unwrap_or_default(), &fields))
    }
}

/// A value as JSON for an error, cut.
fn shown(value: &Value) -> String {
    value.to_string().chars().take(FIELD_MAX).collect()
}

/// Warns of new references to owners of other APIs: whether they are there is not known here.
fn foreign_owners(new: &Value, old: Option<&Value>) -> Option<String> {
    let owners = |o: &Value| o["metadata"]["ownerReferences"].as_array().filter(|a| !a.is_empty()).cloned();
    let now = owners(new)?;
    let foreign = now.iter().find(|r| collect::kind_of(r).is_none())?;
    (old.and_then(owners).as_ref() != Some(&now)).then(|| {
        let word = |key: &str| foreign[key].as_str().unwrap_or_default().chars().take(FIELD_MAX).collect::<String>();
        format!(
            "metadata.ownerReferences: {} {} {:?} is no object of this API and counts as present, so this object is not deleted with it",
            word("apiVersion"), word("kind"), word("name"),
        )
    })
}

/// Rules of owner references: an owner is in the namespace of its dependent or in none, and one at most manages it.
fn owner_rules(kind: &Kind, new: &Value) -> Vec<Violation> {
    let references = new["metadata"]["ownerReferences"].as_array().map_or(&[][..], Vec::as_slice);
    let mut out = Vec::new();
    for (i, r) in references.iter().enumerate() {
        let owner = collect::kind_of(r).filter(|k| k.is_namespaced && !kind.is_namespaced);
        if let Some(owner) = owner {
            let rule = format!(
                "a {} belongs to no namespace, so its owner can't be a {} of one",
                kind.name, owner.name
            );
            out.push(Violation::invalid(format!("metadata.ownerReferences[{i}]"), owner.name, rule));
        }
    }
    let controllers = references.iter().filter(|r| r["controller"] == true).count();
    if controllers > 1 {
        let rule = "only one reference can have controller set to true";
        out.push(Violation::invalid("metadata.ownerReferences", &controllers.to_string(), rule));
    }
    out
}

/// Checks a client's object and gives it the fixed parts of the one before it.
pub(crate) fn admit(
    objects: &Objects,
    mut new: Value,
    old: Option<&Value>,
    options: &Options,
) -> Result<(Value, Vec<String>), Failure> {
    let kind = objects.kind;
    is_object(&new)?;
    belongs(objects, None, &new)?;
    new["apiVersion"] = Kind::api_version().into();
    new["kind"] = kind.name.into();
    if let Some(map) = new.as_object_mut() {
        // Only the server writes the status.
        map.remove("status");
        map.entry("metadata").or_insert_with(|| json!({}));
    }
    let name = new["metadata"]["name"].as_str().unwrap_or_default().to_string();
    let mut whole = (kind.schema)();
    whole["properties"]["metadata"] = schema::metadata();
    let mut unknown = Vec::new();
    let mut violations = schema::check(&whole, &mut new, "", &mut unknown);
    let mut warnings = decoded(objects, &name, &self::unknown(unknown), options)?;
    violations.extend(meta::check(&new));
    violations.extend(managed::check(&new, old));
    violations.extend(owner_rules(kind, &new));
    if violations.is_empty() {
        violations.extend((kind.validate)(&new, old));
    }
    if let Some(old) = old {
        keep_fixed(&mut new, old, &mut violations);
    }
    if !violations.is_empty() {
        return Err(Failure::invalid(kind, &name, &violations));
    }
    warnings.extend(foreign_owners(&new, old));
    Ok((new, warnings))
}

/// Fields of metadata that the server sets stay as they are; identity may be repeated, not changed.
fn keep_fixed(new: &mut Value, old: &Value, violations: &mut Vec<Violation>) {
    for key in ["name", "uid"] {
        let (is, was) = (new["metadata"][key].clone(), &old["metadata"][key]);
        if !is.is_null() && is != *was {
            let shown = is.as_str().unwrap_or_default();
            violations.push(Violation::invalid(format!("metadata.{key}"), shown, "field is immutable"));
        }
    }
    for key in [
        "name",
        "generateName",
        "namespace",
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "generation",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        match old["metadata"].get(key) {
            Some(value) => new["metadata"][key] = value.clone(),
            None => drop(new["metadata"].as_object_mut().and_then(|m| m.remove(key))),
        }
    }
    if old["metadata"].get("deletionTimestamp").is_some() {
        let had = |f: &Value| old["metadata"]["finalizers"].as_array().is_some_and(|l| l.contains(f));
        let added = new["metadata"]["finalizers"].as_array().is_some_and(|l| !l.iter().all(had));
        if added {
            let mut v = Violation::invalid(
                "metadata.finalizers",
                "",
                "no new finalizers can be added if the object is being deleted",
            );
            v.reason = "FieldValueForbidden";
            violations.push(v);
        }
    }
    if new["spec"] != old["spec"] {
        new["metadata"]["generation"] = (old["metadata"]["generation"].as_i64().unwrap_or(1) + 1).into();
    }
}
