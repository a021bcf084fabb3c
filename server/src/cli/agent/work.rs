//! The work of an agent: polls, questions under way, and the end.

use super::{Agent, PAUSES};
use fleet::{AnswerSent, PROTOCOL, Poll, PollReply, Work};
use jiff::Timestamp;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Questions worked on at the same time.
const AT_ONCE: usize = 16;
/// How long a poll waits for work: shorter than what proxies cut off.
const WAIT: Duration = Duration::from_secs(15);
/// How long work under way may take at the end.
const DRAIN: Duration = Duration::from_secs(25);
/// How long the server may take to hear that this agent stops.
const FAREWELL: Duration = Duration::from_secs(5);
/// How long the reply to the open poll may take once the server knows that this agent stops.
const LAST_REPLY: Duration = Duration::from_secs(2);
/// How long a question stays listed as under way: longer than the server waits for any answer.
const LISTED: Duration = Duration::from_secs(60);
/// Attempts to deliver an answer.
const DELIVERIES: usize = 3;

impl Agent {
    /// Asks for work and does it until cancelled; then ends what is under way.
    pub(in crate::cli) async fn work(self: Arc<Self>, stop: CancellationToken) {
        let slots = Arc::new(Semaphore::new(AT_ONCE));
        let (mut pause, mut latency_ms, mut is_said) = (PAUSES.0, None, false);
        while !stop.is_cancelled() {
            let capacity = slots.available_permits();
            // Without a free slot a poll only says that the agent lives.
            let wait = if capacity == 0 { Duration::ZERO } else { WAIT };
            let poll = self.poll(capacity, latency_ms, false, wait);
            let began = Instant::now();
            let open = self.exchange::<PollReply>("/agent/v1/poll", &poll);
            tokio::pin!(open);
            let outcome = tokio::select! {
                biased;
                outcome = &mut open => outcome,
                () = stop.cancelled() => {
                    // The server learns it while the poll is open and ends that, so that no work goes to a closed connection.
                    self.say_draining(latency_ms).await;
                    is_said = true;
                    if let Ok(Ok(reply)) = tokio::time::timeout(LAST_REPLY, open).await {
                        self.begin(reply.work, &slots);
                    }
                    break;
                }
            };
            match outcome {
                Ok(reply) => {
                    pause = PAUSES.0;
                    if began.elapsed() < WAIT / 2 && reply.work.is_empty() {
                        tokio::time::sleep(Duration::from_millis(200)).await;
                    }
                    self.begin(reply.work, &slots);
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
                        () = stop.cancelled() => {}
                        () = tokio::time::sleep(pause.mul_f64(jitter)) => {}
                    }
                    pause = (pause * 2).min(PAUSES.1);
                }
            }
        }
        tracing::info!("stopping: ending questions under way");
        if !is_said {
            self.say_draining(latency_ms).await;
        }
        let all = u32::try_from(AT_ONCE).unwrap_or(u32::MAX);
        let _ = tokio::time::timeout(DRAIN, slots.acquire_many(all)).await;
    }

    async fn say_draining(&self, latency_ms: Option<u32>) {
        let poll = self.poll(0, latency_ms, true, Duration::ZERO);
        let said = self.exchange::<PollReply>("/agent/v1/poll", &poll);
        let reason = match tokio::time::timeout(FAREWELL, said).await {
            Ok(Ok(_)) => return,
            Ok(Err(e)) => e.reason,
            Err(_) => format!("no answer within {} s", FAREWELL.as_secs()),
        };
        tracing::warn!(reason, "the server does not know that this agent stops");
    }

    /// Begins questions while there are free slots; the others are handed out again.
    fn begin(self: &Arc<Self>, work: Vec<Work>, slots: &Arc<Semaphore>) {
        for work in work {
            let Ok(slot) = slots.clone().try_acquire_owned() else { break };
            let mut working = self.working();
            if working.iter().any(|(id, _)| *id == work.id) {
                continue;
            }
            working.push((work.id.clone(), Instant::now() + LISTED));
            let agent = self.clone();
            tokio::spawn(async move {
                let (id, is_over) = (work.id.clone(), agent.one(work).await);
                if is_over {
                    agent.working().retain(|(other, _)| *other != id);
                }
                drop(slot);
            });
        }
    }

    /// Questions under way. Those taken long ago are forgotten, by a clock of this machine: the times of the server are
    /// those of another.
    fn working(&self) -> MutexGuard<'_, Vec<(String, Instant)>> {
        let mut working = self.working.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        working.retain(|(_, until)| *until > now);
        working
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
            working: Some(self.working().iter().map(|(id, _)| id.clone()).collect()),
        }
    }

    /// The time of a request that waits for nothing, in milliseconds; the next poll reports it.
    async fn measure(&self) -> Option<u32> {
        let began = Instant::now();
        let poll = self.poll(0, None, false, Duration::ZERO);
        self.exchange::<PollReply>("/agent/v1/poll", &poll).await.ok()?;
        u32::try_from(began.elapsed().as_millis()).ok()
    }

    /// Answers a question, and tries again when the answer does not arrive. False when the server refuses the answer: to
    /// look again would not help, so the question stays listed until its time is over.
    async fn one(&self, work: Work) -> bool {
        let answer = product::answer_question(&self.place, &work.question, Timestamp::now()).await;
        let sent = AnswerSent { work: work.id, answer };
        for attempt in 1..=DELIVERIES {
            match self.exchange::<()>("/agent/v1/answer", &sent).await {
                Ok(()) => return true,
                // Another request overtook it, or the server was away.
                Err(e) if attempt < DELIVERIES && matches!(e.status, 0 | 409 | 429 | 500..) => {
                    tokio::time::sleep(PAUSES.0 / 4).await;
                }
                Err(e) => {
                    tracing::warn!(reason = e.reason, status = e.status, "an answer was not taken");
                    return !matches!(e.status, 400..=408);
                }
            }
        }
        true
    }
}
