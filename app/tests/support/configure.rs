//! A service in the middle of being set up.

use super::now;
use model::configure::{
    ApplyLink, ChangeAction, CopyFault, Export, FormHints, LiveRecord, PlannedChange, ProviderForm,
    RecordCheck, RecordState, ServerCheck, ServiceKind, ServiceReport, ServiceSpec, ServiceState,
    StoredService, StoredTemplate, when_caches_agree,
};
use service::{ApiError, ApiResult};

pub fn report(domain: &str, spec: &ServiceSpec) -> ApiResult<ServiceReport> {
    if domain == "nowhere.example" {
        return Err(ApiError::invalid("nowhere.example has no zone of its own."));
    }
    let live = |name: &str, rtype: &str, value: &str| LiveRecord {
        name: format!("{name}{domain}"),
        rtype: rtype.into(),
        value: value.into(),
        ttl: Some(3600),
    };
    let record = |rtype: &str, host: &str, value: &str, state, present_on| RecordCheck {
        rtype: rtype.into(),
        host: host.into(),
        name: if host == "@" { domain.into() } else { format!("{host}.{domain}") },
        value: value.into(),
        ttl: 300,
        hints: FormHints { value: "keep the dot at the end".into(), ..FormHints::default() },
        state,
        live: vec![],
        faults: vec![],
        present_on,
        answered: 3,
    };
    let mut www = record("CNAME", "www", "edge.northlake.example.", RecordState::Conflicting, 0);
    www.live = vec![live("www.", "A", "192.0.2.40")];
    www.faults = vec![CopyFault {
        kind: "zone_appended_twice".into(),
        label: "Zone appended twice".into(),
        sentence: "The name has the zone twice; enter the name without the zone.".into(),
        live: live(&format!("www.{domain}."), "CNAME", "edge.northlake.example"),
        host: "www".into(),
        rtype: "CNAME".into(),
        value: "edge.northlake.example.".into(),
    }];
    let change = |action, rtype: &str, old: &[&str], new: &[&str]| PlannedChange {
        action,
        rtype: rtype.into(),
        host: "www".into(),
        name: format!("www.{domain}"),
        old: old.iter().map(|s| (*s).to_string()).collect(),
        new: new.iter().map(|s| (*s).to_string()).collect(),
        ttl: Some(300),
        old_ttl: (!old.is_empty()).then_some(3600),
        why: "A CNAME cannot share its name with other records.".into(),
    };
    let changes = vec![
        change(ChangeAction::Delete, "A", &["192.0.2.40"], &[]),
        change(ChangeAction::Create, "CNAME", &[], &["edge.northlake.example."]),
    ];
    Ok(ServiceReport {
        domain: domain.into(),
        unicode: domain.into(),
        spec: spec.clone(),
        title: spec.service.label().into(),
        about: spec.service.about().into(),
        state: ServiceState::Partial,
        sentence: "1 of 2 records are as expected.".into(),
        provider: ProviderForm {
            name: "Meridian DNS".into(),
            place: "Zones › Records".into(),
            alias: Some(true),
            alias_type: "ALIAS".into(),
            host_label: "Host".into(),
            value_label: String::new(),
            notes: vec!["Meridian DNS offers ALIAS at the domain itself.".into()],
            source: "lab".into(),
        },
        records: vec![record("ALIAS", "@", "edge.northlake.example.", RecordState::Present, 3), www],
        warnings: vec![format!("Do not open www.{domain} before the record is saved.")],
        caches: when_caches_agree(&changes, Some(1800), now()),
        exports: vec![Export {
            format: "bind".into(),
            label: "BIND zone".into(),
            file: format!("{domain}.zone"),
            text: format!("$ORIGIN {domain}.\nwww 300 IN CNAME edge.northlake.example.\n"),
        }],
        changes,
        servers: vec![ServerCheck {
            server: "ns1.meridian-dns.example".into(),
            address: Some("127.0.0.11".parse().unwrap()),
            serial: Some(2_026_111_902),
            present: Some(1),
            problem: String::new(),
        }],
        apply: Some(ApplyLink {
            provider: "Meridian DNS".into(),
            url: "https://dns.meridian.example/apply".into(),
            signed: true,
        }),
        no_apply: String::new(),
        checked_at: now(),
    })
}

/// Services of one domain, in the states they can be in.
pub fn services(domain: &str) -> Vec<StoredService> {
    if domain != "alder.example" {
        return vec![];
    }
    let one = |id: &str, kind, pairs: &[(&str, &str)], state, present, total| StoredService {
        state,
        present,
        total,
        worked_at: (state != ServiceState::NotSetUp).then(|| now() - jiff::SignedDuration::from_hours(22)),
        checked_at: Some(now() - jiff::SignedDuration::from_mins(4)),
        ..StoredService::new(
            id.into(),
            domain,
            ServiceSpec::new(kind, "", pairs.iter().copied()).unwrap(),
            now(),
        )
    };
    vec![
        one("web1", ServiceKind::Web, &[("target", "edge.northlake.example")], ServiceState::Working, 2, 2),
        one("mail1", ServiceKind::Mail, &[("servers", "10 mx1.post.example")], ServiceState::Drifted, 4, 6),
        one("acme1", ServiceKind::Acme, &[("target", "acme.alder.example")], ServiceState::NotSetUp, 0, 1),
    ]
}

/// The saved templates of the organisation.
pub fn templates() -> Vec<StoredTemplate> {
    vec![StoredTemplate {
        provider_id: "post.example".into(),
        service_id: "web".into(),
        provider_name: "Post".into(),
        service_name: "Web shop".into(),
        version: Some(2),
        variables: vec!["ip".into(), "token".into()],
        groups: vec![],
        url: String::new(),
        saved_by: "Mira Holt".into(),
        saved_at: now(),
        json: "{\"description\":\"The whole text\"}".into(),
    }]
}
