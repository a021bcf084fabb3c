//! The shipped tables: well formed, complete, and right where an earlier version was wrong.

use super::*;
use std::collections::{BTreeSet, HashSet};
use url::Url;

/// Cells of every row, with the number of rows that have another number of cells.
fn cells<const N: usize>(text: &'static str) -> Vec<[&'static str; N]> {
    let lines = text.lines().filter(|l| !l.starts_with('#')).count() - 1;
    let rows: Vec<[&str; N]> = rows(text).collect();
    assert_eq!(rows.len(), lines, "every row has {N} cells");
    let keys: HashSet<_> = rows.iter().map(|r| r[0]).collect();
    assert_eq!(keys.len(), rows.len(), "every key once");
    assert!(rows.iter().all(|r| !r[N - 1].is_empty()), "every row names its source");
    rows
}

/// Every short word of a source column has a line in the table's legend.
fn legend_explains(text: &str, source: &str) {
    for word in source.split(',') {
        assert!(text.lines().any(|l| l.starts_with(&format!("#   {word} "))), "{word} is not explained");
    }
}

fn is_host(name: &str) -> bool {
    crate::whois::host_name(name).as_deref() == Some(name)
}

#[test]
fn every_tld_has_a_whois_server_or_none() {
    let rows = cells::<4>(whois_servers::TEXT);
    let tlds: BTreeSet<_> = rows.iter().map(|r| r[0]).filter(|s| !s.contains('.')).collect();
    assert!(tlds.len() >= 1_437, "{}", tlds.len());
    for [suffix, host, form, source] in &rows {
        assert!(*host == "-" || is_host(host), "{suffix}: {host}");
        assert!(form.is_empty() || form.matches("%s").count() == 1, "{suffix}: {form}");
        legend_explains(whois_servers::TEXT, source);
    }
    assert!(rows.iter().filter(|r| r[1] != "-").count() >= 850);
}

#[test]
fn every_tld_has_an_rdap_server_or_none() {
    let rows = cells::<4>(rdap_servers::TEXT);
    assert!(rows.len() >= 1_437, "{}", rows.len());
    for [tld, url, listed, source] in &rows {
        let base = *url == "-" || url.ends_with('/') && Url::parse(url).is_ok_and(|u| u.host_str().is_some());
        assert!(base && matches!(*listed, "yes" | "no"), "{tld}: {url} {listed}");
        assert!(*listed == "yes" || !url.starts_with("http:"), "{tld}: {url}");
        assert!(*listed == "yes" || *url == "-" || source.contains(','), "{tld}: one source is not enough");
        legend_explains(rdap_servers::TEXT, source);
    }
    assert!(rdap_servers::all().count() >= 1_200);
}

#[test]
fn registrars_are_those_of_iana() {
    let rows = cells::<5>(registrars::TEXT);
    assert!(rows.len() >= 4_199, "{}", rows.len());
    for [id, name, status, rdap, _] in &rows {
        assert!(id.parse::<u32>().is_ok() && !name.trim().is_empty(), "{id}");
        assert!(matches!(*status, "A" | "T" | "R" | ""), "{id}: {status}");
        assert!(rdap.is_empty() || rdap.ends_with('/') && Url::parse(rdap).is_ok(), "{id}: {rdap}");
    }
    let numbers: Vec<u32> = rows.iter().filter_map(|r| r[0].parse().ok()).collect();
    assert!(numbers.is_sorted());
    assert!(rows.iter().filter(|r| !r[3].is_empty()).count() >= 2_900);
    for unknown in ["", "0", "5", "x", "-2", "99999999999"] {
        assert_eq!(registrars::registrar_name(unknown), None, "{unknown}");
    }
    for reserved in ["1", "8", "9999", "8888888"] {
        assert_eq!(registrars::registrar_name(reserved), None, "{reserved} is no company");
    }
}

#[test]
fn encodings_have_a_decoder() {
    for [host, charset, source] in cells::<3>(charsets::TEXT) {
        let encoding = encoding_rs::Encoding::for_label(charset.as_bytes());
        assert!(is_host(host) && encoding.is_some_and(|e| e != encoding_rs::UTF_8), "{host}: {charset}");
        legend_explains(charsets::TEXT, source);
    }
}

/// Ids that an earlier table gave to other companies.
#[test]
fn corrected_registrars() {
    for (id, name) in [
        ("9", "Register.com - Network Solutions, LLC"),
        ("73", "Abion AB"),
        ("106", "Ascio Technologies, Inc. Danmark - Filial af Ascio technologies, Inc. USA"),
        ("113", "CSL Computer Service Langenbach GmbH d/b/a joker.com"),
        ("130", "Netpia.com, Inc."),
        ("151", "InterNetX GmbH"),
        ("292", "MarkMonitor Inc."),
        ("381", "Domreg Ltd"),
        ("473", "Best Registration Services, Inc. dba BestRegistrar.com"),
        ("634", "NetTuner Corp. dba Webmasters.com"),
        ("697", "Todaynic.com, Inc."),
        ("828", "Hetzner Online GmbH"),
        ("895", "Squarespace Domains II LLC"),
        ("1069", "DropExtra.com, LLC"),
        ("1564", "TLD Registrar Solutions Ltd."),
    ] {
        assert_eq!(registrars::registrar_name(id), Some(name), "{id}");
    }
    assert_eq!(registrars::registrar_rdap("2"), Some("https://rdap.networksolutions.com/rdap/"));
}

/// RDAP servers that an earlier table had wrong.
#[test]
fn corrected_rdap_servers() {
    let of = |tld: &str| rdap_servers::all().find(|s| s.tld == tld).map(|s| (s.url, s.listed));
    for tld in ["online", "site", "store", "tech"] {
        assert_eq!(of(tld), Some(("https://rdap.radix.host/rdap/", true)), "{tld}");
    }
    for tld in ["tv", "pm", "re", "tf", "wf", "yt"] {
        assert_eq!(of(tld), Some((format!("https://rdap.nic.{tld}/").as_str(), true)), "{tld}");
    }
    for tld in ["io", "ac", "sh", "me"] {
        assert_eq!(of(tld), Some(("https://rdap.identitydigital.services/rdap/", false)), "{tld}");
    }
    assert_eq!(of("de"), Some(("https://rdap.denic.de/", false)));
    assert_eq!(of("co"), None, "answers 404 for registered names");
    assert_eq!(of("my"), None, "answers 200 for every name");
}

/// WHOIS servers that an earlier table had wrong.
#[test]
fn corrected_whois_servers() {
    for (suffix, host) in [
        ("in", "whois.nixiregistry.in"),
        ("co", "whois.registry.co"),
        ("gov", "whois.nic.gov"),
        ("pm", "whois.nic.pm"),
        ("re", "whois.nic.re"),
        ("tf", "whois.nic.tf"),
        ("wf", "whois.nic.wf"),
        ("yt", "whois.nic.yt"),
        ("to", "whois.tonicregistry.to"),
        ("mu", "whois.tld.mu"),
        ("sb", "whois.nic.net.sb"),
        ("sc", "whois.nic.sc"),
        ("vc", "whois.identitydigital.services"),
        ("vu", "whois.dnrs.vu"),
        ("aero", "whois.aero"),
        ("tv", "whois.nic.tv"),
        ("org", "whois.publicinterestregistry.org"),
        ("com", "whois.verisign-grs.com"),
    ] {
        assert_eq!(whois_servers::of_suffix(suffix), Some(Some(host)), "{suffix}");
    }
    for switched_off in [
        "info", "mobi", "pro", "jobs", "travel", "ps", "google", "app", "dev", "page", "how", "soy", "new",
        "day",
    ] {
        assert_eq!(whois_servers::of_suffix(switched_off), Some(None), "{switched_off}");
    }
    assert_eq!(whois_servers::of_suffix("invalid"), None);
}

#[test]
fn corrected_encodings() {
    let of = |server: &str| charsets::encoding(Some(server), &[]).map(encoding_rs::Encoding::name);
    assert_eq!(of("whois.kg"), Some("windows-1251"));
    assert_eq!(of("whois.nic.hu"), Some("windows-1252"), "Latin-1, of which it is a superset");
    assert_eq!(of("whois.example"), None);
    let by_suffix = |s: &str| charsets::encoding(None, &[s.to_string()]).map(encoding_rs::Encoding::name);
    assert_eq!(by_suffix("jp"), Some("ISO-2022-JP"));
    assert_eq!(by_suffix("kr"), Some("EUC-KR"));
}

#[test]
fn forms_of_questions() {
    use whois_servers::query;
    for (host, tld, line) in [
        ("whois.verisign-grs.com", "com", "domain a.com\r\n"),
        ("whois.denic.de", "de", "-T dn,ace a.de\r\n"),
        ("whois.jprs.jp", "jp", "a.jp/e\r\n"),
        ("whois.norid.no", "no", "-c utf-8 a.no\r\n"),
        ("whois.nic.tv", "tv", "a.tv\r\n"),
        ("whois2.denic.de", "de", "-T dn,ace a.de\r\n"),
        ("whois.example", "example", "a.example\r\n"),
    ] {
        assert_eq!(query(host, tld, &format!("a.{tld}")), line, "{host}");
    }
}

#[test]
fn a_second_level_with_a_registry_of_its_own_is_known() {
    use whois_servers::below_tld;
    assert_eq!(below_tld("shop.uk.com"), Some("whois.centralnic.net"));
    assert_eq!(below_tld("a.b.uk.com"), Some("whois.centralnic.net"));
    for other in ["uk.com", "example.com", "example.co.uk", "com", ""] {
        assert_eq!(below_tld(other), None, "{other}");
    }
}
