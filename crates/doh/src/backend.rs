//! Sources of answers. A backend always returns an [`Entry`]; a failed lookup is one too. [`Recursive`] resolves from the
//! root hints with our own engine; `upstream` forwards to other DoH servers.

use crate::codes::{extended, rcode};
use crate::entry::Entry;
use crate::validate::Validator;
use async_trait::async_trait;
use dns::wire::{Data, Name, Reply, Rr, Rtype};
use dns::{Engine, Error, Fetched, QuestionBudget};
use jiff::Timestamp;
use model::dns::AnswerKind;

/// A source of answers.
#[async_trait]
pub trait Backend: Send + Sync {
    /// Looks up a name and type. `unchecked` is the client's CD bit.
    async fn look_up(&self, name: &Name, rtype: Rtype, unchecked: bool, now: Timestamp) -> Entry;

    /// Returns whether `unchecked` changes the result, so that both results are cached.
    fn distinguishes_unchecked(&self) -> bool {
        false
    }
}

/// Iterative resolution from the root hints, with DNSSEC validation.
pub struct Recursive {
    engine: Engine,
    validator: Validator,
}

impl Recursive {
    /// Resolves with the root hints, trust anchors and limits of `engine`. Its `max_queries` is the budget of one lookup,
    /// validation included.
    pub fn new(engine: Engine) -> Self {
        Recursive { validator: Validator::new(engine.clone()), engine }
    }
}

#[async_trait]
impl Backend for Recursive {
    async fn look_up(&self, name: &Name, rtype: Rtype, _: bool, now: Timestamp) -> Entry {
        let budget = QuestionBudget::new(self.engine.settings().max_queries);
        let entry = self.look_up_within(name, rtype, now, &budget).await;
        Entry { questions: budget.sent(), ..entry }
    }
}

impl Recursive {
    /// Looks up and validates with the queries of `budget`.
    async fn look_up_within(
        &self,
        name: &Name,
        rtype: Rtype,
        now: Timestamp,
        budget: &QuestionBudget,
    ) -> Entry {
        let fetched = match self.engine.fetch(name, rtype, budget).await {
            Ok(fetched) => fetched,
            Err(e @ Error::Exhausted { .. }) => return Entry::failure(now, extended::NETWORK, e.to_string()),
            Err(e) => return Entry::failure(now, extended::NO_REACHABLE_AUTHORITY, e.to_string()),
        };
        let Some(mut entry) = entry(name, rtype, &fetched, now) else {
            let why = format!("the servers of {} gave no usable answer", fetched.zone);
            return Entry::failure(now, extended::NO_REACHABLE_AUTHORITY, why);
        };
        let validation = self.validator.validate(name, rtype, &fetched, now, budget).await;
        entry.cap_ttl(validation.seconds);
        entry.security = validation.security;
        entry.explained = validation.explained;
        entry
    }
}

fn entry(name: &Name, rtype: Rtype, fetched: &Fetched, now: Timestamp) -> Option<Entry> {
    let usable = |rr: &&Rr| rr.class == 1 && rr.data != Data::Malformed;
    let Reply { answers, authority, rcode, .. } = &fetched.reply;
    match fetched.kind {
        AnswerKind::Answer | AnswerKind::NonAuthoritative | AnswerKind::NoData | AnswerKind::NxDomain => {}
        _ => return None,
    }
    let covers = |rr: &Rr, wanted: Rtype| {
        rr.rtype == wanted || matches!(&rr.data, Data::Rrsig(sig) if sig.type_covered == wanted)
    };
    let at_name =
        |wanted: Rtype| answers.iter().filter(usable).any(|rr| rr.name == *name && rr.rtype == wanted);
    let proofs = |rr: &&Rr| [Rtype::NSEC, Rtype::NSEC3].into_iter().any(|t| covers(rr, t));
    let kind = if at_name(rtype) { rtype } else { Rtype::CNAME };
    if at_name(kind) {
        let wanted = |rr: &&Rr| {
            (rr.name == *name && covers(rr, kind))
                || (kind == Rtype::CNAME && name.is_below(&rr.name) && covers(rr, Rtype::DNAME))
        };
        let found = answers.iter().filter(usable).filter(wanted).cloned().collect();
        let denials = authority.iter().filter(usable).filter(proofs).cloned().collect();
        let mut entry = Entry::found(now, found, denials);
        if kind != rtype {
            entry.next = entry.answers.iter().find_map(|rr| match &rr.data {
                Data::Cname(target) if rr.name == *name => Some(target.clone()),
                _ => None,
            });
        }
        return Some(entry);
    }
    let code = match (*rcode, fetched.kind) {
        (rcode::NXDOMAIN, _) => rcode::NXDOMAIN,
        (rcode::NOERROR, _) => rcode::NOERROR,
        _ => return None,
    };
    let wanted = |rr: &&Rr| proofs(rr) || (covers(rr, Rtype::SOA) && name.is_at_or_below(&rr.name));
    Some(Entry::denial(now, code, authority.iter().filter(usable).filter(wanted).cloned().collect()))
}
