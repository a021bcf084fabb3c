//! Who holds what of a prefix, and what of it is free.

use crate::addresses::component;
use crate::{ApiError, ApiResult};
use model::Timestamp;
use model::time::human_day;
use numbers::{IpNet, Reference};
use serde::{Deserialize, Serialize};

/// Most blocks that an organisation lists by itself.
pub const BLOCKS_MAX: usize = 1_000;

/// A block that an organisation lists by itself, before any claim names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedBlock {
    /// The prefix.
    pub prefix: IpNet,
    /// What it is for; may be empty.
    pub description: String,
    /// When it was listed.
    pub created_at: Timestamp,
}

/// Reads what someone wrote to list a block.
///
/// # Errors
/// Names the value and the rule.
pub fn read_block(prefix: &str, description: &str) -> ApiResult<(IpNet, String)> {
    let prefix = numbers::prefix::parse(prefix).map_err(|e| ApiError::invalid(e.to_string()))?;
    let description = description.split_whitespace().collect::<Vec<_>>().join(" ");
    let (length, max) = (description.chars().count(), numbers::claim::DESCRIPTION_MAX);
    if length > max || description.chars().any(char::is_control) {
        return Err(ApiError::invalid(format!(
            "The description of a block has at most {max} characters without control characters; this one has {length}."
        )));
    }
    Ok((prefix, description))
}

/// What became of a prefix that a claim asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrefixState {
    /// The claim was refused it.
    Unavailable,
    /// The claim holds it.
    Allocated,
    /// The claim held it and released it.
    Released,
}

impl PrefixState {
    /// All of them, the worst first.
    pub const ALL: [PrefixState; 3] =
        [PrefixState::Unavailable, PrefixState::Allocated, PrefixState::Released];

    /// The word in addresses, exports and the API.
    pub fn as_str(self) -> &'static str {
        match self {
            PrefixState::Unavailable => "unavailable",
            PrefixState::Allocated => "allocated",
            PrefixState::Released => "released",
        }
    }

    /// The word for people.
    pub fn label(self) -> &'static str {
        match self {
            PrefixState::Unavailable => "Unavailable",
            PrefixState::Allocated => "Allocated",
            PrefixState::Released => "Released",
        }
    }
}

/// A prefix that a claim holds, was refused, or released.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedPrefix {
    /// The prefix.
    pub prefix: IpNet,
    /// The claim.
    pub claim: String,
    /// The component that uses it.
    pub reference: Reference,
    /// Its state.
    pub state: PrefixState,
    /// When it was allocated or refused.
    pub since: Timestamp,
    /// When it was released.
    pub released_at: Option<Timestamp>,
    /// Why it is unavailable.
    pub message: Option<String>,
}

/// Who holds what of a prefix and what is free, as far as an organisation may know.
#[derive(Debug, Clone, PartialEq)]
pub struct PrefixSpace {
    /// The prefix.
    pub prefix: IpNet,
    /// What claims hold, were refused or released that contains the prefix and more: what is held first, then by address.
    pub covering: Vec<ClaimedPrefix>,
    /// How many more.
    pub more_covering: usize,
    /// The same inside it, the prefix itself included, by address.
    pub claims: Vec<ClaimedPrefix>,
    /// How many more.
    pub more_claims: usize,
    /// How many of both were refused to claims, with those that are not listed.
    pub refused: usize,
    /// How many of those inside are allocated, with those that are not listed.
    pub allocated: usize,
    /// The fewest prefixes that hold what the organisation could claim, by address.
    pub free: Vec<IpNet>,
    /// How many more.
    pub more_free: u64,
    /// The shortest of them, the one at the lowest address where several are as short.
    pub largest_free: Option<IpNet>,
    /// Part that is not free, per cent.
    pub used: f64,
    /// True when other organisations hold some of that, of which nothing else is shown.
    pub has_foreign: bool,
    /// True when not all refused claims or released prefixes were compared.
    pub is_partial: bool,
}

impl PrefixSpace {
    /// What holds the prefix, in a sentence or two.
    pub fn sentence(&self) -> String {
        let holds = |c: &ClaimedPrefix| {
            format!("claim {} holds for {} since {}", c.claim, component(&c.reference), human_day(c.since))
        };
        let is_allocated = |c: &&ClaimedPrefix| c.state == PrefixState::Allocated;
        let prefix = self.prefix;
        if let Some(c) = self.covering.iter().find(is_allocated) {
            return format!("{prefix} lies in {}, which {}.", c.prefix, holds(c));
        }
        if let Some(c) = self.claims.iter().filter(is_allocated).find(|c| c.prefix == prefix) {
            return format!("{prefix} is a prefix that {}.", holds(c));
        }
        let Some(largest) = self.largest_free else {
            return match (self.allocated, self.has_foreign) {
                (0, _) => format!("{prefix} is held by other organisations."),
                (n, true) => {
                    format!("{prefix} is full: {} of yours, and those of other organisations.", prefixes(n))
                }
                (n, false) => format!("{prefix} is full: {}.", prefixes(n)),
            };
        };
        if largest == prefix {
            return format!("{prefix} is free.");
        }
        let others = if self.has_foreign { " Other organisations hold a part of it." } else { "" };
        format!(
            "{} of {prefix} is used, with {} of yours; the largest free prefix is {largest}.{others}",
            self.used_words(),
            prefixes(self.allocated)
        )
    }

    /// The part that is used, in words: a little is not nothing.
    fn used_words(&self) -> String {
        match self.used {
            p if p > 0.0 && p < 1.0 => "Under 1 %".into(),
            p if p > 99.0 && p < 100.0 => "Over 99 %".into(),
            p => format!("{p:.0} %"),
        }
    }
}

fn prefixes(n: usize) -> String {
    if n == 1 { "1 prefix".into() } else { format!("{n} prefixes") }
}
