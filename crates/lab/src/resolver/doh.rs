//! DNS over HTTPS as public resolvers offer it: `/dns-query` by GET and POST (RFC 8484), and the JSON form at `/resolve`.
//! In: an HTTP request, over TLS or in the clear. Out: an answer that pages of any origin may read, or an HTTP error.

use std::{borrow::Cow, sync::Arc};

use data_encoding::BASE64URL_NOPAD;
use hickory_proto::{
    op::{Edns, Message, MessageType, OpCode, Query},
    rr::{Name, RecordType},
};
use http_body_util::{BodyExt, Limited};
use hyper::{
    Method, Request, Response, StatusCode,
    body::Incoming,
    header::{self, HeaderValue},
};
use tokio::time::sleep;

use super::{
    Resolver,
    answer::answer as dns_answer,
    cache::negative_ttl,
    json,
    serve::{is_dead, note},
};
use crate::{
    http::{Body, broken_off, response, whole},
    lab::Shared,
    log::Via,
    scenario::{Failing, Transport},
};

const TEXT: &str = "text/plain; charset=utf-8";
const WIRE: &str = "application/dns-message";
const JSON: &str = "application/dns-json";
/// A DNS message has no more (RFC 8484 6).
const LARGEST: usize = 65_535;

enum Form {
    Wire,
    Json,
}

type Refusal = (StatusCode, &'static str);

/// Answers one request.
pub(crate) async fn answer(shared: Arc<Shared>, host: String, request: Request<Incoming>) -> Response<Body> {
    let mut response = match shared.resolvers.of_host(&host) {
        Some(resolver) => respond(&shared, resolver, request).await,
        None => response(StatusCode::NOT_FOUND, TEXT, whole("no such resolver\n")),
    };
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    response
}

async fn respond(shared: &Shared, resolver: &Resolver, request: Request<Incoming>) -> Response<Body> {
    match resolver.failing() {
        Some(Failing::Timeout) => std::future::pending().await,
        Some(Failing::Dead) => return response(StatusCode::OK, TEXT, broken_off("")),
        Some(Failing::Http500) => {
            return response(StatusCode::INTERNAL_SERVER_ERROR, TEXT, whole("broken\n"));
        }
        _ => {}
    }
    if request.method() == Method::OPTIONS {
        return preflight();
    }
    let secure = request.extensions().get::<crate::http::Secure>().is_some();
    let (message, form) = match read(resolver, request).await {
        Ok(read) => read,
        Err((status, why)) => return response(status, TEXT, whole(format!("{why}\n"))),
    };
    let via = match (&form, secure) {
        (Form::Wire, true) => Via::Https,
        (Form::Wire, false) => Via::Http,
        (Form::Json, true) => Via::JsonHttps,
        (Form::Json, false) => Via::JsonHttp,
    };
    note(shared, resolver, &message, via);
    let (said, wait) = dns_answer(shared, resolver, &message);
    sleep(wait).await;
    // A resolver can die while someone waits.
    if is_dead(resolver) {
        return response(StatusCode::OK, TEXT, broken_off(""));
    }
    let age = said.answers.iter().map(|r| r.ttl).min().or_else(|| negative_ttl(&said.authorities));
    let mut response = match form {
        Form::Json => response(StatusCode::OK, JSON, whole(json::render(&said).to_string())),
        Form::Wire => match said.to_vec() {
            Ok(bytes) => response(StatusCode::OK, WIRE, whole(bytes)),
            Err(_) => response(StatusCode::INTERNAL_SERVER_ERROR, TEXT, whole("no message\n")),
        },
    };
    if let Ok(value) = HeaderValue::from_str(&format!("max-age={}", age.unwrap_or(0))) {
        response.headers_mut().insert(header::CACHE_CONTROL, value);
    }
    response
}

fn preflight() -> Response<Body> {
    let mut response = response(StatusCode::NO_CONTENT, TEXT, whole(""));
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, OPTIONS"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("accept, content-type"));
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    response
}

fn is(request: &Request<Incoming>, name: header::HeaderName, kind: &str) -> bool {
    let value = request.headers().get(name).and_then(|v| v.to_str().ok()).unwrap_or_default();
    value.split([',', ';']).any(|part| part.trim().eq_ignore_ascii_case(kind))
}

async fn read(resolver: &Resolver, request: Request<Incoming>) -> Result<(Message, Form), Refusal> {
    let path = request.uri().path().to_owned();
    let query = request.uri().query().unwrap_or_default().to_owned();
    let pairs: Vec<(Cow<'_, str>, Cow<'_, str>)> = url::form_urlencoded::parse(query.as_bytes()).collect();
    let value = |key: &str| pairs.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_ref());
    let wants_json = path == "/resolve" || (value("name").is_some() && is(&request, header::ACCEPT, JSON));
    if !matches!(path.as_str(), "/dns-query" | "/resolve") {
        return Err((StatusCode::NOT_FOUND, "ask at /dns-query or /resolve"));
    }
    let offered = if wants_json { Transport::Json } else { Transport::Doh };
    if !resolver.offers(offered) {
        return Err((StatusCode::NOT_FOUND, "this resolver does not offer that"));
    }
    if wants_json {
        if request.method() != Method::GET {
            return Err((StatusCode::METHOD_NOT_ALLOWED, "the JSON form is for GET"));
        }
        return Ok((from_words(&value)?, Form::Json));
    }
    let octets = if request.method() == Method::GET {
        let text = value("dns").ok_or((StatusCode::BAD_REQUEST, "`dns` is missing"))?;
        BASE64URL_NOPAD
            .decode(text.as_bytes())
            .map_err(|_| (StatusCode::BAD_REQUEST, "`dns` is not base64url"))?
    } else if request.method() == Method::POST {
        if !is(&request, header::CONTENT_TYPE, WIRE) {
            return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, "send application/dns-message"));
        }
        let body = Limited::new(request.into_body(), LARGEST).collect().await;
        body.map_err(|_| (StatusCode::PAYLOAD_TOO_LARGE, "at most 65535 octets"))?.to_bytes().to_vec()
    } else {
        return Err((StatusCode::METHOD_NOT_ALLOWED, "GET or POST"));
    };
    let message =
        Message::from_vec(&octets).map_err(|_| (StatusCode::BAD_REQUEST, "that is no DNS message"))?;
    if message.metadata.message_type != MessageType::Query || message.queries.len() != 1 {
        return Err((StatusCode::BAD_REQUEST, "send one question"));
    }
    Ok((message, Form::Wire))
}

fn from_words<'a>(value: &dyn Fn(&str) -> Option<&'a str>) -> Result<Message, Refusal> {
    let flag = |key: &str| value(key).is_some_and(|v| v == "1" || v.eq_ignore_ascii_case("true"));
    let name =
        value("name").filter(|n| !n.is_empty()).ok_or((StatusCode::BAD_REQUEST, "`name` is missing"))?;
    let name = Name::from_utf8(format!("{}.", name.trim_end_matches('.')))
        .map_err(|_| (StatusCode::BAD_REQUEST, "`name` is not a name"))?;
    let rtype = value("type").unwrap_or("A");
    let rtype = match rtype.parse::<u16>() {
        Ok(number) => RecordType::from(number),
        Err(_) => rtype
            .to_ascii_uppercase()
            .parse()
            .map_err(|_| (StatusCode::BAD_REQUEST, "`type` is not a record type"))?,
    };
    let mut message = Message::new(0, MessageType::Query, OpCode::Query);
    message.metadata.recursion_desired = true;
    message.metadata.checking_disabled = flag("cd");
    // The JSON form always says whether the answer was validated.
    message.metadata.authentic_data = true;
    message.add_query(Query::query(name, rtype));
    let mut edns = Edns::new();
    edns.set_dnssec_ok(flag("do"));
    message.set_edns(edns);
    Ok(message)
}
