//! The work of an agent: polls, questions under way, and the end.

use super::{Agent, PAUSES};
use fleet::{AnswerSent, PROTOCOL, Poll, PollReply, Work};
use jiff::Timestamp;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Questions worked on at the same time.
const AT_ONCE: usize = 16;
/// How long a poll waits for work: shorter than what proxies cut off.
const WAIT: Duration = Duration::from_secs(15);
/// How long work under way may take at the end.
const DRAIN: Duration = Duration::from_secs(25);
/// Attempts to deliver an answer.
const DELIVERIES: usize = 3;

impl Agent {
    /// Asks for work and does it until cancelled; then ends what is under way.
    pub(super) async fn work(self: Arc<Self>, stop: CancellationToken) {
        let slots = Arc::new(Semaphore::new(AT_ONCE));
        let (mut pause, mut latency_ms) = (PAUSES.0, None);
        loop {
            let capacity = slots.available_permits();
            let poll = self.poll(capacity, latency_ms, false, WAIT);
            // With all hands full a poll only says that the agent lives.
            let wait = if capacity == 0 { Duration::ZERO } else { WAIT };
            let poll = Poll { wait_ms: u32::try_from(wait.as_millis()).unwrap_or(u32::MAX), ..poll };
            let began = Instant::now();
            let outcome = tokio::select! {
                biased;
                () = stop.cancelled() => break,
                outcome = self.exchange::<PollReply>("/agent/v1/poll", &poll) => outcome,
            };
            match outcome {
                Ok(reply) => {
                    pause = PAUSES.0;
                    if began.elapsed() < WAIT / 2 && reply.work.is_empty() {
                        tokio::time::sleep(Duration::from_millis(200)).await;
                    }
                    for work in reply.work {
                        let Ok(slot) = slots.clone().try_acquire_owned() else { break };
                        let agent = self.clone();
                        tokio::spawn(async move {
                            agent.one(work).await;
                            drop(slot);
                        });
                    }
                    // When nothing was asked for the length of a poll, and at the start.
                    if latency_ms.is_none() || began.elapsed() >= WAIT / 2 {
                        latency_ms = self.measure().await.or(latency_ms);
                    }
                }
                Err(e) => {
                    tracing::warn!(
                        reason = e.reason,
                        status = e.status,
                        pause_s = pause.as_secs(),
                        "the server can't be asked for work; trying again"
                    );
                    latency_ms = None;
                    let jitter = rand::random_range(0.75..1.25);
                    tokio::select! {
                        biased;
                        () = stop.cancelled() => break,
                        () = tokio::time::sleep(pause.mul_f64(jitter)) => {}
                    }
                    pause = (pause * 2).min(PAUSES.1);
                }
            }
        }
        tracing::info!("stopping: ending questions under way");
        let _ = self
            .exchange::<PollReply>("/agent/v1/poll", &self.poll(0, latency_ms, true, Duration::ZERO))
            .await;
        let all = u32::try_from(AT_ONCE).unwrap_or(u32::MAX);
        let _ = tokio::time::timeout(DRAIN, slots.acquire_many(all)).await;
    }

    fn poll(&self, capacity: usize, latency_ms: Option<u32>, draining: bool, wait: Duration) -> Poll {
        Poll {
            protocol: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").into(),
            running: u32::try_from(AT_ONCE - capacity.min(AT_ONCE)).unwrap_or(0),
            capacity: u32::try_from(capacity).unwrap_or(0),
            latency_ms,
            draining,
            wait_ms: u32::try_from(wait.as_millis()).unwrap_or(u32::MAX),
        }
    }

    /// The time of a request that waits for nothing, in milliseconds; the next poll reports it.
    async fn measure(&self) -> Option<u32> {
        let began = Instant::now();
        let poll = self.poll(0, None, false, Duration::ZERO);
        self.exchange::<PollReply>("/agent/v1/poll", &poll).await.ok()?;
        u32::try_from(began.elapsed().as_millis()).ok()
    }

    /// Answers a question, and tries again when the answer does not arrive.
    async fn one(&self, work: Work) {
        let answer = product::answer_question(&self.place, &work.question, Timestamp::now()).await;
        let sent = AnswerSent { work: work.id, answer };
        for attempt in 1..=DELIVERIES {
            match self.exchange::<()>("/agent/v1/answer", &sent).await {
                Ok(()) => return,
                // Another request overtook it, or the server was away.
                Err(e)
                    if attempt < DELIVERIES
                        && matches!(e.status, 0 | 409 | 429 | 500..)
                        && Timestamp::now() < work.until =>
                {
                    tokio::time::sleep(PAUSES.0 / 4).await;
                }
                Err(e) => {
                    tracing::warn!(reason = e.reason, status = e.status, "an answer was not taken");
                    return;
                }
            }
        }
    }
}
