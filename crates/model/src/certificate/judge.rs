//! What is wrong with a probed host, worst first. In: a [`Probe`] without findings, and now. Out: findings with a stable
//! kind, a level, what it means and what to do.

use super::{HttpObservation, Probe, TlsObservation, Trust};
use crate::finding::Level;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Days before the end at which a certificate should have been renewed.
pub const RENEW_DAYS: i64 = 21;
/// Days before the end at which renewal is urgent.
pub const URGENT_DAYS: i64 = 7;
/// Smallest RSA key that public authorities may certify (Baseline Requirements section 6.1.5).
const RSA_BITS: u32 = 2048;

/// Kind of finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "each message says what its kind means")]
pub enum ProbeKind {
    NoAddress,
    TlsUnreachable,
    CertificateExpired,
    CertificateEndsSoon,
    CertificateNotYetValid,
    CertificateWrongName,
    CertificateUntrusted,
    WeakKey,
    BackendsDiffer,
    CaaForbidsIssuer,
    HttpsFails,
    RedirectToHttp,
    RedirectFails,
    NoHttpsRedirect,
    NotReady,
    DanglingTarget,
    ClaimableTarget,
}

/// One thing a probe noticed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeFinding {
    /// Kind.
    pub kind: ProbeKind,
    /// How bad.
    pub level: Level,
    /// What it means, in a sentence.
    pub message: String,
    /// What to do, in a sentence; empty when nothing is to be done.
    pub fix: String,
}

fn finding(kind: ProbeKind, level: Level, message: String, fix: &str) -> ProbeFinding {
    ProbeFinding { kind, level, message, fix: fix.to_string() }
}

/// Judges a probe.
pub fn judge(probe: &Probe, now: Timestamp) -> Vec<ProbeFinding> {
    let mut out = Vec::new();
    if let Some(error) = &probe.error {
        let message = format!("{} cannot be probed: {error}.", probe.host);
        out.push(finding(ProbeKind::NoAddress, Level::Error, message, "Add an address record for the host."));
    }
    for tls in &probe.tls {
        certificate(tls, &probe.host, now, &mut out);
    }
    let mut leaves = probe.tls.iter().filter_map(|t| t.chain.first());
    if let Some(first) = leaves.next()
        && leaves.any(|other| other.sha256 != first.sha256)
    {
        let message = format!("The addresses of {} serve different certificates.", probe.host);
        let fix = "Install the same certificate on every backend, unless a rollout is under way.";
        out.push(finding(ProbeKind::BackendsDiffer, Level::Notice, message, fix));
    }
    if let Some(caa) = probe.caa.as_ref().filter(|c| c.permits == Some(false)) {
        let at = caa.found_at.as_deref().unwrap_or_default();
        let message = format!(
            "The CAA records of {at} do not permit the authority that issued the certificate ({}); it cannot be renewed there.",
            caa.issuer_names.join(", ")
        );
        let fix = "Add an issue record for this authority, or renew at one that the records name.";
        out.push(finding(ProbeKind::CaaForbidsIssuer, Level::Warning, message, fix));
    }
    web(probe, &mut out);
    for d in &probe.dangling {
        out.push(match &d.service {
            Some(service) => finding(
                ProbeKind::ClaimableTarget,
                Level::Critical,
                format!(
                    "{} has a {} record to {}, which is not claimed at {service}: anyone who claims it there controls this name.",
                    d.owner, d.rtype, d.target
                ),
                "Remove the record, or claim the target again.",
            ),
            None => finding(
                ProbeKind::DanglingTarget,
                Level::Error,
                format!("{} has a {} record to {}, which does not exist.", d.owner, d.rtype, d.target),
                "Remove the record, or correct its target.",
            ),
        });
    }
    out.sort_by_key(|f| std::cmp::Reverse(f.level));
    out.dedup();
    out
}

fn certificate(tls: &TlsObservation, host: &str, now: Timestamp, out: &mut Vec<ProbeFinding>) {
    let at = tls.address;
    if let Some(error) = &tls.error {
        let message = format!("{at} does not speak TLS for {host}: {error}.");
        out.push(finding(
            ProbeKind::TlsUnreachable,
            Level::Error,
            message,
            "Check the web server at this address.",
        ));
        return;
    }
    let Some(leaf) = tls.chain.first() else { return };
    let days = (leaf.not_after.as_second() - now.as_second()).div_euclid(86_400);
    let end = leaf.not_after.strftime("%Y-%m-%d %H:%M UTC");
    let renew = "Renew the certificate, and check why it was not renewed automatically.";
    if leaf.not_after < now {
        let message = format!("The certificate at {at} expired on {end}.");
        out.push(finding(ProbeKind::CertificateExpired, Level::Critical, message, renew));
    } else if days < RENEW_DAYS {
        let level = if days < URGENT_DAYS { Level::Error } else { Level::Warning };
        let message = format!("The certificate at {at} expires in {days} days, on {end}.");
        out.push(finding(ProbeKind::CertificateEndsSoon, level, message, renew));
    }
    if leaf.not_before > now {
        let start = leaf.not_before.strftime("%Y-%m-%d %H:%M UTC");
        let message = format!("The certificate at {at} is not valid before {start}.");
        let fix = "Check the clock of the server that issued it.";
        out.push(finding(ProbeKind::CertificateNotYetValid, Level::Critical, message, fix));
    }
    if !tls.covers_host {
        let names = if leaf.names.is_empty() { "no DNS name".to_string() } else { leaf.names.join(", ") };
        let message = format!("The certificate at {at} is not for {host}; it is for {names}.");
        let fix = "Issue a certificate that names the host, or configure the server name on the web server.";
        out.push(finding(ProbeKind::CertificateWrongName, Level::Critical, message, fix));
    }
    let untrusted = match tls.trust {
        Some(Trust::SelfSigned) => Some(("is self-signed", "Issue a certificate at a public authority.")),
        Some(Trust::Incomplete) => Some((
            "came without the intermediate certificate of its issuer, which is no trusted authority itself",
            "Configure the full chain (fullchain.pem) on the web server.",
        )),
        Some(Trust::UnknownIssuer) => Some((
            "was issued by an authority that is not trusted",
            "Issue a certificate at a public authority.",
        )),
        Some(Trust::Invalid) => Some(("is not valid", "Replace the certificate.")),
        // An intermediate may have expired while the leaf has not.
        Some(Trust::Expired) if leaf.not_after >= now => Some((
            "has a chain with an expired certificate",
            "Configure the current chain on the web server.",
        )),
        _ => None,
    };
    if let Some((what, fix)) = untrusted {
        let detail = if tls.trust == Some(Trust::Invalid) {
            format!(" ({})", tls.trust_detail)
        } else {
            String::new()
        };
        let message = format!("The certificate at {at} {what}{detail}; its issuer is {}.", leaf.issuer);
        out.push(finding(ProbeKind::CertificateUntrusted, Level::Critical, message, fix));
    }
    if leaf.key_type == "RSA" && (1..RSA_BITS).contains(&leaf.key_bits) {
        let message = format!("The RSA key at {at} has {} bits; {RSA_BITS} are required.", leaf.key_bits);
        out.push(finding(ProbeKind::WeakKey, Level::Error, message, "Issue a certificate for a larger key."));
    }
}

fn web(probe: &Probe, out: &mut Vec<ProbeFinding>) {
    let status = |h: &HttpObservation| h.hops.last().and_then(|hop| hop.status);
    if let Some(https) = &probe.https {
        if let Some(hop) = https.hops.last()
            && let Some(error) = &hop.error
        {
            // Where TLS failed, the findings about it say more.
            if https.hops.len() > 1
                || probe.tls.iter().all(|t| t.error.is_none() && t.trust == Some(Trust::Trusted))
            {
                let downgrade = hop.location.as_deref().is_some_and(|l| l.starts_with("http:"));
                let kind = match downgrade {
                    true => ProbeKind::RedirectToHttp,
                    false if https.hops.len() > 1 || hop.status.is_some() => ProbeKind::RedirectFails,
                    false => ProbeKind::HttpsFails,
                };
                let message = format!("{} fails: {error}.", hop.url);
                out.push(finding(kind, Level::Warning, message, "Check the redirects of the web server."));
            }
        } else if let Some(code) = status(https).filter(|code| *code >= 500) {
            let message = format!("https://{}/ answers with status {code}.", probe.host);
            out.push(finding(
                ProbeKind::HttpsFails,
                Level::Error,
                message,
                "Check the backend behind the web server.",
            ));
        }
    }
    let https_works = probe.https.as_ref().and_then(status).is_some();
    if let Some(http) = &probe.http
        && https_works
        && status(http).is_some()
        && !http.hops.iter().any(|hop| hop.url.starts_with("https:"))
    {
        let message = format!("http://{}/ does not redirect to HTTPS.", probe.host);
        let fix = "Redirect plain HTTP to HTTPS with status 301 or 308.";
        out.push(finding(ProbeKind::NoHttpsRedirect, Level::Notice, message, fix));
    }
    if let Some(hop) = probe.readiness.as_ref().filter(|h| !h.status.is_some_and(|s| (200..300).contains(&s)))
    {
        let what = match (hop.status, &hop.error) {
            (Some(code), _) => format!("answers with status {code}"),
            (None, Some(error)) => format!("fails: {error}"),
            (None, None) => "does not answer".to_string(),
        };
        let message = format!("The readiness path {} {what}.", hop.url);
        out.push(finding(
            ProbeKind::NotReady,
            Level::Error,
            message,
            "Check the backend behind the web server.",
        ));
    }
}
