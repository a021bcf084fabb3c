//! What asks for attention on a domain's page: the reasons of its status and its findings, worst first, each with
//! what it means and what to do. In: status, observation, item. Out: entries every surface shows as they are.

use crate::finding::severity::Severity;
use crate::finding::{Finding, Level, by_server};
use crate::judgement::cause::Cause;
use crate::judgement::item::{Item, Ownership};
use crate::judgement::status::{Reason, Rule, Status, StatusKind};
use crate::observation::Observation;
use crate::registration::RegistrationState;

/// A button that helps with an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Help {
    /// Look the domain up again.
    Rescan,
    /// Show the delegation.
    ShowPath,
    /// Set the expiration manually.
    SetExpiration,
    /// Say that the domain renews by itself.
    MarkAutoRenew,
}

/// One thing to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attention {
    /// How bad, in the words of the status table.
    pub kind: StatusKind,
    /// What is the matter.
    pub title: String,
    /// What it means; may be empty.
    pub means: String,
    /// What to do; may be empty.
    pub todo: String,
    /// Level, tag and test case, where it is a finding.
    pub evidence: Option<String>,
    /// What can be done here.
    pub help: Vec<Help>,
}

/// Everything worth a look, worst first.
pub fn attention(item: &Item, status: &Status, observation: Option<&Observation>) -> Vec<Attention> {
    let mut out: Vec<_> = status
        .reasons
        .iter()
        .filter(|r| r.rule != Rule::Finding && r.kind <= StatusKind::Unlocked)
        // A name that is being deleted needs no lock.
        .filter(|r| r.rule != Rule::NoLock || !is_deleted(observation))
        .map(|r| of_reason(r, item, observation))
        .collect();
    if let Some(o) = observation {
        // A name that the registry keeps out of the DNS has no delegation either: one cause, said once.
        let cause = o.registration.value.as_ref().and_then(|r| Cause::of_registration(o.name.as_str(), r));
        let at_registry = cause.is_some_and(|c| !matches!(c, Cause::NoNameservers { .. }));
        // How many servers have IPv6 is a lasting property of the zone, and the findings on the DNS tab.
        let lasting = |f: &Finding| matches!(f.test_case.as_str(), "Delegation01" | "Connectivity01");
        let told = |f: &&Finding| {
            (f.level >= Level::Warning || (f.level == Level::Notice && !lasting(f)))
                && !(at_registry && f.tag == "B02_NO_DELEGATION")
        };
        out.extend(by_server(o.findings.iter().filter(told)).into_iter().map(of_finding));
    }
    out.sort_by_key(|a| rank(a.kind));
    out
}

fn is_deleted(observation: Option<&Observation>) -> bool {
    let registration = observation.and_then(|o| o.registration.value.as_ref());
    let flags = ["pendingDelete", "redemptionPeriod", "pendingRestore"];
    registration
        .and_then(RegistrationState::registration)
        .is_some_and(|r| flags.iter().any(|flag| r.has(flag)))
}

/// Here an unknown is less urgent than a warning: it asks for a look, not for an action.
fn rank(kind: StatusKind) -> u8 {
    match kind {
        StatusKind::Critical => 0,
        StatusKind::Warning => 1,
        StatusKind::Unknown => 2,
        StatusKind::Unlocked => 3,
        StatusKind::Secure | StatusKind::Normal => 4,
    }
}

fn of_reason(r: &Reason, item: &Item, observation: Option<&Observation>) -> Attention {
    let registration =
        observation.and_then(|o| o.registration.value.as_ref()).and_then(RegistrationState::registration);
    let at = registration
        .and_then(|x| x.registrar.name.as_deref())
        .map_or_else(|| "at the registrar".to_string(), |n| format!("at {n}"));
    let has = |flag: &str| registration.is_some_and(|r| r.has(flag));
    let (means, todo, help): (String, String, Vec<Help>) = match r.rule {
        Rule::Expired if has("pendingDelete") && !has("redemptionPeriod") && !has("pendingRestore") => (
            "It is being deleted and can be neither renewed nor restored.".into(),
            "Be ready to register it again when the registry releases it.".into(),
            vec![Help::Rescan],
        ),
        Rule::Expired if has("redemptionPeriod") => (
            "It was deleted after it expired; a renewal alone does not bring it back.".into(),
            format!("Ask for its restoration {at} now, then rescan."),
            vec![Help::Rescan],
        ),
        Rule::Expired => (
            "The name may stop resolving at any moment; after the grace periods anyone can register it."
                .into(),
            format!("Renew {at} today, then rescan."),
            vec![Help::Rescan],
        ),
        Rule::ExpiresSoon if item.auto_renew == Some(true) => (
            "It is marked as renewing by itself.".into(),
            format!("Check that the payment method {at} is valid."),
            vec![],
        ),
        Rule::ExpiresSoon => (
            "Auto-renew is not marked here, and no renewal was seen.".into(),
            format!("Renew {at}, or mark auto-renew if it is already on there."),
            vec![Help::MarkAutoRenew],
        ),
        Rule::NeverScanned => {
            ("The first scan is waiting for its turn.".into(), String::new(), vec![Help::Rescan])
        }
        Rule::NeverRead | Rule::Stale => (
            "What is shown below is the last that was read well; it may have changed since.".into(),
            "Rescan; if it keeps failing, the sentence above names the server to ask about.".into(),
            vec![Help::Rescan],
        ),
        Rule::NothingPublished => (
            "Without a date no alert can be sent before it ends.".into(),
            "Set the expiration; alerts follow it.".into(),
            vec![Help::SetExpiration],
        ),
        Rule::Available if item.ownership == Ownership::Owned => (
            "You marked it as owned, yet the registry does not know it.".into(),
            "Register it, or mark it as watched.".into(),
            vec![Help::Rescan],
        ),
        Rule::Available => {
            ("It can probably be registered. An event is recorded when it is.".into(), String::new(), vec![])
        }
        Rule::Reserved => ("It can't be registered at present.".into(), String::new(), vec![]),
        Rule::NoLock => (
            "Anyone with access to the registrar account can move, change or delete the name at once.".into(),
            format!("Switch the transfer lock on {at}."),
            vec![],
        ),
        Rule::NoNameserver => (
            "No name below this domain resolves, except from caches that still hold it.".into(),
            "Bring a nameserver back, or change the delegation at the registrar.".into(),
            vec![Help::ShowPath, Help::Rescan],
        ),
        Rule::Bogus => (
            "Resolvers that validate refuse to answer for the whole domain.".into(),
            "Make DS, DNSKEY and signatures agree again; if in doubt remove the DS at the registrar first."
                .into(),
            vec![Help::ShowPath],
        ),
        Rule::Signatures => (
            "When they end, resolvers that validate refuse to answer for the whole domain.".into(),
            "Re-sign the zone, and see why that does not happen by itself.".into(),
            vec![Help::ShowPath, Help::Rescan],
        ),
        Rule::Inactive => (
            "The registry has no nameservers for the name any more.".into(),
            format!("Set nameservers {at}."),
            vec![Help::Rescan],
        ),
        // The table's advice counts while the registrar can still restore the name.
        Rule::Flag if r.sentence.starts_with("pendingDelete") && !has("redemptionPeriod") => (
            String::new(),
            "It can be neither renewed nor restored. Be ready to register it when the registry releases it."
                .into(),
            vec![],
        ),
        Rule::Flag => (String::new(), flag_todo(&r.sentence), vec![]),
        _ => (String::new(), String::new(), vec![]),
    };
    Attention { kind: r.kind, title: r.sentence.clone(), means, todo, evidence: None, help }
}

/// The table's advice for the flag a reason begins with.
fn flag_todo(sentence: &str) -> String {
    let code = sentence.split_whitespace().next().unwrap_or_default();
    crate::registration::epp::EppStatus::new(code).explained().map(|m| m.todo.clone()).unwrap_or_default()
}

fn of_finding((f, more): (&Finding, usize)) -> Attention {
    let kind = match f.level.severity() {
        Severity::Critical => StatusKind::Critical,
        Severity::Warning => StatusKind::Warning,
        Severity::Notice | Severity::Info => StatusKind::Unlocked,
    };
    Attention {
        kind,
        title: f.words().to_string(),
        means: match more {
            0 => String::new(),
            1 => "Another finding is about this server; the DNS tab lists it.".to_string(),
            n => format!("{n} more findings are about this server; the DNS tab lists them."),
        },
        todo: f.fix.clone(),
        evidence: Some(format!("{} {}, {}", f.level.as_str(), f.tag, f.test_case)),
        help: vec![Help::ShowPath],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ids::{OrgId, Vantage};
    use crate::base::names::DomainName;
    use jiff::Timestamp;

    fn item() -> Item {
        let at: Timestamp = "2026-11-20T14:05:00Z".parse().unwrap();
        Item::new(OrgId::BUILT_IN, DomainName::trusted("alder.example"), Ownership::Owned, at)
    }

    fn finding(level: Level) -> Finding {
        Finding {
            broken: false,
            tag: "IS_NOT_AUTHORITATIVE".into(),
            level,
            args: serde_json::Map::new(),
            test_case: "Delegation04".into(),
            zone: "alder.example".into(),
            message: "old-ns refuses".into(),
            fix: "Remove it.".into(),
        }
    }

    #[test]
    fn worst_first_and_what_is_well_stays_out() {
        let mut o = Observation::empty(DomainName::trusted("alder.example"), Vantage::local());
        o.findings = vec![finding(Level::Info), finding(Level::Warning), finding(Level::Error)];
        let status = Status {
            kind: StatusKind::Warning,
            reasons: vec![
                Reason { kind: StatusKind::Warning, rule: Rule::Finding, sentence: "old-ns refuses".into() },
                Reason { kind: StatusKind::Unlocked, rule: Rule::NoLock, sentence: "No lock".into() },
                Reason { kind: StatusKind::Normal, rule: Rule::Locked, sentence: "locked".into() },
            ],
            judge_again_at: None,
        };
        let kinds: Vec<_> = attention(&item(), &status, Some(&o)).iter().map(|a| a.kind).collect();
        assert_eq!(kinds, [StatusKind::Critical, StatusKind::Warning, StatusKind::Unlocked]);
    }

    #[test]
    fn a_flag_says_what_to_do() {
        let r =
            Reason { kind: StatusKind::Critical, rule: Rule::Flag, sentence: "clientHold is set: x".into() };
        assert!(!of_reason(&r, &item(), None).todo.is_empty());
    }
}
