//! Measurement networks as the lab has them: the parts of the APIs of Globalping (version 1) and RIPE Atlas (version 2)
//! that create a DNS measurement and read its results. In: requests. Out: answers in the form the networks publish; the
//! places and what they get are those of the scenario.

use crate::{
    http::{self, Body, whole},
    inbox,
    scenario::Measurements,
};
use data_encoding::BASE64;
use hickory_proto::{
    op::{Message, MessageType, OpCode, Query},
    rr::{Name, RData, Record, RecordType, rdata},
};
use http_body_util::{BodyExt, Limited};
use hyper::{
    Method, Request, Response, StatusCode,
    body::Incoming,
    header::{AUTHORIZATION, HeaderValue},
};
use serde_json::{Value, json};
use std::sync::{Mutex, PoisonError};

const JSON: &str = "application/json";
/// Places of every measurement: city, country, network.
const PLACES: [(&str, &str, u32); 3] =
    [("Sydney", "AU", 64_501), ("Falkenstein", "DE", 64_502), ("Lima", "PE", 64_503)];

/// Measurements that were created, in order: what was asked, and how often results were read.
static CREATED: Mutex<Vec<(Value, u32)>> = Mutex::new(Vec::new());

fn reply(status: StatusCode, value: &Value) -> Response<Body> {
    http::response(status, JSON, whole(value.to_string()))
}

/// Answers one request to the API.
pub(crate) async fn answer(network: &Measurements, request: Request<Incoming>) -> Response<Body> {
    let path = request.uri().path().trim_matches('/').to_owned();
    let parts: Vec<&str> = path.split('/').collect();
    let is_post = *request.method() == Method::POST;
    let is_atlas = parts.first() == Some(&"api");
    let scheme = if is_atlas { "Key" } else { "Bearer" };
    let sent = request.headers().get(AUTHORIZATION).and_then(|v| v.to_str().ok()).map(str::to_owned);
    if network.key.as_ref().is_some_and(|key| sent != Some(format!("{scheme} {key}"))) {
        let globalping = json!({ "error": { "type": "unauthorized", "message": "Unauthorized." } });
        let atlas = json!({ "error": { "status": 403, "detail": "You do not have permission." } });
        return reply(StatusCode::FORBIDDEN, if is_atlas { &atlas } else { &globalping });
    }
    let body = if is_post {
        let read = Limited::new(request.into_body(), inbox::LONGEST).collect().await;
        read.map(http_body_util::Collected::to_bytes).unwrap_or_default()
    } else {
        Default::default()
    };
    let question: Value = serde_json::from_slice(&body).unwrap_or_default();
    match (is_post, parts.as_slice()) {
        (true, ["v1", "measurements"]) => {
            let id = create(question);
            let mut made =
                reply(StatusCode::ACCEPTED, &json!({ "id": format!("gp{id}"), "probesCount": PLACES.len() }));
            if let Some(credits) = network.credits {
                made.headers_mut().insert("x-credits-remaining", HeaderValue::from(credits));
            }
            made
        }
        (true, ["api", "v2", "measurements"]) => {
            reply(StatusCode::CREATED, &json!({ "measurements": [create(question)] }))
        }
        (false, ["v1", "limits"]) => reply(
            StatusCode::OK,
            &json!({ "rateLimit": { "measurements": { "create": { "type": "ip", "limit": 250, "remaining": 249, "reset": 0 } } },
                     "credits": { "remaining": network.credits } }),
        ),
        (false, ["v1", "measurements", id]) => match id.strip_prefix("gp").and_then(read) {
            Some((asked, reads)) => reply(StatusCode::OK, &globalping(network, id, &asked, reads)),
            None => reply(
                StatusCode::NOT_FOUND,
                &json!({ "error": { "type": "not_found", "message": "No such measurement." } }),
            ),
        },
        (false, ["api", "v2", "measurements", id, "results"]) => match read(id) {
            Some((asked, reads)) => reply(StatusCode::OK, &atlas(network, id, &asked, reads)),
            None => {
                reply(StatusCode::NOT_FOUND, &json!({ "error": { "status": 404, "detail": "Not found." } }))
            }
        },
        (false, ["api", "v2", "probes"]) => {
            let all = PLACES.iter().enumerate();
            let all: Vec<_> = all
                .map(|(i, (_, country, asn))| json!({ "id": i + 1, "country_code": country, "asn_v4": asn }))
                .collect();
            reply(
                StatusCode::OK,
                &json!({ "count": all.len(), "next": null, "previous": null, "results": all }),
            )
        }
        (false, ["api", "v2", "credits"]) => {
            reply(StatusCode::OK, &json!({ "current_balance": network.credits }))
        }
        _ => reply(
            StatusCode::NOT_FOUND,
            &json!({ "error": { "type": "not_found", "message": "Not found." } }),
        ),
    }
}

fn create(question: Value) -> usize {
    let mut all = CREATED.lock().unwrap_or_else(PoisonError::into_inner);
    all.push((question, 0));
    all.len()
}

/// A measurement, and how often it was read before.
fn read(id: &str) -> Option<(Value, u32)> {
    let mut all = CREATED.lock().unwrap_or_else(PoisonError::into_inner);
    let (question, reads) = all.get_mut(id.parse::<usize>().ok()?.checked_sub(1)?)?;
    *reads += 1;
    Some((question.clone(), *reads - 1))
}

/// What a place gets: the addresses of the scenario in turn; nothing where it has none.
fn data(network: &Measurements, place: usize) -> Option<&String> {
    network.addresses.get(place % network.addresses.len().max(1))
}

fn globalping(network: &Measurements, id: &str, asked: &Value, reads: u32) -> Value {
    let count = usize::try_from(asked["limit"].as_u64().unwrap_or(1)).unwrap_or(1);
    let target = asked["target"].as_str().unwrap_or_default();
    let resolver = asked["measurementOptions"]["resolver"].as_str().unwrap_or("private");
    let place = |(i, (city, country, asn)): (usize, &(&str, &str, u32))| {
        let probe = json!({ "continent": "XX", "region": "Lab", "country": country, "state": null, "city": city, "asn": asn,
            "longitude": 0.0, "latitude": 0.0, "network": "Lab", "tags": [], "resolvers": ["private"] });
        let result = match data(network, i) {
            _ if reads == 0 => json!({ "status": "in-progress", "rawOutput": "" }),
            None => {
                json!({ "status": "failed", "rawOutput": ";; connection timed out; no servers could be reached" })
            }
            Some(address) => json!({ "status": "finished", "statusCodeName": "NOERROR", "statusCode": 0,
                "rawOutput": format!("; EDNS: version: 0, flags:; udp: 1232\n; NSID: 6c 61 62 (\"lab-{country}\")\n"),
                "answers": [{ "name": format!("{target}."), "type": "A", "ttl": 60, "class": "IN", "value": address }],
                "timings": { "total": 20 + i }, "resolver": resolver }),
        };
        json!({ "probe": probe, "result": result })
    };
    let results: Vec<_> = PLACES.iter().enumerate().take(count).map(place).collect();
    json!({ "id": id, "type": "dns", "status": if reads == 0 { "in-progress" } else { "finished" }, "target": target,
        "createdAt": "2026-11-20T14:05:00.000Z", "updatedAt": "2026-11-20T14:05:01.000Z", "probesCount": results.len(),
        "results": results })
}

fn atlas(network: &Measurements, id: &str, asked: &Value, reads: u32) -> Value {
    let definition = &asked["definitions"][0];
    let name = definition["query_argument"].as_str().unwrap_or_default();
    let count = usize::try_from(asked["probes"][0]["requested"].as_u64().unwrap_or(1)).unwrap_or(1);
    // Results come in one after the other.
    let ready = count.saturating_sub(network.absent).min(reads as usize);
    let result = |i: usize| {
        let exchange = match data(network, i).and_then(|a| message(name, a)) {
            Some(message) => {
                json!({ "subid": 1, "submax": 1, "dst_addr": "192.0.2.53", "af": 4, "proto": "UDP",
                "result": { "rt": 20.5, "size": message.len(), "abuf": BASE64.encode(&message), "ANCOUNT": 1 } })
            }
            None => {
                json!({ "subid": 1, "submax": 1, "dst_addr": "192.0.2.53", "error": { "timeout": 5000 } })
            }
        };
        json!({ "fw": 5080, "mver": "2.6.2", "msm_id": id.parse::<u64>().unwrap_or(0), "prb_id": i + 1, "from": "198.51.100.1",
            "timestamp": 1, "type": "dns", "resultset": [exchange] })
    };
    Value::Array((0..ready.min(PLACES.len())).map(result).collect())
}

fn message(name: &str, address: &str) -> Option<Vec<u8>> {
    let name = Name::from_ascii(format!("{}.", name.trim_end_matches('.'))).ok()?;
    let mut message = Message::new(7, MessageType::Response, OpCode::Query);
    message.add_query(Query::query(name.clone(), RecordType::A));
    let data = RData::A(rdata::A(address.parse().ok()?));
    message.add_answer(Record::from_rdata(name, 60, data));
    message.to_vec().ok()
}
