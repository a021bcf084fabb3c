//! `cargo xtask bench signin`: password attempts in parallel against a running server, and how fast pages stay meanwhile.
//!
//! Attempts are made for addresses without an account: such an attempt costs the same as one with a wrong password (its hash
//! is computed too), and no throttle of an account ends the measurement.

use crate::{paths, sh};
use anyhow::{Context, Result, bail};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Attempts at the same time.
const PARALLEL: usize = 50;
/// Duration of the measurement.
const LENGTH: Duration = Duration::from_secs(10);
/// Page requests before it, without load.
const CALM: usize = 50;
/// Pause between two page requests.
const PAGE_PAUSE: Duration = Duration::from_millis(20);

/// A server process, stopped when dropped.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs the benchmark on the release build of the server, or on the program that DOMAINSCOPE_BIN names.
pub fn bench() -> Result<()> {
    let named = std::env::var_os("DOMAINSCOPE_BIN").map(PathBuf::from);
    let server = named.unwrap_or_else(|| paths::server_binary("release"));
    if !server.is_file() {
        sh::say(&format!(
            "sign-in not measured: {} is not there (cargo xtask run builds it)",
            server.display()
        ));
        return Ok(());
    }
    let scratch = paths::target_dir().join("bench-signin");
    let _ = std::fs::remove_dir_all(&scratch);
    std::fs::create_dir_all(&scratch)?;
    let (at, _served, link) = start(&server, &scratch)?;
    let cookie = set_up(at, &link)?;
    let mut calm = Vec::new();
    for _ in 0..CALM {
        calm.push(page(at, &cookie)?);
    }
    let (stop, next) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (mut refused, mut busy, mut times, mut pages) = (0, 0, Vec::new(), Vec::new());
    let began = Instant::now();
    std::thread::scope(|threads| -> Result<()> {
        let clients: Vec<_> = (0..PARALLEL).map(|_| threads.spawn(|| attempts(at, &stop, &next))).collect();
        while began.elapsed() < LENGTH {
            pages.push(page(at, &cookie));
            std::thread::sleep(PAGE_PAUSE);
        }
        stop.store(true, Ordering::Relaxed);
        for client in clients {
            let (ours, full) = client.join().expect("the thread does not panic")?;
            refused += ours.len();
            busy += full;
            times.extend(ours);
        }
        Ok(())
    })?;
    let seconds = began.elapsed().as_secs_f64();
    let mut pages = pages.into_iter().collect::<Result<Vec<_>>>()?;
    println!("\nSign-in: {PARALLEL} attempts at the same time for {seconds:.0} s, {}\n", server.display());
    println!(
        "{:<34} {:>8.1} a second ({refused} answered, {busy} turned away)",
        "passwords computed",
        refused as f64 / seconds
    );
    for (what, times) in [
        ("attempt", &mut times),
        ("page /domains meanwhile", &mut pages),
        ("page /domains without load", &mut calm),
    ] {
        println!("{what:<34} {:>8.1} ms p50 {:>8.1} ms p99", percentile(times, 50), percentile(times, 99));
    }
    Ok(())
}

/// The value below which so many per cent of the times are, in milliseconds.
fn percentile(times: &mut [Duration], percent: usize) -> f64 {
    times.sort_unstable();
    let at = (times.len() * percent).div_ceil(100).saturating_sub(1);
    times.get(at).map_or(f64::NAN, |time| time.as_secs_f64() * 1000.0)
}

/// Times of attempts that were answered, and how many were turned away because too many wait.
fn attempts(at: SocketAddr, stop: &AtomicBool, next: &AtomicUsize) -> Result<(Vec<Duration>, usize)> {
    let (mut times, mut busy) = (Vec::new(), 0);
    while !stop.load(Ordering::Relaxed) {
        let n = next.fetch_add(1, Ordering::Relaxed);
        let began = Instant::now();
        let (status, _) =
            post(at, "/sign-in", &format!("email=person{n}%40bench.example&password=not+the+password"))?;
        match status {
            401 => times.push(began.elapsed()),
            503 => busy += 1,
            other => bail!("an attempt was answered with status {other}"),
        }
    }
    Ok((times, busy))
}

/// How long the inventory takes.
fn page(at: SocketAddr, cookie: &str) -> Result<Duration> {
    let began = Instant::now();
    let request =
        format!("GET /domains HTTP/1.1\r\nHost: {at}\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n");
    match exchange(at, &request)? {
        (200, _) => Ok(began.elapsed()),
        (status, _) => bail!("the page was answered with status {status}"),
    }
}

fn post(at: SocketAddr, path: &str, body: &str) -> Result<(u16, String)> {
    let length = body.len();
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: {at}\r\nContent-Type: application/x-www-form-urlencoded\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    exchange(at, &request)
}

/// Status and head of the answer, which is read to its end.
fn exchange(at: SocketAddr, request: &str) -> Result<(u16, String)> {
    let mut stream = TcpStream::connect(at)?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let text = String::from_utf8_lossy(&answer);
    let (head, _) = text.split_once("\r\n\r\n").context("no answer")?;
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).context("no status")?;
    Ok((status, head.to_string()))
}

/// The cookie of the first account.
fn set_up(at: SocketAddr, link: &str) -> Result<String> {
    let form = "organisation=Bench&name=Ada&email=ada%40bench.example&password=correct+horse+battery";
    let (status, head) = post(at, "/accept", &format!("key={link}&{form}"))?;
    let cookie = head
        .lines()
        .find_map(|line| line.split_once(':').filter(|(k, _)| k.eq_ignore_ascii_case("set-cookie")));
    let Some((_, cookie)) = cookie else { bail!("the set-up was answered with status {status}") };
    Ok(cookie.split(';').next().unwrap_or_default().trim().to_string())
}

/// Address of a new installation, and the secret of its set-up link.
fn start(server: &Path, scratch: &Path) -> Result<(SocketAddr, Served, String)> {
    let at = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?;
    let log = scratch.join("domainscope.log");
    let file = std::fs::File::create(&log)?;
    let child = Command::new(server)
        .args(["serve", "--listen", &at.to_string(), "--data"])
        .arg(scratch.join("data"))
        .stdin(Stdio::null())
        .stdout(file.try_clone()?)
        .stderr(file)
        .spawn()
        .with_context(|| format!("starting {}", server.display()))?;
    let served = Served(child);
    let limit = Instant::now() + Duration::from_secs(30);
    while Instant::now() < limit {
        let said = std::fs::read_to_string(&log).unwrap_or_default();
        let link = said.split("/setup?key=").nth(1).and_then(|rest| rest.split_whitespace().next());
        if let (Some(link), Ok(_)) = (link, TcpStream::connect(at)) {
            return Ok((at, served, link.to_string()));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    bail!("the server did not start; see {}", log.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_sorted_times() {
        let mut times: Vec<_> = (1..=200).rev().map(Duration::from_millis).collect();
        assert_eq!((percentile(&mut times, 50), percentile(&mut times, 99)), (100.0, 198.0));
        assert!(percentile(&mut [], 99).is_nan());
    }
}
