//! `domainscope serve`: opens the store, starts the workers, serves.

mod announce;
mod flags;

pub(super) use flags::ServeArgs;

use super::stops::Stops;
use super::{Outcome, demo};
use crate::http::{self, Access, AppState, BuiltIn, Bundle};
use crate::settings::EngineArgs;
use crate::wiring;
use accounts::random_id;
use announce::announce;
use anyhow::{Context, Result};
use model::ids::OrgId;
use monitor::{Hub, Policy, Scanner, SystemClock, Worker};
use product::identity::{Identity, Oidc};
use product::{Bounds, Quotas, Services, Tools};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Time for requests in progress when the server stops.
const GRACE: Duration = Duration::from_secs(2);

/// How often what the metrics have gathered is put into their buckets.
const UPKEEP: Duration = Duration::from_secs(5);

pub(super) async fn run(mut args: ServeArgs, mut engine: EngineArgs, files: BuiltIn) -> Result<Outcome> {
    // With a database of its own a demo still has a lab, which writes files.
    let scratch = if args.demo && args.data.is_none() {
        Some(tempfile::Builder::new().prefix("domainscope-demo-").tempdir().context("a temporary folder")?)
    } else {
        None
    };
    let folder = match (&scratch, &args.data) {
        (Some(s), _) => s.path().to_path_buf(),
        (None, Some(d)) => d.clone(),
        (None, None) => PathBuf::from("data"),
    };
    let open_origins = args.open.origins(&engine)?;
    let thresholds = engine.thresholds()?;
    let overlap = crate::settings::shared_space(&crate::settings::list(
        std::mem::take(&mut args.shared_space),
        std::mem::take(&mut engine.shared_space),
    ))?;
    let oidc = std::mem::take(&mut args.oidc).over(std::mem::take(&mut engine.oidc)).settings()?;
    // Bind first: fail on a used port before anything else is changed.
    let listener = listen(args.listen, "--listen").await?;
    let watched = match args.metrics_listen {
        Some(at) => Some(listen(at, "--metrics-listen").await?),
        None => None,
    };
    // Held until the end.
    let _alone = match &args.database {
        Some(_) => None,
        None => Some(super::place::alone(&folder)?),
    };
    let lab = if args.demo { Some(demo::start_lab(&folder, &mut engine).await?) } else { None };
    if let Some(lab) = &lab {
        demo::mail(&mut args.mail, lab, listener.local_addr()?);
    }
    let https = args.doh.listener(listener.local_addr()?, lab.as_ref()).await?;
    let store = super::place::open(&folder, args.database.as_deref(), args.secret_key.as_deref()).await?;
    store.check_channels().await?;
    if args.database.is_none() {
        // Alone with its database: leases of an earlier process need not run out first.
        let released = store.release_lost(jiff::Timestamp::now()).await?;
        if released > 0 {
            tracing::info!(released, "work that an earlier process did not finish is done again");
        }
    }
    let cluster =
        product::cluster_identity(&*store, args.cluster_id.as_deref(), jiff::Timestamp::now()).await;
    let cluster = cluster.map_err(|e| match e.kind {
        service::ErrorKind::Invalid => {
            anyhow::Error::from(crate::settings::Wrong(format!("--cluster-id: {}", e.detail)))
        }
        _ => e.into(),
    })?;
    let set = store.cluster_claim(fleet::CLUSTERSET_CLAIM).await?.map(|c| c.value).unwrap_or_default();
    super::log_cluster(&cluster, &set);
    let cluster = notify::Cluster { id: cluster, set };
    let at_once = std::thread::available_parallelism().map_or(1, |n| n.get().div_ceil(2));
    let identity = Identity::new(store.clone(), Arc::new(SystemClock), at_once).context("accounts")?;
    if args.demo {
        demo::people(&identity, &store).await?;
    }
    let setup = identity.setup_link().await?;

    let (mut internet, budgets) = wiring::internet_sharing(&engine, &store)?;
    let dns = internet.engine.clone();
    let oidc = match oidc {
        Some(settings) => Some(Oidc::new(settings, wiring::dialer(&engine, &dns)?)),
        None => None,
    };
    let identity = identity.with_oidc(oidc);
    tokio::spawn({
        let identity = identity.clone();
        async move { identity.check_oidc().await }
    });
    let third_parties = args.third_party.networks(wiring::dialer(&engine, &dns)?)?;
    let lacks = super::features::lacks(|setting| match setting {
        "DOMAINSCOPE_SMTP_URL" => args.mail.smtp_url.is_some(),
        "DOMAINSCOPE_OPEN_TOOLS" => args.open.names_tools(&engine),
        _ => !third_parties.networks.is_empty(),
    });
    super::features::check_fixed(&args.feature, &lacks)?;
    let gates = features::Gates::configured(&args.feature.iter().cloned().collect(), lacks);
    internet.second = Some(Arc::new(product::SecondLook {
        store: store.clone(),
        gates: gates.clone(),
        clock: Arc::new(SystemClock),
    }));
    let inspector = wiring::inspector(&engine, &dns)?.with_gates(gates.clone());
    let org_a_minute = args.org_lookup_rate.unwrap_or_else(|| args.lookup_rate.saturating_mul(5));
    let tools = Tools::new(
        wiring::comparer(&engine, &dns)?,
        Bounds { a_minute: args.lookup_rate, org_a_minute, ..Bounds::default() },
        inspector.clone(),
    )
    .with_third_parties(third_parties);
    let policy = Policy {
        interval_s: i64::from(args.interval),
        concurrency: usize::from(args.concurrency),
        claim_suffix: args.claim_suffix.clone(),
        freshness_s: engine.freshness.unwrap_or(Policy::default().freshness_s),
        thresholds,
        reminder_days: args.mail.expiry_days.0.clone(),
        keep_days: args.keep_days,
        confirm_s: if args.demo { demo::CONFIRM_S } else { Policy::default().confirm_s },
        claims: if args.demo { demo::claim_policy() } else { Policy::default().claims },
        ..Policy::default()
    };
    let resolver = args.doh.resolver(&engine, &dns)?;
    let deliverer = args.mail.deliverer(&engine, &dns)?.with_gates(gates.clone()).with_cluster(cluster);
    let dispatcher =
        notify::Dispatcher::new(store.clone(), Arc::new(jiff::Timestamp::now), deliverer.clone());
    let hub = Hub::on(&super::features::host_name());
    let scanner = Scanner {
        store: store.clone(),
        observer: Arc::new(internet),
        clock: Arc::new(SystemClock),
        hub: hub.clone(),
        policy,
    };
    scanner.judge_by_new_thresholds().await?;
    if let Err(e) = scanner.forget_faults_of_predecessors().await {
        tracing::warn!(error = %e, "faults of a process before this one could not be deleted");
    }
    // Before the first scan: what the process before this one held back is still held.
    if let Err(e) = scanner.share_faults().await {
        tracing::warn!(error = %e, "faults that other processes found could not be read");
    }
    let sharing = scanner.clone();
    let process = format!("{}-{}", std::process::id(), &random_id()[..6]);
    let runner = features::Runner::new(
        store.clone(),
        gates.clone(),
        super::features::process_name(&process),
        env!("CARGO_PKG_VERSION"),
        jiff::Timestamp::now(),
    );
    let worker = Worker::new(scanner.clone(), process.clone())
        .with_services(Arc::new(inspector))
        .with_upkeep(runner.duty(monitor::UPKEEP));
    let names = deliverer.clone();
    let services = Services {
        scanner,
        worker: worker.clone(),
        engine: dns,
        tools,
        deliverer,
        identity: identity.clone(),
        gates: gates.clone(),
        quotas: Quotas {
            domains: args.max_domains,
            network_claims: args.max_network_claims,
            ..Quotas::default()
        },
        overlap,
        demo: args.demo,
        visitors: None,
    };
    let services = args.open.open(services, &engine, args.demo, &budgets)?;
    if let Some(lab) = &lab {
        demo::inventory(&services, &engine, lab).await?;
    }

    let metrics = super::exposition::install()?;
    let bundle = match &args.assets {
        Some(path) => Bundle::folder(path)?,
        None => Bundle::built_in(files),
    };
    if bundle.is_empty() {
        tracing::warn!("no browser bundle was built into this binary: pages work without live updates");
    }
    tokio::spawn(keep_up(metrics.clone()));
    let state = AppState::new(
        services,
        Access { identity, demo: args.demo.then(|| demo::VISITOR.to_string()) },
        bundle,
        metrics,
    )
    .behind(args.trusted_proxy.clone())
    .open_to(open_origins);

    // Before the first request: a feature that is off is off from the start.
    if let Err(e) = runner.tick(jiff::Timestamp::now()).await {
        tracing::warn!(error = %e, "the state of features could not be read");
    }

    // The first list of a large inventory reads all of it once; better now than under a visitor.
    tokio::spawn({
        let store = store.clone();
        async move { store.summary(OrgId::BUILT_IN, jiff::Timestamp::now()).await }
    });

    let stop = CancellationToken::new();
    let log = tokio::spawn(hub.follow(store.clone(), Duration::from_secs(1), stop.clone()));
    tokio::spawn(monitor::report_blocked_hosts(budgets, stop.clone()));
    let faults = tokio::spawn(sharing.keep_sharing_faults(stop.clone()));
    let work = tokio::spawn({
        let stop = stop.clone();
        async move { worker.run(stop).await }
    });
    let messages = tokio::spawn(dispatcher.run(stop.clone()));
    let lifecycle = tokio::spawn(super::features::keep_going(runner, stop.clone()));
    tokio::spawn(super::gauges::keep_current(store.clone(), names, stop.clone()));
    tokio::spawn(state.clone().keep_collecting(stop.clone()));
    let address = listener.local_addr()?;
    let secure = https.as_ref().map(|(listener, _)| listener.local_addr()).transpose()?;
    let health_at = watched.as_ref().map(TcpListener::local_addr).transpose()?;
    // A second place to look from, with real traffic to the lab.
    let point =
        lab.is_some().then(|| demo::point_of_presence(store.clone(), engine.clone(), address, stop.clone()));
    let mut stops = Stops::catch().context("signals")?;
    announce(&args, (address, secure, health_at), setup.as_ref(), &folder, lab.as_ref());
    let health = {
        let (stop, health) = (stop.clone(), state.clone().health());
        async {
            if let Some(listener) = watched {
                http::serve(listener, None, health, stop).await;
            }
        }
    };
    let pages = state.router();
    let plain = args.doh.beside(pages.clone(), &resolver, address, false, &gates);
    let plain = http::serve(listener, None, plain, stop.clone());
    let encrypted = {
        let stop = stop.clone();
        async {
            if let Some((listener, tls)) = https
                && let Some(at) = secure
            {
                let router = args.doh.beside(pages, &resolver, at, true, &gates);
                http::serve(listener, Some(tls), router, stop).await;
            }
        }
    };
    tokio::spawn({
        let stop = stop.clone();
        async move {
            stops.asked().await;
            tracing::info!(
                "stopping: waiting for requests and scans in progress (send the signal again to stop now)"
            );
            stop.cancel();
            stops.asked().await;
            std::process::exit(130);
        }
    });
    // Event streams never end by themselves; a page that watches must not keep the process alive.
    tokio::select! {
        _ = async { tokio::join!(plain, encrypted, health) } => {}
        () = async { stop.cancelled().await; tokio::time::sleep(GRACE).await } => {}
    }
    // Leases of what is cut off run out by themselves.
    let _ = tokio::time::timeout(Duration::from_secs(10), async {
        tokio::join!(work, log, messages, lifecycle, faults)
    })
    .await;
    if let Some(point) = point {
        point.abort();
    }
    if let Some(lab) = lab {
        lab.shutdown().await;
    }
    Ok(Outcome::Done)
}

/// Drains histograms, which keep every value until then, even if the metrics are never read.
async fn keep_up(metrics: metrics_exporter_prometheus::PrometheusHandle) {
    loop {
        tokio::time::sleep(UPKEEP).await;
        metrics.run_upkeep();
    }
}

async fn listen(at: SocketAddr, flag: &str) -> Result<TcpListener> {
    let bound = TcpListener::bind(at).await;
    bound.with_context(|| format!("can't listen on {at}: stop what uses it or pass {flag} ADDR"))
}
