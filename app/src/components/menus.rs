//! Menus (`<details class="menu">`): Escape and a click elsewhere close them, on every page.

use crate::browser;
use leptos::prelude::*;
use leptos::wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement};

/// Closes menus as long as the current owner lives. An Escape that closed one is marked as handled.
pub(crate) fn close_on_escape_and_outside() {
    Effect::new(move |_| {
        let keys = window_event_listener(leptos::ev::keydown, move |e| {
            if e.key() == "Escape" && !e.default_prevented() && !browser::dialog_is_open() && close(None) {
                e.prevent_default();
            }
        });
        let click = window_event_listener(leptos::ev::click, move |e| {
            close(e.target().and_then(|t| t.dyn_into::<Element>().ok()).as_ref());
        });
        on_cleanup(move || {
            keys.remove();
            click.remove();
        });
    });
}

/// Closes the open menus that an element is not part of; true when there was one. A menu that had the focus gives it
/// back to its button.
fn close(inside: Option<&Element>) -> bool {
    let Ok(open) = document().query_selector_all("details.menu[open]") else { return false };
    let focused = document().active_element();
    let mut closed = false;
    for i in 0..open.length() {
        let Some(menu) = open.item(i).and_then(|n| n.dyn_into::<Element>().ok()) else { continue };
        if inside.is_some_and(|e| menu.contains(Some(e))) {
            continue;
        }
        let button =
            menu.query_selector("summary").ok().flatten().and_then(|b| b.dyn_into::<HtmlElement>().ok());
        let _ = menu.remove_attribute("open");
        closed = true;
        if let Some(button) = button.filter(|_| inside.is_none() && menu.contains(focused.as_deref())) {
            let _ = button.focus();
        }
    }
    closed
}
