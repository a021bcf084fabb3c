//! Keep-alive connections: few, and not for long. In: a connection and its destination; out: the same connection for the
//! next request there. A kept connection leads to an address that passed the guard, and is reused only while the host's
//! name still resolves to that address and the guard still allows it.

use crate::dial::Offer;
use crate::exchange::Connection;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// How long an idle connection is kept: shorter than most servers keep one.
pub(crate) const IDLE: Duration = Duration::from_secs(15);
/// To one address. Never more than were asked over at the same time, which the host's budget bounds first.
const EACH: usize = 16;
/// Kept connections in all.
const ALL: usize = 128;

/// Destination of a connection: host, port, address, protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    /// As it stands in the URL: TLS proved this name, no other.
    pub host: String,
    /// What TLS offered; `None`: in the clear.
    pub tls: Option<Offer>,
    /// The address that passed the guard (where addresses are mapped, what was asked for).
    pub address: SocketAddr,
}

struct Kept {
    key: Key,
    since: Instant,
    connection: Connection,
}

#[derive(Default)]
struct Inner {
    /// Oldest first.
    kept: Vec<Kept>,
    sweeper: Option<JoinHandle<()>>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(sweeper) = &self.sweeper {
            sweeper.abort();
        }
    }
}

/// The connections of one dialer.
#[derive(Default)]
pub(crate) struct Pool(Arc<Mutex<Inner>>);

fn lock(inner: &Mutex<Inner>) -> MutexGuard<'_, Inner> {
    inner.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Inner {
    fn forget_old(&mut self) {
        self.kept.retain(|k| k.since.elapsed() < IDLE && !k.connection.is_closed());
    }
}

impl Pool {
    /// A connection to this host at one of the addresses it has now, the one used last first.
    pub fn take(
        &self,
        host: &str,
        port: u16,
        tls: Option<Offer>,
        vetted: &[IpAddr],
    ) -> Option<(Key, Connection)> {
        let mut inner = lock(&self.0);
        inner.forget_old();
        let fits = |k: &Kept| {
            let Key { host: of, tls: how, address } = &k.key;
            of == host && *how == tls && address.port() == port && vetted.contains(&address.ip())
        };
        let place = inner.kept.iter().rposition(fits)?;
        let Kept { key, connection, .. } = inner.kept.remove(place);
        Some((key, connection))
    }

    /// Keeps a connection for a while, unless there are enough.
    pub fn keep(&self, key: Key, connection: Connection) {
        let mut inner = lock(&self.0);
        inner.forget_old();
        if inner.kept.iter().filter(|k| k.key == key).count() >= EACH {
            return;
        }
        if inner.kept.len() >= ALL {
            inner.kept.remove(0);
        }
        inner.kept.push(Kept { key, since: Instant::now(), connection });
        if inner.sweeper.as_ref().is_none_or(JoinHandle::is_finished) {
            inner.sweeper = Some(tokio::spawn(sweep(Arc::downgrade(&self.0))));
        }
    }
}

/// Closes what no one asks for any more, until nothing is kept.
async fn sweep(pool: Weak<Mutex<Inner>>) {
    loop {
        tokio::time::sleep(IDLE / 4).await;
        let Some(inner) = pool.upgrade() else { return };
        let mut inner = lock(&inner);
        inner.forget_old();
        if inner.kept.is_empty() {
            // Forgotten under the lock, so that the next connection kept starts another.
            inner.sweeper = None;
            return;
        }
    }
}
