//! What servers' clocks say (`Date`, RFC 9110 section 6.6.1), for those who judge the clock of this machine. Kept for the
//! newest answer of each host until taken. Only the bootstrap's host and the registries' servers that it lists are heard,
//! and only over TLS: a host that a link or a redirect of a stranger leads to must not have a word in it.

use model::Timestamp;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use url::Url;

/// Hosts that are kept at the same time.
const HOSTS: usize = 32;

/// The date an answer stated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerDate {
    /// The host that answered.
    pub host: String,
    /// Its time when it answered.
    pub date: Timestamp,
    /// When the answer had arrived.
    pub received: Instant,
}

/// The newest date of each host.
#[derive(Default)]
pub(super) struct Dates(Mutex<BTreeMap<String, ServerDate>>);

impl Dates {
    /// Notes the date of an answer to a question to `url`, unless a redirect led to another host.
    pub fn note(&self, url: &Url, answer: &net::HttpAnswer) {
        let heard = [url, &answer.final_url].iter().all(|u| u.scheme() == "https")
            && url.host_str() == answer.final_url.host_str();
        let Some(date) = date_of(answer).filter(|_| heard) else { return };
        let host = url.host_str().unwrap_or_default().to_string();
        let mut dates = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if dates.len() < HOSTS || dates.contains_key(&host) {
            dates.insert(host.clone(), ServerDate { host, date, received: Instant::now() });
        }
    }

    pub fn take(&self) -> Vec<ServerDate> {
        let mut dates = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *dates).into_values().collect()
    }
}

/// The server's time: its `Date`, and the time that the answer lay in caches since (`Age`).
fn date_of(answer: &net::HttpAnswer) -> Option<Timestamp> {
    let dates = jiff::fmt::rfc2822::DateTimeParser::new().relaxed_weekday(true);
    let date = dates.parse_timestamp(answer.header("date")?.trim()).ok()?;
    let age: i64 = answer.header("age").map_or(Some(0), |a| a.trim().parse().ok())?;
    date.checked_add(jiff::SignedDuration::from_secs(age)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(fields: &[(&str, &str)]) -> net::HttpAnswer {
        net::HttpAnswer {
            status: 200,
            headers: fields.iter().map(|(n, v)| ((*n).to_string(), (*v).to_string())).collect(),
            body: Vec::new(),
            final_url: Url::parse("https://rdap.nic.test/").unwrap(),
        }
    }

    #[test]
    fn a_cached_answer_is_as_old_as_it_says() {
        let date = ("date", "Fri, 20 Nov 2026 12:00:00 GMT");
        let read = |fields: &[(&str, &str)]| date_of(&answer(fields)).map(|t| t.to_string());
        assert_eq!(read(&[date]).as_deref(), Some("2026-11-20T12:00:00Z"));
        assert_eq!(read(&[date, ("age", "3600")]).as_deref(), Some("2026-11-20T13:00:00Z"));
        assert_eq!(read(&[date, ("age", "old")]), None);
        assert_eq!(read(&[("date", "yesterday")]), None);
        assert_eq!(read(&[]), None);
    }

    #[test]
    fn only_hosts_asked_over_tls_are_kept_and_not_too_many() {
        let dates = Dates::default();
        let note = |asked: &str, answered: &str| {
            let stated = answer(&[("date", "Fri, 20 Nov 2026 12:00:00 GMT")]);
            let stated = net::HttpAnswer { final_url: Url::parse(answered).unwrap(), ..stated };
            dates.note(&Url::parse(asked).unwrap(), &stated);
        };
        note("http://plain.test/", "http://plain.test/");
        note("https://h.test/", "https://other.test/");
        note("https://h.test/", "http://h.test/");
        assert_eq!(dates.take(), []);
        note("https://h.test/domain/a", "https://h.test/b");
        assert_eq!(dates.take().len(), 1);
        for i in 0..2 * HOSTS {
            let url = format!("https://h{i}.test/");
            note(&url, &url);
        }
        assert_eq!((dates.take().len(), dates.take().len()), (HOSTS, 0));
    }
}
