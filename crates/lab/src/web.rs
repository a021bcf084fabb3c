//! Web servers of the lab: HTTPS on the common port, a page, a status, a redirect or small files.
//! In: a request to a host. Out: what the scenario says; faults as elsewhere.

use std::sync::{Arc, PoisonError};

use http_body_util::{BodyExt, Limited};
use hyper::{
    Method, Request, Response, StatusCode,
    body::Incoming,
    header::{self, HeaderValue},
};

use crate::{
    domain_connect,
    fault::Fault,
    http::{self, Body, broken_off, drip, huge, whole},
    inbox::{self, Received},
    lab::Shared,
    measurements,
    target::Service,
};

const HTML: &str = "text/html; charset=utf-8";

/// Answers one request.
pub(crate) async fn answer(shared: Arc<Shared>, host: String, request: Request<Incoming>) -> Response<Body> {
    let path = request.uri().path().to_owned();
    let _open = shared.log.open(&host, &path);
    let (site, fault) = {
        let world = shared.world.read().unwrap_or_else(PoisonError::into_inner);
        let fault = world.faults.of_service(Service::Web, &host, None).map(|(_, f)| f.clone()).last();
        (world.web.get(&host).cloned(), fault)
    };
    let Some(site) = site else {
        return http::response(StatusCode::NOT_FOUND, HTML, whole("no such site\n"));
    };
    if let Some(provider) = &site.domain_connect
        && fault.is_none()
    {
        return domain_connect::answer(&shared, &site, provider, &request);
    }
    if let Some(network) = site.measurements.as_ref().filter(|_| fault.is_none()) {
        return measurements::answer(network, request).await;
    }
    if *request.method() == Method::POST && fault.is_none() {
        return posted(&shared, &host, site.status, request).await;
    }
    let page = format!("<!doctype html><title>{host}</title><p>{host}, a web server of the lab.</p>\n");
    let body = site.files.get(&path).cloned().or(site.body).unwrap_or(page);
    let status = if site.files.contains_key(&path) { None } else { site.status };
    let status = StatusCode::from_u16(status.unwrap_or(200)).unwrap_or(StatusCode::OK);
    let to = |status: StatusCode, location: &str| {
        let mut response = http::response(status, HTML, whole(""));
        if let Ok(value) = HeaderValue::from_str(location) {
            response.headers_mut().insert(header::LOCATION, value);
        }
        response
    };
    match fault {
        Some(Fault::Hang | Fault::Dead) => std::future::pending().await,
        Some(Fault::Refused) => http::response(StatusCode::FORBIDDEN, HTML, whole("forbidden\n")),
        Some(Fault::CloseEarly) => http::response(status, HTML, broken_off(&body)),
        Some(Fault::Huge) => http::response(status, HTML, huge()),
        Some(Fault::Drip) => http::response(status, HTML, drip(body)),
        Some(Fault::Http500) => http::response(StatusCode::INTERNAL_SERVER_ERROR, HTML, whole("broken\n")),
        Some(Fault::RedirectLoop) => to(StatusCode::FOUND, &path),
        Some(Fault::Slow(ms)) => {
            tokio::time::sleep(std::time::Duration::from_millis(ms.into())).await;
            http::response(status, HTML, whole(body))
        }
        _ => match site.redirect {
            Some(location) if !site.files.contains_key(&path) => to(StatusCode::MOVED_PERMANENTLY, &location),
            _ => http::response(status, HTML, whole(body)),
        },
    }
}

/// Keeps a body and answers with the site's status.
async fn posted(
    shared: &Shared,
    host: &str,
    status: Option<u16>,
    request: Request<Incoming>,
) -> Response<Body> {
    const TEXT: &str = "text/plain; charset=utf-8";
    let at = format!("https://{host}{}", request.uri().path());
    let id = request.headers().get("webhook-id").and_then(|v| v.to_str().ok()).unwrap_or_default().to_owned();
    let Ok(body) = Limited::new(request.into_body(), inbox::LONGEST).collect().await else {
        return http::response(StatusCode::PAYLOAD_TOO_LARGE, TEXT, whole("at most 1 MiB\n"));
    };
    let status = StatusCode::from_u16(status.unwrap_or(200)).unwrap_or(StatusCode::OK);
    let body = String::from_utf8_lossy(&body.to_bytes()).into_owned();
    shared.inbox.put(Received { at, to: vec![], id, status: status.as_u16(), body });
    http::response(status, TEXT, whole(if status.is_success() { "received\n" } else { "" }))
}
