//! A form that makes a link to the customer page of a service. The link is shown once, because only its hash is kept.

use crate::components::copy::copy_button;
use crate::server_fns;
use leptos::prelude::*;
use leptos::task::spawn_local;
use model::time::human_day;
use service::{ApiError, CreatedLink};

/// The card.
pub(super) fn card(name: String, id: String) -> AnyView {
    let made = RwSignal::new(None::<Result<CreatedLink, ApiError>>);
    let (brand, help) = (RwSignal::new(String::new()), RwSignal::new(String::new()));
    let submit = move |e: leptos::ev::SubmitEvent| {
        e.prevent_default();
        let (name, id) = (name.clone(), id.clone());
        let (brand, help) = (brand.get_untracked(), help.get_untracked());
        spawn_local(async move { made.set(Some(server_fns::connect_link(name, id, brand, help).await)) });
    };
    let shown = move || {
        made.get().map(|result| match result {
            Ok(link) => {
                let origin = crate::browser::origin();
                let url = format!("{origin}{}", link.path);
                let until = format!("Works until {}. It is shown only now.", human_day(link.expires_at));
                view! {
                    <p class="flex items-center gap-2 flex-wrap" role="status"><code class="mono text-xs wrap select-all">{url.clone()}</code>{copy_button("customer link", url)}</p>
                    <p class="hint">{until}</p>
                }
                .into_any()
            }
            Err(f) => view! { <p class="hint text-critical" role="alert">{f.to_string()}</p> }.into_any(),
        })
    };
    view! {
        <section class="card noscript:hidden" aria-labelledby="cl"><div class="card-head"><h2 id="cl">"Customer link"</h2></div>
            <form class="card-body grid grid-cols-1 gap-4 content-start" on:submit=submit>
                <p class="text-muted">"For a customer without an account: a page with these records and the live check, for 7 days."</p>
                <label class="field"><span>"In the name of"</span><input class="input" required maxlength="60" placeholder="Northlake Shops" prop:value=move || brand.get() on:input=move |e| brand.set(event_target_value(&e))/></label>
                <label class="field"><span>"Help at "<span class="text-muted">"(optional)"</span></span><input class="input" maxlength="200" placeholder="help@northlake.example" prop:value=move || help.get() on:input=move |e| help.set(event_target_value(&e))/></label>
                <div class="flex items-center gap-2"><button class="btn" type="submit">"Make a link"</button></div>
                {shown}
            </form></section>
    }
    .into_any()
}
