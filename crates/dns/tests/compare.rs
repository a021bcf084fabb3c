//! Cache vs authoritative against the lab's resolvers, which have caches of their own: faults first, then every verdict.

#[allow(dead_code)]
mod resolvers;

use dns::compare::Asking;
use model::compare::{AuthorityOutcome, Carried, Cause, CompareEvent, StopReason, Verdict, VerdictKind};
use model::names::Fqdn;
use resolvers::{NOW, of, world};

fn asking(name: &str, rtype: &str) -> Asking {
    Asking::new(Fqdn::trusted(name), rtype)
}

#[tokio::test]
async fn what_the_servers_deny_is_asked_of_nobody() {
    let w = world("demo").await;
    for (name, rtype, outcome) in
        [("nothing-here.q7.io", "A", AuthorityOutcome::NxDomain), ("q7.io", "SRV", AuthorityOutcome::NoData)]
    {
        w.command("reset-log").await;
        let mut events = Vec::new();
        let c = w.comparer().run(&asking(name, rtype), &mut |e| events.push(e)).await.unwrap();
        assert_eq!(c.authority.outcome, outcome, "{}", c.authority.sentence);
        let stopped = c.stopped.unwrap();
        assert_eq!(stopped.reason, StopReason::Denied);
        assert!(stopped.sentence.contains("No resolver was queried"), "{}", stopped.sentence);
        assert!(c.answers.is_empty() && c.summary.total == 0);
        let log = w.lab.query_log();
        assert_eq!(log.per_resolver.values().sum::<u64>(), 0, "{:?}", log.per_resolver);
        assert!(log.asked(name, rtype) > 0);
        assert_eq!(events.iter().map(CompareEvent::name).collect::<Vec<_>>(), ["authority", "summary"]);
    }
    let mut confirmed = asking("nothing-here.q7.io", "A");
    confirmed.force = true;
    let c = w.comparer().run(&confirmed, &mut |_| ()).await.unwrap();
    assert_eq!(c.stopped, None);
    assert!(w.lab.query_log().resolvers_asked("nothing-here.q7.io") > 0);
    assert_eq!(of(&c, "clearwater").verdict, Verdict::Same);
}

#[tokio::test]
async fn servers_that_are_silent_leave_nothing_to_compare_with() {
    let w = world("demo").await;
    let c = w.comparer().run(&asking("ghost-ship.example", "A"), &mut |_| ()).await.unwrap();
    assert_eq!(c.authority.outcome, AuthorityOutcome::NoAnswer);
    assert_eq!(c.stopped.unwrap().reason, StopReason::NoAuthority);
    assert_eq!(w.lab.query_log().per_resolver.values().sum::<u64>(), 0);
}

#[tokio::test]
async fn ways_that_fail_are_left_for_the_next_and_said() {
    let w = world("small").await;
    let name = Fqdn::trusted("plain.example");
    let now = NOW.parse().unwrap();
    let row = w.row("first");
    let ask = |row| {
        let (client, name) = (w.recursive.clone(), name.clone());
        async move { client.ask(&row, &name, "A", now).await.unwrap() }
    };
    let a = ask(row.clone()).await;
    assert_eq!((a.carried, a.rcode.as_deref(), a.error), (Some(Carried::Doh), Some("NOERROR"), None));
    assert_eq!(a.records[0].data, "192.0.2.10");

    w.command("resolver first failing http-500").await;
    let a = ask(row.clone()).await;
    assert_eq!(a.carried, Some(Carried::Dot), "{:?}", a.error);
    assert!(a.error.unwrap().contains("HTTP status 500"));

    w.command("resolver first failing none").await;
    let plain = model::resolvers::PublicResolver { doh: None, dot: None, ..row.clone() };
    let a = ask(plain.clone()).await;
    assert_eq!((a.carried, a.records.len()), (Some(Carried::Udp), 1));

    // A DoH host that does not exist, and a certificate of another: neither is talked to.
    let lost = model::resolvers::PublicResolver {
        doh: Some("https://nobody.resolver.lab/dns-query".into()),
        dot: None,
        ..row.clone()
    };
    let a = ask(lost).await;
    assert_eq!(a.carried, Some(Carried::Udp));
    assert!(a.error.unwrap().starts_with("DoH: "));
    let doh = row.doh.clone().unwrap().replace("first.", "second.").replace("/dns-query", "/nowhere");
    let a = ask(model::resolvers::PublicResolver { doh: Some(doh), ..plain.clone() }).await;
    assert!(a.error.unwrap().contains("HTTP status 404"));

    w.command("resolver first failing dead").await;
    let a = ask(row).await;
    assert_eq!((a.carried, a.rcode), (None, None));
    let why = a.error.unwrap();
    assert!(["DoH", "DoT", "TCP"].iter().all(|t| why.contains(t)), "{why}");
    let nothing = model::resolvers::PublicResolver { addresses: vec![], ..plain };
    assert!(ask(nothing).await.error.unwrap().contains("no way to ask"));
}

/// An HTTP server on loopback that makes of each question what `make` says: more header fields, and the body.
async fn over_http(make: fn(&[u8]) -> (String, Vec<u8>)) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/dns-query", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut read, mut buffer) = (Vec::new(), [0; 4096]);
                let body = loop {
                    let n = stream.read(&mut buffer).await.unwrap_or(0);
                    read.extend_from_slice(&buffer[..n]);
                    let head = read.windows(4).position(|w| w == b"\r\n\r\n").map(|at| at + 4);
                    let text = String::from_utf8_lossy(&read).to_ascii_lowercase();
                    let length = text.split("content-length: ").nth(1).and_then(|t| t.lines().next());
                    let length = length.and_then(|t| t.trim().parse::<usize>().ok()).unwrap_or(0);
                    match head.filter(|at| read.len() >= at + length) {
                        Some(at) => break read[at..].to_vec(),
                        None if n == 0 => return,
                        None => {}
                    }
                };
                let (fields, body) = make(&body);
                let head = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/dns-message\r\n{fields}content-length: {}\r\n\r\n",
                    body.len()
                );
                let _ = stream.write_all(&[head.as_bytes(), &body].concat()).await;
            });
        }
    });
    url
}

/// The right answer to a question for an address of `plain.example`, TTL 300.
fn well(question: &[u8]) -> Vec<u8> {
    let end = 12 + "plain.example".len() + 2 + 4;
    let mut answer = question[..end].to_vec();
    (answer[2], answer[3], answer[7], answer[11]) = (0x81, 0x80, 1, 0);
    answer.extend([0xC0, 12, 0, 1, 0, 1, 0, 0, 1, 44, 0, 4, 192, 0, 2, 10]);
    answer
}

#[tokio::test]
async fn what_comes_over_http_is_the_answer_to_the_question_and_counted_from_its_age() {
    let w = world("small").await;
    let now = NOW.parse().unwrap();
    let ask = |url: String| {
        let row = model::resolvers::PublicResolver {
            doh: Some(url),
            dot: None,
            addresses: Vec::new(),
            ..w.row("first")
        };
        let client = w.recursive.clone();
        async move { client.ask(&row, &Fqdn::trusted("plain.example"), "A", now).await.unwrap() }
    };
    let ttl = |make| async move { ask(over_http(make).await).await.ttl };
    assert_eq!(ttl(|q| (String::new(), well(q))).await, Some(300));
    assert_eq!(ttl(|q| ("age: 100\r\n".into(), well(q))).await, Some(200));
    assert_eq!(ttl(|q| ("age: 4000\r\n".into(), well(q))).await, Some(0));
    assert_eq!(ttl(|q| ("age: soon\r\n".into(), well(q))).await, Some(300));
    let why = |make| async move { ask(over_http(make).await).await.error.unwrap() };
    let other_name = |q: &[u8]| {
        let mut answer = well(q);
        answer[13] = b'b';
        (String::new(), answer)
    };
    assert!(why(other_name).await.contains("not the answer to the question"));
    let other_type = |q: &[u8]| {
        let mut answer = well(q);
        answer[12 + 15 + 1] = 28;
        (String::new(), answer)
    };
    assert!(why(other_type).await.contains("not the answer to the question"));
    let huge = why(|q| (String::new(), [well(q), vec![0; 70_000]].concat())).await;
    assert!(huge.contains("more than 65535"), "{huge}");
    // A name that points at itself, in a message of nothing else.
    let circle = |q: &[u8]| {
        let mut answer = well(q);
        let at = answer.len() - 16;
        answer[at + 1] = at as u8;
        (String::new(), answer)
    };
    assert!(why(circle).await.contains("no DNS message"));
}

/// A resolver on loopback that answers CAA questions over UDP and TCP with one record, its RDATA as given.
async fn serving_caa(rdata: &'static [u8]) -> u16 {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let udp = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let port = udp.local_addr().unwrap().port();
    let tcp = tokio::net::TcpListener::bind(("127.0.0.1", port)).await.unwrap();
    let make = move |question: &[u8]| {
        let mut answer = question[..12 + "plain.example".len() + 2 + 4].to_vec();
        (answer[2], answer[3], answer[7], answer[11]) = (0x81, 0x80, 1, 0);
        answer.extend([0xC0, 12, 1, 1, 0, 1, 0, 0, 1, 44, 0, rdata.len() as u8]);
        answer.extend(rdata);
        answer
    };
    tokio::spawn(async move {
        let mut buffer = [0; 4096];
        while let Ok((n, from)) = udp.recv_from(&mut buffer).await {
            let _ = udp.send_to(&make(&buffer[..n]), from).await;
        }
    });
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = tcp.accept().await {
            let Ok(length) = stream.read_u16().await else { continue };
            let mut question = vec![0; usize::from(length)];
            let _ = stream.read_exact(&mut question).await;
            let answer = make(&question);
            let _ = stream.write_u16(answer.len() as u16).await;
            let _ = stream.write_all(&answer).await;
        }
    });
    port
}

#[tokio::test]
async fn malformed_data_is_shown_and_a_closed_port_is_known_at_once() {
    let w = world("small").await;
    let now = NOW.parse().unwrap();
    let here = model::resolvers::PublicResolver {
        doh: None,
        dot: None,
        addresses: vec!["127.0.0.1".parse().unwrap()],
        ..w.row("first")
    };
    let ask = |port: u16| {
        let (client, row) = (w.recursive.for_own(port), here.clone());
        async move { client.ask(&row, &Fqdn::trusted("plain.example"), "CAA", now).await.unwrap() }
    };
    let sound = ask(serving_caa(b"\x00\x05issueca.example").await).await;
    assert_eq!((sound.carried, sound.ttl), (Some(Carried::Udp), Some(300)));
    assert_eq!(sound.records[0].data, "0 issue \"ca.example\"");
    // A tag of no octets: hickory refuses the message, the user wants to see it.
    let broken = ask(serving_caa(b"\x00\x00x").await).await;
    assert_eq!(
        (broken.rcode.as_deref(), broken.carried),
        (Some("NOERROR"), Some(Carried::Tcp)),
        "{broken:?}"
    );
    assert_eq!(broken.records.len(), 1);

    let closed = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let start = std::time::Instant::now();
    let a = ask(closed).await;
    assert!(a.error.as_deref().unwrap().contains("the port is closed"), "{a:?}");
    assert!(start.elapsed() < std::time::Duration::from_millis(700), "{:?}", start.elapsed());
}

#[tokio::test]
async fn clear_text_and_private_targets_are_guarded() {
    let w = world("small").await;
    let settings = dns::Settings { allow_private: false, ..w.engine.settings().clone() };
    let dialer = net::Dialer::new(net::Settings::default()).unwrap();
    let strict = dns::recursive::Recursive::new(dialer, &settings);
    let now = NOW.parse().unwrap();
    let mut row = w.row("first");
    row.dot = None;
    row.doh = Some("http://192.0.2.1/dns-query".into());
    w.command("reset-log").await;
    let a = strict.ask(&row, &Fqdn::trusted("plain.example"), "A", now).await.unwrap();
    let why = a.error.unwrap();
    assert!(why.contains("loopback address only") && why.contains("unless the operator allows"), "{why}");
    row.doh = Some("https://127.0.0.1:9/dns-query".into());
    let a = strict.ask(&row, &Fqdn::trusted("plain.example"), "A", now).await.unwrap();
    assert!(a.error.unwrap().contains("refused unless the operator allows"));
    assert_eq!(w.lab.query_log().of_resolver("first"), 0);
}

#[tokio::test]
async fn every_verdict_is_told_by_its_resolver() {
    let w = world("demo").await;
    let comparer = w.comparer();
    let compare = |name: &'static str| {
        let comparer = comparer.clone();
        async move { comparer.run(&asking(name, "A"), &mut |_| ()).await.unwrap() }
    };
    let c = compare("orchard.example").await;
    let stale = of(&c, "longshore");
    assert_eq!(stale.verdict.kind(), VerdictKind::Stale, "{stale:#?}");
    let hours = (stale.verdict.right_at().unwrap().as_second() - c.now.as_second()) / 3600;
    assert_eq!(hours, 19, "71000 s are left");
    assert_eq!(of(&c, "clearwater").verdict, Verdict::Same);
    assert_eq!(of(&c, "wattle").verdict, Verdict::Failing);
    assert!(!c.summary.everywhere);
    assert_eq!(c.summary.all_right_at, stale.verdict.right_at());

    let c = compare("q7.io").await;
    let geo = of(&c, "monsoon");
    assert!(matches!(geo.verdict, Verdict::Different { cause: Cause::Location, .. }), "{geo:#?}");
    assert_eq!(geo.shows, "192.0.2.107");

    assert_eq!(of(&compare("lumen.example").await, "tern").verdict, Verdict::Filtered);
    assert_eq!(of(&compare("babel.example").await, "alpenrose-guard").verdict, Verdict::Filtered);

    let c = compare("newborn.example").await;
    let no = of(&c, "kestrel");
    assert!(matches!(no.verdict, Verdict::NegativeCached { until: Some(_) }), "{no:#?}");
    assert_eq!(c.authority.outcome, AuthorityOutcome::Serves);
}

#[tokio::test]
async fn answers_are_told_one_by_one_and_the_table_keeps_its_order() {
    let w = world("demo").await;
    let mut events = Vec::new();
    let c = w.comparer().run(&asking("www.orchard.example", "A"), &mut |e| events.push(e)).await.unwrap();
    let names: Vec<_> = events.iter().map(CompareEvent::name).collect();
    assert_eq!((names[0], *names.last().unwrap()), ("authority", "summary"));
    assert_eq!(names.iter().filter(|n| **n == "answer").count(), w.rows.len());
    assert!(c.answers.iter().map(|j| &j.resolver.id).eq(w.rows.iter().map(|r| &r.id)));
    assert_eq!(c.authority.aliases.len(), 1);
    assert_eq!(c.authority.ttl, Some(300));
    assert_eq!(of(&c, "clearwater").verdict, Verdict::Same);
    let start = w.comparer().start(&asking("q7.io", "A")).await.unwrap();
    assert!(
        start.answers.iter().all(|j| j.verdict == Verdict::Pending) && start.answers.len() == w.rows.len()
    );
}

#[tokio::test]
async fn servers_that_disagree_explain_a_resolver_that_does() {
    let w = world("demo").await;
    let c = w.comparer().run(&asking("fernhill.example", "SOA"), &mut |_| ()).await.unwrap();
    assert!(!c.authority.agree, "{:#?}", c.authority.servers);
    assert!(
        c.authority.servers.iter().filter_map(|s| s.serial).collect::<std::collections::BTreeSet<_>>().len()
            > 1
    );
}

#[tokio::test]
async fn the_machines_own_resolver_is_asked_and_judged() {
    let w = world("small").await;
    let asked = asking("plain.example", "A");
    let mut c = w.comparer().start(&asked).await.unwrap();
    let address = w.row("first").addresses[0];
    let at = w.lab.real(address.to_string().parse().unwrap(), w.lab.endpoints().dns_port);
    w.comparer().ask_own(&asked, &mut c, &[at.ip()], at.port()).await;
    assert_eq!(c.own.len(), 1);
    assert_eq!((c.own[0].verdict, c.own[0].shows.as_str()), (Verdict::Same, "192.0.2.10"));
    assert!(c.own[0].answer.as_ref().unwrap().ttl.is_some());
}
