//! `Feature`: what can be turned on and off. Clients write `spec.desired`; all else is the server's.

use crate::kind::{Kind, Verb, column};
use crate::meta::{self, Identity, instant};
use crate::schema::{Violation, conditions, text};
use model::ids::OrgId;
use serde_json::{Value, json};
use service::FeatureView;
use service::lifecycle::State;
use service::policy::Action;

/// The kind.
pub static FEATURE: Kind = Kind {
    name: "Feature",
    plural: "features",
    singular: "feature",
    short: &["feat"],
    description: "A feature of the installation, with its lifecycle. It can be turned on and off while the server runs.",
    is_namespaced: true,
    log_kind: "feature",
    columns: &[
        column("Stage", "string", 0, ".status.stage", "How settled it is."),
        column("Desired", "string", 0, ".spec.desired", "What is asked for; empty: the default."),
        column("State", "string", 0, ".status.state", "What is true."),
        column(
            "Reason",
            "string",
            1,
            r#".status.conditions[?(@.type=="Ready")].message"#,
            "What a transition waits for.",
        ),
        column("Since", "string", 1, ".status.version", "The version that it came with."),
    ],
    schema,
    selectable: &["spec.desired", "status.state", "status.stage"],
    action: |verb| match verb {
        Verb::Get | Verb::List => Some(Action::Features),
        Verb::Watch => Some(Action::Changes),
        Verb::Update | Verb::Patch => Some(Action::SetFeature),
        // Features come with the program and go with it.
        Verb::Create | Verb::Delete | Verb::DeleteCollection => None,
    },
    validate: |_, _| Vec::<Violation>::new(),
};

fn schema() -> Value {
    let value = |what: &str| json!({ "type": "string", "enum": ["On", "Off"], "description": what });
    let tasks = |what: &str| {
        json!({
            "type": "array",
            "description": what,
            "items": {
                "type": "object",
                "properties": {
                    "task": text("What is to be done."),
                    "data": text("What it is about."),
                    "left": { "type": "integer", "format": "int64", "description": "How many are left." },
                    "names": { "type": "array", "description": "Some of them.", "items": text("A name.") },
                },
            },
        })
    };
    json!({
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": { "type": "string" },
            "kind": { "type": "string" },
            "spec": {
                "type": "object",
                "description": "What is asked for.",
                "properties": { "desired": value("On or Off; without it the default holds.") },
            },
            "status": {
                "type": "object",
                "description": "What is true. Written by the server only.",
                "properties": {
                    "state": {
                        "type": "string", "enum": ["On", "Off", "TurningOn", "TurningOff"],
                        "description": "Between On and Off the uses are cleared, then the tasks run.",
                    },
                    "default": value("What holds when nothing is asked for."),
                    "stage": { "type": "string", "enum": ["alpha", "beta", "GA"], "description": "How settled it is." },
                    "version": text("The version that it came with."),
                    "title": text("What it offers."),
                    "guards": text("What is refused while it is off."),
                    "leader": text("The process that carries on a transition."),
                    "uses": {
                        "type": "array",
                        "description": "What each running process reports.",
                        "items": {
                            "type": "object",
                            "properties": {
                                "process": text("The process."),
                                "version": text("The version of its program."),
                                "value": value("Whether it uses the feature; absent when its version does not know it."),
                                "seen": { "type": "string", "format": "date-time", "description": "When it reported last." },
                            },
                        },
                    },
                    "tasks": tasks("Tasks of the transition that are not done, in order."),
                    "leftovers": tasks("What is stored although the feature is off."),
                    "conditions": conditions(),
                },
            },
        },
    })
}

fn word(on: bool) -> &'static str {
    if on { "On" } else { "Off" }
}

/// What an object that has passed the schema asks for.
pub(crate) fn desired(object: &Value) -> Option<bool> {
    object["spec"]["desired"].as_str().map(|v| v == "On")
}

/// The object of a feature.
pub(crate) fn object(org: OrgId, namespace: &str, view: &FeatureView) -> Value {
    let f = &view.feature;
    let identity =
        Identity { kind: &FEATURE, org, namespace, name: &f.name, rv: view.rv, created: view.created_at };
    let metadata = meta::metadata(&identity, &view.metadata);
    let settled = f.state == if f.is_wanted() { State::On } else { State::Off };
    let condition = |kind: &str, holds: bool, reason: &str, message: String| {
        let holds = if holds { "True" } else { "False" };
        meta::condition((kind, holds), reason, &message, &metadata["generation"], f.changed_at)
    };
    let attention = view.attention().unwrap_or_default();
    let has_leftovers = !view.leftovers.is_empty();
    let waiting = if settled { String::new() } else { attention.clone() };
    let reason = if settled { "Settled" } else { f.state.as_str() };
    let left = if has_leftovers { attention } else { String::new() };
    let tasks = |list: &[service::FeatureTask]| -> Vec<Value> {
        let one = |t: &service::FeatureTask| json!({ "task": t.task.words(), "data": t.task.data(), "left": t.left.count, "names": t.left.names });
        list.iter().map(one).collect()
    };
    let uses = view.uses.iter().map(|u| {
        let mut one = json!({ "process": u.process, "version": u.version, "seen": instant(u.seen_at) });
        if let Some(used) = u.used {
            one["value"] = word(used).into();
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
            "uses": uses.collect::<Vec<_>>(),
            "tasks": tasks(&view.tasks),
            "leftovers": tasks(&view.leftovers),
            "conditions": [
                condition("Ready", settled, reason, waiting),
                condition("LeftoversExist", has_leftovers, if has_leftovers { "Leftovers" } else { "Clean" }, left),
            ],
        },
    });
    if let Some(desired) = f.desired {
        object["spec"]["desired"] = word(desired).into();
    }
    if let Some(leader) = view.leader.as_deref().filter(|_| f.state.is_transition()) {
        object["status"]["leader"] = leader.into();
    }
    object["metadata"] = metadata;
    object
}
