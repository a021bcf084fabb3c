//! The resource API with Debian's `kubectl` (1.20), unchanged, against a running server.

#[path = "kubectl/access.rs"]
mod access;
#[allow(dead_code, reason = "other tests use the rest")]
mod cluster;
#[path = "kubectl/edit.rs"]
mod edit;
#[path = "kubectl/owners.rs"]
mod owners;

use cluster::Cluster as Server;
use cluster::site::{TOKEN, site, site_observing};
use model::event::{Change, EventKind, Severity};
use model::ids::{OrgId, Vantage};
use model::names::DomainName;
use model::observation::Observation;
use serde_json::{Value, json};
use server::settings::EngineArgs;
use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::time::Duration;
use store::{ItemOutcome, Record};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

/// A server, and a home for `kubectl`.
struct Cluster {
    server: Server,
    home: tempfile::TempDir,
    arguments: Vec<String>,
}

fn kubectl_program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|f| f.join("kubectl")).find(|p| p.is_file());
    if found.is_none() {
        let words = "kubectl is not installed (Debian: kubernetes-client)";
        assert!(std::env::var_os("CI").is_none(), "{words}");
        println!("SKIPPED: {words}");
    }
    found
}

impl Cluster {
    /// Over plain HTTP in the name of the demo's visitor, or over TLS with the site's token.
    async fn start(tls: bool) -> Option<Cluster> {
        kubectl_program()?;
        Some(Self::over(Server::over(site(!tls).await, tls).await, tls))
    }

    fn over(server: Server, tls: bool) -> Cluster {
        let address = server.address;
        let arguments = if tls {
            vec![
                format!("--server=https://{address}"),
                "--insecure-skip-tls-verify".into(),
                format!("--token={TOKEN}"),
            ]
        } else {
            vec![format!("--server=http://{address}")]
        };
        Cluster { server, home: tempfile::tempdir().unwrap(), arguments }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("kubectl");
        command.args(&self.arguments).args(words);
        command.env("HOME", self.home.path()).env("KUBECONFIG", "/dev/null").kill_on_drop(true);
        command
    }

    async fn output(&self, words: &[&str]) -> Output {
        let run = self.command(words).stdin(Stdio::null()).output();
        tokio::time::timeout(Duration::from_secs(120), run).await.expect("kubectl ends").unwrap()
    }

    /// What it prints when it succeeds.
    async fn kubectl(&self, words: &[&str]) -> String {
        let out = self.output(words).await;
        let (said, errors) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
        assert!(out.status.success(), "kubectl {words:?}:\n{said}\n{errors}");
        said.into_owned()
    }

    /// What it complains about when it fails.
    async fn refused(&self, words: &[&str]) -> String {
        let out = self.output(words).await;
        let (said, errors) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
        assert!(!out.status.success(), "kubectl {words:?} was expected to fail:\n{said}");
        format!("{said}{errors}")
    }

    fn file(&self, name: &str, object: &Value) -> String {
        let path = self.home.path().join(name);
        std::fs::write(&path, object.to_string()).unwrap();
        path.to_string_lossy().into_owned()
    }
}

fn claim(name: &str, requests: &Value) -> Value {
    json!({
        "apiVersion": "datumapis.com/v1alpha", "kind": "NetworkClaim",
        "metadata": { "name": name }, "spec": { "addressSpace": requests },
    })
}

fn reference() -> Value {
    json!({ "group": "kube-apiserver", "resource": "services" })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn domains_are_created_listed_explained_labelled_and_deleted() {
    let Some(c) = Cluster::start(false).await else { return };
    let resources = c.kubectl(&["api-resources", "--api-group=datumapis.com", "-o", "wide"]).await;
    for word in ["domains", "networkclaims", "domainevents", "NetworkClaim", "create"] {
        assert!(resources.contains(word), "{resources}");
    }
    assert!(c.kubectl(&["version"]).await.contains("domainscope"));
    let namespaces = c.kubectl(&["get", "ns"]).await;
    assert!(namespaces.lines().any(|l| l.starts_with("default") && l.contains("Active")), "{namespaces}");
    assert_eq!(c.kubectl(&["get", "namespace", "default", "-o", "name"]).await.trim(), "namespace/default");
    let mut watch = c.command(&["get", "ns", "-w", "-o", "name"]);
    let mut watch = watch.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let line = tokio::time::timeout(Duration::from_secs(30), lines.next_line()).await.unwrap().unwrap();
    assert_eq!(line.as_deref(), Some("namespace/default"));
    assert!(watch.try_wait().unwrap().is_none(), "it goes on watching");
    watch.kill().await.unwrap();
    assert!(c.kubectl(&["explain", "namespace.status"]).await.contains("Active: it can be used"));
    let domain = json!({ "apiVersion": "datumapis.com/v1alpha", "kind": "Domain",
        "metadata": { "name": "q7.io" }, "spec": { "name": "q7.io" } });
    let file = c.file("domain.json", &domain);
    let said = c.kubectl(&["create", "-f", &file]).await;
    assert_eq!(said.trim(), "domain.datumapis.com/q7.io created");
    assert!(c.refused(&["create", "-f", &file]).await.contains("already exists"));
    let name = DomainName::trusted("q7.io");
    c.server.site.scanner.scan(&name, true).await.unwrap();
    // Tables of lists and of one object, narrow and wide.
    let table = c.kubectl(&["get", "domains"]).await;
    let lines: Vec<&str> = table.lines().collect();
    assert!(
        lines[0].starts_with("NAME") && lines[0].contains("EXPIRATION") && lines[0].ends_with("AGE"),
        "{table}"
    );
    assert!(lines[1].starts_with("q7.io") && lines[1].contains("Unknown"), "{table}");
    assert!(c.kubectl(&["get", "dom", "q7.io", "-o", "wide"]).await.contains("NAMESERVERS"));
    // It looks for events of the core group, too, of which there are none.
    assert!(c.kubectl(&["describe", "domain", "q7.io"]).await.contains("datumapis.com/v1alpha"));
    let yaml = c.kubectl(&["get", "domain", "q7.io", "-o", "yaml"]).await;
    assert!(yaml.contains("kind: Domain") && yaml.contains("The network is down"), "{yaml}");
    let path = r#"jsonpath={.status.conditions[?(@.type=="Observed")].reason}"#;
    assert_eq!(c.kubectl(&["get", "domain", "q7.io", "-o", path]).await, "Unreachable");
    c.kubectl(&["wait", "--for=condition=Accepted", "domain/q7.io", "--timeout=30s"]).await;
    assert!(c.refused(&["get", "domain", "other.io"]).await.contains("(NotFound)"));
    // Labels and annotations through patches; selectors see them.
    c.kubectl(&["label", "domain", "q7.io", "team=web"]).await;
    c.kubectl(&["annotate", "domain", "q7.io", "note=kept"]).await;
    assert!(c.kubectl(&["get", "domains", "-l", "team=web", "-o", "name"]).await.contains("q7.io"));
    assert_eq!(c.kubectl(&["get", "domains", "-l", "team=db", "-o", "name"]).await, "");
    c.kubectl(&[
        "patch",
        "domain",
        "q7.io",
        "--type=json",
        "-p",
        r#"[{"op":"remove","path":"/metadata/labels/team"}]"#,
    ])
    .await;
    assert_eq!(c.kubectl(&["get", "domains", "-l", "team", "-o", "name"]).await, "");
    // The schema, through the protocol buffers form of OpenAPI.
    let explained = c.kubectl(&["explain", "domain.status.statusFlags"]).await;
    assert!(explained.contains("EPP status codes"), "{explained}");
    assert!(
        c.kubectl(&["explain", "networkclaim.spec.addressSpace"]).await.contains("Host bits must be zero")
    );
    assert!(
        c.refused(&["patch", "domain", "q7.io", "--type=merge", "-p", r#"{"spec":{"name":"q8.io"}}"#])
            .await
            .contains("immutable")
    );
    assert_eq!(
        c.kubectl(&["delete", "domain", "q7.io"]).await.trim(),
        "domain.datumapis.com \"q7.io\" deleted"
    );
    assert!(
        c.server
            .site
            .scanner
            .store
            .domain_object(model::ids::OrgId::BUILT_IN, &name)
            .await
            .unwrap()
            .is_none()
    );
    assert!(c.kubectl(&["get", "domainevents"]).await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn claims_are_applied_watched_refused_with_reasons_and_released() {
    let Some(c) = Cluster::start(false).await else { return };
    let web = claim(
        "web-front",
        &json!([{ "prefix": "10.20.5.0/24", "reference": reference(), "description": "Web" }]),
    );
    let file = c.file("web.json", &web);
    let mut watch = c.command(&["get", "networkclaims", "-w", "-o", "name"]);
    let mut watch = watch.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    assert!(c.kubectl(&["apply", "-f", &file]).await.contains("created"));
    let line = tokio::time::timeout(Duration::from_secs(30), lines.next_line())
        .await
        .expect("the watch reports it")
        .unwrap();
    assert_eq!(line.as_deref(), Some("networkclaim.datumapis.com/web-front"));
    watch.kill().await.unwrap();
    assert!(c.kubectl(&["apply", "-f", &file]).await.contains("unchanged"));
    c.kubectl(&["wait", "--for=condition=Allocated", "networkclaim/web-front", "--timeout=30s"]).await;
    // A prefix out of a block, applied by the server; another manager conflicts over it.
    let any = |len: u8| {
        claim("pool", &json!([{ "from": "10.20.4.0/23", "prefixLength": len, "reference": reference() }]))
    };
    let pool = c.file("pool.json", &any(26));
    c.kubectl(&["apply", "--server-side", "-f", &pool]).await;
    let prefix =
        c.kubectl(&["get", "networkclaim", "pool", "-o", "jsonpath={.status.addressSpace[0].prefix}"]).await;
    assert_eq!(prefix, "10.20.4.0/26");
    let other = c.file("other.json", &any(25));
    let conflict = c.refused(&["apply", "--server-side", "--field-manager=ops", "-f", &other]).await;
    assert!(
        conflict.contains("conflict with \"kubectl\"") && conflict.contains(".spec.addressSpace"),
        "{conflict}"
    );
    c.kubectl(&["apply", "--server-side", "--field-manager=ops", "--force-conflicts", "-f", &other]).await;
    let prefix =
        c.kubectl(&["get", "networkclaim", "pool", "-o", "jsonpath={.status.addressSpace[0].prefix}"]).await;
    assert_eq!(prefix, "10.20.4.0/25");
    // A refused claim exists and says who holds the addresses; nothing is stored by a dry run.
    let edge = c.file(
        "edge.json",
        &claim("edge", &json!([{ "prefix": "10.20.5.128/25", "reference": reference() }])),
    );
    assert!(c.kubectl(&["apply", "--dry-run=server", "-f", &edge]).await.contains("server dry run"));
    assert!(c.refused(&["get", "networkclaim", "edge"]).await.contains("NotFound"));
    c.kubectl(&["apply", "-f", &edge]).await;
    let table = c.kubectl(&["get", "networkclaims", "-o", "wide"]).await;
    assert!(table.contains("held by web-front"), "{table}");
    // Bad input names the field and the rule.
    for (request, field, rule) in [
        (
            json!({ "prefix": "10.0.0.1/24", "reference": reference() }),
            "spec.addressSpace[0].prefix",
            "host bits set",
        ),
        (
            json!({ "prefix": "10.0.0.0/24", "from": "2001:db8::/32", "reference": reference() }),
            "spec.addressSpace[0].prefix",
            "is IPv4",
        ),
        (
            json!({ "prefix": "11.0.0.0/24", "from": "10.0.0.0/8", "reference": reference() }),
            "spec.addressSpace[0].prefix",
            "lies outside the block",
        ),
        (
            json!({ "prefix": "10.0.0.0/24", "reference": reference(), "description": "x".repeat(256) }),
            "spec.addressSpace[0].description",
            "255",
        ),
    ] {
        let bad = c.file("bad.json", &claim("bad", &json!([request])));
        let said = c.refused(&["apply", "--validate=false", "-f", &bad]).await;
        assert!(said.contains(field) && said.contains(rule), "{said}");
    }
    // Released: the claim that waited is allocated.
    c.kubectl(&["delete", "networkclaim", "web-front"]).await;
    c.kubectl(&["wait", "--for=condition=Allocated", "networkclaim/edge", "--timeout=30s"]).await;
    c.kubectl(&["delete", "networkclaims", "--all"]).await;
    assert_eq!(c.kubectl(&["get", "networkclaims", "-o", "name"]).await, "");
}

/// A network that a worker can scan; its folder and its servers live as long as it.
async fn network(folder: &std::path::Path) -> (lab::Lab, Arc<dyn monitor::Observer>) {
    let scenario = lab::Scenario::named("small").unwrap();
    let options = lab::Options::new(scenario, folder, jiff::Timestamp::now());
    let lab = lab::Lab::start(options).await.unwrap();
    let args = EngineArgs {
        config: Some(lab.endpoints().engine.clone()),
        registry_spacing: Some(1),
        ..EngineArgs::default()
    };
    let observer = server::wiring::internet(&args.resolved().unwrap()).unwrap();
    (lab, Arc::new(observer))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn adding_a_domain_starts_its_scan() {
    if kubectl_program().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (_lab, observer) = network(folder.path()).await;
    let c = Cluster::over(Server::over(site_observing(observer).await, false).await, false);
    let stop = tokio_util::sync::CancellationToken::new();
    let worker = c.server.site.services.worker.clone();
    let work = tokio::spawn({
        let stop = stop.clone();
        async move { worker.run(stop).await }
    });
    let domain = json!({ "apiVersion": "datumapis.com/v1alpha", "kind": "Domain",
        "metadata": { "name": "plain.example" }, "spec": { "name": "plain.example" } });
    c.kubectl(&["apply", "-f", &c.file("domain.json", &domain)]).await;
    // Nothing but the create asks for the scan.
    c.kubectl(&["wait", "--for=condition=Observed", "domain/plain.example", "--timeout=90s"]).await;
    let shown: Value =
        serde_json::from_str(&c.kubectl(&["get", "domain", "plain.example", "-o", "json"]).await).unwrap();
    assert_eq!((&shown["kind"], &shown["spec"]["name"]), (&json!("Domain"), &json!("plain.example")));
    let status = &shown["status"];
    assert!(status["lastScanTime"].is_string() && status["expirationDate"].is_string(), "{shown}");
    assert!(status["nameservers"].as_array().is_some_and(|n| !n.is_empty()), "{shown}");
    let list: Value = serde_json::from_str(&c.kubectl(&["get", "domains", "-o", "json"]).await).unwrap();
    assert_eq!((&list["kind"], list["items"].as_array().map(Vec::len)), (&json!("List"), Some(1)));
    stop.cancel();
    work.await.unwrap();
}

/// Records a change of a domain that the organisation holds.
async fn record_change(server: &Server, domain: &str, new: &str) {
    let (store, name) = (&server.site.scanner.store, DomainName::trusted(domain));
    let known = store.observation(&name, &Vantage::local()).await.unwrap().map_or(0, |k| k.version);
    let (item, row) = store.item(OrgId::BUILT_IN, &name).await.unwrap().unwrap();
    let change = Change {
        kind: EventKind::RegistrarChanged,
        severity: Severity::Warning,
        field: "registrar".into(),
        old: Some("Lantern".into()),
        new: Some(new.into()),
        source: "RDAP".into(),
        note: String::new(),
        first_seen_at: None,
        status_before: None,
    };
    let record = Record {
        expected_version: known,
        observation: Observation::empty(name, Vantage::local()),
        snapshot: None,
        raw: vec![],
        outcomes: vec![ItemOutcome { item, row, changes: vec![change] }],
        at: jiff::Timestamp::now(),
    };
    store.record(&record).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn events_are_listed_selected_and_watched() {
    let Some(c) = Cluster::start(false).await else { return };
    for name in ["q7.io", "q8.io"] {
        let domain = json!({ "apiVersion": "datumapis.com/v1alpha", "kind": "Domain",
            "metadata": { "name": name }, "spec": { "name": name } });
        c.kubectl(&["create", "-f", &c.file("domain.json", &domain)]).await;
    }
    record_change(&c.server, "q7.io", "Harbour").await;
    let table = c.kubectl(&["get", "domainevents"]).await;
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].contains("SEVERITY") && lines[0].contains("MESSAGE"), "{table}");
    assert_eq!(lines.len(), 2, "{table}");
    for word in ["registrar_changed", "q7.io", "Harbour"] {
        assert!(lines[1].contains(word), "{word}: {table}");
    }
    // The watch begins with what there is and goes on with what comes.
    let mut watch = c.command(&["get", "domainevents", "-w", "-o", "name"]);
    let mut watch = watch.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let mut next = async || {
        let line = tokio::time::timeout(Duration::from_secs(30), lines.next_line()).await;
        line.expect("the watch reports it").unwrap().expect("the watch lasts")
    };
    let first = next().await;
    assert!(first.starts_with("domainevent.datumapis.com/event-"), "{first}");
    record_change(&c.server, "q8.io", "Lighthouse").await;
    let second = next().await;
    assert_ne!(first, second);
    watch.kill().await.unwrap();
    let path = "jsonpath={.spec.domain} {.spec.new}";
    assert_eq!(c.kubectl(&["get", &second, "-o", path]).await, "q8.io Lighthouse");
    let one = c.kubectl(&["get", "domev", "--field-selector", "spec.domain=q7.io", "-o", "name"]).await;
    assert_eq!(one.trim(), first);
}
