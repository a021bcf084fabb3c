//! HTTP proofs of ownership: what a web server returns at a challenge's address. In: a guarded way out. Out: one
//! answer for each of its addresses.

use futures::future::join_all;
use jiff::Timestamp;
use model::ownership::{Challenge, ExpectedRecord, Observed, Reply, ServerAnswer, Value};
use net::Dialer;
use std::net::IpAddr;
use std::time::Duration;
use url::Url;

/// Octets of a proof file that are read; one that is longer than this many characters is a page, not a proof.
const FILE: usize = 4096;
const FILE_CHARACTERS: usize = 200;
/// Redirects of a proof file that are followed, on its own host.
const REDIRECTS: usize = 3;
/// Addresses of a host that are asked, and that are listed at all: whose name it is decides how many there are.
const ADDRESSES: usize = 16;
const SHOWN: usize = 32;
/// For one address, redirects included.
const TIME: Duration = Duration::from_secs(20);

/// What the web server returns for an HTTP proof: a row for each of its addresses, asked by itself. A name that has a
/// private address too is refused as a whole.
pub(crate) async fn web_file(
    web: &Dialer,
    challenge: &Challenge,
    expected: &ExpectedRecord,
    now: Timestamp,
) -> Observed {
    let row = |address: Option<IpAddr>, reply: Reply| ServerAnswer {
        nameserver: challenge.domain.clone(),
        address,
        serial: None,
        reply,
    };
    let servers = match web.addresses(&challenge.domain).await {
        Err(e) => vec![row(None, Reply::Unusable { reason: e.to_string() })],
        Ok(mut all) => {
            all.sort();
            all.dedup();
            // A machine without IPv6 can say nothing about addresses of IPv6.
            if all.iter().any(|a| web.has_route(*a)) {
                all.retain(|a| web.has_route(*a));
            }
            let replies = all.iter().take(SHOWN).enumerate().map(|(place, address)| async move {
                if place >= ADDRESSES {
                    let reason = format!("not checked: only the first {ADDRESSES} addresses are");
                    return Reply::Unusable { reason };
                }
                tokio::time::timeout(TIME, fetch(web, expected, *address))
                    .await
                    .unwrap_or_else(|_| Err(format!("no answer within {} s", TIME.as_secs())))
                    .unwrap_or_else(|reason| Reply::Unusable { reason })
            });
            let replies = join_all(replies).await;
            all.iter().zip(replies).map(|(address, reply)| row(Some(*address), reply)).collect()
        }
    };
    Observed {
        at: now,
        servers,
        dnssec: model::dns::DnssecStatus::Insecure,
        elsewhere: Vec::new(),
        negative_ttl: None,
    }
}

/// What one address returns. Redirects are followed on the same host, at the same address: another host proves nothing
/// about this one.
async fn fetch(web: &Dialer, expected: &ExpectedRecord, address: IpAddr) -> Result<Reply, String> {
    let mut url = Url::parse(&expected.name).map_err(|e| e.to_string())?;
    for _ in 0..=REDIRECTS {
        let answer =
            web.http_get_start_at(&url, address, "text/plain", FILE).await.map_err(|e| e.to_string())?;
        let next = answer.redirect().map_err(|e| e.to_string())?;
        if let Some(next) = next {
            let host = next.host_str().unwrap_or_default().to_string();
            if url.host_str() != Some(&host) {
                return Err(format!("it redirects to another host ({host})"));
            }
            if !matches!(next.port_or_known_default(), Some(80 | 443)) {
                return Err("it redirects to another port than 80 or 443".into());
            }
            url = next;
            continue;
        }
        return match answer.status {
            200 => {
                let text = String::from_utf8_lossy(&answer.body).trim().to_string();
                let is_page = text.chars().count() > FILE_CHARACTERS;
                let value = Value { rtype: expected.rtype.clone(), text };
                Ok(Reply::Records { values: if is_page { Vec::new() } else { vec![value] } })
            }
            404 | 410 => Ok(Reply::NoSuchName),
            status => Err(format!("the web server answered with status {status}")),
        };
    }
    Err(format!("more than {REDIRECTS} redirects"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ownership::{Claim, ClaimPolicy, Method, Nonce, Outcome, Round};
    use std::net::SocketAddr;
    use std::sync::Arc;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    struct Everywhere(Vec<IpAddr>);

    #[async_trait::async_trait]
    impl net::Resolve for Everywhere {
        async fn resolve(&self, _: &str) -> Result<Vec<IpAddr>, String> {
            Ok(self.0.clone())
        }
    }

    /// A web server that answers with this; `None` closes the connection without a word.
    async fn server(answer: Option<String>) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut buffer = [0; 2048];
                let _ = stream.read(&mut buffer).await;
                if let Some(answer) = &answer {
                    let _ = stream.write_all(answer.as_bytes()).await;
                }
            }
        });
        at
    }

    /// A round against a host whose addresses answer with these.
    async fn round(answers: Vec<(IpAddr, Option<String>)>) -> Round {
        let mut map = Vec::new();
        for (address, answer) in answers.clone() {
            let at = server(answer).await;
            map.extend([80, 443].map(|port| (SocketAddr::new(address, port), at)));
        }
        let web = Dialer::new(net::Settings {
            resolver: Arc::new(Everywhere(answers.iter().map(|(address, _)| *address).collect())),
            address_map: map.into_iter().collect(),
            ..net::Settings::default()
        })
        .unwrap();
        let now = Timestamp::UNIX_EPOCH;
        let claim =
            Claim::new("plain.example", Nonce::new([7; 20]), Method::Http, now, &ClaimPolicy::default());
        let expected = claim.challenge.expected(Method::Http, None, "c1").unwrap();
        let seen = web_file(&web, &claim.challenge, &expected, now).await;
        Round::judge(&claim.challenge, Method::Http, &expected, seen)
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn page(status: &str, head: &str, body: &str) -> String {
        let length = body.len();
        format!("HTTP/1.1 {status}\r\n{head}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}")
    }

    #[tokio::test]
    async fn only_the_value_itself_is_a_proof() {
        let value = Nonce::new([7; 20]).to_string();
        let cases = [
            (page("200 OK", "", &format!("{value}\n")), Outcome::Proven),
            (page("200 OK", "", &Nonce::new([8; 20]).to_string()), Outcome::Denied),
            (page("200 OK", "", &format!("<p>{value}</p>{}", "x".repeat(300))), Outcome::Denied),
            (page("404 Not Found", "", &value), Outcome::Denied),
            (page("500 Internal Server Error", "", &value), Outcome::NoAnswer),
            (page("302 Found", "Location: http://other.example/\r\n", &value), Outcome::NoAnswer),
            (page("302 Found", "Location: http://plain.example:22/\r\n", &value), Outcome::NoAnswer),
            (page("302 Found", "Location: /again\r\n", &value), Outcome::NoAnswer),
        ];
        for (answer, expected) in cases {
            let round = round(vec![(ip("8.8.8.8"), Some(answer.clone()))]).await;
            assert_eq!(round.outcome, expected, "{answer} {round:#?}");
        }
    }

    #[tokio::test]
    async fn each_address_is_asked_and_they_must_agree() {
        let value = page("200 OK", "", Nonce::new([7; 20]).as_str());
        let other = page("404 Not Found", "", "");
        let (one, two, six) = (ip("8.8.8.8"), ip("9.9.9.9"), ip("2620:fe::fe"));
        for (answers, expected, rows) in [
            (vec![(one, Some(value.clone())), (two, Some(value.clone()))], Outcome::Proven, 2),
            (vec![(one, Some(value.clone())), (six, Some(other.clone()))], Outcome::Mixed, 2),
            (vec![(one, Some(other)), (two, Some(value.clone()))], Outcome::Mixed, 2),
            (vec![(one, Some(value.clone())), (two, None)], Outcome::ProvenByFew, 2),
            // The same address twice is one.
            (vec![(one, Some(value.clone())), (one, Some(value.clone()))], Outcome::Proven, 1),
            // A private address beside a public one: neither is asked.
            (vec![(one, Some(value.clone())), (ip("10.0.0.1"), Some(value.clone()))], Outcome::NoAnswer, 1),
        ] {
            let addresses: Vec<IpAddr> = answers.iter().map(|(address, _)| *address).collect();
            let round = round(answers).await;
            assert_eq!((round.outcome, round.servers.len()), (expected, rows), "{addresses:?} {round:#?}");
        }
        // A redirect stays at the address it came from, which does not speak TLS.
        let away = page("302 Found", "Location: https://plain.example/\r\n", "");
        let round = round(vec![(one, Some(away)), (two, Some(value))]).await;
        assert_eq!(round.outcome, Outcome::ProvenByFew, "{round:#?}");
    }

    #[tokio::test]
    async fn the_owner_of_a_name_does_not_decide_how_many_addresses_are_asked() {
        let value = page("200 OK", "", Nonce::new([7; 20]).as_str());
        let at = server(Some(value)).await;
        let addresses: Vec<IpAddr> = (1..=200).map(|n| IpAddr::from([8, 8, 8, n])).collect();
        let map = addresses.iter().map(|address| (SocketAddr::new(*address, 80), at)).collect();
        let resolver = Arc::new(Everywhere(addresses));
        let settings = net::Settings { resolver, address_map: map, ..net::Settings::default() };
        let claim = Claim::new(
            "plain.example",
            Nonce::new([7; 20]),
            Method::Http,
            Timestamp::UNIX_EPOCH,
            &ClaimPolicy::default(),
        );
        let expected = claim.challenge.expected(Method::Http, None, "c1").unwrap();
        let web = Dialer::new(settings).unwrap();
        let seen = web_file(&web, &claim.challenge, &expected, Timestamp::UNIX_EPOCH).await;
        let asked = seen.servers.iter().filter(|s| s.reply.is_answer()).count();
        assert_eq!((seen.servers.len(), asked), (SHOWN, ADDRESSES));
    }
}
