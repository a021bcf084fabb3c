//! Features in the words of the terminal, and with the keys of the command line and of REST.

use ::features::Progress;
use model::time::human_instant;
use serde_json::json;
use service::{FeatureView, FeaturesReport};

fn word(on: bool) -> &'static str {
    if on { "On" } else { "Off" }
}

pub(super) fn line(f: &FeatureView) -> String {
    let desired = f
        .feature
        .desired
        .map_or_else(|| format!("default ({})", word(f.feature.default)), |d| word(d).into());
    let mut line = format!(
        "{:<22} {:<6} desired {:<14} {:<11} {}",
        f.feature.name,
        f.feature.stage.as_str(),
        desired,
        f.feature.state.as_str(),
        f.title
    );
    if let Some(version) = &f.kept_until {
        line.push_str(&format!("not known to this version; kept until {version}"));
    }
    if !f.dynamic {
        line.push_str(" (set by flag)");
    }
    for u in f.uses.iter().filter(|u| u.is_fixed) {
        line.push_str(&format!("\n  fixed by flag in {}: {}", u.process, u.used.map_or("not known", word)));
    }
    if let Some(why) = f.attention() {
        line.push_str(&format!("\n  {why}"));
    }
    if let Some(why) = &f.uncounted {
        line.push_str(&format!("\n  leftovers unknown: {why}"));
    }
    let steps = f.steps();
    for (n, step) in steps.iter().enumerate() {
        let when = match (step.progress, step.since, step.done_at, step.took_seconds) {
            (Progress::Done, _, Some(at), Some(took)) if took > 0 => {
                format!("done {}, took {took} s", human_instant(at))
            }
            (Progress::Done, _, Some(at), _) => format!("done {}", human_instant(at)),
            (Progress::Running, Some(since), ..) if step.is_wait => {
                format!("waiting since {}", human_instant(since))
            }
            (Progress::Running, Some(since), ..) => format!("running since {}", human_instant(since)),
            _ => "queued".into(),
        };
        line.push_str(&format!("\n  {} of {}  {}: {when}", n + 1, steps.len(), step.title));
    }
    line.trim_end().to_string()
}

pub(super) fn text(report: &FeaturesReport) -> String {
    let mut out: Vec<String> = report.features.iter().map(line).collect();
    if out.is_empty() {
        out.push("No features: start the server once.".into());
    }
    let safe = |what: &str, why: &Option<String>| match why {
        Some(why) => format!("Not safe to {what}: {why}."),
        None => format!("Safe to {what}."),
    };
    let back = match &report.earlier {
        Some(earlier) => safe(&format!("go back to {earlier}"), &report.downgrade),
        None => "There is no earlier release to go back to.".into(),
    };
    let processes = match report.processes {
        1 => "1 running process".to_string(),
        n => format!("{n} running processes"),
    };
    out.push(format!(
        "\nVersion {}, {processes}. {} {back}",
        report.version,
        safe("upgrade", &report.upgrade),
    ));
    out.join("\n")
}

fn step_json(s: &service::FeatureStep) -> serde_json::Value {
    json!({
        "title": s.title,
        "detail": s.detail,
        "progress": s.progress.as_str(),
        "since": s.since,
        "done_at": s.done_at,
        "took_seconds": s.took_seconds,
        "left": s.left.as_ref().map(|l| l.count),
        "names": s.left.as_ref().map_or(&[][..], |l| &l.names),
    })
}

/// A feature with the keys of the command line and of REST.
pub(crate) fn feature_json(f: &FeatureView) -> serde_json::Value {
    let tasks = |list: &[service::FeatureTask]| -> Vec<_> {
        list.iter()
            .map(|t| json!({ "task": t.task.words(), "data": t.task.data(), "left": t.left.count, "names": t.left.names }))
            .collect()
    };
    json!({
        "name": f.feature.name,
        "title": f.title,
        "registered": f.feature.registered.is_some(),
        "registered_by": f.feature.registered.as_ref().map(|r| &r.by).filter(|by| !by.is_empty()),
        "guards": f.guards,
        "stage": f.feature.stage.as_str(),
        "since": f.feature.since,
        "dynamic": f.dynamic,
        "kept_until": f.kept_until,
        "default": word(f.feature.default),
        "desired": f.feature.desired.map(word),
        "desired_by": f.feature.desired_by.as_ref().map(|a| &a.by),
        "desired_at": f.feature.desired_by.as_ref().map(|a| a.at),
        "state": f.feature.state.as_str(),
        "changed_at": f.feature.changed_at,
        "uses": f.uses.iter().map(|u| json!({
            "process": u.process, "version": u.version, "seen_at": u.seen_at, "value": u.used.map(word), "fixed": u.is_fixed,
        })).collect::<Vec<_>>(),
        "leader": f.leader,
        "steps": f.steps().iter().map(step_json).collect::<Vec<_>>(),
        "tasks": tasks(&f.tasks),
        "leftovers": tasks(&f.leftovers),
        "leftovers_unknown": f.uncounted,
        "attention": f.attention(),
    })
}

/// All features with the keys of the command line and of REST.
pub(crate) fn report_json(report: &FeaturesReport) -> serde_json::Value {
    json!({
        "version": report.version,
        "processes": report.processes,
        "upgrade_blocked_by": report.upgrade,
        "downgrade_blocked_by": report.downgrade,
        "earlier_release": report.earlier,
        "features": report.features.iter().map(feature_json).collect::<Vec<_>>(),
    })
}
