//! nginx and HAProxy in front, in their default configuration and with forwarding headers: who is believed to be whom.

use model::account::AuditQuery;
use model::ids::OrgId;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

#[allow(dead_code)]
#[path = "http/site.rs"]
mod site;

/// A running proxy; gone with the test.
struct Proxy(Child);

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// nginx on a port, handing everything over to `to`. `more` stands in its `location`.
async fn nginx(folder: &Path, to: SocketAddr, more: &str) -> (Proxy, u16) {
    let port = free_port();
    let at = folder.display();
    let config = format!(
        "daemon off;\nmaster_process off;\npid {at}/pid;\nerror_log {at}/error.log;\nevents {{}}\nhttp {{\n\
         access_log off;\nclient_body_temp_path {at}/a;\nproxy_temp_path {at}/b;\nfastcgi_temp_path {at}/c;\n\
         uwsgi_temp_path {at}/d;\nscgi_temp_path {at}/e;\nserver {{ listen 127.0.0.1:{port}; location / {{ \
         proxy_pass http://{to}; {more} }} }} }}\n"
    );
    let file = folder.join("nginx.conf");
    std::fs::write(&file, config).unwrap();
    let program = if Path::new("/usr/sbin/nginx").exists() { "/usr/sbin/nginx" } else { "nginx" };
    let child = Command::new(program)
        .args(["-e", &format!("{at}/error.log"), "-c", file.to_str().unwrap()])
        .stdout(Stdio::null())
        .spawn()
        .expect("nginx is installed: cargo xtask setup installs it");
    let running = Proxy(child);
    let limit = Instant::now() + Duration::from_secs(30);
    while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
        assert!(
            Instant::now() < limit,
            "{}",
            std::fs::read_to_string(folder.join("error.log")).unwrap_or_default()
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    (running, port)
}

/// HAProxy with the `defaults` of Debian's package, on a port, handing everything over to `to`. As its package does, it
/// gives up the rights of root for a user of its own.
async fn haproxy(folder: &Path, to: SocketAddr) -> (Proxy, u16) {
    let port = free_port();
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout == b"0\n");
    let user = if is_root { "user haproxy\ngroup haproxy\n" } else { "" };
    let config = format!(
        "global\n{user}defaults\nmode http\noption httplog\noption dontlognull\ntimeout connect 5000\n\
         timeout client 50000\ntimeout server 50000\nfrontend in\nbind 127.0.0.1:{port}\ndefault_backend out\n\
         backend out\nserver one {to}\n"
    );
    let file = folder.join("haproxy.cfg");
    std::fs::write(&file, config).unwrap();
    let program = if Path::new("/usr/sbin/haproxy").exists() { "/usr/sbin/haproxy" } else { "haproxy" };
    let child = Command::new(program)
        .args(["-db", "-q", "-f", file.to_str().unwrap()])
        .stdout(Stdio::null())
        .spawn()
        .expect("HAProxy is installed: cargo xtask setup installs it");
    let mut running = Proxy(child);
    let limit = Instant::now() + Duration::from_secs(30);
    while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
        assert!(Instant::now() < limit && running.0.try_wait().unwrap().is_none(), "HAProxy does not listen");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    (running, port)
}

/// A request as bytes, and the answer's.
async fn ask(port: u16, path: &str, headers: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut out = Vec::new();
    stream.read_to_end(&mut out).await.unwrap();
    String::from_utf8_lossy(&out).into_owned()
}

/// A demo's server on a port of its own.
async fn demo(proxies: &[&str]) -> (site::Site, SocketAddr, CancellationToken) {
    let site = site::site_behind(true, proxies).await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    tokio::spawn(server::http::serve(listener, None, site.router.clone(), stop.clone()));
    (site, address, stop)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_default_nginx_makes_no_visitor_local() {
    let (_site, address, stop) = demo(&[]).await;
    let folder = tempfile::tempdir().unwrap();
    let (_nginx, port) = nginx(folder.path(), address, "").await;
    for host in ["scope.example", "localhost", "127.0.0.1"] {
        for forged in ["", "X-Forwarded-For: 127.0.0.1\r\n", "X-Forwarded-Proto: https\r\n"] {
            let answer = ask(port, "/domains", &format!("Host: {host}\r\n{forged}")).await;
            assert!(answer.starts_with("HTTP/1.1 303"), "{host} {forged}: {answer}");
            let metrics = ask(port, "/metrics", &format!("Host: {host}\r\n{forged}")).await;
            assert!(metrics.starts_with("HTTP/1.1 401"), "{host} {forged}: {metrics}");
            assert!(!answer.to_lowercase().contains("strict-transport-security"), "no TLS was used");
        }
    }
    stop.cancel();
}

// Elsewhere the system does not say whose connection it is, and a test that does not run as root can give HAProxy no user.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_default_haproxy_makes_no_visitor_local() {
    let (_site, address, stop) = demo(&[]).await;
    // A browser on this machine, which keeps its connection, is.
    let mut direct = TcpStream::connect(address).await.unwrap();
    direct.write_all(b"GET /domains HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    let mut status = [0; 12];
    direct.read_exact(&mut status).await.unwrap();
    assert_eq!(&status, b"HTTP/1.1 200");
    let folder = tempfile::tempdir().unwrap();
    let (_haproxy, port) = haproxy(folder.path(), address).await;
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout == b"0\n");
    for host in ["scope.example", "localhost", "127.0.0.1"].into_iter().take(if is_root { 3 } else { 1 }) {
        for forged in ["", "X-Forwarded-For: 127.0.0.1\r\n", "X-Forwarded-Proto: https\r\n"] {
            let answer = ask(port, "/domains", &format!("Host: {host}\r\n{forged}")).await;
            assert!(answer.starts_with("HTTP/1.1 303"), "{host} {forged}: {answer}");
            let metrics = ask(port, "/metrics", &format!("Host: {host}\r\n{forged}")).await;
            assert!(metrics.starts_with("HTTP/1.1 401"), "{host} {forged}: {metrics}");
            assert!(!answer.to_lowercase().contains("strict-transport-security"), "no TLS was used");
        }
    }
    stop.cancel();
}

// Only Linux has all of 127.0.0.0/8.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_declared_proxy_says_who_the_client_is_and_no_other() {
    let (site, address, stop) = demo(&["127.0.0.1"]).await;
    let folder = tempfile::tempdir().unwrap();
    let more = "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; \
                proxy_set_header X-Forwarded-Proto https; proxy_set_header X-Forwarded-Host $host;";
    let (_nginx, port) = nginx(folder.path(), address, more).await;
    let answer = ask(port, "/domains", "Host: localhost\r\nX-Forwarded-For: 192.0.2.7\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 303"), "{answer}");
    assert!(answer.to_lowercase().contains("strict-transport-security"), "the proxy's word for TLS counts");

    // The client is who nginx talked to, whatever it claims to forward.
    let link = site.identity.reset_link("mira@alder.example").await.unwrap().unwrap();
    let body = format!("key={}&password=correct+horse+battery", link.expose());
    let request = format!(
        "POST /accept HTTP/1.1\r\nHost: scope.example\r\nX-Forwarded-For: 198.51.100.9\r\nOrigin: https://scope.example\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
    let mut stream = socket.connect(SocketAddr::from(([127, 0, 0, 1], port))).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut out = String::new();
    stream.read_to_string(&mut out).await.unwrap();
    assert!(out.starts_with("HTTP/1.1 303") && out.contains("__Host-domainscope=dss_"), "{out}");
    let query = AuditQuery { limit: 1, ..AuditQuery::default() };
    let log = site.scanner.store.audit_log(OrgId::BUILT_IN, &query).await.unwrap();
    assert_eq!(
        (log.entries[0].action.as_str(), log.entries[0].address.as_str()),
        ("account.reset", "127.0.0.2")
    );
    stop.cancel();
}
