//! The Networks page: blocks, claims, free space, a preview; and what covers the addresses of a domain.

#[cfg(feature = "ssr")]
mod attention;
#[cfg(feature = "ssr")]
mod form;
#[cfg(feature = "ssr")]
mod grid;
#[cfg(feature = "ssr")]
mod parts;
#[cfg(feature = "ssr")]
pub mod rows;
#[cfg(feature = "ssr")]
mod space;
mod types;
#[cfg(feature = "ssr")]
mod view;

#[cfg(feature = "ssr")]
use super::context;
use leptos::prelude::*;
use service::ApiError;
use service::addresses::{PlacedAddress, Pointers};
use service::json::Json;
pub use service::space::PrefixState;
pub use types::*;

/// The page for an address's query.
#[server(name = ReadNetworks, prefix = "/api/fn", endpoint = "networks", output = Json)]
pub async fn networks(query: String) -> Result<Networks, ApiError> {
    let (backend, caller) = context::backend()?;
    let form = form::Form::read(&query);
    let mut preview = None;
    // A claim that was refused says why, also where a field is missing.
    if form.is_filled() || crate::query::value(&query, "refused").is_some_and(|what| what == "1") {
        // Under its own name: what the claim would be refused for, the preview says.
        let tried = match form.draft(true) {
            Ok(draft) => backend.save_network_claim(&caller, &draft).await,
            Err(e) => Err(e),
        };
        preview = Some(match tried {
            Ok(c) => form::preview(&c),
            Err(e) => Preview { gets: Vec::new(), reasons: vec![e.detail] },
        });
    }
    let yaml = form.yaml().ok().filter(|_| crate::query::value(&query, "view").is_some_and(|v| v == "yaml"));
    let review = backend.address_review(&caller).await?;
    let released = review.stray.iter().filter_map(|s| s.address.cover.as_ref()).take(ATTENTION_EACH);
    let heads = heads_of(&backend, &caller, released.map(|c| c.claim.clone())).await?;
    let refused = backend.refused_claims(&caller).await?;
    let registry = backend.registry(&caller).await?;
    let listed = backend.listed_blocks(&caller).await?;
    let block_error = refused_block(&caller, &query, listed.len());
    let pointing = pointing_into(&review);
    let is_partial = review.is_partial;
    let source = view::Source { registry, refused, listed, review, heads };
    let now = context::now();
    // A registry of 100,000 prefixes takes a while to draw: not on a thread that serves others.
    let made = tokio::task::spawn_blocking(move || view::page(&source, &query, preview, now));
    let mut page = made.await.map_err(|_| ApiError::internal())?;
    let listed = page.claims.iter().filter(|r| r.state != PrefixState::Unavailable);
    let heads = heads_of(&backend, &caller, listed.map(|r| r.claim.clone())).await?;
    let releases: std::collections::HashMap<_, _> =
        heads.into_iter().map(|h| (h.name, Release { position: h.rv.0, prefixes: h.prefixes })).collect();
    for row in &mut page.claims {
        let head = releases.get(&row.claim).copied();
        match &mut row.gone {
            Some(gone) => {
                gone.is_kept = head.is_some();
                gone.domains = pointing.get(&row.prefix).copied().unwrap_or_default();
                gone.is_partial = is_partial;
            }
            None => row.release = row.release.or(head),
        }
    }
    Ok(Networks { rights: rights(&caller), yaml, block_error, ..page })
}

#[cfg(feature = "ssr")]
fn rights(caller: &model::ids::Caller) -> NetworkRights {
    use service::policy::Action;
    let may = |action| service::policy::authorize(caller, action).is_ok();
    NetworkRights {
        claim: may(Action::SaveNetworkClaim),
        release: may(Action::DeleteNetworkClaim),
        blocks: may(Action::SaveBlock) && may(Action::RemoveBlock),
    }
}

/// Why the block of a form that was refused can't be listed.
#[cfg(feature = "ssr")]
fn refused_block(caller: &model::ids::Caller, query: &str, listed: usize) -> Option<String> {
    let value = |key: &str| crate::query::value(query, key);
    value("refused").filter(|what| what == "block")?;
    if let Err(e) = service::policy::authorize(caller, service::policy::Action::SaveBlock) {
        return Some(e.detail);
    }
    let (prefix, description) = (value("new").unwrap_or_default(), value("for").unwrap_or_default());
    let max = service::space::BLOCKS_MAX;
    Some(match service::space::read_block(&prefix, &description) {
        Err(e) => e.detail,
        Ok(_) if listed >= max => {
            format!("An organisation lists at most {max} blocks. Remove one that is no longer needed.")
        }
        Ok(_) => {
            "The block was not listed. Check that the feature network-claim is on, then try again.".into()
        }
    })
}

/// Lists a block. A refusal leads back to the form with what was typed.
#[server(name = AddBlock, prefix = "/api/fn", endpoint = "add_block", output = Json)]
pub async fn add_block(prefix: String, #[server(default)] description: String) -> Result<(), ApiError> {
    let (backend, caller) = context::backend()?;
    let saved = backend.save_block(&caller, prefix.trim(), &description).await.inspect_err(|_| {
        let cut = |text: &str| {
            let kept: String = text.trim().chars().take(form::VALUE_MAX).collect();
            model::inventory::percent(&kept)
        };
        let typed = format!("new={}&for={}", cut(&prefix), cut(&description));
        context::go_to(&format!("/networks?add=block&{typed}&refused=block#add-block"));
    })?;
    let shown = model::inventory::percent(&saved.prefix.to_string());
    context::go_to(&format!("/networks?block={shown}&done=block.1"));
    Ok(())
}

/// Takes a block off the list.
#[server(name = RemoveBlock, prefix = "/api/fn", endpoint = "remove_block", output = Json)]
pub async fn remove_block(prefix: String) -> Result<(), ApiError> {
    let (backend, caller) = context::backend()?;
    let prefix = service::numbers::prefix::parse(&prefix).map_err(|e| ApiError::invalid(e.to_string()))?;
    backend.remove_block(&caller, &prefix).await?;
    context::go_to("/networks?done=unblock.1");
    Ok(())
}

/// How many domains point into each prefix that was released.
#[cfg(feature = "ssr")]
fn pointing_into(review: &service::addresses::AddressReview) -> std::collections::HashMap<String, usize> {
    let mut domains: std::collections::HashMap<String, std::collections::HashSet<&str>> = Default::default();
    for stray in &review.stray {
        if let Some(cover) = &stray.address.cover {
            domains.entry(cover.prefix.to_string()).or_default().insert(&stray.domain);
        }
    }
    domains.into_iter().map(|(prefix, names)| (prefix, names.len())).collect()
}

/// Those of these claims that exist.
#[cfg(feature = "ssr")]
async fn heads_of(
    backend: &service::SharedBackend,
    caller: &model::ids::Caller,
    names: impl Iterator<Item = String>,
) -> Result<Vec<service::resources::ClaimHead>, ApiError> {
    let names: std::collections::BTreeSet<String> = names.collect();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    backend.claim_heads(caller, &names.into_iter().collect::<Vec<_>>()).await
}

/// Claims what the form asks for. A refusal leads back to the form with what was typed.
#[allow(clippy::too_many_arguments)]
#[server(name = ClaimPrefix, prefix = "/api/fn", endpoint = "claim_prefix", output = Json)]
pub async fn claim_prefix(
    #[server(default)] name: String,
    #[server(default)] from: String,
    #[server(default)] other: String,
    #[server(default)] length: String,
    #[server(default)] prefix: String,
    #[server(default)] from2: String,
    #[server(default)] length2: String,
    #[server(default)] prefix2: String,
    #[server(default)] group: String,
    #[server(default)] resource: String,
    #[server(default)] description: String,
    #[server(default)] block: String,
) -> Result<ClaimRow, ApiError> {
    let (backend, caller) = context::backend()?;
    let form = form::Form::of(|key| {
        let values = [
            ("name", &name),
            ("from", &from),
            ("other", &other),
            ("length", &length),
            ("prefix", &prefix),
            ("from2", &from2),
            ("length2", &length2),
            ("prefix2", &prefix2),
            ("group", &group),
            ("resource", &resource),
            ("description", &description),
        ];
        values.iter().find(|(k, _)| *k == key).map(|(_, v)| (*v).clone()).unwrap_or_default()
    });
    let saved = match form.draft(false) {
        Ok(draft) => backend.save_network_claim(&caller, &draft).await,
        Err(e) => Err(e),
    };
    let saved = saved.inspect_err(|_| {
        // The page previews these values, which are refused for the same reason.
        context::go_to(&format!("{}&refused=1#claim", form.address(&block)));
    })?;
    context::go_to(&form::after(&saved, &block));
    rows::of_claims(std::slice::from_ref(&saved)).into_iter().next().ok_or_else(ApiError::internal)
}

/// Releases a claim that is as it was shown: at this position of the change log.
#[server(name = ReleaseClaim, prefix = "/api/fn", endpoint = "release", output = Json)]
pub async fn release_claim(name: String, position: i64) -> Result<(), ApiError> {
    let (backend, caller) = context::backend()?;
    backend.delete_network_claim(&caller, &name, Some(model::ids::LogPosition(position))).await?;
    context::go_back(&[("done", "released.1".into())]);
    Ok(())
}

/// Where the addresses of a domain lie; empty when the organisation claims no address space.
#[server(name = ReadAddresses, prefix = "/api/fn", endpoint = "addresses", output = Json)]
pub async fn addresses(name: String) -> Result<Vec<PlacedAddress>, ApiError> {
    let (backend, caller) = context::backend()?;
    backend.addresses(&caller, &context::name(&name)?).await
}

/// The names that point into a block: the first part, or the one that begins after a place in the list.
#[server(name = ReadPointing, prefix = "/api/fn", endpoint = "pointing", output = Json)]
pub async fn pointing(block: String, #[server(default)] after: String) -> Result<Pointers, ApiError> {
    let (backend, caller) = context::backend()?;
    let prefix = service::numbers::prefix::parse(&block).map_err(|e| ApiError::invalid(e.to_string()))?;
    let after = Some(after).filter(|a| !a.is_empty()).map(|a| a.parse()).transpose()?;
    backend.pointing(&caller, &prefix, after.as_ref()).await
}
