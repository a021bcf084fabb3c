//! `domainscope scan NAME`: one look at a domain, in the inventory or not.

use super::{Outcome, print, print_json, report, usage};
use crate::settings::EngineArgs;
use crate::wiring;
use anyhow::Result;
use clap::Args;
use model::carry::carry_forward;
use model::ids::{OrgId, Vantage};
use model::item::{Item, Ownership};
use model::judge::judge;
use model::names::DomainName;
use model::observation::{Observation, Part, PartKind};
use monitor::Observer;
use monitor::observer::NoProgress;
use service::addresses::PlacedAddress;
use std::path::PathBuf;

/// Flags of `scan`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  domainscope scan example.com\n  domainscope scan https://www.example.co.uk/ --json\n\n\
    Exit code 1 when the status is Critical, Warning or Unknown."
)]
pub(super) struct ScanArgs {
    /// Domain name; URLs, host names and IDNs are accepted
    #[arg(value_name = "NAME")]
    name: String,
    /// Also print the raw RDAP and WHOIS responses
    #[arg(long)]
    raw: bool,
    /// Folder of an installation: also print the claims of address space that cover the addresses
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The same of an installation on PostgreSQL: postgres://user@host/name
    #[arg(long, value_name = "URL", conflicts_with = "data")]
    database: Option<String>,
}

/// The keys of REST.
fn address_json(p: PlacedAddress) -> serde_json::Value {
    serde_json::to_value(crate::http::AddressV1::from(p)).unwrap_or_default()
}

pub(super) async fn run(args: &ScanArgs, engine: &EngineArgs, json: bool) -> Result<Outcome> {
    let understood = match DomainName::read(&args.name) {
        Ok(u) => u,
        Err(e) => return Ok(usage(&e.to_string())),
    };
    let internet = wiring::internet(engine)?;
    let thresholds = engine.thresholds()?;
    let name = understood.name;
    // Before the look-ups, which take a moment: a wrong folder is said at once.
    let registry = super::place::given(args.data.as_deref(), args.database.as_deref()).await?;
    let now = jiff::Timestamp::now();
    let ((registration, raw), parts) =
        futures::join!(internet.registration(&name, now, &NoProgress), internet.dns(&name, now, &NoProgress));
    let certificates = match &parts.zone.value {
        Some(zone) => internet.certificates(&name, zone, now, &NoProgress).await,
        None => Part::default(),
    };
    let observation = carry_forward(
        None,
        Observation {
            name: name.clone(),
            vantage: Vantage::local(),
            registration,
            delegation: parts.delegation,
            zone: parts.zone,
            dnssec: parts.dnssec,
            certificates,
            findings: parts.findings,
            pending: vec![],
            elsewhere: vec![],
            cluster: None,
            clusterset: None,
        },
    );
    let item = Item::new(OrgId::BUILT_IN, name, Ownership::Watched, now);
    let status = judge(&item, &observation, &thresholds, now);
    let placed = match &registry {
        Some(store) => Some(product::place_addresses(&**store, OrgId::BUILT_IN, &observation).await?),
        None => None,
    };
    let all_failed = PartKind::ALL.iter().all(|p| observation.error_of(*p).is_some());
    if json {
        let mut value =
            serde_json::json!({ "note": understood.note, "status": status, "observation": observation });
        if let Some(placed) = placed {
            value["addresses"] = placed.into_iter().map(address_json).collect();
        }
        if args.raw {
            value["raw"] = serde_json::to_value(&raw)?;
        }
        print_json(&value)?;
    } else {
        print(&report::scan(&observation, &status, understood.note.as_deref(), now))?;
        for line in placed.iter().flatten() {
            print(&line.sentence())?;
        }
        for answer in raw.iter().filter(|_| args.raw) {
            print(&format!(
                "\n--- {} of the {:?}, {} ---\n{}",
                answer.protocol.label(),
                answer.party,
                answer.server,
                answer.body
            ))?;
        }
    }
    if all_failed {
        anyhow::bail!("no data about {} could be read", observation.name);
    }
    Ok(if status.kind.is_problem() { Outcome::Problems } else { Outcome::Done })
}
