//! The domains themselves.

use super::*;

const LOCKS: [&str; 2] = ["clientTransferProhibited", "clientDeleteProhibited"];

/// The domain of the story: lame and slow servers, expiring soon, signed.
pub fn alder() -> Domain {
    let mut r = registration(
        "Lantern Registrar",
        "9994",
        "2011-12-13T09:20:04Z",
        "2026-11-17T09:11:37Z",
        Some("2026-12-13T09:20:04Z"),
        &LOCKS,
    );
    let ds = Ds {
        key_tag: 20326,
        algorithm: 13,
        digest_type: 2,
        digest: "E06D44B80B8F1D39A95C0B0D7C65D084".into(),
    };
    r.dnssec = Some(DnssecStated { signed: true, ds: vec![ds.clone()] });
    r.nameservers = Some(vec!["ns1.meridian-dns.example".into(), "old-ns.alder.example".into()]);
    let mut d = domain("alder.example", r, "Meridian DNS");
    d.item.tags = vec!["core".into(), "prod".into()];
    d.item.last_change_at = Some("2026-11-17T09:12:00Z".parse().unwrap());
    let o = d.observation.as_mut().unwrap();
    let servers = vec![
        server("ns1.meridian-dns.example", "192.0.2.11", ServerHealth::Authoritative, 12.0),
        server("ns1.meridian-dns.example", "2001:db8:11::53", ServerHealth::Authoritative, 13.0),
        server("ns2.meridian-dns.example", "198.51.100.12", ServerHealth::Authoritative, 18.0),
        server("ns3.meridian-dns.example", "203.0.113.13", ServerHealth::Slow, 412.0),
        server("old-ns.alder.example", "192.0.2.77", ServerHealth::Lame, 9.0),
    ];
    let mut del = delegation("alder.example", "Meridian DNS", ProviderKind::Known, servers);
    del.ds = vec![ds.clone()];
    o.delegation.value = Some(del);
    o.dnssec.value = Some(Dnssec {
        status: DnssecStatus::Secure,
        reason: "Every link from the root key to the zone validates.".into(),
        ds: vec![ds],
        key_tags: vec![20326, 34505],
        signatures_expire: Some("2026-12-04T00:00:00Z".parse().unwrap()),
        denial: None,
    });
    let rr = |name: &str, rtype: &str, ttl, data: &[&str]| RrSet {
        name: name.into(),
        rtype: rtype.into(),
        ttl,
        data: data.iter().map(|d| (*d).to_string()).collect(),
    };
    o.zone.value = Some(ZoneSnapshot {
        rrsets: vec![
            rr("alder.example", "A", 300, &["203.0.113.80"]),
            rr("alder.example", "MX", 3600, &["10 mx1.alder.example.", "20 mx2.alder.example."]),
            rr("alder.example", "TXT", 3600, &["\"v=spf1 mx include:_spf.post.example -all\""]),
            rr(
                "_dmarc.alder.example",
                "TXT",
                3600,
                &["\"v=DMARC1; p=quarantine; rua=mailto:dmarc@alder.example\""],
            ),
            rr("www.alder.example", "CNAME", 86400, &["alder-prod.edge.harborcdn.example."]),
        ],
        wildcard: Some(false),
        unanswered: vec!["www.alder.example AAAA".into()],
        ..ZoneSnapshot::default()
    });
    o.findings = vec![Finding {
        broken: false,
        tag: "IS_NOT_AUTHORITATIVE".into(),
        level: Level::Error,
        args: serde_json::Map::new(),
        test_case: "Delegation04".into(),
        zone: "alder.example".into(),
        message: "old-ns.alder.example refuses questions about this zone".into(),
        fix: "Remove it from the delegation at the registrar; the zone itself no longer lists it.".into(),
    }];
    d
}

/// The registry has refused to answer for four days.
pub fn stale() -> Domain {
    let r = registration("Opal Domains GmbH", "9993", "2015-01-08", "2025-08-30", Some("2028-01-08"), &LOCKS);
    let mut d = domain("meadow.example", r, "Meridian DNS");
    d.item.ownership = Ownership::Watched;
    let o = d.observation.as_mut().unwrap();
    o.registration.observed_at = Some(ago(24 * 4 + 2));
    o.registration.error = Some(PartError {
        label: "throttled".into(),
        sentence: "rdap.registry.example asks for fewer questions".into(),
        retry_at: Some("2026-11-20T14:40:00Z".parse().unwrap()),
    });
    d
}

pub fn never_scanned() -> Domain {
    let name = DomainName::read("brandnew.example").unwrap().name;
    Domain { item: Item::new(OrgId::BUILT_IN, name, Ownership::Owned, now()), observation: None }
}

pub fn available() -> Domain {
    let mut d = domain("nobody.example", Registration::default(), "x");
    d.item.ownership = Ownership::Watched;
    let o = d.observation.as_mut().unwrap();
    o.registration.value = Some(RegistrationState::Available);
    let del = o.delegation.value.as_mut().unwrap();
    (del.delegated, del.provider, del.zone) = (false, None, "nobody.example".into());
    del.servers.clear();
    del.parent_ns.clear();
    del.child_ns.clear();
    (del.soa, del.negative_soa) = (Some(soa("example")), Some(soa("example")));
    d
}

/// An IDN whose registry publishes no expiration, set manually; with a long note.
pub fn idn() -> Domain {
    let mut d = domain(
        "bücherei.example",
        registration("Opal Domains GmbH", "9993", "2010-03-01", "2024-03-01", None, &LOCKS),
        "Self-hosted",
    );
    d.item.manual_expires = Some("2027-03-01".parse().unwrap());
    d.item.note = "Ärger & <b>Sorgen</b>: ".to_string() + &"lang ".repeat(96);
    let del = d.observation.as_mut().unwrap().delegation.value.as_mut().unwrap();
    del.provider = Some(Provider { name: "Self-hosted".into(), kind: ProviderKind::SelfHosted });
    d
}

/// Everything the pictures show.
pub fn all() -> Vec<Domain> {
    let plain = |name: &str,
                 registrar: &str,
                 updated: &str,
                 expires: &str,
                 flags: &[&str],
                 provider: &str| {
        domain(name, registration(registrar, "9992", "2014-05-01", updated, Some(expires), flags), provider)
    };
    let mut tide = plain(
        "tidewater.example",
        "Harbor Names Ltd",
        "2026-11-18",
        "2026-11-18T09:00:00Z",
        &LOCKS,
        "Meridian DNS",
    );
    tide.item.last_change_at = Some("2026-11-18T12:00:00Z".parse().unwrap());
    let mut bright =
        plain("brightmoor.example", "Lantern Registrar", "2026-09-02", "2026-12-04", &LOCKS, "Meridian DNS");
    bright.item.auto_renew = Some(true);
    bright.item.tags = vec!["edge".into()];
    bright.item.last_change_at = Some("2026-09-02T12:00:00Z".parse().unwrap());
    bright.item.last_dns_change_at = Some("2026-11-19T12:00:00Z".parse().unwrap());
    let kestrel = plain(
        "kestrel-bank.example",
        "Registry Direct",
        "2025-05-08",
        "2027-08-11",
        &["serverTransferProhibited", "serverUpdateProhibited", "serverDeleteProhibited"],
        "Anycast One",
    );
    let mut lumen =
        plain("lumen.example", "Harbor Names Ltd", "2025-11-03", "2027-11-03", &["ok"], "Quarry DNS");
    lumen.item.ownership = Ownership::Watched;
    let q7 = domain(
        "q7.io",
        registration(
            "NAMECHEAP INC",
            "1068",
            "2012-07-06T13:58:57Z",
            "2019-08-17T16:33:24.36Z",
            Some("2029-07-06T13:58:57Z"),
            &["clientTransferProhibited", "clientUpdateProhibited", "clientDeleteProhibited"],
        ),
        "Digital Ocean",
    );
    let long = plain(
        &format!(
            "{}.example",
            "a-very-long-label-that-goes-on-and-on-until-it-must-be-cut-63"
                .chars()
                .take(60)
                .collect::<String>()
        ),
        "A registrar whose name is much longer than any column could ever be, Incorporated",
        "2025-01-01",
        "2027-02-22",
        &LOCKS,
        "Some operator with an equally long and winding name",
    );
    vec![
        tide,
        bright,
        alder(),
        long,
        idn(),
        plain("halcyon.example", "Lantern Registrar", "2026-10-05", "2027-05-19", &LOCKS, "Quarry DNS"),
        kestrel,
        lumen,
        stale(),
        plain("orchard.example", "Opal Domains GmbH", "2026-04-28", "2028-04-27", &LOCKS, "Anycast One"),
        q7,
        never_scanned(),
        available(),
    ]
}
