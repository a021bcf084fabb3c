//! RDAP servers over HTTPS: one handler for registries, registrars and the bootstrap host (RFC 7480, 9082, 9224).
//! In: a request to one host name of the lab. Out: JSON, an error as RFC 9083 6 has it, or a fault.

use std::sync::{Arc, PoisonError};

use hyper::{
    Method, Request, Response, StatusCode,
    body::Incoming,
    header::{self, HeaderValue},
};
use serde_json::{Value, json};

use super::{
    facts::Known,
    rdap::{self, Links, Side},
};
use crate::{
    fault::Fault,
    http::{self, Body, broken_off, drip, huge, whole},
    lab::Shared,
    names,
    target::{Service, Target},
    world::{Role, World},
};

const RDAP_JSON: &str = "application/rdap+json";

/// The bootstrap file (RFC 9224 4).
pub(crate) fn bootstrap(world: &World) -> Value {
    let services: Vec<Value> = world
        .tlds
        .values()
        .filter(|t| t.rdap && !is_replayed(world, &t.name))
        .map(|t| json!([[t.name], [base(world, &format!("rdap.nic.{}", t.name))]]))
        .collect();
    json!({
        "version": "1.0",
        "publication": world.clock.second().to_string(),
        "description": "RDAP bootstrap file of the lab",
        "services": services
    })
}

/// Recorded WHOIS answers stand for the whole registry: no RDAP is announced for their TLDs.
pub(crate) fn is_replayed(world: &World, tld: &str) -> bool {
    world.replay.values().any(|r| r.tld == tld)
}

fn base(world: &World, host: &str) -> String {
    format!("https://{host}:{}/", world.https_port)
}

/// What is to be sent, before faults.
struct Plan {
    status: StatusCode,
    json: Value,
    fault: Option<Fault>,
    retry_after: Option<u64>,
    own: String,
}

fn plan(shared: &Shared, host: &str, id: &str, path: &str) -> Plan {
    let world = shared.world.read().unwrap_or_else(PoisonError::into_inner);
    let own = format!("{}{}", base(&world, host), path.trim_start_matches('/'));
    let not_found = || rdap::error(404, "Not Found", "There is nothing by this name here.");
    let mut plan =
        Plan { status: StatusCode::NOT_FOUND, json: not_found(), fault: None, retry_after: None, own };
    let query = path.trim_start_matches('/').strip_prefix("domain/").map(names::normal);
    let domain = query.as_ref().and_then(|q| q.as_ref().ok()).map(String::as_str);
    let faults: Vec<(Target, Fault)> =
        world.faults.of_service(Service::Rdap, id, domain).map(|(t, f)| (t.clone(), f.clone())).collect();
    for (target, fault) in faults {
        match fault {
            Fault::RateLimit(allowance) => {
                if let Some(wait) = shared.over_limit(&target, allowance) {
                    plan.status = StatusCode::TOO_MANY_REQUESTS;
                    plan.json = rdap::error(429, "Too Many Requests", "Slow down, please.");
                    plan.retry_after = Some(wait);
                    return plan;
                }
            }
            other => plan.fault = Some(other),
        }
    }
    match (path, query) {
        ("/help" | "/help/", _) => {
            plan.status = StatusCode::OK;
            plan.json = json!({
                "rdapConformance": ["rdap_level_0"],
                "notices": [{"title": "Help", "description": ["Ask for /domain/NAME."]}]
            });
        }
        ("/rdap/dns.json", _) => {
            plan.status = StatusCode::OK;
            plan.json = bootstrap(&world);
        }
        (_, Some(Err(reason))) => {
            plan.status = StatusCode::BAD_REQUEST;
            plan.json = rdap::error(400, "Bad Request", &reason);
        }
        (_, Some(Ok(name))) if plan.fault != Some(Fault::NotFound) => about(&world, id, &name, &mut plan),
        _ => {}
    }
    plan
}

fn about(world: &World, id: &str, name: &str, plan: &mut Plan) {
    let registrar = world.registrars.get(id).filter(|_| !world.tlds.contains_key(id));
    let tld = if registrar.is_some() { names::tld_of(name) } else { id };
    match world.known(tld, name) {
        Known::Registered(facts) => {
            let of_registrar = facts.registrar.filter(|r| r.rdap);
            if registrar.is_some_and(|r| of_registrar.is_none_or(|of| of.id != r.id)) {
                return;
            }
            let (side, related) = match registrar {
                Some(_) => (Side::Registrar, None),
                None => (
                    Side::Registry,
                    of_registrar
                        .map(|r| format!("{}domain/{name}", base(world, &format!("rdap.{}", r.domain)))),
                ),
            };
            let related =
                if plan.fault == Some(Fault::ReferralLoop) { Some(plan.own.clone()) } else { related };
            let port43 = world.hosts.iter().find_map(|(h, host)| {
                (host.role == Role::Whois(if registrar.is_some() { id } else { tld }.to_owned()))
                    .then(|| h.clone())
            });
            plan.status = StatusCode::OK;
            plan.json = rdap::domain(&facts, side, &Links { own: plan.own.clone(), related, port43 });
        }
        Known::Reserved => {
            plan.json = rdap::error(
                404,
                "Reserved",
                "This name is reserved by the registry and cannot be registered.",
            );
        }
        Known::Available | Known::NotOurs => {}
    }
}

/// Answers one request to `host`.
pub(crate) async fn answer(
    shared: Arc<Shared>,
    host: String,
    id: String,
    request: Request<Incoming>,
) -> Response<Body> {
    let path = request.uri().path().to_owned();
    let _open = shared.log.open(&host, &path);
    if request.method() != Method::GET && request.method() != Method::HEAD {
        let body = rdap::error(405, "Method Not Allowed", "GET or HEAD.").to_string();
        return http::response(StatusCode::METHOD_NOT_ALLOWED, RDAP_JSON, whole(body));
    }
    let plan = plan(&shared, &host, &id, &path);
    let text = plan.json.to_string();
    let mut response = match plan.fault {
        Some(Fault::Hang | Fault::Dead) => std::future::pending().await,
        Some(Fault::Refused) => {
            let body = rdap::error(403, "Forbidden", "Your address may not ask here.").to_string();
            http::response(StatusCode::FORBIDDEN, RDAP_JSON, whole(body))
        }
        Some(Fault::CloseEarly) => http::response(plan.status, RDAP_JSON, broken_off(&text)),
        Some(Fault::Garbage) => {
            http::response(plan.status, RDAP_JSON, whole(&b"\x00\xff\xfe\x1f{[lab]\x80"[..]))
        }
        Some(Fault::Huge) => http::response(StatusCode::OK, RDAP_JSON, huge()),
        Some(Fault::Drip) => http::response(plan.status, RDAP_JSON, drip(text)),
        Some(Fault::Http500) => {
            let body = rdap::error(500, "Internal Server Error", "The lab was told to fail.").to_string();
            http::response(StatusCode::INTERNAL_SERVER_ERROR, RDAP_JSON, whole(body))
        }
        Some(Fault::InvalidJson) => {
            http::response(plan.status, RDAP_JSON, whole(text.as_bytes()[..text.len() * 2 / 3].to_vec()))
        }
        Some(Fault::RedirectLoop) => {
            let mut response = http::response(StatusCode::FOUND, RDAP_JSON, whole(""));
            if let Ok(value) = HeaderValue::from_str(&plan.own) {
                response.headers_mut().insert(header::LOCATION, value);
            }
            response
        }
        Some(Fault::Slow(ms)) => {
            tokio::time::sleep(std::time::Duration::from_millis(ms.into())).await;
            http::response(plan.status, RDAP_JSON, whole(text))
        }
        _ => http::response(plan.status, RDAP_JSON, whole(text)),
    };
    if let Some(wait) = plan.retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(wait));
    }
    // The lab's own time, not that of this machine.
    if let Ok(value) = HeaderValue::from_str(&shared.http_date()) {
        response.headers_mut().insert(header::DATE, value);
    }
    response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    response
}
