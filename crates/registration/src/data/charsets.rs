//! Encodings of WHOIS answers that are not UTF-8, from `data/whois-charsets.tsv`.

use super::whois_servers;
use encoding_rs::Encoding;
use std::collections::HashMap;
use std::sync::LazyLock;

pub(super) const TEXT: &str = include_str!("../../data/whois-charsets.tsv");

static CHARSETS: LazyLock<HashMap<&'static str, &'static Encoding>> = LazyLock::new(|| {
    super::rows(TEXT)
        .filter_map(|[host, charset, _source]| Some((host, Encoding::for_label(charset.as_bytes())?)))
        .collect()
});

/// The encoding of answers of `server`, or else of the usual server of the first of `suffixes` that the table knows.
pub(crate) fn encoding(server: Option<&str>, suffixes: &[String]) -> Option<&'static Encoding> {
    let of_host = |host: &str| CHARSETS.get(host).copied();
    let usual = || suffixes.iter().filter_map(|s| whois_servers::of_suffix(s).flatten()).find_map(of_host);
    server.and_then(of_host).or_else(usual)
}
