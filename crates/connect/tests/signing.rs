//! Links of the synchronous flow: what is signed, that it verifies with the published key, and what is refused.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use connect::Template;
use connect::discovery::{Settings, may_redirect, settings_urls};
use connect::sign::{PublishedKey, SigningKey, apply_url, canonical_query};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::process::Command;

fn template(extra: &Value) -> Template {
    let mut template = json!({"providerId": "shop.example", "providerName": "Shop", "serviceId": "web",
        "serviceName": "Web", "records": [{"type": "A", "host": "@", "pointsTo": "%ip%", "ttl": 60}]});
    for (name, value) in extra.as_object().unwrap() {
        template[name] = value.clone();
    }
    Template::from_json(&template).unwrap()
}

fn settings() -> Settings {
    Settings::from_json(&json!({"providerId": "dns.example", "providerName": "DNS",
        "urlSyncUX": "https://connect.dns.example/sync/", "urlAPI": "https://api.dns.example", "width": 750}))
    .unwrap()
}

fn parameters() -> BTreeMap<String, String> {
    [("domain", "example.com"), ("ip", "192.0.2.1"), ("text", "a+b &=%")]
        .map(|(k, v)| (k.into(), v.into()))
        .into()
}

/// The example of draft-ietf-dconn-domainconnect, section 8.3.2.1. (Its signature does not verify with its key.)
#[test]
fn the_query_is_the_one_of_the_specification() {
    let parameters =
        [("text", "a+b"), ("b", "2"), ("ip", "10.10.10.10"), ("domain", "example.net"), ("a", "1")];
    let parameters = parameters.map(|(k, v)| (k.to_string(), v.to_string())).into();
    assert_eq!(canonical_query(&parameters), "a=1&b=2&domain=example.net&ip=10.10.10.10&text=a%2Bb");
}

/// A new key in PKCS #8 and its public half in X.509 form, both by openssl, which is not what the crate uses.
fn openssl_key() -> Option<(Vec<u8>, String)> {
    let folder = tempfile::tempdir().unwrap();
    let script = "openssl genpkey -quiet -algorithm RSA -out k.pem 2>/dev/null || openssl genpkey -algorithm RSA -out k.pem; \
        openssl pkcs8 -topk8 -nocrypt -in k.pem -outform DER -out k.der && openssl pkey -in k.pem -pubout -outform DER -out p.der";
    let made = Command::new("sh")
        .args(["-c", script])
        .current_dir(folder.path())
        .output()
        .is_ok_and(|o| o.status.success());
    let in_ci = std::env::var("CI").is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"));
    assert!(made || !in_ci, "openssl is missing: cargo xtask setup installs it");
    if !made {
        eprintln!("skipped: openssl is missing, which makes the key of this test");
        return None;
    }
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    Some((read("k.der"), STANDARD.encode(read("p.der"))))
}

#[test]
fn a_link_is_signed_and_verifies_with_the_published_key() {
    let Some((private, public)) = openssl_key() else { return };
    let key = SigningKey::from_pkcs8(&private, "_dck1").unwrap();
    let (first, rest) = public.split_at(200);
    let records = [format!("p=2,d={rest}"), format!("p=1,a=RS256,d={first}"), "other text".into()];
    let published = PublishedKey::from_txt(records.iter().map(String::as_str)).unwrap();
    let template = template(&json!({"syncPubKeyDomain": "shop.example"}));
    let url = apply_url(&settings(), &template, &parameters(), Some(&key)).unwrap();
    let (address, query) = url.split_once('?').unwrap();
    assert_eq!(
        address,
        "https://connect.dns.example/sync/v2/domainTemplates/providers/shop.example/services/web/apply"
    );
    assert!(query.starts_with("domain=example.com&ip=192.0.2.1&text=a%2Bb%20%26%3D%25&sig="), "{query}");
    assert!(query.ends_with("&key=_dck1"));
    assert!(published.verifies_request(query));
    assert!(!published.verifies_request(&query.replace("192.0.2.1", "192.0.2.9")));
    assert!(!published.verifies_request(&query.replace("&sig=", "&sig=x&sig=")));
    assert!(!published.verifies_request("domain=example.com"));
    assert_eq!(format!("{key:?}"), "SigningKey { label: \"_dck1\", .. }");
    // Half a key, and the same fragment twice, are no key.
    assert!(PublishedKey::from_txt([records[1].as_str()]).is_err());
    assert!(PublishedKey::from_txt([records[1].as_str(), &records[1]]).is_err());
}

#[test]
fn links_that_cannot_work_are_refused() {
    let plain = template(&json!({}));
    assert!(apply_url(&settings(), &plain, &parameters(), None).is_ok());
    assert!(
        apply_url(&settings(), &template(&json!({"syncPubKeyDomain": "shop.example"})), &parameters(), None)
            .is_err()
    );
    assert!(apply_url(&settings(), &template(&json!({"syncBlock": true})), &parameters(), None).is_err());
    assert!(apply_url(&Settings { url_sync_ux: None, ..settings() }, &plain, &parameters(), None).is_err());
    assert!(apply_url(&settings(), &plain, &BTreeMap::new(), None).is_err());
    let mut long = parameters();
    long.insert("text".into(), "x".repeat(8000));
    assert!(apply_url(&settings(), &plain, &long, None).is_err());
}

#[test]
fn keys_that_are_not_keys_are_refused() {
    for records in [
        vec![],
        vec!["v=spf1 -all"],
        vec!["p=1,d=!!!"],
        vec!["p=1,d=AAAA"],
        vec!["p=1,a=ES256,d=AAAA"],
        vec!["p=1,t=jwk,d=AAAA"],
        vec!["p=1,d=AAAA", "p=1,d=AAAA"],
    ] {
        assert!(PublishedKey::from_txt(records.clone()).is_err(), "{records:?}");
    }
}

#[test]
fn discovery_takes_only_an_authority_and_a_path() {
    let urls = settings_urls(
        [
            "connect.dns.example/dc",
            "https://evil.example",
            "a.example?x",
            "u@a.example",
            "localhost",
            "a b.example",
            "",
        ],
        "example.com.",
    );
    assert_eq!(urls, ["https://connect.dns.example/dc/v2/example.com/settings"]);
    assert_eq!(settings_urls(["a.example", "b.example", "c.example", "d.example"], "x.example").len(), 3);
    let with = |field: &str, value: Value| {
        let mut document = json!({"providerId": "a", "providerName": "A", "urlAPI": "https://api.example"});
        document[field] = value;
        Settings::from_json(&document)
    };
    assert!(with("other", json!(1)).is_ok() && with("crit", json!(["absent"])).is_ok());
    assert!(with("urlAPI", json!("http://api.example")).is_err());
    assert!(with("urlSyncUX", json!("https://a.example/?q")).is_err());
    assert!(with("providerName", json!(null)).is_err());
    let critical = json!({"providerId": "a", "providerName": "A", "urlAPI": "https://api.example", "vnd.x": 1, "crit": ["vnd.x"]});
    assert!(Settings::from_json(&critical).is_err());
}

#[test]
fn users_are_sent_back_only_where_the_template_says() {
    let template = template(&json!({"syncRedirectDomain": "shop.example, www.other.example"}));
    for good in ["https://shop.example/done?x=1", "https://a.SHOP.example", "https://www.other.example/"] {
        assert!(may_redirect(&template, good, false), "{good}");
    }
    for bad in [
        "http://shop.example",
        "https://shop.example.evil.net",
        "https://evilshop.example",
        "https://other.example",
        "https://shop.example@evil.net",
        "javascript:alert(1)",
        "//shop.example",
        "https://192.0.2.1/",
    ] {
        assert!(!may_redirect(&template, bad, false), "{bad}");
    }
    assert!(may_redirect(&template, "https://elsewhere.example", true));
    assert!(!may_redirect(&template, "http://elsewhere.example", true));
}
