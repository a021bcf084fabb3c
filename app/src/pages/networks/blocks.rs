//! The blocks that claims take prefixes out of, with what of each is used; and the form that lists one before any claim names it.

use super::showing;
use crate::components::icon;
use crate::components::pager::grouped;
use crate::query;
use crate::server_fns::Networks;
use leptos::prelude::*;

/// Takes a block off the list, in two steps.
fn remove(prefix: &str) -> AnyView {
    let label = format!("Remove {prefix} from the list");
    view! {
        <details class="confirm">
            <summary class="btn btn-sm btn-ghost btn-icon" aria-label=label.clone() title=label>{icon("trash")}</summary>
            <form method="post" action="/api/fn/remove_block">
                <input type="hidden" name="prefix" value=prefix.to_string()/>
                <button class="btn btn-sm btn-danger" type="submit">"Remove; claims stay"</button>
            </form>
        </details>
    }
    .into_any()
}

fn form(n: &Networks, search: &str) -> AnyView {
    let value = |key: &str| query::value(search, key).unwrap_or_default();
    let wrong = refused(n);
    view! {
        <section class="card" id="add-block">
            <div class="card-head"><h2>"Add a block"</h2><div class="aside"><a href="/networks">"Close"</a></div></div>
            <form class="card-body grid grid-cols-1 gap-4 content-start" method="post" action="/api/fn/add_block">
                {wrong}
                <div class="field"><label class="label" for="new">"Prefix"</label>
                    <input class="input mono" id="new" name="prefix" value=value("new") required maxlength="60" placeholder="10.20.0.0/16" autocomplete="off" spellcheck="false" autocapitalize="off"/></div>
                <div class="field"><label class="label" for="for">"Description"</label>
                    <input class="input" id="for" name="description" value=value("for") placeholder="Data centre west" autocomplete="off"/></div>
                <div class="flex items-center gap-2"><button class="btn btn-primary" type="submit">"Add block"</button></div>
                <p class="text-xs text-muted">"A block reserves nothing: its space is free until a claim takes a prefix out of it."</p>
            </form>
        </section>
    }
    .into_any()
}

/// The reason for which a block was not listed, for a person whose role no longer allows it.
fn refused(n: &Networks) -> AnyView {
    let words = n.block_error.clone();
    words.map(|words| view! { <div class="well" role="alert"><strong>"Not listed"</strong><p class="text-warn wrap">{words}</p></div> }).into_any()
}

/// The card, with the form that lists one where it is asked for.
pub(super) fn card(n: &Networks, shown: &str, search: &str) -> AnyView {
    let is_asked = query::value(search, "add").is_some_and(|what| what == "block");
    let add = is_asked.then(|| if n.rights.blocks { form(n, search) } else { refused(n) });
    if n.total_blocks == 0 {
        return add.into_any();
    }
    let count = grouped((n.blocks.len() + n.more_blocks) as u64);
    let more = (n.more_blocks > 0).then(|| {
        let words = format!(
            "{} more blocks are not listed. Search for a prefix, an address or a claim to find them.",
            grouped(n.more_blocks as u64)
        );
        view! { <p class="card-body text-xs text-muted">{words}</p> }
    });
    let none = n.blocks.is_empty().then(|| view! { <p class="card-body">"No block matches the search."</p> });
    let rows: Vec<_> = n
        .blocks
        .iter()
        .map(|b| {
            let full = b.used >= 90.0;
            let free = b.largest_free.clone().map_or_else(|| "full".to_string(), |p| format!("largest free {p}"));
            let about = b.listed.as_ref().filter(|d| !d.is_empty()).map(|d| view! { <small class="wrap">{d.clone()}</small> });
            let remove = (b.listed.is_some() && n.rights.blocks).then(|| remove(&b.prefix));
            let width = format!("flex:0 0 {:.1}%", b.used);
            view! {
                <tr class:selected=b.prefix == shown>
                    <th scope="row"><span class="two"><a class="mono" href=showing(&b.prefix)>{b.prefix.clone()}</a><small>{free}</small>{about}</span></th>
                    <td><span class="flex items-center gap-2">
                        <span class="meter flex-1" style="min-width:3rem" aria-hidden="true"><i class=if full { "bg-warn" } else { "bg-faint" } style=width></i></span>
                        <span class="num">{format!("{:.0} %", b.used)}</span>
                    </span></td>
                    <td class="num max-sm:hidden">{grouped(b.claims as u64)}</td>
                    <td>{remove}</td>
                </tr>
            }
        })
        .collect();
    view! {
        {add}
        <section class="card tbl-wrap" id="blocks">
            <div class="card-head"><h2>"Blocks"</h2><span class="text-muted">{count}</span></div>
            {none}
            <div class="tbl-scroll" tabindex="0" role="region" aria-label="Blocks, table">
                <table class="tbl">
                    <thead><tr><th scope="col">"Block"</th><th scope="col">"Used"</th><th scope="col" class="max-sm:hidden num">"Claims"</th>
                        <th scope="col"><span class="sr-only">"Actions"</span></th></tr></thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
            {more}
        </section>
    }
    .into_any()
}
