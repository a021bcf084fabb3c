//! Being asked to stop. In: signals of the operating system. Out: a future that ends when one has come.

use anyhow::Result;

/// Ctrl-C and, from service managers, SIGTERM. Caught from the moment this is made.
pub(super) struct Stops {
    #[cfg(unix)]
    signals: [tokio::signal::unix::Signal; 2],
}

impl Stops {
    pub(super) fn catch() -> Result<Stops> {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            let signals = [signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?];
            Ok(Stops { signals })
        }
        #[cfg(not(unix))]
        Ok(Stops {})
    }

    pub(super) async fn asked(&mut self) {
        #[cfg(unix)]
        {
            let [interrupt, terminate] = &mut self.signals;
            tokio::select! { _ = interrupt.recv() => {} _ = terminate.recv() => {} }
        }
        #[cfg(not(unix))]
        let _ = tokio::signal::ctrl_c().await;
    }
}
