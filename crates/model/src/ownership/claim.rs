//! The life of a claim: `(claim, round, now) -> (claim, events)`.
//!
//! ```text
//! Pending ──proven──▶ Verified ──gone twice, an hour apart──▶ Grace ──not back in time──▶ Lapsed
//!    │                  ▲  │ ▲                                  │
//!    │ expired          │  │ └────────────proven────────────────┘
//!    ▼                  │  └─ another organisation proves it, or the registration changed
//! Expired               │                 ▼
//!                       └──new nonce── Contested ──not answered in time──▶ Lapsed
//! ```
//!
//! An unverified claim does not block other claims. A failed read changes no state.

use super::{Challenge, Method, Nonce, Outcome};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// Times of the process. The operator may change them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimPolicy {
    /// How long a challenge can be answered for the first time.
    pub challenge_valid: SignedDuration,
    /// Between checks of a verified claim.
    pub reverify: SignedDuration,
    /// How long a proof may be gone before the claim lapses.
    pub grace: SignedDuration,
    /// How long a holder has to answer a new challenge.
    pub contest: SignedDuration,
    /// Least time between two denials that together mean "gone", and between the first and last of the rounds that
    /// make up for silent name servers.
    pub apart: SignedDuration,
    /// Equal rounds needed where half of the name servers or fewer answer.
    pub few_rounds: u8,
}

impl Default for ClaimPolicy {
    fn default() -> Self {
        ClaimPolicy {
            challenge_valid: SignedDuration::from_hours(30 * 24),
            reverify: SignedDuration::from_hours(24),
            grace: SignedDuration::from_hours(7 * 24),
            contest: SignedDuration::from_hours(7 * 24),
            apart: SignedDuration::from_hours(1),
            few_rounds: 3,
        }
    }
}

/// Where a claim stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ClaimState {
    /// Waiting for the record to appear.
    Pending,
    /// Proven here, but another organisation holds the domain and was challenged: decided at `until`.
    Waiting {
        /// When the holder's time is up.
        until: Timestamp,
    },
    /// Control is proven.
    Verified {
        /// Since when without interruption.
        since: Timestamp,
    },
    /// The proof is gone; still counts as verified.
    Grace {
        /// Verified since then.
        since: Timestamp,
        /// When it lapses.
        until: Timestamp,
    },
    /// Verified, but a new challenge must be answered; still counts as verified.
    Contested {
        /// Verified since then.
        since: Timestamp,
        /// When it lapses.
        until: Timestamp,
        /// Why the question was opened again.
        reason: ContestReason,
    },
    /// Was verified and no longer is.
    Lapsed {
        /// When.
        at: Timestamp,
        /// Why.
        reason: LapseReason,
    },
    /// The challenge was not answered in time, or the holder answered a contest.
    Closed {
        /// When.
        at: Timestamp,
        /// True when the present holder proved control again.
        refused: bool,
    },
}

/// Why a verified claim must be proven again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContestReason {
    /// Another organisation proved control.
    OtherProof,
    /// The creation date changed: the name was dropped and registered again.
    CreationChanged,
    /// The registrar changed.
    RegistrarChanged,
}

/// Why a claim lapsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LapseReason {
    /// The record was removed and did not come back within the grace period.
    ProofGone,
    /// The new challenge was not answered in time.
    ChallengeNotAnswered,
    /// It was proven by a file on a web server, and another organisation proved the name by DNS, which wins.
    DnsProof,
}

/// What happened to a claim; becomes an event of its organisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimEvent {
    /// Control was proven.
    Verified,
    /// The record is gone; the grace period began.
    ProofGone,
    /// The record is back within the grace period.
    ProofBack,
    /// A new challenge must be answered.
    Contested,
    /// The new challenge was answered.
    ContestAnswered,
    /// The claim no longer counts.
    Lapsed,
    /// The challenge was not answered in time.
    Expired,
    /// The present holder proved control again, so this claim was closed.
    Refused,
}

/// Equal rounds by few name servers, which together can count as one by most of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FewRounds {
    /// What they came to.
    pub outcome: Outcome,
    /// When the first was.
    pub first_at: Timestamp,
    /// How many.
    pub count: u8,
}

/// An organisation's claim to a domain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// What must be published now.
    pub challenge: Challenge,
    /// How.
    pub method: Method,
    /// Where it stands.
    #[serde(flatten)]
    pub state: ClaimState,
    /// When it is checked next; `None` when it is over.
    pub next_check_at: Option<Timestamp>,
    /// Checks since the state began: drives the back-off.
    pub checks: u32,
    /// When the proof was seen last.
    pub last_proven_at: Option<Timestamp>,
    /// First of the denials that together mean "gone".
    pub first_denied_at: Option<Timestamp>,
    /// Equal rounds by few name servers.
    pub few: Option<FewRounds>,
}

/// Longest pause between checks of a claim that is not verified yet.
const SLOWEST: SignedDuration = SignedDuration::from_hours(1);
/// First pause.
const FASTEST: SignedDuration = SignedDuration::from_secs(30);

impl Claim {
    /// A new claim.
    pub fn new(domain: &str, nonce: Nonce, method: Method, now: Timestamp, policy: &ClaimPolicy) -> Claim {
        Claim {
            challenge: challenge(domain, nonce, now, policy.challenge_valid),
            method,
            state: ClaimState::Pending,
            next_check_at: Some(now + FASTEST),
            checks: 0,
            last_proven_at: None,
            first_denied_at: None,
            few: None,
        }
    }

    /// True when the organisation may act for the domain.
    pub fn counts(&self) -> bool {
        matches!(
            self.state,
            ClaimState::Verified { .. } | ClaimState::Grace { .. } | ClaimState::Contested { .. }
        )
    }

    /// Since when it counts, or counts no more; `None` when it never did.
    pub fn turned_at(&self) -> Option<Timestamp> {
        match self.state {
            ClaimState::Verified { since }
            | ClaimState::Grace { since, .. }
            | ClaimState::Contested { since, .. } => Some(since),
            ClaimState::Lapsed { at, .. } => Some(at),
            ClaimState::Pending | ClaimState::Waiting { .. } | ClaimState::Closed { .. } => None,
        }
    }

    /// True when nothing will happen to it any more.
    pub fn is_over(&self) -> bool {
        matches!(self.state, ClaimState::Lapsed { .. } | ClaimState::Closed { .. })
    }

    /// The claim after a round. `held_by_other`: another organisation's claim to the domain counts now (then a proof
    /// leads to [`ClaimState::Waiting`], and the caller opens the contest with [`Claim::contest`]).
    pub fn after(
        mut self,
        outcome: Outcome,
        now: Timestamp,
        held_by_other: bool,
        policy: &ClaimPolicy,
    ) -> (Claim, Option<ClaimEvent>) {
        self.checks = self.checks.saturating_add(1);
        let outcome = self.weigh(outcome, now, policy);
        let is_proven = outcome == Outcome::Proven;
        if is_proven {
            self.last_proven_at = Some(now);
            self.first_denied_at = None;
        } else if outcome == Outcome::Mixed {
            self.first_denied_at = None;
        }
        let event = match self.state.clone() {
            ClaimState::Pending if self.challenge.is_expired(now) => {
                Some(self.end(ClaimState::Closed { at: now, refused: false }, ClaimEvent::Expired))
            }
            ClaimState::Pending if is_proven && held_by_other => {
                self.enter(ClaimState::Waiting { until: now + policy.contest });
                None
            }
            ClaimState::Pending if is_proven => Some(self.verified(now, ClaimEvent::Verified)),
            // The proof must still hold when the holder's time is up.
            ClaimState::Waiting { .. } if is_proven && !held_by_other => {
                Some(self.verified(now, ClaimEvent::Verified))
            }
            // The holder answered, or another organisation took over meanwhile: the contest begins again.
            ClaimState::Waiting { until } if now >= until && held_by_other => {
                self.enter(ClaimState::Pending);
                None
            }
            ClaimState::Waiting { .. } if self.is_gone(outcome, now, policy) => {
                self.enter(ClaimState::Pending);
                None
            }
            ClaimState::Verified { since } if self.is_gone(outcome, now, policy) => {
                self.enter(ClaimState::Grace { since, until: now + policy.grace });
                Some(ClaimEvent::ProofGone)
            }
            ClaimState::Grace { since, .. } if is_proven => {
                self.enter(ClaimState::Verified { since });
                Some(ClaimEvent::ProofBack)
            }
            ClaimState::Grace { until, .. }
                if now >= until && self.may_lapse(outcome, until, now, policy) =>
            {
                let state = ClaimState::Lapsed { at: now, reason: LapseReason::ProofGone };
                Some(self.end(state, ClaimEvent::Lapsed))
            }
            ClaimState::Contested { since, .. } if is_proven => {
                self.enter(ClaimState::Verified { since });
                Some(ClaimEvent::ContestAnswered)
            }
            ClaimState::Contested { until, .. }
                if now >= until && self.may_lapse(outcome, until, now, policy) =>
            {
                let state = ClaimState::Lapsed { at: now, reason: LapseReason::ChallengeNotAnswered };
                Some(self.end(state, ClaimEvent::Lapsed))
            }
            _ => None,
        };
        self.next_check_at = self.next_check(now, policy);
        (self, event)
    }

    /// Opens the question again: the holder must publish a new nonce in time. A claim that does not count, or is
    /// contested already, stays as it is: a contest is not prolonged by repeating it.
    pub fn contest(
        mut self,
        reason: ContestReason,
        nonce: Nonce,
        now: Timestamp,
        policy: &ClaimPolicy,
    ) -> (Claim, Option<ClaimEvent>) {
        let (ClaimState::Verified { since } | ClaimState::Grace { since, .. }) = self.state else {
            return (self, None);
        };
        let until = now + policy.contest;
        let domain = self.challenge.domain.clone();
        self.challenge = challenge(&domain, nonce, now, policy.contest);
        self.enter(ClaimState::Contested { since, until, reason });
        self.next_check_at = self.next_check(now, policy);
        (self, Some(ClaimEvent::Contested))
    }

    /// Closes the challenger's claim after the holder answered.
    pub fn refuse(mut self, now: Timestamp) -> (Claim, Option<ClaimEvent>) {
        if !matches!(self.state, ClaimState::Waiting { .. }) {
            return (self, None);
        }
        let event = self.end(ClaimState::Closed { at: now, refused: true }, ClaimEvent::Refused);
        (self, Some(event))
    }

    pub(super) fn enter(&mut self, state: ClaimState) {
        self.state = state;
        self.checks = 0;
        self.first_denied_at = None;
        self.few = None;
    }

    pub(super) fn end(&mut self, state: ClaimState, event: ClaimEvent) -> ClaimEvent {
        self.enter(state);
        event
    }

    fn verified(&mut self, now: Timestamp, event: ClaimEvent) -> ClaimEvent {
        self.enter(ClaimState::Verified { since: now });
        event
    }

    /// Three equal rounds by few name servers over an hour count as one by most of them.
    fn weigh(&mut self, outcome: Outcome, now: Timestamp, policy: &ClaimPolicy) -> Outcome {
        let whole = match outcome {
            Outcome::ProvenByFew => Outcome::Proven,
            Outcome::DeniedByFew => Outcome::Denied,
            // Nothing follows from these, so they interrupt nothing.
            Outcome::NoAnswer | Outcome::Indeterminate | Outcome::Bogus => return outcome,
            Outcome::Proven | Outcome::Denied | Outcome::Mixed => {
                self.few = None;
                return outcome;
            }
        };
        let few = match self.few {
            Some(few) if few.outcome == outcome => FewRounds { count: few.count.saturating_add(1), ..few },
            _ => FewRounds { outcome, first_at: now, count: 1 },
        };
        self.few = Some(few);
        if few.count >= policy.few_rounds && now.duration_since(few.first_at) >= policy.apart {
            whole
        } else {
            outcome
        }
    }

    /// "Gone" is two denials an hour apart without a proof between them.
    fn is_gone(&mut self, outcome: Outcome, now: Timestamp, policy: &ClaimPolicy) -> bool {
        if outcome != Outcome::Denied {
            return false;
        }
        let first = *self.first_denied_at.get_or_insert(now);
        now.duration_since(first) >= policy.apart
    }

    /// A claim lapses on a denial. Where no answer can be had at all it does so only after the same time again, so
    /// that a fault of our own network at the wrong moment takes nothing away.
    fn may_lapse(&self, outcome: Outcome, until: Timestamp, now: Timestamp, policy: &ClaimPolicy) -> bool {
        matches!(outcome, Outcome::Denied) || now >= until + policy.grace
    }

    fn next_check(&self, now: Timestamp, policy: &ClaimPolicy) -> Option<Timestamp> {
        let backed_off = || {
            let factor = 1_i32 << self.checks.min(12);
            FASTEST.checked_mul(factor).map_or(SLOWEST, |pause| pause.min(SLOWEST))
        };
        let pause = match self.state {
            ClaimState::Lapsed { .. } | ClaimState::Closed { .. } => return None,
            ClaimState::Verified { .. } if self.first_denied_at.is_some() => policy.apart,
            ClaimState::Verified { .. } if self.few.is_some() => policy.apart / 2,
            ClaimState::Verified { .. } => policy.reverify,
            _ => backed_off(),
        };
        let next = now + pause;
        Some(match self.state {
            ClaimState::Grace { until, .. } | ClaimState::Contested { until, .. } if until > now => {
                next.min(until)
            }
            ClaimState::Waiting { until } if until > now => next.min(until),
            ClaimState::Pending => next.min(self.challenge.expires_at.max(now + FASTEST)),
            _ => next,
        })
    }
}

fn challenge(domain: &str, nonce: Nonce, now: Timestamp, valid: SignedDuration) -> Challenge {
    Challenge { domain: domain.to_string(), nonce, issued_at: now, expires_at: now + valid }
}
