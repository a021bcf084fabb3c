//! Syntax01 to 08: letters, hyphens and shapes of the zone's name and of the names in it (RFC 952, 1123, 5890).

use super::address::is_localhost;
use super::context::{Context, joined};
use super::soa::{all_soas, any_soa};
use super::tags::Findings;
use crate::wire::{Data, Name, Rtype};
use model::dns::AnswerKind;
use model::finding::Finding;
use std::collections::BTreeSet;

fn letters(label: &[u8]) -> bool {
    label.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'-')
}

/// Hyphens in the third and fourth place are reserved; `xn--` is the one use there is.
fn double_dash(label: &[u8]) -> bool {
    label.get(2..4) == Some(b"--") && !label.starts_with(b"xn--")
}

pub(super) async fn syntax01(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Syntax01");
    let good = c.zone.labels().all(letters);
    let tag = if good { "ONLY_ALLOWED_CHARS" } else { "NON_ALLOWED_CHARS" };
    out.add(tag, &[("domain", c.text.clone().into())]);
    out.list
}

pub(super) async fn syntax02(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Syntax02");
    for label in c.zone.labels() {
        let args = [("label", String::from_utf8_lossy(label).into()), ("domain", c.text.clone().into())];
        if label.starts_with(b"-") {
            out.add("INITIAL_HYPHEN", &args);
        }
        if label.ends_with(b"-") {
            out.add("TERMINAL_HYPHEN", &args);
        }
    }
    if out.list.is_empty() && !c.zone.is_root() {
        out.add("NO_ENDING_HYPHENS", &[("domain", c.text.clone().into())]);
    }
    out.list
}

pub(super) async fn syntax03(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Syntax03");
    for label in c.zone.labels().filter(|l| double_dash(l)) {
        let args = [("label", String::from_utf8_lossy(label).into()), ("domain", c.text.clone().into())];
        out.add("DISCOURAGED_DOUBLE_DASH", &args);
    }
    if out.list.is_empty() && !c.zone.is_root() {
        out.add("NO_DOUBLE_DASH", &[("domain", c.text.clone().into())]);
    }
    out.list
}

/// Checks a host name; `what` is the first part of the tags.
fn host(out: &mut Findings<'_>, what: &str, name: &Name) {
    let before = out.list.len();
    let domain = || ("domain", name.to_string().into());
    for label in name.labels().filter(|l| double_dash(l)) {
        let args = [domain(), ("label", String::from_utf8_lossy(label).into())];
        out.add(&format!("{what}_DISCOURAGED_DOUBLE_DASH"), &args);
    }
    let edges = |l: &[u8]| !l.starts_with(b"-") && !l.ends_with(b"-");
    if !name.labels().all(|l| letters(l) && edges(l)) {
        out.add(&format!("{what}_NON_ALLOWED_CHARS"), &[domain()]);
    }
    if name.labels().last().is_some_and(|l| l.iter().all(u8::is_ascii_digit)) {
        out.add(&format!("{what}_NUMERIC_TLD"), &[domain()]);
    }
    if out.list.len() == before {
        out.add(&format!("{what}_SYNTAX_OK"), &[domain()]);
    }
}

pub(super) async fn syntax04(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Syntax04");
    for name in c.all_ns().await.keys() {
        host(&mut out, "NAMESERVER", name);
    }
    out.list
}

pub(super) async fn syntax05(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Syntax05");
    match any_soa(c).await {
        None => out.add("NO_RESPONSE_SOA_QUERY", &[]),
        Some(soa) => {
            let rname = soa.rname.to_string().replace("\\@", "@");
            let tag = if rname.contains('@') { "RNAME_MISUSED_AT_SIGN" } else { "RNAME_NO_AT_SIGN" };
            out.add(tag, &[("rname", rname.into())]);
        }
    }
    out.list
}

/// The mail address an RNAME stands for: local part and domain.
fn mailbox(rname: &Name) -> Option<(String, Name)> {
    let local = std::str::from_utf8(rname.labels().next()?).ok()?.to_string();
    Some((local, rname.parent())).filter(|(_, domain)| !domain.is_root())
}

/// `atom` of RFC 5322 section 3.2.3.
fn atom(text: &[u8]) -> bool {
    let allowed = |b: &u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(b);
    !text.is_empty() && text.iter().all(allowed)
}

/// `addr-spec` of RFC 5322 section 3.4.1, both parts `dot-atom`: others do not occur in RNAMEs.
fn is_mail_address(local: &str, domain: &Name) -> bool {
    local.split('.').all(|part| atom(part.as_bytes())) && domain.labels().all(atom)
}

pub(super) async fn syntax06(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Syntax06");
    let rnames: BTreeSet<Name> = all_soas(c, &mut out).await.into_iter().map(|(_, soa)| soa.rname).collect();
    for rname in &rnames {
        let arg = ("rname", rname.to_string().into());
        match mailbox(rname).filter(|(local, domain)| is_mail_address(local, domain)) {
            None => out.add("RNAME_RFC822_INVALID", &[arg]),
            Some((_, domain)) => mail_domain(c, &mut out, &domain).await,
        }
    }
    let wrong = |f: &Finding| matches!(f.tag.as_str(), "RNAME_RFC822_INVALID" | "RNAME_MAIL_DOMAIN_INVALID");
    if !rnames.is_empty() && !out.list.iter().any(wrong) {
        out.add("RNAME_RFC822_VALID", &[("rname", joined(&rnames))]);
    }
    out.list
}

async fn mail_domain(c: &Context<'_>, out: &mut Findings<'_>, domain: &Name) {
    let invalid = |out: &mut Findings<'_>| {
        out.add("RNAME_MAIL_DOMAIN_INVALID", &[("domain", domain.to_string().into())]);
    };
    let Some(found) = c.lookup(domain, Rtype::MX).await else { return invalid(out) };
    let Some(reply) = found.asked.reply().filter(|r| r.rcode == 0) else { return invalid(out) };
    let mut hosts: Vec<Name> = reply
        .answers_of(&found.owner, Rtype::MX)
        .filter_map(|rr| match &rr.data {
            Data::Mx(_, name) => Some(name.clone()),
            _ => None,
        })
        .collect();
    // Without MX records the domain itself is asked for, not what it may be an alias of (steps 11 and 12).
    if hosts.is_empty() {
        hosts.push(domain.clone());
    }
    // Every mail exchanger is judged by itself (steps 12 and 13).
    let mut unreachable = false;
    for host in hosts {
        let mut addresses = BTreeSet::new();
        for rtype in [Rtype::A, Rtype::AAAA] {
            let Ok(found) = c.session.resolve(host.clone(), rtype, false, Vec::new()).await else { continue };
            let Some(reply) = found.asked.reply().filter(|_| found.kind == AnswerKind::Answer) else {
                continue;
            };
            if crate::resolve::alias(reply, &host).is_some() {
                let tag = "RNAME_MAIL_ILLEGAL_CNAME";
                if !out.list.iter().any(|f| f.tag == tag && f.args["domain"] == host.to_string()) {
                    out.add(tag, &[("domain", host.to_string().into())]);
                }
                continue;
            }
            addresses.extend(
                reply.answers.iter().filter(|rr| rr.name == host).filter_map(crate::resolve::address),
            );
        }
        if let Some(ip) = addresses.iter().find(|ip| is_localhost(**ip)) {
            let args = [("domain", host.to_string().into()), ("localhost", ip.to_string().into())];
            out.add("RNAME_MAIL_DOMAIN_LOCALHOST", &args);
            unreachable = true;
        }
        unreachable |= addresses.is_empty();
    }
    if unreachable {
        invalid(out);
    }
}

pub(super) async fn syntax07(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Syntax07");
    match any_soa(c).await {
        Some(soa) => host(&mut out, "MNAME", &soa.mname),
        None => out.add("NO_RESPONSE_SOA_QUERY", &[]),
    }
    out.list
}

pub(super) async fn syntax08(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Syntax08");
    let mut names = BTreeSet::new();
    let mut answered = false;
    for (_, asked) in c.ask_each(&c.all_ips().await, &c.zone, Rtype::MX).await {
        let Some(reply) = asked.reply() else { continue };
        answered = true;
        names.extend(reply.answers_of(&c.zone, Rtype::MX).filter_map(|rr| match &rr.data {
            Data::Mx(_, name) if !name.is_root() => Some(name.clone()),
            _ => None,
        }));
    }
    if !answered {
        out.add("NO_RESPONSE_MX_QUERY", &[]);
    }
    for name in &names {
        host(&mut out, "MX", name);
    }
    out.list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(name: &str) -> Vec<String> {
        let budget = crate::session::Memory::new(1 << 20);
        let mut out = Findings::new("Syntax04", "a.example", &budget);
        host(&mut out, "NAMESERVER", &Name::from_text(name).unwrap());
        out.list.into_iter().map(|f| f.tag).collect()
    }

    #[test]
    fn host_names_are_judged() {
        assert_eq!(tags("ns1.example.com"), ["NAMESERVER_SYNTAX_OK"]);
        assert_eq!(tags("ns1.xn--bcherei-n2a.example"), ["NAMESERVER_SYNTAX_OK"]);
        assert_eq!(tags("ab--c.example"), ["NAMESERVER_DISCOURAGED_DOUBLE_DASH"]);
        assert_eq!(tags("n_s.example"), ["NAMESERVER_NON_ALLOWED_CHARS"]);
        assert_eq!(tags("-ns.example.123"), ["NAMESERVER_NON_ALLOWED_CHARS", "NAMESERVER_NUMERIC_TLD"]);
    }

    #[test]
    fn mailboxes_are_read_from_rnames() {
        let name = |t: &str| Name::from_text(t).unwrap();
        let (local, domain) = mailbox(&name(r"first\.last.example.com")).unwrap();
        assert!(local == "first.last" && domain == name("example.com") && is_mail_address(&local, &domain));
        let good = |local: &str| is_mail_address(local, &domain);
        assert!(!good("a..b") && !good("") && !good("a b"));
        assert!(is_mail_address("a", &name("under_score.example")), "RFC 5322 knows no letters-only rule");
        assert!(!is_mail_address("a", &name(r"two\032words.example")));
        assert_eq!(mailbox(&name("lonely")), None);
    }
}
