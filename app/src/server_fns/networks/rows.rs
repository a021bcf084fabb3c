//! Records of claims as rows, and which of them a list or an export holds.

use super::{ClaimRow, Gone, PrefixState, Release};
use service::addresses::component;
use service::numbers::prefix::{host, overlaps, parse};
use service::numbers::{Holding, IpNet, RecordState, SpaceView};
use service::resources::{Claim, Cover};
use service::{ApiError, ApiResult};
use std::net::IpAddr;

/// Characters of a search that are read.
const SEARCH_MAX: usize = 200;

/// Which records a list holds.
#[derive(Debug, Clone, Default)]
pub struct ClaimFilter {
    /// Only records that overlap this block. A search covers all blocks.
    pub block: Option<IpNet>,
    /// What was searched for.
    pub text: String,
    /// The prefix or address that was searched for.
    pub place: Option<IpNet>,
    /// Only records of this state.
    pub state: Option<PrefixState>,
    /// Which page of them, from 1.
    pub page: usize,
}

impl ClaimFilter {
    /// Reads `block`, `q` and `state` of the query of an address.
    ///
    /// # Errors
    /// Names the value that is none and the rule.
    pub fn read(query: &str) -> ApiResult<Self> {
        let value = |key: &str| crate::query::value(query, key).unwrap_or_default().trim().to_string();
        let block = match value("block").as_str() {
            "" => None,
            text => Some(parse(text).map_err(|e| ApiError::invalid(e.to_string()))?),
        };
        let state = match value("state").as_str() {
            "" => None,
            word => Some(PrefixState::ALL.into_iter().find(|s| s.as_str() == word).ok_or_else(|| {
                let shown: String = word.chars().take(40).collect();
                ApiError::invalid(format!(
                    "“{shown}” is not a state: use unavailable, allocated or released."
                ))
            })?),
        };
        let text: String = value("q").chars().take(SEARCH_MAX).collect();
        let place = place(&text);
        let page = value("page").parse().unwrap_or(1);
        Ok(ClaimFilter { block, text, place, state, page })
    }

    /// Whether a record is in the block or matches the search, whatever its state.
    pub fn matches(&self, row: &ClaimRow) -> bool {
        let lies_in = |place: &IpNet| place_of(row).is_none_or(|p| overlaps(place, &p));
        if self.text.is_empty() {
            return self.block.as_ref().is_none_or(lies_in);
        }
        if let Some(place) = &self.place {
            return lies_in(place);
        }
        self.finds([&row.claim, &row.prefix, &row.reference, &row.description])
    }

    /// Whether one of these texts has what was searched for as a part.
    fn finds(&self, fields: [&str; 4]) -> bool {
        let text = self.text.to_lowercase();
        fields.into_iter().any(|field| field.to_lowercase().contains(&text))
    }

    /// What is held in the block or matches the search, by address: without a record of it.
    pub(super) fn allocated<'a>(&'a self, view: &'a SpaceView) -> Box<dyn Iterator<Item = &'a Holding> + 'a> {
        let area = if self.text.is_empty() { &self.block } else { &self.place };
        match area {
            Some(area) => {
                let around = view.containing(area).filter(move |h| h.prefix != *area);
                Box::new(around.into_iter().chain(view.within(area)))
            }
            None if self.text.is_empty() => Box::new(view.held()),
            None => Box::new(view.held().filter(|h| {
                let holder = &h.holder;
                let (prefix, reference) = (h.prefix.to_string(), component(&holder.reference));
                self.finds([&holder.claim, &prefix, &reference, &holder.description])
            })),
        }
    }

    /// Whether a list with this filter holds a record.
    pub fn holds(&self, row: &ClaimRow) -> bool {
        self.state.is_none_or(|state| state == row.state) && self.matches(row)
    }
}

/// A prefix, or that of an address.
pub(super) fn place(text: &str) -> Option<IpNet> {
    text.parse::<IpAddr>().map(host).or_else(|_| text.parse::<IpNet>().map(|p| p.trunc())).ok()
}

/// The prefix of a record, or the block that it asks for one of: `/26 from 10.20.0.0/16` ends with it.
pub(super) fn place_of(row: &ClaimRow) -> Option<IpNet> {
    row.prefix.rsplit(' ').next()?.parse().ok()
}

/// Records of claims, refused ones first.
pub fn of_claims(claims: &[Claim]) -> Vec<ClaimRow> {
    let mut all: Vec<ClaimRow> = claims.iter().flat_map(of_claim).collect();
    all.sort_by_key(|r| r.state == PrefixState::Allocated);
    all
}

/// The records of claims that are unavailable.
pub(super) fn of_refused(claims: &[Claim]) -> Vec<ClaimRow> {
    claims.iter().flat_map(of_claim).filter(|r| r.state == PrefixState::Unavailable).collect()
}

fn of_claim(c: &Claim) -> impl Iterator<Item = ClaimRow> {
    let release = Some(Release { position: c.rv.0, prefixes: c.status.allocated().count() });
    c.status.address_space.iter().zip(&c.spec.address_space).map(move |(record, request)| {
        let asked = || {
            let len = request.prefix_length.map(|l| format!("/{l} from ")).unwrap_or_default();
            format!("{len}{}", request.from.clone().unwrap_or_default())
        };
        ClaimRow {
            claim: c.name.clone(),
            prefix: record.prefix.clone().unwrap_or_else(asked),
            reference: component(&record.reference),
            state: match record.status {
                RecordState::Allocated => PrefixState::Allocated,
                RecordState::Unavailable => PrefixState::Unavailable,
            },
            description: record.description.clone(),
            message: record.message.clone(),
            date: record.date,
            held_by: record.held_by.clone(),
            gone: None,
            release,
        }
    })
}

/// What is held, without what releasing it takes.
pub(super) fn of_holding(h: &Holding) -> ClaimRow {
    ClaimRow {
        claim: h.holder.claim.clone(),
        prefix: h.prefix.to_string(),
        reference: component(&h.holder.reference),
        state: PrefixState::Allocated,
        description: h.holder.description.clone(),
        message: None,
        date: h.holder.since,
        held_by: None,
        gone: None,
        release: None,
    }
}

/// Released prefixes that are not allocated again, even in part, each with its newest release.
pub fn of_released(released: &[Cover], is_used: impl Fn(&IpNet) -> bool) -> Vec<ClaimRow> {
    let mut seen = std::collections::HashSet::new();
    let free = released.iter().filter(|c| !is_used(&c.prefix) && seen.insert(c.prefix));
    let row = |c: &Cover| ClaimRow {
        claim: c.claim.clone(),
        prefix: c.prefix.to_string(),
        reference: component(&c.reference),
        state: PrefixState::Released,
        description: String::new(),
        message: None,
        date: c.released_at.unwrap_or(c.since),
        held_by: None,
        gone: Some(Gone { by: c.released_by.clone(), ..Gone::default() }),
        release: None,
    };
    free.map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(prefix: &str) -> ClaimRow {
        ClaimRow {
            claim: "web-front".into(),
            prefix: prefix.into(),
            reference: "apps/Shop".into(),
            state: PrefixState::Allocated,
            description: "Public web servers".into(),
            message: None,
            date: jiff::Timestamp::UNIX_EPOCH,
            held_by: None,
            gone: None,
            release: None,
        }
    }

    #[test]
    fn a_search_covers_prefixes_addresses_references_and_descriptions_in_all_blocks() {
        let found = |q: &str, prefix: &str| {
            let query = format!("?block=192.0.2.0%2F24&q={}", model::inventory::percent(q));
            ClaimFilter::read(&query).unwrap().matches(&row(prefix))
        };
        for q in [
            "10.20.5.7",
            "10.20.5.0/25",
            "10.20.0.0/16",
            "10.20.5.9/30",
            "FRONT",
            "apps/shop",
            "public web",
            "20.5",
        ] {
            assert!(found(q, "10.20.5.0/24"), "{q}");
        }
        for q in ["10.20.6.7", "2001:db8::1", "mail", "10.20.6.0/24"] {
            assert!(!found(q, "10.20.5.0/24"), "{q}");
        }
        // A request without a prefix is found by its block.
        assert!(found("10.20.9.9", "/26 from 10.20.0.0/16"));
        // Without a search the block decides.
        let filter = ClaimFilter::read("block=192.0.2.0/24").unwrap();
        assert!(!filter.matches(&row("10.20.5.0/24")) && filter.matches(&row("192.0.2.128/25")));
    }

    #[test]
    fn what_is_no_block_or_state_is_named_with_the_rule() {
        let wrong = |query: &str| ClaimFilter::read(query).unwrap_err().detail;
        assert!(wrong("block=10.0.0.1/8").contains("host bits"), "{}", wrong("block=10.0.0.1/8"));
        assert_eq!(wrong("state=held"), "“held” is not a state: use unavailable, allocated or released.");
        let filter = ClaimFilter::read("state=released").unwrap();
        assert!(!filter.holds(&row("10.0.0.0/8")));
        assert!(filter.holds(&ClaimRow { state: PrefixState::Released, ..row("10.0.0.0/8") }));
    }
}
