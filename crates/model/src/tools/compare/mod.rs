//! Cache vs authoritative: what the owner's servers say, beside what recursive resolvers remember.
//! In: the authority's answer, resolvers' answers, earlier values, now. Out: a verdict for each and a summary.
//! RFC 1034 (records), RFC 2308 (negative caching), RFC 8767 (serve stale), RFC 8914 (extended errors).

mod authority;
mod comparison;
mod event;
mod judge;
mod summary;
mod words;

pub use super::chain::AuthorityServer;
pub use super::rdata::{rdata_key, same_rrset};
pub use super::resolver_answer::{Carried, ExtendedError, ResolverAnswer};
pub use authority::{authority, authority_sentence};
pub use comparison::Comparison;
pub use event::{CompareEvent, EndKind, Ended, LOOK_MAX, LOOK_MIN, WatchPhase, WatchProgress, next_look};
pub use judge::{BlockPage, BlockSoa, Earlier, block_pages, judge};
pub use summary::{compare, summarise};

use super::resolvers::PublicResolver;
use crate::dns::{Record, Soa};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// What the authoritative servers say of the name and type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthorityOutcome {
    /// They serve the record.
    Serves,
    /// The name exists, the type does not (NODATA).
    NoData,
    /// The name does not exist (NXDOMAIN).
    NxDomain,
    /// No server gave an answer that counts.
    NoAnswer,
}

impl AuthorityOutcome {
    /// True when the servers say that there is nothing to be found.
    pub fn is_denial(self) -> bool {
        matches!(self, AuthorityOutcome::NoData | AuthorityOutcome::NxDomain)
    }
}

/// The authoritative answer: asked first, uncached, of every server × address.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Authority {
    /// The name asked for.
    pub name: String,
    /// The type asked for.
    #[serde(rename = "type")]
    pub rtype: String,
    /// The zone that holds the name (of the last alias, where there are aliases).
    pub zone: String,
    /// What the servers say.
    pub outcome: AuthorityOutcome,
    /// CNAME records on the way, in order.
    pub aliases: Vec<Record>,
    /// The records of the type asked for, as most servers give them.
    pub records: Vec<Record>,
    /// TTL of the answer: the smallest of aliases and records, seconds.
    pub ttl: Option<u32>,
    /// Seconds resolvers remember that something is missing in the zone (RFC 2308).
    pub negative_ttl: Option<u32>,
    /// SOA of the zone.
    pub soa: Option<Soa>,
    /// Every server × address of every zone on the way.
    pub servers: Vec<AuthorityServer>,
    /// True when all servers that answer with authority give the same records.
    pub agree: bool,
    /// When they were asked.
    pub asked_at: Timestamp,
    /// Why the name does not resolve, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<crate::judgement::cause::Cause>,
    /// What holds for the whole (no IPv6 here, aliases lead in a circle, ...).
    pub notes: Vec<String>,
    /// What this comes to, in a sentence.
    pub sentence: String,
}

impl Authority {
    /// Servers of the zone of the name itself that answer with authority: name and address, as events name them.
    pub fn answering_servers(&self) -> Vec<String> {
        let name = |n: &str| n.trim_end_matches('.').to_ascii_lowercase();
        let of_zone = self.servers.iter().filter(|s| name(&s.zone) == name(&self.name));
        let answering = of_zone.filter(|s| s.kind.is_authoritative());
        let words = |s: &AuthorityServer| s.address.map(|a| format!("{} {a}", name(&s.server)));
        answering.filter_map(words).collect()
    }
}

/// Why an answer differs and may still be right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// By location: the resolver tells the servers where its clients are (ECS), or fetched another answer afresh. With a
    /// time in `until` it is only likely: an old copy would look the same until then.
    Location,
    /// The authoritative servers themselves disagree, and this is what one of them says.
    Disagreement,
    /// Old or by location: nothing seen so far tells which.
    OldOrLocation,
}

/// What a resolver's answer amounts to, beside the authority's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Verdict {
    /// Not answered yet.
    Pending,
    /// The same records.
    Same,
    /// An answer that was right earlier.
    Stale {
        /// When its copy runs out.
        until: Timestamp,
    },
    /// Another answer, which may be legitimate.
    Different {
        /// Why it may be.
        cause: Cause,
        /// When its copy runs out; what it says after that is fresh.
        until: Option<Timestamp>,
    },
    /// It remembers that the record is missing.
    NegativeCached {
        /// When it forgets that at the latest; unknown without an SOA anywhere.
        until: Option<Timestamp>,
    },
    /// It blocks the name on purpose.
    Filtered,
    /// No usable answer.
    Failing,
}

/// The class of a verdict, for counts and filters; in the order a summary lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictKind {
    /// [`Verdict::Same`].
    Same,
    /// [`Verdict::Stale`].
    Stale,
    /// [`Verdict::NegativeCached`].
    NegativeCached,
    /// [`Verdict::Different`].
    Different,
    /// [`Verdict::Filtered`].
    Filtered,
    /// [`Verdict::Failing`].
    Failing,
    /// [`Verdict::Pending`].
    Pending,
}

impl VerdictKind {
    /// All, in order.
    pub const ALL: [VerdictKind; 7] = [
        VerdictKind::Same,
        VerdictKind::Stale,
        VerdictKind::NegativeCached,
        VerdictKind::Different,
        VerdictKind::Filtered,
        VerdictKind::Failing,
        VerdictKind::Pending,
    ];

    /// The word people see on a tile.
    pub fn label(self) -> &'static str {
        match self {
            VerdictKind::Same => "Same",
            VerdictKind::Stale => "Stale",
            VerdictKind::NegativeCached => "Cached “no”",
            VerdictKind::Different => "Different",
            VerdictKind::Filtered => "Filtered",
            VerdictKind::Failing => "Failing",
            VerdictKind::Pending => "Querying",
        }
    }
}

impl Verdict {
    /// Its class.
    pub fn kind(&self) -> VerdictKind {
        match self {
            Verdict::Pending => VerdictKind::Pending,
            Verdict::Same => VerdictKind::Same,
            Verdict::Stale { .. } => VerdictKind::Stale,
            Verdict::Different { .. } => VerdictKind::Different,
            Verdict::NegativeCached { .. } => VerdictKind::NegativeCached,
            Verdict::Filtered => VerdictKind::Filtered,
            Verdict::Failing => VerdictKind::Failing,
        }
    }

    /// When this resolver will be right at the latest by itself; `None` where waiting changes nothing or nothing is known.
    pub fn right_at(&self) -> Option<Timestamp> {
        match self {
            Verdict::Stale { until } | Verdict::NegativeCached { until: Some(until) } => Some(*until),
            Verdict::Different { cause: Cause::OldOrLocation, until } => *until,
            _ => None,
        }
    }

    /// True when time is expected to change this resolver's answer: a watch waits for it.
    pub fn waits(&self) -> bool {
        matches!(
            self,
            Verdict::Pending
                | Verdict::Stale { .. }
                | Verdict::NegativeCached { .. }
                | Verdict::Different { cause: Cause::OldOrLocation, .. }
                | Verdict::Different { cause: Cause::Location, until: Some(_) }
        )
    }
}

/// A resolver, its answer, and what it amounts to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// The resolver's row.
    pub resolver: PublicResolver,
    /// What it said; `None` while it is asked.
    pub answer: Option<ResolverAnswer>,
    /// What that amounts to.
    pub verdict: Verdict,
    /// What it answers, for a tile: `203.0.113.80`, `NXDOMAIN`, `no answer in time`.
    pub shows: String,
    /// What goes with it, for a tile: `TTL 212`, `expires 14:41`, `expected`, `by location`.
    pub short: String,
    /// The verdict in a sentence.
    pub sentence: String,
}

/// Why no resolver was queried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopped {
    /// Why.
    pub reason: StopReason,
    /// The reason in a sentence, with this name's own numbers.
    pub sentence: String,
    /// What asking all the same would do, for the button that confirms it.
    pub consequence: String,
}

/// Why no resolver was queried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The authoritative servers deny the name or type: asking would plant negative answers.
    Denied,
    /// No authoritative server answers: there is nothing to compare with.
    NoAuthority,
    /// A watch waits until all authoritative servers serve the record.
    NotServedYet,
}

/// What all answers come to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// One sentence.
    pub sentence: String,
    /// How many resolvers of each class, in the order of [`VerdictKind::ALL`], zeros left out.
    pub counts: Vec<(VerdictKind, u32)>,
    /// How many answered, of how many.
    pub answered: u32,
    /// How many resolvers there are.
    pub total: u32,
    /// When the last stale copy runs out; `None` when nothing waits or the time is unknown.
    pub all_right_at: Option<Timestamp>,
    /// True when some resolver has it, and no one that neither filters nor fails waits for time to pass.
    pub everywhere: bool,
}
