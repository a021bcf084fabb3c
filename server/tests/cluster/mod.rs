//! A server of the resource API that listens, for the programs that tests run against it.

#[path = "../http/site.rs"]
pub mod site;

use server::http::{Tls, serve};
use site::{Site, site};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// A site that listens.
pub struct Cluster {
    pub site: Site,
    pub address: SocketAddr,
    stop: CancellationToken,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Cluster {
    /// Over plain HTTP in the name of the demo's visitor, or over TLS with the site's token.
    pub async fn start(tls: bool) -> Cluster {
        Self::over(site(!tls).await, tls).await
    }

    /// The same over this site.
    pub async fn over(site: Site, tls: bool) -> Cluster {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let certificate = tls.then(|| {
            let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_string()]).unwrap();
            Tls::pem(made.cert.pem().as_bytes(), made.signing_key.serialize_pem().as_bytes()).unwrap()
        });
        let hub = site.scanner.hub.clone();
        tokio::spawn(hub.follow(site.scanner.store.clone(), Duration::from_millis(200), stop.clone()));
        tokio::spawn(site.state.clone().keep_collecting(stop.clone()));
        tokio::spawn(serve(listener, certificate, site.router.clone(), stop.clone()));
        Cluster { site, address, stop }
    }

    /// Removes every entry of the change log, as if a day had passed; a watch from before gets 410.
    pub async fn prune(&self) {
        let later = model::Timestamp::now() + jiff::SignedDuration::from_hours(25);
        self.site.scanner.store.prune_log(later, 400).await.unwrap();
    }
}
