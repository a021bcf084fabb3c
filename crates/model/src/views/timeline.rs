//! Kept states as lanes over time: which expiration, registrar, nameservers and flags held from when to when.
//! In: snapshots, oldest first. Out: spans the History page draws and reads out.

use crate::base::time::human_date;
use crate::observation::Observation;
use crate::registration::epp::EppStatus;
use crate::registration::{Registration, RegistrationState};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// How a span is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tone {
    /// A value like any other.
    Plain,
    /// A value that replaced another.
    Other,
    /// A protection that is set.
    Set,
    /// A flag that warns or hurts.
    Bad,
    /// Not set.
    Off,
    /// Not known then.
    Unknown,
}

/// One value for a stretch of time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// First seen.
    pub from: Timestamp,
    /// Until the next state was seen; the end of the picture for the last.
    pub to: Timestamp,
    /// The value.
    pub text: String,
    /// How to draw it.
    pub tone: Tone,
}

/// One thing over time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lane {
    /// What.
    pub label: String,
    /// True when the label is a code (an EPP status).
    pub code: bool,
    /// Its values, oldest first, without gaps.
    pub spans: Vec<Span>,
}

/// The lanes of a domain from its kept states, oldest first.
pub fn lanes(states: &[(Timestamp, &Observation)], now: Timestamp) -> Vec<Lane> {
    let registrations: Vec<_> = states
        .iter()
        .map(|(at, o)| (*at, o.registration.value.as_ref().and_then(RegistrationState::registration)))
        .collect();
    let lane = |label: &str, code, value: &dyn Fn(usize) -> (String, Tone)| Lane {
        label: label.into(),
        code,
        spans: spans(states.iter().map(|s| s.0), value, now),
    };
    let unknown = || ("not known".to_string(), Tone::Unknown);
    let known = |v: Option<String>| v.map_or_else(unknown, |v| (v, Tone::Plain));

    let mut out = vec![
        lane("Expiration", false, &|i| {
            known(registrations[i].1.and_then(Registration::effective_expires).map(|e| human_date(e.date())))
        }),
        lane("Registrar", false, &|i| known(registrations[i].1.and_then(|r| r.registrar.name.clone()))),
        lane("Nameservers", false, &|i| {
            let parent = states[i]
                .1
                .delegation
                .value
                .as_ref()
                .map(|d| d.parent_ns.iter().map(|n| n.name.clone()).collect::<Vec<_>>());
            let published = registrations[i].1.and_then(|r| r.nameservers.clone());
            match published.or(parent) {
                None => unknown(),
                Some(n) if n.is_empty() => ("none".into(), Tone::Off),
                Some(n) => (n.join(", "), Tone::Plain),
            }
        }),
    ];
    let flags: BTreeSet<&EppStatus> =
        registrations.iter().filter_map(|(_, r)| r.and_then(|r| r.statuses.as_ref())).flatten().collect();
    for flag in flags {
        out.push(lane(
            flag.as_str(),
            true,
            &|i| match registrations[i].1.and_then(|r| r.statuses.as_ref()) {
                None => unknown(),
                Some(s) if s.contains(flag) => {
                    ("Set".into(), if is_lock(flag) { Tone::Set } else { Tone::Bad })
                }
                Some(_) => ("Not set".into(), Tone::Off),
            },
        ));
    }
    out.push(lane("DNSSEC", false, &|i| match registrations[i].1.and_then(|r| r.dnssec.as_ref()) {
        None => unknown(),
        Some(d) if d.signed => ("Signed".into(), Tone::Set),
        Some(_) => ("Unsigned".into(), Tone::Off),
    }));
    for lane in &mut out {
        second_values(lane);
    }
    out
}

fn is_lock(flag: &EppStatus) -> bool {
    let f = flag.as_str();
    f == "ok"
        || f.ends_with("TransferProhibited")
        || f.ends_with("UpdateProhibited")
        || f.ends_with("DeleteProhibited")
}

/// Joins equal neighbours.
fn spans(
    times: impl Iterator<Item = Timestamp>,
    value: &dyn Fn(usize) -> (String, Tone),
    now: Timestamp,
) -> Vec<Span> {
    let mut out: Vec<Span> = Vec::new();
    for (i, at) in times.enumerate() {
        let (text, tone) = value(i);
        match out.last_mut() {
            Some(last) if last.text == text && last.tone == tone => last.to = now,
            last => {
                if let Some(last) = last {
                    last.to = at;
                }
                out.push(Span { from: at, to: now, text, tone });
            }
        }
    }
    out
}

/// Every second plain value is drawn in another tone, so that a change is seen.
fn second_values(lane: &mut Lane) {
    let mut other = false;
    for s in lane.spans.iter_mut().filter(|s| s.tone == Tone::Plain) {
        if other {
            s.tone = Tone::Other;
        }
        other = !other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ids::Vantage;
    use crate::base::names::DomainName;
    use crate::observation::Part;
    use crate::registration::Registrar;

    fn state(registrar: &str, flags: &[&str]) -> Observation {
        let r = Registration {
            registrar: Registrar { name: Some(registrar.into()), ..Registrar::default() },
            statuses: Some(flags.iter().map(|f| EppStatus::new(f)).collect()),
            ..Registration::default()
        };
        let mut o = Observation::empty(DomainName::trusted("alder.example"), Vantage::local());
        let at = "2026-01-01T00:00:00Z".parse().unwrap();
        o.registration = Part::good(RegistrationState::Registered(Box::new(r)), at, "RDAP");
        o
    }

    #[test]
    fn equal_neighbours_join_and_spans_leave_no_gap() {
        let t = |s: &str| s.parse::<Timestamp>().unwrap();
        let (a, b) = (state("Harbor", &[]), state("Lantern", &["clientTransferProhibited"]));
        let states = [
            (t("2026-01-01T00:00:00Z"), &a),
            (t("2026-02-01T00:00:00Z"), &a),
            (t("2026-03-01T00:00:00Z"), &b),
        ];
        let lanes = lanes(&states, t("2026-04-01T00:00:00Z"));
        let registrar = lanes.iter().find(|l| l.label == "Registrar").unwrap();
        let texts: Vec<_> = registrar.spans.iter().map(|s| (s.text.as_str(), s.tone)).collect();
        assert_eq!(texts, [("Harbor", Tone::Plain), ("Lantern", Tone::Other)]);
        assert_eq!(registrar.spans[0].to, registrar.spans[1].from);
        let flag = lanes.iter().find(|l| l.code).unwrap();
        assert_eq!(flag.spans.iter().map(|s| s.tone).collect::<Vec<_>>(), [Tone::Off, Tone::Set]);
        assert!(lanes.iter().find(|l| l.label == "Expiration").unwrap().spans[0].tone == Tone::Unknown);
    }

    #[test]
    fn no_states_give_empty_lanes() {
        assert!(lanes(&[], Timestamp::UNIX_EPOCH).iter().all(|l| l.spans.is_empty()));
    }
}
