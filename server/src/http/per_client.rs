//! Limits the number of connections each client holds, so that one client cannot take every place of a listener.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// Counts the open connections of each client. Clones share the counts.
#[derive(Debug, Clone)]
pub(super) struct PerClientConnections {
    max: usize,
    open: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

/// Permission for one connection; dropping it frees the place.
#[derive(Debug)]
pub(super) struct ConnectionPermit {
    connections: PerClientConnections,
    client: IpAddr,
}

impl PerClientConnections {
    /// Allows each client `max` connections at a time.
    pub(super) fn new(max: usize) -> Self {
        PerClientConnections { max, open: Arc::default() }
    }

    /// Counts a connection from `address`; `None` when its client (IPv4 address or IPv6 /56) is at the limit. Loopback
    /// addresses are counted but not limited: a local reverse proxy connects on behalf of many users.
    pub(super) fn try_acquire(&self, address: IpAddr) -> Option<ConnectionPermit> {
        let client = doh::Client(address).client_prefix();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(client).or_insert(0);
        if *count >= self.max && !address.to_canonical().is_loopback() {
            return None;
        }
        *count += 1;
        Some(ConnectionPermit { connections: self.clone(), client })
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut open = self.connections.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.client) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_is_limited_and_dropped_permits_are_free_again() {
        let connections = PerClientConnections::new(2);
        let acquire = |address: &str| connections.try_acquire(address.parse().unwrap());
        let (first, second) = (acquire("192.0.2.1"), acquire("::ffff:192.0.2.1"));
        assert!(first.is_some() && second.is_some());
        assert!(acquire("192.0.2.1").is_none());
        let others = [acquire("192.0.2.2"), acquire("2001:db8:0:1::1"), acquire("2001:db8:0:2::1")];
        assert!(others.iter().all(Option::is_some));
        assert!(acquire("2001:db8:0:3::1").is_none(), "the same IPv6 /56");
        assert!(acquire("2001:db8:0:100::1").is_some());
        drop(first);
        assert!(acquire("192.0.2.1").is_some());
        let local: Vec<_> = ["127.0.0.1", "::1"].repeat(5).into_iter().map(acquire).collect();
        assert!(local.iter().all(Option::is_some));
        drop((second, others, local));
        assert!(connections.open.lock().unwrap().is_empty(), "clients without connections take no memory");
    }
}
