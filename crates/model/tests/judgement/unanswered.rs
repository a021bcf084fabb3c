//! A question without an answer confirms nothing, refutes nothing, and takes nothing from what is known.

use super::*;
use model::confirm::{CONFIRM_S, Confirmed, confirm};
use model::observation::PartKind;

fn set(rtype: &str, data: &str) -> RrSet {
    RrSet { name: "q7.io".into(), rtype: rtype.into(), ttl: 300, data: vec![data.into()] }
}

/// A look: what was answered, and the questions that were not.
fn look(answered: &[RrSet], unanswered: &[&str], at: Timestamp) -> Observation {
    let mut o = observe(registration());
    let zone = ZoneSnapshot {
        rrsets: answered.to_vec(),
        unanswered: unanswered.iter().map(|u| (*u).to_string()).collect(),
        ..ZoneSnapshot::default()
    };
    o.zone = Part::good(zone, at, "dns");
    o
}

/// Looks five minutes apart; the reported changes of each, and when the next look is wanted.
fn watch(looks: &[Observation]) -> Vec<(usize, Option<i64>)> {
    let mut stored: Option<Observation> = None;
    let mut out = Vec::new();
    for seen in looks {
        let at = seen.zone.attempted_at.unwrap();
        let current = carry_forward(stored.as_ref(), seen.clone());
        let Confirmed { observation, changes, look_again_at } = match &stored {
            Some(before) => confirm(before, current, |_: PartKind| Some(at), CONFIRM_S, at),
            None => Confirmed { observation: current, changes: vec![], look_again_at: None },
        };
        out.push((changes.len(), look_again_at.map(|again| again.as_second() - at.as_second())));
        stored = Some(observation);
    }
    out
}

fn minutes(n: i64) -> Timestamp {
    now().checked_add(jiff::SignedDuration::from_mins(n)).unwrap()
}

#[test]
fn a_loss_is_told_though_a_question_between_had_no_answer() {
    let (a, mx) = (set("A", "192.0.2.1"), set("MX", "10 mx.example."));
    let both = [a.clone(), mx];
    let only = [a];
    let none = &["q7.io MX"];
    let told = |looks: &[Observation]| watch(looks).iter().map(|(n, _)| n).sum::<usize>();
    // Lost, unanswered, lost, still lost.
    let looks = [
        look(&both, &[], minutes(0)),
        look(&only, &[], minutes(60)),
        look(&only, none, minutes(65)),
        look(&only, &[], minutes(70)),
        look(&only, &[], minutes(75)),
    ];
    assert_eq!(told(&looks), 1);
    // Unanswered first: the baseline stays.
    let looks = [
        look(&both, &[], minutes(0)),
        look(&only, none, minutes(60)),
        look(&only, &[], minutes(120)),
        look(&only, &[], minutes(125)),
    ];
    assert_eq!(told(&looks), 1);
    // A record that appears, with a question in between that had no answer: first pending, then not.
    let looks = [
        look(&only, &[], minutes(0)),
        look(&both, &[], minutes(60)),
        look(&only, none, minutes(65)),
        look(&both, &[], minutes(70)),
        look(&both, &[], minutes(75)),
    ];
    assert_eq!(told(&looks), 1);
    let looks = [
        look(&only, &[], minutes(0)),
        look(&only, none, minutes(60)),
        look(&only, none, minutes(65)),
        look(&both, &[], minutes(120)),
        look(&both, &[], minutes(125)),
    ];
    assert_eq!(told(&looks), 1);
    // It answers as before: nothing happened.
    let looks = [
        look(&both, &[], minutes(0)),
        look(&only, none, minutes(60)),
        look(&both, &[], minutes(65)),
        look(&both, &[], minutes(70)),
    ];
    assert_eq!(told(&looks), 0);
    // Never answered before: the first answer is no change.
    let looks = [look(&only, none, minutes(0)), look(&both, &[], minutes(60)), look(&both, &[], minutes(65))];
    assert_eq!(told(&looks), 0);
}

#[test]
fn what_cannot_be_looked_at_waits_as_long_again() {
    let (a, mx) = (set("A", "192.0.2.1"), set("MX", "10 mx.example."));
    let both = [a.clone(), mx];
    let only = [a];
    let looks = [
        look(&both, &[], minutes(0)),
        look(&only, &[], minutes(60)),
        look(&only, &["q7.io MX"], minutes(90)),
    ];
    let waits: Vec<_> = watch(&looks).into_iter().map(|(_, again)| again).collect();
    assert_eq!(waits, [None, Some(CONFIRM_S), Some(CONFIRM_S)], "never at once, again and again");
}
