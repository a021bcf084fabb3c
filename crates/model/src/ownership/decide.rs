//! What a round of one claim means for all claims to the same name: who is challenged, who takes over, who is refused.
//!
//! In: the claims of every organisation to one name, which of them was checked, and the outcome. Out: those that change.
//! No claim carries anything about another organisation.

use super::claim::{Claim, ClaimEvent, ClaimPolicy, ClaimState, ContestReason, LapseReason};
use super::{Method, Nonce, Outcome};
use crate::judgement::event::{Change, EventKind, Severity};
use jiff::{SignedDuration, Timestamp};

/// Pending and waiting claims an organisation may have at a time.
pub const MAX_PENDING: usize = 100;

/// A claim that changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// Its place among the claims given.
    pub index: usize,
    /// Its new state.
    pub claim: Claim,
    /// What happened to it, if anything worth an event.
    pub event: Option<ClaimEvent>,
}

/// Judges a round of `claims[checked]`. The claim that was checked is always among the results; `nonce` makes a fresh
/// nonce for a holder that is challenged.
pub fn decide(
    claims: &[Claim],
    checked: usize,
    outcome: Outcome,
    now: Timestamp,
    policy: &ClaimPolicy,
    nonce: &mut dyn FnMut() -> Nonce,
) -> Vec<Decided> {
    let Some(own) = claims.get(checked).cloned() else { return Vec::new() };
    let by_dns = own.method.is_dns();
    let others = || claims.iter().enumerate().filter(|(index, _)| *index != checked);
    let held_by_dns = others().any(|(_, claim)| claim.counts() && claim.method.is_dns());
    let held = held_by_dns || (!by_dns && others().any(|(_, claim)| claim.counts()));
    // A file on a web server never wins against a DNS proof.
    let is_blocked = !by_dns && held_by_dns && !own.counts();
    let outcome = if is_blocked { Outcome::NoAnswer } else { outcome };
    let was_pending = own.state == ClaimState::Pending;
    let (own, event) = own.after(outcome, now, held, policy);
    let is_waiting = matches!(own.state, ClaimState::Waiting { .. });
    let mut decided = vec![Decided { index: checked, claim: own, event }];
    for (index, other) in others() {
        let (claim, event) = match event {
            _ if was_pending && is_waiting => {
                other.clone().contest(ContestReason::OtherProof, nonce(), now, policy)
            }
            // Only holders by a web file are left here: `held` is false.
            Some(ClaimEvent::Verified) => other.clone().overrule(now),
            Some(ClaimEvent::ContestAnswered) => other.clone().refuse(now),
            Some(ClaimEvent::Lapsed) => (other.clone().hurry(now), None),
            _ => continue,
        };
        if claim != *other {
            decided.push(Decided { index, claim, event });
        }
    }
    decided
}

impl ClaimEvent {
    /// The entry of the organisation's event log; `claim` is the claim after the event, `name` what it is about.
    pub fn change(self, name: &str, claim: &Claim) -> Change {
        let (kind, severity, what) = match self {
            ClaimEvent::Verified => (EventKind::OwnershipVerified, Severity::Info, "was verified"),
            ClaimEvent::ProofBack => {
                (EventKind::OwnershipVerified, Severity::Info, "is verified again: the record is back")
            }
            ClaimEvent::ContestAnswered => (
                EventKind::OwnershipVerified,
                Severity::Info,
                "stays verified: the new challenge was answered",
            ),
            ClaimEvent::ProofGone => {
                (EventKind::OwnershipAtRisk, Severity::Warning, "lapses soon: the record is gone")
            }
            ClaimEvent::Contested => (
                EventKind::OwnershipAtRisk,
                Severity::Critical,
                "lapses soon: a new challenge must be answered",
            ),
            ClaimEvent::Lapsed => (EventKind::OwnershipLost, Severity::Critical, "lapsed"),
            ClaimEvent::Expired => {
                (EventKind::OwnershipNotProven, Severity::Notice, "was not proven: the challenge expired")
            }
            ClaimEvent::Refused => (
                EventKind::OwnershipNotProven,
                Severity::Notice,
                "was refused: the present holder proved control again",
            ),
        };
        Change {
            kind,
            severity,
            field: "ownership".into(),
            old: None,
            new: Some(format!("Ownership of {name} {what}")),
            source: claim.method.label().into(),
            note: claim.meaning(),
            first_seen_at: None,
            status_before: None,
        }
    }
}

impl Claim {
    /// Ends a claim that was proven by a file on a web server: another organisation proved the name by DNS.
    pub fn overrule(mut self, now: Timestamp) -> (Claim, Option<ClaimEvent>) {
        if !self.counts() || self.method.is_dns() {
            return (self, None);
        }
        let state = ClaimState::Lapsed { at: now, reason: LapseReason::DnsProof };
        let event = self.end(state, ClaimEvent::Lapsed);
        self.next_check_at = None;
        (self, Some(event))
    }

    /// A waiting claim is checked at once when the holder lost the name.
    fn hurry(mut self, now: Timestamp) -> Claim {
        if matches!(self.state, ClaimState::Waiting { .. }) {
            self.next_check_at = Some(now);
        }
        self
    }

    /// The same claim by another method; only while a challenge is open, and with the same nonce.
    ///
    /// # Errors
    /// Why the method can't be changed now.
    pub fn with_method(mut self, method: Method, now: Timestamp) -> Result<Claim, &'static str> {
        match self.state {
            ClaimState::Verified { .. } => {
                return Err("the domain is verified already; withdraw the claim to start again");
            }
            ClaimState::Waiting { .. } => {
                return Err("the present holder was asked to answer; wait for the decision");
            }
            ClaimState::Lapsed { .. } | ClaimState::Closed { .. } => {
                return Err("the claim is over; start again");
            }
            ClaimState::Contested { .. } if self.method.is_dns() && !method.is_dns() => {
                return Err("a contest of a DNS proof is answered by DNS");
            }
            _ => {}
        }
        if self.method != method {
            self.method = method;
            self.few = None;
            self.first_denied_at = None;
            self.next_check_at = Some(now);
        }
        Ok(self)
    }

    /// When the organisation may claim the name again, where the present holder has just proven control again: a
    /// contest can't be repeated at will.
    pub fn claimable_again_at(&self, policy: &ClaimPolicy) -> Option<Timestamp> {
        match self.state {
            ClaimState::Closed { at, refused: true } => Some(at + policy.contest),
            _ => None,
        }
    }

    /// True while the claim waits for its first proof, or for the holder.
    pub fn is_pending(&self) -> bool {
        matches!(self.state, ClaimState::Pending | ClaimState::Waiting { .. })
    }

    /// Time until the next check; zero when it is due.
    pub fn until_next_check(&self, now: Timestamp) -> Option<SignedDuration> {
        Some(self.next_check_at?.duration_since(now).max(SignedDuration::ZERO))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minutes: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + minutes * 60).unwrap()
    }

    fn fresh(n: u8) -> impl FnMut() -> Nonce {
        move || Nonce::new([n; 20])
    }

    fn claim(n: u8, method: Method) -> Claim {
        Claim::new("alder.example", Nonce::new([n; 20]), method, at(0), &ClaimPolicy::default())
    }

    fn verified(n: u8, method: Method) -> Claim {
        claim(n, method).after(Outcome::Proven, at(1), false, &ClaimPolicy::default()).0
    }

    fn round(
        claims: &mut [Claim],
        checked: usize,
        outcome: Outcome,
        minute: i64,
    ) -> Vec<(usize, ClaimEvent)> {
        let decided = decide(claims, checked, outcome, at(minute), &ClaimPolicy::default(), &mut fresh(99));
        let events = decided.iter().filter_map(|d| Some((d.index, d.event?))).collect();
        for one in decided {
            claims[one.index] = one.claim;
        }
        events
    }

    #[test]
    fn a_proof_challenges_the_holder_and_the_answer_refuses_the_rival() {
        let mut claims = [verified(1, Method::Txt), claim(2, Method::Txt)];
        assert_eq!(round(&mut claims, 1, Outcome::Proven, 10), [(0, ClaimEvent::Contested)]);
        assert_eq!(claims[0].challenge.nonce, Nonce::new([99; 20]));
        assert!(claims[0].counts() && matches!(claims[1].state, ClaimState::Waiting { .. }));
        let events = round(&mut claims, 0, Outcome::Proven, 20);
        assert_eq!(events, [(0, ClaimEvent::ContestAnswered), (1, ClaimEvent::Refused)]);
        let again = claims[1].claimable_again_at(&ClaimPolicy::default());
        assert_eq!(again, Some(at(20) + ClaimPolicy::default().contest));
    }

    #[test]
    fn a_holder_that_lapses_makes_room_at_once() {
        let mut claims = [verified(1, Method::Txt), claim(2, Method::Cname)];
        round(&mut claims, 1, Outcome::Proven, 10);
        let week = 10 + 7 * 24 * 60;
        assert_eq!(round(&mut claims, 0, Outcome::Denied, week), [(0, ClaimEvent::Lapsed)]);
        assert_eq!(claims[1].next_check_at, Some(at(week)));
        assert_eq!(round(&mut claims, 1, Outcome::Proven, week), [(1, ClaimEvent::Verified)]);
        assert_eq!(claims.iter().filter(|c| c.counts()).count(), 1);
    }

    #[test]
    fn a_web_file_gives_way_to_dns_and_never_the_other_way() {
        let mut claims = [verified(1, Method::Http), claim(2, Method::Txt)];
        let events = round(&mut claims, 1, Outcome::Proven, 10);
        assert_eq!(events, [(1, ClaimEvent::Verified), (0, ClaimEvent::Lapsed)]);
        let mut claims = [verified(1, Method::Txt), claim(2, Method::Http)];
        assert!(round(&mut claims, 1, Outcome::Proven, 10).is_empty());
        assert!(claims[0].counts() && claims[1].state == ClaimState::Pending);
    }

    #[test]
    fn of_two_rivals_one_takes_over_and_the_other_has_to_contest_again() {
        let mut claims = [verified(1, Method::Txt), claim(2, Method::Txt), claim(3, Method::Txt)];
        round(&mut claims, 1, Outcome::Proven, 10);
        assert!(round(&mut claims, 2, Outcome::Proven, 11).is_empty(), "the contest runs already");
        let week = 12 + 7 * 24 * 60;
        round(&mut claims, 0, Outcome::Denied, week);
        assert_eq!(round(&mut claims, 1, Outcome::Proven, week), [(1, ClaimEvent::Verified)]);
        assert!(round(&mut claims, 2, Outcome::Proven, week).is_empty());
        assert_eq!(claims[2].state, ClaimState::Pending);
        assert_eq!(round(&mut claims, 2, Outcome::Proven, week + 1), [(1, ClaimEvent::Contested)]);
        assert_eq!(claims.iter().filter(|c| c.counts()).count(), 1);
    }

    #[test]
    fn a_method_changes_only_while_a_challenge_is_open() {
        let pending = claim(1, Method::Txt).with_method(Method::Cname, at(5)).unwrap();
        assert_eq!((pending.method, pending.next_check_at), (Method::Cname, Some(at(5))));
        assert!(verified(1, Method::Txt).with_method(Method::Cname, at(5)).is_err());
        let (contested, _) = verified(1, Method::Txt).contest(
            ContestReason::OtherProof,
            Nonce::new([4; 20]),
            at(5),
            &ClaimPolicy::default(),
        );
        assert!(contested.clone().with_method(Method::Http, at(6)).is_err());
        assert!(contested.with_method(Method::Cname, at(6)).is_ok());
    }
}
