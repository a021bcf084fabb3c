//! NSD, BIND and nginx on loopback addresses, one tree: `.` and `io`, `com` by NSD, `q7.io` by BIND, RDAP by nginx.

use server::settings::EngineArgs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};

const ROOT: &str = "127.33.0.1";
const TLD: &str = "127.33.0.2";
const BIND: [&str; 3] = ["127.33.0.11", "127.33.0.12", "127.33.0.13"];
const RDAP: &str = "127.33.0.20";

/// The running servers; they end with it.
pub struct Peers {
    children: Vec<Child>,
    /// Settings that point the engine at them.
    pub engine: EngineArgs,
}

impl Drop for Peers {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from));
    folders.map(|f| f.join(program)).find(|p| p.is_file())
}

impl Peers {
    /// Starts them; `None`, with a message, where the programs or the addresses are missing.
    pub async fn start(folder: &Path) -> Option<Peers> {
        let programs = ["nsd", "named", "nginx", "openssl"].map(|p| (p, find(p)));
        if let Some((missing, _)) = programs.iter().find(|(_, found)| found.is_none()) {
            let words = format!("{missing} is not installed (Debian: nsd bind9 nginx-light openssl)");
            assert!(std::env::var_os("CI").is_none(), "{words}");
            println!("SKIPPED: {words}");
            return None;
        }
        let [nsd, named, nginx, openssl] = programs.map(|(_, found)| found.unwrap());
        let Ok(probe) = TcpListener::bind((ROOT, 0)).await else {
            println!("SKIPPED: this system has no {ROOT}; only 127.0.0.1 is configured");
            return None;
        };
        let dns = probe.local_addr().unwrap().port();
        let https = TcpListener::bind((RDAP, 0)).await.unwrap().local_addr().unwrap().port();
        drop(probe);
        let bind_port = TcpListener::bind(("127.0.0.1", 0)).await.unwrap().local_addr().unwrap().port();
        zones(folder);
        certificate(&openssl, folder);
        rdap_files(folder);
        let mut peers = Peers { children: Vec::new(), engine: EngineArgs::default() };
        for (name, address, zones) in [("root", ROOT, &["."][..]), ("tld", TLD, &["io", "com"])] {
            let config = nsd_config(folder, name, address, dns, zones);
            peers.spawn(Command::new(&nsd).args(["-d", "-c"]).arg(config), folder, name);
        }
        let config = named_config(folder, bind_port);
        peers.spawn(Command::new(&named).args(["-g", "-c"]).arg(config), folder, "named");
        let config = nginx_config(folder, https);
        peers.spawn(Command::new(&nginx).arg("-p").arg(folder).arg("-c").arg(config), folder, "nginx");
        for (address, port) in [(ROOT, dns), (TLD, dns), ("127.0.0.1", bind_port), (RDAP, https)] {
            answers(address, port, folder).await;
        }
        // BIND serves only addresses that an interface has: what is meant for its three is dialled at 127.0.0.1.
        let map: String =
            BIND.iter().map(|ip| format!("\"{ip}:{dns}\" = \"127.0.0.1:{bind_port}\"\n")).collect();
        let map = write(folder, "address-map.toml", &map);
        let hints = folder.join("hints");
        std::fs::write(&hints, format!(". 3600000 NS a.root.test.\na.root.test. 3600000 A {ROOT}\n"))
            .unwrap();
        let bootstrap = folder.join("dns.json");
        let services = format!(
            "{{\"version\":\"1.0\",\"publication\":\"2026-01-01T00:00:00Z\",\"services\":[[[\"io\"],[\"https://rdap.nic.io:{https}/\"]]]}}"
        );
        std::fs::write(&bootstrap, services).unwrap();
        peers.engine = EngineArgs {
            root_hints: Some(hints),
            dns_port: Some(dns),
            rdap_bootstrap: Some(bootstrap.display().to_string()),
            whois_server: Some(format!("{RDAP}:1")),
            extra_ca: Some(folder.join("ca.pem")),
            allow_private: true,
            address_map: Some(map),
            ..EngineArgs::default()
        };
        Some(peers)
    }

    fn spawn(&mut self, command: &mut Command, folder: &Path, name: &str) {
        let log = || {
            std::fs::OpenOptions::new()
                .create(true)
                .append(true)
                .open(folder.join(format!("{name}.log")))
                .unwrap()
        };
        let child = command.stdin(Stdio::null()).stdout(log()).stderr(log()).spawn().unwrap();
        self.children.push(child);
    }
}

/// Waits until a server takes connections; its own words are in the panic when it never does.
async fn answers(address: &str, port: u16, folder: &Path) {
    let limit = Instant::now() + Duration::from_secs(20);
    while Instant::now() < limit {
        if TcpStream::connect((address, port)).await.is_ok() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let logs: String = ["root", "tld", "named", "nginx"]
        .iter()
        .map(|n| {
            format!(
                "--- {n}\n{}",
                std::fs::read_to_string(folder.join(format!("{n}.log"))).unwrap_or_default()
            )
        })
        .collect();
    panic!("{address}:{port} does not answer\n{logs}");
}

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn zones(folder: &Path) {
    let soa = "3600 SOA a.root.test. hostmaster.root.test. 2026112001 7200 900 1209600 900";
    write(
        folder,
        "zone-root",
        &format!(
            ". {soa}\n. 3600 NS a.root.test.\na.root.test. 3600 A {ROOT}\n\
         io. 3600 NS a.nic.io.\na.nic.io. 3600 A {TLD}\ncom. 3600 NS a.nic.io.\n"
        ),
    );
    write(
        folder,
        "zone-io",
        &format!(
            "io. {soa}\nio. 3600 NS a.nic.io.\na.nic.io. 3600 A {TLD}\nrdap.nic.io. 3600 A {RDAP}\n\
         q7.io. 3600 NS ns1.digitalocean.com.\nq7.io. 3600 NS ns2.digitalocean.com.\nq7.io. 3600 NS ns3.digitalocean.com.\n"
        ),
    );
    let hosts: String = BIND
        .iter()
        .enumerate()
        .map(|(i, ip)| format!("ns{}.digitalocean.com. 3600 A {ip}\n", i + 1))
        .collect();
    write(
        folder,
        "zone-com",
        &format!(
            "com. {soa}\ncom. 3600 NS a.nic.io.\ndigitalocean.com. 3600 NS ns1.digitalocean.com.\n\
         digitalocean.com. 3600 NS ns2.digitalocean.com.\n{hosts}"
        ),
    );
    let apex = "1800 SOA ns1.digitalocean.com. hostmaster.q7.io. 1566059604 10800 3600 604800 1800";
    write(
        folder,
        "zone-q7.io",
        &format!(
            "q7.io. {apex}\nq7.io. 1800 NS ns1.digitalocean.com.\nq7.io. 1800 NS ns2.digitalocean.com.\n\
         q7.io. 1800 NS ns3.digitalocean.com.\nq7.io. 1800 A 192.0.2.7\nwww.q7.io. 1800 CNAME q7.io.\n"
        ),
    );
    write(
        folder,
        "zone-digitalocean.com",
        &format!(
            "digitalocean.com. {apex}\ndigitalocean.com. 1800 NS ns1.digitalocean.com.\n\
         digitalocean.com. 1800 NS ns2.digitalocean.com.\n{hosts}"
        ),
    );
}

fn nsd_config(folder: &Path, name: &str, address: &str, port: u16, zones: &[&str]) -> PathBuf {
    let dir = folder.display();
    let zones: String = zones
        .iter()
        .map(|z| {
            format!(
                "zone:\n  name: \"{z}\"\n  zonefile: \"{dir}/zone-{}\"\n",
                if *z == "." { "root" } else { z }
            )
        })
        .collect();
    write(
        folder,
        &format!("nsd-{name}.conf"),
        &format!(
            "server:\n  ip-address: {address}@{port}\n  username: \"\"\n  chroot: \"\"\n  database: \"\"\n  server-count: 1\n  \
         zonesdir: \"{dir}\"\n  pidfile: \"{dir}/nsd-{name}.pid\"\n  xfrdfile: \"{dir}/xfrd-{name}.state\"\n  \
         zonelistfile: \"{dir}/zones-{name}.list\"\n  xfrdir: \"{dir}\"\n  do-ip6: no\n\
         remote-control:\n  control-enable: no\n{zones}"
        ),
    )
}

fn named_config(folder: &Path, port: u16) -> PathBuf {
    let dir = folder.display();
    write(
        folder,
        "named.conf",
        &format!(
            "options {{ directory \"{dir}\"; listen-on port {port} {{ 127.0.0.1; }}; listen-on-v6 {{ none; }}; recursion no;\n\
         pid-file \"{dir}/named.pid\"; session-keyfile \"{dir}/session.key\"; dnssec-validation no; notify no; }};\n\
         controls {{ }};\n\
         zone \"q7.io\" {{ type primary; file \"zone-q7.io\"; }};\n\
         zone \"digitalocean.com\" {{ type primary; file \"zone-digitalocean.com\"; }};\n"
        ),
    )
}

fn nginx_config(folder: &Path, port: u16) -> PathBuf {
    let dir = folder.display();
    // One process: a worker would outlive a parent that is killed, and could not read a folder of root.
    write(
        folder,
        "nginx.conf",
        &format!(
            "daemon off; master_process off; pid {dir}/nginx.pid; error_log stderr warn;\n\
         events {{ worker_connections 64; }}\n\
         http {{ access_log off; default_type application/rdap+json;\n\
         client_body_temp_path {dir}/t1; proxy_temp_path {dir}/t2; fastcgi_temp_path {dir}/t3; uwsgi_temp_path {dir}/t4; scgi_temp_path {dir}/t5;\n\
         server {{ listen {RDAP}:{port} ssl; ssl_certificate {dir}/rdap.pem; ssl_certificate_key {dir}/rdap.key;\n\
         root {dir}/rdap; error_page 404 /404.json; types {{ }} }} }}\n"
        ),
    )
}

fn certificate(openssl: &Path, folder: &Path) {
    let run = |args: &str| {
        let out = Command::new(openssl).args(args.split(' ')).current_dir(folder).output().unwrap();
        assert!(out.status.success(), "openssl {args}: {}", String::from_utf8_lossy(&out.stderr));
    };
    write(
        folder,
        "leaf.ext",
        "subjectAltName=DNS:rdap.nic.io\nbasicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\n",
    );
    run(
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=interop-ca",
    );
    run(
        "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout rdap.key -out rdap.csr -subj /CN=rdap.nic.io",
    );
    run(
        "x509 -req -in rdap.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out rdap.pem -days 2 -extfile leaf.ext",
    );
}

/// Answers in the form this registry gives them (RFC 9083), written manually after its documentation.
fn rdap_files(folder: &Path) {
    std::fs::create_dir_all(folder.join("rdap/domain")).unwrap();
    std::fs::write(folder.join("rdap/domain/q7.io"), include_str!("q7.io.rdap.json")).unwrap();
    let gone = r#"{"rdapConformance":["rdap_level_0"],"errorCode":404,"title":"Object not found","description":["The domain does not exist"]}"#;
    std::fs::write(folder.join("rdap/404.json"), gone).unwrap();
}
