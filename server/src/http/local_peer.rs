//! Whether the program at the other end of a loopback connection runs as the same user as this server. A reverse proxy that
//! adds nothing to a request, as HAProxy without options, passes on whatever `Host` a client sends, but it is a program of
//! another user.
//!
//! Linux names the owner of every socket in `/proc/net/tcp`. Elsewhere nothing is known and the other signs decide
//! ([`super::origin::is_local`]).

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

/// The other end of a request's connection.
#[derive(Debug, Clone)]
pub(super) struct Peer {
    address: SocketAddr,
    // The table may be long: one look for all requests of a connection.
    is_of_this_user: Arc<OnceLock<bool>>,
}

impl Peer {
    /// The other end of a new connection.
    pub(super) fn new(address: SocketAddr) -> Self {
        Self { address, is_of_this_user: Arc::default() }
    }

    /// False when the other end is a program of another user, or can't be found where it should be.
    pub(super) fn is_of_this_user(&self) -> bool {
        *self.is_of_this_user.get_or_init(|| self.look())
    }

    #[cfg(target_os = "linux")]
    fn look(&self) -> bool {
        use std::os::unix::fs::MetadataExt as _;
        let Ok(own) = std::fs::metadata("/proc/self").map(|of| of.uid()) else { return false };
        let address = SocketAddr::new(self.address.ip().to_canonical(), self.address.port());
        // A socket for both families has the address of IPv4 mapped to IPv6.
        let mapped = match address.ip() {
            std::net::IpAddr::V4(ip) => SocketAddr::new(ip.to_ipv6_mapped().into(), address.port()),
            std::net::IpAddr::V6(_) => address,
        };
        let of = |file, address| owners(&std::fs::read_to_string(file).unwrap_or_default(), address);
        let mut found = of("/proc/net/tcp", address);
        found.extend(of("/proc/net/tcp6", mapped));
        // Several when the same port is used towards other addresses too.
        !found.is_empty() && found.iter().all(|uid| *uid == own)
    }

    // The system does not say.
    #[cfg(not(target_os = "linux"))]
    fn look(&self) -> bool {
        true
    }
}

/// Owners of the connections that begin at an address, in the form of `/proc/net/tcp` (proc(5)).
#[cfg(target_os = "linux")]
fn owners(table: &str, address: SocketAddr) -> Vec<u32> {
    const ESTABLISHED: &str = "01";
    let wanted = written(address);
    let lines = table.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
    let of = |fields: &[&str]| {
        (fields.get(1) == Some(&wanted.as_str()) && fields.get(3) == Some(&ESTABLISHED))
            .then(|| fields.get(7)?.parse().ok())
            .flatten()
    };
    lines.filter_map(|fields| of(&fields)).collect()
}

/// An address as the kernel writes it there: words of 32 bits in the machine's byte order.
#[cfg(target_os = "linux")]
fn written(address: SocketAddr) -> String {
    let octets: Vec<u8> = match address.ip() {
        std::net::IpAddr::V4(ip) => ip.octets().to_vec(),
        std::net::IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let words = octets.as_chunks::<4>().0.iter().map(|word| format!("{:08X}", u32::from_ne_bytes(*word)));
    format!("{}:{:04X}", words.collect::<String>(), address.port())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_connection_of_this_process_is_of_this_user_and_one_that_is_not_there_is_not() {
        for at in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(at) else { continue };
            let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (_accepted, peer) = listener.accept().unwrap();
            assert_eq!(peer, stream.local_addr().unwrap());
            assert!(Peer::new(peer).is_of_this_user(), "{at}");
        }
        assert!(!Peer::new("127.0.0.1:1".parse().unwrap()).is_of_this_user());
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn the_kernels_table_is_read() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            143: 0100007F:8F01 0100007F:8F9E 01 00000000:00000000 00:00000000 00000000     0        0 6108646 1\n\
            148: 0100007F:8F9E 0100007F:8F01 01 00000000:00000000 00:00000000 00000000   107        0 6108645 2\n\
            149: 0100007F:8F9E 00000000:0000 0A 00000000:00000000 00:00000000 00000000     9        0 6108645 2\n";
        assert_eq!(owners(table, "127.0.0.1:36766".parse().unwrap()), [107]);
        assert_eq!(owners(table, "127.0.0.2:36766".parse().unwrap()), [] as [u32; 0]);
        assert_eq!(written("[::1]:80".parse().unwrap()), "00000000000000000000000001000000:0050");
    }
}
