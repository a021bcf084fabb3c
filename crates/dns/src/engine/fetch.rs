//! One question of a resolver that keeps its own cache: from the delegations it remembers down to the servers of the
//! zone, asked with DO, the reply left as it came. In: name and type. Out: the reply and the zone whose server gave it.

use crate::engine::{Engine, stuck_error};
use crate::error::Error;
use crate::wire::{Name, Reply, Rtype};
use model::dns::AnswerKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Questions that the fetches of one lookup may send together, whatever servers answer.
#[derive(Debug)]
pub struct QuestionBudget {
    limit: u32,
    sent: AtomicU32,
}

impl QuestionBudget {
    /// A budget of `limit` questions.
    pub fn new(limit: u32) -> Self {
        QuestionBudget { limit, sent: AtomicU32::new(0) }
    }

    /// Questions sent so far.
    pub fn sent(&self) -> u32 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Questions that may still be sent.
    pub fn left(&self) -> u32 {
        self.limit.saturating_sub(self.sent())
    }
}

/// What the servers of a zone said.
#[derive(Debug, Clone)]
pub struct Fetched {
    /// The zone whose server answered, as the referrals have it; the signatures may name one below.
    pub zone: Name,
    /// What the reply amounts to.
    pub kind: AnswerKind,
    /// The reply, with signatures where the zone has them.
    pub reply: Reply,
}

impl Engine {
    /// Asks for the records of one name with their signatures, from the delegations of top-level domains that are
    /// remembered; aliases are not followed, and nothing that is no delegation is kept.
    ///
    /// # Errors
    /// [`Error::Unreachable`] when no server said anything that counts, [`Error::Exhausted`] at the bounds of the
    /// settings or of `budget`.
    pub async fn fetch(&self, name: &Name, rtype: Rtype, budget: &QuestionBudget) -> Result<Fetched, Error> {
        let mut session = self.warm_session();
        session.signatures = true;
        session.max_queries = session.max_queries.min(budget.left());
        let result = session.resolve(name.clone(), rtype, false, Vec::new()).await;
        budget.sent.fetch_add(session.queries(), Ordering::Relaxed);
        self.keep(&session);
        let found = result.map_err(|stuck| stuck_error(&session, name, &stuck))?;
        let Ok(reply) = Arc::unwrap_or_clone(found.asked).result else {
            let detail = "no server gave a reply".into();
            return Err(Error::Unreachable { zone: found.zone.to_string(), detail });
        };
        Ok(Fetched { zone: found.zone, kind: found.kind, reply })
    }
}
