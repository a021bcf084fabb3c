//! The dial guard as hickory-resolver's runtime provider: every socket that hickory speaks DNS over is opened here, to
//! an address that was checked, under the address map, and (for DNS over TLS) with the server's certificate verified.

use async_trait::async_trait;
use hickory_resolver::net::runtime::iocompat::AsyncIoTokioAsStd;
use hickory_resolver::net::runtime::{DnsUdpSocket, RuntimeProvider, TokioHandle, TokioTime};
use net::{AddressMap, Dialer, Networks};
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{Interest, ReadBuf};
use tokio::net::{TcpStream, UdpSocket};
use tokio_rustls::client::TlsStream;
use tokio_util::either::Either;

/// Where the connections of one question lead. Dropping the last clone ends the tasks that drive them.
#[derive(Clone)]
pub(super) struct Guarded {
    tasks: TokioHandle,
    target: Target,
}

/// What is dialled.
#[derive(Clone)]
pub(super) enum Target {
    /// The address that hickory names.
    Address {
        /// Whether private, loopback and link-local addresses may be dialled.
        allow_private: bool,
        /// Prefixes the operator allows or denies.
        networks: Networks,
        /// What is dialled in place of an address.
        map: AddressMap,
    },
    /// A host by name: its addresses are resolved and checked by the dialer; the one hickory names is a placeholder.
    Host {
        /// Resolves, checks and connects.
        dialer: Dialer,
        /// Host name, or an address as text.
        host: Arc<str>,
        /// Port.
        port: u16,
        /// Whether TLS is part of the connection. hickory's own TLS for DNS sends no server name (SNI), without which
        /// several resolvers present no certificate or serve no profile.
        tls: bool,
    },
}

impl Guarded {
    pub(super) fn new(target: Target) -> Self {
        Guarded { tasks: TokioHandle::default(), target }
    }

    /// The address to dial for `server`.
    fn checked(&self, server: SocketAddr) -> io::Result<SocketAddr> {
        let Target::Address { allow_private, networks, map } = &self.target else {
            return Err(io::Error::other("a host by name is asked over a stream"));
        };
        match networks.refuses(server.ip(), *allow_private) {
            Some(what) => Err(io::Error::other(format!(
                "{} is {what}: not asked unless the operator allows it",
                server.ip()
            ))),
            None => Ok(map.dial(server)),
        }
    }

    async fn stream(self, server: SocketAddr) -> io::Result<Either<TcpStream, Box<TlsStream<TcpStream>>>> {
        match &self.target {
            Target::Address { .. } => {
                let stream = TcpStream::connect(self.checked(server)?).await?;
                stream.set_nodelay(true)?;
                Ok(Either::Left(stream))
            }
            Target::Host { dialer, host, port, tls: true } => {
                dialer.tls(host, *port).await.map(|s| Either::Right(Box::new(s))).map_err(io::Error::other)
            }
            Target::Host { dialer, host, port, tls: false } => {
                dialer.tcp(host, *port).await.map(Either::Left).map_err(io::Error::other)
            }
        }
    }
}

type Opening<T> = Pin<Box<dyn Send + Future<Output = io::Result<T>>>>;

impl RuntimeProvider for Guarded {
    type Handle = TokioHandle;
    type Timer = TokioTime;
    type Udp = ConnectedUdp;
    type Tcp = AsyncIoTokioAsStd<Either<TcpStream, Box<TlsStream<TcpStream>>>>;

    fn create_handle(&self) -> Self::Handle {
        self.tasks.clone()
    }

    fn connect_tcp(
        &self,
        server: SocketAddr,
        _local: Option<SocketAddr>,
        _timeout: Option<Duration>,
    ) -> Opening<Self::Tcp> {
        let this = self.clone();
        // The caller bounds connection and question together.
        Box::pin(async move { Ok(AsyncIoTokioAsStd(this.stream(server).await?)) })
    }

    fn bind_udp(&self, local: SocketAddr, server: SocketAddr) -> Opening<Self::Udp> {
        let this = self.clone();
        Box::pin(async move {
            let dialled = this.checked(server)?;
            let socket = UdpSocket::bind(local).await?;
            socket.connect(dialled).await?;
            Ok(ConnectedUdp { socket, server })
        })
    }
}

/// A UDP socket connected to what is dialled for `server`: the kernel drops datagrams from elsewhere and reports a
/// closed port at once.
pub(super) struct ConnectedUdp {
    socket: UdpSocket,
    server: SocketAddr,
}

#[async_trait]
impl DnsUdpSocket for ConnectedUdp {
    type Time = TokioTime;

    /// Waits for errors too: a closed port is reported as an error alone, which a wait for data would sleep through.
    async fn recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let receive = || match self.socket.take_error()? {
            Some(error) => Err(error),
            None => self.socket.try_recv(buffer),
        };
        let length = self.socket.async_io(Interest::READABLE | Interest::ERROR, receive).await?;
        Ok((length, self.server))
    }

    fn poll_recv_from(
        &self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<(usize, SocketAddr)>> {
        let mut buffer = ReadBuf::new(buffer);
        ready!(self.socket.poll_recv(cx, &mut buffer))?;
        Poll::Ready(Ok((buffer.filled().len(), self.server)))
    }

    fn poll_send_to(&self, cx: &mut Context<'_>, bytes: &[u8], _to: SocketAddr) -> Poll<io::Result<usize>> {
        self.socket.poll_send(cx, bytes)
    }
}
