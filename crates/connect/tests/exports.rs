//! Exports: golden files, and each format read by the real program: `named-checkzone`, `node`, an HCL parser.

use connect::export::{TerraformProvider, bind, bind_plan, dnscontrol, octodns, terraform};
use connect::{Plan, Record};
use std::path::PathBuf;
use std::process::Command;

/// One record of each type, with the texts that formats get wrong: quotes, semicolons, `${`, long keys, non-ASCII.
fn records() -> Vec<Record> {
    let record = |kind: &str, name: &str, data: &str| Record::new(kind, name, data, Some(300));
    let mut mx = record("MX", "@", "mail.example.net");
    mx.priority = Some(10);
    let mut second = record("MX", "@", "mail2.example.net.");
    (second.priority, second.ttl) = (Some(20), Some(600));
    let mut srv = record("SRV", "@", "sip.example.net");
    (srv.service, srv.protocol) = (Some("_sip".into()), Some("_tls".into()));
    (srv.priority, srv.weight, srv.port) = (Some(10), Some(20), Some(443));
    vec![
        record("A", "@", "192.0.2.1"),
        record("A", "@", "192.0.2"),
        record("AAAA", "@", "2001:db8::1"),
        record("CNAME", "*.shop", "shops.example.net"),
        mx,
        second,
        srv,
        record("TXT", "@", "v=spf1 include:spf.example.net ~all"),
        record("TXT", "_dmarc", "v=DMARC1; p=none; rua=mailto:a@example.com"),
        record("TXT", "odd", "say \"hi\" \\ ${var} %{if} */ ü"),
        record("TXT", "k1._domainkey", &format!("v=DKIM1; k=rsa; p={}", "A".repeat(392))),
        record("CAA", "@", "0 issue \"ca.example; validationmethods=dns-01\""),
        record(
            "TLSA",
            "_443._tcp.www",
            "3 1 1 0b9fa5a59eed715c26c1020c711b4f6ec42d58b0015e14337a39dad301c5afc3",
        ),
        record("NS", "sub", "ns1.example.net"),
        record("HTTPS", "www2", "1 . alpn=\"h2,h3\""),
        record("CNAME", "www10", "web.example.net"),
        record("CNAME", "www9", "web.example.net"),
        Record::new("APEXCNAME", "alias", "web.example.net", Some(300)),
        Record::new("REDIR301", "old", "https://www.example.com/\n}", None),
    ]
}

fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"))
}

/// Whether a program is there. In CI it must be, so that a check cannot quietly stop being made.
fn has(program: &str, package: &str) -> bool {
    let found = Command::new("sh")
        .args(["-c", &format!("command -v {program}")])
        .output()
        .is_ok_and(|o| o.status.success());
    assert!(found || !in_ci(), "{program} is missing: install {package} (cargo xtask setup does)");
    if !found {
        eprintln!("skipped: {program} is missing ({package})");
    }
    found
}

#[test]
fn bind_lines() {
    insta::assert_snapshot!(bind(&records(), "example.com"));
    let plan = Plan { new: records(), delete: records(), records: vec![], warnings: vec![] };
    let text = bind_plan(&plan, "example.com");
    let (deleted, created) = text.split_once("$ORIGIN").unwrap();
    assert_eq!(deleted.lines().count(), records().len());
    assert!(deleted.lines().all(|line| line.starts_with("; delete: ")) && created.contains("192.0.2.1"));
}

#[test]
fn named_checkzone_reads_the_zone_file() {
    if !has("named-checkzone", "bind9-utils") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("zone");
    let zone = format!(
        "@ 60 IN SOA ns.example.net. h.example.net. 1 2 3 4 5\n@ 60 IN NS ns.example.net.\n{}",
        bind(&records(), "example.com")
    );
    std::fs::write(&file, zone).unwrap();
    let mut check = Command::new("named-checkzone");
    let out = check.args(["-D", "-i", "none", "-k", "ignore", "example.com"]).arg(&file).output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{text}");
    // Read back by our own parser, the canonical text holds the same records.
    let dump: String =
        text.lines().filter(|line| line.contains(" IN ")).map(|line| format!("{line}\n")).collect();
    let back = connect::zonefile::parse(&dump, "example.com").unwrap();
    for wanted in records().into_iter().filter(|r| connect::export::rdata(r).is_some()) {
        let same = |r: &Record| {
            connect::export::owner_name(r) == connect::export::owner_name(&wanted)
                && r.kind == wanted.kind
                && connect::export::rdata(r).map(|d| d.to_lowercase().replace(' ', ""))
                    == connect::export::rdata(&wanted).map(|d| d.to_lowercase().replace(' ', ""))
        };
        // The program prints TLSA digests in capitals and parameters of HTTPS without quotes.
        assert!(wanted.kind == "HTTPS" || back.iter().any(same), "{wanted:?} is not in\n{dump}");
    }
}

#[test]
fn dnscontrol_javascript() {
    insta::assert_snapshot!(dnscontrol(&records(), "example.com"));
}

#[test]
fn node_evaluates_the_javascript() {
    if !has("node", "nodejs") {
        return;
    }
    let stub = r#"
const calls = [];
for (const name of ["A","AAAA","ALIAS","CAA","CNAME","DS","HTTPS","MX","NS","PTR","SRV","SSHFP","SVCB","TLSA","TXT"])
  globalThis[name] = (...args) => [name, ...args];
globalThis.TTL = seconds => ({ ttl: seconds });
globalThis.CAA_CRITICAL = "critical";
globalThis.D_EXTEND = (domain, ...records) => calls.push([domain, ...records]);
"#;
    let script =
        format!("{stub}{}\nconsole.log(JSON.stringify(calls));", dnscontrol(&records(), "example.com"));
    let out = Command::new("node").args(["-e", &script]).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let calls: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(calls[0][0], "example.com");
    let list = calls[0].as_array().unwrap();
    assert_eq!(list.len(), records().len(), "the redirect is a comment, the domain comes first");
    assert!(
        list.contains(&serde_json::json!(["TXT", "odd", "say \"hi\" \\ ${var} %{if} */ ü", {"ttl": 300}]))
    );
    assert!(
        list.contains(
            &serde_json::json!(["SRV", "_sip._tls", 10, 20, 443, "sip.example.net.", {"ttl": 300}])
        )
    );
}

#[test]
fn octodns_yaml() {
    let text = octodns(&records());
    insta::assert_snapshot!(text);
    let zone: serde_json::Value = serde_saphyr::from_str(&text).unwrap();
    let apex = zone[""].as_array().unwrap();
    let mx = apex.iter().find(|set| set["type"] == "MX").unwrap();
    assert_eq!((mx["ttl"].as_u64(), mx["values"].as_array().unwrap().len()), (Some(300), 2));
    assert_eq!(zone["odd"][0]["values"][0], "say \"hi\" \\\\ ${var} %{if} */ \\195\\188");
    assert!(text.contains("# alias APEXCNAME"), "octoDNS refuses ALIAS below the apex");
    let alias = octodns(&[Record::new("APEXCNAME", "@", "web.example.net", None)]);
    assert!(alias.contains("type: ALIAS") && alias.contains("value: \"web.example.net.\""), "{alias}");
}

/// The interpreter that `cargo xtask setup` installs octoDNS for. Like [`has`], it must be there in CI.
fn python() -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").filter(|v| !v.is_empty()).map(PathBuf::from);
    let cache = cache.or_else(|| Some(std::env::home_dir()?.join(".cache")))?;
    let python = cache.join("domainscope/tools/python/bin/python");
    let import = Command::new(&python).args(["-c", "import octodns"]).output();
    if import.is_ok_and(|out| out.status.success()) {
        return Some(python);
    }
    assert!(!in_ci(), "octoDNS is missing: cargo xtask setup installs it");
    eprintln!("skipped: octoDNS is missing (cargo xtask setup installs it)");
    None
}

#[test]
fn octodns_reads_the_zone() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("example.com.yaml"), octodns(&records())).unwrap();
    let script = r#"
import json, sys
from octodns.provider.yaml import YamlProvider
from octodns.zone import Zone
zone = Zone("example.com.", [])
YamlProvider("yaml", sys.argv[1]).populate(zone)
print(json.dumps([[r.fqdn, r._type, r.ttl, [str(v) for v in getattr(r, "values", [getattr(r, "value", None)])]] for r in zone.records]))
"#;
    let out = Command::new(&python).args(["-c", script]).arg(folder.path()).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let read: Vec<(String, String, u32, Vec<String>)> = serde_json::from_slice(&out.stdout).unwrap();
    let values =
        |name: &str, kind: &str| read.iter().find(|r| r.0 == name && r.1 == kind).map(|r| r.3.clone());
    assert_eq!(
        values("_dmarc.example.com.", "TXT").unwrap(),
        ["v=DMARC1\\; p=none\\; rua=mailto:a@example.com"]
    );
    assert_eq!(values("odd.example.com.", "TXT").unwrap(), ["say \"hi\" \\\\ ${var} %{if} */ \\195\\188"]);
    assert_eq!(values("_sip._tls.example.com.", "SRV").unwrap(), ["'10 20 443 sip.example.net.'"]);
    assert_eq!(read.len(), 14);
}

#[test]
fn terraform_hcl() {
    for (name, provider, resource) in [
        ("cloudflare", TerraformProvider::Cloudflare, "cloudflare_dns_record"),
        ("route53", TerraformProvider::Route53, "aws_route53_record"),
        ("google", TerraformProvider::Google, "google_dns_record_set"),
    ] {
        let text = terraform(&records(), "example.com", provider);
        insta::assert_snapshot!(format!("terraform_{name}"), text);
        let body: hcl::Body = hcl::parse(&text).unwrap_or_else(|e| panic!("{name}: {e}\n{text}"));
        let labels: Vec<String> = body
            .blocks()
            .filter(|b| b.identifier() == "resource")
            .map(|b| format!("{:?}", b.labels))
            .collect();
        let distinct: std::collections::BTreeSet<&String> = labels.iter().collect();
        assert_eq!(distinct.len(), labels.len(), "labels are used once");
        assert!(labels.iter().all(|label| label.contains(resource)));
        // Evaluated, the awkward text is what it was: nothing in it is taken for a template.
        let value: serde_json::Value =
            hcl::from_str::<hcl::Value>(&text).map(|v| serde_json::to_value(v).unwrap()).unwrap_or_default();
        let shown = value.to_string();
        assert!(shown.contains("${var} %{if}"), "{name}: {shown}");
    }
}
