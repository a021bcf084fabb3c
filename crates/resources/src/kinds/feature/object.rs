//! A feature as an object.

use super::FEATURE;
use crate::kind::Kind;
use crate::meta::{self, Identity, instant};
use model::ids::{LogPosition, OrgId};
use serde_json::{Value, json};
use service::FeatureView;
use service::lifecycle::State;

fn word(on: bool) -> &'static str {
    if on { "On" } else { "Off" }
}

/// The last state of a deleted feature, from its tombstone.
pub(super) fn deleted(org: OrgId, namespace: &str, rv: LogPosition, kept: &Value) -> Option<Value> {
    let view = FeatureView {
        rv,
        metadata: kept["metadata"].as_str().unwrap_or("{}").to_string(),
        created_at: serde_json::from_value(kept["created_at"].clone()).ok()?,
        feature: serde_json::from_value(kept["feature"].clone()).ok()?,
        title: String::new(),
        guards: String::new(),
        dynamic: true,
        kept_until: None,
        uses: Vec::new(),
        leader: None,
        tasks: Vec::new(),
        leftovers: Vec::new(),
        uncounted: None,
    };
    Some(object(org, namespace, &view))
}

/// Status, reason and message of the condition LeftoversExist. While a feature turns off, what its tasks have still to delete
/// or wait for is left.
fn leftovers_exist(view: &FeatureView) -> ((&'static str, &'static str), String) {
    let is_turning_off = view.feature.state == State::TurningOff;
    let listed = if is_turning_off { &view.tasks } else { &view.leftovers };
    if let Some(task) = listed.iter().find(|t| t.left.count > 0) {
        let attention = view.attention().filter(|_| !is_turning_off);
        return (("True", "Leftovers"), attention.unwrap_or_else(|| format!("{}.", task.sentence())));
    }
    let is_unknown = view.kept_until.is_some() && !view.feature.state.is_used();
    let not_known = is_unknown.then(|| "this version does not know the feature".to_string());
    let uncounted = listed.iter().find_map(|t| t.uncounted.clone()).or_else(|| view.uncounted.clone());
    match uncounted.or(not_known) {
        Some(why) => (("Unknown", "NotCounted"), format!("Leftovers unknown: {why}.")),
        None => (("False", "Clean"), String::new()),
    }
}

/// The object of a feature.
pub(super) fn object(org: OrgId, namespace: &str, view: &FeatureView) -> Value {
    let f = &view.feature;
    let identity =
        Identity { kind: &FEATURE, org, namespace, name: &f.name, rv: view.rv, created: view.created_at };
    let metadata = meta::metadata(&identity, &view.metadata);
    let settled = f.state == if f.is_wanted() { State::On } else { State::Off };
    let condition = |kind: &str, (holds, reason): (&str, &str), message: &str| {
        meta::condition((kind, holds), reason, message, &metadata["generation"], f.changed_at)
    };
    let waiting = view.attention().filter(|_| !settled).unwrap_or_default();
    let ready = if settled { ("True", "Settled") } else { ("False", f.state.as_str()) };
    let (leftovers_exist, left) = leftovers_exist(view);
    let tasks = |list: &[service::FeatureTask]| -> Vec<Value> {
        let one = |t: &service::FeatureTask| json!({ "task": t.task.words(), "data": t.task.data(), "left": t.left.count, "names": t.left.names });
        list.iter().map(one).collect()
    };
    let uses = view.uses.iter().map(|u| {
        let mut one = json!({ "process": u.process, "version": u.version, "seen": instant(u.seen_at) });
        if u.is_fixed {
            one["fixed"] = true.into();
        }
        if let Some(used) = u.used {
            one["value"] = word(used).into();
        }
        one
    });
    let steps = view.steps().into_iter().map(|s| {
        let mut one = json!({ "title": s.title, "detail": s.detail, "progress": s.progress.as_str() });
        for (key, at) in [("since", s.since), ("done", s.done_at)] {
            if let Some(at) = at {
                one[key] = instant(at).into();
            }
        }
        one
    });
    let mut object = json!({
        "apiVersion": Kind::api_version(),
        "kind": FEATURE.name,
        "spec": {},
        "status": {
            "state": f.state.as_str(),
            "default": word(f.default),
            "stage": f.stage.as_str(),
            "version": f.since,
            "title": view.title,
            "guards": view.guards,
            "dynamic": view.dynamic,
            "uses": uses.collect::<Vec<_>>(),
            "steps": steps.collect::<Vec<_>>(),
            "tasks": tasks(&view.tasks),
            "leftovers": tasks(&view.leftovers),
            "conditions": [
                condition("Ready", ready, &waiting),
                condition("LeftoversExist", leftovers_exist, &left),
            ],
        },
    });
    if let Some(desired) = f.desired {
        object["spec"]["desired"] = word(desired).into();
    }
    if let Some(registered) = &f.registered {
        object["spec"]["default"] = word(f.default).into();
        object["spec"]["stage"] = f.stage.as_str().into();
        object["spec"]["version"] = f.since.as_str().into();
        if !registered.title.is_empty() {
            object["spec"]["title"] = registered.title.as_str().into();
        }
        if registered.by_flag_only {
            object["spec"]["dynamic"] = false.into();
        }
    }
    if let Some(leader) = view.leader.as_deref().filter(|_| f.state.is_transition()) {
        object["status"]["leader"] = leader.into();
    }
    object["metadata"] = metadata;
    object
}
