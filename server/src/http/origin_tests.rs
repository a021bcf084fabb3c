//! Which requests are believed to come from where.

use super::*;
use axum::body::Body;

fn request(peer: &str, headers: &[(&'static str, &'static str)]) -> Request {
    let mut request = Request::new(Body::empty());
    if !peer.is_empty() {
        request.extensions_mut().insert(doh::Client(peer.parse().unwrap()));
    }
    for (name, value) in headers {
        request.headers_mut().append(*name, HeaderValue::from_static(value));
    }
    request
}

#[test]
fn the_demo_knows_its_own_machine() {
    for host in ["localhost:8080", "127.0.0.1", "[::1]:8080"] {
        for peer in ["", "127.0.0.1", "::1", "::ffff:127.0.0.1"] {
            assert!(is_local(&request(peer, &[("host", host)])), "{host} {peer}");
        }
        assert!(!is_local(&request("192.0.2.1", &[("host", host)])), "a forged {host}");
    }
    for bad in [
        &[("host", "evil.example")][..],
        &[("host", "localhost.evil.example:8080")],
        &[("host", "127.0.0.1.evil.example")],
        &[("host", "localhost"), ("x-forwarded-for", "1.2.3.4")],
        &[("host", "localhost"), ("forwarded", "for=1.2.3.4")],
        &[("host", "localhost"), ("connection", "close")],
        &[],
    ] {
        assert!(!is_local(&request("127.0.0.1", bad)), "{bad:?}");
    }
    let mut old = request("127.0.0.1", &[("host", "localhost")]);
    *old.version_mut() = Version::HTTP_10;
    assert!(!is_local(&old), "nginx speaks HTTP/1.0 to what is behind it");
}

#[test]
fn only_what_declared_proxies_added_is_believed() {
    let proxies: Vec<ProxyNetwork> = ["10.0.0.0/8", "2001:db8::/32"].map(|p| p.parse().unwrap()).into();
    let client = |line: &'static str| {
        client_behind(request("", &[("x-forwarded-for", line)]).headers(), &proxies).map(|ip| ip.to_string())
    };
    assert_eq!(client("192.0.2.7").as_deref(), Some("192.0.2.7"));
    assert_eq!(
        client("127.0.0.1, 192.0.2.7").as_deref(),
        Some("192.0.2.7"),
        "the left part is the client's claim"
    );
    assert_eq!(client("192.0.2.7, 10.1.2.3").as_deref(), Some("192.0.2.7"), "two proxies");
    assert_eq!(client("2001:db8:1::7, [2001:db8::1]").as_deref(), Some("2001:db8:1::7"));
    assert_eq!(client("nonsense, 10.1.2.3").as_deref(), Some("10.1.2.3"));
    assert_eq!(client("nonsense"), None);
    let two = request("", &[("x-forwarded-for", "127.0.0.1"), ("x-forwarded-for", "192.0.2.8")]);
    assert_eq!(client_behind(two.headers(), &proxies), Some("192.0.2.8".parse().unwrap()));
}

#[test]
fn a_proxy_network_is_an_address_with_or_without_a_length() {
    let network = |text: &str| text.parse::<ProxyNetwork>().unwrap();
    let has = |n: &str, ip: &str| network(n).contains(ip.parse().unwrap());
    assert!(has("127.0.0.1", "127.0.0.1") && !has("127.0.0.1", "127.0.0.2"));
    assert!(has("10.0.0.0/8", "::ffff:10.9.9.9") && !has("10.0.0.0/8", "11.0.0.1"));
    assert!(has("0.0.0.0/0", "192.0.2.1") && !has("0.0.0.0/0", "::1"));
    assert!(has("2001:db8::/32", "2001:db8:ffff::1") && has("::/0", "2001:db8::1"));
    for bad in ["", "proxy.example", "10.0.0.0/33", "::/129", "10.0.0.0/x"] {
        assert!(bad.parse::<ProxyNetwork>().unwrap_err().contains("ADDRESS/LENGTH"), "{bad}");
    }
}

#[test]
fn other_sites_change_nothing_and_spend_nothing() {
    let post = Method::POST;
    let headers = |pairs: &[(&'static str, &'static str)]| request("", pairs).headers().clone();
    assert!(is_cross_site(&post, &headers(&[("sec-fetch-site", "cross-site")])));
    assert!(is_cross_site(&post, &headers(&[("origin", "http://evil.example"), ("host", "localhost:8080")])));
    assert!(!is_cross_site(
        &post,
        &headers(&[("origin", "http://localhost:8080"), ("host", "localhost:8080")])
    ));
    assert!(!is_cross_site(&post, &headers(&[("host", "localhost:8080")])));
    assert!(!is_cross_site(&Method::GET, &headers(&[("sec-fetch-site", "cross-site")])));

    assert!(is_from_elsewhere(&headers(&[("sec-fetch-site", "cross-site")])));
    assert!(is_from_elsewhere(&headers(&[("referer", "http://mail.example/x"), ("host", "scope.example")])));
    for own in [
        &[("sec-fetch-site", "same-origin")][..],
        &[("sec-fetch-site", "none")],
        &[("referer", "http://scope.example/domains"), ("host", "scope.example")],
        &[("host", "scope.example")],
    ] {
        assert!(!is_from_elsewhere(&headers(own)), "{own:?}");
    }
    assert!(is_query_address("/tools/scan", "name=q7.io") && !is_query_address("/tools/scan", ""));
    assert!(is_query_address("/api/v1/fqdn", "name=q7.io") && !is_query_address("/domains", "q=a"));
    // Points of presence are asked about the name, reverse look-ups made for a prefix.
    assert!(is_query_address("/fleet", "server=&name=q7.io") && !is_query_address("/fleet", "name="));
    assert!(is_query_address("/networks", "block=10.0.0.0%2F8") && !is_query_address("/networks", ""));
    assert!(is_query_address("/api/v1/networks/names", "prefix=10.0.0.0/8"));
}
