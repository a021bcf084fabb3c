//! The path from the root to the servers that answer for a name, step by step.

use super::record::{Record, Referral, ServerAnswer, Soa};
use crate::address_space::AddressSpace;
use serde::{Deserialize, Serialize};

/// One step of a trace: the servers of one zone, all asked the same question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TraceStep {
    /// The zone whose servers were asked.
    pub zone: String,
    /// Every server × address of the set, with its answer.
    pub answers: Vec<ServerAnswer>,
    /// Index into `answers` of the one that was followed; `None` when none could be.
    pub chosen: Option<usize>,
    /// Where it led, when it was a referral.
    pub referral: Option<Referral>,
    /// What was noticed at this step, in words (servers of one set disagree, cyclic delegation, ...).
    pub notes: Vec<String>,
}

/// How a trace ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TraceOutcome {
    /// The records asked for were found.
    Answer,
    /// The name exists, the type does not.
    NoData,
    /// The name does not exist.
    NxDomain,
    /// No server of the last zone gave an answer that counts.
    Lame,
    /// The delegations lead in a circle, or deeper than the bound.
    Loop,
    /// A bound was reached (time or number of questions).
    Exhausted,
}

/// The path from the root to the servers that answer for a name, nothing taken from a cache.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// The name asked for.
    pub name: String,
    /// The type asked for.
    #[serde(rename = "type")]
    pub rtype: String,
    /// From the root down.
    pub steps: Vec<TraceStep>,
    /// How it ended.
    pub outcome: TraceOutcome,
    /// The answer, when there was one.
    pub records: Vec<Record>,
    /// SOA of a negative answer.
    pub soa: Option<Soa>,
    /// Questions sent, side look-ups for server addresses included.
    pub queries: u32,
    /// Wall time in milliseconds.
    pub elapsed_ms: f64,
    /// What holds for the whole (for example: no IPv6 on this host).
    pub notes: Vec<String>,
    /// Where the addresses of the answer lie in the registry of address space; empty while the organisation claims none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub address_space: Vec<AddressSpace>,
}

/// Why following the aliases of a name ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum ChainEnd {
    /// The last trace is no alias: its outcome is that of the whole.
    Complete,
    /// An alias leads back to a name before it.
    Circle {
        /// The alias.
        from: String,
        /// The name it leads back to.
        to: String,
    },
    /// There are more aliases than are followed.
    TooLong {
        /// How many are.
        limit: usize,
    },
}

impl ChainEnd {
    /// What is wrong, in words; `None` when nothing is.
    pub fn words(&self) -> Option<String> {
        match self {
            ChainEnd::Complete => None,
            ChainEnd::Circle { from, to } => Some(format!("{from} leads back to {to}")),
            ChainEnd::TooLong { limit } => Some(format!("more than {limit} aliases")),
        }
    }
}

impl Trace {
    /// Where the aliases of the answer lead back to one before: such an answer leads nowhere.
    pub fn circle(&self) -> Option<ChainEnd> {
        let plain = |name: &str| name.trim_end_matches('.').to_ascii_lowercase();
        let mut passed = vec![plain(&self.name)];
        loop {
            let from = passed.last()?.clone();
            let alias = self.records.iter().find(|r| r.rtype == "CNAME" && plain(&r.name) == from)?;
            let to = plain(&alias.data);
            if passed.contains(&to) {
                return Some(ChainEnd::Circle { from, to });
            }
            passed.push(to);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(aliases: &[(&str, &str)]) -> Trace {
        let record = |(name, data): &(&str, &str)| Record {
            name: (*name).into(),
            rtype: "CNAME".into(),
            ttl: 60,
            data: (*data).into(),
        };
        Trace {
            name: "a.test".into(),
            rtype: "A".into(),
            steps: Vec::new(),
            outcome: TraceOutcome::Answer,
            records: aliases.iter().map(record).collect(),
            soa: None,
            queries: 1,
            elapsed_ms: 1.0,
            notes: Vec::new(),
            address_space: Vec::new(),
        }
    }

    #[test]
    fn an_answer_whose_aliases_go_round_is_told_as_such() {
        let round = [("a.test", "B.test."), ("b.test", "c.test."), ("c.test", "b.test.")];
        let circle = |aliases: &[(&str, &str)]| answered(aliases).circle().and_then(|end| end.words());
        assert_eq!(circle(&round).as_deref(), Some("c.test leads back to b.test"));
        assert_eq!(circle(&[("a.test", "a.test.")]).as_deref(), Some("a.test leads back to a.test"));
        assert_eq!(circle(&round[..2]), None);
    }
}
