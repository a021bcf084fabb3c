//! Visitors without an account: the tools that are open to them, the frame of the tools' pages, and the bare frame of
//! pages that other sites embed. Embedded pages run no program, so that is only known while the server renders.

use crate::browser_dns;
use crate::components::icon;
use crate::components::theme::ThemeButton;
use leptos::prelude::*;
use leptos_router::hooks::use_location;
use model::inventory::percent;
use model::open_tools::{OpenTool, ToolSet};

/// The attribute of `<html>` that tells the browser's program which tools are open to a visitor.
const ATTRIBUTE: &str = "data-visitor";

/// The tools that are open to this page's visitor; `None` for someone with an account.
pub(crate) fn open_tools() -> Option<ToolSet> {
    #[cfg(feature = "ssr")]
    return use_context::<model::ids::Caller>().and_then(|caller| caller.visitor);
    #[cfg(not(feature = "ssr"))]
    document().document_element().and_then(|root| root.get_attribute(ATTRIBUTE)).and_then(|v| v.parse().ok())
}

/// Path and query of the request that is rendered; empty in the browser.
fn requested() -> (String, String) {
    #[cfg(feature = "ssr")]
    if let Some(parts) = use_context::<axum::http::request::Parts>() {
        return (parts.uri.path().to_string(), parts.uri.query().unwrap_or_default().to_string());
    }
    (String::new(), String::new())
}

/// True on a page that other sites embed.
pub(crate) fn is_embedded() -> bool {
    requested().0.starts_with("/embed/")
}

/// The theme that the embedding site asks for.
fn embedded_theme() -> Option<String> {
    let (path, query) = requested();
    let theme = crate::query::value(&query, "theme").filter(|_| path.starts_with("/embed/"));
    theme.filter(|t| matches!(t.as_str(), "light" | "dark"))
}

/// Attributes of `<html>`: name and value.
pub(crate) fn document_attributes() -> Vec<(&'static str, String)> {
    let words = |tools: ToolSet| tools.iter().map(OpenTool::as_str).collect::<Vec<_>>().join(",");
    let mut out: Vec<_> = open_tools().map(|tools| (ATTRIBUTE, words(tools))).into_iter().collect();
    out.extend(is_embedded().then(|| ("data-embed", String::new())));
    out.extend(embedded_theme().map(|theme| ("data-theme", theme)));
    out
}

/// Where the form of a tool is sent: to the page that shows it.
pub(crate) fn form_action(path: &'static str) -> String {
    if is_embedded() { path.replacen("/tools/", "/embed/", 1) } else { path.to_string() }
}

/// The target of that form: other links of an embedded page open a tab of their own.
pub(crate) fn form_target() -> Option<&'static str> {
    is_embedded().then_some("_self")
}

/// What an embedded form sends along.
pub(crate) fn form_fields() -> Option<AnyView> {
    let theme = embedded_theme()?;
    Some(view! { <input type="hidden" name="theme" value=theme/> }.into_any())
}

fn address(tool: OpenTool) -> String {
    format!("/tools/{}", tool.as_str())
}

fn picture(tool: OpenTool) -> &'static str {
    match tool {
        OpenTool::Scan => "scan",
        OpenTool::Check => "shield",
        OpenTool::Fqdn => "split",
        OpenTool::Compare => "compare",
        OpenTool::Trace => "route",
    }
}

/// The frame of a visitor's page: the open tools and the way to sign in.
pub(crate) fn visitor_frame(open: ToolSet, page: AnyView) -> AnyView {
    let here = use_location();
    let links: Vec<_> = open
        .iter()
        .map(|tool| {
            let href = address(tool);
            let external = browser_dns::is_asking_page(&href).then_some("external");
            let of = href.clone();
            let current = move || (here.pathname.get() == of).then_some("page");
            view! {
                <a class="nav max-sm:px-1.5" href=href rel=external aria-current=current>
                    {icon(picture(tool))}<span>{tool.label()}</span></a>
            }
        })
        .collect();
    let home = open.iter().next().map(address).unwrap_or_default();
    let sign_in = move || {
        let search = here.search.get();
        let mark = if search.is_empty() { "" } else { "?" };
        let to = format!("{}{mark}{}", here.pathname.get(), search.trim_start_matches('?'));
        format!("/sign-in?to={}", percent(&to))
    };
    view! {
        <a class="absolute left-3 -top-12 z-50 bg-surface py-2 px-3 rounded-md focus:top-3" href="#main" rel="external">"Skip to content"</a>
        <header class="sticky top-0 z-20 min-h-[var(--topbar)] py-1 px-6 flex items-center gap-x-3 gap-y-1 flex-wrap bg-canvas border-b max-sm:px-3 max-lg:static print:hidden">
            <a class="flex items-center gap-2 text-text font-semibold tracking-[-.01em] hover:no-underline [&_.i]:text-accent" href=home rel="external">{icon("scope")}"Domainscope"</a>
            <nav class="flex items-center gap-1 flex-wrap min-w-0 max-lg:order-last max-lg:basis-full" aria-label="Tools">{links}</nav>
            <div class="ml-auto flex items-center gap-2"><ThemeButton/><a class="btn" href=sign_in rel="external">"Sign in"</a></div>
        </header>
        <main class="content" id="main" tabindex="-1">{page}</main>
    }
    .into_any()
}

/// The frame of a page that another site embeds: nothing but the tool, and the way to the whole page.
pub(crate) fn embedded_frame(page: AnyView) -> AnyView {
    let (path, query) = requested();
    let mark = if query.is_empty() { "" } else { "?" };
    let whole = format!("{}{mark}{query}", path.replacen("/embed/", "/tools/", 1));
    view! {
        <main class="p-4 max-sm:p-3" id="main">{page}
            <p class="mt-4 text-xs text-muted text-center"><a href=whole rel="noopener">"Open in Domainscope"</a></p>
        </main>
    }
    .into_any()
}
