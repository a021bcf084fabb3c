//! The keyboard: j and k move, enter opens, x selects, r rescans, / searches, ? lists all this.

use super::state::InventoryState;
use super::toolbar;
use crate::browser;
use crate::components::icon;
use leptos::ev::KeyboardEvent;
use leptos::prelude::*;
use leptos::wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement};

const DIALOG: &str = "shortcuts";

/// Every shortcut with its meaning.
const SHORTCUTS: [(&str, &str); 10] = [
    ("j", "next domain"),
    ("k", "previous domain"),
    ("Enter", "open the domain"),
    ("x", "toggle selection"),
    ("Shift x", "select the range up to here"),
    ("r", "rescan the selected domains, or this one"),
    ("a", "add domains"),
    ("/", "search by name"),
    ("Ctrl K", "jump to a domain or run a tool"),
    ("Esc", "close, or clear the selection"),
];

/// Listens while the page is open.
pub(crate) fn listen(inv: InventoryState) {
    Effect::new(move |_| {
        let keys = window_event_listener(leptos::ev::keydown, move |e| press(inv, &e));
        on_cleanup(move || {
            keys.remove();
        });
    });
}

fn press(inv: InventoryState, e: &KeyboardEvent) {
    if e.ctrl_key() || e.meta_key() || e.alt_key() || browser::dialog_is_open() {
        return;
    }
    if e.key() == "Escape" {
        // Not when it closed a menu.
        if !browser::typing(e) && !e.default_prevented() {
            inv.selected.update(std::collections::BTreeSet::clear);
        }
        return;
    }
    if browser::typing(e) {
        return;
    }
    match e.key().as_str() {
        "/" => browser::select_all(toolbar::SEARCH),
        "?" => browser::open_dialog(DIALOG),
        "a" => browser::open_dialog(super::add::DIALOG),
        "j" => step(1),
        "k" => step(-1),
        key @ ("x" | "X") => {
            if let Some(name) = here() {
                inv.toggle(&name, key == "X");
            }
        }
        "r" => {
            let chosen: Vec<String> = inv.selected.get_untracked().into_iter().collect();
            let names = if chosen.is_empty() { here().into_iter().collect() } else { chosen };
            if names.is_empty() {
                return;
            }
            inv.rescan(names);
        }
        _ => return,
    }
    e.prevent_default();
}

fn links() -> Vec<HtmlElement> {
    let Ok(found) = document().query_selector_all(".inv tbody .name > a:first-child") else {
        return Vec::new();
    };
    (0..found.length()).filter_map(|i| found.item(i)?.dyn_into().ok()).collect()
}

/// The row that has the focus.
fn here_row() -> Option<Element> {
    document().active_element()?.closest(".inv tbody tr").ok().flatten()
}

fn here() -> Option<String> {
    here_row()?.get_attribute("data-name")
}

/// Moves the focus by so many rows, from the first when none has it.
fn step(by: i32) {
    let links = links();
    let Ok(n) = i32::try_from(links.len()) else { return };
    let row = here_row();
    let at = links.iter().position(|l| row.as_ref().is_some_and(|r| r.contains(Some(l))));
    let to = at.and_then(|i| i32::try_from(i).ok()).map_or(0, |i| (i + by).clamp(0, n - 1));
    if let Some(link) = usize::try_from(to).ok().and_then(|i| links.get(i)) {
        let _ = link.focus();
    }
}

/// The list under `?`.
#[component]
pub(crate) fn Shortcuts() -> impl IntoView {
    let lines = SHORTCUTS.map(|(key, what)| {
        let keys: Vec<_> = key.split(' ').map(|k| view! { <span class="kbd">{k}</span> }).collect();
        view! { <div><dt class="flex items-center gap-2">{keys}</dt><dd>{what}</dd></div> }
    });
    let close = move |_| browser::close_dialog(DIALOG);
    view! {
        <dialog
            class="dialog max-w-104" id=DIALOG aria-labelledby="shortcuts-title"
            on:click=move |e| if browser::is_dialog_backdrop(&e) { browser::close_dialog(DIALOG) }
        >
            <div class="card-head">
                <h2 id="shortcuts-title">"Keyboard shortcuts"</h2>
                <div class="aside">
                    <button type="button" class="btn btn-ghost btn-icon btn-sm" aria-label="Close" on:click=close>{icon("x")}</button>
                </div>
            </div>
            <dl class="facts">{lines.into_iter().collect_view()}</dl>
        </dialog>
    }
    .into_any()
}
