//! What `serve --demo` has that others have not: the lab underneath, and an inventory of its domains.

mod alerts;
mod claims;
mod history;
mod networks;

use crate::settings::EngineArgs;
use accounts::random_id;
use anyhow::{Context, Result};
use model::account::Actor;
use model::configure::{ServiceKind, ServiceSpec, ServiceState, StoredService};
use model::ids::{Caller, OrgId, Role};
use model::ownership::ClaimPolicy;
use product::Services;
use product::identity::Identity;
use service::Backend;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use store::{Job, Priority, Store};
use tokio_util::sync::CancellationToken;

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

/// Seconds that a change must last in the demo: visitors change the lab and wait for what comes of it.
pub(super) const CONFIRM_S: i64 = 5;

/// The same for a proof of ownership that is gone.
pub(super) fn claim_policy() -> ClaimPolicy {
    ClaimPolicy { apart: jiff::SignedDuration::from_secs(CONFIRM_S), ..ClaimPolicy::default() }
}

/// Domain, service, the values of its fields, its state.
type DemoService = (&'static str, ServiceKind, &'static [(&'static str, &'static str)], ServiceState);

/// Services of the demo's domains, one in each state, and how they stood last.
const SERVICES: [DemoService; 5] = [
    ("alder.example", ServiceKind::Caa, &[("issuers", "ca.lantern.example")], ServiceState::Working),
    (
        "alder.example",
        ServiceKind::Mail,
        &[
            ("servers", "10 mx1.alder.example, 20 mx2.alder.example"),
            ("spf", "include:_spf.post.example"),
            ("dkim", "post1 post1.dkim.post.example"),
            ("dmarc", "quarantine"),
            ("reports", "mailto:dmarc@alder.example"),
        ],
        ServiceState::Drifted,
    ),
    ("alder.example", ServiceKind::Acme, &[("target", "acme.alder.example")], ServiceState::NotSetUp),
    ("juniper-lab.example", ServiceKind::Web, &[("target", "edge.northlake.example")], ServiceState::Partial),
    ("ghost-ship.example", ServiceKind::Caa, &[("issuers", "ca.lantern.example")], ServiceState::Unknown),
];

/// Services for the demo's visitor; the schedule checks them from then on.
async fn services_of(services: &Services) -> Result<()> {
    let now = jiff::Timestamp::now();
    for (domain, kind, pairs, state) in SERVICES {
        let spec = ServiceSpec::new(kind, "", pairs.iter().copied()).map_err(anyhow::Error::msg)?;
        let mut service = StoredService::new(random_id(), domain, spec, now);
        service.state = state;
        if matches!(state, ServiceState::Working | ServiceState::Drifted) {
            service.worked_at = Some(now - jiff::SignedDuration::from_hours(22));
            service.sentence = "Checked yesterday.".into();
        }
        services.store().add_service(OrgId::BUILT_IN, &service, now).await?;
        services.store().enqueue(&[(Job::Service(service.id), now)], Priority::Scheduled).await?;
    }
    Ok(())
}

pub(super) use alerts::mail;

/// Fills an empty demo inventory; an existing one is kept.
pub(super) async fn inventory(services: &Services, engine: &EngineArgs, lab: &lab::Lab) -> Result<()> {
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
    for domain in &lab.endpoints().domains {
        match groups.iter_mut().find(|(k, _)| *k == kind(domain)) {
            Some((_, names)) => names.push(domain.clone()),
            None => groups.push((kind(domain), vec![domain.clone()])),
        }
    }
    for ((ownership, tag), names) in groups {
        services.add(&operator, &names.join("\n"), ownership, &[tag.to_string()]).await?;
    }
    // Pictures of the past only: a demo without them is whole.
    if let Err(e) = history::start(services, engine, lab).await {
        tracing::warn!("the demo has no past: {e:#}");
    }
    services_of(services).await?;
    networks::start(services).await?;
    alerts::start(services, lab).await?;
    // The second organisation of the visitor's.
    let credentials = services.store().credentials(VISITOR).await?;
    let Some(visitor) = credentials else { return Ok(()) };
    let memberships = services.store().memberships(&visitor.user.id).await?;
    if let Some(other) = memberships.iter().find(|m| m.org != operator.org) {
        claims::start(services, lab, other.org).await?;
    }
    Ok(())
}

/// Starts a point of presence in this process that joins over HTTP, as one elsewhere would.
pub(super) fn point_of_presence(
    store: Arc<dyn Store>,
    engine: EngineArgs,
    at: SocketAddr,
    stop: CancellationToken,
) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        let join = async {
            // A demo with a database of its own may have had one before.
            let by = Actor::system();
            store.revoke_agent(&by, "lab-2", jiff::Timestamp::now()).await?;
            let token = super::agent::token(&*store, "lab-2").await?;
            let base = url::Url::parse(&format!("http://{at}/"))?;
            super::agent::joined(&engine, &base, &token.token, ("lab-2", "loopback")).await
        };
        let joined = tokio::select! {
            () = stop.cancelled() => return,
            joined = join => joined,
        };
        match joined {
            Ok(agent) => Arc::new(agent).work(stop).await,
            Err(e) => tracing::warn!("the demo has no point of presence: {e:#}"),
        }
    })
}
