//! `domainscope admin`: looking after an installation.

use super::{Outcome, place, print, print_json};
use crate::settings::Wrong;
use accounts::{Secret, SecretKind, random_id};
use anyhow::Result;
use clap::{Args, Subcommand};
use jiff::SignedDuration;
use model::account::{Actor, TokenInfo, TokenScope};
use model::ids::OrgId;
use model::names::DomainName;
use monitor::SystemClock;
use product::identity::Identity;
use std::path::PathBuf;
use std::sync::Arc;
use store::{Audit, Job, JobKind, JobPhase, JobState, Priority, Store};

/// Flags of `admin`.
#[derive(Debug, Args)]
pub(super) struct AdminArgs {
    #[command(subcommand)]
    action: Action,
    /// Folder of the embedded database
    #[arg(long, global = true, default_value = "data", env = "DOMAINSCOPE_DATA", value_name = "DIR")]
    data: PathBuf,
    /// PostgreSQL instead: postgres://user@host/name
    #[arg(long, global = true, env = "DOMAINSCOPE_DATABASE", value_name = "URL", hide_env_values = true)]
    database: Option<String>,
    /// Key that encrypts secrets in the database: 32 octets in base64, the same for all replicas; better set as a variable than as a
    /// flag, which others on the machine can see. Without it an embedded database has a key file beside it
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
    /// List the ownership claims of all organisations: what is claimed, where it stands, when it is checked next
    Claims,
    /// Print a link to set up an installation that has no account yet
    Link {
        /// No effect, kept for scripts: every link is a new one
        #[arg(long, hide = true)]
        renew: bool,
        /// Address of the installation
        #[arg(long, default_value = "http://127.0.0.1:8080", value_name = "URL")]
        url: String,
    },
    /// Print a link to set a new password for an account; it works once, for 24 hours
    ResetLink {
        /// E-mail address of the account
        email: String,
        /// Address of the installation
        #[arg(long, default_value = "http://127.0.0.1:8080", value_name = "URL")]
        url: String,
    },
    /// Create a token with which one point of presence can join; it works once, for 15 minutes
    JoinToken {
        /// Identity of the one that may join with it [default: any]
        #[arg(long, value_name = "ID", default_value = "")]
        id: String,
    },
    /// Create an API token of the first organisation and print it once
    Token {
        /// Name of the token in lists and in the audit log
        name: String,
        /// read: read everything; write: also change domains; admin: also change settings and members
        #[arg(long, default_value = "read", value_parser = ["read", "write", "admin"])]
        scope: String,
        /// Days until it expires, at most 366
        #[arg(long, default_value_t = 90, value_name = "DAYS", value_parser = clap::value_parser!(u16).range(1..=366))]
        days: u16,
    },
    /// List domains whose scans, or checks of claims and services, are suspended after repeated failures, with the reason
    Jobs {
        /// Scan and check these domains again, or “all” that are suspended
        #[arg(long, value_name = "DOMAIN", num_args = 1..)]
        retry: Vec<String>,
    },
    /// Print custom resource definitions (YAML) for the kinds of the resource API, so that a cluster can hold them
    Crds,
    /// Copy the embedded database into a new file, while the server runs
    Backup {
        /// The file to write
        file: PathBuf,
    },
    /// Put a copy in place of an installation that does not exist yet (--data DIR, an empty or new folder)
    Restore {
        /// A file that “admin backup” wrote
        file: PathBuf,
    },
    /// List notifications that could not be delivered, with the reason
    Notifications {
        /// Deliver all of them again
        #[arg(long)]
        retry: bool,
        /// Remove channels that were encrypted with a key that is lost
        #[arg(long, conflicts_with = "retry")]
        remove_unreadable: bool,
    },
}

/// The custom resource definitions as YAML documents.
fn crds() -> Result<String> {
    let texts =
        resources::definitions().into_iter().map(|d| resources::to_yaml(&d).map_err(anyhow::Error::msg));
    Ok(texts.collect::<Result<Vec<_>>>()?.join("---\n"))
}

/// Rows of a list that are printed.
const LISTED: u32 = 1000;

pub(super) async fn run(args: AdminArgs, json: bool) -> Result<Outcome> {
    if let Action::Crds = args.action {
        print(crds()?.trim_end())?;
        return Ok(Outcome::Done);
    }
    if let Action::Restore { file } = &args.action {
        super::backup::restore(file, &args.data, args.database.is_some()).await?;
        print(&format!("restored into {}", args.data.display()))?;
        return Ok(Outcome::Done);
    }
    let store = place::existing(&args.data, args.database.as_deref(), args.secret_key.as_deref()).await?;
    match args.action {
        // Answered above, without a database.
        Action::Crds => {}
        Action::JoinToken { id } => {
            let made = super::agent::token(&*store, &id).await?;
            if json {
                print_json(&serde_json::json!({ "token": made.token, "expires_at": made.expires_at }))?;
            } else {
                print(&made.token)?;
            }
        }
        Action::Link { renew: _, url } => {
            let Some(link) = identity(&store)?.setup_link().await? else {
                anyhow::bail!(
                    "this installation is set up already: sign in, or run “admin reset-link EMAIL” for a forgotten password"
                );
            };
            tell_link(&url, "setup", link.expose(), json)?;
        }
        Action::ResetLink { email, url } => {
            let Some(link) = identity(&store)?.reset_link(&email).await? else {
                return Err(Wrong(format!("no account has the address “{email}”")).into());
            };
            tell_link(&url, "reset", link.expose(), json)?;
        }
        Action::Token { name, scope, days } => token(&*store, &name, &scope, days, json).await?,
        Action::Jobs { retry } => jobs(&*store, &retry, json).await?,
        Action::Claims => claims(&*store, json).await?,
        Action::Backup { file } => {
            let key = super::backup::backup(&*store, &file, &args.data).await?;
            let beside = key.map(|k| format!(", and the key of its secrets into {}", k.display()));
            print(&format!("copied into {}{}", file.display(), beside.unwrap_or_default()))?;
        }
        Action::Restore { .. } => {}
        Action::Notifications { remove_unreadable: true, .. } => {
            let by = Actor { who: "admin command".into(), ..Actor::system() };
            let n = store.remove_unreadable_channels(&by, jiff::Timestamp::now()).await?;
            if json {
                print_json(&serde_json::json!({ "removed": n }))?;
            } else {
                print(&format!("{n} channels removed"))?;
            }
        }
        Action::Notifications { retry, .. } => notifications(&*store, retry, json).await?,
    }
    Ok(Outcome::Done)
}

fn identity(store: &Arc<dyn Store>) -> Result<Identity> {
    Ok(Identity::new(store.clone(), Arc::new(SystemClock), 1)?)
}

fn tell_link(url: &str, path: &str, secret: &str, json: bool) -> Result<()> {
    let link = format!("{}/{path}?key={secret}", url.trim_end_matches('/'));
    if json { print_json(&serde_json::json!({ "link": link })) } else { print(&link) }
}

async fn token(store: &dyn Store, name: &str, scope: &str, days: u16, json: bool) -> Result<()> {
    let now = jiff::Timestamp::now();
    let secret = Secret::generate(SecretKind::ApiToken);
    let token = TokenInfo {
        id: random_id(),
        name: name.chars().take(100).collect(),
        scope: TokenScope::from_word(scope).unwrap_or(TokenScope::Read),
        created_by: "admin command".into(),
        created_at: now,
        expires_at: Some(now + SignedDuration::from_hours(24 * i64::from(days))),
        last_used_at: None,
        hint: secret.expose().chars().take(8).collect(),
    };
    let log = Audit {
        org: OrgId::BUILT_IN,
        by: Actor { who: "admin command".into(), ..Actor::system() },
        at: now,
        action: "token.create",
        object: token.name.clone(),
        old: None,
        new: Some(format!("{}, {days} days", token.scope.as_str())),
    };
    store.create_token(OrgId::BUILT_IN, secret.hash().as_str(), &token, Some(&log)).await.map_err(
        |e| match e {
            store::Error::Broken(_) => {
                anyhow::anyhow!("set the installation up first: a token belongs to its organisation")
            }
            e => e.into(),
        },
    )?;
    if json {
        print_json(&serde_json::json!({ "token": secret.expose(), "expires_at": token.expires_at }))
    } else {
        print(secret.expose())
    }
}

async fn jobs(store: &dyn Store, retry: &[String], json: bool) -> Result<()> {
    let mut parked = Vec::new();
    for kind in JobKind::ALL {
        for state in store.parked_jobs(kind, LISTED).await? {
            parked.push((subject(store, &state.job).await?, state));
        }
    }
    let all = retry == ["all"];
    let mut names = Vec::new();
    for text in retry.iter().filter(|_| !all) {
        names.push(DomainName::read(text).map_err(|e| Wrong(format!("--retry {text}: {e}")))?.name);
    }
    let now = jiff::Timestamp::now();
    let chosen = |subject: &Subject| all || names.contains(&subject.domain);
    let retried: Vec<_> =
        parked.iter().filter(|(of, _)| chosen(of)).map(|(_, s)| (s.job.clone(), now)).collect();
    store.enqueue(&retried, Priority::Requested).await?;
    let since = |s: &JobState| match s.phase {
        JobPhase::Parked { at } => at,
        JobPhase::Waiting { run_at } | JobPhase::Running { run_at } => run_at,
    };
    let queue = store.queue_stats(JobKind::Scan, now).await?;
    if json {
        let rows: Vec<_> = parked
            .iter()
            .map(|(of, s)| {
                serde_json::json!({
                    "kind": s.job.kind().as_str(),
                    "domain": of.domain.as_str(),
                    "what": of.what,
                    "attempts": s.attempts,
                    "parked_at": since(s),
                    "reason": s.last_error,
                    "retried": chosen(of),
                })
            })
            .collect();
        let due = queue.due;
        return print_json(
            &serde_json::json!({ "due": due, "lag_seconds": queue.lag_seconds, "parked": rows }),
        );
    }
    let mut lines = vec![format!("{} scans due, {} domains suspended", queue.due, queue.parked)];
    let checks = parked.iter().filter(|(_, s)| s.job.kind() != JobKind::Scan).count();
    if checks > 0 {
        lines[0].push_str(&format!(", {checks} checks of claims and services suspended"));
    }
    for (of, s) in &parked {
        let reason = s.last_error.as_deref().unwrap_or("reason unknown");
        let again = if chosen(of) { " (queued again)" } else { "" };
        let (domain, what) = (&of.domain, &of.what);
        lines.push(format!("  {domain}  {what}  since {}  {reason}{again}", second(since(s))));
    }
    if retry.is_empty() && !parked.is_empty() {
        lines.push("Start again: domainscope admin jobs --retry DOMAIN, or --retry all".into());
    }
    print(&lines.join("\n"))
}

/// What a job is about.
struct Subject {
    domain: DomainName,
    /// `scan`, `claim NAME` or `service TITLE`.
    what: String,
}

async fn subject(store: &dyn Store, job: &Job) -> Result<Subject> {
    // What is gone has no domain; its job ends when it is started again.
    let gone = |word: &str| Subject { domain: DomainName::trusted("-"), what: format!("{word} (removed)") };
    Ok(match job {
        Job::Scan(name) => Subject { domain: name.clone(), what: "scan".into() },
        Job::Claim(id) => store.claim_of_id(id).await?.map_or_else(
            || gone("claim"),
            |c| Subject { domain: c.domain(), what: format!("claim {}", c.name) },
        ),
        Job::Service(id) => store.service(id).await?.map_or_else(
            || gone("service"),
            |s| Subject {
                domain: DomainName::trusted(&s.service.domain),
                what: format!("service {}", s.service.title),
            },
        ),
    })
}

async fn claims(store: &dyn Store, json: bool) -> Result<()> {
    let claims = store.all_claims("", LISTED).await?;
    if json {
        let row = |c: &store::StoredClaim| {
            serde_json::json!({
                "organisation": c.org.0,
                "name": c.name,
                "method": c.claim.method.as_str(),
                "state": c.claim.standing().as_str(),
                "next_check_at": c.claim.next_check_at,
                "last_proven_at": c.claim.last_proven_at,
                "outcome": c.round.as_ref().map(|r| r.outcome),
            })
        };
        return print_json(&serde_json::json!({ "claims": claims.iter().map(row).collect::<Vec<_>>() }));
    }
    let mut lines = vec![format!("{} ownership claims", claims.len())];
    for c in &claims {
        let next = c
            .claim
            .next_check_at
            .map_or_else(|| "no further check".into(), |at| format!("next check {}", second(at)));
        let (method, state) = (c.claim.method.as_str(), c.claim.standing().label());
        lines.push(format!("  {}  organisation {}  {method}  {state}, {next}", c.name, c.org.0));
    }
    print(&lines.join("\n"))
}

async fn notifications(store: &dyn Store, retry: bool, json: bool) -> Result<()> {
    let failed = store.failed_notifications(None, LISTED).await?;
    let retried =
        if retry { store.retry_notifications(None, None, jiff::Timestamp::now()).await? } else { 0 };
    let stats = store.outbox_stats().await?;
    if json {
        let rows: Vec<_> = failed
            .iter()
            .map(|n| {
                serde_json::json!({
                    "event": n.id.0,
                    "channel": n.channel,
                    "domain": n.domain.as_str(),
                    "domains": n.domains,
                    "failed_at": n.failed_at,
                    "reason": n.reason,
                })
            })
            .collect();
        return print_json(
            &serde_json::json!({ "waiting": stats.waiting, "failed": rows, "retried": retried }),
        );
    }
    let mut lines = vec![format!("{} notifications waiting, {} failed", stats.waiting, stats.failed)];
    for n in &failed {
        let (channel, at) = (&n.channel, second(n.failed_at));
        let more = if n.domains > 1 { format!(" and {} more", n.domains - 1) } else { String::new() };
        lines.push(format!("  {}{more}  {channel}  failed {at}  {}", n.domain.as_str(), n.reason));
    }
    if retry {
        lines.push(format!("{retried} queued for delivery"));
    } else if !failed.is_empty() {
        lines.push("Deliver again: domainscope admin notifications --retry".into());
    }
    print(&lines.join("\n"))
}

/// An instant to the second.
fn second(at: jiff::Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
