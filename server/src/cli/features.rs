//! `domainscope features`: where each feature stands, and turning them on and off. Also the loop that carries transitions
//! on in a running server.

use super::{Outcome, place, print, print_json};
use crate::settings::Wrong;
use ::features::{FEATURES, Progress, Runner, State};
use anyhow::Result;
use clap::{Args, Subcommand};
use jiff::Timestamp;
use model::account::Actor;
use model::ids::OrgId;
use model::time::human_instant;
use product::{ask_feature, features_report};
use serde_json::json;
use service::{ErrorKind, FeatureDraft, FeatureView, FeaturesReport};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;
use store::Store;
use tokio_util::sync::CancellationToken;

/// How often a process reads the state of features.
const PAUSE: Duration = Duration::from_secs(1);

/// Flags of `features`.
#[derive(Debug, Args)]
pub(super) struct FeaturesArgs {
    #[command(subcommand)]
    action: Option<Action>,
    /// Folder of the embedded database
    #[arg(long, global = true, default_value = "data", env = "DOMAINSCOPE_DATA", value_name = "DIR")]
    data: PathBuf,
    /// PostgreSQL instead: postgres://user@host/name
    #[arg(long, global = true, env = "DOMAINSCOPE_DATABASE", value_name = "URL", hide_env_values = true)]
    database: Option<String>,
    /// Key that encrypts secrets in the database, as it is given to serve: channels that are left are named
    #[arg(
        long,
        global = true,
        env = "DOMAINSCOPE_SECRET_KEY",
        value_name = "BASE64",
        hide_env_values = true
    )]
    secret_key: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List features: stage, what is asked for, what is true, and what a transition waits for
    List,
    /// Turn a feature on
    On(Change),
    /// Turn a feature off: clears its uses, then its data
    Off(Change),
    /// Leave a feature to its default
    Default(Change),
}

#[derive(Debug, Args)]
struct Change {
    /// Name of the feature
    name: String,
    /// Seconds to wait for the end of the transition
    #[arg(long, default_value_t = 0, value_name = "SECONDS")]
    wait: u64,
}

/// `doh-server=off`.
pub(super) fn fixed(text: &str) -> Result<(String, bool), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=on or NAME=off")?;
    if ::features::spec(name).is_none() {
        let names: Vec<_> = FEATURES.iter().map(|s| s.name).collect();
        return Err(format!("“{name}” is not a feature: {}", names.join(", ")));
    }
    match value {
        "on" | "true" => Ok((name.into(), true)),
        "off" | "false" => Ok((name.into(), false)),
        other => Err(format!("“{other}” is not a value: on or off")),
    }
}

/// The settings that features need and a process does not have.
pub(super) fn lacks(has: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let needed = FEATURES.iter().flat_map(|s| s.needs);
    needed.filter(|setting| !has(setting)).map(ToString::to_string).collect()
}

/// Refuses to fix a feature to on in a process that lacks the settings it needs.
pub(super) fn check_fixed(fixed: &[(String, bool)], lacks: &BTreeSet<String>) -> Result<(), Wrong> {
    for (name, on) in fixed {
        if let Some(missing) = ::features::spec(name).filter(|_| *on).and_then(|s| s.missing(lacks)) {
            return Err(Wrong(format!("--feature {name}=on needs the setting {missing}")));
        }
    }
    Ok(())
}

/// The name of this process in lists: the host, and what tells its processes apart.
pub(super) fn process_name(process: &str) -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host: String =
        host.trim().chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(40).collect();
    if host.is_empty() { process.to_string() } else { format!("{host}-{process}") }
}

pub(super) async fn run(args: FeaturesArgs, json: bool) -> Result<Outcome> {
    if args.database.is_none() && !args.data.join("domainscope.db").exists() {
        anyhow::bail!(
            "no installation is in {}: pass the same --data DIR (or --database URL) as to serve",
            args.data.display()
        );
    }
    let store = place::open(&args.data, args.database.as_deref(), args.secret_key.as_deref()).await?;
    let (change, desired) = match args.action.unwrap_or(Action::List) {
        Action::List => {
            let report = features_report(&*store, OrgId::BUILT_IN, Timestamp::now()).await?;
            let attention = report.features.iter().any(|f| f.attention().is_some());
            if json {
                print_json(&report_json(&report))?;
            } else {
                print(text(&report).trim_end())?;
            }
            return Ok(if attention { Outcome::Problems } else { Outcome::Done });
        }
        Action::On(change) => (change, Some(true)),
        Action::Off(change) => (change, Some(false)),
        Action::Default(change) => (change, None),
    };
    let draft = FeatureDraft { name: change.name.clone(), desired, ..FeatureDraft::default() };
    let by = Actor { who: "command line".into(), ..Actor::system() };
    // While no server runs, the settings it would have are those of this environment; one has a default.
    let lacks = lacks(|setting| match (setting, std::env::var(setting)) {
        ("DOMAINSCOPE_GLOBALPING_URL", value) => value.as_deref() != Ok("none"),
        (_, value) => value.is_ok_and(|value| !value.is_empty()),
    });
    let asked = ask_feature(&*store, (&by, &lacks), OrgId::BUILT_IN, &draft, Timestamp::now()).await;
    let mut found = asked.map_err(|e| match e.kind {
        ErrorKind::NotFound | ErrorKind::Invalid => anyhow::Error::from(Wrong(e.detail)),
        _ => e.into(),
    })?;
    let until = tokio::time::Instant::now() + Duration::from_secs(change.wait);
    while !is_settled(&found) && tokio::time::Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(250)).await;
        found = one(&*store, &change.name).await?;
    }
    if json {
        print_json(&feature_json(&found))?;
    } else {
        print(&line(&found))?;
    }
    Ok(if change.wait > 0 && !is_settled(&found) { Outcome::Problems } else { Outcome::Done })
}

fn is_settled(f: &FeatureView) -> bool {
    f.feature.state == if f.feature.is_wanted() { State::On } else { State::Off }
}

async fn one(store: &dyn Store, name: &str) -> Result<FeatureView> {
    let report = features_report(store, OrgId::BUILT_IN, Timestamp::now()).await?;
    let found = report.features.into_iter().find(|f| f.feature.name == name);
    found.ok_or_else(|| anyhow::anyhow!("{name} was removed"))
}

fn word(on: bool) -> &'static str {
    if on { "On" } else { "Off" }
}

fn line(f: &FeatureView) -> String {
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
    if let Some(why) = f.attention() {
        line.push_str(&format!("\n  {why}"));
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

fn text(report: &FeaturesReport) -> String {
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
    out.push(format!(
        "\nVersion {}, {} running processes. {} {back}",
        report.version,
        report.processes,
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
        "guards": f.guards,
        "stage": f.feature.stage.as_str(),
        "since": f.feature.since,
        "default": word(f.feature.default),
        "desired": f.feature.desired.map(word),
        "state": f.feature.state.as_str(),
        "changed_at": f.feature.changed_at,
        "uses": f.uses.iter().map(|u| json!({
            "process": u.process, "version": u.version, "seen_at": u.seen_at, "value": u.used.map(word),
        })).collect::<Vec<_>>(),
        "leader": f.leader,
        "steps": f.steps().iter().map(step_json).collect::<Vec<_>>(),
        "tasks": tasks(&f.tasks),
        "leftovers": tasks(&f.leftovers),
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

/// Carries transitions on until the server stops, and says so in logs and metrics.
pub(super) async fn keep_going(runner: Runner<dyn Store>, stop: CancellationToken) {
    let mut failing = false;
    loop {
        match runner.tick(Timestamp::now()).await {
            Ok(tick) => {
                failing = false;
                for f in &tick.finished {
                    tracing::info!(feature = f.name, state = f.state.as_str(), "a feature changed its state");
                }
                // Registered ones have names that others choose: series of them would not end.
                for f in tick.features.iter().filter(|f| f.registered.is_none()) {
                    for state in State::ALL {
                        let value = if f.state == state { 1.0 } else { 0.0 };
                        metrics::gauge!("domainscope_feature_state", "feature" => f.name.clone(), "state" => state.as_str())
                            .set(value);
                    }
                    metrics::gauge!("domainscope_feature_tasks_left", "feature" => f.name.clone())
                        .set(f.tasks.len() as f64);
                }
                metrics::gauge!("domainscope_processes_live").set(tick.live as f64);
            }
            Err(e) => {
                // Logged once for each outage.
                if !failing {
                    tracing::warn!(error = %e, "the state of features could not be read or written; trying again");
                }
                failing = true;
            }
        }
        tokio::select! {
            biased;
            () = stop.cancelled() => break,
            () = tokio::time::sleep(PAUSE) => {}
        }
    }
    // Others wait until this process counts as dead if that fails.
    let _ = tokio::time::timeout(Duration::from_secs(2), runner.retire(Timestamp::now())).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use std::collections::BTreeMap;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: FeaturesArgs,
    }

    #[test]
    fn a_feature_fixed_to_on_needs_its_settings() {
        let none = lacks(|_| false);
        let fix = |text: &str| check_fixed(&[fixed(text).unwrap()], &none).map_err(|e| e.to_string());
        assert_eq!(
            fix("alerts-email=on").unwrap_err(),
            "--feature alerts-email=on needs the setting DOMAINSCOPE_SMTP_URL"
        );
        assert_eq!((fix("alerts-email=off"), fix("doh-server=on")), (Ok(()), Ok(())));
        assert!(check_fixed(&[fixed("alerts-email=on").unwrap()], &lacks(|_| true)).is_ok());
    }

    #[tokio::test]
    async fn what_needs_a_setting_is_not_turned_on_without_it() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().to_str().unwrap();
        let ask = async |value: &str, name: &str| {
            let line = ["features", value, name, "--data", data];
            run(Line::try_parse_from(line).unwrap().args, true).await.map_err(|e| e.to_string())
        };
        let on = async |name: &str| ask("on", name).await;
        let store = place::open(folder.path(), None, None).await.unwrap();
        let now = Timestamp::now();
        let process = |lacks| {
            let gates = ::features::Gates::configured(&BTreeMap::new(), lacks);
            Runner::new(store.clone(), gates, "one".into(), "0.1.0", now)
        };
        let whole = process(BTreeSet::new());
        whole.tick(now).await.unwrap();
        // The server runs and has all settings.
        on("open-tools").await.unwrap();
        whole.retire(now).await.unwrap();
        // No server runs, and none of the settings is in this environment.
        let refused = on("alerts-email").await.unwrap_err();
        assert!(refused.contains("DOMAINSCOPE_SMTP_URL") && refused.contains("no server runs"), "{refused}");
        on("third-party-vantages").await.expect("the address of Globalping has a default");
        // One runs without them.
        process(lacks(|_| false)).tick(now).await.unwrap();
        let refused = on("alerts-email").await.unwrap_err();
        assert!(refused.contains("DOMAINSCOPE_SMTP_URL") && refused.contains("one"), "{refused}");
        on("doh-server").await.unwrap();
        on("open-tools").await.unwrap();
        // Its default turns it on too.
        ask("off", "alerts-email").await.unwrap();
        let refused = ask("default", "alerts-email").await.unwrap_err();
        assert!(refused.contains("DOMAINSCOPE_SMTP_URL") && refused.contains("one"), "{refused}");
        ask("default", "third-party-vantages").await.expect("it is off by default");
        on("third-party-vantages").await.unwrap_err();
        let rows = store.feature_rows(OrgId::BUILT_IN, "", 99).await.unwrap();
        let asked: Vec<_> =
            rows.iter().filter(|r| r.feature.desired.is_some()).map(|r| r.feature.name.as_str()).collect();
        assert_eq!(asked, ["alerts-email", "doh-server", "open-tools"], "nothing else was stored");
    }
}
