//! Toasts: short confirmations that can be undone. They stay 8 seconds, longer while hovered or focused.

use crate::components::icon;
use leptos::prelude::*;
use service::ApiError;
use std::time::Duration;

#[derive(Clone)]
struct Toast {
    id: u64,
    icon: &'static str,
    text: String,
    undo: Option<Callback<()>>,
}

/// The toasts that are shown.
#[derive(Clone, Copy)]
pub(crate) struct Toaster {
    list: RwSignal<Vec<Toast>>,
    next: StoredValue<u64>,
    held: RwSignal<bool>,
}

/// Puts the toaster into the context.
pub(crate) fn provide() {
    provide_context(Toaster {
        list: RwSignal::new(Vec::new()),
        next: StoredValue::new(0),
        held: RwSignal::new(false),
    });
}

/// The toaster of the page.
pub(crate) fn use_toaster() -> Toaster {
    expect_context::<Toaster>()
}

impl Toaster {
    /// Shows that something was done.
    pub(crate) fn say(self, icon: &'static str, text: impl Into<String>) {
        self.push(icon, text.into(), None);
    }

    /// Shows that something was done, with an Undo button.
    pub(crate) fn undoable(self, icon: &'static str, text: impl Into<String>, undo: Callback<()>) {
        self.push(icon, text.into(), Some(undo));
    }

    /// Shows that something failed.
    pub(crate) fn failed(self, f: &ApiError) {
        self.push("critical", f.to_string(), None);
    }

    fn push(self, icon: &'static str, text: String, undo: Option<Callback<()>>) {
        let id = self.next.get_value();
        self.next.set_value(id + 1);
        self.list.update(|l| l.push(Toast { id, icon, text, undo }));
        self.expire(id);
    }

    fn expire(self, id: u64) {
        let later = move || {
            if self.held.get_untracked() {
                self.expire(id);
            } else {
                self.drop(id);
            }
        };
        set_timeout(later, Duration::from_secs(8));
    }

    fn drop(self, id: u64) {
        self.list.update(|l| l.retain(|t| t.id != id));
    }
}

/// Where toasts appear; a live region, so that they are read out.
#[component]
pub(crate) fn Toasts() -> impl IntoView {
    let toaster = use_toaster();
    let one = move |t: Toast| {
        let undo = t.undo.map(|undo| {
            let run = move |_| {
                undo.run(());
                toaster.drop(t.id);
            };
            view! { <button type="button" on:click=run>"Undo"</button> }
        });
        view! {
            <div class="toast">{icon(t.icon)}<span>{t.text}</span>{undo}
                <button type="button" class="grid [&_.i]:w-3.5 [&_.i]:h-3.5" aria-label="Dismiss" on:click=move |_| toaster.drop(t.id)>
                    {icon("x")}
                </button>
            </div>
        }
    };
    view! {
        <div
            class="fixed z-60 left-[calc(50%_+_var(--rail)_/_2)] [transform:translateX(-50%)] bottom-18 grid gap-2 justify-items-center w-max max-w-[calc(100vw_-_2rem)] max-lg:left-[50%] max-sm:w-[calc(100vw_-_2rem)] max-sm:justify-items-stretch print:hidden" role="status" aria-live="polite"
            on:mouseenter=move |_| toaster.held.set(true) on:mouseleave=move |_| toaster.held.set(false)
            on:focusin=move |_| toaster.held.set(true) on:focusout=move |_| toaster.held.set(false)
        >
            <For each=move || toaster.list.get() key=|t| t.id children=one/>
        </div>
    }
    .into_any()
}
