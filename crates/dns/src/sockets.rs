//! What carries the messages of a session: the sockets of the operating system, or a script of replies in a fuzz target.
//! In: an address. Out: something to send datagrams or a stream over. Bounds, timeouts and retries are the session's.

use async_trait::async_trait;
use std::cell::RefCell;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UdpSocket};

/// Opens sockets.
#[async_trait]
pub trait Network: fmt::Debug + Send + Sync {
    /// A socket for datagrams to `target`. A connected one receives from nowhere else, and learns of closed ports.
    ///
    /// # Errors
    /// Those of the operating system.
    async fn datagrams(&self, target: SocketAddr, connected: bool) -> io::Result<Box<dyn Datagrams>>;

    /// A stream to `target`.
    ///
    /// # Errors
    /// Those of the operating system.
    async fn stream(&self, target: SocketAddr) -> io::Result<Box<dyn Stream>>;
}

/// A socket for datagrams to one target.
#[async_trait]
pub trait Datagrams: Send + Sync {
    /// Sends one datagram.
    ///
    /// # Errors
    /// Those of the operating system.
    async fn send(&self, message: &[u8]) -> io::Result<()>;

    /// Waits for the next datagram. Returns it and where it came from.
    ///
    /// # Errors
    /// Those of the operating system, among them that the target's port is closed.
    async fn receive(&self) -> io::Result<(Vec<u8>, SocketAddr)>;
}

/// A connection.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// The sockets of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct System;

#[async_trait]
impl Network for System {
    async fn datagrams(&self, target: SocketAddr, connected: bool) -> io::Result<Box<dyn Datagrams>> {
        let local: SocketAddr = match target {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let socket = UdpSocket::bind(local).await?;
        if connected {
            socket.connect(target).await?;
        }
        Ok(Box::new(Udp { socket, target, connected }))
    }

    async fn stream(&self, target: SocketAddr) -> io::Result<Box<dyn Stream>> {
        Ok(Box::new(TcpStream::connect(target).await?))
    }
}

struct Udp {
    socket: UdpSocket,
    target: SocketAddr,
    connected: bool,
}

#[async_trait]
impl Datagrams for Udp {
    async fn send(&self, message: &[u8]) -> io::Result<()> {
        let sent = if self.connected {
            self.socket.send(message).await
        } else {
            self.socket.send_to(message, self.target).await
        };
        sent.map(drop)
    }

    async fn receive(&self) -> io::Result<(Vec<u8>, SocketAddr)> {
        loop {
            // Neither `readable` nor `try_recv` spends the task's budget: a flood would keep the worker.
            tokio::task::coop::consume_budget().await;
            self.socket.readable().await?;
            let received: io::Result<(Vec<u8>, SocketAddr)> = LONGEST.with_borrow_mut(|buffer| {
                let (length, source) = if self.connected {
                    (self.socket.try_recv(buffer)?, self.target)
                } else {
                    self.socket.try_recv_from(buffer)?
                };
                Ok((buffer[..length].to_vec(), source))
            });
            match received {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                received => return received,
            }
        }
    }
}

thread_local! {
    /// Room for the longest datagram. One a thread rather than one a question: a scan waits for dozens of answers at once.
    static LONGEST: RefCell<Vec<u8>> = RefCell::new(vec![0; 65_535]);
}
