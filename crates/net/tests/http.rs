//! The way out against servers that hang, lie and flood, on loopback.

use net::{Dialer, Error, Resolve, Settings};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

struct Fixed(Vec<IpAddr>);

#[async_trait::async_trait]
impl Resolve for Fixed {
    async fn resolve(&self, _: &str) -> Result<Vec<IpAddr>, String> {
        Ok(self.0.clone())
    }
}

fn dialer(allow_private: bool, addresses: &[&str]) -> Dialer {
    let addresses = addresses.iter().map(|a| a.parse().unwrap()).collect();
    Dialer::new(Settings {
        resolver: Arc::new(Fixed(addresses)),
        allow_private,
        connect_timeout: Duration::from_millis(400),
        total_timeout: Duration::from_millis(800),
        ..Settings::default()
    })
    .unwrap()
}

/// Answers every connection with `bytes`, then keeps sending `flood` for as long as the peer reads.
async fn server(bytes: &'static [u8], flood: Option<&'static [u8]>, hang: bool) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let Ok((mut s, _)) = listener.accept().await else { return };
            tokio::spawn(async move {
                let mut buffer = [0; 2048];
                let _ = s.read(&mut buffer).await;
                let _ = s.write_all(bytes).await;
                // Many at once: a busy machine is to reach the size before the time.
                let flood = flood.map(|more| more.repeat(1000));
                while let Some(more) = &flood {
                    if s.write_all(more).await.is_err() {
                        return;
                    }
                }
                if hang {
                    let _ = s.read(&mut buffer).await;
                }
            });
        }
    });
    port
}

async fn get(d: &Dialer, port: u16) -> Result<net::HttpAnswer, Error> {
    d.http_get(&format!("http://host.example:{port}/x?y=1").parse().unwrap(), "*/*", 10_000).await
}

#[tokio::test]
async fn a_plain_answer_is_read_whole() {
    let port =
        server(b"HTTP/1.1 429 Too\r\nRetry-After: 7\r\nContent-Length: 2\r\n\r\nno", None, false).await;
    let answer = get(&dialer(true, &["127.0.0.1"]), port).await.unwrap();
    assert_eq!((answer.status, answer.header("retry-after")), (429, Some("7")));
    assert_eq!(answer.body, b"no");
}

#[tokio::test]
async fn private_targets_are_refused_unless_allowed() {
    let port = server(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", None, false).await;
    let e = get(&dialer(false, &["8.8.8.8", "127.0.0.1"]), port).await.unwrap_err();
    assert!(matches!(&e, Error::Blocked { address, .. } if address.to_string() == "127.0.0.1"), "{e}");
    let literal = format!("http://[::ffff:127.0.0.1]:{port}/").parse().unwrap();
    let e = dialer(false, &["8.8.8.8"]).http_get(&literal, "*/*", 10).await.unwrap_err();
    assert!(matches!(e, Error::Blocked { .. }), "{e}");
}

#[tokio::test]
async fn a_redirect_goes_through_the_guard_again_and_ends() {
    let port =
        server(b"HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n", None, false).await;
    let e = get(&dialer(true, &["127.0.0.1"]), port).await.unwrap_err();
    assert!(e.to_string().contains("redirects"), "{e}");
    let port = server(b"HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n\r\n", None, false).await;
    let e = get(&dialer(true, &["127.0.0.1"]), port).await.unwrap_err();
    assert!(matches!(e, Error::Protocol { .. }), "{e}");
}

#[tokio::test]
async fn hanging_dripping_flooding_and_breaking_off_end_in_bounded_time() {
    let d = dialer(true, &["127.0.0.1"]);
    let hang = server(b"", None, true).await;
    assert!(matches!(get(&d, hang).await, Err(Error::Timeout { .. })));
    let half = server(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf", None, true).await;
    assert!(matches!(get(&d, half).await, Err(Error::Timeout { .. })));
    let flood = server(b"HTTP/1.1 200 OK\r\n\r\n", Some(&[b'x'; 4096]), false).await;
    assert!(matches!(get(&d, flood).await, Err(Error::TooLarge { cap: 10_000, .. })));
    let headers =
        server(b"HTTP/1.1 200 OK\r\n", Some(b"X-Y: zzzzzzzzzzzzzzzzzzzzzzzzzzzzz\r\n"), false).await;
    assert!(matches!(get(&d, headers).await, Err(Error::Protocol { .. } | Error::Timeout { .. })));
    let cut = server(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf", None, false).await;
    assert!(matches!(get(&d, cut).await, Err(Error::Protocol { .. })));
    let garbage = server(b"\x00\x01\x02 not http\r\n\r\n", None, false).await;
    assert!(matches!(get(&d, garbage).await, Err(Error::Protocol { .. })));
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    assert!(matches!(get(&d, closed).await, Err(Error::Unreachable { .. })));
}

/// What has no end ends: by its size, else by the time.
#[tokio::test]
async fn answers_without_end_end_in_bounded_time_and_memory() {
    const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let d = dialer(true, &["127.0.0.1"]);
    let chunks = server(CHUNKED, Some(b"5\r\nhello\r\n"), false).await;
    assert!(matches!(get(&d, chunks).await, Err(Error::TooLarge { cap: 10_000, .. })));
    // Of chunks the extensions are not the body, and neither are trailers: they are to be bounded all the same.
    let cases: [(&[u8], &[u8]); 4] = [
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;", b"extension=extension;"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"X-T: zzzzzzzzzzzzzzzz\r\n"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\nX: ", b"zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"),
    ];
    for (head, flood) in cases {
        let port = server(head, Some(flood), false).await;
        let start = std::time::Instant::now();
        let e = get(&d, port).await.unwrap_err();
        let what = String::from_utf8_lossy(flood);
        assert!(
            matches!(e, Error::Protocol { .. } | Error::Timeout { .. } | Error::TooLarge { .. }),
            "{what}: {e}"
        );
        assert!(start.elapsed() < Duration::from_secs(10), "{what}: {:?}", start.elapsed());
    }
}

/// A bomb of gzip stays what it is: nothing is unpacked, for nothing packed was asked for.
#[tokio::test]
async fn nothing_is_unpacked() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = tokio::spawn(async move {
        let (mut s, _) = listener.accept().await.unwrap();
        let mut buffer = vec![0; 2048];
        let n = s.read(&mut buffer).await.unwrap();
        let head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x08\x00";
        s.write_all(head).await.unwrap();
        String::from_utf8_lossy(&buffer[..n]).to_ascii_lowercase()
    });
    let answer = get(&dialer(true, &["127.0.0.1"]), port).await.unwrap();
    assert_eq!(answer.body, b"\x1f\x8b\x08\x00");
    assert!(!asked.await.unwrap().contains("accept-encoding"));
}

#[tokio::test]
async fn a_conditional_question_is_sent_as_one_and_unchanged_is_an_answer() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = tokio::spawn(async move {
        let (mut s, _) = listener.accept().await.unwrap();
        let mut buffer = vec![0; 2048];
        let n = s.read(&mut buffer).await.unwrap();
        s.write_all(b"HTTP/1.1 304 Not Modified\r\nETag: \"b\"\r\n\r\n").await.unwrap();
        String::from_utf8_lossy(&buffer[..n]).to_ascii_lowercase()
    });
    let url = format!("http://host.example:{port}/dns.json").parse().unwrap();
    let fields = [("if-none-match", "\"a\""), ("if-modified-since", "Fri, 20 Nov 2026 12:00:00 GMT")];
    let d = dialer(true, &["127.0.0.1"]);
    let answer = d.http_get_with(&url, "*/*", &fields, 10_000).await.unwrap();
    assert_eq!((answer.status, answer.header("etag"), answer.body.len()), (304, Some("\"b\""), 0));
    let asked = asked.await.unwrap();
    assert!(asked.contains("if-none-match: \"a\"") && asked.contains("if-modified-since: fri"), "{asked}");
    // What a server once sent as its tag may not be a header field at all.
    let e = d.http_get_with(&url, "*/*", &[("if-none-match", "a\r\nb: c")], 10).await.unwrap_err();
    assert!(matches!(e, Error::Protocol { .. } | Error::Unreachable { .. }), "{e}");
}
