//! What `serve --demo` has that others have not: the lab underneath, and an inventory of its domains.

use crate::backend::Product;
use crate::settings::EngineArgs;
use anyhow::{Context, Result};
use model::ids::OrgId;
use std::path::Path;

/// The lab of the demo, and the engine pointed at it.
pub(super) async fn start_lab(folder: &Path, engine: &mut EngineArgs) -> Result<lab::Lab> {
    let scenario = lab::Scenario::named("demo")?;
    let options = lab::Options::new(scenario, folder.join("lab"), jiff::Timestamp::now());
    let lab = lab::Lab::start(options).await.context("the lab")?;
    *engine = EngineArgs {
        config: Some(lab.endpoints().engine.clone()),
        freshness: Some(engine.freshness.unwrap_or(0)),
        // The lab's registries are ours: no stranger's patience is at stake.
        registry_spacing: Some(engine.registry_spacing.unwrap_or(2)),
        ..EngineArgs::default()
    }
    .resolved()?;
    Ok(lab)
}

/// Fills an empty demo inventory; one that a visitor has made is left alone.
pub(super) async fn inventory(product: &Product, domains: &[String]) -> Result<()> {
    use model::inventory::ListQuery;
    use model::item::Ownership;
    let held = product.store().list(OrgId::BUILT_IN, &ListQuery::default(), jiff::Timestamp::now()).await?;
    if held.total > 0 {
        return Ok(());
    }
    // As a team's inventory looks: the core names tagged, two that are only watched.
    let kind = |d: &String| match d.split('.').next().unwrap_or("") {
        "lumen" | "meadow" | "vacant-demo" | "vacant-lot" | "frei-demo" | "crown-jewels" => {
            (Ownership::Watched, "")
        }
        "alder" | "halcyon" | "kestrel-bank" => (Ownership::Owned, "prod"),
        "brightmoor" | "copperline" => (Ownership::Owned, "edge"),
        _ => (Ownership::Owned, ""),
    };
    let mut groups: Vec<((Ownership, &str), Vec<String>)> = Vec::new();
    for domain in domains {
        match groups.iter_mut().find(|(k, _)| *k == kind(domain)) {
            Some((_, names)) => names.push(domain.clone()),
            None => groups.push((kind(domain), vec![domain.clone()])),
        }
    }
    for ((ownership, tag), names) in groups {
        product.add_text(OrgId::BUILT_IN, &names.join("\n"), ownership, &[tag.to_string()]).await?;
    }
    Ok(())
}
