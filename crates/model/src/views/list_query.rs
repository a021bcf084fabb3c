//! A list as asked for: search, sorting, filters and page, and how that stands in a URL.

use crate::base::url::percent;
use crate::certificate::hosts::WARNING_DAYS;
use crate::judgement::item::Ownership;
use crate::judgement::status::StatusKind;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

/// Columns a list can be sorted by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SortKey {
    /// Domain name.
    Name,
    /// Expiration, unknown last. The default: what needs attention comes first.
    #[default]
    Expiration,
    /// Registrar name.
    Registrar,
    /// DNS provider name.
    Provider,
    /// Status, worst first.
    Status,
    /// Last change detected (or the registry's "modified").
    Change,
    /// End of the certificate that ends first, none seen last.
    Certificate,
}

impl SortKey {
    /// All keys.
    pub const ALL: [SortKey; 7] = [
        SortKey::Name,
        SortKey::Expiration,
        SortKey::Registrar,
        SortKey::Provider,
        SortKey::Status,
        SortKey::Change,
        SortKey::Certificate,
    ];

    /// The word in URLs.
    pub fn as_str(self) -> &'static str {
        match self {
            SortKey::Name => "name",
            SortKey::Expiration => "expiration",
            SortKey::Registrar => "registrar",
            SortKey::Provider => "provider",
            SortKey::Status => "status",
            SortKey::Change => "change",
            SortKey::Certificate => "certificate",
        }
    }
}

/// Which expirations to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExpiryFilter {
    /// Expired, or expires within so many days.
    Within(u32),
    /// Expires within so many days, today (UTC) included; not expired before.
    Next(u32),
    /// Expired before today, UTC.
    Expired,
    /// Expires on or after the first and on or before the second date.
    Between(Option<Date>, Option<Date>),
    /// No expiration is known.
    Unknown,
}

/// Which certificates to list: by the end of the one that ends first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CertificateFilter {
    /// Ended, or ends within so many days.
    Within(u32),
    /// Ended.
    Ended,
    /// None was seen.
    Unseen,
}

impl CertificateFilter {
    /// Ended, or ends so soon that it is a warning.
    pub const SOON: CertificateFilter = CertificateFilter::Within(WARNING_DAYS as u32);
}

/// A list as asked for. Filters combine with AND, values inside one filter with OR.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ListQuery {
    /// Substring of the name; U-labels are matched too.
    pub search: String,
    /// Sort column.
    pub sort: SortKey,
    /// Descending.
    pub descending: bool,
    /// 1-based page.
    pub page: u32,
    /// Rows a page, at most [`ListQuery::MAX_PER_PAGE`].
    pub per_page: u32,
    /// Status words.
    pub status: Vec<StatusKind>,
    /// Registrar names; the empty text stands for "unknown".
    pub registrar: Vec<String>,
    /// Provider names; the empty text stands for "unknown".
    pub provider: Vec<String>,
    /// Tags.
    pub tag: Vec<String>,
    /// Owned or watched.
    pub ownership: Option<Ownership>,
    /// Expiration.
    pub expires: Option<ExpiryFilter>,
    /// Registration change detected within so many days.
    pub changed_days: Option<u32>,
    /// DNS change detected within so many days.
    pub dns_changed_days: Option<u32>,
    /// Certificate.
    pub certificate: Option<CertificateFilter>,
}

impl Default for ListQuery {
    fn default() -> Self {
        ListQuery {
            search: String::new(),
            sort: SortKey::default(),
            descending: false,
            page: 1,
            per_page: ListQuery::PER_PAGE,
            status: Vec::new(),
            registrar: Vec::new(),
            provider: Vec::new(),
            tag: Vec::new(),
            ownership: None,
            expires: None,
            changed_days: None,
            dns_changed_days: None,
            certificate: None,
        }
    }
}

impl ListQuery {
    /// Rows a page unless asked otherwise.
    pub const PER_PAGE: u32 = 50;
    /// Most rows a page.
    pub const MAX_PER_PAGE: u32 = 500;

    /// True when any filter or search narrows the list.
    pub fn is_filtered(&self) -> bool {
        let plain = ListQuery {
            sort: self.sort,
            descending: self.descending,
            page: self.page,
            per_page: self.per_page,
            ..ListQuery::default()
        };
        *self != plain
    }

    /// Reads the pairs of a URL's query. What is not understood is left out: an old link still opens.
    pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut q = ListQuery::default();
        for (key, value) in pairs {
            match key {
                "q" => q.search = value.trim().chars().take(253).collect(),
                "sort" => {
                    let (descending, word) = value.strip_prefix('-').map_or((false, value), |w| (true, w));
                    if let Some(k) = SortKey::ALL.into_iter().find(|k| k.as_str() == word) {
                        (q.sort, q.descending) = (k, descending);
                    }
                }
                "page" => q.page = value.parse().unwrap_or(1).max(1),
                "per_page" => {
                    q.per_page = value.parse().unwrap_or(Self::PER_PAGE).clamp(1, Self::MAX_PER_PAGE);
                }
                "status" => {
                    let words = value.split(',').filter_map(StatusKind::from_word);
                    for k in words {
                        if !q.status.contains(&k) {
                            q.status.push(k);
                        }
                    }
                }
                "registrar" => q.registrar.push(value.to_string()),
                "provider" => q.provider.push(value.to_string()),
                "tag" if !value.is_empty() => q.tag.push(value.to_string()),
                "ownership" => q.ownership = Ownership::from_word(value),
                "expires" => q.expires = read_expires(value),
                // The two date fields of a plain form; the address it leads to next has them in `expires`.
                "expires_from" | "expires_to" => {
                    let date: Option<Date> = value.parse().ok();
                    let (a, b) = match q.expires {
                        Some(ExpiryFilter::Between(a, b)) => (a, b),
                        _ => (None, None),
                    };
                    let (a, b) = if key == "expires_from" { (date.or(a), b) } else { (a, date.or(b)) };
                    if a.is_some() || b.is_some() {
                        q.expires = Some(ExpiryFilter::Between(a, b));
                    }
                }
                "changed" => q.changed_days = days(value),
                "dns_changed" => q.dns_changed_days = days(value),
                "certificate" => q.certificate = read_certificate(value),
                _ => {}
            }
        }
        q
    }

    /// The pairs of a URL's query; defaults are left out, so the plain list is `/domains`.
    pub fn to_pairs(&self) -> Vec<(&'static str, String)> {
        let plain = ListQuery::default();
        let mut out = Vec::new();
        if !self.search.is_empty() {
            out.push(("q", self.search.clone()));
        }
        if (self.sort, self.descending) != (plain.sort, plain.descending) {
            let minus = if self.descending { "-" } else { "" };
            out.push(("sort", format!("{minus}{}", self.sort.as_str())));
        }
        if !self.status.is_empty() {
            let words: Vec<_> = self.status.iter().map(|s| s.as_str()).collect();
            out.push(("status", words.join(",")));
        }
        out.extend(self.registrar.iter().map(|r| ("registrar", r.clone())));
        out.extend(self.provider.iter().map(|r| ("provider", r.clone())));
        out.extend(self.tag.iter().map(|r| ("tag", r.clone())));
        if let Some(o) = self.ownership {
            out.push(("ownership", o.as_str().to_string()));
        }
        if let Some(e) = self.expires {
            out.push((
                "expires",
                match e {
                    ExpiryFilter::Within(d) => format!("{d}d"),
                    ExpiryFilter::Next(d) => format!("next-{d}d"),
                    ExpiryFilter::Expired => "expired".into(),
                    ExpiryFilter::Unknown => "unknown".into(),
                    ExpiryFilter::Between(a, b) => {
                        let d = |d: Option<Date>| d.map(|d| d.to_string()).unwrap_or_default();
                        format!("{}..{}", d(a), d(b))
                    }
                },
            ));
        }
        if let Some(d) = self.changed_days {
            out.push(("changed", format!("{d}d")));
        }
        if let Some(d) = self.dns_changed_days {
            out.push(("dns_changed", format!("{d}d")));
        }
        if let Some(c) = self.certificate {
            let word = match c {
                CertificateFilter::SOON => "soon".into(),
                CertificateFilter::Within(d) => format!("{d}d"),
                CertificateFilter::Ended => "ended".into(),
                CertificateFilter::Unseen => "none".into(),
            };
            out.push(("certificate", word));
        }
        if self.per_page != plain.per_page {
            out.push(("per_page", self.per_page.to_string()));
        }
        if self.page > 1 {
            out.push(("page", self.page.to_string()));
        }
        out
    }

    /// `/domains` with this list's query.
    pub fn to_url(&self) -> String {
        let pairs = self.to_pairs();
        if pairs.is_empty() {
            return "/domains".into();
        }
        let query: Vec<_> = pairs.iter().map(|(k, v)| format!("{k}={}", percent(v))).collect();
        format!("/domains?{}", query.join("&"))
    }
}

fn read_expires(value: &str) -> Option<ExpiryFilter> {
    match value {
        "unknown" => return Some(ExpiryFilter::Unknown),
        "expired" => return Some(ExpiryFilter::Expired),
        _ => {}
    }
    if let Some(next) = value.strip_prefix("next-") {
        return days(next).map(ExpiryFilter::Next);
    }
    if let Some((a, b)) = value.split_once("..") {
        let (a, b) = (a.parse().ok(), b.parse().ok());
        return (a.is_some() || b.is_some()).then_some(ExpiryFilter::Between(a, b));
    }
    days(value).map(ExpiryFilter::Within)
}

fn read_certificate(value: &str) -> Option<CertificateFilter> {
    match value {
        "soon" => Some(CertificateFilter::SOON),
        "ended" => Some(CertificateFilter::Ended),
        "none" => Some(CertificateFilter::Unseen),
        value => days(value).map(CertificateFilter::Within),
    }
}

/// `7d` or `7`.
fn days(value: &str) -> Option<u32> {
    value.strip_suffix('d').unwrap_or(value).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_plain_list_has_a_plain_address() {
        assert_eq!(ListQuery::default().to_url(), "/domains");
        let q =
            ListQuery::from_pairs([("sort", "-change"), ("status", "critical,bogus,warning"), ("x", "y")]);
        assert_eq!(q.to_url(), "/domains?sort=-change&status=critical,warning");
        assert!(q.is_filtered() && !ListQuery { page: 3, ..ListQuery::default() }.is_filtered());
    }

    #[test]
    fn the_date_fields_of_a_form_are_understood() {
        let q = ListQuery::from_pairs([("expires_from", "2026-12-01"), ("expires_to", "")]);
        assert_eq!(q.to_url(), "/domains?expires=2026-12-01..");
        assert_eq!(ListQuery::from_pairs([("expires_from", ""), ("expires_to", "soon")]).expires, None);
    }

    #[test]
    fn every_expiration_filter_has_an_address() {
        for (word, filter) in [
            ("30d", ExpiryFilter::Within(30)),
            ("next-30d", ExpiryFilter::Next(30)),
            ("expired", ExpiryFilter::Expired),
            ("unknown", ExpiryFilter::Unknown),
        ] {
            let q = ListQuery::from_pairs([("expires", word)]);
            assert_eq!(q.expires, Some(filter));
            assert_eq!(q.to_url(), format!("/domains?expires={word}"));
        }
    }

    #[test]
    fn every_certificate_filter_has_an_address() {
        for (word, filter) in [
            ("soon", CertificateFilter::Within(14)),
            ("30d", CertificateFilter::Within(30)),
            ("ended", CertificateFilter::Ended),
            ("none", CertificateFilter::Unseen),
        ] {
            let q = ListQuery::from_pairs([("certificate", word)]);
            assert_eq!(q.certificate, Some(filter));
            assert_eq!(q.to_url(), format!("/domains?certificate={word}"));
        }
        assert_eq!(ListQuery::from_pairs([("certificate", "whenever")]).certificate, None);
    }

    proptest! {
        #[test]
        fn a_query_survives_the_url(
            search in "[a-zé.&=%+-]{0,12}", page in 1u32..9, desc: bool, days in proptest::option::of(0u32..400),
            registrar in proptest::collection::vec("[A-Za-z &,+é]{0,8}", 0..3)
        ) {
            let q = ListQuery {
                search: search.trim().into(), page, descending: desc, registrar,
                expires: days.map(ExpiryFilter::Within), changed_days: days, dns_changed_days: days,
                status: vec![StatusKind::Critical], ..ListQuery::default()
            };
            let pairs = q.to_pairs();
            prop_assert_eq!(ListQuery::from_pairs(pairs.iter().map(|(k, v)| (*k, v.as_str()))), q);
        }
    }
}
