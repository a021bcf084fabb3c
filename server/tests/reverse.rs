//! Names meet numbers in the demo's lab: which domains point into a prefix, and whether its PTR records agree, from the
//! reverse zones of IPv4 and IPv6.

#[allow(dead_code, reason = "other tests use the rest")]
mod demo;

use demo::services;
use model::ids::Caller;
use model::item::Ownership;
use model::names::DomainName;
use product::Services;
use service::Backend;
use service::addresses::Ptr;
use service::resources::ResourceBackend;

/// Each name that points into a prefix with its PTR records in short.
async fn pointing(services: &Services, prefix: &str) -> Vec<String> {
    let found = services.pointing(&Caller::system(), &prefix.parse().unwrap(), None).await.unwrap();
    let words = found.pointers.iter().map(|p| {
        let ptr = match &p.ptr {
            Ptr::Agrees => "agrees".to_string(),
            Ptr::Differs { names } => format!("is {}", names.join(" ")),
            Ptr::Missing => "is missing".to_string(),
            Ptr::NoAnswer => "has no answer".to_string(),
            Ptr::NotAsked => "was not asked".to_string(),
        };
        format!("{} {} {ptr}", p.name, p.address)
    });
    words.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ptr_records_agree_are_missing_or_name_another_host() {
    let folder = tempfile::tempdir().unwrap();
    let (services, lab) = services(folder.path()).await;
    let operator = Caller::system();
    for name in ["alder.example", "tidewater.example", "brightmoor.example"] {
        services.add(&operator, name, Ownership::Owned, &[]).await.unwrap();
        services.scanner.scan(&DomainName::trusted(name), true).await.unwrap();
    }
    assert_eq!(pointing(&services, "2001:db8:80::/48").await, ["alder.example 2001:db8:80::80 agrees"]);
    let front = pointing(&services, "203.0.113.20/30").await;
    let differs = "brightmoor.example 203.0.113.22 is edge-22.harborcdn.example".to_string();
    assert!(front.contains(&"tidewater.example 203.0.113.21 agrees".into()), "{front:?}");
    assert!(front.contains(&differs), "{front:?}");
    // The records change: what is shown is what the servers say now.
    for line in [
        "remove 22.113.0.203.in-addr.arpa PTR",
        "add 21.113.0.203.in-addr.arpa 3600 PTR other.example.",
        "remove 0.8.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.0.0.8.b.d.0.1.0.0.2.ip6.arpa PTR",
    ] {
        lab.apply(line.parse().unwrap()).await.unwrap();
    }
    let front = pointing(&services, "203.0.113.20/30").await;
    assert!(front.contains(&"brightmoor.example 203.0.113.22 is missing".into()), "{front:?}");
    // One of two names is enough.
    assert!(front.contains(&"tidewater.example 203.0.113.21 agrees".into()), "{front:?}");
    let six = ["alder.example 2001:db8:80::80 is missing"];
    assert_eq!(pointing(&services, "2001:db8:80::/48").await, six);
}
