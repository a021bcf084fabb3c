//! Cache vs authoritative, carried out: the authoritative servers first, then (unless they deny the name) every
//! resolver at once, answers told as they arrive. In: a name and type. Out: `model::compare::Comparison` and its events.

mod clock;
mod watch;

pub use clock::{Clock, SystemClock};
pub use watch::Watch;

use crate::engine::Engine;
use crate::error::Error;
use crate::recursive::Recursive;
use crate::tools::chain::ChainQuestion;
use futures::stream::{self, StreamExt};
use model::compare::{
    Authority, CompareEvent, Comparison, Earlier, Judged, ResolverAnswer, Stopped, authority, compare, judge,
    summarise,
};
use model::names::Fqdn;
use model::resolvers::PublicResolver;
use std::sync::Arc;

/// Resolvers asked at once.
const AT_ONCE: usize = 16;

/// Called with every event, in order.
pub type Tell<'a> = &'a mut (dyn FnMut(CompareEvent) + Send);

/// What is compared.
#[derive(Debug, Clone)]
pub struct Asking {
    /// The name.
    pub name: Fqdn,
    /// The type.
    pub rtype: String,
    /// Ask resolvers even about what the authoritative servers deny: the page says what that does before it is set.
    pub force: bool,
    /// What was right before, where that is known.
    pub earlier: Earlier,
}

impl Asking {
    /// A name and type, nothing known from before.
    pub fn new(name: Fqdn, rtype: &str) -> Self {
        Asking { name, rtype: rtype.to_ascii_uppercase(), force: false, earlier: Earlier::default() }
    }
}

/// Compares. Cheap to clone.
#[derive(Clone)]
pub struct Comparer {
    engine: Engine,
    recursive: Recursive,
    resolvers: Arc<Vec<PublicResolver>>,
    clock: Arc<dyn Clock>,
}

impl Comparer {
    /// With this engine, these resolvers and this clock.
    pub fn new(
        engine: Engine,
        recursive: Recursive,
        resolvers: Vec<PublicResolver>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Comparer { engine, recursive, resolvers: Arc::new(resolvers), clock }
    }

    /// The resolvers that are asked, in the table's order.
    pub fn resolvers(&self) -> &[PublicResolver] {
        &self.resolvers
    }

    /// What the authoritative servers say.
    ///
    /// # Errors
    /// [`Error::Name`] and [`Error::Type`]; servers that fail are part of the answer.
    pub async fn authority(&self, name: &Fqdn, rtype: &str) -> Result<Authority, Error> {
        let asked_at = self.clock.now();
        let chain = self.engine.chain(name, &ChainQuestion::of(rtype)).await?;
        Ok(authority(&name.to_string(), rtype, &chain.steps, asked_at, chain.notes))
    }

    /// What every resolver says, whatever the authoritative servers do: whether to ask is for the caller to judge, as a name
    /// that is denied would be put into their caches as denied.
    ///
    /// # Errors
    /// [`Error::Type`]; resolvers that fail are part of the answer.
    pub async fn caches(&self, name: &Fqdn, rtype: &str) -> Result<Vec<ResolverAnswer>, Error> {
        crate::known_type(rtype)?;
        let answers: Vec<_> = stream::iter(self.resolvers.to_vec())
            .map(|row| async move { self.recursive.ask(&row, name, rtype, self.clock.now()).await })
            .buffered(AT_ONCE)
            .collect()
            .await;
        Ok(answers.into_iter().filter_map(Result::ok).collect())
    }

    /// The authoritative answer with every resolver still to be asked, or the reason why none will be.
    ///
    /// # Errors
    /// As [`Comparer::authority`].
    pub async fn start(&self, asking: &Asking) -> Result<Comparison, Error> {
        let authority = self.authority(&asking.name, &asking.rtype).await?;
        Ok(self.pending(authority, asking.force).knowing(&asking.earlier))
    }

    fn pending(&self, authority: Authority, force: bool) -> Comparison {
        let now = self.clock.now();
        let stopped = Stopped::by(&authority).filter(|_| !force);
        let none = Earlier::default();
        let answers = match stopped {
            Some(_) => Vec::new(),
            None => self.resolvers.iter().map(|r| judge(&authority, r, None, &none, now)).collect(),
        };
        compare(authority, stopped, answers, Vec::new(), now)
    }

    /// The whole comparison; every event of it is told as it happens.
    ///
    /// # Errors
    /// As [`Comparer::authority`].
    pub async fn run(&self, asking: &Asking, tell: Tell<'_>) -> Result<Comparison, Error> {
        let mut comparison = self.start(asking).await?;
        tell(CompareEvent::Authority(Box::new(comparison.clone())));
        if comparison.stopped.is_none() {
            self.fill(asking, &asking.earlier, &mut comparison, |_| true, tell).await;
        }
        tell(CompareEvent::Summary(comparison.summary.clone()));
        Ok(comparison)
    }

    /// Asks the resolvers whose verdicts `wanted` picks, and judges what they say.
    async fn fill(
        &self,
        asking: &Asking,
        earlier: &Earlier,
        comparison: &mut Comparison,
        wanted: impl Fn(&Judged) -> bool,
        tell: Tell<'_>,
    ) -> Vec<ResolverAnswer> {
        let todo: Vec<(usize, PublicResolver)> = comparison
            .answers
            .iter()
            .enumerate()
            .filter(|(_, j)| wanted(j))
            .map(|(i, j)| (i, j.resolver.clone()))
            .collect();
        let mut arriving = stream::iter(todo)
            .map(|(i, row)| async move {
                let answer = self.recursive.ask(&row, &asking.name, &asking.rtype, self.clock.now()).await;
                (i, row, answer)
            })
            .buffer_unordered(AT_ONCE);
        let mut heard = Vec::new();
        while let Some((i, row, answer)) = arriving.next().await {
            // Name and type were accepted before; should they not be, the resolver stays unanswered.
            let Ok(answer) = answer else { continue };
            let judged = judge(&comparison.authority, &row, Some(&answer), earlier, self.clock.now());
            tell(CompareEvent::Answer(Box::new(judged.clone())));
            comparison.answers[i] = judged;
            heard.push(answer);
        }
        comparison.now = self.clock.now();
        comparison.summary = summarise(
            &comparison.authority,
            comparison.stopped.as_ref(),
            &comparison.answers,
            comparison.now,
        );
        heard
    }

    /// Asks the machine's own resolvers at this port and judges them like the others; no one is asked when the
    /// comparison was stopped.
    pub async fn ask_own(
        &self,
        asking: &Asking,
        comparison: &mut Comparison,
        own: &[std::net::IpAddr],
        port: u16,
    ) {
        if comparison.stopped.is_some() {
            return;
        }
        let client = self.recursive.for_own(port);
        for address in own {
            let row = PublicResolver::of_machine(*address);
            let Ok(answer) = client.ask(&row, &asking.name, &asking.rtype, self.clock.now()).await else {
                continue;
            };
            let judged = judge(&comparison.authority, &row, Some(&answer), &asking.earlier, self.clock.now());
            comparison.own.push(judged);
        }
    }
}
