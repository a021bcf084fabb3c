//! The first two steps: which service, on which domain, with which values. In: the query of the address. Out: the form,
//! and the query for the server once it is complete.

use crate::components::area::area_text;
use crate::components::icon;
use crate::query;
use leptos::ev::SubmitEvent;
use leptos::prelude::*;
use model::configure::{Field, FieldKind, ServiceKind};
use model::inventory::percent;

/// What an address asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Wizard {
    pub kind: Option<ServiceKind>,
    pub domain: String,
    pub host: String,
    /// Values of fields, in the order of the form.
    pub values: Vec<(String, String)>,
    /// True when the values are a beginning that someone still completes, such as those of a saved template.
    pub is_draft: bool,
}

impl Wizard {
    pub fn read(search: &str) -> Wizard {
        let pairs = query::pairs(search);
        let value = |key: &str| {
            let found = pairs.iter().find(|(k, _)| k == key);
            found.map(|(_, v)| v.trim().to_string()).unwrap_or_default()
        };
        let kind = ServiceKind::from_word(&value("service"));
        let fields = kind.map_or(&[][..], ServiceKind::fields);
        Wizard {
            kind,
            domain: value("domain"),
            host: value("host"),
            values: fields.iter().map(|f| (f.key.to_string(), value(f.key))).collect(),
            is_draft: !value("draft").is_empty(),
        }
    }

    fn value(&self, key: &str) -> String {
        self.values.iter().find(|(k, _)| k == key).map(|(_, v)| v.clone()).unwrap_or_default()
    }

    /// The query for the server, when everything required is there.
    pub fn query(&self) -> Option<String> {
        let kind = self.kind?;
        let complete = kind.fields().iter().all(|f| !f.required || !self.value(f.key).is_empty());
        if self.domain.is_empty() || !complete || self.is_draft {
            return None;
        }
        let mut out = format!("service={}&domain={}", kind.as_str(), percent(&self.domain));
        if !self.host.is_empty() {
            out.push_str(&format!("&host={}", percent(&self.host)));
        }
        for (key, value) in self.values.iter().filter(|(_, v)| !v.is_empty()) {
            out.push_str(&format!("&{key}={}", percent(value)));
        }
        Some(out)
    }
}

/// The icon of a kind of service.
pub(crate) fn kind_icon(kind: ServiceKind) -> &'static str {
    match kind {
        ServiceKind::Web => "globe",
        ServiceKind::Mail => "mail",
        ServiceKind::Proof => "shield",
        ServiceKind::Acme => "key",
        ServiceKind::Caa => "lock",
        ServiceKind::Template => "note",
        ServiceKind::Gateway => "network",
    }
}

/// Every kind as a link into the wizard.
pub(crate) fn kinds(domain: &str, current: Option<ServiceKind>) -> AnyView {
    let each: Vec<_> = ServiceKind::ALL
        .into_iter()
        .map(|kind| {
            let domain =
                if domain.is_empty() { String::new() } else { format!("&domain={}", percent(domain)) };
            let url = format!("/tools/configure?service={}{domain}", kind.as_str());
            view! {
                <a class="grid grid-cols-[1.75rem_minmax(0,1fr)] gap-x-3 items-start p-3 border rounded-md text-text hover:no-underline hover:border-line-strong hover:bg-surface-2 aria-[current]:border-accent aria-[current]:bg-accent-soft [&_small]:block [&_small]:text-xs [&_small]:text-muted" href=url aria-current=(current == Some(kind)).then_some("true")>
                    <span class="mark mark-lg" aria-hidden="true">{icon(kind_icon(kind))}</span>
                    <span><span class="font-semibold">{kind.label()}</span><small>{kind.about()}</small></span>
                </a>
            }
        })
        .collect();
    view! { <nav class="grid grid-cols-[repeat(auto-fill,minmax(15rem,1fr))] gap-3" aria-label="Services">{each}</nav> }.into_any()
}

/// The form. Once it is complete it folds away, so that the plan is in view.
pub(super) fn view(w: &Wizard, submit: impl Fn(SubmitEvent) + 'static) -> AnyView {
    let Some(kind) = w.kind else {
        return view! {
            <section class="card" aria-labelledby="sv">
                <div class="card-head"><h2 id="sv">"Which service?"</h2></div>
                <div class="card-body">{kinds(&w.domain, None)}</div>
            </section>
        }
        .into_any();
    };
    let complete = w.query().is_some();
    let fields: Vec<_> = kind.fields().iter().map(|f| field(f, &w.value(f.key))).collect();
    let label = if complete { "Change the service" } else { kind.label() };
    view! {
        <details class="card fold mb-4" open=!complete>
            <summary><h2>{label}</h2><span class="text-muted wrap">{kind.about()}</span></summary>
            <form class="card-body grid grid-cols-1 gap-4 content-start" method="get" action="/tools/configure" on:submit=submit>
                <input type="hidden" name="service" value=kind.as_str()/>
                <div class="grid grid-cols-2 gap-4 items-start max-sm:grid-cols-1">
                    <label class="field"><span>"Domain"</span>
                        <input class="input mono" name="domain" value=w.domain.clone() required placeholder="alder.example" autocomplete="off" spellcheck="false" autocapitalize="off"/></label>
                    <label class="field"><span>"Host "<span class="text-muted">"(optional)"</span></span>
                        <input class="input mono" name="host" value=w.host.clone() placeholder="shop" autocomplete="off" spellcheck="false" autocapitalize="off"/>
                        <span class="hint">"Below the domain, when the service is not for the domain itself."</span></label>
                    {fields}
                </div>
                <div class="flex items-center gap-2 flex-wrap">
                    <button class="btn btn-primary" type="submit">"Make the plan"</button>
                    <a class="btn btn-ghost" href=other(&w.domain)>"Another service"</a>
                    <span class="hint">"Queries the authoritative servers only; nothing is changed."</span>
                </div>
            </form>
        </details>
    }
    .into_any()
}

fn other(domain: &str) -> String {
    if domain.is_empty() {
        "/tools/configure".into()
    } else {
        format!("/tools/configure?domain={}", percent(domain))
    }
}

fn field(f: &'static Field, value: &str) -> AnyView {
    let value = value.to_string();
    let label = view! { <span>{f.label}{(!f.required).then(|| view! { " "<span class="text-muted">"(optional)"</span> })}</span> };
    let control = match f.kind {
        FieldKind::Line => view! {
            <input class="input mono" name=f.key value=value required=f.required placeholder=f.example autocomplete="off" spellcheck="false" autocapitalize="off"/>
        }
        .into_any(),
        FieldKind::Area => view! {
            <textarea class="input" name=f.key rows="4" required=f.required placeholder=f.example spellcheck="false" prop:value=value.clone()>{area_text(&value)}</textarea>
        }
        .into_any(),
        FieldKind::Choice(choices) => {
            let options: Vec<_> = choices
                .iter()
                .map(|(word, words)| view! { <option value=*word selected={*word == value}>{*words}</option> })
                .collect();
            view! { <select class="input" name=f.key>{options}</select> }.into_any()
        }
    };
    let class = if f.kind == FieldKind::Area { "field col-span-full" } else { "field" };
    view! { <label class=class>{label}{control}<span class="hint">{f.hint}</span></label> }.into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_asked_for_once_everything_required_is_there() {
        let query = |search: &str| Wizard::read(search).query();
        assert_eq!(query("?service=web&domain=a.example"), None);
        assert_eq!(query("?service=nothing&domain=a.example&target=b.example"), None);
        assert_eq!(
            query("?domain=a.example&service=web&target=+b.example&host=&colour=red&alpn=h2+h3").as_deref(),
            Some("service=web&domain=a.example&target=b.example&alpn=h2%20h3")
        );
        assert_eq!(query("?domain=a.example&service=web&target=b.example&draft=1"), None);
    }
}
