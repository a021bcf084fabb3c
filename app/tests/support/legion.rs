//! A domain of extremes: labels of 63 letters, thirteen name servers with two families each, of which some are lame,
//! slow, silent or hold an older zone; records longer than a screen is wide.

use super::world::{self, Domain, delegation, registration, server};
use model::dns::{ProviderKind, RrSet, ServerHealth, ZoneSnapshot};
use model::registration::Ds;

/// Its name: as long as a label may be.
pub const NAME: &str = "the-longest-label-that-anybody-may-register-counts-63-letters-a.example";

pub fn legion() -> Domain {
    let r = registration(
        "The Registrar With The Longest Company Name Ever Accredited, Inc. (formerly Another)",
        "9999",
        "2011-12-13T09:20:04Z",
        "2026-11-17T09:11:37Z",
        Some("2027-12-13T09:20:04Z"),
        &["clientTransferProhibited"],
    );
    let mut d = world::domain(NAME, r, "Many");
    let o = d.observation.as_mut().unwrap();
    let mut servers = Vec::new();
    for n in 1..=13_u16 {
        let name = match n {
            12 => format!("ns12.{NAME}"),
            n => format!("ns{n}.operator-of-many-servers.example"),
        };
        let mut four =
            server(&name, &format!("192.0.2.{n}"), ServerHealth::Authoritative, 10.0 + f64::from(n));
        let mut six = server(
            &name,
            &format!("2001:db8:ffff:{n:x}:1234:5678:9abc:def0"),
            ServerHealth::Authoritative,
            12.0 + f64::from(n),
        );
        match n {
            3 => six.health = ServerHealth::Slow,
            5 => (four.serial, six.serial) = (Some(2_026_111_901), Some(2_026_111_901)),
            7 => six = server(&name, "2001:db8:ffff:7::1", ServerHealth::Dead, 0.0),
            9 => {
                four = server(&name, "192.0.2.9", ServerHealth::Lame, 9.0);
                six = server(&name, "2001:db8:ffff:9::1", ServerHealth::Lame, 9.0);
            }
            _ => {}
        }
        if n == 3 {
            six.latency_ms = Some(1840.0);
        }
        servers.extend([four, six]);
    }
    let mut del = delegation(NAME, "Many", ProviderKind::Known, servers);
    del.ds = vec![Ds { key_tag: 20326, algorithm: 13, digest_type: 2, digest: "E06D44B8".repeat(8) }];
    o.delegation.value = Some(del);
    let long = format!("\"v=DKIM1; k=rsa; p={}\"", "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A".repeat(12));
    let rr =
        |rtype: &str, data: Vec<String>| RrSet { name: NAME.into(), rtype: rtype.into(), ttl: 300, data };
    o.zone.value = Some(ZoneSnapshot {
        rrsets: vec![rr("TXT", vec![long]), rr("A", (1..40).map(|n| format!("203.0.113.{n}")).collect())],
        ..ZoneSnapshot::default()
    });
    d
}
