//! WHOIS texts (RFC 3912) in the dialects that matter: IANA's root, ICANN thick, Verisign thin, a registrar's,
//! DENIC's, and one registry with a form of its own. In: facts. Out: CRLF text.

use std::fmt::Write as _;

use jiff::{Timestamp, fmt::strtime, tz::TimeZone};

use super::facts::{Facts, Known};
use crate::{
    names,
    scenario::WhoisStyle,
    world::{WHOIS_REPLAY, World},
};

/// A text under construction; every line ends with CRLF.
#[derive(Default)]
struct Text(String);

impl Text {
    fn line(&mut self, line: impl std::fmt::Display) {
        let _ = write!(self.0, "{line}\r\n");
    }

    fn row(&mut self, label: &str, value: impl std::fmt::Display) {
        let _ = write!(self.0, "{label}: {value}\r\n");
    }

    fn maybe(&mut self, label: &str, value: Option<impl std::fmt::Display>) {
        if let Some(value) = value {
            self.row(label, value);
        }
    }
}

fn day(date: Timestamp, format: &str) -> String {
    strtime::format(format, &date.to_zoned(TimeZone::UTC)).unwrap_or_else(|_| date.to_string())
}

/// WHOIS states whole seconds.
fn second(date: Timestamp) -> String {
    day(date, "%Y-%m-%dT%H:%M:%SZ")
}

/// IANA's answer: who serves the TLD, and where its WHOIS is.
pub(crate) fn root(world: &World, query: &str) -> String {
    let mut text = Text::default();
    text.line("% IANA WHOIS server of the lab");
    text.line("% for more information, see the scenario");
    text.line("");
    let tld = names::normal(query).ok().map(|n| names::tld_of(&n).to_owned());
    let Some((tld, settings)) = tld.and_then(|t| world.tlds.get(&t).map(|s| (t, s))) else {
        text.line(format_args!("% This query returned 0 objects: {query}"));
        return text.0;
    };
    text.line("% This query returned 1 object");
    text.line("");
    let whois = if super::rdap_service::is_replayed(world, &tld) {
        Some(WHOIS_REPLAY.to_owned())
    } else {
        (settings.whois != WhoisStyle::None).then(|| format!("whois.nic.{tld}"))
    };
    let mut row = |label: &str, value: &str| text.line(format_args!("{:<14}{value}", format!("{label}:")));
    if let Some(whois) = &whois {
        row("refer", whois);
    }
    row("domain", &tld.to_uppercase());
    row("organisation", &settings.registry);
    for server in world.tld_servers.get(&tld).into_iter().flatten() {
        let ip = world.ip(server).map(|ip| ip.to_string()).unwrap_or_default();
        row("nserver", &format!("{} {ip}", server.to_uppercase()));
    }
    if let Some(whois) = &whois {
        row("whois", whois);
    }
    row("status", "ACTIVE");
    row("source", "IANA");
    text.0
}

/// The registry's answer to one line; with `denies` that of a registry that knows no name.
pub(crate) fn registry(world: &World, tld: &str, query: &str, denies: bool) -> String {
    let style = world.tlds.get(tld).map_or(WhoisStyle::Thick, |t| t.whois);
    let words: Vec<&str> = query.split_whitespace().collect();
    let Some(last) = words.last() else { return "% No query given\r\n".into() };
    let asked = last.trim_start_matches('=');
    let Ok(name) = names::normal(asked) else {
        return format!("% Not a domain name: {asked}\r\n");
    };
    let known = if denies { Known::Available } else { world.known(tld, &name) };
    match (style, known) {
        (WhoisStyle::Denic, known) => denic(&name, &known, words.contains(&"-T")),
        (style, Known::Registered(facts)) => match style {
            WhoisStyle::Thin => thin(&facts),
            WhoisStyle::Own => own(&facts),
            _ => thick(&facts),
        },
        (WhoisStyle::Thin, Known::Reserved) => {
            format!("The name {} is reserved by the registry.\r\n", name.to_uppercase())
        }
        (WhoisStyle::Thin, _) => {
            format!("No match for domain \"{}\".\r\n{}", name.to_uppercase(), updated(world))
        }
        (WhoisStyle::Own, Known::Reserved) => {
            format!("%% {name}: reserved name, not open to registration\r\n")
        }
        (WhoisStyle::Own, _) => format!("%% {name}: no such domain, free to register\r\n"),
        (_, Known::Reserved) => {
            "This name is reserved by the Registry in accordance with its policy.\r\n".to_owned()
        }
        (_, _) => format!("Domain not found.\r\n{}", updated(world)),
    }
}

fn updated(world: &World) -> String {
    format!(">>> Last update of WHOIS database: {} <<<\r\n", second(world.clock.second()))
}

fn common(text: &mut Text, facts: &Facts<'_>, shout: bool) {
    let domain = facts.domain;
    let case = |name: &str| if shout { name.to_uppercase() } else { name.to_owned() };
    text.row("Domain Name", case(&domain.name));
    text.row("Registry Domain ID", facts.handle());
    let whois = facts.registrar.filter(|r| r.whois).map(|r| format!("whois.{}", r.domain));
    text.maybe("Registrar WHOIS Server", whois);
    text.maybe("Registrar URL", facts.registrar.map(|r| format!("https://www.{}", r.domain)));
    text.maybe("Updated Date", domain.updated.map(second));
    text.maybe("Creation Date", domain.created.map(second));
    text.maybe("Registry Expiry Date", facts.expires.map(second));
    text.maybe("Registrar", facts.registrar.map(|r| r.name.as_str()));
    text.maybe("Registrar IANA ID", facts.registrar.and_then(|r| r.iana_id));
    text.maybe("Registrar Abuse Contact Email", facts.registrar.map(|r| format!("abuse@{}", r.domain)));
    text.maybe("Registrar Abuse Contact Phone", facts.registrar.and_then(|r| r.abuse_phone.as_deref()));
    statuses(text, facts);
}

fn statuses(text: &mut Text, facts: &Facts<'_>) {
    for status in facts.statuses() {
        text.row("Domain Status", format_args!("{status} https://icann.org/epp#{status}"));
    }
}

fn tail(text: &mut Text, facts: &Facts<'_>, shout: bool) {
    for ns in &facts.domain.nameservers {
        text.row("Name Server", if shout { ns.to_uppercase() } else { ns.clone() });
    }
    text.row("DNSSEC", if facts.ds.is_some() { "signedDelegation" } else { "unsigned" });
    text.row("URL of the ICANN Whois Inaccuracy Complaint Form", "https://www.icann.org/wicf/");
    text.line(format_args!(">>> Last update of WHOIS database: {} <<<", second(facts.now)));
    text.line("");
    text.line("For more information on Whois status codes, please visit https://icann.org/epp");
}

fn registrant(text: &mut Text, facts: &Facts<'_>) {
    text.row("Registrant Name", "REDACTED FOR PRIVACY");
    text.row("Registrant Organization", facts.domain.registrant.as_deref().unwrap_or("REDACTED FOR PRIVACY"));
    text.row("Registrant Country", "XX");
}

fn thick(facts: &Facts<'_>) -> String {
    let mut text = Text::default();
    common(&mut text, facts, false);
    registrant(&mut text, facts);
    tail(&mut text, facts, false);
    text.0
}

/// Verisign's form: indented by three, upper case, no registrant.
fn thin(facts: &Facts<'_>) -> String {
    let mut text = Text::default();
    common(&mut text, facts, true);
    tail(&mut text, facts, true);
    text.0
        .split_inclusive("\r\n")
        .map(|l| if l.trim().is_empty() { l.into() } else { format!("   {l}") })
        .collect()
}

/// A registrar's answer about a domain it sponsors.
pub(crate) fn registrar(world: &World, id: &str, query: &str) -> String {
    let none = || "No match for this domain at this registrar.\r\n".to_owned();
    let Ok(name) = names::normal(query.split_whitespace().last().unwrap_or_default()) else { return none() };
    let Known::Registered(facts) = world.known(names::tld_of(&name), &name) else { return none() };
    let Some(ours) = facts.registrar.filter(|r| r.id == id) else { return none() };
    let domain = facts.domain;
    let mut text = Text::default();
    text.row("Domain Name", &domain.name);
    text.row("Registry Domain ID", facts.handle());
    text.row("Registrar WHOIS Server", format_args!("whois.{}", ours.domain));
    text.row("Registrar URL", format_args!("https://www.{}", ours.domain));
    text.maybe("Updated Date", domain.updated.map(second));
    text.maybe("Creation Date", domain.created.map(second));
    let date = domain.registrar_expires.or(facts.expires);
    text.maybe("Registrar Registration Expiration Date", date.map(second));
    text.row("Registrar", &ours.name);
    text.maybe("Registrar IANA ID", ours.iana_id);
    text.row("Registrar Abuse Contact Email", format_args!("abuse@{}", ours.domain));
    text.maybe("Registrar Abuse Contact Phone", ours.abuse_phone.as_deref());
    statuses(&mut text, &facts);
    registrant(&mut text, &facts);
    tail(&mut text, &facts, false);
    text.0
}

/// DENIC's form: without `-T dn` only the status, with it the nameservers and the day of the last change.
fn denic(name: &str, known: &Known<'_>, full: bool) -> String {
    let mut text = Text::default();
    let Known::Registered(facts) = known else {
        text.row("Domain", name);
        text.row("Status", if matches!(known, Known::Reserved) { "invalid" } else { "free" });
        return text.0;
    };
    text.line("% Restricted rights: the lab's registry, nothing here is real.");
    text.line("");
    text.row("Domain", name);
    if full {
        for ns in &facts.domain.nameservers {
            text.row("Nserver", ns);
        }
        if let Some(ds) = &facts.ds {
            text.row("Dnskey", format_args!("257 3 {} (tag {})", u8::from(ds.algorithm()), ds.key_tag()));
        }
    }
    let held = facts.domain.statuses.iter().any(|s| s == "redemptionPeriod");
    let status = if held { "redemptionPeriod" } else { "connect" };
    text.row("Status", if facts.domain.nameservers.is_empty() { "failed" } else { status });
    if full {
        text.maybe("Changed", facts.domain.updated.map(|d| day(d, "%Y-%m-%dT%H:%M:%S+00:00")));
    }
    text.0
}

/// A registry with a form of its own: dotted labels, day-month-year dates, status words instead of EPP codes.
fn own(facts: &Facts<'_>) -> String {
    let domain = facts.domain;
    let mut text = Text::default();
    let mut row = |label: &str, value: String| text.line(format_args!("{label:.<22}: {value}"));
    row("domain", domain.name.to_uppercase());
    let words: Vec<&str> = facts
        .statuses()
        .into_iter()
        .map(|s| match s {
            "ok" => "ACTIVE",
            "clientHold" | "serverHold" => "SUSPENDED",
            "redemptionPeriod" | "pendingDelete" => "QUARANTINE",
            "clientTransferProhibited" | "serverTransferProhibited" => "TRANSFER-LOCKED",
            _ => "RESTRICTED",
        })
        .collect();
    row("state", words.join(", "));
    let date = |d: Option<Timestamp>| d.map(|d| day(d, "%d-%b-%Y").to_uppercase());
    for (label, value) in [
        ("registered", date(domain.created)),
        ("last modified", date(domain.updated)),
        ("paid until", date(facts.expires)),
        ("holder", domain.registrant.clone()),
        ("agent", facts.registrar.map(|r| r.name.clone())),
    ] {
        if let Some(value) = value {
            row(label, value);
        }
    }
    for ns in &domain.nameservers {
        row("nserver", ns.to_uppercase());
    }
    row("dnssec", if facts.ds.is_some() { "yes" } else { "no" }.to_owned());
    text.0
}

/// What a server says when it is asked too often.
pub(crate) fn too_often(style: WhoisStyle) -> &'static str {
    match style {
        WhoisStyle::Thin => "WHOIS LIMIT EXCEEDED - TRY AGAIN IN A MINUTE\r\n",
        WhoisStyle::Denic => "% Error: 55000000002 Connection refused; access control limit reached.\r\n",
        WhoisStyle::Own => "%% too many queries from your address, come back later\r\n",
        WhoisStyle::Thick | WhoisStyle::None => {
            "Number of allowed queries exceeded. Please wait before querying again.\r\n"
        }
    }
}
