//! `domainscope admin`: looking after an installation.

use super::serve::{KEY_SETTING, new_key, operator_key};
use super::{Outcome, place, print, print_json};
use anyhow::Result;
use clap::{Args, Subcommand};
use model::ids::OrgId;
use std::path::PathBuf;

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
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Print the set-up link again
    Link {
        /// Make a new one; the old one and its browsers are locked out after the next start
        #[arg(long)]
        renew: bool,
        /// Address of the installation
        #[arg(long, default_value = "http://127.0.0.1:8080", value_name = "URL")]
        url: String,
    },
}

pub(super) async fn run(args: AdminArgs, json: bool) -> Result<Outcome> {
    // Opening makes what is not there: a link to an installation that nobody serves would open nothing.
    if args.database.is_none() && !args.data.join("domainscope.db").exists() {
        anyhow::bail!(
            "no installation is in {}: pass --data DIR (or --database URL) as it is given to serve",
            args.data.display()
        );
    }
    let store = place::open(&args.data, args.database.as_deref()).await?;
    match args.action {
        Action::Link { renew, url } => {
            if renew {
                store.set_setting(OrgId::BUILT_IN, KEY_SETTING, &new_key(), jiff::Timestamp::now()).await?;
            }
            let link = format!("{}/setup?key={}", url.trim_end_matches('/'), operator_key(&store).await?);
            if json {
                print_json(&serde_json::json!({ "link": link }))?;
            } else {
                print(&link)?;
            }
        }
    }
    Ok(Outcome::Done)
}
