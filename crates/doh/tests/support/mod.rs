//! What the tests share: questions as octets, a router that is asked in process, a manual clock.
#![allow(dead_code, reason = "each test uses its part")]

pub mod table;
pub mod world;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use data_encoding::BASE64URL_NOPAD;
use dns::wire::{Name, Reply};
use jiff::Timestamp;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use tower::ServiceExt;

pub const MESSAGE: &str = "application/dns-message";

/// A clock that stands still until it is moved.
#[derive(Clone)]
pub struct Hand(Arc<AtomicI64>);

impl Hand {
    pub fn at(now: &str) -> Self {
        Hand(Arc::new(AtomicI64::new(now.parse::<Timestamp>().unwrap().as_second())))
    }

    pub fn forward(&self, seconds: i64) {
        self.0.fetch_add(seconds, Ordering::SeqCst);
    }

    pub fn clock(&self) -> doh::Clock {
        let hand = self.0.clone();
        Arc::new(move || Timestamp::from_second(hand.load(Ordering::SeqCst)).unwrap())
    }
}

/// EDNS of a question: version, DO, padding option or other options.
pub struct Edns {
    pub version: u8,
    pub dnssec_ok: bool,
    pub options: Vec<u8>,
}

pub const PADDING: &[u8] = &[0, 12, 0, 2, 0, 0];

/// A question with flags as its second and third octets.
pub fn question(name: &str, rtype: u16, flags: [u8; 2], edns: Option<Edns>) -> Vec<u8> {
    let mut out = vec![0x12, 0x34, flags[0], flags[1], 0, 1, 0, 0, 0, 0, 0, u8::from(edns.is_some())];
    for label in name.split('.').filter(|l| !l.is_empty()) {
        out.push(label.len() as u8);
        out.extend(label.as_bytes());
    }
    out.push(0);
    out.extend(rtype.to_be_bytes());
    out.extend([0, 1]);
    if let Some(edns) = edns {
        out.extend([0, 0, 41, 4, 208, 0, edns.version, if edns.dnssec_ok { 0x80 } else { 0 }, 0]);
        out.extend((edns.options.len() as u16).to_be_bytes());
        out.extend(edns.options);
    }
    out
}

/// An ordinary question: RD, no EDNS.
pub fn plain(name: &str, rtype: u16) -> Vec<u8> {
    question(name, rtype, [1, 0], None)
}

/// A question with DO and padding.
pub fn signed(name: &str, rtype: u16) -> Vec<u8> {
    question(name, rtype, [1, 0], Some(Edns { version: 0, dnssec_ok: true, options: PADDING.to_vec() }))
}

/// A question with DO and without padding: what went wrong comes as the first option of the answer.
pub fn explained(name: &str, rtype: u16) -> Vec<u8> {
    question(name, rtype, [1, 0], Some(Edns { version: 0, dnssec_ok: true, options: vec![] }))
}

pub struct Answered {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Answered {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or("")
    }

    pub fn reply(&self) -> Reply {
        assert_eq!(self.status, StatusCode::OK, "{}", self.words());
        assert_eq!(self.header("content-type"), MESSAGE);
        Reply::read(&self.body).unwrap()
    }

    /// AD.
    pub fn authentic(&self) -> bool {
        self.body[3] & 0x20 != 0
    }

    pub fn words(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.words()))
    }
}

pub async fn send(router: &Router, request: Request<Body>) -> Answered {
    let answer = router.clone().oneshot(request).await.unwrap();
    let (status, headers) = (answer.status(), answer.headers().clone());
    let body = axum::body::to_bytes(answer.into_body(), 1 << 20).await.unwrap().to_vec();
    Answered { status, headers, body }
}

pub async fn ask(
    router: &Router,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Answered {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    send(router, request.body(Body::from(body.to_vec())).unwrap()).await
}

pub fn path(message: &[u8]) -> String {
    format!("/dns-query?dns={}", BASE64URL_NOPAD.encode(message))
}

pub async fn get(router: &Router, message: &[u8]) -> Answered {
    ask(router, "GET", &path(message), &[("accept", MESSAGE)], &[]).await
}

pub async fn post(router: &Router, message: &[u8]) -> Answered {
    ask(router, "POST", "/dns-query", &[("content-type", MESSAGE)], message).await
}

/// Asks as the client at this address.
pub async fn get_from(router: &Router, client: &str, message: &[u8]) -> Answered {
    let request = Request::builder().uri(path(message)).extension(doh::Client(client.parse().unwrap()));
    send(router, request.body(Body::empty()).unwrap()).await
}

pub fn name(text: &str) -> Name {
    Name::from_text(text).unwrap()
}
