//! Which servers of a zone are asked, and in which order. In: a zone, its servers and a question. Out: the first answer
//! that counts. One that is known to answer is asked alone for a moment, so that a healthy zone gets each question once.

use super::classify::kind;
use super::reach::intercepted;
use super::{MAX_SIDE_LOOKUPS, Stuck};
use crate::error::Error;
use crate::session::{QueryMode, QueryResult, Session};
use crate::wire::{Name, Question};
use futures::stream::{FuturesUnordered, StreamExt};
use model::dns::{AnswerKind, NsName};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// Servers that are asked at once.
const AT_ONCE: usize = 3;
/// Shortest and longest head start of a server that is known to answer.
const HEAD_START: (Duration, Duration) = (Duration::from_millis(100), Duration::from_millis(500));

/// How long a server whose last answer took so long is waited for before others are asked beside it.
fn head_start(took: Duration) -> Duration {
    (4 * took).clamp(HEAD_START.0, HEAD_START.1)
}

impl Session {
    /// Asks servers of a zone, a few at a time, until one says something that counts.
    pub(super) async fn first_useful(
        &self,
        zone: &Name,
        servers: &[NsName],
        question: &Question,
        stack: &[Name],
    ) -> Result<(Arc<QueryResult>, AnswerKind), Stuck> {
        let mut addresses: Vec<IpAddr> = servers.iter().flat_map(|s| s.addresses.iter().copied()).collect();
        // Inside a side look-up two more are plenty: breadth to the power of depth must stay small.
        let side = if stack.is_empty() { MAX_SIDE_LOOKUPS } else { 2 };
        let mut glueless = servers.iter().filter(|s| s.addresses.is_empty()).take(side);
        let mut weak: Vec<Arc<QueryResult>> = Vec::new();
        let mut cycle = None;
        // Whether a server answered anything, and whether one was silent or its host name could not be resolved for silence.
        let (mut heard, mut silent) = (false, false);
        loop {
            if addresses.is_empty() {
                let Some(server) = glueless.next() else { break };
                let Ok(host) = Name::from_text(&server.name) else { continue };
                let found = self.host(host, stack.to_vec()).await;
                if found.addresses.is_empty() {
                    silent |= found.unanswered;
                    cycle = cycle.or(Some(found.cycle).filter(|names| !names.is_empty()));
                    continue;
                }
                addresses = found.addresses;
            }
            // Servers that were silent before are asked last; of the others the first useful answer is enough.
            addresses.sort_by_cached_key(|ip| {
                let took = self.speeds.of(*ip);
                (self.silence.is_quiet(*ip), took.is_none(), took)
            });
            let fastest = addresses.first().copied();
            let mut batch = addresses.drain(..addresses.len().min(AT_ONCE)).collect::<Vec<_>>().into_iter();
            let head_start = fastest.and_then(|ip| self.speeds.of(ip)).map(head_start);
            let ask = |ip: IpAddr| self.ask(ip, question, QueryMode::Resolver);
            let first = if head_start.is_some() { 1 } else { batch.len() };
            let mut replies: FuturesUnordered<_> = batch.by_ref().take(first).map(ask).collect();
            let late = tokio::time::sleep(head_start.unwrap_or_default());
            tokio::pin!(late);
            loop {
                let next = tokio::select! {
                    next = replies.next() => next,
                    () = &mut late, if batch.len() > 0 => {
                        // It is asked beside the others until it answers again.
                        fastest.into_iter().for_each(|ip| self.speeds.note(ip, None));
                        replies.extend(batch.by_ref().map(ask));
                        continue;
                    }
                };
                let Some(asked) = next else {
                    if batch.len() == 0 {
                        break;
                    }
                    // The first said nothing that counts: the others need not wait.
                    replies.extend(batch.by_ref().map(ask));
                    continue;
                };
                let kind = kind(&asked, zone, question);
                heard |= kind.responded();
                silent |= !kind.responded();
                if kind.is_authoritative() || kind == AnswerKind::Referral {
                    return Ok((asked, kind));
                }
                if kind == AnswerKind::NonAuthoritative {
                    weak.push(asked);
                }
                let so_far = weak.iter().map(AsRef::as_ref);
                if let Some(Error::Intercepted { servers }) = intercepted(zone, question, so_far) {
                    return Err(Stuck::Intercepted(servers));
                }
            }
            if self.exhausted() {
                break;
            }
        }
        match (weak.into_iter().next(), cycle) {
            (Some(weak), _) => Ok((weak, AnswerKind::NonAuthoritative)),
            (None, Some(names)) => Err(Stuck::Cycle(names)),
            (None, None) => Err(Stuck::NoServer { zone: zone.clone(), heard: heard || !silent }),
        }
    }
}
