//! Single sign-on of one's own account: linking an account at the provider, and taking the link away.

use super::refusal;
use crate::components::banner::{Tone, banner};
use crate::components::time::day;
use crate::server_fns::{FormOutcome, FormResult};
use leptos::prelude::*;
use model::account::IdentityInfo;
use service::{Profile, ProviderInfo};

const PATH: &str = "/settings/account";

/// The card of the account page; nothing where there is no provider and no link to one.
pub(super) fn provider(d: &Profile, outcome: Option<&FormOutcome>) -> Option<AnyView> {
    if d.provider.is_none() && d.identities.is_empty() {
        return None;
    }
    let links: Vec<_> = d.identities.iter().enumerate().map(|(n, i)| linked(d, i, n, outcome)).collect();
    let is_linked = |p: &ProviderInfo| d.identities.iter().any(|i| i.issuer == p.issuer);
    let offer = d.provider.as_ref().filter(|p| !is_linked(p)).map(|p| offer(d, p, outcome));
    let role = d.provider.as_ref().filter(|p| p.sets_role).map(|p| {
        view! { <p class="hint">{format!("Your role here follows your groups at {}: each sign-in there sets it.", p.label)}</p> }
    });
    Some(
        view! {
            <section class="card">
                <div class="card-head"><h2>"Single sign-on"</h2></div>
                <div class="card-body grid grid-cols-1 gap-4 content-start">{links}{offer}{role}</div>
            </section>
        }
        .into_any(),
    )
}

/// The provider's name; of one that the server no longer has, its address.
fn name(d: &Profile, issuer: &str) -> String {
    let known = d.provider.as_ref().filter(|p| p.issuer == issuer);
    known.map_or_else(|| issuer.to_string(), |p| p.label.clone())
}

/// Password, and a code where two-factor sign-in is on: fields of both forms.
fn confirmation(d: &Profile, id: &str) -> AnyView {
    let (password, code) = (format!("{id}-password"), format!("{id}-code"));
    let code = d.user.has_second_factor.then(|| {
        view! {
            <div class="field"><label class="label" for=code.clone()>"Code of the app, or a recovery code"</label>
                <input class="input mono" id=code.clone() name="code" required autocomplete="one-time-code" maxlength="40"/></div>
        }
    });
    view! {
        <div class="field"><label class="label" for=password.clone()>"Password to confirm"</label>
            <input class="input" id=password.clone() name="password" type="password" required autocomplete="current-password"/></div>
        {code}
    }
    .into_any()
}

/// An account at a provider that signs in to this one.
fn linked(d: &Profile, i: &IdentityInfo, n: usize, outcome: Option<&FormOutcome>) -> AnyView {
    let name = name(d, &i.issuer);
    let is_this = |o: &&FormOutcome| o.value("issuer") == i.issuer;
    let refused = refusal(outcome.filter(is_this), "unlink_provider");
    let is_open = refused.is_some();
    let form = if d.has_password {
        view! {
            <details class="confirm" open=is_open>
                <summary class="btn btn-sm btn-ghost btn-danger" aria-label=format!("Unlink {name}")>"Unlink"</summary>
                <form class="grid grid-cols-1 gap-4 content-start" method="post" action=PATH>
                    {refused}
                    <input type="hidden" name="do" value="unlink_provider"/>
                    <input type="hidden" name="issuer" value=i.issuer.clone()/>
                    {confirmation(d, &format!("unlink-{n}"))}
                    <div><button class="btn btn-danger" type="submit">{format!("Unlink {name}")}</button></div>
                </form>
            </details>
        }
        .into_any()
    } else {
        view! { <p class="text-muted">"It is the only way to sign in to this account, so it can't be unlinked. Set a password first."</p> }
            .into_any()
    };
    view! {
        <p>"You can sign in with "<strong>{name}</strong>", linked "{day(i.linked_at)}"."</p>
        {form}
    }
    .into_any()
}

/// The provider is not linked yet.
fn offer(d: &Profile, p: &ProviderInfo, outcome: Option<&FormOutcome>) -> AnyView {
    if let Some(FormResult::Provider { url }) = outcome.map(|o| &o.result) {
        let go = format!("Continue to {}", p.label);
        return view! {
            {banner(Tone::Ok, "Confirmed", format!("Sign in at {} to choose the account to link. You have 10 minutes.", p.label))}
            <div><a class="btn btn-primary" href=url.clone() rel="external noreferrer">{go}</a></div>
        }
        .into_any();
    }
    if !d.has_password {
        return view! { <p class="text-muted">"Set a password first: it is asked for when an account is linked."</p> }.into_any();
    }
    let refused = refusal(outcome, "link_provider");
    let is_open = refused.is_some();
    view! {
        <p class="text-muted">{format!("Not linked. Once linked, you can sign in with {} instead of your password.", p.label)}</p>
        <details class="confirm" open=is_open>
            <summary class="btn btn-sm">{format!("Link {}", p.label)}</summary>
            <form class="grid grid-cols-1 gap-4 content-start" method="post" action=PATH>
                {refused}
                <input type="hidden" name="do" value="link_provider"/>
                {confirmation(d, "link")}
                <div><button class="btn btn-primary" type="submit">"Confirm"</button></div>
            </form>
        </details>
    }
    .into_any()
}
