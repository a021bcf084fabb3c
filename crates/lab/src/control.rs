//! The control endpoint: plain HTTP on 127.0.0.1. `POST /commands` with JSON or lines of text changes the lab,
//! `GET /` explains, `GET /state`, `/messages`, `/queries`, `/faults` and `/resolvers` show. Not for browsers: requests with an Origin are refused.

use std::{
    fmt::Write as _,
    sync::{Arc, PoisonError},
};

use http_body_util::{BodyExt, Limited};
use hyper::{Method, Request, Response, StatusCode, body::Incoming, header};
use serde_json::{Value, json};

use crate::{
    Error,
    command::{self, Command},
    fault,
    http::{Body, response, whole},
    lab::Shared,
    registry::rdap_service::bootstrap,
    world::World,
};

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";
const LONGEST: usize = 1 << 20;

fn help(shared: &Shared, world: &World) -> String {
    let mut text = format!("The lab, scenario {}.\n\nPOST /commands, one a line (or JSON):\n", world.name);
    for (form, meaning) in command::HELP {
        let _ = writeln!(text, "  {form:<34} {meaning}");
    }
    text.push_str("\nFaults:\n");
    for (name, argument, meaning) in fault::TABLE {
        let form = match argument {
            fault::Argument::None => (*name).to_owned(),
            fault::Argument::Number(n) => format!("{name} [{n}]"),
            fault::Argument::Name => format!("{name} DOMAIN"),
        };
        let _ = writeln!(text, "  {form:<34} {meaning}");
    }
    text.push_str("\nGET /state, /queries, /faults, /resolvers, /messages, /rdap/dns.json\n\nDomains:\n");
    for domain in world.domains.values().filter(|d| d.listed) {
        let _ = writeln!(text, "  {:<34} {}", domain.name, domain.story);
    }
    text.push_str("\nDNS providers:\n");
    for (id, provider) in &world.providers {
        let _ = writeln!(text, "  {:<34} {} ({})", id, provider.name, provider.servers.join(", "));
    }
    text.push_str("\nResolvers:\n");
    for resolver in shared.resolvers.all() {
        let about = &resolver.about;
        let _ = writeln!(text, "  {:<34} {}, {} ({})", about.id, about.name, about.operator, about.host);
    }
    text.push_str("\nRegistrars:\n");
    for (id, registrar) in &world.registrars {
        let _ = writeln!(text, "  {id:<34} {}", registrar.name);
    }
    text
}

fn state(world: &World) -> Value {
    let domains: Vec<Value> = world
        .domains
        .values()
        .map(|d| {
            json!({
                "name": d.name,
                "story": d.story,
                "listed": d.listed,
                "standing": d.standing,
                "registrar": d.registrar,
                "created": d.created.map(|t| t.to_string()),
                "updated": d.updated.map(|t| t.to_string()),
                "expires": d.expires.map(|t| t.to_string()),
                "registrar_expires": d.registrar_expires.map(|t| t.to_string()),
                "statuses": d.statuses,
                "nameservers": d.nameservers,
                "delegated": d.is_delegated(),
                "served_by": d.served_by,
                "dnssec": d.dnssec,
                "serial": d.serial,
            })
        })
        .collect();
    let hosts: Value = world
        .hosts
        .iter()
        .map(|(name, h)| (name.clone(), json!(h.ip.to_string())))
        .collect::<serde_json::Map<_, _>>()
        .into();
    json!({"scenario": world.name, "now": world.clock.now().to_string(), "domains": domains, "hosts": hosts, "faults": faults(world)})
}

fn faults(world: &World) -> Value {
    world.faults.iter().map(|(target, fault)| json!({"target": target, "fault": fault})).collect()
}

fn run(shared: &Shared, text: &str) -> Result<Vec<String>, (Vec<String>, Error)> {
    let wrong = |reason: String| (Vec::new(), Error::Command(reason));
    let trimmed = text.trim();
    let commands: Vec<Command> = if trimmed.starts_with('[') {
        serde_json::from_str(trimmed).map_err(|e| wrong(e.to_string()))?
    } else if trimmed.starts_with('{') {
        vec![serde_json::from_str(trimmed).map_err(|e| wrong(e.to_string()))?]
    } else {
        trimmed
            .lines()
            .map(str::trim)
            .filter(|l| !l.is_empty() && !l.starts_with('#'))
            .map(str::parse)
            .collect::<Result<_, String>>()
            .map_err(wrong)?
    };
    let mut said = Vec::new();
    for command in commands {
        match shared.apply(command) {
            Ok(words) => said.push(words),
            Err(error) => return Err((said, error)),
        }
    }
    Ok(said)
}

fn is_foreign(request: &Request<Incoming>) -> bool {
    let host = request.headers().get(header::HOST).and_then(|h| h.to_str().ok()).unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    request.headers().contains_key(header::ORIGIN) || !matches!(name, "127.0.0.1" | "localhost")
}

/// Answers one request.
pub(crate) async fn answer(shared: Arc<Shared>, request: Request<Incoming>) -> Response<Body> {
    if is_foreign(&request) {
        return response(StatusCode::FORBIDDEN, TEXT, whole("only for programs on this machine\n"));
    }
    let path = request.uri().path().to_owned();
    if request.method() == Method::POST && path == "/commands" {
        let Ok(body) = Limited::new(request.into_body(), LONGEST).collect().await else {
            return response(StatusCode::PAYLOAD_TOO_LARGE, TEXT, whole("at most 1 MiB\n"));
        };
        let bytes = body.to_bytes();
        let text = String::from_utf8_lossy(&bytes);
        let as_json = text.trim_start().starts_with(['{', '[']);
        let (status, said, error) = match run(&shared, &text) {
            Ok(said) => (StatusCode::OK, said, None),
            Err((said, error)) => (StatusCode::BAD_REQUEST, said, Some(error.to_string())),
        };
        if as_json {
            return response(status, JSON, whole(json!({"said": said, "error": error}).to_string()));
        }
        let lines: String = said.into_iter().chain(error).map(|line| line + "\n").collect();
        return response(status, TEXT, whole(lines));
    }
    if request.method() != Method::GET {
        return response(StatusCode::METHOD_NOT_ALLOWED, TEXT, whole("GET, or POST /commands\n"));
    }
    let queries = (path == "/queries").then(|| shared.log.snapshot());
    let world = shared.world.read().unwrap_or_else(PoisonError::into_inner);
    match path.as_str() {
        "/" => response(StatusCode::OK, TEXT, whole(help(&shared, &world))),
        "/state" => response(StatusCode::OK, JSON, whole(state(&world).to_string())),
        "/faults" => response(StatusCode::OK, JSON, whole(faults(&world).to_string())),
        "/queries" => response(StatusCode::OK, JSON, whole(json!(queries).to_string())),
        "/messages" => response(StatusCode::OK, JSON, whole(json!(shared.inbox.snapshot()).to_string())),
        "/resolvers" => response(StatusCode::OK, JSON, whole(shared.resolvers.show().to_string())),
        "/rdap/dns.json" => response(StatusCode::OK, JSON, whole(bootstrap(&world).to_string())),
        _ => response(StatusCode::NOT_FOUND, TEXT, whole("GET / says what there is\n")),
    }
}
