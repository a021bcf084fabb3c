//! The bulk bar. A form over the checked rows that CSS shows as soon as one is checked; with the browser part its
//! buttons act in place, and a removal can be undone.

use super::state::InventoryState;
use crate::components::icon;
use crate::server_fns;
use leptos::prelude::*;
use leptos::task::spawn_local;
use model::item::{Item, Ownership};

/// Holdings that are put back by one request.
const PUT_BACK_AT_ONCE: usize = 2_000;

/// The bar.
#[component]
pub(crate) fn BulkBar(inv: InventoryState) -> impl IntoView {
    let count = move || match inv.selected.with(std::collections::BTreeSet::len) {
        0 => "Selected".to_string(),
        n => format!("{n} selected"),
    };
    let names = move || inv.selected.get_untracked().into_iter().collect::<Vec<_>>();
    let clear = move || inv.selected.update(std::collections::BTreeSet::clear);
    let tag = RwSignal::new(String::new());
    let rescan = move |e: leptos::ev::MouseEvent| {
        e.prevent_default();
        inv.rescan(names());
        clear();
    };
    let put_tag = move |e: leptos::ev::MouseEvent| {
        e.prevent_default();
        if tag.get_untracked().trim().is_empty() {
            crate::browser::focus("bulk-tag");
            return;
        }
        tag_all(inv, names(), tag.get_untracked());
        tag.set(String::new());
    };
    let watch = move |e: leptos::ev::MouseEvent| {
        e.prevent_default();
        own_all(inv, names(), Ownership::Watched);
    };
    let own = move |e: leptos::ev::MouseEvent| {
        e.prevent_default();
        own_all(inv, names(), Ownership::Owned);
    };
    let drop = move |e: leptos::ev::MouseEvent| {
        e.prevent_default();
        remove_all(inv, names());
        clear();
    };
    view! {
        <form class="bulk" id="bulk" method="post" action="/api/fn/rescan" aria-label="Selected domains">
            <span class="count" role="status">{count}</span>
            <button class="btn btn-ghost btn-sm" type="submit" on:click=rescan>{icon("refresh")}"Rescan"</button>
            <label class="sr-only" for="bulk-tag">"Tag to add"</label>
            <input
                class="input w-28 h-7 text-[.75rem]" id="bulk-tag" name="tag" placeholder="tag" maxlength="40" autocomplete="off"
                prop:value=move || tag.get() on:input=move |e| tag.set(event_target_value(&e))
            />
            <button class="btn btn-ghost btn-sm" type="submit" formaction="/api/fn/tag" on:click=put_tag>
                {icon("tag")}"Tag"
            </button>
            <button
                class="btn btn-ghost btn-sm" type="submit" name="ownership" value="watched"
                formaction="/api/fn/ownership" on:click=watch
            >{icon("eye")}"Mark as watched"</button>
            <button
                class="btn btn-ghost btn-sm" type="submit" name="ownership" value="owned"
                formaction="/api/fn/ownership" on:click=own
            >{icon("key")}"Mark as owned"</button>
            <button class="btn btn-ghost btn-sm btn-danger" type="submit" formaction="/api/fn/remove" on:click=drop>
                {icon("trash")}"Remove"
            </button>
            <button class="btn btn-ghost btn-sm btn-icon" type="reset" aria-label="Clear the selection" on:click=move |_| clear()>
                {icon("x")}
            </button>
        </form>
    }
    .into_any()
}

fn domains(n: usize) -> String {
    if n == 1 { "1 domain".into() } else { format!("{n} domains") }
}

fn tag_all(inv: InventoryState, names: Vec<String>, tag: String) {
    spawn_local(async move {
        let n = names.len();
        match server_fns::tag(names.clone(), tag.clone(), "yes".into()).await {
            Ok(_) => {
                inv.data.refetch();
                let shown = tag.trim().to_string();
                let undo = Callback::new(move |()| {
                    let (names, tag) = (names.clone(), tag.clone());
                    spawn_local(async move {
                        if let Err(f) = server_fns::tag(names, tag, "no".into()).await {
                            inv.toaster.failed(&f);
                        }
                        inv.data.refetch();
                    });
                });
                inv.toaster.undoable("tag", format!("{} tagged {shown}", domains(n)), undo);
            }
            Err(f) => inv.toaster.failed(&f),
        }
    });
}

fn own_all(inv: InventoryState, names: Vec<String>, to: Ownership) {
    spawn_local(async move {
        let n = names.len();
        match server_fns::ownership(names, to.as_str().into()).await {
            Ok(_) => {
                inv.data.refetch();
                inv.frame.refetch();
                inv.toaster.say("check", format!("{} marked as {}", domains(n), to.as_str()));
            }
            Err(f) => inv.toaster.failed(&f),
        }
    });
}

/// Removes, and offers to put them back as they were.
pub(crate) fn remove_all(inv: InventoryState, names: Vec<String>) {
    spawn_local(async move {
        let words = match names.as_slice() {
            [one] => format!("{one} removed"),
            many => format!("{} removed", domains(many.len())),
        };
        match server_fns::remove(names).await {
            Ok(removed) => {
                inv.data.refetch();
                inv.frame.refetch();
                let undo = Callback::new(move |()| put_back(inv, removed.clone()));
                inv.toaster.undoable("trash", words, undo);
            }
            Err(f) => inv.toaster.failed(&f),
        }
    });
}

fn put_back(inv: InventoryState, removed: Vec<Item>) {
    spawn_local(async move {
        // In parts that a request may be as large as.
        for part in removed.chunks(PUT_BACK_AT_ONCE) {
            if let Err(f) = server_fns::restore(part.to_vec()).await {
                inv.toaster.failed(&f);
                break;
            }
        }
        inv.data.refetch();
        inv.frame.refetch();
    });
}
