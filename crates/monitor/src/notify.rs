//! The last station of the path: messages of the outbox are handed to the notifier of their channel. In: the events of
//! one scan and organisation; out: a delivered message, or a later attempt, or a message given up and visible.
//!
//! Delivery is at least once: a process that dies after delivering and before saying so delivers again, under the same
//! [`store::Notification::dedupe_key`].

use crate::Clock;
use async_trait::async_trait;
use std::sync::Arc;
use std::time::Duration;
use store::{Channel, Notification, Retry, Store};
use tokio_util::sync::CancellationToken;

/// Pause between two looks into the outbox when it is empty.
const PAUSE: Duration = Duration::from_secs(2);
/// Messages taken at once.
const BATCH: u32 = 20;

/// Delivers the messages of one channel.
#[async_trait]
pub trait Notifier: Send + Sync + 'static {
    /// The channel whose messages it takes.
    fn channel(&self) -> Channel;

    /// Delivers one message within the lease of [`store::DELIVERY`].
    ///
    /// # Errors
    /// Why it was not delivered, in a sentence for operators; it is tried again.
    async fn deliver(&self, notification: &Notification) -> Result<(), String>;
}

/// Writes one structured log line a message.
#[derive(Debug, Clone, Copy)]
pub struct LogNotifier;

#[async_trait]
impl Notifier for LogNotifier {
    fn channel(&self) -> Channel {
        Channel::Log
    }

    async fn deliver(&self, n: &Notification) -> Result<(), String> {
        let kinds: Vec<_> = n.events.iter().map(|e| e.change.kind.as_str()).collect();
        let severity = n.events.iter().map(|e| e.change.severity).max();
        tracing::info!(
            org = n.org.0,
            domain = %n.domain,
            severity = severity.map(model::event::Severity::as_str),
            events = kinds.join(","),
            dedupe_key = n.dedupe_key(),
            "domain changed"
        );
        Ok(())
    }
}

/// Hands messages to notifiers. Any number may run, in any number of processes.
#[derive(Clone)]
pub struct Dispatcher {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    notifiers: Arc<[Box<dyn Notifier>]>,
}

impl Dispatcher {
    /// A dispatcher with one notifier a channel.
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, notifiers: Vec<Box<dyn Notifier>>) -> Self {
        Dispatcher { store, clock, notifiers: notifiers.into() }
    }

    /// Delivers until cancelled; a delivery under way ends first.
    pub async fn run(self, stop: CancellationToken) {
        loop {
            let pause = match self.deliver_due().await {
                Ok(n) if n > 0 => Duration::ZERO,
                Ok(_) => PAUSE,
                Err(e) => {
                    tracing::warn!(error = %e, "the outbox can't be read; trying again");
                    PAUSE
                }
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Tries every message that is due now, at most one batch; how many were tried.
    ///
    /// # Errors
    /// When the store does not answer; what was not marked as delivered is delivered again.
    pub async fn deliver_due(&self) -> Result<usize, store::Error> {
        let due = self.store.lease_notifications(BATCH, self.clock.now()).await?;
        for n in &due {
            let outcome = match self.deliver(n).await {
                Ok(()) => {
                    self.store.notification_delivered(n).await?;
                    "delivered"
                }
                Err(reason) => {
                    let retry = self.store.notification_failed(n, &reason, self.clock.now()).await?;
                    let key = n.dedupe_key();
                    match retry {
                        Retry::GivenUp => {
                            tracing::error!(key, reason, attempts = n.attempt, "a notification was given up");
                            "given_up"
                        }
                        _ => {
                            tracing::warn!(key, reason, attempt = n.attempt, "a notification failed");
                            "failed"
                        }
                    }
                }
            };
            let channel = n.channel.as_str();
            metrics::counter!("domainscope_notifications_total", "channel" => channel, "outcome" => outcome)
                .increment(1);
        }
        Ok(due.len())
    }

    async fn deliver(&self, n: &Notification) -> Result<(), String> {
        let Some(notifier) = self.notifiers.iter().find(|x| x.channel() == n.channel) else {
            return Err(format!("no notifier for the channel {}", n.channel.as_str()));
        };
        // Pruned with the history while it waited: there is nothing left to say.
        if n.events.is_empty() {
            return Ok(());
        }
        let limit = store::DELIVERY.lease / 2;
        tokio::time::timeout(limit, notifier.deliver(n))
            .await
            .unwrap_or_else(|_| Err(format!("no answer within {} s", limit.as_secs())))
    }
}
