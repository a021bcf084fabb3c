//! What `serve --demo` has that others have not: the lab underneath, and an inventory of its domains.

use crate::settings::EngineArgs;
use accounts::random_id;
use anyhow::{Context, Result};
use model::ids::{Caller, Role};
use product::Services;
use product::identity::Identity;
use service::Backend;
use std::path::Path;
use std::sync::Arc;
use store::Store;

/// The lab of the demo, and the engine pointed at it.
pub(super) async fn start_lab(folder: &Path, engine: &mut EngineArgs) -> Result<lab::Lab> {
    let scenario = lab::Scenario::named("demo")?;
    let options = lab::Options::new(scenario, folder.join("lab"), jiff::Timestamp::now());
    let lab = lab::Lab::start(options).await.context("the lab")?;
    *engine = EngineArgs {
        config: Some(lab.endpoints().engine.clone()),
        freshness: Some(engine.freshness.unwrap_or(0)),
        // The lab's registries need no rate limit.
        registry_spacing: Some(engine.registry_spacing.unwrap_or(2)),
        ..EngineArgs::default()
    }
    .resolved()?;
    Ok(lab)
}

/// The account in whose name visitors of a demo act.
pub(super) const VISITOR: &str = "mira@alder.example";

/// Two organisations and their people. The accounts have no passwords: only local visitors can use a demo.
pub(super) async fn people(identity: &Identity, store: &Arc<dyn Store>) -> Result<()> {
    if identity.is_set_up().await? {
        return Ok(());
    }
    let now = jiff::Timestamp::now();
    let mira = identity.ensure_person(VISITOR, "Mira Holt").await?;
    let alder = store.create_org(&random_id(), "Alder Labs", &mira, now).await?;
    for (email, name, role) in [
        ("dns-ops@alder.example", "DNS operations", Role::Admin),
        ("oncall@alder.example", "Platform on-call", Role::Member),
        ("security@alder.example", "Security review", Role::Viewer),
    ] {
        let user = identity.ensure_person(email, name).await?;
        store.add_member(alder, &user, role, now, None).await?;
    }
    let quarry = identity.ensure_person("audit@quarry.example", "Quarry audit").await?;
    let other = store.create_org(&random_id(), "Quarry Hosting", &quarry, now).await?;
    store.add_member(other, &mira, Role::Member, now, None).await?;
    Ok(())
}

/// Fills an empty demo inventory; an existing one is kept.
pub(super) async fn inventory(services: &Services, domains: &[String]) -> Result<()> {
    use model::inventory::ListQuery;
    use model::item::Ownership;
    let operator = Caller::system();
    let held = services.list(&operator, &ListQuery::default()).await?;
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
        services.add(&operator, &names.join("\n"), ownership, &[tag.to_string()]).await?;
    }
    Ok(())
}
