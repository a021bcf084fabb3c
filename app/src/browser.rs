//! What pages need of the browser, in small functions. Only effects and event handlers call them, and neither runs
//! on the server.

use jiff::Timestamp;
use leptos::prelude::*;
use leptos::wasm_bindgen::JsCast;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use web_sys::{FormData, HtmlElement, HtmlFormElement, HtmlInputElement, HtmlTextAreaElement};

/// True once the page that the server rendered is hydrated.
static HYDRATED: AtomicBool = AtomicBool::new(false);

/// Whether the page that the server rendered is hydrated.
pub(crate) fn is_hydrated() -> bool {
    HYDRATED.load(Ordering::Relaxed)
}

/// Notes that it is.
#[cfg_attr(not(feature = "hydrate"), allow(dead_code))]
pub(crate) fn set_hydrated() {
    HYDRATED.store(true, Ordering::Relaxed);
}

/// The browser's clock.
pub(crate) fn now() -> Timestamp {
    // Milliseconds since 1970 fit an i64 for as long as a browser counts them.
    #[allow(clippy::cast_possible_truncation)]
    Timestamp::from_millisecond(js_sys::Date::now() as i64).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Whether the page is in a tab that is not seen.
pub(crate) fn is_in_background() -> bool {
    document().hidden()
}

/// The element with an id, as what it is.
pub(crate) fn by_id<T: JsCast>(id: &str) -> Option<T> {
    document().get_element_by_id(id).and_then(|e| e.dyn_into().ok())
}

/// Opens a `<dialog>`; the browser keeps the focus inside and gives it back when it closes.
pub(crate) fn open_dialog(id: &str) {
    if let Some(d) = by_id::<web_sys::HtmlDialogElement>(id)
        && !d.open()
    {
        let _ = d.show_modal();
    }
}

/// Closes a `<dialog>`.
pub(crate) fn close_dialog(id: &str) {
    if let Some(d) = by_id::<web_sys::HtmlDialogElement>(id) {
        d.close();
    }
}

/// True when a click hit a `<dialog>` itself, outside of its content: on the backdrop.
pub(crate) fn is_dialog_backdrop(e: &leptos::ev::MouseEvent) -> bool {
    e.target().is_some_and(|t| t.dyn_ref::<web_sys::HtmlDialogElement>().is_some())
}

/// True while any `<dialog>` is open.
pub(crate) fn dialog_is_open() -> bool {
    document().query_selector("dialog[open]").ok().flatten().is_some()
}

/// True while a menu, or a question before something is deleted, is open: reading the page again would close it.
pub(crate) fn details_are_open() -> bool {
    document().query_selector("main details[open]").ok().flatten().is_some()
}

/// Puts the focus on an element.
pub(crate) fn focus(id: &str) {
    if let Some(e) = by_id::<HtmlElement>(id) {
        let _ = e.focus();
    }
}

/// Moves the focus among the elements of a selector, HTML or SVG: to the next, the one before, the first or the last.
pub(crate) fn focus_among(selector: &str, key: &str) {
    let Ok(found) = document().query_selector_all(selector) else { return };
    let all: Vec<web_sys::Element> =
        (0..found.length()).filter_map(|i| found.item(i)?.dyn_into().ok()).collect();
    let Some(last) = all.len().checked_sub(1) else { return };
    let at = document().active_element().and_then(|here| all.iter().position(|e| *e == here));
    let to = match (key, at) {
        ("Home", _) | (_, None) => 0,
        ("End", _) => last,
        ("ArrowLeft", Some(i)) => i.saturating_sub(1),
        (_, Some(i)) => (i + 1).min(last),
    };
    if let Some(e) = all[to].dyn_ref::<web_sys::SvgElement>() {
        let _ = e.focus();
    } else if let Some(e) = all[to].dyn_ref::<HtmlElement>() {
        let _ = e.focus();
    }
}

/// Selects the text of an input, so that typing replaces it.
pub(crate) fn select_all(id: &str) {
    if let Some(e) = by_id::<HtmlInputElement>(id) {
        let _ = e.focus();
        e.select();
    }
}

/// True when keys go into a field, so that they are text and not shortcuts.
pub(crate) fn typing(event: &web_sys::KeyboardEvent) -> bool {
    let Some(e) = event.target().and_then(|t| t.dyn_into::<HtmlElement>().ok()) else { return false };
    let tag = e.tag_name();
    tag == "TEXTAREA"
        || tag == "SELECT"
        || e.is_content_editable()
        || (tag == "INPUT" && e.get_attribute("type").as_deref() != Some("checkbox"))
}

/// Puts a text on the clipboard; false when the browser does not let us. A page served without TLS, as most are at
/// first, has no clipboard interface, and calling it would throw: there, and where the browser refuses, a selection is
/// copied instead.
pub(crate) async fn copy(text: &str) -> bool {
    let navigator = window().navigator();
    let clipboard = js_sys::Reflect::get(&navigator, &"clipboard".into());
    if clipboard.is_ok_and(|c| c.is_object()) {
        let written = wasm_bindgen_futures::JsFuture::from(navigator.clipboard().write_text(text)).await;
        if written.is_ok() {
            return true;
        }
    }
    copy_selected(text).unwrap_or(false)
}

fn copy_selected(text: &str) -> Option<bool> {
    let page: web_sys::HtmlDocument = document().dyn_into().ok()?;
    let had_focus = page.active_element().and_then(|e| e.dyn_into::<HtmlElement>().ok());
    let area: HtmlTextAreaElement = page.create_element("textarea").ok()?.dyn_into().ok()?;
    area.set_value(text);
    area.set_class_name("sr-only");
    // Inside an open dialog nothing outside it can take the focus.
    let place = page.query_selector("dialog[open]").ok().flatten();
    let place = place.or_else(|| page.body().map(Into::into))?;
    place.append_child(&area).ok()?;
    area.select();
    let done = page.exec_command("copy").unwrap_or(false);
    area.remove();
    if let Some(e) = had_focus {
        let _ = e.focus();
    }
    Some(done)
}

/// What is kept in this browser under a key.
pub(crate) fn stored(key: &str) -> Option<String> {
    window().local_storage().ok().flatten().and_then(|s| s.get_item(key).ok().flatten())
}

/// Keeps a text in this browser, or forgets it.
pub(crate) fn store(key: &str, value: Option<&str>) {
    if let Some(s) = window().local_storage().ok().flatten() {
        let _ = match value {
            Some(v) => s.set_item(key, v),
            None => s.remove_item(key),
        };
    }
}

/// What is kept under a key until this tab is closed.
pub(crate) fn session_stored(key: &str) -> Option<String> {
    window().session_storage().ok().flatten().and_then(|s| s.get_item(key).ok().flatten())
}

/// Keeps a text until this tab is closed, or forgets it.
pub(crate) fn session_store(key: &str, value: Option<&str>) {
    if let Some(s) = window().session_storage().ok().flatten() {
        let _ = match value {
            Some(v) => s.set_item(key, v),
            None => s.remove_item(key),
        };
    }
}

/// The fields of the form an event came from.
pub(crate) fn form_of(event: &web_sys::SubmitEvent) -> Option<FormData> {
    let form: HtmlFormElement = event.target()?.dyn_into().ok()?;
    FormData::new_with_form(&form).ok()
}

/// A field of a form, empty when absent.
pub(crate) fn field(form: &FormData, name: &str) -> String {
    form.get(name).as_string().unwrap_or_default()
}

/// The text of the file chosen in an input; `None` when there is none or it can't be read.
pub(crate) async fn chosen_text(input: HtmlInputElement) -> Option<String> {
    let file = input.files()?.get(0)?;
    wasm_bindgen_futures::JsFuture::from(file.text()).await.ok()?.as_string()
}

/// Sends a form that is not on the page: for an answer that the browser saves as a file.
pub(crate) fn post_form(action: &str, name: &str, values: &[String]) -> Option<()> {
    let form: HtmlFormElement = document().create_element("form").ok()?.dyn_into().ok()?;
    form.set_method("post");
    form.set_action(action);
    for value in values {
        let input: HtmlInputElement = document().create_element("input").ok()?.dyn_into().ok()?;
        input.set_type("hidden");
        input.set_name(name);
        input.set_value(value);
        form.append_child(&input).ok()?;
    }
    document().body()?.append_child(&form).ok()?;
    form.submit().ok()?;
    form.remove();
    Some(())
}

/// The query a GET form would be sent with, fields left empty left out.
pub(crate) fn form_query(event: &web_sys::SubmitEvent) -> Option<String> {
    let data = form_of(event)?;
    let all = web_sys::UrlSearchParams::new_with_str_sequence_sequence(&data).ok()?;
    let all = all.to_string().as_string()?;
    let said: Vec<&str> = all.split('&').filter(|pair| !pair.ends_with('=')).collect();
    Some(said.join("&"))
}

/// The query that the form around the field of an event would be sent with, empty fields included.
pub(crate) fn query_around(event: &web_sys::Event) -> Option<String> {
    let field: web_sys::Element = event.target()?.dyn_into().ok()?;
    let form: HtmlFormElement = field.closest("form").ok()??.dyn_into().ok()?;
    let data = FormData::new_with_form(&form).ok()?;
    web_sys::UrlSearchParams::new_with_str_sequence_sequence(&data).ok()?.to_string().as_string()
}

/// Scheme, host and port of this page's address.
pub(crate) fn origin() -> String {
    leptos::prelude::window().location().origin().unwrap_or_default()
}

/// What was typed and checked before the program had loaded: hydration writes each field's own value over it.
#[derive(Default)]
struct Typed {
    texts: Vec<(HtmlElement, String)>,
    checks: Vec<(HtmlInputElement, bool)>,
}

thread_local! {
    static TYPED: RefCell<Typed> = RefCell::default();
}

/// Keeps what is in fields and differs from what the server rendered.
pub(crate) fn keep_typed() {
    let mut typed = Typed::default();
    let Ok(fields) = document().query_selector_all("input, textarea") else { return };
    for field in (0..fields.length()).filter_map(|i| fields.item(i)) {
        if let Some(area) = field.dyn_ref::<HtmlTextAreaElement>() {
            if area.default_value().is_ok_and(|rendered| rendered != area.value()) {
                typed.texts.push((area.clone().into(), area.value()));
            }
        } else if let Ok(input) = field.dyn_into::<HtmlInputElement>() {
            if matches!(input.type_().as_str(), "checkbox" | "radio") {
                if input.checked() != input.default_checked() {
                    let checked = input.checked();
                    typed.checks.push((input, checked));
                }
            } else if input.value() != input.default_value() {
                let text = input.value();
                typed.texts.push((input.into(), text));
            }
        }
    }
    TYPED.set(typed);
}

/// Puts back what [`keep_typed`] kept, as if it were typed now.
pub(crate) fn restore_typed() {
    let typed = TYPED.take();
    for (field, text) in typed.texts {
        if let Some(input) = field.dyn_ref::<HtmlInputElement>() {
            // Unchanged fields keep the cursor where it is.
            if input.value() != text {
                input.set_value(&text);
            }
        } else if let Some(area) = field.dyn_ref::<HtmlTextAreaElement>()
            && area.value() != text
        {
            area.set_value(&text);
        }
        dispatch(&field, "input");
    }
    for (field, checked) in typed.checks {
        field.set_checked(checked);
        dispatch(&field, "change");
    }
}

fn dispatch(field: &HtmlElement, event: &str) {
    let bubbling = web_sys::EventInit::new();
    bubbling.set_bubbles(true);
    if let Ok(event) = web_sys::Event::new_with_event_init_dict(event, &bubbling) {
        let _ = field.dispatch_event(&event);
    }
}
