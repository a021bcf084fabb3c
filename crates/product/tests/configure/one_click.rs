//! Domain Connect: a signed link is made, opened, confirmed, and leaves nothing to apply.

use crate::world::{Hosts, TEMPLATE, World, now, spec};
use connect::sign::{PublishedKey, SigningKey};
use model::configure::{ServiceKind, ServiceState};
use model::names::DomainName;
use product::configure::Inspector;
use std::sync::Arc;
use tempfile::TempDir;

/// A new key, and its public half as published in a TXT record, both by openssl, which is not what the product uses.
fn key_pair() -> Option<(SigningKey, String)> {
    let folder = TempDir::new().unwrap();
    let script = "openssl genpkey -algorithm RSA -out k.pem 2>/dev/null && \
        openssl pkcs8 -topk8 -nocrypt -in k.pem -outform DER -out k.der && \
        openssl pkey -in k.pem -pubout -outform DER -out p.der";
    let run = std::process::Command::new("sh").args(["-c", script]).current_dir(folder.path()).output();
    let made = run.is_ok_and(|o| o.status.success());
    let in_ci = std::env::var("CI").is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"));
    assert!(made || !in_ci, "openssl is missing: cargo xtask setup installs it");
    if !made {
        eprintln!("skipped: openssl is missing, which makes the key of this test");
        return None;
    }
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    let key = SigningKey::from_pkcs8(&read("k.der"), "_dck1").unwrap();
    Some((key, format!("p=1,a=RS256,t=x509,d={}", data_encoding::BASE64.encode(&read("p.der")))))
}

#[tokio::test]
async fn one_click_goes_the_whole_circle() {
    let w = World::start().await;
    let spec = spec(ServiceKind::Template, &[("template", TEMPLATE), ("values", "token=8f2c61d0")]);
    let domain = DomainName::trusted("shop.example");
    let unsigned = Inspector::new(w.engine.clone()).with_domain_connect(w.dialer(), None);
    let r = unsigned.inspect(&domain, &spec, now()).await.unwrap();
    assert!(r.apply.is_none() && r.no_apply.contains("must be signed"), "{:?} {}", r.apply, r.no_apply);
    let Some((key, published)) = key_pair() else { return };
    let inspector = Inspector::new(w.engine.clone()).with_domain_connect(w.dialer(), Some(key));
    let r = inspector.inspect(&domain, &spec, now()).await.unwrap();
    assert_eq!(r.state, ServiceState::NotSetUp);
    let link = r.apply.unwrap_or_else(|| panic!("{}", r.no_apply));
    assert!(link.signed && link.provider == "Meridian DNS", "{link:?}");
    let query = link.url.split_once('?').unwrap().1;
    let published = PublishedKey::from_txt([published.as_str()]).unwrap();
    assert!(published.verifies_request(query), "{query}");
    assert!(!published.verifies_request(&query.replace("8f2c61d0", "00000000")));
    // With a way back to our page, which the signature vouches for; never to a page without TLS.
    let back = "https://scope.example/domains/shop.example/configuration?service=s1".parse().unwrap();
    let r = inspector.inspect_and_return(&domain, &spec, Some(&back), now()).await.unwrap();
    let with_back = r.apply.unwrap().url;
    let returning = with_back.split_once('?').unwrap().1;
    assert!(
        returning
            .contains("redirect_uri=https%3A%2F%2Fscope.example%2Fdomains%2Fshop.example%2Fconfiguration")
    );
    assert!(published.verifies_request(returning), "{returning}");
    let plain = "http://scope.example/".parse().unwrap();
    let r = inspector.inspect_and_return(&domain, &spec, Some(&plain), now()).await.unwrap();
    assert_eq!(r.apply.unwrap().url, link.url);
    // The user opens the link, looks at the changes and confirms.
    let url = link.url.parse().unwrap();
    let shown = w.dialer().http_get_once(&url, "text/html", 1 << 16).await.unwrap();
    assert_eq!(shown.status, 200);
    assert!(String::from_utf8_lossy(&shown.body).contains("nl-verify=8f2c61d0"));
    assert_eq!(inspector.inspect(&domain, &spec, now()).await.unwrap().state, ServiceState::NotSetUp);
    let applied = w.dialer().http_post(&link.url, "text/html", Vec::new(), 1 << 16).await.unwrap();
    assert_eq!(applied.status, 200, "{}", String::from_utf8_lossy(&applied.body));
    let r = inspector.inspect(&domain, &spec, now()).await.unwrap();
    assert_eq!(r.state, ServiceState::Working, "{r:#?}");
    assert!(r.apply.is_none(), "nothing is left to apply");
}

#[tokio::test]
async fn providers_without_domain_connect_say_so() {
    let w = World::start().await;
    let template = spec(ServiceKind::Template, &[("template", TEMPLATE), ("values", "token=1")]);
    let inspector = Inspector::new(w.engine.clone()).with_domain_connect(w.dialer(), None);
    let r = inspector.inspect(&DomainName::trusted("bakery.example"), &template, now()).await.unwrap();
    assert!(r.apply.is_none() && r.no_apply.contains("does not announce"), "{}", r.no_apply);
    let other = TEMPLATE.replace("\"shop\"", "\"unknown\"");
    let other = spec(ServiceKind::Template, &[("template", &other), ("values", "token=1")]);
    let r = inspector.inspect(&DomainName::trusted("shop.example"), &other, now()).await.unwrap();
    assert!(r.no_apply.contains("does not know this template"), "{}", r.no_apply);
    // Settings that lead elsewhere are refused by the guard when private addresses are not allowed.
    let guarded = net::Dialer::new(net::Settings {
        resolver: Arc::new(Hosts(w.engine.clone())),
        ..net::Settings::default()
    });
    let inspector = Inspector::new(w.engine.clone()).with_domain_connect(guarded.unwrap(), None);
    let r = inspector.inspect(&DomainName::trusted("shop.example"), &template, now()).await.unwrap();
    assert!(r.apply.is_none() && !r.no_apply.is_empty(), "{}", r.no_apply);
}
