//! The server's side of the protocol with points of presence: what they are asked, and which answers are
//! taken. Whatever is refused is counted, with the reason, and leaves nothing behind.

use super::refuse::{Refusal, flood, refuse};
use super::turn::Turn;
use super::{pace, server_key, state};
use crate::{Services, unavailable};
use ::fleet::{Answer, AnswerSent, PROTOCOL, Poll, PollReply, Question, SignedRequest, Work, accept, verify};
use accounts::random_id;
use jiff::SignedDuration;
use model::Timestamp;
use monitor::Clock;
use service::{AgentState, ApiError, ApiResult};
use std::sync::LazyLock;
use std::time::Duration;
use store::{Agent, AgentReport, Store, WorkState};
use tokio::sync::Notify;

/// The feature that guards points of presence.
pub const FEATURE: &str = "fleet-agents";
/// Longest wait of a poll.
const POLL_MAX: Duration = Duration::from_secs(20);
/// How often the store is read while a poll or an answer is awaited: another replica may have written.
const LOOK: Duration = Duration::from_millis(400);
/// Most a clock of an agent may differ, in seconds.
const SKEW: i64 = 300;
/// Questions handed out at once.
const HANDED_OUT: u32 = 16;
/// Questions that may wait for one agent; beyond, it is left out.
pub(super) const QUEUE_MAX: u64 = 64;
/// Wakes polls when something was asked, and those who asked when an answer came.
static ASKED: LazyLock<Notify> = LazyLock::new(Notify::new);
static ANSWERED: LazyLock<Notify> = LazyLock::new(Notify::new);

/// A request with its signature, as it came.
#[derive(Debug, Clone, Copy)]
pub struct Signed<'a> {
    /// What is signed.
    pub request: SignedRequest<'a>,
    /// The signature.
    pub signature: &'a str,
    /// The network that it came from; empty when that is not known.
    pub network: &'a str,
}

pub(super) fn parse<'a, T: serde::Deserialize<'a>>(body: &'a [u8]) -> Result<T, Refusal> {
    serde_json::from_slice(body).map_err(|e| {
        Refusal("garbage", ApiError::invalid(format!("The body is not what this address takes: {e}.")))
    })
}

fn read<'a, T: serde::Deserialize<'a>>(body: &'a [u8]) -> ApiResult<T> {
    parse(body).map_err(Refusal::noted)
}

/// Refuses a request that is not newer than the last one of its agent.
fn newest(is_newest: bool) -> ApiResult<()> {
    let words = "A newer request of this agent came before: send it with a new stamp.";
    if is_newest { Ok(()) } else { Err(refuse("stamp", ApiError::conflict(words))) }
}

impl Services {
    fn fleet_is_on(&self) -> ApiResult<::features::Use> {
        self.using(FEATURE).map_err(|e| refuse("feature_off", e))
    }

    /// The agent that signed a request.
    async fn signer(&self, signed: Signed<'_>) -> ApiResult<Agent> {
        let SignedRequest { agent: id, stamp, .. } = signed.request;
        let text = signed.request.of_agent();
        let is_known = self.is_member_signature(id, &text, signed.signature).await?;
        let may_ask = if is_known { pace::agent_may_ask(id) } else { pace::stranger_may_ask(signed.network) };
        if !may_ask {
            return Err(flood());
        }
        let unknown = || {
            let words =
                "No point of presence with this id and key is a member: it was revoked or never joined.";
            refuse("signature", ApiError::forbidden(words))
        };
        // Read even if the key is known: who was revoked is refused at once.
        let Some(agent) = self.store().agent(id).await.map_err(unavailable)? else {
            pace::forget(id);
            return Err(unknown());
        };
        if !verify(&agent.key, &text, signed.signature) {
            return Err(unknown());
        }
        if !is_known {
            pace::remember(id, &agent.key);
            if !pace::agent_may_ask(id) {
                return Err(flood());
            }
        }
        let off = stamp.saturating_sub(self.now().as_microsecond()).saturating_abs() / 1_000_000;
        if off > SKEW {
            let words = format!("The agent’s clock differs by {off} s from the server’s: set it right.");
            return Err(refuse("clock", ApiError::invalid(words)));
        }
        Ok(agent)
    }

    /// Whether a text is signed with the key of this member, by the keys in memory. They are those of all members: with them
    /// agents differ from strangers before anything is counted, from the first request after a start.
    async fn is_member_signature(&self, id: &str, text: &str, signature: &str) -> ApiResult<bool> {
        let is_signed = || pace::known_key(id).is_some_and(|key| verify(&key, text, signature));
        if is_signed() {
            return Ok(true);
        }
        let mut turn = pace::RELOAD.lock().await;
        // Another request may have read them while this one waited.
        if is_signed() {
            return Ok(true);
        }
        if turn.begin() {
            let members = self.store().agents().await.map_err(unavailable)?;
            pace::know(members.into_iter().map(|a| (a.id, a.key)));
        }
        Ok(is_signed())
    }

    /// Hands out work; waits for some.
    ///
    /// # Errors
    /// When the request is not that of a member.
    pub async fn agent_poll(&self, signed: Signed<'_>) -> ApiResult<PollReply> {
        let agent = self.signer(signed).await?;
        let _use = self.fleet_is_on()?;
        let poll: Poll = read(signed.request.body)?;
        let now = self.now();
        let seen = AgentReport {
            id: agent.id,
            version: poll.version.chars().filter(|c| !c.is_control()).take(40).collect(),
            protocol: poll.protocol.min(PROTOCOL),
            seen_at: now,
            latency_ms: poll.latency_ms,
            running: poll.running,
            draining: poll.draining,
        };
        newest(self.store().agent_seen(&seen, signed.request.stamp).await.map_err(unavailable)?)?;
        let turn = Turn::begin(&seen.id);
        if let Some(working) = &poll.working {
            self.take_back_unlisted(&seen.id, working).await?;
        }
        if poll.draining {
            self.give_up_waiting(&seen.id).await?;
            return Ok(PollReply::default());
        }
        let limit = poll.capacity.min(HANDED_OUT);
        let until = tokio::time::Instant::now() + Duration::from_millis(poll.wait_ms.into()).min(POLL_MAX);
        while limit > 0 && !turn.is_over() {
            let asked = ASKED.notified();
            let taken =
                self.store().take_agent_work(&seen.id, limit, self.now()).await.map_err(unavailable)?;
            if turn.is_over() {
                // This response may reach nobody any more: the newer poll gets the work.
                for (id, ..) in taken {
                    self.store()
                        .take_back_agent_work(&seen.id, &id, self.now())
                        .await
                        .map_err(unavailable)?;
                }
                ASKED.notify_waiters();
                break;
            }
            if !taken.is_empty() {
                let work = taken.into_iter().filter_map(|(id, question, until)| {
                    Some(Work { id, until, question: serde_json::from_str(&question).ok()? })
                });
                return Ok(PollReply { work: work.collect() });
            }
            // A feature that is turned off does not wait for the end of polls.
            if tokio::time::Instant::now() >= until || !self.gates.is_on(FEATURE) {
                break;
            }
            tokio::select! {
                () = turn.over() => break,
                _ = tokio::time::timeout(LOOK, asked) => {}
            }
        }
        Ok(PollReply::default())
    }

    /// Takes back what was handed out to an agent and did not arrive: what it does not say that it works on.
    async fn take_back_unlisted(&self, agent: &str, working: &[String]) -> ApiResult<()> {
        let out = self.store().agent_work_out(agent, self.now()).await.map_err(unavailable)?;
        for id in out.iter().filter(|id| !working.contains(id)) {
            let is_back = self.store().take_back_agent_work(agent, id, self.now()).await;
            if is_back.map_err(unavailable)? {
                metrics::counter!("domainscope_agent_work_taken_back_total").increment(1);
            }
        }
        Ok(())
    }

    /// Answers what waits for an agent that stops, so that those who asked do not wait for it.
    async fn give_up_waiting(&self, agent: &str) -> ApiResult<()> {
        let failed = Answer::Failed { reason: "it is about to stop".into() };
        let Ok(text) = serde_json::to_string(&failed) else { return Err(ApiError::internal()) };
        let most = u32::try_from(QUEUE_MAX).unwrap_or(u32::MAX);
        let waiting = self.store().take_agent_work(agent, most, self.now()).await.map_err(unavailable)?;
        for (id, ..) in waiting {
            self.store().answer_agent_work(agent, &id, &text, self.now()).await.map_err(unavailable)?;
        }
        ANSWERED.notify_waiters();
        Ok(())
    }

    /// Takes an answer, if it is one to an open question that this agent was asked.
    ///
    /// # Errors
    /// Why it is refused.
    pub async fn agent_answer(&self, signed: Signed<'_>) -> ApiResult<()> {
        let agent = self.signer(signed).await?;
        let _use = self.fleet_is_on()?;
        let sent: AnswerSent = read(signed.request.body)?;
        let now = self.now();
        let heard = self.store().agent_heard(&agent.id, signed.request.stamp, now).await;
        newest(heard.map_err(unavailable)?)?;
        let question = match self.store().agent_work(&agent.id, &sent.work, now).await.map_err(unavailable)? {
            WorkState::Open(question) => question,
            WorkState::Over => {
                let words = "The question is over: it was answered, or its time has passed.";
                return Err(refuse("late", ApiError::conflict(words)));
            }
            WorkState::Unknown => {
                let words = "This agent was not asked that.";
                return Err(refuse("not_asked", ApiError::not_found(words)));
            }
        };
        let Ok(question) = serde_json::from_str::<Question>(&question) else {
            return Err(refuse("not_asked", ApiError::not_found("The question is of another version.")));
        };
        let answer = accept(&question, sent.answer)
            .map_err(|e| refuse("other_answer", ApiError::invalid(format!("{e}."))))?;
        let Ok(text) = serde_json::to_string(&answer) else { return Err(ApiError::internal()) };
        let kept = self.store().answer_agent_work(&agent.id, &sent.work, &text, now).await;
        if !kept.map_err(unavailable)? {
            let words = "The question is over: it was answered, or its time has passed.";
            return Err(refuse("late", ApiError::conflict(words)));
        }
        if agent.first_answer_at.is_none() {
            self.store().agent_answered(&agent.id, now).await.map_err(unavailable)?;
        }
        metrics::counter!("domainscope_agent_answers_total", "agent" => agent.id).increment(1);
        ANSWERED.notify_waiters();
        Ok(())
    }

    /// Signs a response to an agent.
    ///
    /// # Errors
    /// When the server's key can't be read.
    pub async fn sign_for_agent(&self, response: SignedRequest<'_>) -> ApiResult<String> {
        Ok(server_key(&**self.store(), self.now()).await?.sign(&response.of_server()))
    }

    /// Agents that can be asked now.
    pub(super) async fn online_agents(&self) -> ApiResult<Vec<Agent>> {
        if !self.gates.is_on(FEATURE) {
            return Ok(Vec::new());
        }
        online(&**self.store(), self.now()).await.map_err(unavailable)
    }

    /// Asks an agent and waits for its answer: a use of the feature, so that no question comes after its data were deleted.
    pub(super) async fn ask(
        &self,
        agent: &Agent,
        question: &Question,
        patience: Duration,
    ) -> Result<Answer, String> {
        let _use = self.using(FEATURE).map_err(|e| e.detail)?;
        ask(&**self.store(), &*self.scanner.clock, agent, question, patience).await
    }

    /// The identity of this installation, as it is stored.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn cluster_id(&self) -> Result<Option<String>, store::Error> {
        self.store().cluster_id().await
    }
}

/// Agents that are online and have room for another question.
pub(super) async fn online(store: &dyn Store, now: Timestamp) -> Result<Vec<Agent>, store::Error> {
    let queues = store.agent_queues(now).await?;
    Ok(with_room(store.agents().await?, &queues, QUEUE_MAX, now))
}

/// Those of the agents that are online and have fewer than `most` questions.
pub(super) fn with_room(
    mut agents: Vec<Agent>,
    queues: &[(String, u64)],
    most: u64,
    now: Timestamp,
) -> Vec<Agent> {
    agents.retain(|a| {
        let waiting = queues.iter().find(|(id, _)| *id == a.id).map_or(0, |(_, n)| *n);
        state(a, now) == AgentState::Online && waiting < most
    });
    agents
}

/// Asks an agent and waits for its answer.
pub(super) async fn ask(
    store: &dyn Store,
    clock: &dyn Clock,
    agent: &Agent,
    question: &Question,
    patience: Duration,
) -> Result<Answer, String> {
    if agent.protocol < question.since() {
        let (speaks, needs) = (agent.protocol, question.since());
        return Err(format!("it speaks protocol {speaks}; this question needs {needs}: update the agent"));
    }
    let started = tokio::time::Instant::now();
    let id = random_id();
    let words = |e: store::Error| {
        tracing::error!(error = %e, "a question to a point of presence could not be stored");
        "the database did not respond".to_string()
    };
    let until: Timestamp =
        clock.now() + SignedDuration::try_from(patience).unwrap_or(SignedDuration::from_secs(20));
    let text = serde_json::to_string(question).map_err(|e| e.to_string())?;
    store.ask_agent(&agent.id, &id, &text, until).await.map_err(words)?;
    ASKED.notify_waiters();
    let mut found = None;
    while found.is_none() && started.elapsed() < patience {
        let answered = ANSWERED.notified();
        found = store.agent_answer(&id).await.map_err(words)?;
        if found.is_none() {
            let left = patience.saturating_sub(started.elapsed());
            let _ = tokio::time::timeout(left.min(LOOK), answered).await;
        }
    }
    let _ = store.end_agent_work(&id, clock.now()).await;
    let seconds = started.elapsed().as_secs_f64();
    let outcome = if found.is_some() { "answered" } else { "silent" };
    metrics::histogram!("domainscope_agent_question_seconds", "outcome" => outcome).record(seconds);
    let text = found.ok_or_else(|| format!("no answer within {} s", patience.as_secs()))?;
    serde_json::from_str(&text).map_err(|e| format!("its answer can't be read: {e}"))
}
