//! Builds the engine from its settings: dialer, registration client, DNS engine.

use crate::settings::{EngineArgs, Wrong};
use anyhow::{Context, Result, anyhow};
use async_trait::async_trait;
use model::names::Fqdn;
use monitor::{NetworkObserver, StoreBootstrapCache, StoreLedger};
use std::collections::HashMap;
use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use store::Store;

/// Resolves host names with our own DNS engine: inside a closed network the system's resolver does not know them.
struct EngineResolver(dns::Engine);

#[async_trait]
impl net::Resolve for EngineResolver {
    async fn resolve(&self, host: &str) -> Result<Vec<IpAddr>, String> {
        self.0.lookup(&Fqdn::trusted(host)).await.map_err(|e| e.to_string())
    }
}

/// Keeps the addresses of registries for 30 s, as the resolver of a system does, which closed networks do not use.
struct RememberingResolver {
    engine: EngineResolver,
    known: Mutex<HashMap<String, (Instant, Vec<IpAddr>)>>,
}

/// How long the addresses of a host are remembered.
const REMEMBERED: Duration = Duration::from_secs(30);
/// Hosts that are remembered; all are forgotten when there are more.
const HOSTS: usize = 1_000;

#[async_trait]
impl net::Resolve for RememberingResolver {
    async fn resolve(&self, host: &str) -> Result<Vec<IpAddr>, String> {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = known().get(host).filter(|(at, _)| at.elapsed() < REMEMBERED).map(|(_, a)| a.clone());
        if let Some(addresses) = fresh {
            return Ok(addresses);
        }
        let addresses = self.engine.resolve(host).await?;
        let mut known = known();
        if known.len() >= HOSTS {
            known.clear();
        }
        known.insert(host.to_string(), (Instant::now(), addresses.clone()));
        Ok(addresses)
    }
}

/// The engine these settings describe.
///
/// # Errors
/// When a file they name can't be read or used; the message names the setting.
pub fn internet(args: &EngineArgs) -> Result<NetworkObserver> {
    build(args, net::Budgets::new(), usize::MAX, None)
}

/// The same for one of several replicas, which share the budgets of registry hosts through the store. Returns the
/// budgets for the metrics.
///
/// # Errors
/// As [`internet`].
pub fn internet_sharing(
    args: &EngineArgs,
    store: &Arc<dyn Store>,
) -> Result<(NetworkObserver, net::Budgets)> {
    let budgets = net::Budgets::shared(Arc::new(StoreLedger(store.clone())), jiff::Timestamp::now);
    let cache = Arc::new(StoreBootstrapCache(store.clone()));
    Ok((build(args, budgets.clone(), MAX_WAITERS, Some(cache))?, budgets))
}

/// Scans of one process that may wait for the same registry host; further ones are tried again later.
const MAX_WAITERS: usize = 8;

/// Of visitors without an account, who share these budgets with the schedule.
const MAX_WAITING_VISITORS: usize = 2;

/// The same for visitors without an account: with [`public_only`] settings.
///
/// # Errors
/// As [`internet`].
pub fn internet_for_visitors(
    args: &EngineArgs,
    store: &Arc<dyn Store>,
    budgets: &net::Budgets,
) -> Result<NetworkObserver> {
    let cache = Arc::new(StoreBootstrapCache(store.clone()));
    build(args, budgets.clone(), MAX_WAITING_VISITORS, Some(cache))
}

/// The settings under which visitors without an account may ask: none that open private addresses. In a lab, whose
/// public addresses are mapped to this machine, nothing changes.
pub fn public_only(args: &EngineArgs) -> EngineArgs {
    if args.address_map.is_some() {
        return args.clone();
    }
    EngineArgs { allow_private: false, allow_networks: Vec::new(), web_ports: Vec::new(), ..args.clone() }
}

fn build(
    args: &EngineArgs,
    budgets: net::Budgets,
    max_waiters: usize,
    cache: Option<Arc<dyn registration::BootstrapCache>>,
) -> Result<NetworkObserver> {
    let address_map = match &args.address_map {
        Some(path) => net::AddressMap::read(path).map_err(|e| anyhow!("address map: {e}"))?,
        None => net::AddressMap::default(),
    };
    let engine = dns_engine(args, address_map)?;
    let dialer = if args.root_hints.is_some() {
        let resolver =
            RememberingResolver { engine: EngineResolver(engine.clone()), known: Mutex::default() };
        dialer_with(args, &engine, Arc::new(resolver))?
    } else {
        dialer(args, &engine)?
    };
    // Proofs on web servers are looked for at addresses from the authoritative servers, not from a resolver's cache.
    let web = dialer_with(args, &engine, Arc::new(EngineResolver(engine.clone())))?;
    let client = registration::Client::sharing(
        registration::Settings {
            rdap_bootstrap: args.rdap_bootstrap.clone(),
            whois_server: args.whois_server.clone(),
            spacing: args.registry_spacing.map(Duration::from_millis),
            agreed: agreed_limits(args)?,
            max_waiters,
            ..registration::Settings::default()
        },
        dialer,
        budgets,
        cache,
    )
    .map_err(|e| anyhow!("registration settings: {e}"))?;
    Ok(NetworkObserver { client, engine, web, second: None })
}

fn agreed_limits(args: &EngineArgs) -> Result<registration::Limits> {
    let Some(path) = &args.registry_limits else { return Ok(registration::Limits::default()) };
    let limits = read(path, "registry limits")?.parse::<registration::Limits>();
    limits.with_context(|| format!("registry limits {}", path.display()))
}

/// The dialer these settings describe: resolver, guard, address map and certificate authorities.
///
/// # Errors
/// When a file they name can't be read or used; the message names the setting.
pub fn dialer(args: &EngineArgs, engine: &dns::Engine) -> Result<net::Dialer> {
    let resolver: Arc<dyn net::Resolve> = if args.root_hints.is_some() {
        Arc::new(EngineResolver(engine.clone()))
    } else {
        Arc::new(net::SystemResolver)
    };
    dialer_with(args, engine, resolver)
}

fn dialer_with(
    args: &EngineArgs,
    engine: &dns::Engine,
    resolver: Arc<dyn net::Resolve>,
) -> Result<net::Dialer> {
    let extra_ca = match &args.extra_ca {
        Some(path) => Some(authorities(path).with_context(|| format!("extra CA {}", path.display()))?),
        None => None,
    };
    Ok(net::Dialer::new(net::Settings {
        resolver,
        allow_private: args.allow_private,
        networks: networks(args)?,
        ports: args.web_ports.clone(),
        extra_ca,
        address_map: engine.settings().address_map.clone(),
        ..net::Settings::default()
    })?)
}

/// Certificates in PEM. A file without any is an error, because it would be ignored silently.
fn authorities(path: &Path) -> Result<Vec<u8>> {
    use rustls_pki_types::CertificateDer;
    use rustls_pki_types::pem::PemObject;
    let pem = std::fs::read(path)?;
    let read = CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>();
    match read {
        Ok(list) if list.is_empty() => Err(anyhow!("the file contains no PEM certificate")),
        Ok(_) => Ok(pem),
        Err(e) => Err(anyhow!("the PEM certificates can't be read: {e}")),
    }
}

/// Compares authoritative servers with the resolvers these settings name, or with the shipped table.
///
/// # Errors
/// When the table can't be read or breaks a rule; the message names file, row and rule.
pub fn comparer(args: &EngineArgs, engine: &dns::Engine) -> Result<dns::compare::Comparer> {
    let resolvers = match &args.resolvers {
        Some(word) if word.as_os_str() == "all" => dns::recursive::shipped().to_vec(),
        Some(path) => model::resolvers::parse(&read(path, "resolvers")?)
            .with_context(|| format!("resolvers {}", path.display()))?,
        None => dns::recursive::shipped().iter().filter(|r| r.default).cloned().collect(),
    };
    if let (Some(path), []) = (&args.resolvers, &resolvers[..]) {
        return Err(anyhow!("resolvers {}: the file contains no [[resolver]] row", path.display()));
    }
    let recursive = dns::recursive::Recursive::new(dialer(args, engine)?, engine.settings());
    let clock = Arc::new(dns::compare::SystemClock);
    Ok(dns::compare::Comparer::new(engine.clone(), recursive, resolvers, clock))
}

/// Looks at services with the provider's Domain Connect; links are signed where these settings name a key.
///
/// # Errors
/// When the key can't be read or is none for RS256; the message names the setting.
pub fn inspector(args: &EngineArgs, engine: &dns::Engine) -> Result<product::configure::Inspector> {
    use rustls_pki_types::PrivatePkcs8KeyDer;
    use rustls_pki_types::pem::PemObject;
    let key = match &args.domain_connect_key {
        None => None,
        Some(path) => {
            let what = || format!("Domain Connect key {}", path.display());
            let label = args.domain_connect_key_label.as_deref().unwrap_or("_dck1");
            let pem = std::fs::read(path).with_context(what)?;
            let der = PrivatePkcs8KeyDer::from_pem_slice(&pem)
                .map_err(|e| anyhow!("the file holds no PRIVATE KEY in PEM: {e}"))
                .with_context(what)?;
            let key = connect::sign::SigningKey::from_pkcs8(der.secret_pkcs8_der(), label);
            Some(key.map_err(|e| anyhow!("{e}")).with_context(what)?)
        }
    };
    let inspector = product::configure::Inspector::new(engine.clone());
    Ok(inspector.with_domain_connect(dialer(args, engine)?, key))
}

fn dns_engine(args: &EngineArgs, address_map: net::AddressMap) -> Result<dns::Engine> {
    let mut settings = dns::Settings {
        allow_private: args.allow_private,
        networks: networks(args)?,
        address_map,
        ..dns::Settings::default()
    };
    if let Some(path) = &args.root_hints {
        settings.root_hints =
            dns::RootHints::parse(&read(path, "root hints")?).with_context(|| path.display().to_string())?;
    }
    if let Some(path) = &args.trust_anchor {
        settings.trust_anchors = dns::TrustAnchors::parse(&read(path, "trust anchor")?)
            .with_context(|| path.display().to_string())?;
        if settings.trust_anchors.0.is_empty() {
            tracing::error!("{} holds no DS or DNSKEY record: signatures are not validated", path.display());
        }
    }
    if args.dns_port == Some(0) {
        return Err(Wrong("the port of name servers (dns_port) can't be 0".into()).into());
    }
    if let Some(port) = args.dns_port {
        settings.port = port;
    }
    settings.own_networks = args.own_networks.iter().map(|text| network(text)).collect::<Result<_, _>>()?;
    if let Some(zone) = &args.asn_zone {
        settings.asn_zone = match zone.as_str() {
            "-" => String::new(),
            zone => Fqdn::read(zone).map_err(|e| Wrong(format!("asn_zone: {e}")))?.name.to_string(),
        };
    }
    Ok(dns::Engine::new(settings))
}

/// The prefixes the operator allows and denies.
fn networks(args: &EngineArgs) -> Result<net::Networks, Wrong> {
    let read = |what: &str, list: &[String]| {
        let each = list.iter().map(|text| text.parse().map_err(|e| Wrong(format!("{what}: {e}"))));
        each.collect::<Result<Vec<_>, _>>()
    };
    Ok(net::Networks {
        allow: read("allow_networks", &args.allow_networks)?,
        deny: read("deny_networks", &args.deny_networks)?,
    })
}

/// `10.0.0.0/8`, `2001:db8::/32`.
fn network(text: &str) -> Result<(IpAddr, u8), Wrong> {
    let wrong = || Wrong(format!("own_networks: “{text}” is not ADDRESS/LENGTH, as in 10.0.0.0/8"));
    let (block, length) = text.trim().split_once('/').ok_or_else(wrong)?;
    let block: IpAddr = block.parse().map_err(|_| wrong())?;
    let length: u8 = length.parse().map_err(|_| wrong())?;
    let most = if block.is_ipv4() { 32 } else { 128 };
    if length > most { Err(wrong()) } else { Ok((block, length)) }
}

fn read(path: &Path, what: &str) -> Result<String> {
    let text = std::fs::read_to_string(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::InvalidData => anyhow!("the file is not text (UTF-8)"),
        _ => e.into(),
    });
    text.with_context(|| format!("{what} {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_an_address_and_a_length_that_fits_it() {
        for bad in ["", "10.0.0.0", "10.0.0.0/33", "10.0.0/8", "::/129", "10.0.0.0/x"] {
            assert!(network(bad).unwrap_err().to_string().contains("ADDRESS/LENGTH"), "{bad}");
        }
        assert_eq!(network("127.0.0.0/8").unwrap(), ("127.0.0.0".parse().unwrap(), 8));
        assert_eq!(network(" 2001:db8::/32").unwrap(), ("2001:db8::".parse().unwrap(), 32));
    }

    #[test]
    fn settings_without_effect_are_errors() {
        let dir = tempfile::tempdir().unwrap();
        let empty = dir.path().join("empty");
        std::fs::write(&empty, "# nothing\n").unwrap();
        let engine = dns::Engine::new(dns::Settings::default());
        let args = EngineArgs { resolvers: Some(empty.clone()), ..EngineArgs::default() };
        let e = format!("{:#}", comparer(&args, &engine).err().unwrap());
        assert!(e.contains("empty") && e.contains("[[resolver]]"), "{e}");
        let args = EngineArgs { extra_ca: Some(empty), ..EngineArgs::default() };
        let e = format!("{:#}", dialer(&args, &engine).err().unwrap());
        assert!(e.contains("empty") && e.contains("no PEM certificate"), "{e}");
        let wrong = [
            EngineArgs { dns_port: Some(0), ..EngineArgs::default() },
            EngineArgs { asn_zone: Some("a b".into()), ..EngineArgs::default() },
            EngineArgs { own_networks: vec!["10.0.0.0".into()], ..EngineArgs::default() },
            EngineArgs { allow_networks: vec!["10.0.0.0/40".into()], ..EngineArgs::default() },
            EngineArgs { deny_networks: vec!["ten".into()], ..EngineArgs::default() },
        ];
        for args in wrong {
            let e = internet(&args).err().unwrap();
            assert!(e.is::<Wrong>(), "{args:?}: {e:#}");
        }
    }

    #[test]
    fn agreed_limits_are_read_from_a_file_and_errors_name_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("limits.toml");
        let with = |text: &str| {
            std::fs::write(&path, text).unwrap();
            agreed_limits(&EngineArgs { registry_limits: Some(path.clone()), ..EngineArgs::default() })
        };
        assert!(
            with("[[limit]]\nhosts = [\"whois.nic.example\"]\nper_second = 20\nconcurrency = 4\n").is_ok()
        );
        let wrong = format!("{:#}", with("[[limit]]\nhosts = []\n").err().unwrap());
        assert!(wrong.contains("limits.toml"), "{wrong}");
        assert!(agreed_limits(&EngineArgs::default()).is_ok());
        let gone = EngineArgs { registry_limits: Some("nowhere.toml".into()), ..EngineArgs::default() };
        assert!(format!("{:#}", agreed_limits(&gone).err().unwrap()).contains("nowhere.toml"));
    }
}
