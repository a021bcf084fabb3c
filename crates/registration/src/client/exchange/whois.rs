//! One WHOIS exchange (RFC 3912). In: host, port and question; out: bytes, capped and within time.

use crate::client::context::Context;
use crate::client::error::{FailureKind, LookupError};
use crate::client::pace::Turn;
use crate::client::result::Failure;
use crate::data::whois_servers;
use crate::whois::{WhoisReading, decode_text, parse_whois};
use model::detail::RawAnswer;
use model::registration::{Outcome, Party, Protocol};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Sends one line and reads until the server closes.
pub(in crate::client) async fn exchange(
    context: &Context,
    host: &str,
    port: u16,
    line: &str,
    patience: net::Patience,
) -> Result<(Vec<u8>, net::Permit), LookupError> {
    let (budget, limit) = context.settings.limit_of(host);
    let permit = context.budgets.acquire(&budget, limit, patience).await?;
    let mut stream = context.dialer.tcp(host, port).await?;
    let cap = context.settings.cap;
    let limit = context.settings.whois_timeout;
    let talk = async {
        stream.write_all(line.as_bytes()).await?;
        let mut read = Vec::with_capacity(4096);
        let mut chunk = [0u8; 8192];
        loop {
            let n = match stream.read(&mut chunk).await {
                // Some servers hang up without having read the whole line, which resets the connection: what says of
                // itself that it is complete is.
                Err(e) if e.kind() == std::io::ErrorKind::ConnectionReset && has_closing_line(&read) => 0,
                other => other?,
            };
            if n == 0 || read.len() + n > cap {
                read.extend_from_slice(&chunk[..n.min(cap + 1 - read.len().min(cap))]);
                return Ok::<_, std::io::Error>(read);
            }
            read.extend_from_slice(&chunk[..n]);
        }
    };
    let read = tokio::time::timeout(limit, talk)
        .await
        .map_err(|_| {
            let seconds = limit.as_secs_f32();
            LookupError::new(
                FailureKind::Timeout,
                format!("{host} did not finish its answer within {seconds} s"),
            )
        })?
        .map_err(|e| LookupError::new(FailureKind::Unreachable, format!("{host} broke off: {e}")))?;
    if read.len() > cap {
        return Err(LookupError::new(FailureKind::TooLarge, format!("{host} sent more than {cap} bytes")));
    }
    Ok((read, permit))
}

/// Asks a server about a name and reads the answer.
pub(in crate::client) async fn ask(
    context: &Context,
    host: &str,
    port: u16,
    party: Party,
    name: &str,
    turn: Turn,
    raw: &mut Vec<RawAnswer>,
) -> Result<WhoisReading, Failure> {
    let Turn { now, patience, .. } = turn;
    let fail = |error| Failure { protocol: Protocol::Whois, party, server: host.to_string(), error };
    let tld = name.rsplit('.').next().unwrap_or(name);
    // Registrars take the bare name; a registry may want its own form.
    let line = match party {
        Party::Registry => whois_servers::query(host, tld, name),
        Party::Registrar => format!("{name}\r\n"),
    };
    let (bytes, permit) = exchange(context, host, port, &line, patience).await.map_err(fail)?;
    let body = decode_text(name, &bytes);
    let complete = !is_cut(&body);
    raw.push(RawAnswer { protocol: Protocol::Whois, party, server: host.to_string(), at: now, body });
    let reading = parse_whois(name, None, Some(host), &bytes);
    let unreadable = |why: &str| {
        fail(LookupError::new(
            FailureKind::Unparsable,
            format!("{host} sent an answer that can't be read: {why}"),
        ))
    };
    match reading.outcome {
        Outcome::Registered if !complete => Err(unreadable("it breaks off in the middle")),
        Outcome::Registered | Outcome::Available | Outcome::Reserved => {
            permit.went_well();
            Ok(reading)
        }
        Outcome::Throttled => {
            let (budget, _) = context.settings.limit_of(host);
            let wait = context.budgets.back_off(&budget, None, context.settings.back_off).await;
            Err(fail(LookupError::throttled(host, wait)))
        }
        Outcome::Refused => {
            Err(fail(LookupError::new(FailureKind::Refused, format!("{host} refuses to answer us"))))
        }
        Outcome::Unknown if bytes.is_empty() => Err(unreadable("it is empty")),
        Outcome::Unknown => Err(unreadable("it says nothing about the name")),
    }
}

/// True when the line that closes an answer in ICANN's layout has come.
fn has_closing_line(bytes: &[u8]) -> bool {
    bytes.windows(5).any(|w| w == b"\n>>> ")
}

/// True when an answer in ICANN's layout lacks its closing line: the connection broke. Other layouts have no end that
/// could be missed.
fn is_cut(text: &str) -> bool {
    let icann = text.contains("Registry Domain ID:") || text.contains("Registrar WHOIS Server:");
    icann && !text.contains(">>> ") && !text.ends_with('\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_answers_are_noticed() {
        assert!(is_cut("Domain Name: A\nRegistry Domain ID: 1\nRegistrar WHOIS Server: b.c\nUpdated Da"));
        assert!(!is_cut("Domain Name: A\nRegistry Domain ID: 1\n>>> Last update <<<\n\nTerms of"));
        assert!(!is_cut("domain: a.se\nregistrar: X\n"));
        assert!(!is_cut("domain: a.se\nregistrar: X"));
    }
}
