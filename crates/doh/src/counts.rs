//! What is counted: requests, answers, seconds. Each counter is found once: looking it up by its labels costs more than
//! an answer from the cache.

use crate::steps::Source;
use axum::http::{Method, StatusCode};
use metrics::{Counter, Histogram};
use std::sync::OnceLock;
use std::time::Duration;

/// The last counts all others.
const METHODS: [&str; 5] = ["GET", "HEAD", "POST", "OPTIONS", "other"];
const CACHE: [&str; 4] = ["none", "hit", "miss", "stale"];
const STATUSES: [u16; 11] = [200, 204, 400, 404, 405, 406, 408, 413, 415, 429, 503];
/// RCODEs with a counter of their own at hand.
const RCODES: usize = 17;

/// Counters of one address.
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

    /// Counts a request that was answered.
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

    /// Counts an answer.
    pub(crate) fn answer(&self, rcode: u16) {
        let counter =
            || metrics::counter!("domainscope_doh_answers_total", "rcode" => dns::wire::rcode_text(rcode));
        match self.answers.get(usize::from(rcode)) {
            Some(place) => place.get_or_init(counter).increment(1),
            None => counter().increment(1),
        }
    }
}
