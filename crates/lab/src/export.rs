//! Files that tell others where the lab is: root hints, trust anchor, RDAP bootstrap, CA, address map, endpoints.
//! In: the world and the ports. Out: files in the state folder, and [`Endpoints`].

use std::{
    collections::BTreeMap,
    net::{SocketAddr, SocketAddrV4},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{
    Error,
    registry::rdap_service::bootstrap,
    resolver::Resolvers,
    scenario::{Filtering, Transport},
    sockets,
    world::{ASN_ZONE, BOOTSTRAP, World},
};

/// Where everything of a running lab is. Also in `endpoints.json` of the state folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoints {
    /// Root hints, in the form of `named.root`.
    pub root_hints: PathBuf,
    /// Port of all DNS servers.
    pub dns_port: u16,
    /// RDAP bootstrap file, in the form of IANA's `dns.json`.
    pub rdap_bootstrap: PathBuf,
    /// The same by HTTPS.
    pub rdap_bootstrap_url: String,
    /// Port of all RDAP and web servers.
    pub https_port: u16,
    /// Port of the web servers without TLS.
    pub http_port: u16,
    /// Port of DNS over TLS of all resolvers.
    pub dot_port: u16,
    /// The recursive resolvers, in the form of the engine's `resolvers` setting.
    pub resolvers: PathBuf,
    /// The zone in which origin AS and prefix of an address are looked up (`origin.` and `origin6.` below it).
    pub asn_zone: String,
    /// Where all servers of the lab have their addresses: reachable from inside.
    pub own_networks: Vec<String>,
    /// The root of WHOIS, `HOST:PORT`; referred servers use the same port.
    pub whois_server: String,
    /// The root's key-signing key, a DNSKEY zone-file line.
    pub trust_anchor: PathBuf,
    /// The lab's certificate authority, PEM.
    pub extra_ca: PathBuf,
    /// Lines of `"127.x.y.z:port" = "127.0.0.1:port"` (TOML), where the lab has a single address.
    pub address_map: Option<PathBuf>,
    /// Settings for the engine.
    pub engine: PathBuf,
    /// The control endpoint, HTTP.
    pub control: SocketAddr,
    /// An SMTP server without TLS that keeps what it gets.
    pub smtp: SocketAddr,
    /// The inventory to start with.
    pub domains: Vec<String>,
}

/// What only the starter knows.
pub(crate) struct Where<'a> {
    pub dns_port: u16,
    pub https_port: u16,
    pub http_port: u16,
    pub dot_port: u16,
    pub whois: SocketAddrV4,
    pub control: SocketAddr,
    pub smtp: SocketAddr,
    pub ca: &'a str,
    pub map: &'a BTreeMap<SocketAddrV4, SocketAddr>,
}

/// `engine.toml`: the closed network, in the words of the engine's settings.
#[derive(Serialize)]
struct Engine<'a> {
    root_hints: &'a Path,
    dns_port: u16,
    rdap_bootstrap: &'a Path,
    whois_server: &'a str,
    trust_anchor: &'a Path,
    extra_ca: &'a Path,
    allow_private: bool,
    resolvers: &'a Path,
    asn_zone: &'a str,
    own_networks: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    address_map: Option<&'a Path>,
}

const OWN_NETWORK: &str = "127.0.0.0/8";

fn put(dir: &Path, name: &str, text: &str) -> Result<PathBuf, Error> {
    let path = dir.join(name);
    std::fs::write(&path, text).map_err(|e| Error::file(&path, e))?;
    Ok(path)
}

fn hints(world: &World) -> String {
    let mut text = String::from("; root hints of the lab\n");
    for host in &world.root_servers {
        text.push_str(&format!(".                        3600000      NS    {host}.\n"));
        if let Some(ip) = world.ip(host) {
            text.push_str(&format!("{host}.      3600000      A     {ip}\n"));
        }
    }
    text
}

fn anchor(world: &World) -> Result<String, Error> {
    let keys = world.keys.get("").ok_or_else(|| Error::Crypto("the root has no key".into()))?;
    Ok(format!("; trust anchor of the lab\n. 3600 IN DNSKEY {}\n", keys.anchor()))
}

/// One row of `resolvers.toml`.
#[derive(Serialize)]
struct Row<'a> {
    id: &'a str,
    name: &'a str,
    operator: &'a str,
    country: &'a str,
    filtering: Filtering,
    ecs: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    doh: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    json: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dot: Option<String>,
    addresses: Vec<String>,
    source: &'static str,
}

#[derive(Serialize)]
struct Table<'a> {
    resolver: Vec<Row<'a>>,
}

/// `resolvers.toml`. Browsers know neither the lab's names nor its authority: theirs are addresses without TLS.
fn table(resolvers: &Resolvers, at: &Where<'_>) -> Result<String, Error> {
    let rows = resolvers.all().map(|resolver| {
        let about = &resolver.about;
        let http = sockets::real(at.map, resolver.ip, at.http_port);
        Row {
            id: &about.id,
            name: &about.name,
            operator: &about.operator,
            country: &about.country,
            filtering: about.filtering,
            ecs: about.ecs,
            doh: resolver
                .offers(Transport::Doh)
                .then(|| format!("https://{}:{}/dns-query", about.host, at.https_port)),
            json: resolver.offers(Transport::Json).then(|| format!("http://{http}/resolve")),
            dot: resolver.offers(Transport::Dot).then(|| format!("{}:{}", about.host, at.dot_port)),
            // Also where UDP is not offered: the names of DoH and DoT are the lab's own.
            addresses: vec![resolver.ip.to_string()],
            source: "the lab",
        }
    });
    let text = toml::to_string(&Table { resolver: rows.collect() })
        .map_err(|e| Error::Scenario { file: "resolvers.toml".into(), reason: e.to_string() })?;
    Ok(format!("# The lab's recursive resolvers.\n{text}"))
}

/// Writes all files.
pub(crate) fn write(
    dir: &Path,
    world: &World,
    resolvers: &Resolvers,
    at: &Where<'_>,
) -> Result<Endpoints, Error> {
    std::fs::create_dir_all(dir).map_err(|e| Error::file(dir, e))?;
    let dir = std::fs::canonicalize(dir).map_err(|e| Error::file(dir, e))?;
    let dir = dir.as_path();
    // The bootstrap needs the port, which the world knows by now.
    let bootstrap = serde_json::to_string_pretty(&bootstrap(world)).map_err(Error::crypto)?;
    let map: String = at.map.iter().map(|(shown, real)| format!("\"{shown}\" = \"{real}\"\n")).collect();
    let mut endpoints = Endpoints {
        root_hints: put(dir, "named.root", &hints(world))?,
        dns_port: at.dns_port,
        rdap_bootstrap: put(dir, "dns.json", &bootstrap)?,
        rdap_bootstrap_url: format!("https://{BOOTSTRAP}:{}/rdap/dns.json", at.https_port),
        https_port: at.https_port,
        http_port: at.http_port,
        dot_port: at.dot_port,
        resolvers: put(dir, "resolvers.toml", &table(resolvers, at)?)?,
        asn_zone: ASN_ZONE.to_owned(),
        own_networks: vec![OWN_NETWORK.into()],
        whois_server: at.whois.to_string(),
        trust_anchor: put(dir, "trust-anchor.key", &anchor(world)?)?,
        extra_ca: put(dir, "ca.pem", at.ca)?,
        address_map: if map.is_empty() { None } else { Some(put(dir, "address-map.toml", &map)?) },
        engine: dir.join("engine.toml"),
        control: at.control,
        smtp: at.smtp,
        domains: world.domains.values().filter(|d| d.listed).map(|d| d.name.clone()).collect(),
    };
    let engine = Engine {
        root_hints: &endpoints.root_hints,
        dns_port: endpoints.dns_port,
        rdap_bootstrap: &endpoints.rdap_bootstrap,
        whois_server: &endpoints.whois_server,
        trust_anchor: &endpoints.trust_anchor,
        extra_ca: &endpoints.extra_ca,
        allow_private: true,
        resolvers: &endpoints.resolvers,
        asn_zone: &endpoints.asn_zone,
        own_networks: &endpoints.own_networks,
        address_map: endpoints.address_map.as_deref(),
    };
    let text = toml::to_string(&engine)
        .map_err(|e| Error::Scenario { file: "engine.toml".into(), reason: e.to_string() })?;
    endpoints.engine = put(dir, "engine.toml", &text)?;
    let json = serde_json::to_string_pretty(&endpoints).map_err(Error::crypto)?;
    put(dir, "endpoints.json", &json)?;
    Ok(endpoints)
}
