//! Adding domains: a page that needs no script, and a dialog with the same form. Invalid lines are explained; valid
//! ones are added.

use crate::browser;
use crate::components::frame::{FrameResource, crumbs};
use crate::components::toast::use_toaster;
use crate::components::{banner, icon};
use crate::query;
use crate::resource::json_resource;
use crate::server_fns;
use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_meta::Title;
use leptos_router::hooks::use_location;
use model::inventory::{AddResult, AddedLine};

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
    let lines = RwSignal::new(None::<Result<Vec<AddedLine>, service::ApiError>>);
    let busy = RwSignal::new(false);
    let field_id = format!("add-text-{id}");
    let area = NodeRef::<leptos::html::Textarea>::new();
    let submit = move |e: leptos::ev::SubmitEvent| {
        e.prevent_default();
        let Some(form) = browser::form_of(&e) else { return };
        let get = |name| browser::field(&form, name);
        let (text, owned, tags) = (get("text"), get("ownership"), get("tags"));
        busy.set(true);
        spawn_local(async move {
            let answer = server_fns::add(text, owned, tags).await;
            busy.set(false);
            if let Ok(done) = &answer {
                let added =
                    done.iter().filter(|l| matches!(l.result, AddResult::Added { .. })).count() as u64;
                if added > 0 {
                    let words = crate::components::message::done_words("added", added).unwrap_or_default();
                    toaster.say("check", words);
                    if let Some(f) = frame {
                        f.refetch();
                    }
                    if let Some(i) = inv {
                        i.data.refetch();
                    }
                }
                if done.iter().all(|l| matches!(l.result, AddResult::Added { .. })) {
                    browser::close_dialog(DIALOG);
                    if let Some(a) = area.get_untracked() {
                        a.set_value("");
                    }
                    lines.set(None);
                    return;
                }
            }
            lines.set(Some(answer));
        });
    };
    let outcome = move || {
        lines.get().map(|l| match l {
            Ok(l) => results(&l),
            Err(f) => banner::failure("The domains could not be added", &f),
        })
    };
    let hint_id = format!("add-hint-{id}");
    view! {
        <form class="grid grid-cols-1 gap-4 content-start" method="post" action="/api/fn/add" on:submit=submit>
            <div class="field">
                <label class="label" for=field_id.clone()>"Domains, one per line"</label>
                <textarea
                    class="input" id=field_id name="text" rows="6" spellcheck="false" autocapitalize="off" required
                    aria-describedby=hint_id.clone() placeholder="alder.example" node_ref=area
                >{text}</textarea>
                <span class="hint" id=hint_id>
                    "URLs, www., trailing dots, any case and pasted CSV are fine. Invalid lines are explained; valid ones are added."
                </span>
            </div>
            <div role="status">{outcome}</div>
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
            <div class="flex items-center gap-2">
                <button class="btn btn-primary" type="submit" disabled=move || busy.get()>
                    {move || if busy.get() { view! { <span class="spin"></span> }.into_any() } else { icon("plus").into_any() }}
                    "Add"
                </button>
                <span class="text-muted text-xs">"Owned domains count toward totals; watched ones do not."</span>
            </div>
        </form>
    }
    .into_any()
}

/// What became of each line.
fn results(lines: &[AddedLine]) -> AnyView {
    let each: Vec<_> = lines
        .iter()
        .map(|l| {
            let (tone, picture, name, words) = match &l.result {
                AddResult::Added { name, note } => {
                    ("text-ok", "check", name.as_str().to_string(), note.clone().unwrap_or_default())
                }
                AddResult::Duplicate { name, note } => {
                    let why = note.clone().unwrap_or_else(|| "already there".into());
                    ("text-muted", "list", name.as_str().to_string(), why)
                }
                AddResult::Refused { reason } => ("text-critical", "x", l.input.clone(), reason.clone()),
            };
            let words = format!("line {}{}{words}", l.line, if words.is_empty() { "" } else { ": " });
            view! {
                <div><dt class=tone>{icon(picture)}</dt><dd class="mono wrap">{name}</dd><dd class="text-muted text-xs">{words}</dd></div>
            }
        })
        .collect();
    view! { <dl class="facts lines rounded-md border bg-surface-2 py-0">{each}</dl> }.into_any()
}
