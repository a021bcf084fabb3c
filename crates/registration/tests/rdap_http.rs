//! RDAP as HTTP carries it: what a 404 means, and whole answers in every form servers send them in.

#[allow(dead_code, reason = "the other tests of the client use the rest of it")]
mod world;

use model::registration::RegistrationState;
use world::{Reply, World, ask, bootstrap, http, settings};

type NotFound = (&'static str, fn() -> Reply, bool);
/// A form, and an answer in it.
type Form = (&'static str, fn() -> Reply);

#[tokio::test]
async fn only_an_rdap_server_can_say_that_a_name_is_free() {
    let cases: [NotFound; 9] = [
        (
            "plain JSON",
            || http(404, "application/json", "", r#"{"errorCode":404,"title":"Not Found"}"#),
            true,
        ),
        ("without a code", || http(404, "application/rdap+json", "", r#"{"title":"Not Found"}"#), true),
        ("gateway", || http(404, "application/json", "", r#"{"message":"Not Found"}"#), false),
        (
            "framework",
            || {
                http(
                    404,
                    "application/json",
                    "",
                    r#"{"status":404,"error":"Not Found","path":"/domain/a.test"}"#,
                )
            },
            false,
        ),
        (
            "another code inside",
            || http(404, "application/rdap+json", "", r#"{"errorCode":400,"title":"Bad Request"}"#),
            false,
        ),
        ("error object", || http(404, "application/rdap+json", "", r#"{"errorCode":404}"#), true),
        // Nothing confirms it here: `parties.rs` has what WHOIS makes of it.
        ("empty", || http(404, "text/plain", "", ""), false),
        ("object as text", || http(404, "text/html", "", r#"{"errorCode":404,"title":"Not Found"}"#), true),
        ("web page", || http(404, "text/html", "", "<h1>Not Found</h1>"), false),
    ];
    for (what, reply, free) in cases {
        let mut w = World::new();
        bootstrap(&mut w, "http://rdap.nic.test/").await;
        w.serve("rdap.nic.test", 80, move |_| reply()).await;
        let r = ask(&w.client(settings()), "a.test").await;
        assert_eq!(matches!(r.outcome, Ok(RegistrationState::Available)), free, "{what}: {:?}", r.failures);
        assert!(free || r.outcome.is_err(), "{what}");
    }
}

const BODY: &str = r#"{"objectClassName":"domain","ldhName":"a.test","events":[{"eventAction":"registration","eventDate":"2001-02-03T04:05:06Z"},{"eventAction":"expiration","eventDate":"2031-02-03T04:05:06Z"}],"entities":[{"roles":["registrar"],"handle":"Sample"}]}"#;

fn whole(head: &str, body: &str) -> Reply {
    Reply::Text(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}").into_bytes())
}

/// An answer in pieces of these many bytes.
fn chunked(size: usize, trailer: &str) -> Reply {
    let pieces = BODY.as_bytes().chunks(size);
    let text: String =
        pieces.map(|p| format!("{:x};n=1\r\n{}\r\n", p.len(), std::str::from_utf8(p).unwrap())).collect();
    whole(
        "Content-Type: application/rdap+json\r\nTransfer-Encoding: chunked",
        &format!("{text}0\r\n{trailer}\r\n"),
    )
}

#[tokio::test]
async fn whole_answers_are_read_in_whatever_form_they_come() {
    let forms: [Form; 12] = [
        ("plain JSON", || http(200, "application/json", "", BODY)),
        ("with a charset", || http(200, "application/rdap+json; charset=UTF-8", "", BODY)),
        ("as text", || http(200, "text/plain", "", BODY)),
        ("as a web page", || http(200, "text/html; charset=iso-8859-1", "", BODY)),
        ("as bytes", || http(200, "application/octet-stream", "", BODY)),
        ("without a type or a length", || whole("Connection: close", BODY)),
        ("in one piece", || chunked(4096, "")),
        ("in many pieces", || chunked(7, "")),
        ("in pieces, with a trailer", || chunked(100, "X-Sum: 1\r\n")),
        ("with a byte order mark", || http(200, "application/rdap+json", "", &format!("\u{feff}{BODY}"))),
        ("with a comment behind it", || {
            http(200, "application/rdap+json", "", &format!("{BODY}\n<!-- node 7 -->"))
        }),
        ("by a 203", || http(203, "application/rdap+json", "", BODY)),
    ];
    for (what, reply) in forms {
        let mut w = World::new();
        bootstrap(&mut w, "http://rdap.nic.test/").await;
        w.serve("rdap.nic.test", 80, move |_| reply()).await;
        let r = ask(&w.client(settings()), "a.test").await;
        let state = r.outcome.unwrap_or_else(|e| panic!("{what}: {e}"));
        let created = state.registration().and_then(|r| r.created).map(|t| t.to_string());
        assert_eq!(created.as_deref(), Some("2001-02-03T04:05:06Z"), "{what}");
        assert!(r.failures.is_empty(), "{what}: {:?}", r.failures);
    }
}

#[tokio::test]
async fn an_error_object_counts_by_its_code_whatever_the_status_says() {
    let says =
        |code: u16| http(200, "application/rdap+json", "", &format!(r#"{{"errorCode":{code},"title":"x"}}"#));
    for (code, label) in [(429, "throttled"), (403, "refused"), (400, "unparsable"), (500, "unparsable")] {
        let mut w = World::new();
        bootstrap(&mut w, "http://rdap.nic.test/").await;
        let seen = w.serve("rdap.nic.test", 80, move |_| says(code)).await;
        let client = w.client(settings());
        assert_eq!(ask(&client, "a.test").await.failures[0].error.label(), label, "{code}");
        ask(&client, "b.test").await;
        assert_eq!(seen.count(), if code == 429 { 1 } else { 2 }, "{code}: a tired host is left alone");
    }
    let mut w = World::new();
    bootstrap(&mut w, "http://rdap.nic.test/").await;
    w.serve("rdap.nic.test", 80, move |_| says(404)).await;
    assert_eq!(ask(&w.client(settings()), "a.test").await.outcome, Ok(RegistrationState::Available));
}
