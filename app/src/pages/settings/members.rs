//! Who belongs to the organisation, in which role; invitations.

use super::{confirmed, page, refusal, shown_once, usage};
use crate::components::icon_sm;
use crate::components::time::{Ago, day};
use crate::resource::json_resource;
use crate::server_fns::{self, FormResult, MembersData, SettingsPage};
use leptos::prelude::*;
use model::account::{Invitation, Member};
use model::ids::{Caller, Role};
use model::time::relative;

const PATH: &str = "/settings/members";

/// The page.
#[component]
pub(crate) fn MembersPage() -> impl IntoView {
    let data = json_resource(|| (), |()| server_fns::settings_members());
    page(PATH, "who may see and change what", data, body)
}

fn body(p: SettingsPage<MembersData>) -> AnyView {
    let may_manage = p.caller.role >= Role::Admin;
    let d = p.data;
    let outcome = p.outcome;
    let made = match outcome.as_ref().map(|o| &o.result) {
        Some(FormResult::Invitation { email, url }) => Some(shown_once(
            format!("Invitation for {email} created. Send this link: it is shown only once."),
            "It works once, for 7 days. Anyone who has it can join, so send it to the invited person alone.",
            "Link",
            url.clone(),
        )),
        _ => None,
    };
    let owners = d.members.iter().filter(|m| m.role == Role::Owner).count();
    let lone = (owners == 1).then(|| {
        view! {
            <div class="card-foot text-xs flex items-center gap-2"><span class="text-warn">{icon_sm("warning")}</span>
                <span>"Only one owner. If this account is lost, access can be restored only with "<code>"domainscope admin"</code>" on the server. Make a second member an owner."</span></div>
        }
    });
    let caller = p.caller;
    let rows: Vec<_> = d.members.iter().map(|m| member(m, &caller, p.now)).collect();
    let invite = may_manage.then(|| {
        let email = outcome.as_ref().filter(|o| o.form == "invite").map(|o| o.value("email")).unwrap_or_default();
        let refused = refusal(outcome.as_ref(), "invite");
        view! {
            <section class="card" aria-labelledby="invite-head">
                <div class="card-head"><h2 id="invite-head">"Invite a member"</h2></div>
                <form class="card-body grid grid-cols-1 gap-4 content-start" method="post" action=PATH>
                    {refused}
                    <input type="hidden" name="do" value="invite"/>
                    <div class="field"><label class="label" for="email">"Email"</label>
                        <input class="input" id="email" name="email" type="email" required autocomplete="off" value=email/></div>
                    <div class="field"><label class="label" for="role">"Role"</label>{roles("role", "role", Role::Member, caller.role)}</div>
                    <p class="hint">"You get a link to send. It works once, for 7 days."</p>
                    <div><button class="btn btn-primary" type="submit">"Create invitation"</button></div>
                </form>
            </section>
        }
    });
    let open = may_manage.then(|| invitations(&d.invitations, p.now));
    view! {
        {made}
        {refusal(outcome.as_ref(), "role")}
        {refusal(outcome.as_ref(), "remove")}
        {refusal(outcome.as_ref(), "uninvite")}
        <div class="cols">
            <div class="grid grid-cols-1 gap-4 content-start">
                <section class="card tbl-wrap">
                    <div class="card-head"><h2>"Members"</h2><div class="aside">{usage("members and invitations", d.organisation.members)}</div></div>
                    <div class="tbl-scroll" tabindex="0" role="region" aria-label="Members">
                        <table class="tbl">
                            <thead><tr><th scope="col">"Member"</th><th scope="col">"Role"</th><th scope="col" class="num max-sm:hidden">"Last active"</th><th scope="col"><span class="sr-only">"Actions"</span></th></tr></thead>
                            <tbody>{rows}</tbody>
                        </table>
                    </div>
                    {lone}
                </section>
                {open}
            </div>
            <div class="grid grid-cols-1 gap-4 content-start">{invite}{role_card()}</div>
        </div>
    }
    .into_any()
}

/// A choice of the roles that a person in `most` may give.
fn roles(id: &'static str, name: &'static str, chosen: Role, most: Role) -> AnyView {
    let options = Role::ALL.into_iter().filter(move |role| *role <= most).map(move |role| {
        let is_chosen = role == chosen;
        view! { <option value=role.as_str() selected=is_chosen>{role.label()}</option> }
    });
    view! { <select class="input" id=id name=name>{options.collect_view()}</select> }.into_any()
}

fn member(m: &Member, caller: &Caller, now: model::Timestamp) -> AnyView {
    let name = m.user.name.clone();
    let is_self = caller.user.as_ref() == Some(&m.user.id);
    let may_change = caller.role >= Role::Admin && caller.role >= m.role;
    let role = if may_change {
        let most = caller.role;
        let chosen = m.role;
        let options = Role::ALL.into_iter().filter(move |r| *r <= most).map(move |r| {
            let is_chosen = r == chosen;
            view! { <option value=r.as_str() selected=is_chosen>{r.label()}</option> }
        });
        let label = format!("Role of {name}");
        view! {
            <form class="flex items-center gap-2" method="post" action=PATH>
                <input type="hidden" name="do" value="role"/>
                <input type="hidden" name="user" value=m.user.id.0.clone()/>
                <select class="input" name="role" aria-label=label>{options.collect_view()}</select>
                <button class="btn btn-sm" type="submit" aria-label=format!("Change the role of {name}")>"Change"</button>
            </form>
        }
        .into_any()
    } else {
        m.role.label().into_any()
    };
    let seen = m.last_seen_at.map_or_else(
        || view! { <span class="text-muted">"Not signed in"</span> }.into_any(),
        |at| view! { <Ago at=at now=now/> }.into_any(),
    );
    let leave = if is_self { "Leave the organisation".to_string() } else { format!("Remove {name}") };
    let remove = may_change.then(|| {
        let summary = if is_self { "Leave" } else { "Remove" };
        confirmed(PATH, "remove", "user", m.user.id.0.clone(), (summary, leave))
    });
    let second = m.user.has_second_factor.then(|| view! { <span class="tag">"2FA"</span> });
    view! {
        <tr>
            <th scope="row"><span class="two"><span class="flex items-center gap-2">{name.clone()}{is_self.then(|| view! { <span class="tag">"you"</span> })}{second}</span><small>{m.user.email.clone()}</small></span></th>
            <td>{role}</td>
            <td class="num max-sm:hidden">{seen}</td>
            <td class="num">{remove}</td>
        </tr>
    }
    .into_any()
}

fn invitations(open: &[Invitation], now: model::Timestamp) -> AnyView {
    let rows: Vec<_> = open
        .iter()
        .map(|i| {
            let by = format!("invited by {}", i.invited_by);
            view! {
                <tr>
                    <th scope="row"><span class="two"><span>{i.email.clone()}</span><small>{by}</small></span></th>
                    <td class="max-sm:hidden">{i.role.label()}</td>
                    <td class="num"><span class="two"><span>{day(i.expires_at)}</span><small>{relative(i.expires_at, now)}</small></span></td>
                    <td class="num">{confirmed(PATH, "uninvite", "id", i.id.clone(), ("Revoke", format!("Revoke {}", i.email)))}</td>
                </tr>
            }
        })
        .collect();
    if rows.is_empty() {
        return ().into_any();
    }
    view! {
        <section class="card tbl-wrap">
            <div class="card-head"><h2>"Pending invitations"</h2><div class="aside">"a lost link can't be shown again: send a new invitation"</div></div>
            <div class="tbl-scroll" tabindex="0" role="region" aria-label="Pending invitations">
                <table class="tbl">
                    <thead><tr><th scope="col">"Email"</th><th scope="col" class="max-sm:hidden">"Role"</th><th scope="col" class="num">"Expires"</th><th scope="col"><span class="sr-only">"Actions"</span></th></tr></thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        </section>
    }
    .into_any()
}

/// What each role may do, least first: a role may do what those before it may.
const RIGHTS: [(&str, Role); 6] = [
    ("View domains and events", Role::Viewer),
    ("Scan, run tools", Role::Member),
    ("Add and change domains", Role::Member),
    ("Manage members and tokens", Role::Admin),
    ("Read the audit log", Role::Admin),
    ("Change owners", Role::Owner),
];

fn role_card() -> AnyView {
    let heads = Role::ALL.map(|role| view! { <th scope="col">{role.label()}</th> });
    let rows = RIGHTS.map(|(right, least)| {
        let cells = Role::ALL.map(|role| {
            if role >= least {
                view! { <td><span class="text-ok">{icon_sm("check")}</span><span class="sr-only">"yes"</span></td> }.into_any()
            } else {
                view! { <td><span class="text-muted" aria-hidden="true">"–"</span><span class="sr-only">"no"</span></td> }.into_any()
            }
        });
        view! { <tr><th scope="row">{right}</th>{cells.into_iter().collect_view()}</tr> }
    });
    view! {
        <section class="card tbl-wrap">
            <div class="card-head"><h2>"Roles"</h2></div>
            <div class="tbl-scroll" tabindex="0" role="region" aria-label="Rights of each role">
                <table class="tbl tbl-tight">
                    <thead><tr><th scope="col">"Can"</th>{heads.into_iter().collect_view()}</tr></thead>
                    <tbody>{rows.into_iter().collect_view()}</tbody>
                </table>
            </div>
        </section>
    }
    .into_any()
}
