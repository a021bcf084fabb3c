//! The client of a request.

use std::net::{IpAddr, Ipv6Addr};

/// Address of the other end of a connection; listeners add it to each request as an extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Client(pub IpAddr);

impl Client {
    /// Returns the prefix that counts as one client in all limits: an IPv4 address, or an IPv6 /56, which is what one
    /// customer or one attacker usually controls.
    pub fn client_prefix(self) -> IpAddr {
        match self.0.to_canonical() {
            IpAddr::V6(v6) => {
                let [a, b, c, d, ..] = v6.segments();
                IpAddr::V6(Ipv6Addr::new(a, b, c, d & 0xFF00, 0, 0, 0, 0))
            }
            v4 @ IpAddr::V4(_) => v4,
        }
    }
}
