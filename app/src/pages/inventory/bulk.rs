//! The bulk bar. A form over the checked rows that CSS shows as soon as one is checked; with the browser part its
//! buttons act in place on everything selected, on this page or another, and a removal can be undone.

use super::state::InventoryState;
use crate::components::icon;
use crate::components::pager::grouped;
use crate::server_fns;
use leptos::prelude::*;
use leptos::task::spawn_local;
use model::item::{Item, Ownership};
use service::ApiError;

/// Domains of one request.
const AT_ONCE: usize = 500;

/// The bar.
#[component]
pub(crate) fn BulkBar(inv: InventoryState) -> impl IntoView {
    let n = move || inv.selected.with(std::collections::BTreeSet::len);
    let any = move || n() > 0;
    let count = move || match n() {
        0 => "Selected".to_string(),
        n => format!("{} selected", grouped(n as u64)),
    };
    let names = move || inv.selected.get_untracked().into_iter().collect::<Vec<_>>();
    let clear = move || inv.selected.update(std::collections::BTreeSet::clear);
    let tag = RwSignal::new(String::new());
    let rescan = move |e: leptos::ev::MouseEvent| {
        e.prevent_default();
        inv.rescan(names());
        clear();
    };
    let put_tag = move |e: leptos::ev::MouseEvent, add: bool| {
        e.prevent_default();
        if tag.get_untracked().trim().is_empty() {
            crate::browser::focus("bulk-tag");
            return;
        }
        tag_all(inv, names(), tag.get_untracked(), add);
        tag.set(String::new());
    };
    let own = move |e: leptos::ev::MouseEvent, to: Ownership| {
        e.prevent_default();
        own_all(inv, names(), to);
    };
    let export = move |e: leptos::ev::MouseEvent| {
        e.prevent_default();
        let _ = crate::browser::post_form("/domains.csv", "names[]", &names());
    };
    let drop = move |e: leptos::ev::MouseEvent| {
        e.prevent_default();
        remove_all(inv, names());
        clear();
    };
    let more = move || {
        let total = inv.total.get();
        (n() > 0 && (n() as u64) < total).then(|| {
            let words = format!("Select all {}", grouped(total));
            view! { <button class="btn btn-ghost btn-sm" type="button" on:click=move |_| select_matching(inv)>{words}</button> }
        })
    };
    // Pressing Enter in the field uses the first submit button: it has to be the one beside it.
    view! {
        <form
            class="bulk" class:open=any id="bulk" method="post" action="/api/fn/tag" aria-label="Selected domains"
        >
            <span class="count" role="status">{count}</span>
            {more}
            <label class="sr-only" for="bulk-tag">"Tag"</label>
            <input
                class="input w-28 h-7 text-[.75rem]" id="bulk-tag" name="tag" placeholder="tag" maxlength="40" autocomplete="off"
                prop:value=move || tag.get() on:input=move |e| tag.set(event_target_value(&e))
            />
            <button class="btn btn-ghost btn-sm" type="submit" on:click=move |e| put_tag(e, true)>{icon("tag")}"Tag"</button>
            <button class="btn btn-ghost btn-sm" type="submit" name="add" value="no" on:click=move |e| put_tag(e, false)>
                "Untag"
            </button>
            <button class="btn btn-ghost btn-sm" type="submit" formaction="/api/fn/rescan" on:click=rescan>
                {icon("refresh")}"Rescan"
            </button>
            <button
                class="btn btn-ghost btn-sm" type="submit" name="ownership" value="watched"
                formaction="/api/fn/ownership" on:click=move |e| own(e, Ownership::Watched)
            >{icon("eye")}"Mark as watched"</button>
            <button
                class="btn btn-ghost btn-sm" type="submit" name="ownership" value="owned"
                formaction="/api/fn/ownership" on:click=move |e| own(e, Ownership::Owned)
            >{icon("key")}"Mark as owned"</button>
            <button class="btn btn-ghost btn-sm" type="submit" formaction="/domains.csv" on:click=export>
                {icon("download")}"Export"
            </button>
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

/// Selects everything the list matches, on all its pages.
fn select_matching(inv: InventoryState) {
    let query = inv.query.get_untracked().to_url();
    let query = query.split_once('?').map_or(String::new(), |(_, q)| q.to_string());
    spawn_local(async move {
        match server_fns::names(query).await {
            Ok(names) => inv.selected.set(names.into_iter().collect()),
            Err(f) => inv.toaster.failed(&f),
        }
    });
}

/// Calls for many names in requests of bounded size and duration; stops at the first that fails.
pub(super) async fn in_parts<T, F: Future<Output = Result<T, ApiError>>>(
    names: &[String],
    call: impl Fn(Vec<String>) -> F,
) -> Result<Vec<T>, ApiError> {
    let mut results = Vec::new();
    for part in names.chunks(AT_ONCE) {
        results.push(call(part.to_vec()).await?);
    }
    Ok(results)
}

fn domains(n: usize) -> String {
    if n == 1 { "1 domain".into() } else { format!("{} domains", grouped(n as u64)) }
}

fn tag_all(inv: InventoryState, names: Vec<String>, tag: String, add: bool) {
    spawn_local(async move {
        let word = |add: bool| if add { "yes" } else { "no" };
        let done = in_parts(&names, |part| server_fns::tag(part, tag.clone(), word(add).into())).await;
        inv.data.refetch();
        let changed = match done {
            Ok(parts) => parts.concat(),
            Err(f) => return inv.toaster.failed(&f),
        };
        let what =
            format!("{} {} {}", domains(changed.len()), if add { "tagged" } else { "untagged" }, tag.trim());
        let undo = Callback::new(move |()| {
            let (names, tag) = (changed.clone(), tag.clone());
            spawn_local(async move {
                let call = |part| server_fns::tag(part, tag.clone(), word(!add).into());
                if let Err(f) = in_parts(&names, call).await {
                    inv.toaster.failed(&f);
                }
                inv.data.refetch();
            });
        });
        inv.toaster.undoable("tag", what, undo);
    });
}

fn own_all(inv: InventoryState, names: Vec<String>, to: Ownership) {
    spawn_local(async move {
        let done = in_parts(&names, |part| server_fns::ownership(part, to.as_str().into())).await;
        inv.data.refetch();
        inv.frame.refetch();
        match done {
            Ok(_) => inv.toaster.say("check", format!("{} marked as {}", domains(names.len()), to.as_str())),
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
        let removed = in_parts(&names, server_fns::remove).await;
        inv.data.refetch();
        inv.frame.refetch();
        match removed {
            Ok(removed) => {
                let removed = removed.concat();
                let undo = Callback::new(move |()| put_back(inv, removed.clone()));
                inv.toaster.undoable("trash", words, undo);
            }
            Err(f) => inv.toaster.failed(&f),
        }
    });
}

fn put_back(inv: InventoryState, removed: Vec<Item>) {
    spawn_local(async move {
        for part in removed.chunks(AT_ONCE) {
            if let Err(f) = server_fns::restore(part.to_vec()).await {
                inv.toaster.failed(&f);
                break;
            }
        }
        inv.data.refetch();
        inv.frame.refetch();
    });
}
