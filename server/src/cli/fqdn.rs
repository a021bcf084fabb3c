//! `domainscope fqdn NAME`: the chain of a host name, its problems, and when it is safe to change it.

use super::{Outcome, print, print_json, usage};
use crate::settings::EngineArgs;
use crate::wiring;
use anyhow::Result;
use clap::Args;
use dns::fqdn::{Here, Vantage, analyze};
use model::ids::OrgId;
use model::names::Fqdn;
use monitor::observer::cause_at_registry;
use std::path::PathBuf;
use std::sync::Arc;

/// Flags of `fqdn`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  domainscope fqdn www.example.com\n  domainscope fqdn www.example.com --json\n\n\
    Exit code 1 when the name does not resolve, or its chain has a problem of level WARNING or worse."
)]
pub(super) struct FqdnArgs {
    /// Host name
    #[arg(value_name = "NAME")]
    name: String,
    /// Folder of an installation: also print the claims of address space that cover the addresses
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The same of an installation on PostgreSQL: postgres://user@host/name
    #[arg(long, value_name = "URL", conflicts_with = "data")]
    database: Option<String>,
}

pub(super) async fn run(args: &FqdnArgs, engine: &EngineArgs, json: bool) -> Result<Outcome> {
    let name = match Fqdn::read(&args.name) {
        Ok(u) => u.name,
        Err(e) => return Ok(usage(&e.to_string())),
    };
    // Before the look-ups, which take a moment: a wrong folder is said at once.
    let registry = super::place::given(args.data.as_deref(), args.database.as_deref()).await?;
    let internet = wiring::internet(engine)?;
    let here: Arc<dyn Vantage> = Arc::new(Here::new(internet.engine.clone()).called("This machine"));
    let now = jiff::Timestamp::now();
    let mut report = analyze(&name, &[here], now).await;
    if report.wants_registration() {
        report = report.because(cause_at_registry(&internet, &name, now).await);
    }
    if let Some(store) = registry {
        product::place_report(&*store, OrgId::BUILT_IN, &mut report).await?;
    }
    if json {
        print_json(&report)?;
    } else {
        print(super::text::fqdn::report(&report, true).trim_end())?;
    }
    if report.chain.is_empty() {
        let why = report.vantages.iter().find_map(|v| v.error.clone()).unwrap_or_default();
        // The report contains the reason.
        let why = if json { format!(": {why}") } else { String::new() };
        anyhow::bail!("{name} could not be analyzed{why}");
    }
    Ok(if report.is_problem() { Outcome::Problems } else { Outcome::Done })
}
