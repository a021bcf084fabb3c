//! Programs no one here wrote (dig, kdig, drill, delv), asked on the command line. In: server, port, questions; out:
//! records as `owner ttl type data` in one spelling, and verdicts. A program that is missing fails the test in CI.
#![allow(dead_code, reason = "each test file uses its part")]

use model::dns::{DnssecStatus, Record};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Where a program is, or `None` with a message.
pub fn find(program: &str, package: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from));
    let found = folders.map(|folder| folder.join(program)).find(|p| p.is_file());
    if found.is_none() {
        missing(program, package);
    }
    found
}

/// Reports a program that a test needs and the machine lacks: a failure in CI, a message elsewhere.
///
/// # Panics
/// When the environment variable `CI` is set.
pub fn missing(program: &str, package: &str) {
    let words = format!("{program} is not installed (Debian: apt-get install {package})");
    assert!(std::env::var_os("CI").is_none(), "{words}");
    println!("SKIPPED: {words}");
}

fn run(program: &Path, words: &[String]) -> Output {
    Command::new(program).args(words).output().unwrap_or_else(|e| panic!("{}: {e}", program.display()))
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Types whose data ends in hexadecimal or base64, which programs break and spell at their own discretion.
const BINARY: [&str; 9] =
    ["DS", "CDS", "DNSKEY", "CDNSKEY", "RRSIG", "TLSA", "SSHFP", "OPENPGPKEY", "ZONEMD"];

/// One record in the spelling of [`spelled`]; `None` for what is no record line.
pub fn line(text: &str) -> Option<(String, String, String)> {
    // drill adds remarks: `;{id = 1 (ksk), size = 256b}`.
    let text = text.split(";{").next().unwrap_or_default().trim();
    if text.is_empty() || text.starts_with(';') {
        return None;
    }
    let mut words = text.split_whitespace();
    let owner = words.next()?.trim_end_matches('.').to_lowercase();
    let ttl: u32 = words.next()?.parse().ok()?;
    let rtype = words.find(|w| *w != "IN")?.to_string();
    let data: Vec<&str> = words.collect();
    Some((owner.clone(), rtype.clone(), spelled(&owner, ttl, &rtype, &data.join(" "))))
}

/// `owner ttl type data`: quotes that RFC 9460 leaves to taste are dropped, binary tails are whole and in one case.
pub fn spelled(owner: &str, ttl: u32, rtype: &str, data: &str) -> String {
    let data = match rtype {
        "SVCB" | "HTTPS" => data.replace('"', ""),
        _ if BINARY.contains(&rtype) => {
            let fields = if rtype == "RRSIG" { 8 } else { 3 };
            let words: Vec<&str> = data.split_whitespace().collect();
            let (head, tail) = words.split_at(fields.min(words.len()));
            let tail = tail.concat();
            let hexadecimal = matches!(rtype, "DS" | "CDS" | "TLSA" | "SSHFP" | "ZONEMD");
            let tail = if hexadecimal { tail.to_uppercase() } else { tail };
            format!("{} {tail}", head.join(" "))
        }
        _ => data.to_string(),
    };
    let data = if rtype == "SSHFP" { data.to_uppercase() } else { data };
    // Names in data are compared as the DNS does; texts are not.
    let text = matches!(rtype, "TXT" | "CAA" | "HINFO" | "URI" | "NAPTR") || BINARY.contains(&rtype);
    let data = if text { data } else { data.to_lowercase() };
    format!("{owner} {ttl} {rtype} {}", data.trim())
}

/// Our records at `owner` of `rtype`, spelled and sorted.
pub fn ours(records: &[Record], owner: &str, rtype: &str) -> Vec<String> {
    let of = records.iter().filter(|r| r.name.eq_ignore_ascii_case(owner) && r.rtype == rtype);
    let mut lines: Vec<String> = of.map(|r| spelled(owner, r.ttl, rtype, &r.data)).collect();
    lines.sort();
    lines
}

/// Lines of a program's output at `owner` of `rtype`, spelled and sorted.
pub fn theirs(output: &str, owner: &str, rtype: &str) -> Vec<String> {
    let mut lines: Vec<String> = output
        .lines()
        .filter_map(line)
        .filter(|(o, t, _)| o == owner && t == rtype)
        .map(|(_, _, spelled)| spelled)
        .collect();
    lines.sort();
    lines.dedup();
    lines
}

/// `dig` or `kdig`: answer sections of several questions about one name to one server.
pub fn ask(program: &Path, server: IpAddr, port: u16, name: &str, rtypes: &[&str]) -> String {
    let mut words: Vec<String> =
        ["+noall", "+answer", "+norecurse"].iter().map(ToString::to_string).collect();
    if program.file_name().is_some_and(|n| n == "dig") {
        words.extend(["+nosplit".into(), "+nocookie".into()]);
    } else {
        words.push("+noidn".into());
    }
    words.extend([format!("@{server}"), "-p".into(), port.to_string()]);
    for rtype in rtypes {
        words.extend([format!("{name}."), (*rtype).to_string()]);
    }
    text(&run(program, &words))
}

/// `dig`: the RCODE mnemonic of one question.
pub fn rcode(dig: &Path, server: IpAddr, port: u16, name: &str, rtype: &str) -> String {
    let words = [
        "+noall".into(),
        "+comments".into(),
        "+norecurse".into(),
        format!("@{server}"),
        "-p".into(),
        port.to_string(),
        format!("{name}."),
        rtype.to_string(),
    ];
    let said = text(&run(dig, &words));
    said.split("status: ").nth(1).and_then(|s| s.split(',').next()).unwrap_or("none").to_string()
}

/// `drill -T`: everything it shows on its way from the roots of `hints`; `None` when it gave up on the way.
pub fn drill_trace(drill: &Path, hints: &Path, port: u16, name: &str, rtype: &str) -> Option<String> {
    let words = [
        "-T".into(),
        "-4".into(),
        "-r".into(),
        hints.display().to_string(),
        "-p".into(),
        port.to_string(),
        format!("{name}."),
        rtype.to_string(),
    ];
    let said = text(&run(drill, &words));
    (!said.contains("abort") && !said.contains("Error")).then_some(said)
}

/// The zones a `drill -T` went through, from the root down.
pub fn zones_of(traced: &str) -> Vec<String> {
    let mut zones: Vec<String> =
        traced.lines().filter_map(line).filter(|(_, t, _)| t == "NS").map(|(owner, ..)| owner).collect();
    zones.dedup();
    zones
}

/// `delv`: its verdict on an answer that it gets, unvalidated, from `resolver`; `None` when it got none.
pub fn delv(
    program: &Path,
    anchors: &Path,
    resolver: IpAddr,
    port: u16,
    name: &str,
    rtype: &str,
) -> (Option<DnssecStatus>, String) {
    let words = [
        format!("@{resolver}"),
        "-p".into(),
        port.to_string(),
        "-a".into(),
        anchors.display().to_string(),
        "+root=.".into(),
        "+cdflag".into(),
        format!("{name}."),
        rtype.to_string(),
    ];
    let said = text(&run(program, &words));
    // A proof that the name does not exist is no verdict on a zone of that name.
    let verdict = if said.contains("negative response") {
        None
    } else if said.contains("fully validated") {
        Some(DnssecStatus::Secure)
    } else if said.contains("unsigned answer") {
        Some(DnssecStatus::Insecure)
    } else if said.contains("broken trust chain") || said.contains("no valid signature found") {
        Some(DnssecStatus::Bogus)
    } else {
        None
    };
    (verdict, said)
}

/// The lab's trust anchor in the form `delv` reads.
pub fn delv_anchor(lab: &str) -> String {
    let key = lab.lines().find(|l| !l.starts_with(';') && l.contains("DNSKEY")).unwrap();
    let words: Vec<&str> = key.split_whitespace().skip_while(|w| *w != "DNSKEY").skip(1).collect();
    let [flags, protocol, algorithm, ..] = words[..] else { panic!("{key}") };
    format!("trust-anchors {{ . static-key {flags} {protocol} {algorithm} \"{}\"; }};\n", words[3..].concat())
}
