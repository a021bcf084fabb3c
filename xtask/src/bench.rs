//! Benchmarks by name.

use crate::{doh, sh, signin};
use anyhow::{Result, bail};

/// Name on the command line, package, bench target.
const BENCHES: &[(&str, &str, &str)] = &[
    ("whois", "domainscope-registration", "whois"),
    ("dns", "domainscope-dns", "dns"),
    ("store", "domainscope-store", "store"),
    ("resources", "domainscope-server", "resources"),
    ("fleet", "domainscope-server", "fleet"),
];

/// The same; these take many minutes and are only run by name.
const LONG: &[(&str, &str, &str)] =
    &[("history", "domainscope-monitor", "history"), ("scans", "domainscope", "scans")];

/// Runs one benchmark, or all of them; `doh` is the second half of `dns` by itself, and `signin`, `kill`, `claims`, `prune`
/// and [`LONG`] are only run by name. `extra` is handed to the benchmark.
pub fn run(which: Option<&str>, extra: &[String]) -> Result<()> {
    match which {
        Some("doh") => return doh::bench(),
        Some("signin") => return signin::bench(),
        Some("kill") => return kill(),
        Some("claims") => return ignored("processes::", "claims of two processes: a minute"),
        Some("prune") => return ignored("prune::", "deletion of ten million rows: many minutes"),
        _ => {}
    }
    if let Some((name, package, target)) = LONG.iter().find(|(name, ..)| which == Some(*name)) {
        sh::say(&format!("benchmark {name}: many minutes"));
        return sh::run(
            sh::cargo().args(["bench", "--package", package, "--bench", target, "--"]).args(extra),
        );
    }
    let chosen: Vec<_> =
        BENCHES.iter().filter(|(name, ..)| which.is_none_or(|wanted| wanted == *name)).collect();
    if chosen.is_empty() {
        let names: Vec<_> = BENCHES.iter().map(|(name, ..)| *name).collect();
        bail!(
            "no benchmark is called `{}`; there are: {}, doh, history, scans, signin, kill, claims, prune",
            which.unwrap_or_default(),
            names.join(", ")
        );
    }
    for (name, package, target) in chosen {
        sh::say(&format!("benchmark {name}"));
        sh::run(sh::cargo().args(["bench", "--package", package, "--bench", target, "--"]).args(extra))?;
        match *name {
            "dns" => doh::bench()?,
            "resources" => sh::run(sh::cargo().args([
                "run",
                "--release",
                "--package",
                "domainscope-numbers",
                "--example",
                "scale",
            ]))?,
            _ => {}
        }
    }
    Ok(())
}

/// The long forms of the kill tests. They judge what is left behind rather than a speed, so the quick build does.
fn kill() -> Result<()> {
    sh::say("kill tests: about an hour");
    let words = ["test", "--package", "domainscope", "--test", "kill", "--"];
    sh::run(sh::cargo().args(words).args(["--ignored", "--nocapture", "--test-threads", "1"]))
}

/// Long tests of the store: two processes that claim from one block on PostgreSQL for a minute, with the account of every
/// address; the deletion of ten million old rows on both databases.
fn ignored(tests: &str, what: &str) -> Result<()> {
    sh::say(what);
    let words =
        ["test", "--package", "domainscope-store", "--test", "story", "--", "--ignored", "--nocapture"];
    sh::run(sh::cargo().args(words).arg(tests))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_wrong_name_is_answered_with_the_right_ones() {
        let error = super::run(Some("whoise"), &[]).expect_err("no such benchmark").to_string();
        assert!(error.contains("whoise") && error.contains("whois, dns, store, resources"), "{error}");
    }
}
