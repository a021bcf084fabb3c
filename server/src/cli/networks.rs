//! `domainscope networks PREFIX`: who holds it in the registry of address space, what is free, and which names point into it.

use super::{Outcome, print, print_json, usage};
use crate::http::{AddressV1, SpaceV1};
use crate::settings::{EngineArgs, list, shared_space};
use anyhow::Result;
use clap::Args;
use model::ids::OrgId;
use product::OverlapPolicy;
use serde::Serialize;
use service::addresses::{PlacedAddress, PointerCursor};
use service::numbers::IpNet;
use service::numbers::prefix::{host, parse};
use service::space::PrefixSpace;
use std::net::IpAddr;
use std::path::PathBuf;
use store::Store;

/// Flags of `networks`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  domainscope networks 10.20.0.0/16              who holds what of the block, and what is free\n  \
    domainscope networks 10.20.5.7                 which claim covers the address, and which names point to it\n  \
    domainscope networks 2001:db8::/32 --json | jq -r '.free[]'\n\n\
    Reads the database of an installation: claims of address space, and the addresses that the last scans of its domains found. \
    Nothing is asked of the network.\n\n\
    Exit codes: 0 all is well · 1 a claim was refused here, or a name points into space that no claim covers · \
    2 not a prefix or address · 3 no installation, or its database does not respond"
)]
pub(super) struct NetworksArgs {
    /// Prefix without host bits, as in 10.20.0.0/16 or 2001:db8::/32, or an address
    #[arg(value_name = "PREFIX|ADDRESS")]
    place: String,
    /// Folder of the embedded database
    #[arg(long, default_value = "data", env = "DOMAINSCOPE_DATA", value_name = "DIR")]
    data: PathBuf,
    /// PostgreSQL instead: postgres://user@host/name
    #[arg(long, env = "DOMAINSCOPE_DATABASE", value_name = "URL", hide_env_values = true)]
    database: Option<String>,
    /// Prefixes inside which each organisation has an address space of its own, as given to serve
    #[arg(long, env = "DOMAINSCOPE_SHARED_SPACE", value_name = "PREFIX", value_delimiter = ',')]
    shared_space: Vec<String>,
    /// List the names after this place: “next” of the part before
    #[arg(long, value_name = "NEXT")]
    after: Option<PointerCursor>,
}

/// What is known of a prefix.
pub(super) struct Report {
    pub(super) space: PrefixSpace,
    /// Names that point into it, each as its domain and where its address lies.
    pub(super) names: Vec<(String, PlacedAddress)>,
    /// Where the list of names goes on.
    pub(super) next: Option<PointerCursor>,
}

#[derive(Serialize)]
struct Json {
    #[serde(flatten)]
    space: SpaceV1,
    names: Vec<JsonName>,
    next: Option<String>,
}

#[derive(Serialize)]
struct JsonName {
    domain: String,
    #[serde(flatten)]
    address: AddressV1,
}

impl Report {
    async fn read(
        store: &dyn Store,
        prefix: IpNet,
        policy: &OverlapPolicy,
        after: Option<&PointerCursor>,
    ) -> Result<Self> {
        let org = OrgId::BUILT_IN;
        let space = product::prefix_space(store, org, prefix, policy).await?;
        let (names, next) = product::names_into(store, org, &prefix, after).await?;
        Ok(Report { space, names, next })
    }

    fn is_problem(&self) -> bool {
        self.space.refused > 0 || self.names.iter().any(|(_, a)| a.place.is_problem())
    }

    fn into_json(self) -> Json {
        let name = |(domain, address): (String, PlacedAddress)| JsonName { domain, address: address.into() };
        Json {
            space: self.space.into(),
            names: self.names.into_iter().map(name).collect(),
            next: self.next.map(|n| n.to_string()),
        }
    }
}

fn read(text: &str) -> Result<IpNet, String> {
    match text.trim().parse::<IpAddr>() {
        Ok(address) => Ok(host(address)),
        Err(_) => parse(text).map_err(|e| e.to_string()),
    }
}

pub(super) async fn run(args: NetworksArgs, engine: EngineArgs, json: bool) -> Result<Outcome> {
    let prefix = match read(&args.place) {
        Ok(prefix) => prefix,
        Err(e) => return Ok(usage(&e)),
    };
    if let Some(after) = args.after.as_ref().filter(|a| !prefix.contains(&a.address)) {
        return Ok(usage(&format!("--after {after} does not lie in {prefix}")));
    }
    let policy = shared_space(&list(args.shared_space, engine.shared_space))?;
    let store = super::place::existing(&args.data, args.database.as_deref(), None).await?;
    let report = Report::read(&*store, prefix, &policy, args.after.as_ref()).await?;
    let outcome = if report.is_problem() { Outcome::Problems } else { Outcome::Done };
    if json {
        print_json(&report.into_json())?;
    } else {
        print(super::text::networks::report(&report, true).trim_end())?;
    }
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use model::account::Actor;
    use std::collections::BTreeSet;
    use std::path::Path;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: NetworksArgs,
    }

    async fn ran(line: &[&str]) -> Result<Outcome> {
        let line = [&["networks"], line].concat();
        run(Line::try_parse_from(line).map_err(|e| anyhow::anyhow!("{e}"))?.args, EngineArgs::default(), true)
            .await
    }

    async fn claim(
        store: &dyn Store,
        name: &str,
        prefix: &str,
        from: Option<&str>,
    ) -> store::StoredNetworkClaim {
        let request = numbers::AddressRequest {
            prefix: Some(prefix.into()),
            from: from.map(Into::into),
            reference: numbers::Reference { group: "apps".into(), resource: name.into() },
            ..numbers::AddressRequest::default()
        };
        let write = store::NetworkClaimWrite {
            org: OrgId::BUILT_IN,
            name: name.into(),
            expected: None,
            metadata: "{}".into(),
            spec: numbers::ClaimSpec { address_space: vec![request] },
            policy: OverlapPolicy::default(),
            limit: u64::MAX,
            dry_run: false,
        };
        store
            .write_network_claim(&Actor::system(), &write, "2026-11-20T12:00:00Z".parse().unwrap())
            .await
            .unwrap()
    }

    /// An installation with claims in all states, and a domain whose names point into them.
    async fn installation(folder: &Path) {
        let store = super::super::place::open(folder, None, None).await.unwrap();
        let at: jiff::Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
        claim(&*store, "web", "10.20.5.0/24", Some("10.20.0.0/16")).await;
        let old = claim(&*store, "old", "10.20.7.64/26", None).await;
        store
            .delete_network_claim(
                &Actor::system(),
                OrgId::BUILT_IN,
                "old",
                Some(old.rv),
                &OverlapPolicy::default(),
                at,
            )
            .await
            .unwrap();
        let name = model::names::DomainName::trusted("q7.io");
        let item = store::NewItem {
            unicode: name.unicode(),
            name: name.clone(),
            ownership: model::item::Ownership::Owned,
            tags: vec![],
            note: String::new(),
        };
        store.add(OrgId::BUILT_IN, &[item], at).await.unwrap();
        let set = |owner: &str, address: &str| model::dns::RrSet {
            name: owner.into(),
            rtype: "A".into(),
            ttl: 300,
            data: vec![address.into()],
        };
        let mut observation = model::observation::Observation::empty(name, model::ids::Vantage::local());
        observation.zone.value = Some(model::dns::ZoneSnapshot {
            rrsets: vec![
                set("www.q7.io", "10.20.5.7"),
                set("old.q7.io", "10.20.7.70"),
                set("lab.q7.io", "10.20.9.9"),
            ],
            ..Default::default()
        });
        let record = store::Record {
            expected_version: 0,
            observation,
            snapshot: None,
            raw: vec![],
            outcomes: vec![],
            at,
        };
        store.record(&record).await.unwrap();
    }

    #[tokio::test]
    async fn exit_codes_say_whether_something_is_wrong_with_what_was_asked() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().to_string_lossy().into_owned();
        let none = ran(&["10.20.0.0/16", "--data", &data]).await.unwrap_err().to_string();
        assert!(none.contains("no installation is in"), "{none}");
        installation(folder.path()).await;
        let code = async |place: &str| ran(&[place, "--data", &data]).await.unwrap();
        // What is claimed and pointed at is well; what nothing claims, or a claim that was refused, is not.
        assert_eq!(code("10.20.5.0/24").await, Outcome::Done);
        assert_eq!(code("10.20.5.7").await, Outcome::Done);
        assert_eq!(code("192.0.2.0/24").await, Outcome::Done);
        assert_eq!(code("10.20.7.0/24").await, Outcome::Problems);
        assert_eq!(code("10.20.9.9").await, Outcome::Problems);
        for wrong in ["10.20.5.7/16", "10.20.0.0/33", "q7.io", ""] {
            assert_eq!(code(wrong).await, Outcome::Usage, "{wrong}");
        }
        let elsewhere = ["10.20.5.0/24", "--data", &data, "--after", "10.20.9.9,q7.io,lab.q7.io"];
        assert_eq!(ran(&elsewhere).await.unwrap(), Outcome::Usage);
        assert!(ran(&["10.20.5.0/24", "--data", &data, "--after", "x"]).await.is_err());
        let store = super::super::place::open(folder.path(), None, None).await.unwrap();
        claim(&*store, "late", "10.20.5.128/25", None).await;
        // Behind more prefixes than are listed.
        for n in 0..201_u32 {
            let (third, fourth) = (n / 64, n % 64 * 4);
            claim(&*store, &format!("small-{n}"), &format!("10.30.{third}.{fourth}/30"), None).await;
        }
        claim(&*store, "last", "10.30.3.0/30", None).await;
        claim(&*store, "refused", "10.30.3.0/30", None).await;
        drop(store);
        assert_eq!(code("10.30.0.0/16").await, Outcome::Problems);
        assert_eq!(code("10.20.5.0/24").await, Outcome::Problems);
        assert_eq!(code("10.20.5.128/26").await, Outcome::Problems, "the refused claim covers it");
    }

    #[tokio::test]
    async fn the_report_names_holders_free_prefixes_and_names_and_its_keys_are_documented() {
        let folder = tempfile::tempdir().unwrap();
        installation(folder.path()).await;
        let store = super::super::place::open(folder.path(), None, None).await.unwrap();
        let report = async |prefix: &str| {
            Report::read(&*store, prefix.parse().unwrap(), &OverlapPolicy::default(), None).await.unwrap()
        };
        let text = super::super::text::networks::report(&report("10.20.4.0/22").await, false);
        let expected = "\
10.20.4.0/22
25 % of 10.20.4.0/22 is used, with 1 prefix of yours; the largest free prefix is 10.20.6.0/23.

Claims inside it
  10.20.5.0/24   allocated  web  apps/web  since Nov 20, 2026
  10.20.7.64/26  released   old  apps/old  since Nov 20, 2026, released on Nov 21, 2026

Free
  10.20.4.0/24
  10.20.6.0/23

Names that point into it
  www.q7.io  10.20.5.7   claimed by web
  old.q7.io  10.20.7.70  released by old
";
        assert_eq!(text, expected);
        let text = super::super::text::networks::report(&report("10.20.5.7/32").await, false);
        assert!(
            text.contains(
                "10.20.5.7/32 lies in 10.20.5.0/24, which claim web holds for apps/web since Nov 20, 2026."
            ),
            "{text}"
        );
        assert!(
            text.contains("Claims that cover it\n  10.20.5.0/24  allocated") && !text.contains("Free"),
            "{text}"
        );
        let documents = include_str!("../../../docs/cli.md");
        let words: BTreeSet<&str> =
            documents.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
        let json = serde_json::to_value(report("10.20.0.0/16").await.into_json()).unwrap();
        assert_eq!(json["names"].as_array().unwrap().len(), 3, "{json}");
        assert_eq!(json["claims"][0]["claim"], "web");
        let objects = [&json, &json["claims"][0], &json["names"][0]];
        for key in objects.iter().flat_map(|o| o.as_object().unwrap().keys()) {
            assert!(words.contains(key.as_str()), "docs/cli.md does not know {key}");
        }
    }
}
