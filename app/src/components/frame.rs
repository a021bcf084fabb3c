//! The frame: rail (a drawer on phones), top bar, main. Shows only what exists.

use crate::browser;
use crate::components::health;
use crate::components::menus;
use crate::components::message::Message;
use crate::components::pager::grouped;
use crate::components::palette::{self, Palette};
use crate::components::theme::ThemeButton;
use crate::components::visitor;
use crate::components::{icon, icon_sm};
use crate::live;
use crate::resource::{JsonResource, json_resource};
use crate::server_fns;
use crate::server_fns::Frame;
use leptos::prelude::*;
use leptos_router::hooks::use_location;
use model::scan::Live;
use service::{ApiError, Session};

/// The figures of the organisation, read once a page and again when something changed.
pub(crate) type FrameResource = JsonResource<Result<Frame, ApiError>>;

/// The frame with a page in it.
#[component]
pub(crate) fn PageFrame(children: Children) -> impl IntoView {
    if visitor::is_embedded() {
        return visitor::embedded_frame(children());
    }
    match visitor::open_tools() {
        Some(open) => visitor::visitor_frame(open, children()),
        None => account_frame(children),
    }
}

/// The frame for someone with an account.
fn account_frame(children: Children) -> AnyView {
    let frame: FrameResource = json_resource(|| (), |()| server_fns::frame());
    provide_context(frame);
    let calm = live::Debounce::new(400);
    live::listen(move |l| {
        if matches!(l, Live::Changed(_) | Live::Reset { .. }) {
            calm.call(move || frame.refetch());
        }
    });
    let open = RwSignal::new(false);
    let path = use_location().pathname;
    Effect::new(move |before: Option<String>| {
        let now = path.get();
        if let Some(before) = before.filter(|b| *b != now) {
            open.set(false);
            // What was clicked is gone or belongs to the frame; tabs of one domain keep the focus.
            if page_of(&before) != page_of(&now) {
                browser::focus("main");
            }
        }
        now
    });
    menus::close_on_escape_and_outside();
    Effect::new(move |_| {
        let keys = window_event_listener(leptos::ev::keydown, move |e| {
            if e.key() == "Escape" && open.get_untracked() {
                e.prevent_default();
                open.set(false);
                browser::focus(DRAWER_BUTTON);
            }
        });
        on_cleanup(move || keys.remove());
    });
    let wide = move || path.get() == "/domains";
    view! {
        <a class="absolute left-3 -top-12 z-50 bg-surface py-2 px-3 rounded-md focus:top-3" href="#main" rel="external">"Skip to content"</a>
        <div class="grid grid-cols-[var(--rail)_minmax(0,1fr)] min-h-screen max-lg:grid-cols-1 print:block">
            <Rail open=open frame=frame/>
            <div class="min-w-0">
                <TopBar open=open frame=frame/>
                <main class="content" class:max-w-none=wide id="main" tabindex="-1">
                    <Message/>
                    <Suspense>
                        {move || frame.get().and_then(Result::ok).map(|f| health::banners(&f.health))}
                    </Suspense>
                    {children()}
                </main>
            </div>
        </div>
        <Palette/>
    }
    .into_any()
}

/// The id of the button that opens the drawer.
const DRAWER_BUTTON: &str = "nav-button";

/// The address of a page without its tab.
fn page_of(path: &str) -> &str {
    let Some(rest) = path.strip_prefix("/domains/") else { return path };
    rest.find('/').map_or(path, |i| &path[.."/domains/".len() + i])
}

#[component]
fn Rail(open: RwSignal<bool>, frame: FrameResource) -> impl IntoView {
    let path = use_location().pathname;
    let link = move |href: &'static str, picture: &'static str, label: &'static str, n: AnyView| {
        let current = move || {
            let p = path.get();
            (p == href || p.strip_prefix(href).is_some_and(|rest| rest.starts_with('/'))).then_some("page")
        };
        view! {
            <a class="nav" href=href rel=crate::browser_dns::is_asking_page(href).then_some("external") title=label aria-current=current>
                {icon(picture)}<span class="l">{label}</span>{n}
            </a>
        }
    };
    let count = move |pick: fn(&Frame) -> u64| {
        view! {
            <Suspense>
                {move || frame.get().and_then(Result::ok).map(|f| {
                    let n = pick(&f);
                    (n > 0).then(|| view! { <span class="n">{grouped(n)}</span> })
                })}
            </Suspense>
        }
        .into_any()
    };
    let nothing = || ().into_any();
    view! {
        <div class="rail-scrim" class:open=move || open.get() on:click=move |_| open.set(false)></div>
        <nav class="rail" class:open=move || open.get() id="nav" aria-label="Main">
            <a class="h-[var(--topbar)] flex items-center gap-2 px-2 text-text text-[.875rem] font-semibold tracking-[-.01em] flex-none hover:no-underline [&_.i]:w-5 [&_.i]:h-5 [&_.i]:text-accent max-2xl:p-0 max-2xl:justify-center max-lg:justify-start max-lg:py-0 max-lg:px-2" href="/domains">{icon("scope")}<span class="l">"Domainscope"</span></a>
            {link("/domains", "globe", "Domains", count(|f| f.summary.total))}
            {link("/events", "pulse", "Events", count(|f| f.summary.open_events))}
            {link("/networks", "network", "Networks", nothing())}
            {link("/fleet", "fleet", "Fleet", nothing())}
            <div class="text-xs pt-4 pb-1 px-2 text-muted font-normal max-2xl:py-2 max-2xl:px-0 max-2xl:before:block max-2xl:before:border-t max-lg:pt-4 max-lg:pb-1 max-lg:px-2 max-lg:before:hidden"><span class="l">"Tools"</span></div>
            {link("/tools/scan", "scan", "Scan", nothing())}
            {link("/tools/check", "shield", "Check", nothing())}
            {link("/tools/fqdn", "split", "FQDN", nothing())}
            {link("/tools/compare", "compare", "Cache vs authoritative", nothing())}
            {link("/tools/trace", "route", "Trace", nothing())}
            {link("/tools/configure", "sliders", "Configure", nothing())}
            <div class="mt-auto pt-4 grid gap-px">
                <a class="nav" href="/settings/members" title="Settings" aria-current=move || path.get().starts_with("/settings").then_some("page")>
                    {icon("gear")}<span class="l">"Settings"</span></a>
            </div>
        </nav>
    }
    .into_any()
}

#[component]
fn TopBar(open: RwSignal<bool>, frame: FrameResource) -> impl IntoView {
    let lost = expect_context::<live::LiveBus>().lost;
    let session = move || frame.get().and_then(Result::ok).map(|f| f.session);
    let drawer = move |e: leptos::ev::MouseEvent| {
        e.prevent_default();
        open.update(|o| *o = !*o);
    };
    let jump = move |e: leptos::ev::MouseEvent| {
        e.prevent_default();
        palette::open();
    };
    view! {
        <header class="sticky top-0 z-20 h-[var(--topbar)] px-6 flex items-center gap-3 bg-canvas border-b max-sm:px-3 max-sm:gap-1 print:hidden">
            <a
                class="btn btn-ghost btn-icon only-phone" id=DRAWER_BUTTON href="#nav" rel="external" aria-label="Navigation"
                aria-expanded=move || open.get().to_string() aria-controls="nav" role="button" on:click=drawer
            >{icon("menu")}</a>
            <Suspense>
                <span class="flex items-center gap-2 text-text bg-transparent border-0 [font:inherit] h-8 px-2 -ml-2 rounded-md whitespace-nowrap cursor-default min-w-0 hover:bg-transparent max-sm:m-0">
                    {move || session().map(|s| {
                        let demo = s.demo.then(|| view! {
                            <span class="tag" title="All data comes from the built-in lab">"Demo"</span>
                        });
                        view! { <span class="font-semibold min-w-0 truncate">{s.organisation}</span>{demo} }
                    })}
                </span>
            </Suspense>
            <span class="truncate min-w-0 max-sm:hidden text-xs text-muted" role="status">
                {move || lost.get().then_some("Live updates are interrupted; reconnecting")}
            </span>
            <a class="ml-auto w-80 h-8 flex items-center gap-2 pr-2 pl-2.5 bg-surface border border-line-strong rounded-md text-muted [font:inherit] cursor-pointer hover:border-control hover:no-underline [&_.kbd]:ml-auto max-sm:w-10 max-sm:h-10 max-sm:p-0 max-sm:justify-center max-sm:border-0 max-sm:bg-transparent max-sm:text-text max-sm:[&_>_:not(.i)]:hidden" href="/tools/scan" aria-haspopup="dialog" aria-label="Jump to a domain or run a tool Ctrl K" on:click=jump>
                {icon("search")}<span>"Jump to a domain or run a tool"</span>" "<span class="kbd">"Ctrl K"</span>
            </a>
            <ThemeButton/>
            <Suspense>{move || session().map(account_menu)}</Suspense>
        </header>
    }
    .into_any()
}

/// Who is signed in, the other organisations, and the way out. Forms, so that it works before the program has loaded.
fn account_menu(session: Session) -> AnyView {
    let who = session.caller.who;
    let title = format!("Signed in as {who}");
    // The visible letters are a part of the accessible name (WCAG 2.5.3).
    let label = format!("{}: signed in as {who}", initials(&who));
    let here = session.caller.org;
    let others = session.memberships.into_iter().filter(move |m| m.org != here).map(|m| {
        view! {
            <form method="post" action="/switch-organisation">
                <input type="hidden" name="org" value=m.org_key/>
                <button class="menu-item" type="submit">{icon("globe")}"Switch to "{m.org_name}</button>
            </form>
        }
    });
    // A demo's visitor has no session to end.
    let sign_out = session.caller.session.is_some().then(|| {
        view! {
            <form method="post" action="/sign-out">
                <button class="menu-item" type="submit">{icon("key")}"Sign out"</button>
            </form>
        }
    });
    view! {
        <details class="menu group">
            <summary class="w-7 h-7 rounded-full bg-accent-soft text-accent border border-accent-line grid place-items-center text-[.6875rem] leading-none font-semibold cursor-default p-0 group-open:border-control group-open:bg-hover" aria-label=label title=title>{initials(&who)}</summary>
            <div class="menu-list menu-right">
                <p class="menu-form">
                    <span class="font-semibold">{who.clone()}</span>
                    <span class="text-muted text-xs">{session.caller.role.as_str()}" of "{session.organisation}</span>
                </p>
                <a class="menu-item" href="/settings/account">{icon("lock")}"Your account"</a>
                {others.collect_view()}
                {sign_out}
            </div>
        </details>
    }
    .into_any()
}

/// Up to two initials of a name.
fn initials(who: &str) -> String {
    let letters: String = who.split_whitespace().filter_map(|w| w.chars().next()).take(2).collect();
    letters.to_uppercase()
}

/// The breadcrumb of a page with several above it: address and name of each.
pub(crate) fn trail(above: Vec<(String, String)>, here: String) -> AnyView {
    let above = above.into_iter().map(|(url, name)| view! { <a href=url>{name}</a>{icon_sm("right")} });
    view! { <nav class="crumbs" aria-label="Breadcrumb">{above.collect_view()}<span aria-current="page">{here}</span></nav> }
        .into_any()
}

/// The breadcrumb of a page below the inventory.
pub(crate) fn crumbs(name: String) -> impl IntoView {
    view! {
        <nav class="crumbs" aria-label="Breadcrumb">
            <a href="/domains">"Domains"</a>{icon_sm("right")}<span aria-current="page">{name}</span>
        </nav>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::{initials, page_of};

    #[test]
    fn tabs_of_a_domain_are_one_page() {
        assert_eq!(page_of("/domains/q7.io/history"), page_of("/domains/q7.io"));
        assert_ne!(page_of("/domains/q7.io"), page_of("/domains/alder.example/history"));
        assert_ne!(page_of("/domains"), page_of("/domains/q7.io"));
        assert_ne!(page_of("/tools/scan"), page_of("/tools/check"));
    }

    #[test]
    fn initials_of_odd_names() {
        assert_eq!(initials("Mira Holt van Dyk"), "MH");
        assert_eq!(initials("élise"), "É");
        assert_eq!(initials(" "), "");
    }
}
