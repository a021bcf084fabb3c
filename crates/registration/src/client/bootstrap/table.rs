//! The table of an RDAP bootstrap (RFC 9224): read from a file's text, completed by the shipped rows. In: JSON; out:
//! base URLs of a TLD.

use crate::data::rdap_servers;
use serde::Deserialize;
use std::collections::HashMap;
use url::Url;

/// A bootstrap that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BootstrapError {
    /// The file cannot be read: check the path.
    #[error("RDAP bootstrap {path}: {reason}")]
    File {
        /// The path.
        path: String,
        /// Why.
        reason: String,
    },
    /// It is not a bootstrap file: check what the path or URL leads to.
    #[error("RDAP bootstrap {from} is not a file of RFC 9224: {reason}")]
    Form {
        /// Path or URL.
        from: String,
        /// Why.
        reason: String,
    },
}

/// Base URLs per TLD.
#[derive(Debug, Default)]
pub(in crate::client) struct Table(HashMap<String, Vec<Url>>);

impl Table {
    /// The base URLs for a name: those of its longest listed suffix, https before http.
    pub fn bases(&self, name: &str) -> &[Url] {
        let mut rest = name;
        loop {
            if let Some(found) = self.0.get(rest) {
                return found;
            }
            match rest.split_once('.') {
                Some((_, r)) => rest = r,
                None => return &[],
            }
        }
    }

    pub fn parse(from: &str, text: &[u8]) -> Result<Self, BootstrapError> {
        #[derive(Deserialize)]
        struct Dns {
            services: Vec<Vec<Vec<String>>>,
        }
        let bad = |reason: String| BootstrapError::Form { from: from.to_string(), reason };
        let dns: Dns = serde_json::from_slice(text).map_err(|e| bad(e.to_string()))?;
        let mut table = Table::default();
        for service in &dns.services {
            let [tlds, urls] = service.as_slice() else { continue };
            table.add(tlds, urls);
        }
        if table.0.is_empty() { Err(bad("it lists no service".into())) } else { Ok(table) }
    }

    fn add(&mut self, tlds: &[String], urls: &[String]) {
        let mut urls: Vec<Url> = urls
            .iter()
            .filter_map(|u| Url::parse(&if u.ends_with('/') { u.clone() } else { format!("{u}/") }).ok())
            .filter(|u| matches!(u.scheme(), "https" | "http"))
            .collect();
        urls.sort_by_key(|u| u.scheme() != "https");
        if urls.is_empty() {
            return;
        }
        for t in tlds {
            let t = crate::whois::ascii(t.trim_matches('.'));
            self.0.entry(t).or_insert_with(|| urls.clone());
        }
    }

    /// Adds the shipped rows of TLDs that are not in the table: those that IANA does not list, or all of them.
    pub fn add_shipped(&mut self, only_unlisted: bool) {
        for server in rdap_servers::all().filter(|s| !s.listed || !only_unlisted) {
            self.add(&[server.tld.to_string()], &[server.url.to_string()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_suffix_and_https_come_first() {
        let t = Table::parse(
            "x",
            br#"{"services":[[["com","XN--P1AI."],["http://a.test/r","https://b.test/r/"]],[["co.uk"],["https://c.test/"]],[["bad"],["ftp://x"]],[]]}"#,
        )
        .unwrap();
        assert_eq!(t.bases("example.com")[0].as_str(), "https://b.test/r/");
        assert_eq!(t.bases("example.com")[1].as_str(), "http://a.test/r/");
        assert_eq!(t.bases("a.co.uk").len(), 1);
        assert!(t.bases("a.uk").is_empty() && t.bases("a.bad").is_empty());
        assert_eq!(t.bases("x.xn--p1ai").len(), 2);
    }

    #[test]
    fn what_is_no_bootstrap_is_refused() {
        for bad in ["", "[]", "{}", r#"{"services":[]}"#, r#"{"services":[[["com"]]]}"#] {
            assert!(Table::parse("x", bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_fetched_file_is_added_to_where_it_lists_nobody_and_nowhere_else() {
        let mut t = Table::parse("x", br#"{"services":[[["com","ch"],["https://listed.test/"]]]}"#).unwrap();
        t.add_shipped(true);
        for listed in ["a.com", "a.ch"] {
            assert_eq!(t.bases(listed)[0].as_str(), "https://listed.test/");
        }
        for unlisted in ["a.de", "a.io", "a.ac", "a.sh"] {
            assert_eq!(t.bases(unlisted).len(), 1, "{unlisted} runs RDAP without being listed");
        }
        assert!(t.bases("a.org").is_empty(), "a TLD that left the list is not asked by the shipped copy");
    }
}
