//! Networks: the registry of address space. The block that is shown and the form's values are in the address, so that all
//! of it works without script.

mod attention;
mod blocks;
mod claims;
mod form;
mod grid;
mod picture;
mod pointers;
mod space;

use crate::components::banner::{Tone, banner, page_failure};
use crate::components::icon;
use crate::components::pager::grouped;
use crate::query;
use crate::resource::json_resource;
use crate::server_fns::{self, Networks, PrefixState};
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_location;
use model::inventory::percent;

/// The page.
#[component]
pub(crate) fn NetworksPage() -> impl IntoView {
    let search = use_location().search;
    let data = json_resource(move || search.get(), server_fns::networks);
    let zoom = space::Zoom::new();
    // What is shown stays until the next block is there, and with it the focus.
    view! {
        <Title text="Networks"/>
        <Transition>
            {move || data.get().map(|d| match d {
                // The address alone changes nothing: what it asks for is drawn once it is there, and then gets the focus.
                Ok(n) => page(&n, &search.get_untracked(), zoom),
                Err(e) => page_failure("The registry could not be read", &e),
            })}
        </Transition>
    }
    .into_any()
}

/// The address that shows a block.
fn showing(prefix: &str) -> String {
    format!("/networks?block={}", percent(prefix))
}

/// What of a page's address the list depends on: the block, the search and the state, as a query. A search covers all blocks.
fn listing(block: &str, search: &str, state: Option<PrefixState>) -> String {
    let pairs = [("block", block), ("q", search), ("state", state.map_or("", PrefixState::as_str))];
    let given = pairs.iter().filter(|(_, value)| !value.is_empty());
    let query: Vec<String> = given.map(|(key, value)| format!("{key}={}", percent(value))).collect();
    if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) }
}

fn page(n: &Networks, search: &str, zoom: space::Zoom) -> AnyView {
    let counts = format!(
        "registry of address space · {} blocks, {} claims",
        grouped(n.total_blocks as u64),
        grouped(n.total)
    );
    let cut = n.is_partial.then(|| {
        let words = "The list and the picture show the oldest of the refused claims. The export and the resource API include all.";
        banner(Tone::Warn, "Not all refused claims are shown", words)
    });
    let wrong = n.error.clone().map(|e| banner(Tone::Warn, "This address of the page can't be shown", e));
    let space = n.space.as_ref().map(|s| space::card(s, &n.families, zoom));
    let shown = n.space.as_ref().map(|s| s.block.prefix.clone()).unwrap_or_default();
    // The picture is as wide as the page where something else stands beside the blocks.
    let (beside, below) = match attention::card(n) {
        Some(card) => (Some(card), space),
        None => (space, None),
    };
    let form = form::card(n, &shown, search);
    let list = claims::card(n, &shown);
    let after = query::value(search, "names").unwrap_or_default();
    let into = query::value(search, "into").unwrap_or_default();
    let pointers = n.names.as_ref().map(|names| pointers::card(n, names, (&shown, &into), after));
    let exports = (n.total > 0 || n.counts[2] > 0).then(|| {
        let query = listing(&shown, &n.search, n.state);
        let link = |kind: &str, words: &'static str| {
            let href = format!("/networks.{kind}{query}");
            view! { <a class="btn" href=href rel="external" download="">{icon::icon("download")}<span>{words}</span></a> }
        };
        view! { {link("csv", "Export CSV")}{link("json", "Export JSON")} }
    });
    let here = listing(&shown, &n.search, n.state);
    let add = format!("/networks{here}{}add=block#add-block", if here.is_empty() { '?' } else { '&' });
    let add = n.rights.blocks.then(|| {
        view! { <a class="btn btn-primary" href=add data-noscroll="true">{icon::icon("plus")}<span>"Add block"</span></a> }
    });
    view! {
        <div class="page-head"><h1>"Networks"</h1><span class="sub">{counts}</span>
            <div class="actions">{exports}{add}</div></div>
        <div class="grid grid-cols-1 gap-4 content-start">
            {wrong}
            {cut}
            <div class="cols">
                <div class="grid grid-cols-1 gap-4 content-start">{beside}</div>
                <div class="grid grid-cols-1 gap-4 content-start">{blocks::card(n, &shown, search)}</div>
            </div>
            {below}
            <div class="cols">
                <div class="grid grid-cols-1 gap-4 content-start">{list}{pointers}</div>
                <div class="grid grid-cols-1 gap-4 content-start">{form}</div>
            </div>
        </div>
    }
    .into_any()
}
