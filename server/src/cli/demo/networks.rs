//! Address space of the demo: blocks with claims, one that is refused, and one that was released while a record still
//! points into it.

use anyhow::{Context, Result};
use model::ids::Caller;
use numbers::{AddressRequest, ClaimSpec, Reference};
use product::Services;
use service::resources::{ClaimDraft, ResourceBackend};

/// Name, block, what of it (an exact prefix, or a length), component, description.
type DemoClaim = (&'static str, &'static str, &'static str, (&'static str, &'static str), &'static str);

const CLAIMS: [DemoClaim; 13] = [
    (
        "edge-front",
        "203.0.113.0/24",
        "203.0.113.16/28",
        ("edge", "front-ends"),
        "Front ends of customer sites",
    ),
    ("edge-shops", "203.0.113.0/24", "203.0.113.32/27", ("edge", "shops"), "Shops and landing pages"),
    ("edge-docs", "203.0.113.0/24", "203.0.113.64/29", ("edge", "docs"), "Documentation sites"),
    (
        "edge-canary",
        "203.0.113.0/24",
        "203.0.113.24/30",
        ("edge", "canary"),
        "Wants part of edge-front: refused",
    ),
    ("edge-spare", "203.0.113.0/24", "/27", ("edge", "spare"), "Reserve for the next site"),
    (
        "mail-inbound",
        "192.0.2.0/24",
        "192.0.2.16/28",
        ("mail", "inbound"),
        "Mail exchangers of alder.example",
    ),
    ("edge-trial", "203.0.113.0/24", "203.0.113.72/31", ("edge", "trial"), "A trial that has ended"),
    ("name-servers", "198.51.100.0/24", "198.51.100.48/29", ("dns", "name-servers"), "Authoritative servers"),
    ("edge-ipv6", "2001:db8::/32", "2001:db8:80::/48", ("edge", "front-ends"), "Front ends, IPv6"),
    (
        "kube-apiserver-services",
        "10.96.0.0/12",
        "10.96.0.0/16",
        ("kube-apiserver", "services"),
        "Service addresses",
    ),
    ("session-store", "10.20.0.0/16", "/26", ("apps", "session-store"), "One address per shard"),
    ("build-farm", "10.20.0.0/16", "/20", ("apps", "build-farm"), "Workers"),
    ("pods-west", "10.20.0.0/16", "/18", ("kube-controller-manager", "pods"), "Pods of the western cluster"),
];

/// The claim that is released again.
const RELEASED: &str = "edge-trial";

/// Claims of the visitor's organisation.
pub(super) async fn start(services: &Services) -> Result<()> {
    let operator = Caller::system();
    for (name, from, what, (group, resource), description) in CLAIMS {
        let length = what.strip_prefix('/').map(str::parse).transpose().context("a length of the demo")?;
        let request = AddressRequest {
            prefix: length.is_none().then(|| what.to_string()),
            from: Some(from.into()),
            prefix_length: length,
            reference: Reference { group: group.into(), resource: resource.into() },
            description: description.into(),
        };
        let draft = ClaimDraft {
            name: name.into(),
            expected: None,
            metadata: "{}".into(),
            spec: ClaimSpec { address_space: vec![request] },
            dry_run: false,
        };
        services.save_network_claim(&operator, &draft).await?;
    }
    services.delete_network_claim(&operator, RELEASED, None).await?;
    Ok(())
}
