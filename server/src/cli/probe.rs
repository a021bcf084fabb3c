//! `domainscope probe HOST`: certificates, HTTP(S) answers and records that lead nowhere.

use super::{Outcome, print, print_json, usage};
use crate::settings::EngineArgs;
use crate::wiring;
use anyhow::Result;
use async_trait::async_trait;
use clap::Args;
use model::certificate::{HttpObservation, Probe, TlsObservation, Trust};
use model::dns::AnswerKind;
use model::finding::Level;
use model::names::Fqdn;
use model::places::Looked;
use model::web_places::{Readiness, WebPlace, readiness};
use probe::{DnsAnswer, Names, Options, Prober};
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

/// Flags of `probe`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  domainscope probe www.example.com\n  domainscope probe www.example.com --path /healthz --json\n  domainscope probe www.example.com --places --data /var/lib/domainscope\n\n\
    Exit code 1 when a finding is of level WARNING or worse (with --places: when HTTPS is not ready at a place), 3 when the host has no address that may be asked."
)]
pub(super) struct ProbeArgs {
    /// Host name
    #[arg(value_name = "HOST")]
    host: String,
    /// Port of HTTPS
    #[arg(long, value_name = "PORT", default_value_t = 443)]
    port: u16,
    /// Port of plain HTTP
    #[arg(long, value_name = "PORT", default_value_t = 80)]
    http_port: u16,
    /// Readiness path: must answer 2xx over HTTPS
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// Ask from each point of presence of an installation too (--data or --database): HTTPS and HTTP only
    #[arg(long, conflicts_with_all = ["port", "http_port"])]
    places: bool,
    /// Folder of the embedded database, for --places
    #[arg(long, default_value = "data", env = "DOMAINSCOPE_DATA", value_name = "DIR")]
    data: PathBuf,
    /// PostgreSQL instead: postgres://user@host/name
    #[arg(long, env = "DOMAINSCOPE_DATABASE", value_name = "URL", hide_env_values = true)]
    database: Option<String>,
}

/// DNS answers of the engine.
struct EngineNames(dns::Engine);

#[async_trait]
impl Names for EngineNames {
    async fn ask(&self, name: &str, rtype: &str) -> Result<DnsAnswer, String> {
        let name = Fqdn::read(name).map_err(|e| e.to_string())?.name;
        let found = self.0.resolve(&name, rtype).await.map_err(|e| e.to_string())?;
        Ok(DnsAnswer {
            is_nxdomain: found.kind == AnswerKind::NxDomain,
            records: found.records.into_iter().map(|r| r.data).collect(),
            aliases: found.aliases,
            owner: found.owner,
            zone: found.zone,
        })
    }
}

pub(super) async fn run(args: &ProbeArgs, engine: &EngineArgs, json: bool) -> Result<Outcome> {
    let host = match Fqdn::read(&args.host) {
        Ok(u) => u.name,
        Err(e) => return Ok(usage(&e.to_string())),
    };
    if args.places {
        return from_places(args, engine, host, json).await;
    }
    let internet = wiring::internet(engine)?;
    let dialer = wiring::dialer(engine, &internet.engine)?;
    let prober = Prober::new(dialer, Arc::new(EngineNames(internet.engine)));
    let options = Options { port: args.port, http_port: args.http_port, readiness: args.path.clone() };
    let probe = prober.probe(host.as_str(), &options, jiff::Timestamp::now()).await;
    if json {
        print_json(&probe)?;
    } else {
        print(text(&probe).trim_end())?;
    }
    if let Some(error) = probe.error.as_ref().filter(|_| probe.dangling.is_empty()) {
        anyhow::bail!("{host} cannot be probed: {error}");
    }
    let bad = probe.findings.iter().any(|f| f.level >= Level::Warning);
    Ok(if bad { Outcome::Problems } else { Outcome::Done })
}

/// The web server from this machine and from each point of presence that is online.
async fn from_places(args: &ProbeArgs, engine: &EngineArgs, host: Fqdn, json: bool) -> Result<Outcome> {
    let (host, path) = match product::web_question(host.as_str(), args.path.as_deref().unwrap_or_default()) {
        Ok(asked) => asked,
        Err(e) => return Ok(usage(&e.detail)),
    };
    let store = super::place::existing(&args.data, args.database.as_deref(), None).await?;
    let internet = wiring::internet(engine)?;
    let asked = (&host, path.as_str());
    let looked =
        product::web_places(&*store, &monitor::SystemClock, &internet, "This machine", asked).await?;
    let (sentence, Looked { places, left_out }) = (looked.sentence(), looked);
    if json {
        print_json(&serde_json::json!({
            "host": host, "path": path, "places": places, "left_out": left_out, "sentence": sentence
        }))?;
    } else {
        print(places_text(&sentence, &places).trim_end())?;
    }
    let is_ready = |p: &WebPlace| p.seen.as_ref().is_some_and(|s| readiness(&s.https).0 == Readiness::Ready);
    Ok(if places.iter().all(is_ready) { Outcome::Done } else { Outcome::Problems })
}

fn places_text(sentence: &str, places: &[WebPlace]) -> String {
    let mut out = format!("{sentence}\n\n");
    for p in places {
        let label = if p.region.is_empty() { p.label.clone() } else { format!("{} ({})", p.label, p.region) };
        let Some(seen) = &p.seen else {
            let _ = writeln!(out, "{label:<24}  {}", p.error.as_deref().unwrap_or("no answer"));
            continue;
        };
        let time = seen.latency_ms.map(|ms| format!("  {ms:.0} ms")).unwrap_or_default();
        let (https, http) = (readiness(&seen.https).1, readiness(&seen.http).1);
        let _ = writeln!(out, "{label:<24}  HTTPS {https}{time}");
        let _ = writeln!(out, "{:<24}  HTTP  {http}", "");
    }
    out
}

fn text(probe: &Probe) -> String {
    let mut out = format!("{}\n\n", probe.host);
    if probe.findings.is_empty() {
        out.push_str("No problems found.\n");
    }
    for f in &probe.findings {
        let _ = writeln!(out, "{:<8}  {}", f.level.label(), f.message);
        if !f.fix.is_empty() {
            let _ = writeln!(out, "          {}", f.fix);
        }
    }
    for tls in &probe.tls {
        tls_lines(&mut out, tls);
    }
    for (title, seen) in [("HTTPS", &probe.https), ("HTTP", &probe.http)] {
        if let Some(seen) = seen {
            http_lines(&mut out, title, seen);
        }
    }
    if let Some(hop) = &probe.readiness {
        let answer = hop.status.map_or_else(|| hop.error.clone().unwrap_or_default(), |s| s.to_string());
        let _ = writeln!(out, "\nReadiness  {}  {answer}", hop.url);
    }
    if let Some(caa) = &probe.caa {
        let at = caa.found_at.as_deref();
        let records = caa.records.join(", ");
        let words = match (&caa.error, at, caa.permits) {
            (Some(error), ..) => format!("unknown ({error})"),
            (None, None, _) => "no records: any certificate authority may issue".to_string(),
            (None, Some(at), Some(true)) => format!("{at}: {records} (permits the issuer)"),
            (None, Some(at), Some(false)) => format!("{at}: {records} (does not permit the issuer)"),
            (None, Some(at), None) => format!("{at}: {records} (the issuer's CAA names are unknown)"),
        };
        let _ = writeln!(out, "\nCAA  {words}");
    }
    for d in &probe.dangling {
        if let (Some(service), Some(source)) = (&d.service, &d.source) {
            let _ = writeln!(out, "\n{} is listed as claimable at {service} (source: {source})", d.target);
        }
    }
    out
}

fn tls_lines(out: &mut String, tls: &TlsObservation) {
    let _ = write!(out, "\nTLS  {}", tls.address);
    if let Some(error) = &tls.error {
        let _ = writeln!(out, "  {error}");
        return;
    }
    let trust = match tls.trust {
        Some(Trust::Trusted) => "trusted",
        Some(Trust::Expired) => "expired",
        Some(Trust::NotYetValid) => "not valid yet",
        Some(Trust::SelfSigned) => "self-signed",
        Some(Trust::Incomplete) => "chain incomplete",
        Some(Trust::UnknownIssuer) => "unknown issuer",
        Some(Trust::Invalid) | None => "not valid",
    };
    let _ = writeln!(
        out,
        "  {}, {}, {trust}{}",
        tls.version.as_deref().unwrap_or("TLS"),
        tls.alpn.as_deref().unwrap_or("no ALPN"),
        if tls.ocsp_stapled { ", OCSP stapled" } else { "" }
    );
    for cert in &tls.chain {
        let end = cert.not_after.strftime("%Y-%m-%d");
        let _ = writeln!(out, "     {}  until {end}  {} {} bits", cert.subject, cert.key_type, cert.key_bits);
    }
    if let Some(leaf) = tls.chain.first() {
        let _ = writeln!(out, "     Issuer {}", leaf.issuer);
        let _ = writeln!(out, "     Names  {}", leaf.names.join(", "));
    }
}

fn http_lines(out: &mut String, title: &str, seen: &HttpObservation) {
    let _ = writeln!(out, "\n{title}");
    for hop in &seen.hops {
        let status = hop.status.map_or_else(|| "–".to_string(), |s| s.to_string());
        let error = hop.error.as_ref().map(|e| format!("  {e}")).unwrap_or_default();
        let _ = writeln!(out, "     {status}  {}{error}", hop.url);
    }
    if let Some(hsts) = &seen.hsts {
        let _ = writeln!(out, "     HSTS {hsts}");
    }
    if seen.offers_h3() {
        let _ = writeln!(out, "     HTTP/3 is offered");
    }
}
