//! What HTTP and DNS clients may do wrong, and what they get: status by status, header by header. No network: the
//! answers come from a table, the time from a hand.

mod support;

use axum::http::StatusCode;
use dns::wire::{Data, Rtype};
use doh::{Bounds, Exposure};
use proptest::prelude::*;
use std::time::Duration;
use support::table::{site, site_with};
use support::*;

#[tokio::test]
async fn get_and_post_give_the_same_answer_with_its_freshness() {
    let site = site();
    let message = plain("wWw.Example", 1);
    let (first, second) = (get(&site.router, &message).await, post(&site.router, &message).await);
    assert_eq!(first.body, second.body);
    let reply = first.reply();
    assert_eq!((reply.id, reply.rcode, reply.aa, reply.ra, reply.answers.len()), (0x1234, 0, false, true, 2));
    assert_eq!(reply.answers[0].ttl, 300);
    let letters = reply.question.clone().unwrap().0;
    assert_eq!(letters, b"\x03wWw\x07Example", "the question comes back as it was written");
    assert!(reply.edns.is_none(), "no EDNS without EDNS");
    assert!(first.body.len() < message.len() + 2 * 17, "owner names are pointers to the question");
    for answer in [&first, &second] {
        assert_eq!(answer.header("cache-control"), "max-age=300");
        assert_eq!(answer.header("access-control-allow-origin"), "*");
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert_eq!(answer.header("content-length"), answer.body.len().to_string());
    }
    let head = ask(&site.router, "HEAD", &path(&message), &[], &[]).await;
    assert_eq!((head.status, head.body.len()), (StatusCode::OK, 0));
    assert_eq!(head.header("content-length"), first.body.len().to_string());
    assert_eq!(head.header("content-type"), MESSAGE);
}

/// Method, path, headers, body; status and words of the answer.
type Mistake<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], &'a [u8], u16, &'a str);

#[tokio::test]
async fn every_mistake_has_its_status() {
    let site = site();
    let good = plain("www.example", 1);
    let form = [("content-type", MESSAGE)];
    let cases: &[Mistake] = &[
        ("GET", "/dns-query", &[], b"", 400, "parameter dns is missing"),
        ("GET", "/dns-query?dns=", &[], b"", 400, "shorter than the header"),
        ("GET", "/dns-query?dns=AAAA*", &[], b"", 400, "base64url"),
        ("GET", "/dns-query?dns=AAABAAABAAAAAAAAA3d3dwdleGFtcGxlAAABAAE=", &[], b"", 400, "without padding"),
        ("GET", "/dns-query?dns=AAAA+/AA", &[], b"", 400, "base64url"),
        ("POST", "/dns-query", &[], &good, 415, MESSAGE),
        ("POST", "/dns-query", &[("content-type", "application/json")], &good, 415, MESSAGE),
        ("POST", "/dns-query", &[("content-type", "application/dns-message-x")], &good, 415, MESSAGE),
        ("POST", "/dns-query", &form, b"", 400, "shorter than the header"),
        ("POST", "/dns-query", &form, &[0; 65_536], 413, "65535"),
        ("PUT", "/dns-query", &form, &good, 405, "GET or POST"),
        ("DELETE", "/dns-query", &[], b"", 405, "GET or POST"),
        ("POST", "/resolve?name=www.example", &form, &good, 405, "GET"),
        ("GET", "/resolve", &[], b"", 400, "name is missing"),
        ("GET", "/resolve?name=a..b", &[], b"", 400, "not a domain name"),
        ("GET", "/resolve?name=www.example&type=WHAT", &[], b"", 400, "not a record type"),
        ("GET", "/resolve?name=www.example&cd=perhaps", &[], b"", 400, "not a value of cd"),
    ];
    for (method, path, headers, body, status, words) in cases {
        let got = ask(&site.router, method, path, headers, body).await;
        assert_eq!(got.status.as_u16(), *status, "{method} {path}: {}", got.words());
        assert!(got.words().contains(words), "{method} {path}: {}", got.words());
        assert_eq!(got.header("cache-control"), "no-store", "{method} {path}");
        assert_eq!(got.header("access-control-allow-origin"), "*", "{method} {path}");
    }
    assert_eq!(
        ask(&site.router, "PUT", "/dns-query", &[], &[]).await.header("allow"),
        "GET, HEAD, POST, OPTIONS"
    );
    assert_eq!(ask(&site.router, "PUT", "/resolve", &[], &[]).await.header("allow"), "GET, HEAD, OPTIONS");
    assert_eq!(site.asked(), 0, "no one was asked for any of them");
    let longest = [&good[..], &vec![0; 65_535 - good.len()][..]].concat();
    assert_eq!(post(&site.router, &longest).await.status, 400, "as long as allowed, and garbage");
    let charset = [("content-type", "Application/DNS-Message; x=y")];
    assert_eq!(ask(&site.router, "POST", "/dns-query", &charset, &good).await.status, 200);
}

#[tokio::test]
async fn what_the_client_takes_is_respected() {
    let site = site();
    let good = path(&plain("www.example", 1));
    for (accept, status) in [
        ("application/dns-message", 200),
        ("text/html, */*;q=0.1", 200),
        ("application/*", 200),
        ("text/html", 406),
        ("application/dns-json", 406),
    ] {
        assert_eq!(
            ask(&site.router, "GET", &good, &[("accept", accept)], &[]).await.status,
            status,
            "{accept}"
        );
    }
}

#[tokio::test]
async fn a_page_may_ask_from_its_script() {
    let site = site();
    let headers = [("origin", "https://elsewhere.example"), ("access-control-request-method", "POST")];
    let got = ask(&site.router, "OPTIONS", "/dns-query", &headers, &[]).await;
    assert_eq!((got.status, got.body.len()), (StatusCode::NO_CONTENT, 0));
    assert_eq!(got.header("access-control-allow-origin"), "*");
    assert!(got.header("access-control-allow-methods").contains("POST"));
    assert!(got.header("access-control-allow-headers").contains("content-type"));
}

#[tokio::test]
async fn garbage_is_told_from_questions_that_get_an_error() {
    let site = site();
    let good = plain("www.example", 1);
    let mut response = good.clone();
    response[2] |= 0x80;
    let mut circle = good.clone();
    circle.truncate(12);
    circle.extend([0xC0, 12, 0, 1, 0, 1]);
    let mut forward = circle.clone();
    forward[13] = 14;
    let mut long_label = good.clone();
    long_label[12] = 0x40;
    let trailing = [&good[..], &[0]].concat();
    let cut_name = good[..14].to_vec();
    let cut_type = good[..good.len() - 3].to_vec();
    let mut promised = good.clone();
    promised[11] = 1;
    for (what, bytes) in [
        ("11 octets", &good[..11].to_vec()),
        ("an answer", &response),
        ("a name that points at itself", &circle),
        ("a name that points forward", &forward),
        ("a label of a kind there is not", &long_label),
        ("octets after the end", &trailing),
        ("a name cut off", &cut_name),
        ("a question cut off", &cut_type),
        ("a record that is not there", &promised),
    ] {
        let got = post(&site.router, bytes).await;
        assert_eq!(got.status, StatusCode::BAD_REQUEST, "{what}");
        assert!(got.words().starts_with("Not a DNS query"), "{what}: {}", got.words());
    }
    let edit = |at: usize, to: u8| {
        let mut bytes = good.clone();
        bytes[at] = to;
        bytes
    };
    let edns = |version, options: &[u8]| {
        question(
            "www.example",
            1,
            [1, 0],
            Some(Edns { version, dnssec_ok: false, options: options.to_vec() }),
        )
    };
    let mut twice = edns(0, &[]);
    let opt = twice[twice.len() - 11..].to_vec();
    twice.extend(opt);
    twice[11] = 2;
    for (what, bytes, rcode) in [
        ("opcode STATUS", edit(2, 0x11), 4),
        ("opcode UPDATE", edit(2, 0x28), 4),
        ("no question", edit(5, 0), 1),
        ("two questions", edit(5, 2), 1),
        ("class CH", edit(good.len() - 1, 3), 4),
        ("class ANY", edit(good.len() - 1, 255), 4),
        ("AXFR", plain("www.example", 252), 5),
        ("IXFR", plain("www.example", 251), 5),
        ("OPT as a type", plain("www.example", 41), 5),
        ("type 0", plain("www.example", 0), 5),
        ("EDNS of another version", edns(1, &[]), 16),
        ("two OPT records", twice, 1),
        ("an option that is longer than the record", edns(0, &[0, 12, 0, 9, 1]), 1),
    ] {
        let got = post(&site.router, &bytes).await;
        let reply = got.reply();
        assert_eq!((reply.rcode, reply.id, reply.answers.len()), (rcode, 0x1234, 0), "{what}");
        assert_eq!(reply.opcode, (bytes[2] >> 3) & 15, "{what}");
        assert_eq!(got.header("cache-control"), "no-store", "{what}");
    }
    assert_eq!(site.asked(), 0, "no one was asked for any of them");
}

proptest! {
    #[test]
    fn no_octets_break_it(bytes in proptest::collection::vec(any::<u8>(), 0..200), header in any::<bool>()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let site = site();
            let mut message = if header { vec![0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1] } else { Vec::new() };
            message.extend(bytes);
            let got = post(&site.router, &message).await;
            prop_assert!(got.status == 200 || got.status == 400, "{}", got.status);
            if got.status == 200 {
                let reply = got.reply();
                prop_assert_eq!(reply.id, u16::from_be_bytes([message[0], message[1]]));
            }
            Ok(())
        })?;
    }
}

#[tokio::test]
async fn any_gets_little_and_local_names_stay_here() {
    let site = site();
    let any = post(&site.router, &plain("www.example", 255)).await.reply();
    assert_eq!((any.answers.len(), any.answers[0].rtype, any.answers[0].ttl), (1, Rtype::HINFO, 3600));
    assert_eq!(any.answers[0].raw, b"\x07RFC8482\0");
    let local = post(&site.router, &plain("app.localhost", 1)).await.reply();
    assert_eq!(local.answers[0].data, Data::A([127, 0, 0, 1].into()));
    assert_eq!(post(&site.router, &plain("localhost", 28)).await.reply().answers[0].raw[15], 1);
    assert_eq!(post(&site.router, &plain("x.invalid", 1)).await.reply().rcode, 3);
    assert_eq!(post(&site.router, &plain("abc.onion", 1)).await.reply().rcode, 3);
    assert_eq!(site.asked(), 0);
}

#[tokio::test]
async fn padding_is_given_to_those_who_pad_and_over_tls() {
    let padded = |bytes: &[u8]| {
        let reply = dns::wire::Reply::read(bytes).unwrap();
        (bytes.len(), reply.edns.map(|e| e.options.iter().any(|(code, _)| *code == 12)))
    };
    let edns = |options: &[u8]| {
        question(
            "www.example",
            1,
            [1, 0],
            Some(Edns { version: 0, dnssec_ok: false, options: options.to_vec() }),
        )
    };
    for (encrypted, asked, want) in [
        (false, edns(PADDING), (468, Some(true))),
        (true, edns(PADDING), (468, Some(true))),
        (true, edns(&[]), (468, Some(true))),
    ] {
        let site = site_with(&Bounds::default(), Duration::ZERO, Exposure::All, encrypted);
        assert_eq!(padded(&post(&site.router, &asked).await.body), want);
    }
    let site = site_with(&Bounds::default(), Duration::ZERO, Exposure::All, false);
    assert_eq!(padded(&post(&site.router, &edns(&[])).await.body).1, Some(false));
    let site = site_with(&Bounds::default(), Duration::ZERO, Exposure::All, true);
    assert_eq!(
        padded(&post(&site.router, &plain("www.example", 1)).await.body).1,
        None,
        "no OPT without OPT"
    );
}

#[tokio::test]
async fn it_is_off_for_those_it_is_not_for() {
    let site = |exposure| site_with(&Bounds::default(), Duration::ZERO, exposure, false);
    let message = path(&plain("www.example", 1));
    let off = site(Exposure::Off);
    for target in [message.as_str(), "/resolve?name=www.example"] {
        let got = ask(&off.router, "GET", target, &[], &[]).await;
        assert_eq!(got.status, StatusCode::NOT_FOUND);
        assert!(got.words().contains("--doh"), "{}", got.words());
    }
    let direct = site(Exposure::Direct);
    assert_eq!(ask(&direct.router, "GET", &message, &[], &[]).await.status, 200);
    for header in ["x-forwarded-for", "forwarded", "via", "x-real-ip"] {
        let got = ask(&direct.router, "GET", &message, &[(header, "192.0.2.1")], &[]).await;
        assert_eq!(got.status, StatusCode::NOT_FOUND, "{header}");
        let open = ask(&site(Exposure::All).router, "GET", &message, &[(header, "192.0.2.1")], &[]).await;
        assert_eq!(open.status, 200, "{header}");
    }
    for (host, status) in [
        ("127.0.0.1:8080", 200),
        ("[::1]:8080", 200),
        ("LocalHost", 200),
        ("rebound.example:8080", 404),
        ("127.0.0.1.example", 404),
        ("192.0.2.1", 404),
    ] {
        let got = ask(&direct.router, "GET", &message, &[("host", host)], &[]).await;
        assert_eq!(got.status.as_u16(), status, "{host}");
        assert_eq!(got.header("access-control-allow-origin"), "", "not for other sites' pages");
    }
}

#[tokio::test]
async fn the_json_form_has_the_usual_shape() {
    let site = site();
    let got = ask(&site.router, "GET", "/resolve?name=alias.EXAMPLE.&type=a", &[], &[]).await;
    assert_eq!(got.header("content-type"), "application/json; charset=utf-8");
    assert_eq!(got.header("cache-control"), "max-age=40");
    assert_eq!(
        got.json(),
        serde_json::json!({
            "Status": 0, "TC": false, "RD": true, "RA": true, "AD": false, "CD": false,
            "Question": [{ "name": "alias.example.", "type": 1 }],
            "Answer": [
                { "name": "alias.example.", "type": 5, "TTL": 40, "data": "www.example." },
                { "name": "www.example.", "type": 1, "TTL": 300, "data": "192.0.2.1" },
                { "name": "www.example.", "type": 1, "TTL": 300, "data": "192.0.2.2" },
            ],
        })
    );
    let dns = ask(&site.router, "GET", "/dns-query?name=none.example&type=1", &[], &[]).await;
    assert_eq!(dns.header("content-type"), "application/dns-json");
    let denied = dns.json();
    assert_eq!((&denied["Status"], &denied["Authority"][0]["type"]), (&3.into(), &6.into()));
    assert_eq!(denied["Authority"][0]["data"], "ns.example. host.example. 1 2 3 4 120");
    assert!(denied.get("Answer").is_none());
    let safe = ask(&site.router, "GET", "/resolve?name=safe.example&do=1", &[], &[]).await.json();
    assert_eq!(safe["AD"], true);
    let bogus = ask(&site.router, "GET", "/resolve?name=bogus.example", &[], &[]).await.json();
    assert_eq!((&bogus["Status"], &bogus["Comment"]), (&2.into(), &"the signature is false".into()));
    let cd = ask(&site.router, "GET", "/resolve?name=bogus.example&cd=true", &[], &[]).await.json();
    assert_eq!(
        (&cd["Status"], &cd["CD"], cd["Answer"].as_array().map(Vec::len)),
        (&0.into(), &true.into(), Some(1))
    );
    let idn = ask(&site.router, "GET", "/resolve?name=b%C3%BCcher.example&type=ANY", &[], &[]).await.json();
    assert_eq!(idn["Question"][0]["name"], "xn--bcher-kva.example.");
    let root = ask(&site.router, "GET", "/resolve?name=.&type=255", &[], &[]).await.json();
    assert_eq!(root["Question"][0]["name"], ".");
}

#[tokio::test]
async fn the_json_form_knows_the_usual_parameters() {
    let site = site();
    let ask = |query: &'static str| ask(&site.router, "GET", query, &[], &[]);
    // A subnet is sent to no server, so the answer holds for all of them.
    for (subnet, scope) in [
        ("192.0.2.0/24", "192.0.2.0/0"),
        ("0.0.0.0/0", "0.0.0.0/0"),
        ("192.0.2.7", "192.0.2.7/0"),
        ("2001:db8::/56", "2001:db8::/0"),
    ] {
        let path = format!("/resolve?name=www.example&edns_client_subnet={subnet}");
        let got = support::ask(&site.router, "GET", &path, &[], &[]).await;
        assert_eq!(got.json()["edns_client_subnet"], scope, "{}", got.words());
    }
    for subnet in ["192.0.2.0/33", "2001:db8::/129", "192.0.2.0/", "home", "1.2.3/8"] {
        let path = format!("/resolve?name=www.example&edns_client_subnet={subnet}");
        let got = support::ask(&site.router, "GET", &path, &[], &[]).await;
        assert_eq!(got.status, StatusCode::BAD_REQUEST, "{subnet}");
        assert!(got.json()["error"].as_str().unwrap().contains("192.0.2.0/24"), "{}", got.words());
    }
    assert!(ask("/resolve?name=www.example").await.json().get("edns_client_subnet").is_none());
    // `ct` asks for the message itself.
    let wire = ask("/resolve?name=safe.EXAMPLE&type=1&do=1&ct=application/dns-message").await;
    let reply = wire.reply();
    assert_eq!((reply.id, reply.rcode, reply.answers.len(), wire.authentic()), (0, 0, 1, true));
    assert!(reply.edns.is_some());
    let cd = ask("/resolve?name=bogus.example&cd=1&ct=application/dns-message").await;
    assert_eq!((cd.reply().answers.len(), cd.body[3] & 0x10), (1, 0x10));
    let json = ask("/resolve?name=www.example&ct=application/x-javascript").await;
    assert_eq!(json.header("content-type"), "application/json; charset=utf-8");
    assert_eq!(ask("/resolve?name=a..b&ct=application/dns-message").await.status, 400);
}

#[tokio::test]
async fn a_weight_of_nothing_is_a_no() {
    let site = site();
    let message = path(&plain("www.example", 1));
    for (accept, status) in [
        ("application/dns-message;q=0", 406),
        ("application/dns-message; q=0.0, text/html", 406),
        ("application/dns-message;q=0, */*;q=0.1", 200),
        ("text/html, Application/DNS-Message;q=0.5", 200),
        ("application/*", 200),
        ("text/*", 406),
    ] {
        let got = ask(&site.router, "GET", &message, &[("accept", accept)], &[]).await;
        assert_eq!(got.status.as_u16(), status, "{accept}");
    }
}

#[tokio::test]
async fn names_of_private_networks_stay_here_unless_the_network_serves_them() {
    let site = site();
    for (name, rtype) in [("1.1.168.192.in-addr.arpa", 12), ("nas.home.arpa", 1), ("x.invalid", 1)] {
        let got = post(&site.router, &plain(name, rtype)).await;
        let reply = got.reply();
        assert_eq!((reply.rcode, reply.answers.len(), reply.authority.len()), (3, 0, 1), "{name}");
        assert_eq!((reply.authority[0].rtype, reply.authority[0].ttl), (Rtype::SOA, 10_800), "{name}");
        assert_eq!(got.header("cache-control"), "max-age=10800", "{name}");
    }
    let path = "/resolve?name=1.1.168.192.in-addr.arpa&type=PTR";
    assert_eq!(ask(&site.router, "GET", path, &[], &[]).await.json()["Authority"][0]["type"], 6);
    assert_eq!(site.asked(), 0);
    post(&site.router, &plain("home.arpa", 43)).await;
    assert_eq!(site.asked(), 1, "the zone above says whether it is signed");
    let bounds = Bounds { rate: 0, local_zones: false, ..Bounds::default() };
    let own = site_with(&bounds, Duration::ZERO, Exposure::All, false);
    post(&own.router, &plain("1.1.168.192.in-addr.arpa", 12)).await;
    assert_eq!(own.asked(), 1);
    post(&own.router, &plain("x.onion", 1)).await;
    assert_eq!(own.asked(), 1, "no one's network has these");
}
