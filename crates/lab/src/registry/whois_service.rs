//! WHOIS servers (RFC 3912): one line in, text out, connection closed; recorded answers go out byte for byte.
//! In: a TCP connection to one host name of the lab. Out: text, or a fault.

use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::whois;
use crate::{
    fault::Fault, http::HUGE, lab::Shared, names, scenario::WhoisStyle, target::Service, world::WHOIS_ROOT,
};

const WAIT: Duration = Duration::from_secs(10);
const LONGEST_QUERY: usize = 1024;

/// Serves until stopped.
pub(crate) async fn serve(
    shared: Arc<Shared>,
    host: String,
    id: String,
    listener: TcpListener,
    stop: CancellationToken,
) {
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else { continue };
        let (shared, host, id, stop) = (shared.clone(), host.clone(), id.clone(), stop.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                // A client that goes away in the middle is no failure of the lab.
                _ = conversation(&shared, &host, &id, stream) => {}
            }
        });
    }
}

async fn read_query(stream: &mut TcpStream) -> std::io::Result<String> {
    let mut line = Vec::new();
    while line.len() < LONGEST_QUERY {
        match stream.read_u8().await {
            Ok(b'\n') | Err(_) => break,
            Ok(byte) => line.push(byte),
        }
    }
    Ok(String::from_utf8_lossy(&line).trim().to_owned())
}

/// The name in a query of any registry's form: `domain NAME`, `=NAME`, `domain=NAME`, `NAME/e`, `-T dn,ace NAME`.
fn asked_name(query: &str) -> &str {
    let last = query.split_whitespace().last().unwrap_or_default();
    let value = last.rsplit('=').next().unwrap_or(last);
    value.split('/').next().unwrap_or(value)
}

/// What is to be sent, and how.
fn plan(shared: &Shared, host: &str, id: &str, query: &str) -> (Vec<u8>, Option<Fault>) {
    let world = shared.world.read().unwrap_or_else(PoisonError::into_inner);
    let name = names::normal(asked_name(query)).ok();
    let mut how = None;
    for (target, fault) in world.faults.of_service(Service::Whois, id, name.as_deref()) {
        match fault {
            Fault::RateLimit(allowance) => {
                if shared.over_limit(target, *allowance).is_some() {
                    let style = world.tlds.get(id).map_or(WhoisStyle::Thick, |t| t.whois);
                    return (whois::too_often(style).as_bytes().to_vec(), None);
                }
            }
            other => how = Some(other.clone()),
        }
    }
    let recorded = name.as_ref().filter(|_| id != "root").and_then(|n| world.replay.get(n));
    let bytes = if let Some(recorded) = recorded {
        recorded.bytes.clone()
    } else if how == Some(Fault::ReferralLoop) {
        format!("% See elsewhere\r\nrefer: {host}\r\nRegistrar WHOIS Server: {host}\r\n").into_bytes()
    } else if id == "root" {
        whois::root(&world, query).into_bytes()
    } else if id == "replay" {
        let tld = name.as_deref().map(names::tld_of).unwrap_or_default();
        whois::registry(&world, tld, query, false).into_bytes()
    } else if world.tlds.contains_key(id) {
        whois::registry(&world, id, query, how == Some(Fault::NotFound)).into_bytes()
    } else {
        whois::registrar(&world, id, query).into_bytes()
    };
    (bytes, how)
}

async fn conversation(shared: &Shared, host: &str, id: &str, mut stream: TcpStream) -> std::io::Result<()> {
    let query = timeout(WAIT, read_query(&mut stream)).await.map_err(std::io::Error::other)??;
    let _open = shared.log.open(host, &query);
    debug_assert!(id != "root" || host == WHOIS_ROOT);
    let (bytes, how) = plan(shared, host, id, &query);
    match how {
        Some(Fault::Hang | Fault::Dead) => std::future::pending().await,
        Some(Fault::Refused) => {
            stream.write_all(b"% Access denied: your address may not ask here.\r\n").await?;
        }
        Some(Fault::CloseEarly) => stream.write_all(&bytes[..bytes.len() / 2]).await?,
        Some(Fault::Garbage) => stream.write_all(b"\x00\xff\xfe\x1f\x80 lab \xc3\x28\r\n\x07").await?,
        Some(Fault::Huge) => {
            let piece = b"% the lab has a lot to say and will not stop saying it\r\n".repeat(1024);
            for _ in 0..HUGE / piece.len() {
                stream.write_all(&piece).await?;
            }
        }
        Some(Fault::Drip) => {
            for byte in bytes {
                stream.write_u8(byte).await?;
                stream.flush().await?;
                sleep(Duration::from_secs(1)).await;
            }
        }
        Some(Fault::Slow(ms)) => {
            sleep(Duration::from_millis(ms.into())).await;
            stream.write_all(&bytes).await?;
        }
        _ => stream.write_all(&bytes).await?,
    }
    stream.shutdown().await
}
