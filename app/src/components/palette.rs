//! The command palette (Ctrl or ⌘ K): jump to a domain, run a tool, add a domain. A dialog with a combobox.

use crate::browser;
use crate::components::tool::TYPES;
use crate::components::{icon, status};
use crate::live::Debounce;
use crate::server_fns;
use leptos::ev::KeyboardEvent;
use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::NavigateOptions;
use model::inventory::{Row, percent};

const ID: &str = "palette";
const INPUT: &str = "palette-input";

/// Opens it.
pub(crate) fn open() {
    browser::open_dialog(ID);
    browser::select_all(INPUT);
}

/// One line of the results.
#[derive(Clone, PartialEq)]
struct Choice {
    group: &'static str,
    icon: &'static str,
    icon_class: &'static str,
    label: String,
    mono: bool,
    end: String,
    url: String,
}

/// A name with a record type beside it, in either order: `q7.io MX`. Anything else is no type.
fn name_and_type(text: &str) -> (&str, Option<String>) {
    let known = |word: &str| {
        let word = word.to_uppercase();
        (TYPES.contains(&word.as_str()) || OTHER_TYPES.contains(&word.as_str())).then_some(word)
    };
    match text.split_whitespace().collect::<Vec<_>>().as_slice() {
        [name, rtype] if known(rtype).is_some() => (*name, known(rtype)),
        [rtype, name] if known(rtype).is_some() => (*name, known(rtype)),
        _ => (text.trim(), None),
    }
}

/// Types that the tools' menus do not list.
const OTHER_TYPES: [&str; 6] = ["DNSKEY", "PTR", "SRV", "SSHFP", "SVCB", "TLSA"];

fn choices(text: &str, rows: &[Row]) -> Vec<Choice> {
    let (text, rtype) = name_and_type(text);
    let plain = |group, icon, label: String, end: &str, url: String| Choice {
        group,
        icon,
        icon_class: "i",
        label,
        mono: false,
        end: end.into(),
        url,
    };
    let mut out: Vec<_> = rows
        .iter()
        .map(|r| Choice {
            group: "Domains",
            icon: status::status_icon(r.status.kind),
            icon_class: status::status_icon_class(r.status.kind),
            label: r.unicode.clone(),
            mono: true,
            end: r.status.kind.label().into(),
            url: format!("/domains/{}", r.name.as_str()),
        })
        .collect();
    if text.is_empty() {
        out.push(plain("Go to", "globe", "Domains".into(), "", "/domains".into()));
        out.push(plain("Go to", "pulse", "Events".into(), "", "/events".into()));
        out.push(plain("Tools", "scan", "Scan a domain without adding it".into(), "", "/tools/scan".into()));
        out.push(plain(
            "Tools",
            "shield",
            "Check a zone, or servers before a move".into(),
            "",
            "/tools/check".into(),
        ));
        out.push(plain("Tools", "split", "Analyze a host name".into(), "", "/tools/fqdn".into()));
        out.push(plain("Tools", "compare", "Cache vs authoritative".into(), "", "/tools/compare".into()));
        out.push(plain("Tools", "route", "Trace a name from the root".into(), "", "/tools/trace".into()));
        out.push(plain("Tools", "plus", "Add domains".into(), "", "/domains/add".into()));
        return out;
    }
    let p = percent(text);
    out.push(plain(
        "Run",
        "search",
        format!("Search the inventory for {text}"),
        "",
        format!("/domains?q={p}"),
    ));
    // Words with spaces are no name that a tool could be asked about.
    if text.contains('.') && !text.contains(char::is_whitespace) {
        let scan = format!("Scan {text} without adding it");
        let tools = [
            ("scan", scan, "", format!("/tools/scan?name={p}")),
            ("shield", format!("Check {text}"), "", format!("/tools/check?zone={p}")),
            ("split", format!("Analyze {text}"), "", format!("/tools/fqdn?name={p}")),
        ];
        let shown = rtype.as_deref().unwrap_or("A");
        let suffix = rtype.as_ref().map(|t| format!("&type={t}")).unwrap_or_default();
        let typed = [
            (
                "compare",
                format!("Compare caches for {text}"),
                shown,
                format!("/tools/compare?name={p}{suffix}"),
            ),
            ("route", format!("Trace {text} from the root"), shown, format!("/tools/trace?name={p}{suffix}")),
        ];
        // Who names a type asks about records.
        let (first, second): (Vec<_>, Vec<_>) =
            if rtype.is_some() { (typed.into(), tools.into()) } else { (tools.into(), typed.into()) };
        for (icon, label, end, url) in first.into_iter().chain(second) {
            out.push(plain("Run", icon, label, end, url));
        }
        if !rows.iter().any(|r| r.name.as_str() == text || r.unicode == text) {
            out.push(plain("Run", "plus", format!("Add {text}"), "", format!("/domains/add?text={p}")));
        }
    }
    out
}

/// The dialog; closed until opened.
#[component]
pub(crate) fn Palette() -> impl IntoView {
    let text = RwSignal::new(String::new());
    // What was asked and the domains found for it change together: a list that grew at its top after it was shown
    // would put another line under the pointer.
    let answered = RwSignal::new((String::new(), Vec::<Row>::new()));
    let at = RwSignal::new(0_usize);
    // Enter was pressed before the answer had come, with Ctrl or ⌘ or without.
    let early = RwSignal::new(None::<bool>);
    let list = Memo::new(move |_| answered.with(|(text, rows)| choices(text, rows)));
    let go = crate::navigate::use_navigator();
    let calm = Debounce::new(90);

    Effect::new(move |_| {
        let handle = window_event_listener(leptos::ev::keydown, move |e| {
            if (e.ctrl_key() || e.meta_key()) && e.key().eq_ignore_ascii_case("k") {
                e.prevent_default();
                open();
            }
        });
        on_cleanup(move || handle.remove());
    });
    let choose = move |url: &str, new_tab: bool| {
        browser::close_dialog(ID);
        if new_tab {
            let _ = window().open_with_url_and_target(url, "_blank");
        } else {
            go.to(url, NavigateOptions::default());
        }
    };
    let open_chosen = move |new_tab: bool| {
        let chosen = list.with_untracked(|l| l.get(at.get_untracked()).map(|c| c.url.clone()));
        if let Some(url) = chosen {
            choose(&url, new_tab);
        }
    };
    let search = move |value: String| {
        text.set(value.clone());
        early.set(None);
        calm.call(move || {
            spawn_local(async move {
                let found = match name_and_type(&value).0 {
                    "" => Vec::new(),
                    t => server_fns::suggest(t.to_string()).await.unwrap_or_default(),
                };
                // An answer to what is no longer asked is dropped.
                if text.get_untracked() != value {
                    return;
                }
                at.set(0);
                answered.set((value, found));
                if let Some(new_tab) = early.get_untracked() {
                    early.set(None);
                    open_chosen(new_tab);
                }
            });
        });
    };
    let keys = move |e: KeyboardEvent| {
        let n = list.with_untracked(Vec::len).max(1);
        match e.key().as_str() {
            "ArrowDown" => at.update(|i| *i = (*i + 1) % n),
            "ArrowUp" => at.update(|i| *i = (*i + n - 1) % n),
            "Enter" => {
                let new_tab = e.ctrl_key() || e.meta_key();
                let waiting = answered.with_untracked(|(asked, _)| text.with_untracked(|t| t != asked));
                if waiting { early.set(Some(new_tab)) } else { open_chosen(new_tab) }
            }
            _ => return,
        }
        e.prevent_default();
    };
    let options = move || {
        let mut group = "";
        let lines = list.get().into_iter().enumerate().map(|(i, c)| {
            let head = (c.group != group).then(|| view! { <h3 role="presentation">{c.group}</h3> });
            group = c.group;
            let url = c.url.clone();
            view! {
                {head}
                <div
                    class="opt" role="option" id=format!("opt-{i}")
                    aria-selected=move || (at.get() == i).to_string()
                    on:click=move |e| choose(&url, e.ctrl_key() || e.meta_key())
                    on:mousemove=move |_| at.set(i)
                >
                    {icon::icon_in(c.icon, c.icon_class)}
                    <span class="min-w-0 truncate" class:mono=c.mono>{c.label}</span>
                    <span class="end">{c.end}</span>
                </div>
            }
        });
        lines.collect_view()
    };
    view! {
        <dialog
            class="palette" id=ID aria-label="Jump to a domain or run a tool" on:close=move |_| early.set(None)
            on:click=move |e| if browser::is_dialog_backdrop(&e) { browser::close_dialog(ID) }
        >
            <div class="flex items-center gap-3 px-4 h-12 border-b [&_.i]:text-muted [&_input]:flex-1 [&_input]:min-w-0 [&_input]:border-0 [&_input]:[outline:0] [&_input]:bg-transparent [&_input]:text-sm [&_input]:[font-family:inherit] [&_input]:text-text">
                {icon("search")}
                <input
                    id=INPUT role="combobox" aria-expanded="true" aria-controls="palette-options" autocomplete="off"
                    spellcheck="false" aria-autocomplete="list" aria-label="Jump to a domain or run a tool"
                    placeholder="Domain or command"
                    aria-activedescendant=move || format!("opt-{}", at.get())
                    prop:value=move || text.get()
                    on:input=move |e| search(event_target_value(&e)) on:keydown=keys
                />
                <span class="kbd">"Esc"</span>
            </div>
            <div id="palette-options" role="listbox" aria-label="Results">{options}</div>
            <div class="text-xs flex gap-4 py-2.5 px-4 mt-2 border-t text-muted [&_span]:inline-flex [&_span]:items-center [&_span]:gap-1.5 max-sm:hidden">
                <span><span class="kbd">"↑"</span><span class="kbd">"↓"</span>" move"</span>
                <span><span class="kbd">"Enter"</span>" open"</span>
                <span><span class="kbd">"Ctrl"</span><span class="kbd">"Enter"</span>" open in a new tab"</span>
            </div>
        </dialog>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::{choices, name_and_type};

    #[test]
    fn a_record_type_is_no_part_of_the_name() {
        assert_eq!(name_and_type("q7.io MX"), ("q7.io", Some("MX".into())));
        assert_eq!(name_and_type(" txt q7.io "), ("q7.io", Some("TXT".into())));
        assert_eq!(name_and_type("q7.io"), ("q7.io", None));
        assert_eq!(name_and_type("q7.io never"), ("q7.io never", None));
        let urls = |text| choices(text, &[]).into_iter().map(|c| c.url).collect::<Vec<_>>();
        let typed = urls("q7.io mx");
        assert!(typed.contains(&"/tools/compare?name=q7.io&type=MX".to_string()), "{typed:?}");
        assert!(typed.contains(&"/tools/trace?name=q7.io&type=MX".to_string()), "{typed:?}");
        assert!(typed.contains(&"/tools/scan?name=q7.io".to_string()), "{typed:?}");
        assert_eq!(urls("two words.example x"), ["/domains?q=two%20words.example%20x"]);
    }
}
