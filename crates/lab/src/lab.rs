//! Starting, changing and stopping a lab. In: [`Options`]. Out: listeners on loopback, files that say where they are,
//! and a handle. Everything ends when the handle is shut down or dropped.

use std::{
    collections::{BTreeMap, HashMap},
    net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::{Duration, Instant},
};

use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    Error,
    command::Command,
    control, dns,
    export::{self, Endpoints},
    http,
    inbox::{self, Inbox, Received},
    log::{Log, QueryLog},
    registry,
    resolver::{self, Resolvers},
    scenario::Scenario,
    sockets::{self, Socket},
    target::Target,
    tls::{Authority, Certificate},
    web,
    world::{Clock, Role, WHOIS_ROOT, World},
};

/// How a lab is to be started.
#[derive(Clone, Debug)]
pub struct Options {
    /// What it contains.
    pub scenario: Scenario,
    /// Where it writes its files; made when it is not there.
    pub state_dir: PathBuf,
    /// Port of all DNS servers; a free one when `None`.
    pub dns_port: Option<u16>,
    /// Port of all WHOIS servers; a free one when `None`.
    pub whois_port: Option<u16>,
    /// Port of RDAP and web servers; a free one when `None`.
    pub https_port: Option<u16>,
    /// Behave as on a system that has only 127.0.0.1.
    pub force_single_address: bool,
    /// The lab's time at the start; relative dates of the scenario count from it.
    pub now: jiff::Timestamp,
}

impl Options {
    /// Free ports, addresses as the system allows.
    #[must_use]
    pub fn new(scenario: Scenario, state_dir: impl Into<PathBuf>, now: jiff::Timestamp) -> Self {
        Self {
            scenario,
            state_dir: state_dir.into(),
            dns_port: None,
            whois_port: None,
            https_port: None,
            force_single_address: false,
            now,
        }
    }
}

/// What all servers of a lab share.
pub(crate) struct Shared {
    pub world: RwLock<World>,
    pub log: Log,
    pub resolvers: Resolvers,
    pub inbox: Inbox,
    drops: Mutex<HashMap<String, u64>>,
    rates: Mutex<HashMap<Target, (Instant, u32)>>,
}

impl Shared {
    /// The lab's time as `Date` has it (RFC 9110 section 5.6.7).
    pub(crate) fn http_date(&self) -> String {
        let now = self.world.read().unwrap_or_else(PoisonError::into_inner).clock.now();
        now.to_zoned(jiff::tz::TimeZone::UTC).strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
    }

    /// Loses `percent` of the questions of a host, evenly and not at random, so that tests can count.
    pub(crate) fn lose(&self, host: &str, percent: u32) -> bool {
        let mut drops = self.drops.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = drops.entry(host.to_owned()).or_insert(0);
        let before = *seen * u64::from(percent) / 100;
        *seen += 1;
        *seen * u64::from(percent) / 100 > before
    }

    /// Counts a request; the seconds to wait when it is one too many in this minute.
    pub(crate) fn over_limit(&self, target: &Target, allowance: u32) -> Option<u64> {
        const WINDOW: Duration = Duration::from_secs(60);
        let mut rates = self.rates.lock().unwrap_or_else(PoisonError::into_inner);
        let (start, count) = rates.entry(target.clone()).or_insert((Instant::now(), 0));
        if start.elapsed() >= WINDOW {
            (*start, *count) = (Instant::now(), 0);
        }
        *count = count.saturating_add(1);
        (*count > allowance).then(|| WINDOW.saturating_sub(start.elapsed()).as_secs().max(1))
    }

    /// Applies a command to the world.
    pub(crate) fn apply(&self, command: Command) -> Result<String, Error> {
        match &command {
            Command::Resolver { resolver, act } => return self.act(resolver, act),
            Command::Advance { seconds } => return self.resolvers.advance(*seconds),
            _ => {}
        }
        let reset = command == Command::ResetLog;
        if matches!(command, Command::SetFault { .. } | Command::ClearFaults) {
            self.rates.lock().unwrap_or_else(PoisonError::into_inner).clear();
            self.drops.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
        let said = self.world.write().unwrap_or_else(PoisonError::into_inner).apply(command)?;
        if reset {
            self.log.reset();
        }
        Ok(said)
    }
}

/// A running lab.
pub struct Lab {
    shared: Arc<Shared>,
    endpoints: Endpoints,
    map: BTreeMap<SocketAddrV4, SocketAddr>,
    authority: Authority,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Lab {
    /// Builds the world, takes the ports, writes the files, serves.
    ///
    /// # Errors
    /// [`Error::Scenario`] for what the scenario gets wrong, [`Error::Bind`] for ports that are taken,
    /// [`Error::File`] for a state folder that can't be written.
    pub async fn start(options: Options) -> Result<Self, Error> {
        let single = options.force_single_address || sockets::is_single().await;
        let mut world = World::build(&options.scenario, Clock::new(options.now), 0)?;
        let pick = |wanted: fn(&Role) -> bool| -> Vec<(String, Ipv4Addr)> {
            world.hosts.iter().filter(|(_, h)| wanted(&h.role)).map(|(n, h)| (n.clone(), h.ip)).collect()
        };
        let dns_hosts = pick(|r| matches!(r, Role::Dns { .. } | Role::Resolver));
        let resolver_hosts = pick(|r| matches!(r, Role::Resolver));
        let whois_hosts = pick(|r| matches!(r, Role::Whois(_)));
        let https_hosts = pick(|r| matches!(r, Role::Rdap(_) | Role::Web | Role::Resolver));
        let dns = sockets::bind("DNS servers", &dns_hosts, options.dns_port, true, single).await?;
        let whois = sockets::bind("WHOIS servers", &whois_hosts, options.whois_port, false, single).await?;
        let https = sockets::bind("HTTPS servers", &https_hosts, options.https_port, false, single).await?;
        let web_hosts = pick(|r| matches!(r, Role::Web | Role::Resolver));
        let http = sockets::bind("HTTP servers", &web_hosts, None, false, single).await?;
        let dot = sockets::bind("DNS over TLS", &resolver_hosts, None, false, single).await?;
        let sites = pick(|r| matches!(r, Role::Web));
        let control = (Ipv4Addr::LOCALHOST, 0);
        let control = TcpListener::bind(control)
            .await
            .map_err(|source| Error::Bind { what: "the control endpoint".into(), source })?;
        let control_at = control
            .local_addr()
            .map_err(|source| Error::Bind { what: "the control endpoint".into(), source })?;
        let mail = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .map_err(|source| Error::Bind { what: "the mail server".into(), source })?;
        let mail_at =
            mail.local_addr().map_err(|source| Error::Bind { what: "the mail server".into(), source })?;
        world.https_port = https.port;
        world.announce_domain_connect(&options.scenario)?;

        let authority = Authority::new()?;
        let names: Vec<String> = https_hosts.iter().map(|(n, _)| n.clone()).collect();
        let mut addresses: Vec<IpAddr> = https_hosts.iter().map(|(_, ip)| IpAddr::V4(*ip)).collect();
        addresses.push(IpAddr::V4(Ipv4Addr::LOCALHOST));
        let mut acceptors = HashMap::new();
        let common = authority.acceptor(&names, &addresses, &["http/1.1"])?;
        let of_resolvers = authority.acceptor(&names, &addresses, &["h2", "http/1.1"])?;
        let of_dot = authority.acceptor(&names, &addresses, &["dot"])?;
        for (host, ip) in &https_hosts {
            let acceptor = match world.web.get(host) {
                Some(web) => authority.site(web, IpAddr::V4(*ip), options.now)?,
                None if resolver_hosts.iter().any(|(name, _)| name == host) => of_resolvers.clone(),
                None => common.clone(),
            };
            acceptors.insert(host.clone(), acceptor);
        }

        let mut map = dns.map.clone();
        map.extend(&whois.map);
        map.extend(&https.map);
        map.extend(&http.map);
        map.extend(&dot.map);
        // Web servers are asked at the ports that browsers use, which only root may bind.
        for (_, ip) in sites {
            for (shown, port) in [(443, https.port), (80, http.port)] {
                let real = sockets::real(&map, ip, port);
                map.insert(SocketAddrV4::new(ip, shown), real);
            }
        }
        let resolvers = Resolvers::new(&options.scenario, &world);
        let whois_root = world.ip(WHOIS_ROOT).unwrap_or(Ipv4Addr::LOCALHOST);
        let endpoints = export::write(
            &options.state_dir,
            &world,
            &resolvers,
            &export::Where {
                dns_port: dns.port,
                https_port: https.port,
                http_port: http.port,
                dot_port: dot.port,
                whois: SocketAddrV4::new(whois_root, whois.port),
                control: control_at,
                smtp: mail_at,
                ca: authority.pem(),
                map: &map,
            },
        )?;

        let roles: HashMap<String, Role> =
            world.hosts.iter().map(|(n, h)| (n.clone(), h.role.clone())).collect();
        let shared = Arc::new(Shared {
            world: RwLock::new(world),
            log: Log::default(),
            resolvers,
            inbox: Inbox::default(),
            drops: Mutex::default(),
            rates: Mutex::default(),
        });
        shared.remember(&options.scenario)?;
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        let lab = Self { shared, endpoints, map, authority, stop, tasks };
        for group in [dns, whois, https] {
            for (host, socket) in group.sockets {
                let Some(role) = roles.get(&host) else { continue };
                let acceptor = acceptors.get(&host).cloned();
                lab.serve(host, role.clone(), socket, acceptor);
            }
        }
        for (host, socket) in http.sockets {
            let Some(role) = roles.get(&host) else { continue };
            lab.serve(host, role.clone(), socket, None);
        }
        for (host, socket) in dot.sockets {
            let Socket::Stream(tcp) = socket else { continue };
            let (shared, stop) = (lab.shared.clone(), lab.stop.clone());
            lab.tasks.spawn(dns::serve::tls(shared, host, tcp, of_dot.clone(), stop));
        }
        lab.tasks.spawn(inbox::serve(lab.shared.clone(), mail, lab.stop.clone()));
        let (shared, stop) = (lab.shared.clone(), lab.stop.clone());
        lab.tasks
            .spawn(http::serve(control, None, stop, move |request| control::answer(shared.clone(), request)));
        Ok(lab)
    }

    fn serve(&self, host: String, role: Role, socket: Socket, tls: Option<TlsAcceptor>) {
        let (shared, stop) = (self.shared.clone(), self.stop.clone());
        match (role, socket) {
            (Role::Dns { .. } | Role::Resolver, Socket::Pair(udp, tcp)) => {
                self.tasks.spawn(dns::serve::udp(shared.clone(), host.clone(), udp, stop.clone()));
                self.tasks.spawn(dns::serve::tcp(shared, host, tcp, stop));
            }
            (Role::Whois(id), Socket::Stream(tcp)) => {
                self.tasks.spawn(registry::whois_service::serve(shared, host, id, tcp, stop));
            }
            (Role::Rdap(id), Socket::Stream(tcp)) => {
                self.tasks.spawn(http::serve(tcp, tls, stop, move |request| {
                    registry::rdap_service::answer(shared.clone(), host.clone(), id.clone(), request)
                }));
            }
            (Role::Resolver, Socket::Stream(tcp)) => {
                let (door, name) = (shared.clone(), host.clone());
                let shut = move || door.resolvers.of_host(&name).is_some_and(resolver::serve::is_dead);
                self.tasks.spawn(http::serve_behind(tcp, tls, stop, Arc::new(shut), move |request| {
                    resolver::doh_answer(shared.clone(), host.clone(), request)
                }));
            }
            (Role::Web, Socket::Stream(tcp)) => {
                self.tasks.spawn(http::serve(tcp, tls, stop, move |request| {
                    web::answer(shared.clone(), host.clone(), request)
                }));
            }
            _ => {}
        }
    }

    /// Lets time pass in the lab.
    pub fn pass(&self, by: jiff::SignedDuration) {
        self.shared.world.write().unwrap_or_else(PoisonError::into_inner).clock.pass(by);
    }

    /// Where everything is.
    #[must_use]
    pub fn endpoints(&self) -> &Endpoints {
        &self.endpoints
    }

    /// Changes the lab and says in words what happened.
    ///
    /// # Errors
    /// [`Error::Command`] when the command can't be carried out; nothing has changed then.
    #[allow(clippy::unused_async, reason = "callers must not depend on a change being instantaneous")]
    pub async fn apply(&self, command: Command) -> Result<String, Error> {
        self.shared.apply(command)
    }

    /// What has been asked so far.
    #[must_use]
    pub fn query_log(&self) -> QueryLog {
        self.shared.log.snapshot()
    }

    /// The newest messages received: mail, and bodies posted to web servers.
    #[must_use]
    pub fn messages(&self) -> Vec<Received> {
        self.shared.inbox.snapshot()
    }

    /// A certificate of the lab's authority for servers that stand beside the lab.
    ///
    /// # Errors
    /// [`Error::Crypto`] for names that can't stand in a certificate.
    pub fn certificate(&self, names: &[String], addresses: &[IpAddr]) -> Result<Certificate, Error> {
        self.authority.files(names, addresses)
    }

    /// The address that a server of the lab has in DNS.
    #[must_use]
    pub fn address_of(&self, host: &str) -> Option<Ipv4Addr> {
        self.shared.world.read().unwrap_or_else(PoisonError::into_inner).ip(host)
    }

    /// Where packets for an address and port of the lab must really go (differs only with a single address).
    #[must_use]
    pub fn real(&self, ip: Ipv4Addr, port: u16) -> SocketAddr {
        sockets::real(&self.map, ip, port)
    }

    /// Stops all servers and waits until their ports are free.
    pub async fn shutdown(self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
