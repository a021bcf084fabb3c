//! Other DoH servers as the source of answers (RFC 8484 GET). In: `https://…/dns-query` URLs. Out: entries as they
//! relay them. The one that answered last is asked first; a failing one costs one attempt.

use crate::backend::{Backend, extended};
use crate::entry::{Entry, Security, rcode};
use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use dns::wire::{Data, Name, Reply, Rr, Rtype};
use jiff::{SignedDuration, Timestamp};
use net::Dialer;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use url::Url;

/// How long one server may take: a silent one must leave time for the next.
const PATIENCE: Duration = Duration::from_secs(3);

const MEDIA_TYPE: &str = "application/dns-message";

/// DoH servers that are asked instead of the authoritative ones.
pub struct Upstreams {
    urls: Vec<Url>,
    dialer: Dialer,
    first: AtomicUsize,
}

/// An upstream that can't be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadUpstream(String);

impl std::fmt::Display for BadUpstream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "“{}” is no DoH server: give a URL such as https://dns.example/dns-query", self.0)
    }
}

impl std::error::Error for BadUpstream {}

impl Upstreams {
    /// Servers by URL; a template's `{?dns}` at the end is understood.
    ///
    /// # Errors
    /// [`BadUpstream`] names the one that is no https URL; the operator corrects the setting.
    pub fn new(urls: &[String], dialer: Dialer) -> Result<Self, BadUpstream> {
        let read = |text: &String| {
            let bad = || BadUpstream(text.clone());
            let url = Url::parse(text.trim_end_matches("{?dns}")).map_err(|_| bad())?;
            if url.scheme() == "https" && url.has_host() { Ok(url) } else { Err(bad()) }
        };
        let urls = urls.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        if urls.is_empty() {
            return Err(BadUpstream(String::new()));
        }
        Ok(Upstreams { urls, dialer, first: AtomicUsize::new(0) })
    }

    /// The reply, whether its AD bit is set, and for how many seconds HTTP caches have had it.
    async fn ask(
        &self,
        url: &Url,
        question: &[u8],
        name: &Name,
        rtype: Rtype,
    ) -> Result<(Reply, bool, u32), String> {
        let mut url = url.clone();
        url.query_pairs_mut().append_pair("dns", &URL_SAFE_NO_PAD.encode(question));
        let host = url.host_str().unwrap_or_default();
        let answer = tokio::time::timeout(PATIENCE, self.dialer.http_get(&url, MEDIA_TYPE, 1 << 16))
            .await
            .map_err(|_| format!("{host} did not answer in time"))?
            .map_err(|e| e.to_string())?;
        if answer.status != 200 {
            return Err(format!("{host} answered with status {}", answer.status));
        }
        let reply = Reply::read(&answer.body).map_err(|e| format!("{host}: {e}"))?;
        let authentic = answer.body.get(3).is_some_and(|flags| flags & 0x20 != 0);
        let same = reply.question.as_ref().is_some_and(|(labels, asked, class)| {
            let lower = labels.iter().map(|l| l.to_ascii_lowercase());
            lower.eq(name.labels().iter().cloned()) && *asked == rtype && *class == 1
        });
        match reply.rcode {
            _ if !same || reply.tc => Err(format!("{host} answered something else")),
            rcode::NOERROR | rcode::NXDOMAIN => Ok((reply, authentic, age(answer.header("age")))),
            other => Err(format!("{host} answered {}", dns::wire::rcode_text(other))),
        }
    }
}

/// Seconds of an `Age` header field; what is no number is none.
fn age(field: Option<&str>) -> u32 {
    field.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// The question as it is sent: id 0 so that equal questions have equal URLs, RD, and DO so that one answer serves all.
fn question(name: &Name, rtype: Rtype, unchecked: bool) -> Vec<u8> {
    let mut out = vec![0, 0, 1, if unchecked { 0x10 } else { 0 }, 0, 1, 0, 0, 0, 0, 0, 1];
    out.extend(name.to_wire());
    out.extend(rtype.0.to_be_bytes());
    out.extend([0, 1, 0, 0, 41, 4, 208, 0, 0, 0x80, 0]);
    // Padded to a multiple of 128 (RFC 8467 section 4.1).
    let so_far = out.len() + 2 + 4;
    let zeros = so_far.div_ceil(128) * 128 - so_far;
    out.extend((zeros as u16 + 4).to_be_bytes());
    out.extend([0, 12]);
    out.extend((zeros as u16).to_be_bytes());
    out.resize(out.len() + zeros, 0);
    out
}

#[async_trait]
impl Backend for Upstreams {
    async fn look_up(&self, name: &Name, rtype: Rtype, unchecked: bool, now: Timestamp) -> Entry {
        let question = question(name, rtype, unchecked);
        let first = self.first.load(Ordering::Relaxed);
        let mut why = String::new();
        for offset in 0..self.urls.len() {
            let at = (first + offset) % self.urls.len();
            match self.ask(&self.urls[at], &question, name, rtype).await {
                Ok((reply, authentic, age)) => {
                    self.first.store(at, Ordering::Relaxed);
                    let usable = |rr: &Rr| rr.class == 1 && rr.data != Data::Malformed;
                    let answers = reply.answers.iter().filter(|rr| usable(rr)).cloned().collect();
                    let denial = [Rtype::SOA, Rtype::NSEC, Rtype::NSEC3, Rtype::RRSIG];
                    let authority =
                        reply.authority.iter().filter(|rr| usable(rr) && denial.contains(&rr.rtype));
                    let mut entry = Entry::relayed(now, reply.rcode, answers, authority.cloned().collect());
                    // TTLs count from when the answer was made (RFC 8484 section 5.1).
                    entry.since = now.checked_sub(SignedDuration::from_secs(age.into())).unwrap_or(now);
                    // The connection is authenticated: its word about validation is taken (RFC 6840 section 5.8).
                    if authentic {
                        entry.security = Security::Secure;
                    }
                    return entry;
                }
                Err(reason) => why = reason,
            }
        }
        Entry::failure(now, extended::NETWORK, format!("no upstream gave an answer: {why}"))
    }

    fn minds_unchecked(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_https_urls_are_upstreams() {
        let dialer = || Dialer::new(net::Settings::default()).unwrap();
        let new = |url: &str| Upstreams::new(&[url.to_string()], dialer());
        assert_eq!(new("https://dns.example/dns-query{?dns}").unwrap().urls[0].path(), "/dns-query");
        for bad in ["http://dns.example/dns-query", "dns.example", "", "https://"] {
            let error = new(bad).err().map(|e| e.to_string()).unwrap_or_default();
            assert!(error.contains("https://dns.example/dns-query"), "{bad}: {error}");
        }
    }

    #[test]
    fn questions_are_padded_and_readable() {
        let name = Name::from_text("www.example.com").unwrap();
        let sent = question(&name, Rtype::AAAA, true);
        assert_eq!(sent.len() % 128, 0);
        let read = crate::message::Query::read(&sent).unwrap();
        assert_eq!((read.id, read.rtype, read.unchecked, read.recursion), (0, Rtype::AAAA, true, true));
        assert!(read.edns.is_some_and(|e| e.padded && e.dnssec_ok && e.version == 0));
    }
}
