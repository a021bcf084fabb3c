//! What must hold for any two observations.

use super::*;
use proptest::prelude::*;

fn any_time() -> impl Strategy<Value = Option<model::time::StatedTime>> {
    prop_oneof![
        Just(None),
        (2020i16..2035, 1i8..13, 1i8..28)
            .prop_map(|(y, m, d)| Some(format!("{y}-{m:02}-{d:02}").parse().unwrap())),
        (2020i16..2035, 1i8..13, 1i8..28, 0i8..24)
            .prop_map(|(y, m, d, h)| Some(format!("{y}-{m:02}-{d:02}T{h:02}:10:00Z").parse().unwrap())),
    ]
}

fn any_registration() -> impl Strategy<Value = Registration> {
    let flags = proptest::sample::subsequence(
        vec![
            "ok",
            "clientHold",
            "autoRenewPeriod",
            "clientTransferProhibited",
            "serverDeleteProhibited",
            "connect",
        ],
        0..4,
    );
    let ns = proptest::sample::subsequence(vec!["a.example", "b.example", "c.example"], 0..4);
    let dates = (any_time(), any_time(), any_time(), any_time());
    (dates, proptest::option::of(flags), proptest::option::of(ns), 0u8..4).prop_map(
        |((created, updated, expires, registrar_expires), flags, ns, who)| Registration {
            created,
            updated,
            expires,
            registrar_expires,
            statuses: flags.map(|f| f.into_iter().map(EppStatus::from).collect()),
            nameservers: ns.map(|n| n.into_iter().map(str::to_string).collect()),
            registrar: Registrar {
                name: (who > 0).then(|| format!("Registrar {who}")),
                iana_id: (who > 1).then(|| who.to_string()),
                ..Registrar::default()
            },
            ..Registration::default()
        },
    )
}

fn any_observation() -> impl Strategy<Value = Observation> {
    (
        any_registration(),
        proptest::option::of(proptest::sample::subsequence(vec!["a.example", "b.example"], 1..3)),
        any::<bool>(),
    )
        .prop_map(|(r, ns, fail)| {
            let mut o = observe(r);
            if let Some(ns) = ns {
                o.delegation = Part::good(delegation(&ns), now(), "dns");
            }
            if fail {
                o.registration.error = Some(failed());
            }
            o
        })
}

/// The same facts in another order, case and spelling.
fn respelled(o: &Observation) -> Observation {
    let mut o = o.clone();
    if let Some(RegistrationState::Registered(r)) = &mut o.registration.value {
        r.registrar.name = r.registrar.name.as_ref().map(|n| format!("{}, Inc.", n.to_uppercase()));
        if let Some(ns) = &mut r.nameservers {
            ns.reverse();
            ns.iter_mut().for_each(|n| *n = format!("{}.", n.to_uppercase()));
        }
    }
    if let Some(d) = &mut o.delegation.value {
        d.parent_ns.reverse();
        d.child_ns.reverse();
        d.servers.reverse();
    }
    o
}

proptest! {
    #[test]
    fn nothing_differs_from_itself(o in any_observation()) {
        prop_assert_eq!(diff(&o, &o), vec![]);
    }

    #[test]
    fn order_and_case_are_not_changes(o in any_observation()) {
        prop_assert_eq!(diff(&o, &respelled(&o)), vec![]);
        prop_assert_eq!(diff(&respelled(&o), &o), vec![]);
    }

    #[test]
    fn a_failed_part_changes_nothing(a in any_observation(), b in any_observation()) {
        let mut b = b;
        b.registration.error = Some(failed());
        b.delegation.error = Some(failed());
        prop_assert_eq!(diff(&a, &b), vec![]);
        let kept = carry_forward(Some(&a), b);
        prop_assert_eq!(diff(&a, &kept), vec![]);
        prop_assert_eq!(&kept.registration.value, &a.registration.value);
    }

    #[test]
    fn every_change_is_explained_by_two_different_values(a in any_observation(), b in any_observation()) {
        for c in diff(&a, &b) {
            // A renewal that is only now a fact is explained by what held it back.
            let is_late = c.kind == EventKind::Renewed && !c.note.is_empty();
            prop_assert!(c.old != c.new || is_late, "{:?}", c);
            prop_assert!(!c.sentence().is_empty());
        }
    }

    #[test]
    fn a_status_holds_until_it_must_be_judged_again(r in any_registration(), hours in 0i64..24 * 40) {
        let o = observe(r);
        let limits = Thresholds::default();
        let s = judge(&item(), &o, &limits, now());
        prop_assert!(s.judge_again_at.is_none_or(|t| t > now()));
        let until = s.judge_again_at.unwrap_or(Timestamp::MAX);
        let later = now() + hours.hours();
        if later < until {
            prop_assert_eq!(judge(&item(), &o, &limits, later).kind, s.kind);
        }
        prop_assert!(!s.reasons.is_empty() || s.kind == StatusKind::Normal);
    }

    #[test]
    fn carrying_forward_twice_changes_nothing_more(a in any_observation(), b in any_observation()) {
        let once = carry_forward(Some(&a), b);
        let twice = carry_forward(Some(&a), once.clone());
        prop_assert_eq!(once, twice);
    }
}
