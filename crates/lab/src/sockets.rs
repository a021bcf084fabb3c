//! Addresses and ports. Where 127.0.0.0/8 is all local (Linux), every server has its own address and one port serves
//! all; where only 127.0.0.1 is (macOS), each server has its own port there, and a map says which.

use std::{
    collections::BTreeMap,
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4},
};

use rand::Rng;
use tokio::net::{TcpListener, UdpSocket};

use crate::Error;

/// Below the range from which systems choose ports of outgoing sockets, so that these are no rivals.
const RANGE: std::ops::Range<u16> = 12_000..31_000;
const TRIES: u32 = 40;

/// What a listener serves.
pub(crate) enum Socket {
    Pair(UdpSocket, TcpListener),
    Stream(TcpListener),
}

/// Listeners by host name, on one (shown) port.
pub(crate) struct Group {
    pub port: u16,
    pub sockets: Vec<(String, Socket)>,
    /// Shown address to real one; empty where they are the same.
    pub map: BTreeMap<SocketAddrV4, SocketAddr>,
}

/// True when only 127.0.0.1 can be bound.
pub(crate) async fn is_single() -> bool {
    UdpSocket::bind((Ipv4Addr::new(127, 0, 0, 2), 0)).await.is_err()
}

async fn pair(ip: Ipv4Addr, port: u16, with_udp: bool) -> io::Result<Socket> {
    let tcp = TcpListener::bind((ip, port)).await?;
    if !with_udp {
        return Ok(Socket::Stream(tcp));
    }
    let udp = UdpSocket::bind((ip, tcp.local_addr()?.port())).await?;
    Ok(Socket::Pair(udp, tcp))
}

impl Socket {
    fn real(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Pair(udp, _) => udp.local_addr(),
            Self::Stream(tcp) => tcp.local_addr(),
        }
    }
}

async fn all(hosts: &[(String, Ipv4Addr)], port: u16, udp: bool, single: bool) -> io::Result<Group> {
    let mut group = Group { port, sockets: Vec::with_capacity(hosts.len()), map: BTreeMap::new() };
    for (host, ip) in hosts {
        let socket = if single {
            let mut tries = 0;
            loop {
                tries += 1;
                match pair(Ipv4Addr::LOCALHOST, 0, udp).await {
                    Err(_) if tries < TRIES => {}
                    result => break result?,
                }
            }
        } else {
            pair(*ip, port, udp).await?
        };
        if single {
            group.map.insert(SocketAddrV4::new(*ip, port), socket.real()?);
        }
        group.sockets.push((host.clone(), socket));
    }
    Ok(group)
}

/// Binds a group; without a port, a free one is found.
pub(crate) async fn bind(
    what: &str,
    hosts: &[(String, Ipv4Addr)],
    port: Option<u16>,
    udp: bool,
    single: bool,
) -> Result<Group, Error> {
    let mut tries = 0;
    loop {
        let candidate = port.unwrap_or_else(|| rand::rng().random_range(RANGE));
        tries += 1;
        match all(hosts, candidate, udp, single).await {
            Ok(group) => return Ok(group),
            Err(_) if port.is_none() && tries < TRIES => {}
            Err(source) => return Err(Error::Bind { what: format!("{what}, port {candidate}"), source }),
        }
    }
}

/// The real address of a shown one.
pub(crate) fn real(map: &BTreeMap<SocketAddrV4, SocketAddr>, ip: Ipv4Addr, port: u16) -> SocketAddr {
    let shown = SocketAddrV4::new(ip, port);
    map.get(&shown).copied().unwrap_or(SocketAddr::new(IpAddr::V4(ip), port))
}
