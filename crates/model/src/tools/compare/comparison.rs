//! Authority and resolvers side by side: what a page, the API and the command line are given. In: what was judged. Out:
//! the whole, and what others may ask of it.

use super::{Authority, Earlier, Judged, ResolverAnswer, Stopped, Summary, VerdictKind, judge};
use crate::judgement::cause::Cause;
use crate::tools::address_space::AddressSpace;
use crate::tools::resolvers::PublicResolver;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The whole comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// What the authoritative servers say.
    pub authority: Authority,
    /// Why no resolver was queried, when none was.
    pub stopped: Option<Stopped>,
    /// The public resolvers, in the table's order.
    pub answers: Vec<Judged>,
    /// The asking machine's own resolvers (command line only).
    #[serde(default)]
    pub own: Vec<Judged>,
    /// What it comes to.
    pub summary: Summary,
    /// Values the servers gave before, as far as they are known: for those who judge further answers (a browser's).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Vec<String>>,
    /// Where the addresses of the authoritative answer lie in the registry of address space; empty while the organisation
    /// claims none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub address_space: Vec<AddressSpace>,
    /// When it was judged.
    pub now: Timestamp,
}

impl Comparison {
    /// Whether everybody who answers on his own account, the machine's own resolvers too, says what the authoritative
    /// servers say: filters are expected to differ, and a resolver that fails says nothing.
    pub fn agrees(&self) -> bool {
        let fine = |k| matches!(k, VerdictKind::Same | VerdictKind::Filtered | VerdictKind::Failing);
        let any = self.answers.iter().any(|j| j.verdict.kind() == VerdictKind::Same);
        let all = self.answers.iter().chain(&self.own);
        self.stopped.is_none() && any && all.into_iter().all(|j| fine(j.verdict.kind()))
    }

    /// Puts a cause found elsewhere (the registration) into the reason why nothing was compared.
    #[must_use]
    pub fn because(mut self, cause: Option<Cause>) -> Self {
        let (Some(cause), Some(stopped)) = (cause, self.stopped.as_mut()) else { return self };
        if self.authority.cause.as_ref().is_none_or(|own| cause < *own) {
            stopped.sentence = format!("{} {}", cause.headline(), stopped.sentence);
            self.summary.sentence.clone_from(&stopped.sentence);
            self.authority.cause = Some(cause);
        }
        self
    }

    /// The same with what is known from before.
    #[must_use]
    pub fn knowing(mut self, earlier: &Earlier) -> Self {
        self.earlier.clone_from(&earlier.values);
        self
    }

    /// Judges an answer that someone else was given, as those of `answers` were judged (`None`: still asked).
    pub fn judge(
        &self,
        resolver: &PublicResolver,
        answer: Option<&ResolverAnswer>,
        now: Timestamp,
    ) -> Judged {
        let earlier = Earlier { values: self.earlier.clone(), answers: Vec::new() };
        judge(&self.authority, resolver, answer, &earlier, now)
    }
}
