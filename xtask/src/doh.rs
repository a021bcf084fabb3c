//! `cargo xtask bench dns`, second half: DNS over HTTPS answers per second from the cache of our server and of Unbound,
//! loaded in turn by the same program over TLS and HTTP/2 on loopback. In: a release build of the server. Out: two rates
//! and their ratio, or what is missing.

use crate::{paths, sh};
use anyhow::{Context, Result, bail};
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A question for the A records of `q7.io`, which the lab's demo has; id 0 as RFC 8484 section 4.1 recommends.
const QUESTION: &[u8] = b"\0\0\x01\0\0\x01\0\0\0\0\0\0\x02q7\x02io\0\0\x01\0\x01";

/// How long each server is loaded, in seconds.
const LOADED: u32 = 5;

/// A program that ends with the benchmark.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Measures, or says what is missing.
pub fn bench() -> Result<()> {
    let server = paths::server_binary("release");
    if !server.is_file() {
        sh::say(&format!("DoH not measured: {} is not there (cargo xtask run builds it)", server.display()));
        return Ok(());
    }
    let Some(h2load) = sh::which("h2load") else {
        sh::say("DoH not measured: h2load is missing (Debian: apt-get install nghttp2-client)");
        return Ok(());
    };
    let scratch = paths::target_dir().join("bench-doh");
    let _ = std::fs::remove_dir_all(&scratch);
    std::fs::create_dir_all(&scratch)?;
    let question = scratch.join("question");
    std::fs::write(&question, QUESTION)?;
    let (ours, _served) = start_ours(&server, &scratch)?;
    let load = |port: u16| load(&h2load, &question, port);
    let our_rate = load(ours)?;
    let theirs = match start_unbound(&scratch)? {
        Some((port, _unbound)) => Some(load(port)?),
        None => None,
    };
    println!(
        "\nDoH answers from cache, POST over TLS and HTTP/2, {LOADED} s of h2load with 4 connections:\n"
    );
    let shown =
        theirs.map(|t| format!("   {:>34}   {:>7.2} ×", format!("unbound: {t:.0} a second"), our_rate / t));
    println!("{:<34} {:>22}{}", "DoH answers", format!("{our_rate:.0} a second"), shown.unwrap_or_default());
    Ok(())
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

fn spawn(command: &mut Command, log: &Path) -> Result<Served> {
    let file = std::fs::File::create(log)?;
    let child = command
        .stdin(Stdio::null())
        .stdout(file.try_clone()?)
        .stderr(file)
        .spawn()
        .with_context(|| format!("starting {command:?}"))?;
    Ok(Served(child))
}

fn wait_for(port: u16, log: &Path) -> Result<()> {
    let limit = Instant::now() + Duration::from_secs(30);
    while Instant::now() < limit {
        if TcpStream::connect_timeout(&SocketAddr::from(([127, 0, 0, 1], port)), Duration::from_secs(1))
            .is_ok()
        {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    bail!("nothing listens on port {port}; see {}", log.display())
}

fn start_ours(server: &Path, scratch: &Path) -> Result<(u16, Served)> {
    let (plain, tls) = (free_port()?, free_port()?);
    let log = scratch.join("domainscope.log");
    let mut command = sh::command(server);
    command
        .args(["serve", "--demo", "--doh-rate", "0"])
        .args(["--listen", &format!("127.0.0.1:{plain}"), "--tls-listen", &format!("127.0.0.1:{tls}")])
        .arg("--data")
        .arg(scratch.join("data"));
    let served = spawn(&mut command, &log)?;
    wait_for(tls, &log)?;
    Ok((tls, served))
}

/// Unbound with its own cache before one of the lab's resolvers, so that both serve the same tree.
fn start_unbound(scratch: &Path) -> Result<Option<(u16, Served)>> {
    let (Some(unbound), Some(openssl)) = (sh::which("unbound"), sh::which("openssl")) else {
        sh::say("no comparison: unbound or openssl is missing (Debian: apt-get install unbound openssl)");
        return Ok(None);
    };
    if !sh::output(sh::command(&unbound).arg("-V"))?.contains("libnghttp2") {
        sh::say("no comparison: this unbound was built without DNS over HTTPS");
        return Ok(None);
    }
    let Some(dns) = lab_port(&scratch.join("data")) else {
        bail!("the demo wrote no endpoints.json below {}", scratch.display());
    };
    let (key, cert) = (scratch.join("key.pem"), scratch.join("cert.pem"));
    let mut make = sh::command(openssl);
    make.args([
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-days",
        "2",
    ])
    .args(["-subj", "/CN=localhost", "-keyout"])
    .arg(&key)
    .arg("-out")
    .arg(&cert);
    sh::output(&mut make)?;
    let port = free_port()?;
    let config = scratch.join("unbound.conf");
    let mut file = std::fs::File::create(&config)?;
    write!(
        file,
        "server:\n  interface: 127.0.0.1@{port}\n  https-port: {port}\n  tls-service-key: \"{}\"\n  tls-service-pem: \"{}\"\n  \
         num-threads: 2\n  do-not-query-localhost: no\n  do-daemonize: no\n  chroot: \"\"\n  username: \"\"\n  pidfile: \"\"\n  \
         directory: \"{}\"\n  use-syslog: no\n  module-config: \"iterator\"\n  http-max-streams: 100\n\
         remote-control:\n  control-enable: no\n\
         forward-zone:\n  name: \".\"\n  forward-addr: 127.8.0.1@{dns}\n",
        key.display(),
        cert.display(),
        scratch.display()
    )?;
    let log = scratch.join("unbound.log");
    let served = spawn(sh::command(unbound).args(["-d", "-c"]).arg(&config), &log)?;
    wait_for(port, &log)?;
    Ok(Some((port, served)))
}

/// The port of the lab's DNS servers, from the file the lab leaves below the data folder.
fn lab_port(data: &Path) -> Option<u16> {
    let text = std::fs::read_to_string(find(data, "endpoints.json")?).ok()?;
    let (_, rest) = text.split_once("\"dns_port\":")?;
    rest.trim_start().split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    let entries: Vec<PathBuf> = std::fs::read_dir(folder).ok()?.flatten().map(|e| e.path()).collect();
    let here = entries.iter().find(|p| p.file_name().is_some_and(|n| n == name)).cloned();
    here.or_else(|| entries.iter().filter(|p| p.is_dir()).find_map(|p| find(p, name)))
}

fn load(h2load: &Path, question: &Path, port: u16) -> Result<f64> {
    let mut command = sh::command(h2load);
    command
        .args(["-c", "4", "-m", "16", "-t", "1", "--warm-up-time=1", "-D", &LOADED.to_string(), "-d"])
        .arg(question)
        .args(["-H", "content-type: application/dns-message", "-H", "accept: application/dns-message"])
        .arg(format!("https://127.0.0.1:{port}/dns-query"));
    rate(&sh::output(&mut command)?)
}

/// Answers a second, if all of them were answers.
fn rate(said: &str) -> Result<f64> {
    let codes = said.lines().find_map(|l| l.strip_prefix("status codes: ")).unwrap_or("none");
    let good = codes.split(',').skip(1).all(|part| part.trim().starts_with("0 "));
    let some = codes.split(' ').next().and_then(|n| n.parse::<u64>().ok()).is_some_and(|n| n > 0);
    if !(good && some) {
        bail!("not every answer was one: status codes {codes}");
    }
    let line = said.lines().find(|l| l.starts_with("finished in")).context("h2load told no rate")?;
    let rate =
        line.split(", ").find_map(|part| part.strip_suffix(" req/s")).context("h2load told no rate")?;
    rate.trim().parse().with_context(|| format!("{rate} is no rate"))
}

#[cfg(test)]
mod tests {
    use super::rate;

    #[test]
    fn a_rate_of_refusals_is_none() {
        let said =
            |codes: &str| format!("\nfinished in 5.00s, 1234.50 req/s, 1.00MB/s\nstatus codes: {codes}\n");
        assert_eq!(rate(&said("6172 2xx, 0 3xx, 0 4xx, 0 5xx")).expect("a rate"), 1234.5);
        for codes in
            ["0 2xx, 0 3xx, 6172 4xx, 0 5xx", "6000 2xx, 0 3xx, 172 4xx, 0 5xx", "0 2xx, 0 3xx, 0 4xx, 0 5xx"]
        {
            assert!(rate(&said(codes)).is_err(), "{codes}");
        }
    }
}
