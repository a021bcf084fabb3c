//! The time a watch goes by: the system's, or one that a test moves.

use async_trait::async_trait;
use jiff::Timestamp;
use std::time::Duration;

/// Tells the time and waits for it.
#[async_trait]
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Timestamp;
    /// Waits until this instant; returns at once when it has passed.
    async fn sleep_until(&self, at: Timestamp);
}

/// The system's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

#[async_trait]
impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    async fn sleep_until(&self, at: Timestamp) {
        let left = at.duration_since(Timestamp::now());
        tokio::time::sleep(Duration::try_from(left).unwrap_or(Duration::ZERO)).await;
    }
}
