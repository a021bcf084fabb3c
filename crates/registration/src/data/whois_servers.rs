//! WHOIS servers by suffix, from `data/whois-servers.tsv`.

use std::collections::HashMap;
use std::sync::LazyLock;

pub(super) const TEXT: &str = include_str!("../../data/whois-servers.tsv");

#[derive(Default)]
struct Servers {
    /// By suffix; `None` where the registry runs no server on port 43.
    hosts: HashMap<&'static str, Option<&'static str>>,
    /// Forms of questions by host, for hosts that want more than the name.
    forms: HashMap<&'static str, &'static str>,
}

static SERVERS: LazyLock<Servers> = LazyLock::new(|| {
    let mut all = Servers::default();
    for [suffix, host, form, _source] in super::rows(TEXT) {
        all.hosts.insert(suffix, (host != "-").then_some(host));
        if !form.is_empty() {
            all.forms.insert(host, form);
        }
    }
    all
});

/// The server of a suffix: `None` when the table does not know the suffix, `Some(None)` when its registry runs no WHOIS
/// server.
pub(crate) fn of_suffix(suffix: &str) -> Option<Option<&'static str>> {
    SERVERS.hosts.get(suffix).copied()
}

/// The server of a suffix of two labels or more that `name` is below, where such a suffix has a registry of its own
/// (`uk.com`): the TLD's registry does not know these names.
pub(crate) fn below_tld(name: &str) -> Option<&'static str> {
    let mut rest = name;
    while let Some((_, parent)) = rest.split_once('.') {
        if !parent.contains('.') {
            return None;
        }
        if let Some(host) = of_suffix(parent) {
            return host;
        }
        rest = parent;
    }
    None
}

/// The line that asks `host` about `name`: the host's own form; for a host the table does not know, the form of the
/// TLD's usual server, since a registry that renames its server keeps the software.
pub(crate) fn query(host: &str, tld: &str, name: &str) -> String {
    let of_host = |host: &str| SERVERS.forms.get(host).copied();
    let known = SERVERS.hosts.values().any(|h| *h == Some(host));
    let usual = || of_suffix(tld).flatten().filter(|_| !known).and_then(of_host);
    let form = of_host(host).or_else(usual).unwrap_or("%s");
    format!("{}\r\n", form.replace("%s", name))
}
