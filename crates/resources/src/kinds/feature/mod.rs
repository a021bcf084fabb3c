//! `Feature`: what can be turned on and off. Of a feature of this program clients write `spec.desired`, all else is the
//! server's. Others register features of their own, declare them in `spec`, and report uses and leftovers in `status`.

mod object;

use crate::failure::Failure;
use crate::kind::{Kind, Verb, column};
use crate::meta;
use crate::schema::{Violation, conditions, text};
use crate::store::{Change, Objects, Report, Storage, name_of, position};
use async_trait::async_trait;
use model::ids::LogPosition;
use serde_json::{Value, json};
use service::lifecycle::{Declared, Remaining, ReportedRemaining, Stage, check_name, is_registered_name};
use service::policy::Action;
use service::{FeatureDraft, FeatureReport, FeatureView};

/// The kind.
pub static FEATURE: Kind = Kind {
    name: "Feature",
    plural: "features",
    singular: "feature",
    short: &["feat"],
    description: "A feature with its lifecycle: it can be turned on and off while programs run. Features of the installation are there; others are registered by creating them.",
    is_namespaced: true,
    log_kind: "feature",
    columns: &[
        column("Stage", "string", 0, ".status.stage", "Maturity level."),
        column("Desired", "string", 0, ".spec.desired", "Desired value; empty means the default."),
        column("State", "string", 0, ".status.state", "Current state."),
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
    selectable_list: None,
    action: |verb| match verb {
        Verb::Get | Verb::List => Some(Action::Features),
        Verb::Watch => Some(Action::Changes),
        Verb::Update | Verb::Patch => Some(Action::SetFeature),
        Verb::Create => Some(Action::RegisterFeature),
        Verb::Delete => Some(Action::DeleteFeature),
        // Those of the program can't be deleted.
        Verb::DeleteCollection => None,
    },
    status_action: Some(Action::ReportFeature),
    validate,
    storage: &Features,
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
                    "left": { "type": "integer", "format": "int64", "minimum": 0, "description": "How many are left." },
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
                "properties": {
                    "desired": value("On or Off; without it the default holds."),
                    "default": value("Of a registered feature: what holds when nothing is asked for; without it Off."),
                    "stage": {
                        "type": "string", "enum": ["alpha", "beta", "GA"],
                        "description": "Of a registered feature: how settled it is; without it alpha.",
                    },
                    "version": text("Of a registered feature, required: the version of its program that it came with."),
                    "title": text("Of a registered feature: what it offers, in a few words."),
                    "dynamic": {
                        "type": "boolean",
                        "description": "Of a registered feature: false when flags of its own program set it, not spec.desired; without it true.",
                    },
                },
            },
            "status": {
                "type": "object",
                "description": "What is true. Of a registered feature its processes write uses and leftovers.",
                "properties": {
                    "state": {
                        "type": "string", "enum": ["On", "Off", "TurningOn", "TurningOff"],
                        "description": "Between On and Off the uses are cleared, then the tasks run.",
                    },
                    "default": value("What holds when nothing is asked for."),
                    "stage": { "type": "string", "enum": ["alpha", "beta", "GA"], "description": "Maturity level." },
                    "version": text("The version that it came with."),
                    "title": text("What it offers."),
                    "dynamic": { "type": "boolean", "description": "Whether spec.desired may turn it on and off; else flags of processes set it." },
                    "guards": text("What is refused while it is off."),
                    "leader": text("The process that carries on a transition."),
                    "uses": {
                        "type": "array",
                        "description": "What each running process reports. An entry that is written replaces that of the same process; one that is not repeated within 60 seconds goes.",
                        "items": {
                            "type": "object",
                            "properties": {
                                "process": text("The process."),
                                "version": text("The version of its program."),
                                "value": value("Whether it uses the feature; absent when its version does not know it."),
                                "fixed": { "type": "boolean", "description": "Whether a flag of the process fixes that." },
                                "seen": { "type": "string", "format": "date-time", "description": "When it reported last." },
                            },
                        },
                    },
                    "steps": {
                        "type": "array",
                        "description": "The steps of the transition that is under way, in order.",
                        "items": {
                            "type": "object",
                            "properties": {
                                "title": text("What it does."),
                                "detail": text("How many processes report what, or what is left."),
                                "progress": { "type": "string", "enum": ["Done", "Running", "Queued"], "description": "How far it is." },
                                "since": { "type": "string", "format": "date-time", "description": "When it began." },
                                "done": { "type": "string", "format": "date-time", "description": "When it was done." },
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

/// `spec.desired` of an object that has passed the schema.
fn desired(object: &Value) -> Option<bool> {
    object["spec"]["desired"].as_str().map(|v| v == "On")
}

/// The declaration of a registered feature in an object that has passed the schema; `None` for one of the program.
fn declared(object: &Value) -> Option<Declared> {
    let spec = &object["spec"];
    let word = |key: &str| spec[key].as_str().unwrap_or_default().to_string();
    let stages = [Stage::Alpha, Stage::Beta, Stage::Ga];
    is_registered_name(object["metadata"]["name"].as_str()?).then(|| Declared {
        default: spec["default"] == "On",
        stage: stages.into_iter().find(|s| spec["stage"] == s.as_str()).unwrap_or(Stage::Alpha),
        version: word("version"),
        title: word("title"),
        dynamic: spec["dynamic"] != false,
    })
}

/// The report in a written status that has passed the schema.
fn report(
    name: &str,
    status: &Value,
    is_whole: bool,
    expected: Option<LogPosition>,
) -> Result<FeatureReport, Vec<Violation>> {
    let mut violations = Vec::new();
    let list = |key: &str| status[key].as_array().map(Vec::as_slice).unwrap_or_default();
    let word = |violations: &mut Vec<Violation>, list: &str, n: usize, entry: &Value, key: &str| {
        let found = entry[key].as_str().map(str::to_owned);
        if found.is_none() {
            violations.push(Violation::required(format!("status.{list}[{n}].{key}")));
        }
        found.unwrap_or_default()
    };
    let mut uses = Vec::new();
    for (n, entry) in list("uses").iter().enumerate() {
        let version = entry["version"].as_str().unwrap_or_default().to_string();
        let process = word(&mut violations, "uses", n, entry, "process");
        uses.push((process, version, word(&mut violations, "uses", n, entry, "value") == "On"));
    }
    let mut leftovers = Vec::new();
    for (n, entry) in list("leftovers").iter().enumerate() {
        let names = entry["names"].as_array().map(Vec::as_slice).unwrap_or_default();
        let names = names.iter().filter_map(|v| v.as_str().map(str::to_owned)).collect();
        let data = word(&mut violations, "leftovers", n, entry, "data");
        // Without a count it would say that nothing is left.
        let Some(count) = entry["left"].as_u64() else {
            violations.push(Violation::required(format!("status.leftovers[{n}].left")));
            continue;
        };
        leftovers.push(ReportedRemaining { data, left: Remaining { count, names } });
    }
    if !violations.is_empty() {
        return Err(violations);
    }
    let leftovers = (is_whole || status["leftovers"].is_array()).then_some(leftovers);
    Ok(FeatureReport { name: name.into(), uses, leftovers, is_whole, expected, dry_run: false })
}

fn validate(new: &Value, old: Option<&Value>) -> Vec<Violation> {
    let name = new["metadata"]["name"].as_str().unwrap_or_default();
    if old.is_none()
        && let Err(e) = check_name(name)
    {
        return vec![Violation::invalid("metadata.name", name, e.to_string())];
    }
    if is_registered_name(name) {
        let is_named = new["spec"]["version"].as_str().is_some_and(|v| !v.is_empty());
        let missing = (!is_named).then(|| Violation::required("spec.version".into()));
        return missing.into_iter().collect();
    }
    let fixed = ["default", "stage", "version", "title", "dynamic"]
        .into_iter()
        .filter(|key| !new["spec"][key].is_null());
    let rule = "belongs to the program that the feature came with";
    fixed.map(|key| Violation::invalid(format!("spec.{key}"), "", rule)).collect()
}

struct Features;

impl Features {
    fn shown(objects: &Objects, view: &FeatureView) -> Value {
        object::object(objects.caller.org, &objects.namespace, view)
    }
}

#[async_trait]
impl Storage for Features {
    async fn get(&self, objects: &Objects, name: &str) -> Result<Option<Value>, Failure> {
        let found = objects.backend.feature(&objects.caller, name).await?;
        Ok(found.map(|f| Self::shown(objects, &f)))
    }

    async fn after(&self, objects: &Objects, after: &str, limit: u32) -> Result<Vec<Value>, Failure> {
        let report = objects.backend.features(&objects.caller).await?;
        let next = report.features.iter().filter(|f| f.feature.name.as_str() > after);
        Ok(next.take(limit as usize).map(|f| Self::shown(objects, f)).collect())
    }

    async fn save(&self, objects: &Objects, change: Change<'_>) -> Result<Value, Failure> {
        let name = name_of(change.object);
        let draft = FeatureDraft {
            name: name.to_string(),
            expected: change.expected,
            desired: desired(change.object),
            metadata: Some(meta::stored(change.object)),
            declared: declared(change.object),
            dry_run: change.dry_run,
        };
        let saved = match change.expected {
            None => objects.backend.register_feature(&objects.caller, &draft).await,
            Some(_) => objects.backend.set_feature(&objects.caller, &draft).await,
        };
        Ok(Self::shown(objects, &saved.map_err(|e| objects.failure(e, name))?))
    }

    async fn report(&self, objects: &Objects, name: &str, reported: Report<'_>) -> Result<Value, Failure> {
        let read = report(name, reported.status, reported.is_whole, reported.expected);
        let read = read.map_err(|violations| Failure::invalid(objects.kind, name, &violations))?;
        let report = FeatureReport { dry_run: reported.dry_run, ..read };
        let written = objects.backend.report_feature(&objects.caller, &report).await;
        Ok(Self::shown(objects, &written.map_err(|e| objects.failure(e, name))?))
    }

    async fn delete(&self, objects: &Objects, object: &Value) -> Result<(), Failure> {
        let (name, at) = (name_of(object), Some(position(object)));
        objects.backend.delete_feature(&objects.caller, name, at).await.map_err(|e| objects.failure(e, name))
    }

    /// Features of the program; names of registered ones end in a domain.
    fn undeletable(&self, name: &str) -> Option<String> {
        (!name.contains('.')).then(|| "came with the program: it is turned off, not deleted".into())
    }

    async fn holds(&self, _: &Objects, object: &Value) -> Result<Option<String>, Failure> {
        let (state, leftovers) = (&object["status"]["state"], object["status"]["leftovers"].as_array());
        Ok(if *state != "Off" {
            Some(format!("is {}: set spec.desired to Off first", state.as_str().unwrap_or_default()))
        } else {
            leftovers.is_some_and(|l| !l.is_empty()).then(|| "is off, but leftovers exist".into())
        })
    }

    fn deleted(&self, objects: &Objects, _: &str, rv: LogPosition, kept: Value) -> Option<Value> {
        object::deleted(objects.caller.org, &objects.namespace, rv, &kept)
    }
}
