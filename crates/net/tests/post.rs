//! Posting over cleartext HTTP/1.1, faults first. (HTTP/2 and TLS are tested where DNS over HTTPS uses them.)

use net::{Dialer, Error, Settings};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const KIND: &str = "application/dns-message";

fn dialer(allow_private: bool) -> Dialer {
    let total_timeout = Duration::from_millis(500);
    Dialer::new(Settings { allow_private, total_timeout, ..Settings::default() }).unwrap()
}

/// Answers one request with these octets and hands out what was asked.
async fn once(answer: Vec<u8>, linger: bool) -> (String, tokio::task::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/dns-query?x=1", listener.local_addr().unwrap());
    let heard = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut asked = Vec::new();
        let mut buffer = [0u8; 4096];
        while !asked.ends_with(b"body") {
            match stream.read(&mut buffer).await {
                Ok(n) if n > 0 => asked.extend_from_slice(&buffer[..n]),
                _ => break,
            }
        }
        let _ = stream.write_all(&answer).await;
        if linger {
            std::future::pending::<()>().await;
        }
        String::from_utf8_lossy(&asked).into_owned()
    });
    (url, heard)
}

async fn post(url: &str, cap: usize) -> Result<net::HttpAnswer, Error> {
    dialer(true).http_post(url, KIND, b"body".to_vec(), cap).await
}

#[tokio::test]
async fn a_private_target_is_refused_and_so_are_other_schemes() {
    let e = dialer(false).http_post("http://127.0.0.1:9/q", KIND, vec![], 10).await.unwrap_err();
    assert!(matches!(e, Error::Blocked { .. }), "{e}");
    for url in ["ftp://127.0.0.1/", "file:///etc/hosts", "nonsense"] {
        assert!(matches!(post(url, 10).await, Err(Error::Protocol { .. })), "{url}");
    }
}

#[tokio::test]
async fn answers_too_large_broken_or_late_are_told_apart() {
    let (url, _) =
        once(b"HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n01234567890123456789".to_vec(), false).await;
    assert!(matches!(post(&url, 19).await, Err(Error::TooLarge { cap: 19, .. })));
    let (url, _) = once(b"HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n0123".to_vec(), false).await;
    assert!(matches!(post(&url, 100).await, Err(Error::Protocol { .. })));
    let (url, _) = once(b"garbage\r\n\r\n".to_vec(), false).await;
    assert!(matches!(post(&url, 100).await, Err(Error::Protocol { .. })));
    let (url, heard) = once(b"HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n0123".to_vec(), true).await;
    assert!(matches!(post(&url, 100).await, Err(Error::Timeout { .. })));
    heard.abort();
}

#[tokio::test]
async fn a_redirect_is_an_answer_not_a_way() {
    let answer = b"HTTP/1.1 307 Go\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n".to_vec();
    let (url, _) = once(answer, false).await;
    assert_eq!(post(&url, 100).await.unwrap().status, 307);
}

#[tokio::test]
async fn what_is_posted_arrives() {
    let answer =
        b"HTTP/1.1 200 OK\r\nContent-Type: application/dns-message\r\ncontent-length: 2\r\n\r\nok".to_vec();
    let (url, heard) = once(answer, false).await;
    let got = post(&url, 100).await.unwrap();
    assert_eq!((got.status, got.body.as_slice(), got.header("content-type")), (200, &b"ok"[..], Some(KIND)));
    let asked = heard.await.unwrap().to_ascii_lowercase();
    assert!(asked.starts_with("post /dns-query?x=1 http/1.1\r\n"), "{asked}");
    for field in
        ["content-type: application/dns-message", "accept: application/dns-message", "content-length: 4"]
    {
        assert!(asked.contains(field), "{asked}");
    }
    assert!(asked.ends_with("\r\n\r\nbody"), "{asked}");
}
