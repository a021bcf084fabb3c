//! How many connections one client may have: all of them together must leave room for others. In: addresses as they
//! connect and leave. Out: yes or no.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// The clients that are connected now.
#[derive(Debug, Clone)]
pub(super) struct Crowd {
    most: usize,
    here: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

/// A place in the crowd, given back when it ends.
#[derive(Debug)]
pub(super) struct Place {
    crowd: Crowd,
    client: IpAddr,
}

impl Crowd {
    /// At most so many connections of one client.
    pub(super) fn new(most: usize) -> Self {
        Crowd { most, here: Arc::default() }
    }

    /// A place for this client; none when it has enough. This machine's own programs, a proxy among them, speak for many.
    pub(super) fn enter(&self, address: IpAddr) -> Option<Place> {
        let client = doh::Client(address).household();
        let mut here = self.here.lock().unwrap_or_else(PoisonError::into_inner);
        let connections = here.entry(client).or_insert(0);
        if *connections >= self.most && !address.to_canonical().is_loopback() {
            return None;
        }
        *connections += 1;
        Some(Place { crowd: self.clone(), client })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut here = self.crowd.here.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(connections) = here.get_mut(&self.client) {
            *connections -= 1;
            if *connections == 0 {
                here.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_client_has_so_many_places_and_gives_them_back() {
        let crowd = Crowd::new(2);
        let enter = |address: &str| crowd.enter(address.parse().unwrap());
        let (first, second) = (enter("192.0.2.1"), enter("::ffff:192.0.2.1"));
        assert!(first.is_some() && second.is_some());
        assert!(enter("192.0.2.1").is_none());
        let others = [enter("192.0.2.2"), enter("2001:db8:0:1::1"), enter("2001:db8:0:2::1")];
        assert!(others.iter().all(Option::is_some));
        assert!(enter("2001:db8:0:3::1").is_none(), "one household");
        assert!(enter("2001:db8:0:100::1").is_some());
        drop(first);
        assert!(enter("192.0.2.1").is_some());
        let local: Vec<_> = ["127.0.0.1", "::1"].repeat(5).into_iter().map(enter).collect();
        assert!(local.iter().all(Option::is_some));
        drop((second, others, local));
        assert!(crowd.here.lock().unwrap().is_empty(), "nobody is remembered who left");
    }
}
