//! Certificates of the inventory: one handshake with each address of a host, nothing else asked of it.

use crate::tls;
use futures::StreamExt;
use jiff::Timestamp;
use model::certificate::hosts::HostCertificate;
use net::Dialer;
use std::net::IpAddr;

/// Most addresses of a host that are asked.
const ADDRESSES: usize = 4;
/// The port of HTTPS.
const PORT: u16 = 443;

/// The certificate that `host` (A-labels, no final dot) presents, at the addresses that are known of it, or else at those
/// that it is resolved to. What fails is part of the result. Addresses reserved for documentation (RFC 5737, RFC 3849)
/// lead nowhere and are not dialled.
pub async fn host_certificate(
    dialer: &Dialer,
    host: &str,
    known: Vec<IpAddr>,
    now: Timestamp,
) -> HostCertificate {
    let addresses =
        if known.is_empty() { dialer.addresses(host).await } else { dialer.admit_all(host, known) };
    let addresses = match addresses {
        Ok(addresses) => addresses,
        Err(e) => return HostCertificate::failed(host, e.to_string()),
    };
    let (reserved, real): (Vec<_>, Vec<_>) =
        addresses.into_iter().partition(|ip| net::guard::is_documentation(*ip));
    if let (Some(address), true) = (reserved.first(), real.is_empty()) {
        return HostCertificate::failed(
            host,
            format!("{address} is a documentation address (RFC 5737, RFC 3849)"),
        );
    }
    let each = real.into_iter().take(ADDRESSES).map(|ip| tls::observe(dialer, ip, PORT, host, now));
    HostCertificate::of(host, futures::stream::iter(each).buffered(ADDRESSES).collect().await)
}
