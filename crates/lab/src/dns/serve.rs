//! Sockets of the DNS servers: UDP and TCP, one pair an address (RFC 1035 4.2, 7766).
//! In: datagrams and streams. Out: what [`super::respond`] decided, when it decided it.

use std::{sync::Arc, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream, UdpSocket},
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::respond::{Deed, respond};
use crate::lab::Shared;

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
        let reaction = respond(&shared, &host, &buffer[..length], false);
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
        let Ok((stream, _)) = accepted else { continue };
        let (shared, host, stop) = (shared.clone(), host.clone(), stop.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = conversation(&shared, &host, stream) => {}
            }
        });
    }
}

async fn conversation(shared: &Shared, host: &str, mut stream: TcpStream) {
    if super::respond::refuses_tcp(shared, host) {
        return;
    }
    let mut question = Vec::new();
    loop {
        let Ok(Ok(length)) = timeout(IDLE, stream.read_u16()).await else { return };
        question.resize(usize::from(length), 0);
        let Ok(Ok(_)) = timeout(IDLE, stream.read_exact(&mut question)).await else { return };
        let reaction = respond(shared, host, &question, true);
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
