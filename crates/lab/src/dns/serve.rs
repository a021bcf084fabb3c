//! Sockets of the DNS servers: UDP and TCP, one pair an address (RFC 1035 4.2, 7766).
//! In: datagrams and streams. Out: what [`super::respond`] decided, when it decided it.

use std::{sync::Arc, time::Duration};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, UdpSocket},
    time::{sleep, timeout},
};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::respond::{Deed, Reaction, refuses_tcp, respond};
use crate::{lab::Shared, log::Via, resolver};

/// How long a TCP client may be silent, and how long a dead server keeps one waiting.
const IDLE: Duration = Duration::from_secs(10);

/// Serves UDP until stopped.
pub(crate) async fn udp(shared: Arc<Shared>, host: String, socket: UdpSocket, stop: CancellationToken) {
    let socket = Arc::new(socket);
    let mut buffer = vec![0u8; 65_535];
    loop {
        let received = tokio::select! {
            () = stop.cancelled() => return,
            received = socket.recv_from(&mut buffer) => received,
        };
        // A client that closed its socket shows up here as an error of ours; it is not one.
        let Ok((length, peer)) = received else { continue };
        let reaction = respond(&shared, &host, &buffer[..length], false, peer);
        if matches!(reaction.deed, Deed::Silence) {
            continue;
        }
        if reaction.delay.is_zero() && matches!(reaction.deed, Deed::Send(_)) {
            if let Deed::Send(bytes) = reaction.deed {
                let _ = socket.send_to(&bytes, peer).await;
            }
            continue;
        }
        let socket = socket.clone();
        tokio::spawn(async move {
            sleep(reaction.delay).await;
            match reaction.deed {
                Deed::Send(bytes) => drop(socket.send_to(&bytes, peer).await),
                Deed::SendFromElsewhere(bytes) => {
                    if let Ok(local) = socket.local_addr()
                        && let Ok(other) = UdpSocket::bind((local.ip(), 0)).await
                    {
                        let _ = other.send_to(&bytes, peer).await;
                    }
                }
                Deed::Silence | Deed::Close => {}
            }
        });
    }
}

/// Serves TCP until stopped.
pub(crate) async fn tcp(shared: Arc<Shared>, host: String, listener: TcpListener, stop: CancellationToken) {
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, peer)) = accepted else { continue };
        let (shared, host, stop) = (shared.clone(), host.clone(), stop.clone());
        tokio::spawn(async move {
            let talk = async {
                if refuses_tcp(&shared, &host) {
                    return;
                }
                conversation(stream, |question| respond(&shared, &host, question, true, peer)).await;
            };
            tokio::select! {
                () = stop.cancelled() => {}
                () = talk => {}
            }
        });
    }
}

/// Serves a resolver over TLS until stopped (RFC 7858).
pub(crate) async fn tls(
    shared: Arc<Shared>,
    host: String,
    listener: TcpListener,
    acceptor: TlsAcceptor,
    stop: CancellationToken,
) {
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else { continue };
        let (shared, host, acceptor, stop) = (shared.clone(), host.clone(), acceptor.clone(), stop.clone());
        tokio::spawn(async move {
            let talk = async {
                let Some(resolver) = shared.resolvers.of_host(&host) else { return };
                if resolver::serve::is_dead(resolver) {
                    return;
                }
                if let Ok(Ok(stream)) = timeout(IDLE, acceptor.accept(stream)).await {
                    let respond =
                        |question: &[u8]| resolver::serve::respond(&shared, resolver, question, Via::Tls);
                    conversation(stream, respond).await;
                }
            };
            tokio::select! {
                () = stop.cancelled() => {}
                () = talk => {}
            }
        });
    }
}

/// Questions and answers on one stream, each with its length before it.
async fn conversation<S>(mut stream: S, respond: impl Fn(&[u8]) -> Reaction)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut question = Vec::new();
    loop {
        let Ok(Ok(length)) = timeout(IDLE, stream.read_u16()).await else { return };
        question.resize(usize::from(length), 0);
        let Ok(Ok(_)) = timeout(IDLE, stream.read_exact(&mut question)).await else { return };
        let reaction = respond(&question);
        sleep(reaction.delay).await;
        match reaction.deed {
            Deed::Send(bytes) | Deed::SendFromElsewhere(bytes) => {
                let Ok(length) = u16::try_from(bytes.len()) else { return };
                let mut framed = length.to_be_bytes().to_vec();
                framed.extend(bytes);
                if stream.write_all(&framed).await.is_err() {
                    return;
                }
            }
            Deed::Silence => {
                sleep(IDLE).await;
                return;
            }
            Deed::Close => return,
        }
    }
}
