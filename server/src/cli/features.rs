//! `domainscope features`: where each feature stands, and turning them on and off. Also the loop that carries transitions
//! on in a running server.

mod shown;

pub(crate) use shown::{feature_json, report_json};

use super::{Outcome, place, print, print_json};
use crate::settings::Wrong;
use ::features::{FEATURES, Runner, State};
use anyhow::Result;
use clap::{Args, Subcommand};
use jiff::Timestamp;
use model::account::Actor;
use model::ids::OrgId;
use product::{ask_feature, clean_feature, feature_view, features_report};
use service::{ErrorKind, FeatureDraft, FeatureView};
use shown::{line, text};
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
    /// Turn a feature off: clears its uses, then deletes its data
    Off(Change),
    /// Leave a feature to its default
    Default(Change),
    /// Delete what is left of a feature that is off, without turning it on
    Clean(Change),
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

/// The name of this host; empty where it is not known.
pub(super) fn host_name() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    host.trim().to_string()
}

/// The name of this process in lists: the host, and what tells its processes apart.
pub(super) fn process_name(process: &str) -> String {
    let host: String =
        host_name().chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(40).collect();
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
        Action::On(change) => (change, Some(Some(true))),
        Action::Off(change) => (change, Some(Some(false))),
        Action::Default(change) => (change, Some(None)),
        Action::Clean(change) => (change, None),
    };
    let by = Actor { who: "command line".into(), ..Actor::system() };
    // While no server runs, the settings it would have are those of this environment; one has a default.
    let lacks = lacks(|setting| match (setting, std::env::var(setting)) {
        ("DOMAINSCOPE_GLOBALPING_URL", value) => value.as_deref() != Ok("none"),
        (_, value) => value.is_ok_and(|value| !value.is_empty()),
    });
    let (org, now) = (OrgId::BUILT_IN, Timestamp::now());
    let asked = match desired {
        Some(desired) => {
            let draft = FeatureDraft { name: change.name.clone(), desired, ..FeatureDraft::default() };
            ask_feature(&*store, (&by, &lacks), org, &draft, now).await
        }
        None => clean_feature(&*store, &by, org, (&change.name, None), now).await,
    };
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
    let found = feature_view(store, OrgId::BUILT_IN, name, Timestamp::now()).await?;
    found.ok_or_else(|| anyhow::anyhow!("{name} was removed"))
}

/// Carries transitions on until the server stops, and says so in logs and metrics.
pub(super) async fn keep_going(runner: Runner<dyn Store>, stop: CancellationToken) {
    // Each is logged once for each outage.
    let (mut is_stuck, mut is_unreachable) = (false, false);
    loop {
        match runner.tick(Timestamp::now()).await {
            Ok(tick) => {
                is_unreachable = false;
                if let Some(e) = tick.failed.first().filter(|_| !is_stuck) {
                    tracing::warn!(error = %e, "a feature could not go on; trying again");
                }
                is_stuck = !tick.failed.is_empty();
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
                if !is_unreachable {
                    tracing::warn!(error = %e, "the state of features could not be read or written; trying again");
                }
                is_unreachable = true;
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
    async fn leftovers_are_deleted_by_a_command_and_steps_are_listed() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().to_str().unwrap();
        let ask = async |words: [&str; 2]| {
            let line = ["features", words[0], words[1], "--data", data];
            run(Line::try_parse_from(line).unwrap().args, false).await.map_err(|e| e.to_string())
        };
        let store = place::open(folder.path(), None, None).await.unwrap();
        let mut now = Timestamp::now();
        let gates = ::features::Gates::default();
        let runner = Runner::new(store.clone(), gates, "one".into(), "0.1.0", now);
        assert_eq!(runner.tick(now).await.unwrap().failed, []);
        store.swap_budget("third-party/atlas", None, "{}", now).await.unwrap().unwrap();
        ask(["clean", "third-party-vantages"]).await.unwrap();
        let found = one(&*store, "third-party-vantages").await.unwrap();
        let shown = line(&found);
        assert!(shown.contains("TurningOff") && shown.contains("1 of 4  Clear uses: done"), "{shown}");
        assert!(shown.contains("2 of 4  Wait until no process reports On: waiting since"), "{shown}");
        assert!(shown.contains("4 of 4  Finish: queued"), "{shown}");
        for _ in 0..4 {
            now += jiff::SignedDuration::from_secs(1);
            assert_eq!(runner.tick(now).await.unwrap().failed, []);
        }
        let found = one(&*store, "third-party-vantages").await.unwrap();
        assert_eq!((found.feature.state, found.leftovers.len()), (State::Off, 0));
        let refused = ask(["clean", "doh-server"]).await.unwrap_err();
        assert!(refused.contains("turn it off"), "{refused}");
    }

    #[tokio::test]
    async fn channels_that_cannot_be_read_are_not_counted_and_a_change_is_made() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().to_str().unwrap();
        let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
        let store = place::open(folder.path(), None, Some(key)).await.unwrap();
        let now = Timestamp::now();
        let runner = Runner::new(store.clone(), ::features::Gates::default(), "one".into(), "0.1.0", now);
        assert_eq!(runner.tick(now).await.unwrap().failed, []);
        let target = model::notify::Target::Slack { url: "https://hooks.example/a".into() };
        let channel =
            model::notify::Channel { id: "c".into(), name: "Operations".into(), target, created_at: now };
        store.save_channel(OrgId::BUILT_IN, &channel, now).await.unwrap();
        // Without the key that the channel was encrypted with.
        let ask = async |words: [&str; 2]| {
            let line = ["features", words[0], words[1], "--data", data];
            run(Line::try_parse_from(line).unwrap().args, false).await.map_err(|e| e.to_string())
        };
        let bare = place::open(folder.path(), None, None).await.unwrap();
        let stands = async || one(&*bare, "alerts-slack").await.unwrap();
        for (word, desired) in [("off", Some(false)), ("default", None), ("off", Some(false))] {
            ask([word, "alerts-slack"]).await.unwrap();
            assert_eq!(stands().await.feature.desired, desired);
        }
        assert_eq!(runner.tick(now + jiff::SignedDuration::from_secs(1)).await.unwrap().failed, []);
        let turning = stands().await;
        assert_eq!(turning.feature.state, State::TurningOff);
        let waits = turning.tasks[0].sentence();
        assert!(waits.ends_with("(leftovers unknown: needs the secret key)"), "{waits}");
        assert!(turning.steps().iter().any(|s| s.detail.starts_with("Leftovers unknown")));
        let row = store.feature_rows(OrgId::BUILT_IN, "alerts-s", 1).await.unwrap().remove(0);
        let off = ::features::Feature { state: State::Off, tasks: Vec::new(), ..row.feature };
        assert!(store.write_feature(row.rv.0, &off, now).await.unwrap());
        let found = stands().await;
        assert_eq!((found.leftovers.len(), found.uncounted.as_deref()), (0, Some("needs the secret key")));
        assert!(line(&found).ends_with("leftovers unknown: needs the secret key"), "{}", line(&found));
        assert_eq!(one(&*store, "alerts-slack").await.unwrap().leftovers.len(), 1);
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
        assert_eq!(whole.tick(now).await.unwrap().failed, []);
        // The server runs and has all settings.
        on("open-tools").await.unwrap();
        whole.retire(now).await.unwrap();
        // No server runs, and none of the settings is in this environment.
        let refused = on("alerts-email").await.unwrap_err();
        assert!(refused.contains("DOMAINSCOPE_SMTP_URL") && refused.contains("no server runs"), "{refused}");
        on("third-party-vantages").await.expect("the address of Globalping has a default");
        // One runs without them.
        assert_eq!(process(lacks(|_| false)).tick(now).await.unwrap().failed, []);
        let refused = on("alerts-email").await.unwrap_err();
        assert!(refused.contains("DOMAINSCOPE_SMTP_URL, which the process one does not have"), "{refused}");
        assert!(refused.ends_with("s ago: if it has ended, try again in a minute."), "{refused}");
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
