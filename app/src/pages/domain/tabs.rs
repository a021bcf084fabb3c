//! The tabs: links with addresses of their own, operable as WAI-ARIA tabs (arrow keys, Home, End).

use leptos::ev::KeyboardEvent;
use leptos::prelude::*;
use leptos_router::hooks::use_location;
use model::detail::Detail;

/// Id, end of the address, label. The last is a page of its own, which works without the bundle (`/objects`).
const TABS: [(&str, &str, &str); 7] = [
    ("overview", "", "Overview"),
    ("history", "/history", "History"),
    ("events", "/events", "Event Log"),
    ("dns", "/dns", "DNS"),
    ("ownership", "/ownership", "Ownership"),
    ("configuration", "/configuration", "Configuration"),
    (YAML, "", "YAML"),
];
const YAML: &str = "yaml";

/// Address and label of each tab of a domain, for the page that shows it as YAML.
#[cfg(any(feature = "ssr", test))]
pub(crate) fn links(name: &str) -> impl Iterator<Item = (String, &'static str)> {
    TABS.iter().map(move |(id, end, label)| (address(name, id, end), *label))
}

fn address(name: &str, id: &str, end: &str) -> String {
    if id == YAML { format!("/objects/domains/{name}") } else { format!("/domains/{name}{end}") }
}

/// Which tab an address is.
fn index(path: &str) -> usize {
    TABS.iter().position(|(_, end, _)| !end.is_empty() && path.ends_with(end)).unwrap_or(0)
}

/// The id of the current tab, which names the panel.
pub(crate) fn current_id() -> String {
    format!("tab-{}", TABS[index(&use_location().pathname.get())].0)
}

/// The title of a domain's page, with its tab.
pub(crate) fn title(name: String) -> impl Fn() -> String + Send + Sync + 'static {
    let path = use_location().pathname;
    move || match TABS[index(&path.get())] {
        (_, "", _) => name.clone(),
        (_, _, label) => format!("{name} · {label}"),
    }
}

/// The row of tabs.
pub(crate) fn tabs(d: &Detail) -> AnyView {
    let path = use_location().pathname;
    let name = d.row.name.as_str().to_string();
    let findings = d
        .observation
        .as_ref()
        .map_or(0, |o| o.findings.iter().filter(|f| f.level >= model::finding::Level::Notice).count() as u64);
    let counts = [0, d.snapshots, d.events, findings, 0, 0, 0];
    let each: Vec<_> = TABS
        .iter()
        .enumerate()
        .map(|(i, (id, end, label))| {
            let here = move || index(&path.get()) == i;
            let n = (counts[i] > 0).then(|| view! { <span class="n">{counts[i].to_string()}</span> });
            view! {
                <a
                    class="tab" role="tab" id=format!("tab-{id}") href=address(&name, id, end) rel=(*id == YAML).then_some("external")
                    aria-selected=move || here().to_string() aria-controls=move || here().then_some("panel")
                    tabindex=move || if here() { "0" } else { "-1" } data-noscroll="true"
                >{*label}{n}</a>
            }
        })
        .collect();
    let keys = move |e: KeyboardEvent| {
        let focused = document().active_element().map(|e| e.id()).unwrap_or_default();
        let Some(at) = TABS.iter().position(|(id, ..)| focused == format!("tab-{id}")) else { return };
        let to = match e.key().as_str() {
            "ArrowRight" => (at + 1) % TABS.len(),
            "ArrowLeft" => (at + TABS.len() - 1) % TABS.len(),
            "Home" => 0,
            "End" => TABS.len() - 1,
            _ => return,
        };
        e.prevent_default();
        crate::browser::focus(&format!("tab-{}", TABS[to].0));
    };
    view! { <div class="flex gap-1 px-3 border-t overflow-x-auto [scrollbar-width:none] max-sm:px-2" role="tablist" aria-label=d.row.unicode.clone() on:keydown=keys>{each}</div> }
        .into_any()
}

#[cfg(test)]
mod tests {
    use super::{TABS, index, links};

    #[test]
    fn addresses_are_tabs() {
        let at = |p: &str| TABS[index(p)].0;
        assert_eq!(at("/domains/q7.io"), "overview");
        assert_eq!(at("/domains/q7.io/history"), "history");
        assert_eq!(at("/domains/events/events"), "events");
        let (yaml, label) = links("q7.io").last().unwrap();
        assert_eq!((yaml.as_str(), label), ("/objects/domains/q7.io", "YAML"));
        assert_eq!(links("q7.io").count(), TABS.len());
    }
}
