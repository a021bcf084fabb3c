//! Programs of the operating system: which ones are missing, which package brings them, and installing
//! them where we may (Debian as root). Elsewhere the command to type is printed.

use crate::sh;
use std::path::{Path, PathBuf};

/// A program, the file names that prove it is there, and its packages.
struct Need {
    program: &'static str,
    debian: &'static str,
    brew: &'static str,
    why: &'static str,
}

/// What the build itself needs.
const BUILD: &[Need] = &[Need {
    program: "cc",
    debian: "build-essential",
    brew: "(xcode-select --install)",
    why: "compiles SQLite and the TLS primitives",
}];

/// What the tests need besides: independent servers to be measured against, a database, a browser.
const TESTS: &[Need] = &[
    Need { program: "initdb", debian: "postgresql", brew: "postgresql@17", why: "store tests on PostgreSQL" },
    Need { program: "nsd", debian: "nsd", brew: "nsd", why: "interop tests" },
    Need { program: "named", debian: "bind9", brew: "bind", why: "interop tests" },
    Need {
        program: "named-checkzone",
        debian: "bind9-utils",
        brew: "bind",
        why: "reads exported zone files back",
    },
    Need { program: "dig", debian: "bind9-dnsutils", brew: "bind", why: "interop tests" },
    Need {
        program: "delv",
        debian: "bind9-dnsutils",
        brew: "bind",
        why: "verdicts of DNSSEC in interop tests",
    },
    Need { program: "drill", debian: "ldnsutils", brew: "ldns", why: "interop tests" },
    Need {
        program: "c++",
        debian: "g++",
        brew: "(xcode-select --install)",
        why: "libFuzzer of the fuzz targets",
    },
    Need {
        program: "ldns-signzone",
        debian: "ldnsutils",
        brew: "ldns",
        why: "signed zones of interop tests",
    },
    Need { program: "openssl", debian: "openssl", brew: "openssl@3", why: "keys of signature tests" },
    Need { program: "kdig", debian: "knot-dnsutils", brew: "knot", why: "interop tests" },
    Need {
        program: "unbound-host",
        debian: "unbound-host",
        brew: "unbound",
        why: "verdicts of DNSSEC in tests of validator and lab",
    },
    Need { program: "openssl", debian: "openssl", brew: "openssl", why: "certificates of interop tests" },
    Need {
        program: "kubectl",
        debian: "kubernetes-client",
        brew: "kubernetes-cli",
        why: "resource API tests",
    },
    Need { program: "curl", debian: "curl", brew: "curl", why: "DNS over HTTPS tests" },
    Need {
        program: "aiosmtpd",
        debian: "python3-aiosmtpd",
        brew: "(pip3 install aiosmtpd)",
        why: "a mail server of its own for the tests of notifications",
    },
    Need {
        program: "postfix",
        debian: "postfix",
        brew: "postfix",
        why: "a mail server as others run it, for the tests of notifications",
    },
    Need {
        program: "icalendar",
        debian: "python3-icalendar",
        brew: "(pip3 install icalendar)",
        why: "reads calendars of expirations back",
    },
    Need {
        program: "feedparser",
        debian: "python3-feedparser",
        brew: "(pip3 install feedparser)",
        why: "reads Atom feeds back",
    },
    Need { program: "promtool", debian: "prometheus", brew: "prometheus", why: "checks the alert rules" },
    Need { program: "dnsperf", debian: "dnsperf", brew: "dnsperf", why: "DNS over HTTPS under load" },
    Need { program: "nginx", debian: "nginx-light", brew: "nginx", why: "TLS of interop tests and probes" },
    Need {
        program: "haproxy",
        debian: "haproxy",
        brew: "haproxy",
        why: "a proxy in its default configuration",
    },
    Need {
        program: "python3 -m venv",
        debian: "python3-venv",
        brew: "python",
        why: "independent validators of the REST API's description",
    },
    Need { program: "node", debian: "nodejs", brew: "node", why: "runs the browser tests" },
    Need { program: "npm", debian: "npm", brew: "node", why: "installs the browser tests" },
    Need { program: "chromium", debian: "chromium", brew: "--cask chromium", why: "browser tests" },
];

/// Makes sure of what building needs; the text says what is still missing.
pub fn for_build() -> Result<(), String> {
    ensure(BUILD)
}

/// Makes sure of what the tests need; the text says what is still missing.
pub fn for_tests() -> Result<(), String> {
    ensure(BUILD).and(ensure(TESTS))
}

fn ensure(needs: &[Need]) -> Result<(), String> {
    let missing: Vec<&Need> = needs.iter().filter(|need| !present(need.program)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let mut packages: Vec<&str> = missing.iter().map(|need| need.debian).collect();
    if packages.contains(&"chromium") {
        packages.push("fonts-liberation");
    }
    install(&packages);
    let missing: Vec<&Need> = missing.into_iter().filter(|need| !present(need.program)).collect();
    if missing.is_empty() { Ok(()) } else { Err(complaint(&missing)) }
}

fn complaint(missing: &[&Need]) -> String {
    use std::fmt::Write;
    let mut text = String::from("missing on this machine:\n");
    for need in missing {
        let _ = writeln!(text, "  {:<14} {}", need.program, need.why);
    }
    let names =
        |pick: fn(&Need) -> &'static str| missing.iter().map(|need| pick(need)).collect::<Vec<_>>().join(" ");
    let _ = writeln!(text, "Debian, Ubuntu: sudo apt-get install {}", names(|need| need.debian));
    let _ = write!(text, "macOS:          brew install {}", names(|need| need.brew));
    text
}

fn present(program: &str) -> bool {
    match program {
        "initdb" => sh::which("initdb").is_some() || postgres_folder().is_some(),
        "chromium" => browser().is_some(),
        "python3 -m venv" => sh::output(sh::command("python3").args(["-c", "import ensurepip"])).is_ok(),
        "icalendar" | "feedparser" => has_module(program),
        // Debian keeps it off the PATH of other users than root.
        "postfix" => sh::which(program).is_some() || std::path::Path::new("/usr/sbin/postfix").exists(),
        other => sh::which(other).is_some(),
    }
}

/// True when a Python on this machine has the module; Debian's own sees Debian's packages.
fn has_module(module: &str) -> bool {
    let import = format!("import {module}");
    let mut pythons = ["/usr/bin/python3", "python3"].into_iter();
    pythons.any(|python| sh::output(sh::command(python).args(["-c", &import])).is_ok())
}

/// Debian keeps PostgreSQL's programs off the PATH.
fn postgres_folder() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    versions.flatten().map(|entry| entry.path().join("bin/initdb")).find(|program| program.exists())
}

/// A Chromium-family browser already on this machine.
pub fn browser() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("CHROMIUM").map(PathBuf::from).filter(|path| path.exists()) {
        return Some(named);
    }
    let on_path = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    let mac = [
        "/Applications/Chromium.app/Contents/MacOS/Chromium",
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    ];
    on_path
        .iter()
        .find_map(|name| sh::which(name))
        .or_else(|| mac.iter().map(PathBuf::from).find(|path| path.exists()))
}

/// Installs Debian packages when this is Debian and we are root; otherwise does nothing. Packages that
/// bring a daemon would start it, which `policy-rc.d` forbids for the length of the call.
pub fn install(packages: &[&str]) {
    if sh::which("apt-get").is_none() || !is_root() {
        return;
    }
    sh::say(&format!("installing Debian packages: {}", packages.join(" ")));
    let guard = NoDaemons::begin();
    let attempt = || {
        let mut apt = sh::command("apt-get");
        apt.args(["install", "--yes", "--quiet", "--no-install-recommends"])
            .args(packages)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .env("RUNLEVEL", "1");
        sh::output(&mut apt)
    };
    let first = attempt();
    if first.is_err() {
        sh::say("  refreshing the package lists first");
        let refreshed = sh::output(sh::command("apt-get").args(["update", "--quiet"]));
        if let Err(error) = refreshed.and_then(|_| attempt()) {
            sh::say(&format!("  not installed: {error:#}"));
        }
    }
    drop(guard);
}

fn is_root() -> bool {
    sh::output(sh::command("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

/// While it lives, Debian's packages may not start services.
struct NoDaemons {
    ours: bool,
}

impl NoDaemons {
    const POLICY: &'static str = "/usr/sbin/policy-rc.d";

    fn begin() -> Self {
        // A policy that is already there is someone's choice; ours must not replace or remove it.
        if Path::new(Self::POLICY).exists() {
            return Self { ours: false };
        }
        let written = std::fs::write(Self::POLICY, "#!/bin/sh\nexit 101\n").is_ok();
        let allowed = sh::output(sh::command("chmod").args(["755", Self::POLICY])).is_ok();
        Self { ours: written && allowed }
    }
}

impl Drop for NoDaemons {
    fn drop(&mut self) {
        if self.ours {
            let _ = std::fs::remove_file(Self::POLICY);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_complaint_names_program_reason_and_both_commands() {
        let missing: Vec<&Need> =
            TESTS.iter().filter(|need| need.program == "nsd" || need.program == "kdig").collect();
        let text = complaint(&missing);
        assert!(text.contains("apt-get install nsd knot-dnsutils"), "{text}");
        assert!(text.contains("brew install nsd knot"), "{text}");
        assert!(text.contains("interop tests"), "{text}");
    }

    #[test]
    fn every_need_has_a_package_and_a_reason() {
        for need in BUILD.iter().chain(TESTS) {
            assert!(
                !need.debian.is_empty() && !need.brew.is_empty() && !need.why.is_empty(),
                "{}",
                need.program
            );
        }
    }
}
