//! `domainscope serve`: opens the store, starts the workers, serves.

use super::stops::Stops;
use super::{Outcome, demo};
use crate::http::{self, Access, AppState, BuiltIn, Bundle};
use crate::settings::{EngineArgs, OidcArgs, ThirdPartyArgs};
use crate::wiring;
use accounts::{Secret, random_id};
use anyhow::{Context, Result};
use clap::Args;
use model::ids::OrgId;
use monitor::{Hub, Policy, Scanner, SystemClock, Worker};
use product::identity::{Identity, Oidc};
use product::{Bounds, Quotas, Services, Tools};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Flags of `serve`.
#[derive(Debug, Args)]
pub(super) struct ServeArgs {
    /// Run against the built-in lab with a demo inventory; needs no Internet access and no sign-in from localhost
    #[arg(long)]
    demo: bool,
    /// Address to listen on
    #[arg(
        long,
        default_value = "127.0.0.1:8080",
        env = "DOMAINSCOPE_LISTEN",
        value_name = "ADDR",
        value_parser = address
    )]
    listen: SocketAddr,
    /// Folder of the embedded database [default: ./data, with --demo a temporary one]
    #[arg(long, env = "DOMAINSCOPE_DATA", value_name = "DIR", conflicts_with = "database")]
    data: Option<PathBuf>,
    /// PostgreSQL to use instead: postgres://user@host/name
    #[arg(long, env = "DOMAINSCOPE_DATABASE", value_name = "URL", hide_env_values = true)]
    database: Option<String>,
    /// Key that encrypts secrets in the database: 32 octets in base64, the same for all replicas; better set as a variable than as a
    /// flag, which others on the machine can see. Without it an embedded database has a key file beside it
    #[arg(long, env = "DOMAINSCOPE_SECRET_KEY", value_name = "BASE64", hide_env_values = true)]
    secret_key: Option<String>,
    /// Folder of a browser bundle to use instead of the built-in one
    #[arg(long, value_name = "DIR", hide = true)]
    assets: Option<PathBuf>,
    /// Seconds between two scheduled scans of a domain, at least 60
    #[arg(
        long,
        default_value_t = 3600,
        env = "DOMAINSCOPE_INTERVAL",
        value_name = "SECONDS",
        value_parser = clap::value_parser!(u32).range(60..)
    )]
    interval: u32,
    /// Concurrent scans
    #[arg(
        long,
        default_value_t = 16,
        env = "DOMAINSCOPE_CONCURRENCY",
        value_name = "N",
        value_parser = clap::value_parser!(u16).range(1..=1024)
    )]
    concurrency: u16,
    /// Separate address for /metrics, /livez and /readyz, without sign-in: choose one that only your monitoring can reach
    #[arg(long, env = "DOMAINSCOPE_METRICS_LISTEN", value_name = "ADDR", value_parser = address)]
    metrics_listen: Option<SocketAddr>,
    /// Lookups per minute and caller: a trace counts 1, a scan 2, a comparison, analysis or check 3; 0 for no limit
    #[arg(long, default_value_t = 60, env = "DOMAINSCOPE_LOOKUP_RATE", value_name = "N")]
    lookup_rate: u32,
    /// Lookups per minute of all members and tokens of an organisation, counted like --lookup-rate; 0 for no limit [default: five times --lookup-rate]
    #[arg(long, env = "DOMAINSCOPE_ORG_LOOKUP_RATE", value_name = "N")]
    org_lookup_rate: Option<u32>,
    /// Network of a proxy whose X-Forwarded-For, -Proto and -Host are believed; may be repeated
    #[arg(long, env = "DOMAINSCOPE_TRUSTED_PROXY", value_name = "PREFIX", value_delimiter = ',')]
    trusted_proxy: Vec<http::ProxyNetwork>,
    /// Most domains of one organisation
    #[arg(long, default_value_t = Quotas::default().domains, env = "DOMAINSCOPE_MAX_DOMAINS", value_name = "N")]
    max_domains: u64,
    /// Most claims of address space of one organisation
    #[arg(long, default_value_t = Quotas::default().network_claims, env = "DOMAINSCOPE_MAX_NETWORK_CLAIMS", value_name = "N")]
    max_network_claims: u64,
    /// Prefixes inside which each organisation has an address space of its own (a list with commas), as in 10.0.0.0/8 [default: none]
    #[arg(long, env = "DOMAINSCOPE_SHARED_SPACE", value_name = "PREFIX", value_delimiter = ',')]
    shared_space: Vec<String>,
    /// Domain of yours below which CNAME ownership challenges point, as in verify.example.net
    #[arg(long, env = "DOMAINSCOPE_CLAIM_SUFFIX", value_name = "DOMAIN", value_parser = claim_suffix)]
    claim_suffix: Option<String>,
    /// Days that history is kept; the newest change of a domain always is
    #[arg(
        long,
        default_value_t = 400,
        env = "DOMAINSCOPE_KEEP_DAYS",
        value_name = "DAYS",
        value_parser = clap::value_parser!(u32).range(7..)
    )]
    keep_days: u32,
    /// Identity of this installation (id.k8s.io), an RFC 1123 label [default: a UUID made at the first start and kept]
    #[arg(long, env = "DOMAINSCOPE_CLUSTER_ID", value_name = "ID")]
    cluster_id: Option<String>,
    /// Fix a feature in this process, as in doh-server=off; may be repeated. Others are set with “domainscope features”
    #[arg(long, env = "DOMAINSCOPE_FEATURE", value_name = "NAME=on|off", value_delimiter = ',', value_parser = super::features::fixed)]
    feature: Vec<(String, bool)>,
    #[command(flatten)]
    open: super::open::OpenArgs,
    #[command(flatten)]
    doh: super::doh::DohArgs,
    #[command(flatten)]
    mail: super::mail::MailArgs,
    #[command(flatten)]
    oidc: OidcArgs,
    #[command(flatten)]
    third_party: ThirdPartyArgs,
}

/// `127.0.0.1:8080`, `[::]:8080`, `localhost:8080`.
fn address(text: &str) -> Result<SocketAddr, String> {
    let named = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    named.as_deref().unwrap_or(text).parse().map_err(|_| {
        "write ADDRESS:PORT, as in 127.0.0.1:8080 (this machine), 0.0.0.0:8080 or [::]:8080 (every interface)"
            .into()
    })
}

/// A host name, in the form it is compared in.
fn claim_suffix(text: &str) -> Result<String, String> {
    let name = model::names::Fqdn::read(text).map_err(|e| e.to_string())?.name;
    if name.as_str().is_empty() {
        Err("the root can't be the domain of challenges".into())
    } else {
        Ok(name.to_string())
    }
}

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

fn announce(
    args: &ServeArgs,
    (address, secure, health): (SocketAddr, Option<SocketAddr>, Option<SocketAddr>),
    setup: Option<&Secret>,
    folder: &Path,
    lab: Option<&lab::Lab>,
) {
    let mut lines = vec![format!("Domainscope {}", env!("CARGO_PKG_VERSION"))];
    let mut say = |line: String| lines.push(line);
    if let Some(lab) = lab {
        say(format!("  Open        http://{address}"));
        say(format!(
            "  Lab         http://{} changes it while it runs: curl -d 'renew q7.io 1' http://{}/commands",
            lab.endpoints().control,
            lab.endpoints().control
        ));
        say(format!(
            "  Engine      {} lets other commands use the same lab:",
            lab.endpoints().engine.display()
        ));
        say(format!("              domainscope scan q7.io --config {}", lab.endpoints().engine.display()));
    }
    if let Some(link) = setup {
        say(format!("  Set up      http://{address}/setup?key={}", link.expose()));
        say("              creates the first account; the link works once, for 7 days".into());
    }
    if let Some(secure) = secure {
        say(format!("  HTTPS       https://{secure}"));
        say(format!("              DNS over HTTPS: https://{secure}/dns-query{{?dns}}"));
        if let Some(lab) = lab {
            say(format!(
                "              certificate of the lab's authority: {}",
                lab.endpoints().extra_ca.display()
            ));
        }
    }
    if args.database.is_some() {
        say("  Data        PostgreSQL".into());
    } else {
        say(format!(
            "  Data        {}{}",
            folder.display(),
            if args.data.is_none() && args.demo { " (deleted on exit)" } else { "" }
        ));
    }
    if let Some(at) = health {
        say(format!("  Metrics     http://{at}/metrics"));
    }
    say("  Stop        Ctrl-C".into());
    // Standard output may be closed; `admin link` prints the link again.
    if let Err(e) = super::print(&lines.join("\n")) {
        tracing::warn!("the address could not be printed: {e:#}");
    }
}
