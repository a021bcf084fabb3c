//! `domainscope trace NAME [TYPE]`.

use super::{Outcome, print, print_json, usage};
use crate::settings::EngineArgs;
use crate::wiring;
use anyhow::Result;
use clap::Args;
use model::dns::TraceOutcome;
use model::ids::OrgId;
use model::names::Fqdn;
use std::path::PathBuf;

/// Flags of `trace`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  domainscope trace www.example.com\n  domainscope trace example.com MX --json\n\n\
    Exit code 1 if no server gives a usable answer, or the CNAME records form a loop."
)]
pub(super) struct TraceArgs {
    /// Name to query
    #[arg(value_name = "NAME")]
    name: String,
    /// Record type
    #[arg(value_name = "TYPE", default_value = "A")]
    rtype: String,
    /// Folder of an installation: also print the claims of address space that cover the addresses
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The same of an installation on PostgreSQL: postgres://user@host/name
    #[arg(long, value_name = "URL", conflicts_with = "data")]
    database: Option<String>,
}

pub(super) async fn run(args: &TraceArgs, engine: &EngineArgs, json: bool) -> Result<Outcome> {
    let name = match Fqdn::read(&args.name) {
        Ok(u) => u.name,
        Err(e) => return Ok(usage(&e.to_string())),
    };
    // Before the look-ups, which take a moment: a wrong folder is said at once.
    let registry = super::place::given(args.data.as_deref(), args.database.as_deref()).await?;
    let internet = wiring::internet(engine)?;
    let mut trace = match internet.engine.trace(&name, &args.rtype).await {
        Ok(trace) => trace,
        Err(e @ (dns::Error::Name(..) | dns::Error::Type(_))) => return Ok(usage(&e.to_string())),
        Err(e) => return Err(e.into()),
    };
    if let Some(store) = registry {
        product::place_trace(&*store, OrgId::BUILT_IN, &mut trace).await?;
    }
    if json {
        print_json(&trace)?;
    } else {
        print(&super::text::trace::trace_tree(&trace, true))?;
        for a in &trace.address_space {
            print(&a.sentence)?;
        }
    }
    let good = matches!(trace.outcome, TraceOutcome::Answer | TraceOutcome::NoData | TraceOutcome::NxDomain)
        && trace.circle().is_none();
    Ok(if good { Outcome::Done } else { Outcome::Problems })
}
