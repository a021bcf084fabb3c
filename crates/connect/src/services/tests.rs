use super::*;
use crate::export::{owner_name, value};

fn shown(records: &[TemplateRecord], host: &str) -> Vec<String> {
    let request = Request { domain: "example.com".into(), host: host.into(), ..Request::default() };
    let records = expected(records, &request).unwrap();
    records.iter().map(|r| format!("{} {} {}", owner_name(r), r.kind, value(r))).collect()
}

fn web() -> WebGateway {
    WebGateway {
        target: Some("gw.example.net".into()),
        addresses: vec!["192.0.2.1".parse().unwrap(), "2001:db8::1".parse().unwrap()],
        names: vec!["@".into(), "www".into()],
        at_apex: true,
        alpn: vec!["h2".into(), "h3".into()],
        ttl: 300,
    }
}

#[test]
fn the_apex_gets_what_the_provider_can_hold() {
    let alias = Capabilities { alias: true, https: false };
    assert_eq!(
        shown(&web().records(alias).unwrap(), ""),
        ["@ APEXCNAME gw.example.net", "www CNAME gw.example.net"]
    );
    let plain = web().records(Capabilities { alias: false, https: true }).unwrap();
    let https = "@ HTTPS 1 . alpn=\"h2,h3\"";
    assert_eq!(shown(&plain, ""), ["@ A 192.0.2.1", "@ AAAA 2001:db8::1", https, "www CNAME gw.example.net"]);
    let no_address = WebGateway { addresses: vec![], ..web() };
    assert!(no_address.records(Capabilities::default()).is_err());
    let below = WebGateway { at_apex: false, ..no_address };
    assert_eq!(
        shown(&below.records(alias).unwrap(), "shop"),
        ["shop CNAME gw.example.net", "www.shop CNAME gw.example.net"]
    );
}

#[test]
fn mail_has_all_its_records() {
    let mail = Mail {
        servers: vec![(10, "mx1.example.net".into()), (20, "mx2.example.net".into())],
        spf_rules: "include:spf.example.net".into(),
        dkim: vec![
            Dkim { selector: "s1".into(), key: DkimKey::Cname("s1.dkim.example.net".into()) },
            Dkim { selector: "s2".into(), key: DkimKey::Text("v=DKIM1; p=AB".into()) },
        ],
        dmarc: Some(Dmarc { policy: "reject".into(), reports_to: Some("mailto:d@example.net".into()) }),
        mta_sts: Some(MtaSts { id: "20260101".into(), policy_host: "sts.example.net".into() }),
        tls_reports_to: Some("mailto:t@example.net".into()),
        ttl: 3600,
    };
    assert_eq!(
        shown(&mail.records().unwrap(), ""),
        [
            "@ MX 10 mx1.example.net",
            "@ MX 20 mx2.example.net",
            "s1._domainkey CNAME s1.dkim.example.net",
            "s2._domainkey TXT v=DKIM1; p=AB",
            "_dmarc TXT v=DMARC1; p=reject; rua=mailto:d@example.net",
            "_mta-sts TXT v=STSv1; id=20260101;",
            "mta-sts CNAME sts.example.net",
            "_smtp._tls TXT v=TLSRPTv1; rua=mailto:t@example.net",
            "@ TXT v=spf1 include:spf.example.net ~all",
        ]
    );
}

#[test]
fn proofs_challenges_and_authorities() {
    let txt = Proof::Txt { name: "@".into(), text: "shop-verify=1".into(), prefix: "shop-verify=".into() };
    assert_eq!(shown(&txt.records(300).unwrap(), ""), ["@ TXT shop-verify=1"]);
    let cname = Proof::Cname { name: "_k".into(), target: "_v.example.net".into() };
    assert_eq!(shown(&cname.records(300).unwrap(), "a"), ["_k.a CNAME _v.example.net"]);
    let names = ["@".to_string(), "*.@".to_string(), "*".to_string(), "www".to_string(), "*.www".to_string()];
    assert_eq!(
        shown(&acme_delegation(&names, "acme.example.net.", 300).unwrap(), ""),
        [
            "_acme-challenge CNAME example.com.acme.example.net",
            "_acme-challenge.www CNAME www.example.com.acme.example.net"
        ]
    );
    let caa = Caa {
        issuers: vec!["letsencrypt.org".into()],
        wildcard_issuers: vec![";".into()],
        account: Some("https://ca.example/acct/1".into()),
        report_to: Some("mailto:s@example.com".into()),
    };
    assert_eq!(
        shown(&caa.records(300).unwrap(), ""),
        [
            "@ CAA 0 issue \"letsencrypt.org; accounturi=https://ca.example/acct/1\"",
            "@ CAA 0 issuewild \";\"",
            "@ CAA 0 iodef \"mailto:s@example.com\"",
        ]
    );
    assert!(Caa { issuers: vec!["a\" x".into()], ..Caa::default() }.records(300).is_err());
}

const YAML: &str = r#"
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: public, namespace: infra}
spec:
  listeners:
  - {name: web, hostname: "*.example.com"}
  - {name: apex, hostname: Example.com}
  - {name: any}
status:
  addresses:
  - {value: 192.0.2.7}
  - {type: IPAddress, value: "2001:db8::7"}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: shop, namespace: shop}
spec:
  parentRefs: [{name: public, namespace: infra, sectionName: web}]
  hostnames: [shop.example.com, other.example.net]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: else, namespace: infra}
spec:
  parentRefs: [{name: public, sectionName: any}, {name: another}]
  hostnames: ["*.lab.example.com"]
---
kind: Service
"#;

#[test]
fn gateway_objects_become_records() {
    let found = gateways(YAML).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].gateway, "infra/public");
    assert_eq!(found[0].host_names, ["*.lab.example.com", "example.com", "shop.example.com"]);
    let records = found[0].records("example.com", Capabilities::default(), 60).unwrap();
    assert_eq!(
        shown(&records, ""),
        [
            "*.lab A 192.0.2.7",
            "*.lab AAAA 2001:db8::7",
            "@ A 192.0.2.7",
            "@ AAAA 2001:db8::7",
            "shop A 192.0.2.7",
            "shop AAAA 2001:db8::7",
        ]
    );
    let pending = Gateways { addresses: vec![], ..found[0].clone() };
    assert!(
        pending
            .records("example.com", Capabilities::default(), 60)
            .unwrap_err()
            .message
            .contains("no address")
    );
}

#[test]
fn text_that_is_no_gateway_is_refused() {
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n";
    for text in ["", "kind: Gateway", "a: [", "\u{0}", bomb, &"x".repeat(2 << 20)] {
        assert!(gateways(text).is_err(), "{}", &text[..text.len().min(20)]);
    }
}
