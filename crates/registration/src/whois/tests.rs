use super::*;
use proptest::prelude::*;

fn read(domain: &str, text: &str) -> WhoisReading {
    parse_whois(domain, None, None, text.as_bytes())
}

#[test]
fn json_has_every_field() {
    let v = reading_to_json(&read(
        "example.se",
        "domain: example.se\ncreated: 2001-02-03\nnserver: ns1.example.se 192.0.2.1\nregistrar: Foo AB\n",
    ));
    assert_eq!(v["outcome"], "registered");
    assert_eq!(v["created"], "2001-02-03");
    assert_eq!(v["registrar"]["name"], "Foo AB");
    assert_eq!(v["nameservers"][0], "ns1.example.se");
    assert!(v["expires"].is_null() && v["dnssec"].is_null());
    assert_eq!(v.as_object().unwrap().len(), 12);
}

#[test]
fn a_name_is_itself_in_both_forms() {
    for asked in ["bücher.example", "xn--bcher-kva.example", "Bücher.EXAMPLE."] {
        for stated in ["bücher.example", "BÜCHER.example", "xn--bcher-kva.example", "XN--BCHER-KVA.EXAMPLE."]
        {
            let r = read(
                asked,
                &format!("Domain: {stated}\nNserver: ns1.example\nNserver: ns2.{stated}\nStatus: connect\n"),
            );
            assert_eq!(r.outcome, Outcome::Registered);
            assert!(r.warnings.is_empty(), "{asked} {stated}: {:?}", r.warnings);
            assert_eq!(r.registration.nameservers.unwrap()[1], "ns2.xn--bcher-kva.example");
        }
    }
}

#[test]
fn the_server_that_answered_decides_what_the_suffix_does_not() {
    let text = b"Domain: example.zz\nCreated: 04/05/2012\nName Server: ns1.example.net\n";
    let read = |server| parse_whois("example.zz", None, server, text).registration.created;
    assert_eq!(read(None), None, "the order is not known");
    assert_eq!(read(Some("whois.dot.tk")).unwrap().to_string(), "2012-04-05");
}

#[test]
fn the_record_of_a_top_level_domain_is_not_that_of_a_name_below_it() {
    let text = b"% IANA WHOIS server\n\nrefer:        whois.registry.example\n\ndomain:       ZZ\n\norganisation: Example \
        Registry\n\nnserver:      A.NIC.ZZ 192.0.2.1\n\nstatus:       ACTIVE\n\ncreated:      1986-01-15\n";
    assert_eq!(parse_whois("example.zz", None, None, text).outcome, Outcome::Unknown);
    assert_eq!(parse_whois("zz", None, None, text).outcome, Outcome::Registered);
}

#[test]
fn hostile_texts_end_soon() {
    let start = std::time::Instant::now();
    let long = vec![b'a'; 10 << 20];
    assert_eq!(parse_whois("example.com", None, None, &long).outcome, Outcome::Unknown);
    let lines = "Domain Name: x\n".repeat(100_000);
    parse_whois("example.com", None, None, lines.as_bytes());
    let zeros = vec![0u8; 1 << 20];
    parse_whois("example.com", None, None, &zeros);
    for nasty in [
        "Name Server:\n",
        "<",
        "(",
        "[",
        "Status: a,b,\n",
        "< <br",
        "12:",
        "Registrar:\n\n",
        "% \n",
        "a\tb\n",
    ] {
        parse_whois("example.com", None, None, nasty.repeat(1 << 17).as_bytes());
    }
    parse_whois("example.jp", None, None, &b"\x1B$B\xFF\xFE".repeat(100_000));
    assert!(start.elapsed() < std::time::Duration::from_secs(60), "{:?}", start.elapsed());
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(domain in ".{0,20}", tld in proptest::option::of("[a-z]{2,4}"), bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let _ = parse_whois(&domain, tld.as_deref(), None, &bytes);
    }

    #[test]
    fn no_labels_make_it_panic(lines in proptest::collection::vec(("[ \t]{0,4}", "(Domain|Registrar|Created|Expires on|Name Server|Status|DNSSEC|\\[Name\\]|>>>|%|Nameservers)?", "(:|\\.\\.\\.:|\t| )", "\\PC{0,24}"), 0..40)) {
        let text: String = lines.iter().map(|(i, k, c, v)| format!("{i}{k}{c}{v}\n")).collect();
        let lf = read("example.fi", &text);
        let crlf = read("example.fi", &text.replace('\n', "\r\n"));
        prop_assert_eq!(lf, crlf);
    }
}
