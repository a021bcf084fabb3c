//! From values as text to a [`Registration`]. In: the facts of the walk; out: typed fields; what cannot be read with
//! certainty stays unknown, with a warning.

use crate::whois::question::Question;
use crate::whois::text::entities::unescape;
use crate::whois::text::fold;
use crate::whois::values::date::{self, NoDate, Side};
use crate::whois::values::fields;
use crate::whois::values::short_date;
use crate::whois::values::states;
use crate::whois::vocabulary::tables::{Field, Meaning, Order, Scope, TABLES, order_of};
use crate::whois::walk::facts::{Facts, Value};
use model::registration::{DnssecStated, Registrar, Registration};
use model::time::StatedTime;

pub(crate) fn registration(
    facts: &Facts<'_>,
    asked: &Question,
    text: &str,
    warnings: &mut Vec<String>,
) -> Registration {
    let dates = Dates { order: order(facts, asked), day_first: day_first(facts) };
    let mut r = Registration {
        name: Some(asked.ascii.clone()),
        registry_id: one(facts, Field::DomainId),
        registrar: registrar(facts),
        registrar_whois_server: facts
            .ranked(Field::WhoisServer)
            .iter()
            .find_map(|v| fields::host(host_of(v.text))),
        created: time(facts, Field::Created, dates, warnings),
        updated: updated(facts, dates, warnings),
        expires: time(facts, Field::Expires, dates, warnings),
        ..Registration::default()
    };
    il_assigned(facts, &mut r);
    let by_registrar = time(facts, Field::RegistrarExpires, dates, warnings);
    match (r.expires, by_registrar) {
        (None, some) => r.expires = some,
        (Some(_), Some(b)) => r.registrar_expires = Some(b),
        _ => {}
    }
    r.expires = r.expires.or_else(|| ok_until(facts));
    r.statuses = statuses(facts);
    if !facts.hosts.is_empty() {
        let mut hosts = facts.hosts.clone();
        hosts.sort();
        r.nameservers = Some(hosts);
    }
    r.dnssec = dnssec(facts);
    let redacted = TABLES.redaction.is_match(text);
    r.redacted = redacted.then_some(true);
    r.registrant_organization = facts
        .ranked(Field::RegistrantOrganization)
        .iter()
        .filter_map(|v| fields::stated(v.text))
        .find(|v| !TABLES.redaction.is_match(v) && v.len() <= 200)
        .map(|v| unescape(v).into_owned());
    if !facts.names.is_empty() && !facts.names.iter().any(|n| names(n, asked)) {
        warnings.push("the answer names another domain than the one asked for".into());
    }
    r
}

/// True when a stated name is the asked one, in A-labels, U-labels or inside other words.
fn names(stated: &str, asked: &Question) -> bool {
    stated.split(|c: char| c.is_whitespace() || "()[],\"".contains(c)).any(|w| asked.is(w))
}

/// What is known of how this answer writes dates.
#[derive(Clone, Copy)]
struct Dates {
    order: Option<Order>,
    /// Dates such as `04-Sep-05` begin with the day.
    day_first: bool,
}

/// True when the answer itself shows that `04-Sep-05` begins with the day: registrations end on the day they began, in
/// another year, so the number that creation and expiration share is the day.
fn day_first(facts: &Facts<'_>) -> bool {
    let part = |f| facts.ranked(f).iter().find_map(|v| short_date::short(v.text));
    let shown = [Field::Created, Field::Updated, Field::Expires]
        .iter()
        .any(|f| facts.ranked(*f).iter().any(|v| short_date::day_shown(v.text)));
    if shown {
        return true;
    }
    match (part(Field::Created), part(Field::Expires)) {
        (Some((a, m, x)), Some((b, n, y))) => a == b && m == n && x != y,
        _ => false,
    }
}

fn one(facts: &Facts<'_>, field: Field) -> Option<String> {
    facts.ranked(field).iter().find_map(|v| fields::stated(v.text)).map(str::to_string)
}

fn host_of(text: &str) -> &str {
    let t = text.trim();
    let t = t.split_once("://").map_or(t, |(_, r)| r);
    t.split(['/', ' ', ':']).next().unwrap_or(t)
}

/// The order of day and month, from what the answer says, what its dates show, or what is known of the registry.
fn order(facts: &Facts<'_>, asked: &Question) -> Option<Order> {
    let dates = || {
        facts.values.iter().filter(|(f, _)| {
            matches!(f, Field::Created | Field::Updated | Field::Expires | Field::RegistrarExpires)
        })
    };
    facts
        .order
        .or_else(|| dates().find_map(|(_, v)| date::order_in(v.label)))
        .or_else(|| {
            let mut shown = dates().filter_map(|(_, v)| date::order_shown(v.text));
            let first = shown.next()?;
            shown.all(|o| o == first).then_some(first)
        })
        .or_else(|| order_of(asked))
}

fn time(facts: &Facts<'_>, field: Field, dates: Dates, warnings: &mut Vec<String>) -> Option<StatedTime> {
    let side =
        if matches!(field, Field::Expires | Field::RegistrarExpires) { Side::End } else { Side::Start };
    first_date(&facts.ranked(field), side, dates, warnings)
}

fn first_date(all: &[Value<'_>], side: Side, dates: Dates, warnings: &mut Vec<String>) -> Option<StatedTime> {
    for v in all {
        let Some(text) = fields::stated(v.text) else { continue };
        if let Some(t) =
            short_date::parse_short(text).filter(|_| dates.day_first || short_date::day_shown(text))
        {
            return Some(t);
        }
        if let Some(t) = date::order_in(v.label).and_then(|o| short_date::parse_short_numeric(text, o)) {
            return Some(t);
        }
        match date::parse_side(text, dates.order, side) {
            Ok(t) => return Some(t),
            Err(NoDate::Ambiguous) => {
                warnings.push(format!("“{}: {}” may be day or month first; not read", v.label, cut(text)));
                return None;
            }
            Err(NoDate::Not) => {
                if text.bytes().any(|b| b.is_ascii_digit()) {
                    warnings.push(format!("“{}: {}” is not a date that can be read", v.label, cut(text)));
                }
            }
        }
    }
    None
}

fn cut(s: &str) -> String {
    s.chars().take(60).collect()
}

/// The last change. RIPE-style answers repeat `changed` once per change, the latest last.
fn updated(facts: &Facts<'_>, dates: Dates, warnings: &mut Vec<String>) -> Option<StatedTime> {
    let mut all = facts.ranked(Field::Updated);
    let top = all.first()?.rank;
    let history: Vec<Value<'_>> = all
        .iter()
        .copied()
        .filter(|v| v.rank == top && (v.text.contains('@') || v.text.to_ascii_uppercase().contains(" AT ")))
        .collect();
    if history.len() > 1 {
        // RIPE's own `last-modified` stands beside the history.
        let mut times: Vec<StatedTime> = all
            .iter()
            .filter(|v| v.rank == top)
            .filter_map(|v| date::parse(v.text, dates.order).ok())
            .collect();
        times.sort_by_key(StatedTime::nominal);
        return times.last().copied();
    }
    all.truncate(8);
    first_date(&all, Side::Start, dates, warnings)
}

/// ISOC-IL states the registration only as the first `changed` line: `... 19990605 (Assigned)`.
fn il_assigned(facts: &Facts<'_>, r: &mut Registration) {
    if r.created.is_some() {
        return;
    }
    r.created = facts
        .all(Field::Updated)
        .find(|v| v.text.trim_end().to_ascii_lowercase().ends_with("(assigned)"))
        .and_then(|v| date::parse(v.text, None).ok());
}

/// A state that ends: `OK-UNTIL 20310101000000`.
fn ok_until(facts: &Facts<'_>) -> Option<StatedTime> {
    facts.all(Field::Status).find_map(|v| {
        let (state, end) = v.text.trim().split_once(' ')?;
        let until = state.len() >= 5 && state.get(state.len() - 5..)?.eq_ignore_ascii_case("until");
        until.then(|| date::parse(end, None).ok()).flatten()
    })
}

fn registrar(facts: &Facts<'_>) -> Registrar {
    let all = facts.ranked(Field::Registrar);
    let mut names = all.iter().filter_map(|v| fields::registrar(v.text).map(|n| (v, n)));
    let mut best = names.next();
    // A handle is kept only when the registrar's block has no name.
    if best.as_ref().is_some_and(|(_, (n, _))| is_handle(n))
        && let Some(named) = names.find(|(v, (n, _))| of_the_block(v) && !is_handle(n))
    {
        best = Some(named);
    }
    let (name, bracket_url) = best.map_or((None, None), |(_, (n, u))| (Some(n), u));
    let iana_id = facts
        .ranked(Field::RegistrarIanaId)
        .iter()
        .map(|v| v.text.trim())
        .find(|t| !t.is_empty() && t.len() <= 7 && t.bytes().all(|b| b.is_ascii_digit()))
        .map(str::to_string);
    let email = |f| one(facts, f).filter(|v| v.contains('@') && !v.contains(' '));
    Registrar {
        name,
        iana_id,
        url: one(facts, Field::RegistrarUrl).filter(|u| u.contains('.') && !u.contains(' ')).or(bracket_url),
        abuse_email: email(Field::AbuseEmail),
        abuse_phone: one(facts, Field::AbusePhone)
            .filter(|v| v.bytes().filter(u8::is_ascii_digit).count() >= 5),
    }
}

/// True for what only a registrar's block calls its name, not for an agent or a sponsor, who may be another.
fn of_the_block(v: &Value<'_>) -> bool {
    let mut label = String::new();
    fold::label(v.label, &mut label);
    let is = |m: &Meaning| m.field == Field::Registrar && m.scope == Scope::Registrar && m.rank == v.rank;
    TABLES.word(&label).is_some_and(|w| w.meanings.iter().any(is))
}

/// `MARK-0292`, `ua.markmonitor`, `REG-SAMPLE`: a registry's handle, not a name such as `Name.com` or `Key-Systems`.
fn is_handle(name: &str) -> bool {
    if !name.is_ascii() || name.contains(' ') || name.contains("www.") {
        return false;
    }
    if let Some((country, rest)) = name.split_once('.') {
        return country.len() == 2 && rest.len() > 4 && !rest.contains('.');
    }
    let Some((head, tail)) = name.split_once('-') else { return false };
    let registry = |part: &str| part == "REG" || part.len() > 3 && part.ends_with("NIC");
    name.bytes().any(|b| b.is_ascii_digit()) || registry(head) || registry(tail)
}

fn statuses(facts: &Facts<'_>) -> Option<std::collections::BTreeSet<model::epp::EppStatus>> {
    let mut words = Vec::new();
    for v in facts.all(Field::Status) {
        states::statuses(&unescape(v.text), &mut words);
    }
    for n in &facts.names {
        // Freenom: `EXAMPLE.TK is Active`.
        let mut parts = n.splitn(3, char::is_whitespace);
        if let (Some(_), Some(is), Some(rest)) = (parts.next(), parts.next(), parts.next())
            && is.eq_ignore_ascii_case("is")
        {
            states::statuses(rest, &mut words);
        }
    }
    let set: std::collections::BTreeSet<_> =
        words.iter().filter(|w| !states::says_taken(w)).map(|w| states::epp(w)).collect();
    (!set.is_empty()).then_some(set)
}

fn dnssec(facts: &Facts<'_>) -> Option<DnssecStated> {
    let mut ds: Vec<_> = facts.all(Field::Ds).filter_map(|v| fields::ds(v.text)).collect();
    ds.sort();
    ds.dedup();
    let said = facts.all(Field::Dnssec).find_map(|v| fields::dnssec(v.text));
    let listed = !ds.is_empty() || facts.all(Field::Ds).any(|v| is_key(v.text));
    match said {
        Some(signed) => Some(DnssecStated { signed: signed || !ds.is_empty(), ds }),
        None => listed.then_some(DnssecStated { signed: true, ds }),
    }
}

/// A DS or key field that holds one: digits or a key set's handle, not "no".
fn is_key(text: &str) -> bool {
    fields::stated(text).is_some_and(|t| t.bytes().any(|b| b.is_ascii_digit()) || t.len() > 3)
        && fields::dnssec(text) != Some(false)
        && fold::word(text) != "keyset"
}
