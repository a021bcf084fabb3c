//! `cargo xtask bench doh`: DNS over HTTPS responses per second from the cache of our server and of Unbound, loaded in turn
//! by h2load and by dnsperf over TLS and HTTP/2 on loopback. Needs a release build of the server.

use crate::{paths, sh};
use anyhow::{Context, Result, bail};
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A question for the A records of `q7.io`, which the lab's demo has; id 0 as RFC 8484 section 4.1 recommends.
const QUESTION: &[u8] = b"\0\0\x01\0\0\x01\0\0\0\0\0\0\x02q7\x02io\0\0\x01\0\x01";

/// Duration of one measurement, in seconds.
const SECONDS: u32 = 3;
/// Measurements of each server, taken in turn so that other load on the machine affects all alike.
const ROUNDS: usize = 3;

/// A server process, stopped when dropped.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs the benchmark, or prints which program is missing.
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
    let dnsperf = sh::which("dnsperf");
    if dnsperf.is_none() {
        sh::say("dnsperf not measured: it is missing (Debian: apt-get install dnsperf)");
    }
    let scratch = paths::target_dir().join("bench-doh");
    let _ = std::fs::remove_dir_all(&scratch);
    std::fs::create_dir_all(&scratch)?;
    let question = scratch.join("question");
    std::fs::write(&question, QUESTION)?;
    let queries = scratch.join("queries");
    std::fs::write(&queries, "q7.io A\n")?;
    let (ours, served) = start_ours(&server, &scratch)?;
    let mut ours = Measured::new("DoH answers", ours, served);
    let mut theirs = start_unbound(&scratch)?.map(|(port, served)| Measured::new("unbound", port, served));
    for _ in 0..ROUNDS {
        for server in std::iter::once(&mut ours).chain(theirs.as_mut()) {
            server.load(&h2load, &question)?;
            if let Some(dnsperf) = &dnsperf {
                server.load_with_dnsperf(dnsperf, &queries)?;
            }
        }
    }
    println!(
        "\nDoH answers from cache, POST over TLS and HTTP/2, h2load with 4 connections, best of {ROUNDS} times {SECONDS} s in \
         turn; processor time of the server alone:\n"
    );
    for server in std::iter::once(&ours).chain(theirs.as_ref()) {
        let cost = server.cost.map_or_else(String::new, |cost| format!("{cost:>10.2} µs an answer"));
        println!("{:<20} {:>10.0} a second {cost}", server.name, server.rate);
    }
    if let Some(theirs) = &theirs {
        let cost = ours
            .cost
            .zip(theirs.cost)
            .map_or_else(String::new, |(o, t)| format!(", {:.2} × the processor time", o / t));
        println!("{:<20} {:>10.2} × as many{cost}", "ratio", ours.rate / theirs.rate);
    }
    println!("\nThe same with dnsperf, 1 connection and 100 queries outstanding:\n");
    for server in std::iter::once(&ours).chain(theirs.as_ref()) {
        if let Some((rate, lost)) = server.dnsperf {
            println!("{:<20} {rate:>10.0} a second {lost:>8.2} % lost", server.name);
        }
    }
    Ok(())
}

/// A server under load, and its best results.
struct Measured {
    name: &'static str,
    port: u16,
    served: Served,
    /// Responses per second with h2load.
    rate: f64,
    /// Microseconds of processor time per response with h2load, on Linux.
    cost: Option<f64>,
    /// Responses per second with dnsperf, and the largest share of lost queries in per cent.
    dnsperf: Option<(f64, f64)>,
}

impl Measured {
    fn new(name: &'static str, port: u16, served: Served) -> Self {
        Measured { name, port, served, rate: 0.0, cost: None, dnsperf: None }
    }

    fn load(&mut self, h2load: &Path, question: &Path) -> Result<()> {
        let before = processor(&self.served);
        let (rate, answers) = load(h2load, question, self.port)?;
        let used = processor(&self.served).zip(before).map(|(after, before)| after - before);
        self.rate = self.rate.max(rate);
        let cost = used.map(|seconds| seconds * 1e6 / answers);
        self.cost = self.cost.into_iter().chain(cost).reduce(f64::min);
        Ok(())
    }

    /// Runs dnsperf with its default of 100 queries outstanding.
    fn load_with_dnsperf(&mut self, dnsperf: &Path, queries: &Path) -> Result<()> {
        let mut command = sh::command(dnsperf);
        command.args([
            "-m",
            "doh",
            "-s",
            "127.0.0.1",
            "-p",
            &self.port.to_string(),
            "-l",
            &SECONDS.to_string(),
        ]);
        let (rate, lost) = dnsperf_figures(&sh::output(command.arg("-d").arg(queries))?)?;
        let (best, most_lost) = self.dnsperf.unwrap_or((0.0, 0.0));
        self.dnsperf = Some((best.max(rate), most_lost.max(lost)));
        Ok(())
    }
}

/// Parses the output of dnsperf: responses per second and lost queries in per cent.
fn dnsperf_figures(output: &str) -> Result<(f64, f64)> {
    let figure = |name: &str| output.lines().find_map(|line| line.trim().strip_prefix(name)).map(str::trim);
    let rate = figure("Queries per second:").context("dnsperf printed no rate")?;
    let lost = figure("Queries lost:").and_then(|rest| rest.split_once('(')?.1.strip_suffix("%)"));
    let lost = lost.context("dnsperf printed no losses")?;
    Ok((rate.parse().with_context(|| format!("{rate} is not a rate"))?, lost.parse().context("losses")?))
}

/// Returns the seconds of processor time a program has used, in user and kernel mode (Linux counts in hundredths).
fn processor(served: &Served) -> Option<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", served.0.id())).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<f64>().ok();
    Some((ticks(11)? + ticks(12)?) / 100.0)
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

fn load(h2load: &Path, question: &Path, port: u16) -> Result<(f64, f64)> {
    let mut command = sh::command(h2load);
    command
        .args(["-c", "4", "-m", "16", "-t", "1", "-D", &SECONDS.to_string(), "-d"])
        .arg(question)
        .args(["-H", "content-type: application/dns-message", "-H", "accept: application/dns-message"])
        .arg(format!("https://127.0.0.1:{port}/dns-query"));
    rate(&sh::output(&mut command)?)
}

/// Parses the output of h2load: responses per second and responses. An error unless every response has status 2xx.
fn rate(said: &str) -> Result<(f64, f64)> {
    let codes = said.lines().find_map(|l| l.strip_prefix("status codes: ")).unwrap_or("none");
    let good = codes.split(',').skip(1).all(|part| part.trim().starts_with("0 "));
    let answers = codes.split(' ').next().and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0);
    if !good || answers == 0.0 {
        bail!("not every answer was one: status codes {codes}");
    }
    let line = said.lines().find(|l| l.starts_with("finished in")).context("h2load told no rate")?;
    let rate =
        line.split(", ").find_map(|part| part.strip_suffix(" req/s")).context("h2load told no rate")?;
    let rate = rate.trim().parse().with_context(|| format!("{rate} is no rate"))?;
    Ok((rate, answers))
}

#[cfg(test)]
mod tests {
    use super::{dnsperf_figures, rate};

    #[test]
    fn rate_and_losses_are_read_from_dnsperf() {
        let output = "Statistics:\n\n  Queries sent:         3840\n  Queries lost:         24 (0.62%)\n\n  Queries per second:   3660.898705\n";
        assert_eq!(dnsperf_figures(output).expect("figures"), (3660.898705, 0.62));
        assert!(dnsperf_figures("Error: no such host").is_err());
    }

    #[test]
    fn a_rate_of_refusals_is_none() {
        let said =
            |codes: &str| format!("\nfinished in 5.00s, 1234.50 req/s, 1.00MB/s\nstatus codes: {codes}\n");
        assert_eq!(rate(&said("6172 2xx, 0 3xx, 0 4xx, 0 5xx")).expect("a rate"), (1234.5, 6172.0));
        for codes in
            ["0 2xx, 0 3xx, 6172 4xx, 0 5xx", "6000 2xx, 0 3xx, 172 4xx, 0 5xx", "0 2xx, 0 3xx, 0 4xx, 0 5xx"]
        {
            assert!(rate(&said(codes)).is_err(), "{codes}");
        }
    }
}
