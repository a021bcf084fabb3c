//! The form that claims a prefix. Its preview is a reading of the same address with the form's values, so that it works
//! without script; it reserves nothing.

use crate::components::copy::copy_button;
use crate::query;
use crate::server_fns::{Networks, Preview};
use leptos::prelude::*;

/// The card.
pub(super) fn card(n: &Networks, shown: &str, search: &str) -> AnyView {
    let value = |key: &str| query::value(search, key).unwrap_or_default();
    let from = query::value(search, "from").unwrap_or_else(|| shown.to_string());
    let field = |id: &'static str, label: &'static str, value: String, hint: &'static str| {
        view! {
            <div class="field">
                <label for=id>{label}</label>
                <input class="input mono" id=id name=id value=value autocomplete="off" spellcheck="false" autocapitalize="off" placeholder=hint/>
            </div>
        }
    };
    let result = n.preview.as_ref().map(preview);
    let yaml = n.yaml.clone().map(|text| {
        view! {
            <details>
                <summary class="py-1">"This form as YAML"</summary>
                <div class="flex items-center gap-2 text-xs text-muted"><span>"For kubectl apply, or your repository"</span>{copy_button("the YAML", text.clone())}</div>
                <pre class="mono text-xs overflow-x-auto" tabindex="0" role="region" aria-label="This form as YAML">{text}</pre>
            </details>
        }
    });
    view! {
        <section class="card" id="claim">
            <div class="card-head"><h2>"Claim a prefix"</h2></div>
            <div class="card-body">
                <form class="grid grid-cols-1 gap-4 content-start" method="get" action="/networks">
                    // The preview is drawn in the block that is shown.
                    <input type="hidden" name="block" value=shown.to_string()/>
                    {field("name", "Name of the claim", value("name"), "session-store")}
                    {field("from", "From block", from, "10.20.0.0/16")}
                    {field("length", "Prefix length", value("length"), "26")}
                    {field("prefix", "Or an exact prefix", value("prefix"), "10.20.4.0/26")}
                    {field("group", "Group of the component", value("group"), "apps")}
                    {field("resource", "Component", value("resource"), "session-store")}
                    {field("description", "Description", value("description"), "One address per shard")}
                    {result}
                    {yaml}
                    <div class="flex items-center gap-2">
                        <button class="btn" type="submit">"Preview"</button>
                        <button class="btn btn-primary" type="submit" formmethod="post" formaction="/api/fn/claim_prefix">"Claim"</button>
                    </div>
                    <p class="text-xs text-muted">"The preview reserves nothing. The smallest gap that fits is taken, so that larger gaps stay whole."</p>
                </form>
            </div>
        </section>
    }
    .into_any()
}

fn preview(p: &Preview) -> AnyView {
    let words = match (&p.prefix, &p.reason) {
        (Some(prefix), _) => view! {
            <p>"You would get "<b class="mono">{prefix.clone()}</b></p>
            <p class="text-xs text-muted mono">{p.extent.clone()}</p>
        }
        .into_any(),
        (None, Some(reason)) => view! { <p class="text-warn">{reason.clone()}</p> }.into_any(),
        (None, None) => view! { <p class="text-warn">"No prefix of that length is free."</p> }.into_any(),
    };
    view! { <div role="status">{words}</div> }.into_any()
}
