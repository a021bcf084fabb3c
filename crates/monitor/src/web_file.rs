//! HTTP proofs of ownership: what a web server returns at a challenge's address. In: a guarded way out. Out: one answer.

use jiff::Timestamp;
use model::ownership::{Challenge, ExpectedRecord, Observed, Reply, ServerAnswer, Value};
use net::Dialer;
use url::Url;

/// Octets of a proof file that are read; one that is longer than this many characters is a page, not a proof.
const FILE: usize = 4096;
const FILE_CHARACTERS: usize = 200;
/// Redirects of a proof file that are followed, on its own host.
const REDIRECTS: usize = 3;

/// What a web server returns for an HTTP proof. Redirects are followed on the same host only: another host proves
/// nothing about this one.
pub(crate) async fn web_file(
    web: &Dialer,
    challenge: &Challenge,
    expected: &ExpectedRecord,
    now: Timestamp,
) -> Observed {
    let address = web.addresses(&challenge.domain).await.ok().and_then(|all| all.first().copied());
    let reply = fetch(web, expected).await.unwrap_or_else(|reason| Reply::Unusable { reason });
    Observed {
        at: now,
        servers: vec![ServerAnswer { nameserver: challenge.domain.clone(), address, serial: None, reply }],
        dnssec: model::dns::DnssecStatus::Insecure,
        elsewhere: Vec::new(),
        negative_ttl: None,
    }
}

async fn fetch(web: &Dialer, expected: &ExpectedRecord) -> Result<Reply, String> {
    let mut url = Url::parse(&expected.name).map_err(|e| e.to_string())?;
    for _ in 0..=REDIRECTS {
        let answer = web.http_get_start(&url, "text/plain", FILE).await.map_err(|e| e.to_string())?;
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
    use std::net::{IpAddr, SocketAddr};
    use std::sync::Arc;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    struct Everywhere(IpAddr);

    #[async_trait::async_trait]
    impl net::Resolve for Everywhere {
        async fn resolve(&self, _: &str) -> Result<Vec<IpAddr>, String> {
            Ok(vec![self.0])
        }
    }

    /// The outcome of a round against a web server that answers with this.
    async fn outcome(answer: String) -> (Outcome, Round) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut buffer = [0; 2048];
                let _ = stream.read(&mut buffer).await;
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        let public: IpAddr = "8.8.8.8".parse().unwrap();
        let web = Dialer::new(net::Settings {
            resolver: Arc::new(Everywhere(public)),
            address_map: [(SocketAddr::new(public, 80), at)].into_iter().collect(),
            ..net::Settings::default()
        })
        .unwrap();
        let now = Timestamp::UNIX_EPOCH;
        let claim =
            Claim::new("plain.example", Nonce::new([7; 20]), Method::Http, now, &ClaimPolicy::default());
        let expected = claim.challenge.expected(Method::Http, None, "c1").unwrap();
        let seen = web_file(&web, &claim.challenge, &expected, now).await;
        let round = Round::judge(&claim.challenge, Method::Http, &expected, seen);
        (round.outcome, round)
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
            let (outcome, round) = outcome(answer.clone()).await;
            assert_eq!(outcome, expected, "{answer} {round:#?}");
        }
    }
}
