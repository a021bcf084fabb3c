//! One's own account: sessions, password, two-factor sign-in.

use super::passkeys::passkeys;
use super::provider::provider;
use super::{page, refusal};
use crate::components::banner::{Tone, banner};
use crate::components::copy::copy_button;
use crate::components::icon_sm;
use crate::components::time::{Ago, day};
use crate::resource::json_resource;
use crate::server_fns::{self, FormOutcome, FormResult, SettingsPage};
use leptos::prelude::*;
use model::account::SessionInfo;
use service::{ApiError, Enrolment, Profile};

const PATH: &str = "/settings/account";

/// The page.
#[component]
pub(crate) fn AccountPage() -> impl IntoView {
    let data = json_resource(|| (), |()| server_fns::settings_account());
    page(PATH, "password, passkeys, single sign-on, two-factor sign-in, sessions", data, body)
}

fn body(p: SettingsPage<Profile>) -> AnyView {
    let d = p.data;
    let who = format!("{} · {}", d.user.email, p.caller.role.label());
    view! {
        <div class="cols">
            <div class="grid grid-cols-1 gap-4 content-start">
                {sessions(&d.sessions, p.outcome.as_ref(), p.now)}
                <section class="card"><div class="card-head"><h2>"Account"</h2></div>
                    <dl class="facts">
                        <div><dt>"Name"</dt><dd>{d.user.name.clone()}</dd></div>
                        <div><dt>"Email"</dt><dd>{who}</dd></div>
                        <div><dt>"Since"</dt><dd>{day(d.user.created_at)}</dd></div>
                    </dl></section>
            </div>
            <div class="grid grid-cols-1 gap-4 content-start">
                {passkeys(&d, p.outcome.as_ref(), p.now)}
                {provider(&d, p.outcome.as_ref())}
                {second_factor(&d, p.outcome.as_ref())}
                {password(&d, p.outcome.as_ref())}
            </div>
        </div>
    }
    .into_any()
}

/// Browser and system of a `User-Agent`, as people call them.
fn device(agent: &str) -> String {
    let find = |table: &[(&str, &'static str)]| {
        table.iter().find(|(mark, _)| agent.contains(mark)).map(|(_, name)| *name)
    };
    // The first that matches: most browsers name the others too.
    let browser = find(&[
        ("Edg/", "Edge"),
        ("OPR/", "Opera"),
        ("Firefox/", "Firefox"),
        ("Chromium/", "Chromium"),
        ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
        ("curl/", "curl"),
    ]);
    let system = find(&[
        ("Android", "Android"),
        ("iPhone", "iOS"),
        ("iPad", "iPadOS"),
        ("Windows", "Windows"),
        ("Mac OS X", "macOS"),
        ("CrOS", "ChromeOS"),
        ("Linux", "Linux"),
    ]);
    match (browser, system) {
        (Some(browser), Some(system)) => format!("{browser} on {system}"),
        (Some(one), None) | (None, Some(one)) => one.to_string(),
        (None, None) => agent.chars().take(60).collect(),
    }
}

fn sessions(all: &[SessionInfo], outcome: Option<&FormOutcome>, now: model::Timestamp) -> AnyView {
    let rows: Vec<_> = all
        .iter()
        .map(|s| {
            let name = device(&s.client);
            let this = s.is_current.then(|| view! { <span class="tag">"this session"</span> });
            let end = if s.is_current {
                view! {
                    <form method="post" action="/sign-out"><button class="btn btn-sm" type="submit" aria-label="Sign out of this session">"Sign out"</button></form>
                }
                .into_any()
            } else {
                view! {
                    <form method="post" action=PATH>
                        <input type="hidden" name="do" value="end"/><input type="hidden" name="id" value=s.id.clone()/>
                        <button class="btn btn-sm" type="submit" aria-label=format!("Sign out {name}, {}", s.address)>"Sign out"</button>
                    </form>
                }
                .into_any()
            };
            view! {
                <tr>
                    <th scope="row"><span class="two" title=s.client.clone()><span class="flex items-center gap-2">{name.clone()}{this}</span><small class="mono">{s.address.clone()}</small></span></th>
                    <td class="max-sm:hidden">{s.method.label()}</td>
                    <td class="num"><span class="two"><span><Ago at=s.seen_at now=now/></span><small>"since "{day(s.created_at)}</small></span></td>
                    <td class="num">{end}</td>
                </tr>
            }
        })
        .collect();
    let others = (all.len() > 1).then(|| {
        view! {
            <form method="post" action=PATH><input type="hidden" name="do" value="end_others"/>
                <button class="btn btn-sm btn-danger" type="submit">"Sign out all others"</button></form>
        }
    });
    let list = if rows.is_empty() {
        view! { <div class="card-body text-muted">"No sessions: visitors of a demo need none."</div> }
            .into_any()
    } else {
        view! {
            <div class="tbl-scroll" tabindex="0" role="region" aria-label="Sessions">
                <table class="tbl">
                    <thead><tr><th scope="col">"Device"</th><th scope="col" class="max-sm:hidden">"Signed in with"</th><th scope="col" class="num">"Last seen"</th><th scope="col"><span class="sr-only">"Actions"</span></th></tr></thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        }
        .into_any()
    };
    view! {
        <section class="card tbl-wrap">
            <div class="card-head"><h2>"Sessions"</h2><div class="aside">{others}</div></div>
            {refusal(outcome, "end")}
            {list}
            <div class="card-foot text-xs">"A session ends after 24 hours without use or 14 days in total. Signing out takes effect at once, on every server. API tokens keep working."</div>
        </section>
    }
    .into_any()
}

fn password_field(
    id: &'static str,
    name: &'static str,
    label: &'static str,
    autocomplete: &'static str,
) -> AnyView {
    view! {
        <div class="field"><label class="label" for=id>{label}</label>
            <input class="input" id=id name=name type="password" required autocomplete=autocomplete/></div>
    }
    .into_any()
}

fn password(d: &Profile, outcome: Option<&FormOutcome>) -> AnyView {
    let form = if d.has_password {
        view! {
            <form class="card-body grid grid-cols-1 gap-4 content-start" method="post" action=PATH>
                {refusal(outcome, "password")}
                <input type="hidden" name="do" value="password"/>
                // Password managers store the new password under this name.
                <input type="hidden" name="username" autocomplete="username" value=d.user.email.clone()/>
                {password_field("current", "current", "Current password", "current-password")}
                {password_field("new", "new", "New password", "new-password")}
                <p class="hint">"At least 12 characters. Changing the password signs out your other sessions."</p>
                <div><button class="btn" type="submit">"Change password"</button></div>
            </form>
        }
        .into_any()
    } else {
        view! {
            <div class="card-body text-muted">"This account has no password. An administrator of the server can create a link to set one: "<code>"domainscope admin reset-link"</code></div>
        }
        .into_any()
    };
    view! { <section class="card"><div class="card-head"><h2>"Password"</h2></div>{form}</section> }
        .into_any()
}

fn second_factor(d: &Profile, outcome: Option<&FormOutcome>) -> AnyView {
    let codes = match outcome.map(|o| &o.result) {
        Some(FormResult::RecoveryCodes(codes)) => Some(recovery(codes)),
        _ => None,
    };
    let state = if d.user.has_second_factor {
        view! { <span class="text-ok flex items-center gap-2">{icon_sm("check")}"On"</span> }.into_any()
    } else {
        view! { <span class="text-muted">"Off"</span> }.into_any()
    };
    let body = match outcome.map(|o| &o.result) {
        Some(FormResult::Enrolment(e, failed)) if !d.user.has_second_factor => enrolment(e, failed.as_ref()),
        _ if d.user.has_second_factor => turned_on(d, outcome),
        _ if !d.has_password => {
            view! { <p class="text-muted">"Two-factor sign-in needs a password first."</p> }.into_any()
        }
        _ => view! {
            <form class="grid grid-cols-1 gap-4 content-start" method="post" action=PATH>
                {refusal(outcome, "second_factor")}
                <p class="text-muted">"A code of an authenticator app is then required after the password."</p>
                <input type="hidden" name="do" value="second_factor"/>
                <div><button class="btn" type="submit">"Set up an authenticator app"</button></div>
            </form>
        }
        .into_any(),
    };
    view! {
        <section class="card">
            <div class="card-head"><h2>"Two-factor sign-in"</h2><div class="aside">{state}</div></div>
            <div class="card-body grid grid-cols-1 gap-4 content-start">{codes}{body}</div>
        </section>
    }
    .into_any()
}

fn recovery(codes: &[String]) -> AnyView {
    let all = codes.join("\n");
    let items = codes.iter().map(|code| view! { <li>{code.clone()}</li> }).collect_view();
    view! {
        <div class="grid grid-cols-1 gap-4 content-start">
            {banner(Tone::Ok, format!("{} recovery codes", codes.len()), "Each works once in place of a code of the app. They are shown only now: keep them where you keep passwords.")}
            <div class="flex items-center gap-2"><ul class="well mono flex-1 min-w-0 grid grid-cols-[repeat(auto-fill,minmax(11rem,1fr))] gap-y-1 gap-x-4" aria-label="Recovery codes">{items}</ul>{copy_button("recovery codes", all)}</div>
        </div>
    }
    .into_any()
}

fn enrolment(e: &Enrolment, failed: Option<&ApiError>) -> AnyView {
    let failed = failed.map(|e| {
        view! { <div role="alert">{banner(Tone::Critical, "Not turned on yet", e.to_string())}</div> }
    });
    view! {
        <form class="grid grid-cols-1 gap-4 content-start" method="post" action=PATH>
            {failed}
            <ol class="grid grid-cols-1 gap-2 content-start">
                <li>"1. Scan this code with an authenticator app, or type the secret into it."</li>
                <li><div class="w-48 max-w-full [&_svg]:block [&_svg]:w-full [&_svg]:h-auto [&_svg]:rounded-md" inner_html=e.qr_svg.clone()></div></li>
                <li><dl class="rec"><div><dt>"Secret"</dt><dd>{e.secret.clone()}</dd><dd>{copy_button("secret", e.secret.clone())}</dd></div></dl></li>
                <li>"2. Enter the code that the app shows, and your password."</li>
            </ol>
            <input type="hidden" name="do" value="second_factor_on"/>
            <input type="hidden" name="secret" value=e.secret.clone()/>
            <div class="field"><label class="label" for="code">"Code"</label>
                <input class="input mono" id="code" name="code" required inputmode="numeric" autocomplete="one-time-code" maxlength="10"/></div>
            {password_field("confirm", "password", "Password", "current-password")}
            <div class="flex items-center gap-2"><button class="btn btn-primary" type="submit">"Turn on"</button><a class="btn btn-ghost" href=PATH rel="external">"Cancel"</a></div>
        </form>
    }
    .into_any()
}

fn turned_on(d: &Profile, outcome: Option<&FormOutcome>) -> AnyView {
    let left = d.recovery_codes;
    let few = (left < 3)
        .then(|| view! { <small class="text-warn">" turn it off and on again for new ones"</small> });
    let refused = refusal(outcome, "second_factor_off");
    let is_open = refused.is_some();
    view! {
        <p class="text-muted">"A code of your authenticator app is required after the password."</p>
        <dl class="rec"><div><dt>"Codes"</dt><dd>{format!("{left} recovery codes left")}{few}</dd></div></dl>
        <details class="confirm" open=is_open>
            <summary class="btn btn-sm btn-ghost btn-danger">"Turn off"</summary>
            <form class="grid grid-cols-1 gap-4 content-start" method="post" action=PATH>
                {refused}
                <input type="hidden" name="do" value="second_factor_off"/>
                {password_field("off-password", "password", "Password", "current-password")}
                <div class="field"><label class="label" for="off-code">"Code of the app, or a recovery code"</label>
                    <input class="input mono" id="off-code" name="code" required autocomplete="one-time-code" maxlength="40"/></div>
                <div><button class="btn btn-danger" type="submit">"Turn off two-factor sign-in"</button></div>
            </form>
        </details>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::device;

    #[test]
    fn devices_have_names_that_people_use() {
        let chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0 Safari/537.36";
        assert_eq!(device(chrome), "Chrome on Linux");
        let phone = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Version/18.0 Safari/604.1";
        assert_eq!(device(phone), "Safari on iOS");
        assert_eq!(device("curl/8.5.0"), "curl");
        assert_eq!(device(&"x".repeat(500)).len(), 60);
    }
}
