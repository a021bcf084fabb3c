//! Forwards queries to other DoH servers (RFC 8484, GET), each over one connection. The server that answered last is
//! tried first; one that fails is passed over after one attempt.

use crate::backend::Backend;
use crate::codes::{extended, rcode};
use crate::entry::{Entry, Security};
use async_trait::async_trait;
use data_encoding::BASE64URL_NOPAD;
use dns::wire::{Data, Name, Reply, Rr, Rtype};
use jiff::{SignedDuration, Timestamp};
use net::{Dialer, HttpAnswer, Line};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use url::Url;

/// Timeout for one server, short enough to leave time for the next.
const UPSTREAM_TIMEOUT: Duration = Duration::from_secs(3);

const MEDIA_TYPE: &str = "application/dns-message";

/// DoH servers to forward to.
pub struct Upstreams {
    lines: Vec<Line>,
    first: AtomicUsize,
}

/// A text that is not the URL of a DoH server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadUpstream(String);

impl std::fmt::Display for BadUpstream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "“{}” is not a DoH server: use a URL such as https://dns.example/dns-query", self.0)
    }
}

impl std::error::Error for BadUpstream {}

impl Upstreams {
    /// Servers by URL; a trailing `{?dns}` of a URI template is accepted.
    ///
    /// # Errors
    /// [`BadUpstream`] names the first that is not an https URL, or is empty if there is none.
    pub fn new(urls: &[String], dialer: Dialer) -> Result<Self, BadUpstream> {
        let read = |text: &String| {
            let bad = || BadUpstream(text.clone());
            let url = Url::parse(text.trim_end_matches("{?dns}")).map_err(|_| bad())?;
            if url.scheme() == "https" && url.has_host() { Ok(url) } else { Err(bad()) }
        };
        let urls = urls.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let dialers = std::iter::repeat_n(dialer, urls.len());
        let lines: Vec<Line> = dialers.zip(urls).map(|(dialer, url)| Line::new(dialer, url)).collect();
        if lines.is_empty() {
            return Err(BadUpstream(String::new()));
        }
        Ok(Upstreams { lines, first: AtomicUsize::new(0) })
    }
}

/// The reply of an upstream server.
#[derive(Debug, PartialEq)]
struct UpstreamReply {
    reply: Reply,
    /// AD.
    authentic: bool,
    /// Seconds it has been in HTTP caches (`Age`).
    age: u32,
}

async fn ask(line: &Line, question: &[u8], name: &Name, rtype: Rtype) -> Result<UpstreamReply, String> {
    let parameter = ("dns", &*BASE64URL_NOPAD.encode(question));
    let answer =
        line.get(parameter, MEDIA_TYPE, 1 << 16, UPSTREAM_TIMEOUT).await.map_err(|e| e.to_string())?;
    read_reply(&answer, name, rtype)
        .map_err(|why| format!("{}: {why}", line.base().host_str().unwrap_or_default()))
}

/// Parses a response and checks that it answers the question.
///
/// # Errors
/// Why it cannot be used.
fn read_reply(answer: &HttpAnswer, name: &Name, rtype: Rtype) -> Result<UpstreamReply, String> {
    if answer.status != 200 {
        return Err(format!("HTTP status {}", answer.status));
    }
    let reply = Reply::read(&answer.body).map_err(|e| e.to_string())?;
    let authentic = answer.body.get(3).is_some_and(|flags| flags & 0x20 != 0);
    let same = reply.question.as_ref().is_some_and(|(exact, asked, class)| {
        exact.eq_ignore_ascii_case(name.octets()) && *asked == rtype && *class == 1
    });
    match reply.rcode {
        _ if !same => Err("the response is for another question".into()),
        _ if reply.tc => Err("the response is truncated".into()),
        rcode::NOERROR | rcode::NXDOMAIN => {
            Ok(UpstreamReply { reply, authentic, age: age(answer.header("age")) })
        }
        other => Err(dns::wire::rcode_text(other)),
    }
}

/// Parses an `Age` header field; 0 if it is not a number.
fn age(field: Option<&str>) -> u32 {
    field.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// Encodes the query: ID 0, so that equal queries have equal URLs (RFC 8484 section 4.1), RD, and DO, so that one answer
/// serves clients with and without it.
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
        for offset in 0..self.lines.len() {
            let at = (first + offset) % self.lines.len();
            match ask(&self.lines[at], &question, name, rtype).await {
                Ok(UpstreamReply { reply, authentic, age }) => {
                    self.first.store(at, Ordering::Relaxed);
                    let usable = |rr: &Rr| rr.class == 1 && rr.data != Data::Malformed;
                    let answers = reply.answers.iter().filter(|rr| usable(rr)).cloned().collect();
                    let denial = [Rtype::SOA, Rtype::NSEC, Rtype::NSEC3, Rtype::RRSIG];
                    let authority =
                        reply.authority.iter().filter(|rr| usable(rr) && denial.contains(&rr.rtype));
                    let mut entry = Entry::relayed(now, reply.rcode, answers, authority.cloned().collect());
                    // TTLs count from when the response was generated (RFC 8484 section 5.1).
                    entry.since = now.checked_sub(SignedDuration::from_secs(age.into())).unwrap_or(now);
                    // The channel is authenticated, so the AD bit is trusted (RFC 6840 section 5.8).
                    if authentic {
                        entry.security = Security::Secure;
                    }
                    return entry;
                }
                Err(reason) => why = reason,
            }
        }
        Entry::failure(now, extended::NETWORK, format!("no upstream server answered: {why}"))
    }

    fn distinguishes_unchecked(&self) -> bool {
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
        assert_eq!(new("https://dns.example/dns-query{?dns}").unwrap().lines[0].base().path(), "/dns-query");
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
    #[test]
    fn only_an_answer_to_the_question_counts() {
        let name = Name::from_text("www.example").unwrap();
        // The question sent back as an answer, with one address.
        let mut well = vec![0, 0, 0x81, 0xA0, 0, 1, 0, 1, 0, 0, 0, 0];
        well.extend(name.to_wire());
        well.extend([0, 1, 0, 1, 0xC0, 12, 0, 1, 0, 1, 0, 0, 1, 44, 0, 4, 192, 0, 2, 1]);
        let answer = |status: u16, body: &[u8], age: Option<&str>| HttpAnswer {
            status,
            headers: age.map(|a| ("age".to_string(), a.to_string())).into_iter().collect(),
            body: body.to_vec(),
            final_url: Url::parse("https://dns.example/dns-query").unwrap(),
        };
        let said = read_reply(&answer(200, &well, None), &name, Rtype::A).unwrap();
        assert_eq!((said.reply.answers.len(), said.authentic, said.age), (1, true, 0));
        for (text, age) in [("17", 17), (" 5 ", 5), ("soon", 0), ("-1", 0), ("99999999999", 0)] {
            let said = read_reply(&answer(200, &well, Some(text)), &name, Rtype::A).unwrap();
            assert_eq!(said.age, age, "{text}");
        }
        let changed = |at: usize, octet: u8| {
            let mut message = well.clone();
            message[at] = octet;
            message
        };
        let other = Name::from_text("other.example").unwrap();
        for (what, body, status, name, words) in [
            ("another name", well.clone(), 200, &other, "another question"),
            ("no question", changed(5, 0), 200, &name, ""),
            ("another class", changed(28, 3), 200, &name, "another question"),
            ("cut off", changed(2, 0x83), 200, &name, "truncated"),
            ("SERVFAIL", changed(3, 0x82), 200, &name, "SERVFAIL"),
            ("a question", changed(2, 0x01), 200, &name, ""),
            ("a page", b"<html>".to_vec(), 200, &name, ""),
            ("not found", well.clone(), 404, &name, "404"),
        ] {
            let why = read_reply(&answer(status, &body, None), name, Rtype::A).unwrap_err();
            assert!(why.contains(words), "{what}: {why}");
        }
        let why = read_reply(&answer(200, &well, None), &name, Rtype::AAAA).unwrap_err();
        assert!(why.contains("another question"), "{why}");
    }
}
