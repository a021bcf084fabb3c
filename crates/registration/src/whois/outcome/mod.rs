//! What an answer comes to: registered, free, withheld, throttled, refused or none of these. In: lines and facts; out:
//! an [`Outcome`]. Facts beat sentences.

pub(in crate::whois) mod grammar;
pub(in crate::whois) mod sentences;

use crate::whois::layout::lines::{Form, Line};
use crate::whois::question::Question;
use crate::whois::values::fields;
use crate::whois::values::states;
use crate::whois::vocabulary::tables::{Field, Kind};
use crate::whois::walk::facts::Facts;
use model::registration::Outcome;
use sentences::sentence;

pub(crate) fn outcome(lines: &[Line<'_>], facts: &Facts<'_>, asked: &Question, web_page: bool) -> Outcome {
    let mut listed = Vec::new();
    for v in facts.all(Field::Status) {
        states::statuses(v.text, &mut listed);
    }
    let dated = |fields: &[Field]| {
        let stated = |f: &&Field| facts.all(**f).any(|v| fields::stated(v.text).is_some_and(has_digit));
        fields.iter().filter(stated).count()
    };
    let registrar = facts.all(Field::Registrar).any(|v| fields::registrar(v.text).is_some());
    // What only a registration has; a change may be the database's.
    let own = dated(&[Field::Created, Field::Expires, Field::RegistrarExpires]) + usize::from(registrar);
    let weight = own + dated(&[Field::Updated]) + 2 * usize::from(!facts.hosts.is_empty());
    let holder = lines.iter().any(is_holder);
    let by_status = facts
        .all(Field::Status)
        .find_map(|v| states::outcome(v.text))
        .or_else(|| listed.iter().find_map(|s| states::outcome(s)));
    if of_its_zone(facts, asked) {
        return sentence(lines, asked, web_page).unwrap_or(Outcome::Unknown);
    }
    let is_held = own > 0 || holder;
    // `Status: unavailable` beside an owner says that the name is taken.
    let taken = holder && facts.all(Field::Status).any(|v| states::says_taken(v.text));
    match by_status {
        Some(Outcome::Available) if weight <= 1 => {
            // One fact against one word: neither is believed.
            return if is_held { Outcome::Unknown } else { Outcome::Available };
        }
        Some(Outcome::Reserved) if weight == 0 && !taken => return Outcome::Reserved,
        _ => {}
    }
    if weight >= 2 {
        return Outcome::Registered;
    }
    // DNC: `query_status: 404 Domain is not managed by this register`.
    let failed = facts.all(Field::Status).any(|v| {
        let code = v.text.split(' ').next().unwrap_or_default();
        code.len() == 3 && code.starts_with(['4', '5']) && code.bytes().all(|b| b.is_ascii_digit())
    });
    if failed {
        return sentence(lines, asked, web_page)
            .filter(|o| *o != Outcome::Available)
            .unwrap_or(Outcome::Unknown);
    }
    let real_status = listed.iter().any(|s| !s.is_empty());
    let named = facts.names.iter().any(|n| n.split_whitespace().next().is_some_and(|n| asked.is(n)));
    let state = |s: &String| states::is_code(s) || states::says_taken(s) || states::is_state(s);
    let has_state = by_status.is_none() && listed.iter().any(state);
    match sentence(lines, asked, web_page) {
        // "No match for the registrant" beside `Status: registered`, a date or a registrar: what is missing is another
        // thing. Beside less than that nothing is sure.
        Some(Outcome::Available) if named && (has_state || own > 0) => {}
        Some(Outcome::Available) if is_held || weight > 0 => return Outcome::Unknown,
        Some(Outcome::Reserved) if taken => {}
        // One lonely fact beside a sentence: boilerplate rarely states a fact, so only "free" needs care.
        Some(o) => return o,
        None => {}
    }
    if weight > 0 || (named && (real_status || facts.labelled > 1)) {
        return Outcome::Registered;
    }
    Outcome::Unknown
}

/// True when the record is the top-level domain's own, as IANA answers about names below it.
fn of_its_zone(facts: &Facts<'_>, asked: &Question) -> bool {
    let zone = |n: &str| !asked.is(n) && asked.tlds.last().is_some_and(|t| t.eq_ignore_ascii_case(n));
    let mut names = facts.names.iter().filter_map(|n| n.split_whitespace().next()).peekable();
    names.peek().is_some() && asked.ascii.contains('.') && names.all(zone)
}

/// `Holder: Foo Ltd`, `Registrant Organization: Foo Ltd`.
fn is_holder(line: &Line<'_>) -> bool {
    let Form::Key(k) = &line.form else { return false };
    let held = k.states(Field::RegistrantOrganization)
        || k.heading == Some(Kind::Registrant)
        || k.object == Some(Kind::Registrant);
    held && fields::stated(k.value).is_some_and(|v| states::outcome(v).is_none())
}

fn has_digit(s: &str) -> bool {
    s.bytes().any(|b| b.is_ascii_digit())
}
