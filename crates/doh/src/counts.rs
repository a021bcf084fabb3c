//! Metrics of requests and responses. Each counter is looked up once and kept: a lookup by labels costs more than a
//! response from the cache.

use crate::message::Source;
use axum::http::{Method, StatusCode};
use metrics::{Counter, Histogram};
use std::sync::OnceLock;
use std::time::Duration;

/// Label values of the method; the last stands for all others.
const METHODS: [&str; 5] = ["GET", "HEAD", "POST", "OPTIONS", "other"];
const CACHE: [&str; 4] = ["none", "hit", "miss", "stale"];
const STATUSES: [u16; 11] = [200, 204, 400, 404, 405, 406, 408, 413, 415, 429, 503];
/// RCODEs whose counters are kept.
const RCODES: usize = 17;

/// Counters of one path.
pub(crate) struct Counts {
    path: &'static str,
    requests: Vec<OnceLock<Counter>>,
    seconds: [OnceLock<Histogram>; CACHE.len()],
    answers: [OnceLock<Counter>; RCODES],
}

impl Counts {
    pub(crate) fn new(path: &'static str) -> Self {
        let places = METHODS.len() * CACHE.len() * STATUSES.len();
        let requests = (0..places).map(|_| OnceLock::new()).collect();
        Counts { path, requests, seconds: Default::default(), answers: Default::default() }
    }

    /// Counts a request and its duration.
    pub(crate) fn request(&self, method: &Method, source: Source, status: StatusCode, took: Duration) {
        let method = METHODS.iter().position(|m| *m == method.as_str()).unwrap_or(METHODS.len() - 1);
        let cache = match source {
            Source::Nowhere => 0,
            Source::Cache => 1,
            Source::Lookup => 2,
            Source::Stale => 3,
        };
        self.seconds[cache]
            .get_or_init(|| metrics::histogram!("domainscope_doh_seconds", "cache" => CACHE[cache]))
            .record(took.as_secs_f64());
        let counter = || {
            metrics::counter!(
                "domainscope_doh_requests_total",
                "path" => self.path,
                "method" => METHODS[method],
                "cache" => CACHE[cache],
                "status" => status.as_str().to_string()
            )
        };
        match STATUSES.iter().position(|s| *s == status.as_u16()) {
            Some(at) => {
                let place = (method * CACHE.len() + cache) * STATUSES.len() + at;
                self.requests[place].get_or_init(counter).increment(1);
            }
            None => counter().increment(1),
        }
    }

    /// Counts a DNS response.
    pub(crate) fn answer(&self, rcode: u16) {
        let counter =
            || metrics::counter!("domainscope_doh_answers_total", "rcode" => dns::wire::rcode_text(rcode));
        match self.answers.get(usize::from(rcode)) {
            Some(place) => place.get_or_init(counter).increment(1),
            None => counter().increment(1),
        }
    }
}
