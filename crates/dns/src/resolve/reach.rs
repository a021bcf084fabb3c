//! What can be reached from here at all, told by the root servers: thirteen operators do not fail together. Where all
//! of them are silent over IPv6, IPv6 leads nowhere from this machine; where all answer like resolvers, something on
//! the way (a firewall, a router, a provider) answers port 53 in their place. Without this the faults of our own network would
//! be reported as those of other people's zones.

use crate::error::Error;
use crate::resolve::classify::{kind, plain, serves};
use crate::session::transport::Failure;
use crate::session::{QueryMode, QueryResult, Session};
use crate::wire::{Name, Question, Rtype};
use futures::future::join_all;
use model::dns::AnswerKind;

use crate::session::QUORUM;

/// Why nothing can be learned from the root servers' answers: all of them are without authority, which no root server's
/// is. `None` when one of them is worth something, or too few answered to tell.
pub(crate) fn intercepted<'a>(
    zone: &Name,
    question: &Question,
    said: impl IntoIterator<Item = &'a QueryResult>,
) -> Option<Error> {
    let kinds: Vec<AnswerKind> = said.into_iter().map(|asked| kind(asked, zone, question)).collect();
    let answered = kinds.iter().filter(|k| k.responded()).count();
    let foreign = kinds.iter().filter(|k| **k == AnswerKind::NonAuthoritative).count();
    (zone.is_root() && answered >= QUORUM && foreign == answered)
        .then_some(Error::Intercepted { servers: answered })
}

/// Fails when not one root server said anything of worth about its own zone: no verdict on anybody's zone follows from
/// that, whatever the test cases make of it. Their answers are in the session's memory by then.
pub(crate) async fn root_is_there(session: &Session) -> Result<(), Error> {
    let question = plain(&Name::root(), Rtype::SOA);
    let has_time = session.has_time_for_a_question();
    let addresses = session.settings.root_hints.servers().iter().flat_map(|s| s.addresses.iter().copied());
    // A host without IPv6 has half of them left out, whatever the others say.
    let addresses = addresses.filter(|ip| ip.is_ipv4() || !session.lacks_v6());
    let said = join_all(addresses.map(|ip| session.ask(ip, &question, QueryMode::Exact))).await;
    let is_there = said.iter().any(|asked| serves(asked.reply(), &Name::root()));
    // Where the bounds of the operation left most of them out, or no time to answer, their silence says nothing.
    let left_out = said.iter().filter(|asked| matches!(asked.result, Err(Failure::NotAsked(_)))).count();
    if is_there || !has_time || 2 * left_out > said.len() {
        return Ok(());
    }
    let heard = || said.iter().map(AsRef::as_ref);
    Err(intercepted(&Name::root(), &question, heard()).unwrap_or_else(|| {
        let answered = heard().filter(|asked| asked.reply().is_some()).count();
        let detail = match answered {
            0 => "none of them answers; is port 53 blocked on the way?".to_string(),
            n => format!("{n} answer, none with authority for the root"),
        };
        Error::NoRoot { detail }
    }))
}
