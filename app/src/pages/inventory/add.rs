//! Adding domains: a page that needs no script, and a dialog with the same form. Invalid lines are explained; valid
//! ones are added.

use crate::browser;
use crate::components::frame::{FrameResource, crumbs};
use crate::components::pager::grouped;
use crate::components::toast::use_toaster;
use crate::components::{banner, icon};
use crate::query;
use crate::resource::json_resource;
use crate::server_fns;
use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_meta::Title;
use leptos_router::hooks::use_location;
use model::inventory::{AddPreview, AddResult, AddedLine};
use model::item::Ownership;

/// The dialog's id.
pub(crate) const DIALOG: &str = "add-dialog";

/// Opens the dialog instead of following the link.
#[allow(clippy::needless_pass_by_value)] // the shape of an event handler
pub(crate) fn open(e: leptos::ev::MouseEvent) {
    if e.ctrl_key() || e.meta_key() || e.shift_key() {
        return;
    }
    e.prevent_default();
    browser::open_dialog(DIALOG);
}

/// The page.
#[component]
pub(crate) fn AddPage() -> impl IntoView {
    let search = use_location().search.get_untracked();
    let refused: Vec<String> =
        query::pairs(&search).into_iter().filter(|(k, _)| k == "refused").map(|(_, v)| v).collect();
    let text = query::value(&search, "text").unwrap_or_default();
    let explained =
        (!refused.is_empty()).then(|| json_resource(|| (), move |()| server_fns::explain(refused.clone())));
    view! {
        <Title text="Add domains"/>
        {crumbs("Add domains".into())}
        <div class="page-head"><h1>"Add domains"</h1></div>
        {explained.map(|r| view! {
            <Suspense>{move || r.get().and_then(Result::ok).map(|lines| results(&lines))}</Suspense>
        })}
        <section class="card"><div class="card-body"><AddForm id="page" text=text/></div></section>
    }
    .into_any()
}

/// The dialog.
#[component]
pub(crate) fn AddDialog() -> impl IntoView {
    view! {
        <dialog
            class="dialog" id=DIALOG aria-labelledby="add-title"
            on:click=move |e| if browser::is_dialog_backdrop(&e) { browser::close_dialog(DIALOG) }
        >
            <div class="card-head">
                <h2 id="add-title">"Add domains"</h2>
                <div class="aside">
                    <button
                        type="button" class="btn btn-ghost btn-icon btn-sm" aria-label="Close"
                        on:click=move |_| browser::close_dialog(DIALOG)
                    >{icon("x")}</button>
                </div>
            </div>
            <div class="card-body"><AddForm id="dialog"/></div>
        </dialog>
    }
    .into_any()
}

/// What is shown between the text and its choices.
#[derive(Clone)]
enum Outcome {
    /// What adding would do.
    Preview(AddPreview),
    /// What it did.
    Done(Vec<AddedLine>),
    Failed(service::ApiError),
}

/// A single name is added at once; anything longer is previewed first.
fn is_list(text: &str) -> bool {
    text.split(|c: char| c.is_whitespace() || c == ',' || c == ';').filter(|p| !p.is_empty()).count() > 1
}

fn added(lines: &[AddedLine]) -> u64 {
    lines.iter().filter(|l| matches!(l.result, AddResult::Added { .. })).count() as u64
}

/// The form, on the page and in the dialog.
#[allow(clippy::needless_pass_by_value)] // components own what they are given
#[component]
pub(crate) fn AddForm(
    /// Suffix of element ids, for several forms on one page.
    id: &'static str,
    /// The initial text.
    #[prop(optional)]
    text: String,
) -> impl IntoView {
    let text = crate::components::area::area_text(&text);
    let toaster = use_toaster();
    let frame = use_context::<FrameResource>();
    let inv = use_context::<super::state::InventoryState>();
    let outcome = RwSignal::new(None::<Outcome>);
    let (busy, many) = (RwSignal::new(false), RwSignal::new(false));
    let field_id = format!("add-text-{id}");
    let area = NodeRef::<leptos::html::Textarea>::new();
    let submit = move |e: leptos::ev::SubmitEvent| {
        e.prevent_default();
        let Some(form) = browser::form_of(&e) else { return };
        let get = |name| browser::field(&form, name);
        let (text, owned, tags) = (get("text"), get("ownership"), get("tags"));
        let previewed = outcome.with_untracked(|o| matches!(o, Some(Outcome::Preview(_))));
        busy.set(true);
        spawn_local(async move {
            if !previewed && is_list(&text) {
                let answer = server_fns::preview_add(text, owned, tags).await;
                outcome.set(Some(answer.map_or_else(Outcome::Failed, Outcome::Preview)));
                busy.set(false);
                return;
            }
            let answer = server_fns::add(text, owned, tags).await;
            busy.set(false);
            let lines = match answer {
                Ok(lines) => lines,
                Err(e) => return outcome.set(Some(Outcome::Failed(e))),
            };
            let n = added(&lines);
            if n > 0 {
                toaster.say("check", crate::components::message::done_words("added", n).unwrap_or_default());
                if let Some(f) = frame {
                    f.refetch();
                }
                if let Some(i) = inv {
                    i.data.refetch();
                }
            }
            // What was refused is known from the preview.
            if n > 0 && (previewed || n == lines.len() as u64) {
                browser::close_dialog(DIALOG);
                if let Some(a) = area.get_untracked() {
                    a.set_value("");
                }
                outcome.set(None);
                many.set(false);
            } else {
                outcome.set(Some(Outcome::Done(lines)));
            }
        });
    };
    let edited = move || {
        outcome.set(None);
        many.set(area.get_untracked().is_some_and(|a| is_list(&a.value())));
    };
    let file = move |e: leptos::ev::Event| {
        let input: web_sys::HtmlInputElement = event_target(&e);
        spawn_local(async move {
            if let (Some(text), Some(area)) =
                (browser::chosen_text(input.clone()).await, area.get_untracked())
            {
                area.set_value(&text);
                edited();
                // The same file may be chosen once more after it was corrected.
                input.set_value("");
                if let Some(form) = area.form() {
                    let _ = form.request_submit();
                }
            }
        });
    };
    let shown = move || {
        outcome.get().map(|o| match o {
            Outcome::Preview(p) => preview(&p),
            Outcome::Done(lines) => results(&lines),
            Outcome::Failed(e) => banner::failure("The domains could not be added", &e),
        })
    };
    let addable = move || match outcome.get() {
        Some(Outcome::Preview(p)) => Some(added(&p.lines)),
        _ => None,
    };
    let label = move || match addable() {
        Some(1) => "Add 1 domain".to_string(),
        Some(n) => format!("Add {} domains", grouped(n)),
        None if many.get() => "Preview".to_string(),
        None => "Add".to_string(),
    };
    let hint_id = format!("add-hint-{id}");
    view! {
        <form class="grid grid-cols-1 gap-4 content-start" method="post" action="/api/fn/add" on:submit=submit on:input=move |_| edited()>
            <div class="field">
                <label class="label" for=field_id.clone()>"Domains, one per line"</label>
                <textarea
                    class="input" id=field_id name="text" rows="6" spellcheck="false" autocapitalize="off" required
                    aria-describedby=hint_id.clone() placeholder="alder.example" node_ref=area autofocus=id == "dialog"
                >{text}</textarea>
                <span class="hint" id=hint_id>
                    "URLs, www., trailing dots and any case are fine. CSV with a header line may have the columns Domain Name, Ownership, Tags, Note, Manual Expiration and Auto-Renew, as an export has."
                </span>
            </div>
            <div role="status">{shown}</div>
            <div class="flex items-center gap-2 flex-wrap">
                <fieldset class="m-0 flex min-w-0 items-center gap-4 p-0">
                    <legend class="sr-only">"These domains are"</legend>
                    <label class="flex items-center gap-2"><input type="radio" name="ownership" value="owned" checked/>"Owned"</label>
                    <label class="flex items-center gap-2"><input type="radio" name="ownership" value="watched"/>"Only watched"</label>
                </fieldset>
                <label class="flex items-center gap-2 flex-1 min-w-0">
                    <span class="text-muted whitespace-nowrap">"Tags"</span>
                    <input class="input" name="tags" placeholder="core, prod" autocomplete="off"/>
                </label>
            </div>
            <div class="flex items-center gap-2 flex-wrap">
                <button class="btn btn-primary" type="submit" disabled=move || busy.get() || addable() == Some(0)>
                    {move || if busy.get() { view! { <span class="spin"></span> }.into_any() } else { icon("plus").into_any() }}
                    {label}
                </button>
                <label class="btn noscript:hidden">
                    {icon("upload")}"Choose a file"
                    <input class="sr-only" type="file" accept=".csv,.txt,text/csv,text/plain" on:input=|e| e.stop_propagation() on:change=file/>
                </label>
                <span class="text-muted text-xs">"Owned domains count toward totals; watched ones do not."</span>
            </div>
        </form>
    }
    .into_any()
}

/// Lines a preview lists at most; those that will not be added come first.
const PREVIEW_LINES: usize = 200;

/// What adding would do, line by line.
fn preview(p: &AddPreview) -> AnyView {
    let rank = |l: &AddedLine| match l.result {
        AddResult::Refused { .. } => 0,
        AddResult::Duplicate { .. } => 1,
        AddResult::Added { .. } => 2,
    };
    let mut lines = p.lines.clone();
    lines.sort_by_key(rank);
    let count = |wanted: u8| lines.iter().filter(|l| rank(l) == wanted).count() as u64;
    let mut words = vec![format!("{} to add", grouped(count(2)))];
    if count(1) > 0 {
        words.push(format!("{} already listed", grouped(count(1))));
    }
    if count(0) > 0 {
        words.push(format!("{} invalid", grouped(count(0))));
    }
    let ignored = (!p.ignored_columns.is_empty()).then(|| {
        let words = format!("Columns not read: {}.", p.ignored_columns.join(", "));
        view! { <p class="hint wrap">{words}</p> }
    });
    let more = lines.len().saturating_sub(PREVIEW_LINES) as u64;
    let more = (more > 0).then(|| view! { <p class="hint">{format!("{} more lines", grouped(more))}</p> });
    lines.truncate(PREVIEW_LINES);
    view! { <p class="font-semibold">{words.join(" · ")}</p>{ignored}{results(&lines)}{more} }.into_any()
}

/// What is stored with a name beside it: `watched · core, prod · note`.
fn stored(l: &AddedLine) -> String {
    let s = &l.set;
    let mut words = Vec::new();
    if s.ownership == Some(Ownership::Watched) {
        words.push("watched".to_string());
    }
    words.extend(s.tags.as_ref().filter(|t| !t.is_empty()).map(|t| t.join(", ")));
    words.extend(s.manual_expires.flatten().map(|d| format!("expires {d}")));
    words.extend(s.auto_renew.flatten().map(|on| format!("auto-renew {}", if on { "on" } else { "off" })));
    words.extend(s.note.as_ref().map(|n| format!("note: {}", n.chars().take(80).collect::<String>())));
    words.join(" · ")
}

/// What became of each line.
fn results(lines: &[AddedLine]) -> AnyView {
    let each: Vec<_> = lines
        .iter()
        .map(|l| {
            let (tone, picture, name, mut words) = match &l.result {
                AddResult::Added { name, note } => {
                    let words = [note.clone().unwrap_or_default(), stored(l)];
                    ("text-ok", "check", name.as_str().to_string(), words.to_vec())
                }
                AddResult::Duplicate { name, note } => {
                    let why = note.clone().unwrap_or_else(|| "already in the inventory".into());
                    ("text-muted", "list", name.as_str().to_string(), vec![why])
                }
                AddResult::Refused { reason } => ("text-critical", "x", l.input.clone(), vec![reason.clone()]),
            };
            words.retain(|w| !w.is_empty());
            let words = words.join(" · ");
            let words = format!("line {}{}{words}", l.line, if words.is_empty() { "" } else { ": " });
            view! {
                <div><dt class=tone>{icon(picture)}</dt><dd class="mono wrap">{name}</dd><dd class="text-muted text-xs wrap">{words}</dd></div>
            }
        })
        .collect();
    view! { <dl class="facts lines rounded-md border bg-surface-2 py-0">{each}</dl> }.into_any()
}
