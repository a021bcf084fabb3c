//! One question of a resolver that keeps its own cache: from the delegations it remembers down to the servers of the
//! zone, asked with DO, the reply left as it came. In: name and type. Out: the reply and the zone whose server gave it.

use crate::engine::{Engine, stuck_error};
use crate::error::Error;
use crate::wire::{Name, Reply, Rtype};
use model::dns::AnswerKind;
use std::sync::Arc;

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
    /// settings.
    pub async fn fetch(&self, name: &Name, rtype: Rtype) -> Result<Fetched, Error> {
        let mut session = self.warm_session();
        session.signatures = true;
        let result = session.resolve(name.clone(), rtype, false, Vec::new()).await;
        self.keep(&session);
        let found = result.map_err(|stuck| stuck_error(&session, name, &stuck))?;
        let Ok(reply) = Arc::unwrap_or_clone(found.asked).result else {
            let detail = "no server gave a reply".into();
            return Err(Error::Unreachable { zone: found.zone.to_string(), detail });
        };
        Ok(Fetched { zone: found.zone, kind: found.kind, reply })
    }
}
