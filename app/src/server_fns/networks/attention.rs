//! What needs attention in the registry: refused claims, and names that point into released or unclaimed space.

use super::view::Source;
use super::{ATTENTION_EACH, Attention, AttentionKind};
use model::inventory::percent;
use service::addresses::{Place, PlacedAddress, StrayAddress};
use service::numbers::{RecordState, Reference};
use service::resources::Claim;
use std::collections::HashSet;

/// Refused claims, then released, then unclaimed space that names point into; of each kind the first [`ATTENTION_EACH`], and
/// how many more there are: many of one kind hide none of another.
pub(super) fn entries(source: &Source) -> (Vec<Attention>, usize) {
    let names: HashSet<&str> = source.heads.iter().map(|c| c.name.as_str()).collect();
    let of = |place| source.review.stray.iter().filter(move |s| s.address.place == place);
    let refused: Vec<Attention> = source.refused.claims.iter().filter_map(refused).collect();
    let strays =
        [Place::Released, Place::Unclaimed].map(|place| of(place).map(|s| stray(s, &names)).collect());
    let (mut all, mut more) = (Vec::new(), 0);
    for kind in std::iter::once(refused).chain(strays) {
        more += kind.len().saturating_sub(ATTENTION_EACH);
        all.extend(kind.into_iter().take(ATTENTION_EACH));
    }
    (all, more)
}

fn refused(claim: &Claim) -> Option<Attention> {
    let mut records =
        claim.status.address_space.iter().filter(|r| r.status == RecordState::Unavailable).peekable();
    // One that is free itself is refused because of another.
    let first = records.peek().copied()?;
    let cause = records.find(|r| r.is_conflict()).unwrap_or(first);
    let prefix = cause.prefix.as_deref().map(|p| format!("{p}: ")).unwrap_or_default();
    Some(Attention {
        kind: AttentionKind::Refused,
        subject: claim.name.clone(),
        title: "is refused".into(),
        words: format!("{prefix}{}", cause.message.clone().unwrap_or_default()),
        domain: None,
        claim: Some(claim.name.clone()),
        form: None,
    })
}

fn stray(s: &StrayAddress, names: &HashSet<&str>) -> Attention {
    let a = &s.address;
    let fix = a.finding("").map(|f| f.fix).unwrap_or_default();
    let (kind, title, form) = match (&a.cover, &a.block) {
        (Some(c), _) => {
            let day = c.released_at.map(model::time::human_day).unwrap_or_default();
            let prefix = c.prefix.to_string();
            (
                AttentionKind::Released,
                format!("points into space released on {day}"),
                form(
                    a,
                    &prefix,
                    Some(&c.reference),
                    if names.contains(c.claim.as_str()) { "" } else { &c.claim },
                ),
            )
        }
        (None, block) => {
            let block = block.map(|b| b.to_string()).unwrap_or_default();
            (AttentionKind::Unclaimed, "points into unclaimed space".to_string(), form(a, &block, None, ""))
        }
    };
    Attention {
        kind,
        subject: a.name.clone(),
        title,
        words: format!("{} {fix}", a.sentence()),
        domain: Some(s.domain.clone()),
        claim: a.cover.as_ref().map(|c| c.claim.clone()),
        form: Some(form),
    }
}

/// The page with a form that claims the released prefix again, or the address out of its block. The claim that held it may
/// still be there, without the prefix: then the form has no name yet.
fn form(a: &PlacedAddress, space: &str, reference: Option<&Reference>, claim: &str) -> String {
    let prefix = match reference {
        Some(_) => space.to_string(),
        None => service::numbers::prefix::host(a.address).to_string(),
    };
    let (group, resource) = reference.map_or(("", ""), |r| (r.group.as_str(), r.resource.as_str()));
    let pairs = [
        ("block", space),
        ("from", if reference.is_some() { "" } else { space }),
        ("prefix", prefix.as_str()),
        ("name", claim),
        ("group", group),
        ("resource", resource),
    ];
    let pairs = pairs.iter().filter(|(_, value)| !value.is_empty());
    let query: Vec<String> = pairs.map(|(key, value)| format!("{key}={}", percent(value))).collect();
    format!("/networks?{}#claim", query.join("&"))
}
