//! The form that claims prefixes, and the same as YAML. Its preview is a reading of the same address with the form's values, so
//! that it works without script; it reserves nothing.

use crate::components::area::area_text;
use crate::components::copy::copy_button;
use crate::query;
use crate::server_fns::{Networks, Preview};
use leptos::prelude::*;
use model::inventory::percent;

/// Longest description, in characters.
const DESCRIPTION_MAX: usize = 255;
/// For those who may only read.
const NOT_ALLOWED: &str = "Your role can see the registry. Members, admins and owners of the organisation can claim and release \
                           prefixes and add blocks; an admin can change your role.";
/// The id of the form, which the switch to YAML belongs to.
const FORM: &str = "claim-form";

/// The card; of someone who may not claim, who may.
pub(super) fn card(n: &Networks, shown: &str, search: &str) -> AnyView {
    if !n.rights.claim {
        return view! {
            <section class="card" id="claim">
                <div class="card-head"><h2>"Claim a prefix"</h2></div>
                <p class="card-body hint">{NOT_ALLOWED}</p>
            </section>
        }
        .into_any();
    }
    let (switch, body) = match &n.yaml {
        Some(text) => {
            let pairs = query::pairs(search).into_iter().filter(|(key, _)| key != "view");
            let pairs: Vec<String> = pairs.map(|(key, v)| format!("{key}={}", percent(&v))).collect();
            let form = format!("/networks?{}#claim", pairs.join("&"));
            let switch =
                view! { <a href=form data-noscroll="true">"Form"</a><span aria-current="true">"YAML"</span> };
            (switch.into_any(), yaml(text))
        }
        None => {
            let switch = view! {
                <span aria-current="true">"Form"</span>
                <button type="submit" form=FORM name="view" value="yaml" formnovalidate=true>"YAML"</button>
            };
            (switch.into_any(), fields(n, shown, search))
        }
    };
    view! {
        <section class="card" id="claim">
            <div class="card-head"><h2>"Claim a prefix"</h2>
                <div class="aside"><span class="seg" role="group" aria-label="View">{switch}</span></div></div>
            <div class="card-body">{body}</div>
        </section>
    }
    .into_any()
}

/// The object as a text that is created as it is edited.
fn yaml(text: &str) -> AnyView {
    let rows = (text.lines().count() + 2).clamp(12, 30).to_string();
    view! {
        <form class="grid grid-cols-1 gap-4 content-start" method="post" action="/objects/networkclaims">
            <div class="flex items-center gap-2 text-xs text-muted"><label for="yaml">"For kubectl apply, your repository, or to edit and claim here"</label>
                <span class="ml-auto">{copy_button("the YAML", text.to_string())}</span></div>
            <textarea class="input mono" id="yaml" name="yaml" rows=rows wrap="off" spellcheck="false" autocapitalize="off" autocomplete="off">{area_text(text)}</textarea>
            <div class="flex items-center gap-2">
                <button class="btn" type="submit" name="preview" value="1">"Preview"</button>
                <button class="btn btn-primary" type="submit">"Claim"</button>
            </div>
            <p class="text-xs text-muted">"A claim can ask for up to 256 prefixes: add entries to addressSpace."</p>
        </form>
    }
    .into_any()
}

/// Blocks of an address family that a claim can take a prefix out of: the shown one and those around it first.
fn blocks_of(n: &Networks, shown: &str, v6: bool) -> Vec<String> {
    let parents = n.space.iter().flat_map(|s| s.parents.iter().rev().cloned());
    let listed = n.blocks.iter().map(|b| b.prefix.clone());
    let all = std::iter::once(shown.to_string()).chain(parents).chain(n.families.clone()).chain(listed);
    let mut found: Vec<String> = Vec::new();
    for block in all.filter(|b| !b.is_empty() && b.contains(':') == v6) {
        if !found.contains(&block) {
            found.push(block);
        }
    }
    found
}

/// Lengths that a prefix out of one of these blocks can have.
fn lengths_of(blocks: &[String], v6: bool) -> std::ops::RangeInclusive<u8> {
    let shortest = blocks.iter().filter_map(|b| b.rsplit_once('/')?.1.parse().ok()).min();
    shortest.unwrap_or(if v6 { 16 } else { 8 })..=if v6 { 128 } else { 32 }
}

fn option(value: &str, label: String, selected: &str) -> AnyView {
    view! { <option value=value.to_string() selected=value == selected>{label}</option> }.into_any()
}

fn text(id: &'static str, label: &'static str, value: String, example: &'static str) -> AnyView {
    view! {
        <div class="field">
            <label class="label" for=id>{label}</label>
            <input class="input mono" id=id name=id value=value autocomplete="off" spellcheck="false" autocapitalize="off" placeholder=example/>
        </div>
    }
    .into_any()
}

/// Block and length of one prefix; a text where no block is known yet. `chosen` is what the address says.
fn space(
    (from, length): (&'static str, &'static str),
    blocks: &[String],
    v6: bool,
    chosen: (Option<String>, Option<String>),
) -> AnyView {
    let label = match (from, v6) {
        ("from", _) => "From block",
        (_, true) => "From IPv6 block",
        (_, false) => "From IPv4 block",
    };
    let block = match blocks {
        [] => text(
            from,
            label,
            chosen.0.clone().unwrap_or_default(),
            if v6 { "2001:db8::/48" } else { "10.20.0.0/16" },
        ),
        [first, ..] => {
            let selected = chosen.0.clone().unwrap_or_else(|| first.clone());
            let other = (!blocks.contains(&selected)).then(|| option(&selected, selected.clone(), &selected));
            let all: Vec<_> = blocks.iter().map(|b| option(b, b.clone(), &selected)).collect();
            view! { <div class="field"><label class="label" for=from>{label}</label><select class="input mono" id=from name=from>{other}{all}</select></div> }
                .into_any()
        }
    };
    let lengths = lengths_of(blocks, v6);
    let usual = if v6 { 64 } else { 26 }.clamp(*lengths.start(), *lengths.end());
    // The second prefix is asked for by its length.
    let none = (length != "length").then(|| option("", "none".into(), ""));
    let selected = match chosen.1.map(|l| l.trim_start_matches('/').to_string()) {
        Some(length) => length,
        None if length == "length" => usual.to_string(),
        None => String::new(),
    };
    let is_listed = selected.is_empty() || selected.parse().is_ok_and(|l: u8| lengths.contains(&l));
    let other = (!is_listed).then(|| option(&selected, format!("/{selected}"), &selected));
    let all: Vec<_> = lengths.map(|l| option(&l.to_string(), format!("/{l}"), &selected)).collect();
    view! {
        <div class="grid grid-cols-2 gap-3">
            {block}
            <div class="field"><label class="label" for=length>{if length == "length" { "Prefix length" } else { "Its prefix length" }}</label>
                <select class="input mono" id=length name=length>{none}{other}{all}</select></div>
        </div>
    }
    .into_any()
}

fn fields(n: &Networks, shown: &str, search: &str) -> AnyView {
    let given = |key: &str| query::value(search, key).filter(|v| !v.is_empty());
    let value = |key: &str| given(key).unwrap_or_default();
    let v6 = shown.contains(':');
    let first = space(("from", "length"), &blocks_of(n, shown, v6), v6, (given("from"), given("length")));
    let second = space(("from2", "length2"), &blocks_of(n, "", !v6), !v6, (given("from2"), given("length2")));
    let more = if v6 { "Add an IPv4 prefix" } else { "Add an IPv6 prefix" };
    let has_second = given("length2").is_some() || given("prefix2").is_some();
    let was_refused = given("refused").is_some_and(|v| v == "1");
    let result = n.preview.as_ref().map(|p| preview(p, was_refused));
    let label = match n.preview.as_ref().map(|p| p.gets.as_slice()) {
        Some([one]) => format!("Claim {}", one.prefix),
        Some(all @ [_, ..]) => format!("Claim {} prefixes", all.len()),
        _ => "Claim".into(),
    };
    // What the button names is what the preview showed: not any more once a value was changed.
    let is_edited = RwSignal::new(false);
    let label = move || if is_edited.get() { "Claim".to_string() } else { label.clone() };
    let description = value("description");
    let length = RwSignal::new(description.chars().count());
    let count = move || format!("{} of {DESCRIPTION_MAX}", length.get());
    view! {
        <form class="grid grid-cols-1 gap-4 content-start" id=FORM method="get" action="/networks" on:input=move |_| is_edited.set(true)>
            // Where the page goes on when the preview is of no block.
            <input type="hidden" name="block" value=shown.to_string()/>
            {first}
            <details class="text-xs" open=given("other").is_some()><summary class="py-1">"Enter another block"</summary>
                {text("other", "Other block", value("other"), "10.20.0.0/16")}</details>
            <details class="text-xs" open=given("prefix").is_some()><summary class="py-1">"Enter an exact prefix instead"</summary>
                {text("prefix", "Exact prefix", value("prefix"), "10.20.4.0/26")}</details>
            <details class="text-xs" open=has_second><summary class="py-1">{more}</summary>
                <div class="grid grid-cols-1 gap-3">{second}{text("prefix2", "Or an exact second prefix", value("prefix2"), if v6 { "10.20.4.0/26" } else { "2001:db8::/64" })}</div></details>
            {result}
            <fieldset class="field"><legend class="label">"Reference"</legend>
                <div class="flex items-center gap-2">
                    <input class="input mono" id="group" name="group" value=value("group") aria-label="Group of the component" placeholder="services" autocomplete="off" spellcheck="false" autocapitalize="off"/>
                    <span class="text-muted" aria-hidden="true">"/"</span>
                    <input class="input mono" id="resource" name="resource" value=value("resource") aria-label="Component" placeholder="session-store" required autocomplete="off" spellcheck="false" autocapitalize="off"/>
                </div>
                <span class="hint">"The component that uses the space."</span></fieldset>
            <div class="field">
                <label class="label" for="name">"Name of the claim"</label>
                <input class="input mono" id="name" name="name" value=value("name") aria-describedby="name-hint" placeholder="session-store" autocomplete="off" spellcheck="false" autocapitalize="off"/>
                <span class="hint" id="name-hint">"If you leave it empty, that of the component."</span>
            </div>
            <div class="field">
                <div class="flex items-center gap-2"><label class="label" for="description">"Description"</label><span class="hint ml-auto">{count}</span></div>
                <input class="input" id="description" name="description" value=description autocomplete="off" placeholder="One address per shard"
                    on:input=move |e| length.set(event_target_value(&e).chars().count())/>
            </div>
            <div class="flex items-center gap-2">
                <button class="btn" type="submit">"Preview"</button>
                <button class="btn btn-primary" type="submit" formmethod="post" formaction="/api/fn/claim_prefix">{label}</button>
            </div>
            <p class="text-xs text-muted">"The preview reserves nothing. If another claim takes this space first, you get the next gap, or the reason why none is left."</p>
        </form>
    }
    .into_any()
}

/// What the claim would get. After a refusal it says so, with the reason.
fn preview(p: &Preview, was_refused: bool) -> AnyView {
    let reasons: Vec<_> =
        p.reasons.iter().map(|r| view! { <p class="text-warn wrap">{r.clone()}</p> }).collect();
    let gets: Vec<_> = p
        .gets
        .iter()
        .map(|g| {
            view! {
                <div class="mono text-xl font-semibold">{g.prefix.clone()}</div>
                <p class="text-xs text-muted mono">{g.extent.clone()}</p>
            }
        })
        .collect();
    if was_refused {
        let words = if p.reasons.is_empty() { "It would be allocated now. Claim it again." } else { "" };
        return view! { <div class="well" role="alert"><strong>"Not claimed"</strong>{reasons}<p>{words}</p>{gets}</div> }
            .into_any();
    }
    let words = (!gets.is_empty()).then(|| {
        view! { <p class="text-xs text-muted">"The smallest gap that fits, so that larger gaps stay whole."</p> }
    });
    let head = (!gets.is_empty()).then(|| view! { <span class="text-xs text-muted">"You would get "</span> });
    view! { <div class="well" role="status">{head}{gets}{words}{reasons}</div> }.into_any()
}
