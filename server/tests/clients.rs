//! The resource API with client libraries of others, unchanged: Python's `kubernetes`, JavaScript's
//! `@kubernetes/client-node` and Rust's `kube`.

#[path = "../../crates/numbers/examples/claim.rs"]
#[allow(dead_code, reason = "its main")]
mod claim;
#[path = "clients/component.rs"]
mod component;
#[path = "clients/rust.rs"]
mod rust;

#[allow(dead_code, reason = "other tests use the rest")]
mod cluster;

use cluster::Cluster;
use cluster::site::TOKEN;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;

/// Says that a program is missing; in CI that is a failure.
fn found(file: PathBuf) -> Option<PathBuf> {
    if file.exists() {
        return Some(file);
    }
    let words = format!("{} is not installed: cargo xtask setup", file.display());
    assert!(std::env::var_os("CI").is_none(), "{words}");
    println!("SKIPPED: {words}");
    None
}

/// Runs a client program to its end. A line `prune` asks for the change log to be pruned, `done` is its last.
async fn run(cluster: &Cluster, mut command: Command) {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut program = command.spawn().unwrap();
    let (mut input, mut errors) = (program.stdin.take().unwrap(), program.stderr.take().unwrap());
    let mut lines = BufReader::new(program.stdout.take().unwrap()).lines();
    let talk = async {
        let mut last = String::new();
        while let Some(line) = lines.next_line().await.unwrap() {
            if line == "prune" {
                cluster.prune().await;
                input.write_all(b"pruned\n").await.unwrap();
            }
            last = line;
        }
        last
    };
    let mut said = String::new();
    let both = async { tokio::join!(talk, errors.read_to_string(&mut said)) };
    let (last, _) = tokio::time::timeout(Duration::from_secs(240), both).await.expect("the program ends");
    let status = program.wait().await.unwrap();
    assert!(status.success() && last == "done", "{status}, last line {last:?}:\n{said}");
}

fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Where `cargo xtask setup` installs Python's packages.
fn python() -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").filter(|v| !v.is_empty()).map(PathBuf::from);
    let cache = cache.or_else(|| Some(std::env::home_dir()?.join(".cache"))).unwrap();
    cache.join("domainscope/tools/python")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_python_client_works_unchanged() {
    let python = python();
    let module = std::fs::read_dir(python.join("lib")).ok().and_then(|folder| {
        let mut modules = folder.flatten().map(|v| v.path().join("site-packages/kubernetes"));
        modules.find(|m| m.exists())
    });
    let module = module.unwrap_or_else(|| python.join("lib/python3/site-packages/kubernetes"));
    if found(module).is_none() {
        return;
    }
    let cluster = Cluster::start(false).await;
    let mut command = Command::new(python.join("bin/python"));
    command.arg("-P").arg(file("tests/clients/dynamic.py")).arg(format!("http://{}", cluster.address));
    run(&cluster, command).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_javascript_client_works_unchanged() {
    let module = file("../e2e/node_modules/@kubernetes/client-node/dist/index.js");
    let Some(module) = found(module) else { return };
    let cluster = Cluster::start(true).await;
    let mut command = Command::new("node");
    let server = format!("https://{}", cluster.address);
    command.arg(file("tests/clients/objects.mjs")).arg(server).arg(TOKEN).arg(module);
    run(&cluster, command).await;
}

#[tokio::test]
async fn the_descriptions_are_valid() {
    let Some(validator) = found(python().join("bin/openapi-spec-validator")) else { return };
    let (site, folder) = (cluster::site::site(true).await, tempfile::tempdir().unwrap());
    let (_, index) = site.api("GET", "/openapi/v3", serde_json::Value::Null).await;
    let url = |of: &str| index["paths"][of]["serverRelativeURL"].as_str().unwrap();
    let (group, core) = (url("apis/datumapis.com/v1alpha"), url("api/v1"));
    for (schema, path, least) in [("2.0", "/openapi/v2", 7), ("3.0", group, 5), ("3.0", core, 2)] {
        let (_, document) = site.api("GET", path, serde_json::Value::Null).await;
        assert!(
            document["paths"].as_object().is_some_and(|paths| paths.len() >= least),
            "{path}: {document}"
        );
        let file = folder.path().join(format!("{schema}.json"));
        std::fs::write(&file, document.to_string()).unwrap();
        let mut command = Command::new(&validator);
        command.args(["--errors", "all", "--schema", schema]).arg(&file);
        let out = command.stdin(Stdio::null()).output().await.unwrap();
        let said = String::from_utf8_lossy(&out.stdout) + String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "{path}: {said}");
        // A reference without its definition makes it fail: the validator reads more than the outline.
        let broken = document.to_string().replacen(".ObjectMeta\"", ".NoSuchMeta\"", 1);
        std::fs::write(&file, broken).unwrap();
        assert!(!command.output().await.unwrap().status.success(), "{path}: a broken document passes");
    }
}
