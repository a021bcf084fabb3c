//! Independent truth: servers no one here wrote (NSD and BIND) serve a root, a top-level domain and zones; we ask them,
//! and so does `drill`. Skipped with a message where one is not installed.

mod peers;

use dns::{Engine, RootHints, Settings, TrustAnchors};
use model::dns::{NsName, ServerHealth, TraceOutcome};
use model::names::Fqdn;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const ROOT: &str = "$ORIGIN .
@ 3600 SOA a.root.lab. host.root.lab. 1 7200 3600 604800 3600
@ 3600 NS a.root.lab.
a.root.lab. 3600 A 127.77.0.1
test. 3600 NS ns1.nic.test.
test. 3600 NS ns2.nic.test.
ns1.nic.test. 3600 A 127.77.0.2
ns2.nic.test. 3600 A 127.77.0.3
";
const TLD: &str = "$ORIGIN test.
@ 3600 SOA ns1.nic host.nic 7 7200 3600 604800 900
@ 3600 NS ns1.nic
@ 3600 NS ns2.nic
ns1.nic 3600 A 127.77.0.2
ns2.nic 3600 A 127.77.0.3
harbour 3600 NS ns1.harbour
harbour 3600 NS ns.elsewhere.test.
ns1.harbour 3600 A 127.77.0.4
elsewhere 3600 NS ns1.nic
";
const ZONE: &str = "$ORIGIN harbour.test.
@ 1800 SOA ns1 host 2026112001 7200 3600 604800 600
@ 1800 NS ns1
@ 1800 NS ns.elsewhere.test.
ns1 1800 A 127.77.0.4
@ 300 A 192.0.2.80
@ 300 AAAA 2001:db8::80
@ 300 MX 10 mail
@ 300 TXT \"v=spf1 -all\" \"a \\\"quoted\\\" word\"
@ 300 CAA 0 issue \"ca.example\"
@ 300 HTTPS 1 . alpn=h2,h3
mail 300 A 192.0.2.25
www 300 CNAME @
_sip._tcp 300 SRV 10 60 5060 mail
naptr 300 NAPTR 100 10 \"S\" \"SIP+D2U\" \"!^.*$!sip:info@harbour.test!\" _sip._tcp
host 300 SSHFP 4 2 123456789abcdef67890123456789abcdef67890123456789abcdef123456789
host 300 HINFO \"a machine\" \"an \\\"old\\\" one\"
_443._tcp 300 TLSA 3 1 1 8d02536c887482bc34ff54e41d2ba659bf85b341a0a20afadb5813dcfbcf286d
_ftp._tcp 300 URI 10 1 \"ftp://ftp.harbour.test/public\"
svc 300 SVCB 1 mail port=8443 ipv4hint=192.0.2.25 ipv6hint=2001:db8::25
alias 300 SVCB 0 mail
tree 300 DNAME elsewhere.test.
ptr 300 PTR mail
mixed 300 MX 10 MaiL
raw 300 TYPE65280 \\# 4 0A000001
big 300 TXT ";
const ELSEWHERE: &str = "$ORIGIN elsewhere.test.
@ 3600 SOA ns1.nic.test. host.nic.test. 1 7200 3600 604800 900
@ 3600 NS ns1.nic.test.
ns 3600 A 127.77.0.5
";

/// Servers that end with the test.
struct Servers {
    children: Vec<Child>,
    /// Where the server of an address of the zones listens.
    at: BTreeMap<IpAddr, SocketAddr>,
    dir: TempDir,
}

/// The address of the server that most questions go to.
const MAIN: &str = "127.77.0.4";

impl Servers {
    fn main(&self) -> SocketAddr {
        self.at[&MAIN.parse::<IpAddr>().unwrap()]
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Who serves.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Daemon {
    Nsd,
    Bind,
}

impl Daemon {
    const BOTH: [Daemon; 2] = [Daemon::Nsd, Daemon::Bind];

    fn serve(self, dir: &Path, at: SocketAddr, id: &str, zones: &[(&str, &str)]) -> Child {
        match self {
            Daemon::Nsd => nsd(dir, at, id, zones),
            Daemon::Bind => bind(dir, at, id, zones),
        }
    }

    /// BIND listens only on addresses that an interface has, so each of its servers has a port instead.
    fn listens(self, address: &str) -> SocketAddr {
        let on = if self == Daemon::Nsd { address } else { "127.0.0.1" };
        loop {
            let udp = std::net::UdpSocket::bind((on, 0)).unwrap();
            let at = udp.local_addr().unwrap();
            if std::net::TcpListener::bind(at).is_ok() {
                return at;
            }
        }
    }

    /// Program and Debian package.
    fn program(self) -> (&'static str, &'static str) {
        match self {
            Daemon::Nsd => ("nsd", "nsd"),
            Daemon::Bind => ("named", "bind9"),
        }
    }
}

fn installed(program: &str) -> bool {
    ["/usr/sbin", "/usr/bin", "/usr/local/sbin"].iter().any(|dir| Path::new(dir).join(program).exists())
}

/// Starts NSD on one address with its zones.
fn nsd(dir: &Path, at: SocketAddr, id: &str, zones: &[(&str, &str)]) -> Child {
    let base = dir.join(id);
    let (address, port) = (at.ip(), at.port());
    std::fs::create_dir(&base).unwrap();
    let mut config = format!(
        "server:\n  ip-address: {address}@{port}\n  username: \"\"\n  chroot: \"\"\n  zonesdir: \"{0}\"\n  \
         pidfile: \"{0}/pid\"\n  xfrdfile: \"{0}/xfrd\"\n  zonelistfile: \"{0}/list\"\n  database: \"\"\n  \
         nsid: \"ascii_{id}\"\n  server-count: 1\n  hide-version: yes\nremote-control:\n  control-enable: no\n",
        base.display()
    );
    for (index, (name, text)) in zones.iter().enumerate() {
        std::fs::write(base.join(format!("zone{index}")), text).unwrap();
        config.push_str(&format!("zone:\n  name: \"{name}\"\n  zonefile: \"zone{index}\"\n"));
    }
    let file = base.join("nsd.conf");
    std::fs::write(&file, config).unwrap();
    Command::new("nsd")
        .args(["-d", "-c"])
        .arg(&file)
        .env("PATH", "/usr/sbin:/usr/bin:/usr/local/sbin")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Starts BIND on one address with its zones.
fn bind(dir: &Path, at: SocketAddr, id: &str, zones: &[(&str, &str)]) -> Child {
    let base = dir.join(id);
    let (address, port) = (at.ip(), at.port());
    std::fs::create_dir(&base).unwrap();
    let mut config = format!(
        "options {{\n  directory \"{0}\";\n  pid-file none;\n  session-keyfile \"{0}/key\";\n  listen-on port {port} \
         {{ {address}; }};\n  listen-on-v6 {{ none; }};\n  recursion no;\n  dnssec-validation no;\n  server-id \
         \"{id}\";\n  version none;\n}};\ncontrols {{ }};\n",
        base.display()
    );
    for (index, (name, text)) in zones.iter().enumerate() {
        std::fs::write(base.join(format!("zone{index}")), text).unwrap();
        config.push_str(&format!("zone \"{name}\" {{ type primary; file \"zone{index}\"; }};\n"));
    }
    let file = base.join("named.conf");
    std::fs::write(&file, config).unwrap();
    Command::new("named")
        .args(["-g", "-n", "1", "-c"])
        .arg(&file)
        .env("PATH", "/usr/sbin:/usr/bin:/usr/local/sbin")
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(base.join("log")).unwrap())
        .spawn()
        .unwrap()
}

async fn start(daemon: Daemon) -> Option<(Servers, Engine)> {
    let (program, package) = daemon.program();
    if !installed(program) || !installed("drill") {
        peers::missing(&format!("{program} or drill"), &format!("{package} ldnsutils"));
        return None;
    }
    let dir = TempDir::new().unwrap();
    let long = format!("{ZONE}{}\n", format!("\"{}\" ", "x".repeat(200)).repeat(12));
    let everybody: [(&str, Vec<(&str, &str)>); 5] = [
        ("127.77.0.1", vec![(".", ROOT)]),
        ("127.77.0.2", vec![("test", TLD), ("elsewhere.test", ELSEWHERE)]),
        ("127.77.0.3", vec![("test", TLD)]),
        (MAIN, vec![("harbour.test", &long)]),
        ("127.77.0.5", vec![("harbour.test", &long)]),
    ];
    let mut servers = Servers { children: Vec::new(), at: BTreeMap::new(), dir };
    for (address, zones) in &everybody {
        let at = daemon.listens(address);
        servers.children.push(daemon.serve(servers.dir.path(), at, address, zones));
        servers.at.insert(address.parse().unwrap(), at);
    }
    let root =
        NsName { name: "a.root.lab".into(), addresses: vec!["127.77.0.1".parse().unwrap()], glue: true };
    let engine = Engine::new(Settings {
        root_hints: RootHints::new(vec![root]),
        trust_anchors: TrustAnchors::none(),
        address_map: servers.at.iter().map(|(ip, at)| (SocketAddr::new(*ip, 53), *at)).collect(),
        allow_private: true,
        timeout: Duration::from_millis(1500),
        ..Settings::default()
    });
    // Ready when the last one answers.
    let deadline = Instant::now() + Duration::from_secs(30);
    while Instant::now() < deadline {
        let up = engine.delegation("harbour.test").await;
        if up.is_ok_and(|d| {
            d.servers.len() == 2 && d.servers.iter().all(|s| s.health == ServerHealth::Authoritative)
        }) {
            return Some((servers, engine));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let log = std::fs::read_to_string(servers.dir.path().join("127.77.0.1/log")).unwrap_or_default();
    let seen = engine.delegation("harbour.test").await;
    panic!("the servers of {daemon:?} did not come up; one said\n{log}\nand we see {seen:#?}");
}

/// Answer records of `drill`, as `owner ttl type data` in lower case.
fn drill(server: SocketAddr, name: &str, rtype: &str) -> Vec<String> {
    let out = Command::new("drill")
        .args(["-p", &server.port().to_string(), "-t", &format!("@{}", server.ip()), name, rtype])
        .env("PATH", "/usr/bin:/usr/local/bin")
        .output()
        .unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    let section = text.split(";; ANSWER SECTION:").nth(1).unwrap_or("").split(";;").next().unwrap_or("");
    let mut lines: Vec<String> = section
        .lines()
        .filter(|l| !l.trim().is_empty())
        .map(|l| {
            let words: Vec<&str> = l.split_whitespace().filter(|w| *w != "IN").collect();
            words.join(" ")
        })
        .collect();
    lines.sort();
    lines
}

#[tokio::test]
async fn others_servers_are_read_as_drill_reads_them() {
    for daemon in Daemon::BOTH {
        read_as_drill_reads(daemon).await;
    }
}

async fn read_as_drill_reads(daemon: Daemon) {
    let Some((servers, engine)) = start(daemon).await else { return };
    for (name, rtype) in [
        ("harbour.test", "A"),
        ("harbour.test", "AAAA"),
        ("harbour.test", "MX"),
        ("harbour.test", "NS"),
        ("harbour.test", "SOA"),
        ("harbour.test", "TXT"),
        ("harbour.test", "CAA"),
        ("www.harbour.test", "CNAME"),
        ("big.harbour.test", "TXT"),
    ] {
        let trace = engine.trace(&Fqdn::trusted(name), rtype).await.unwrap();
        assert_eq!(trace.outcome, TraceOutcome::Answer, "{name} {rtype}: {trace:#?}");
        let mut ours: Vec<String> =
            trace.records.iter().map(|r| format!("{}. {} {} {}", r.name, r.ttl, r.rtype, r.data)).collect();
        ours.sort();
        assert_eq!(ours, drill(servers.main(), name, rtype), "{daemon:?} {name} {rtype}");
    }
    let big = engine.trace(&Fqdn::trusted("big.harbour.test"), "TXT").await.unwrap();
    assert!(big.steps.last().unwrap().answers.iter().all(|a| a.truncated), "over TCP: {big:#?}");
}

#[tokio::test]
async fn others_delegations_show_their_servers() {
    for daemon in Daemon::BOTH {
        show_their_servers(daemon).await;
    }
}

async fn show_their_servers(daemon: Daemon) {
    let Some((_servers, engine)) = start(daemon).await else { return };
    let d = engine.delegation("harbour.test").await.unwrap();
    assert_eq!((d.parent.as_str(), d.delegated), ("test", true));
    assert_eq!(d.server_names(), ["ns.elsewhere.test", "ns1.harbour.test"]);
    assert_eq!(
        d.servers.iter().map(|s| s.nsid.as_deref()).collect::<Vec<_>>(),
        [Some("127.77.0.5"), Some("127.77.0.4")]
    );
    assert!(d.servers.iter().all(|s| s.tcp == Some(true) && s.serial == Some(2_026_112_001)), "{d:#?}");
    assert_eq!(d.negative_ttl(), Some(600));
    let missing = engine.delegation("nobody.test").await.unwrap();
    assert_eq!((missing.delegated, missing.negative_ttl()), (false, Some(900)));
    let zone = engine.zone_snapshot("harbour.test", &d).await.unwrap();
    let https = zone.rrsets.iter().find(|s| s.rtype == "HTTPS").unwrap();
    assert_eq!(https.data, ["1 . alpn=h2,h3"]);
    assert_eq!((zone.wildcard, zone.unanswered), (Some(false), Vec::new()));
}

#[tokio::test]
async fn rare_types_are_read_as_dig_and_kdig_read_them() {
    let programs: Vec<_> = [("dig", "bind9-dnsutils"), ("kdig", "knot-dnsutils")]
        .iter()
        .filter_map(|(program, package)| peers::find(program, package))
        .collect();
    if programs.is_empty() {
        return;
    }
    for daemon in Daemon::BOTH {
        rare_types(daemon, &programs).await;
    }
}

async fn rare_types(daemon: Daemon, programs: &[PathBuf]) {
    let Some((servers, engine)) = start(daemon).await else { return };
    for (name, rtype) in [
        ("_sip._tcp", "SRV"),
        ("naptr", "NAPTR"),
        ("host", "SSHFP"),
        ("host", "HINFO"),
        ("_443._tcp", "TLSA"),
        ("_ftp._tcp", "URI"),
        ("svc", "SVCB"),
        ("alias", "SVCB"),
        ("tree", "DNAME"),
        ("ptr", "PTR"),
        ("mixed", "MX"),
        ("raw", "TYPE65280"),
    ] {
        let name = format!("{name}.harbour.test");
        let trace = engine.trace(&Fqdn::trusted(&name), rtype).await.unwrap();
        let ours = peers::ours(&trace.records, &name, rtype);
        assert_eq!(ours.len(), 1, "{name} {rtype}: {trace:#?}");
        for program in programs {
            let said = peers::ask(program, servers.main().ip(), servers.main().port(), &name, &[rtype]);
            assert_eq!(
                ours,
                peers::theirs(&said, &name, rtype),
                "{daemon:?} {name} {rtype}: {}",
                program.display()
            );
        }
    }
}
