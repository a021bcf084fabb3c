//! Pages as parts of the bundle that the browser loads when they are first needed. Pages that are often opened one after
//! the other, or show the same cards, are one part: every set of parts that shares code costs a file of its own (four parts
//! make up to 11, eight made 120), so there are few.

use crate::browser;
use leptos::prelude::*;
use leptos::wasm_split::{SplitLoaderError, wasm_split};
use leptos_router::LazyRoute;

/// The parts of the bundle that have the page of this path; none for pages that every visitor has already.
pub fn parts_of(path: &str) -> &'static [&'static str] {
    let mut steps = path.trim_end_matches('/').split('/').skip(1);
    match (steps.next().unwrap_or_default(), steps.next(), steps.next()) {
        ("domains", None | Some("add"), None) => &["list"],
        // Tabs within the page of a domain.
        ("domains", Some(_), Some("events" | "ownership" | "configuration")) => &["domain", "setup"],
        ("domains", Some(_), _) | ("tools", Some("scan" | "trace"), _) => &["domain"],
        ("tools", Some("configure"), _) | ("events" | "fleet", None, _) => &["setup"],
        ("tools", Some("check" | "compare" | "fqdn"), _) => &["tools"],
        ("settings", _, _) | ("networks", None, _) => &["settings"],
        _ => &[],
    }
}

/// Called when the page that the server rendered is hydrated.
#[cfg_attr(not(feature = "hydrate"), allow(dead_code))]
pub(crate) fn hydration_complete() {
    browser::set_hydrated();
    browser::restore_typed();
    // Browser tests wait for it.
    if let Some(root) = document().document_element() {
        let _ = root.set_attribute("data-hydrated", "");
    }
}

/// The page of a part, or the page as the server renders it where the part can't be loaded, for example because another
/// release was installed meanwhile: a full load of the address. A page that was opened directly is rendered already.
async fn page_or_full_load(page: impl Future<Output = Result<AnyView, SplitLoaderError>>) -> AnyView {
    let at = leptos_router::hooks::use_location();
    let (path, search) = (at.pathname.get_untracked(), at.search.get_untracked());
    let page = page.await;
    let hydrated = browser::is_hydrated();
    if let Ok(page) = page {
        if cfg!(feature = "hydrate") && !hydrated {
            browser::keep_typed();
        }
        return page;
    }
    if hydrated {
        let address = if search.is_empty() { path } else { format!("{path}?{search}") };
        let _ = window().location().assign(&address);
    }
    std::future::pending().await
}

macro_rules! part {
    ($part:ident: $($route:ident $view:ident $load:ident $page:path;)+) => {
        $(
            /// A page of a part that is loaded when it is first needed.
            pub(crate) struct $route;

            impl LazyRoute for $route {
                fn data() -> Self {
                    Self
                }

                async fn view(_: Self) -> AnyView {
                    page_or_full_load($view()).await
                }

                async fn preload() {
                    let _ = $load().await;
                }
            }

            #[wasm_split($part, wasm_split_path = ::leptos::wasm_split, preload($load), fallible)]
            fn $view() -> Result<AnyView, SplitLoaderError> {
                Ok($page().into_any())
            }
        )+
    };
}

part! { list:
    Inventory inventory load_inventory super::inventory::InventoryPage;
    Add add load_add super::inventory::add::AddPage;
}
part! { domain:
    Domain domain load_domain super::domain::DomainPage;
    Overview overview load_overview super::domain::overview::OverviewTab;
    History history load_history super::domain::history::HistoryTab;
    Dns dns load_dns super::domain::dns::DnsTab;
    Scan scan load_scan super::scan::ScanPage;
    Trace trace load_trace super::trace::TracePage;
}
// What is set up, and the pages that share little with others: they would make other parts too heavy.
part! { setup:
    DomainEvents domain_events load_domain_events super::domain::events::EventsTab;
    Events events load_events super::events::EventsPage;
    Fleet fleet load_fleet super::fleet::FleetPage;
    Ownership ownership load_ownership super::domain::ownership::OwnershipTab;
    Configuration configuration load_configuration super::domain::configuration::ConfigurationTab;
    Configure configure load_configure super::configure::ConfigurePage;
}
part! { settings:
    Members members load_members super::settings::members::MembersPage;
    Tokens tokens load_tokens super::settings::tokens::TokensPage;
    AuditLog audit_log load_audit_log super::settings::audit::AuditLogPage;
    Features features load_features super::settings::features::FeaturesPage;
    Organisation organisation load_organisation super::settings::organisation::OrganisationPage;
    Account account load_account super::settings::account::AccountPage;
    Notifications notifications load_notifications super::notifications::NotificationsPage;
    Networks networks load_networks super::networks::NetworksPage;
}
part! { tools:
    Check check load_check super::check::CheckPage;
    Compare compare load_compare super::compare::ComparePage;
    Fqdn fqdn load_fqdn super::fqdn::FqdnPage;
}

/// Loads the part behind a link that is pointed at or focused, before it is followed.
pub(crate) fn prefetch_on_intent() {
    Effect::new(|_| {
        for event in ["pointerover", "focusin"] {
            let listener = window_event_listener_untyped(event, |e| {
                use leptos::wasm_bindgen::JsCast;
                let Some(target) = e.target().and_then(|t| t.dyn_into::<web_sys::Element>().ok()) else {
                    return;
                };
                // Links to another document load it whole.
                let Ok(Some(link)) = target.closest("a[href^='/']:not([rel~='external'])") else { return };
                let href = link.get_attribute("href").unwrap_or_default();
                prefetch(href.split(['?', '#']).next().unwrap_or_default());
            });
            on_cleanup(move || listener.remove());
        }
    });
}

/// Loads the parts of this path; any page of a part loads all of it.
fn prefetch(path: &str) {
    use leptos::task::spawn_local;
    for part in parts_of(path) {
        match *part {
            "list" => spawn_local(Inventory::preload()),
            "domain" => spawn_local(Domain::preload()),
            "setup" => spawn_local(Configure::preload()),
            "settings" => spawn_local(Networks::preload()),
            "tools" => spawn_local(Check::preload()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::parts_of;

    #[test]
    fn every_address_has_its_parts() {
        let cases: &[(&str, &[&str])] = &[
            ("/", &[]),
            ("/nowhere", &[]),
            ("/domains", &["list"]),
            ("/domains/", &["list"]),
            ("/domains/add", &["list"]),
            ("/domains/a.example", &["domain"]),
            ("/domains/a.example/history", &["domain"]),
            ("/domains/a.example/ownership", &["domain", "setup"]),
            ("/domains/a.example/configuration", &["domain", "setup"]),
            ("/domains/a.example/events", &["domain", "setup"]),
            ("/events", &["setup"]),
            ("/settings/members", &["settings"]),
            ("/settings/notifications", &["settings"]),
            ("/networks", &["settings"]),
            ("/fleet", &["setup"]),
            ("/tools/configure", &["setup"]),
            ("/tools/trace", &["domain"]),
            ("/tools/check", &["tools"]),
            ("/tools/compare", &["tools"]),
            ("/tools/other", &[]),
        ];
        for (path, parts) in cases {
            assert_eq!(parts_of(path), *parts, "{path}");
        }
    }
}
