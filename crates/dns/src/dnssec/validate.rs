//! Validation of single answers with the keys of their zone. In: a zone and replies of its servers. Out: whether the
//! replies can be believed (RFC 4035 section 5).

use super::denial::{Denials, Proof};
use super::verifier::Verifier;
use super::verify::{Fault, signatures};
use super::{NXDOMAIN, Verdict, ZoneEvidence, anchor, chain};
use crate::delegation::trace::descend;
use crate::session::Session;
use crate::wire::{Dnskey, Name, Reply, Rr, Rtype};
use jiff::Timestamp;
use model::dns::DnssecStatus;

/// A zone's validated keys, or why it has none.
pub(crate) struct Validation {
    zone: Name,
    status: DnssecStatus,
    keys: Vec<Dnskey>,
    verifier: Verifier,
}

impl Validation {
    /// Follows the chain of trust to the zone. A zone without any trust anchor above it counts as unsigned: the
    /// operator chose not to validate.
    pub(crate) async fn of(session: &Session, zone: &Name, now: Timestamp) -> Validation {
        let verifier = Verifier::new(now);
        if anchor(&session.settings.trust_anchors, zone).is_none() {
            let status = DnssecStatus::Insecure;
            return Validation { zone: zone.clone(), status, keys: Vec::new(), verifier };
        }
        // Known servers of the zone are kept: the walk is for the zones above it.
        let kept = session.closest_zone(zone).1;
        let (steps, _) = descend(session, zone, Rtype::SOA, None).await;
        session.learn_zone(zone, kept.to_vec(), 0);
        let cuts: Vec<Name> = steps.iter().skip(1).map(|s| s.zone.clone()).collect();
        let mut evidence = ZoneEvidence::default();
        let Verdict(status, _) = chain(session, zone, cuts, &verifier, &mut evidence).await;
        Validation { zone: zone.clone(), status, keys: evidence.keys, verifier }
    }

    /// What all replies to one question come to: secure only when each of them validates.
    pub(crate) fn judge(&self, replies: &[&Reply], name: &Name, rtype: Rtype) -> DnssecStatus {
        if self.status != DnssecStatus::Secure {
            return self.status;
        }
        let mut worst = DnssecStatus::Secure;
        for reply in replies {
            match self.one(reply, name, rtype) {
                DnssecStatus::Bogus => return DnssecStatus::Bogus,
                DnssecStatus::Indeterminate => worst = DnssecStatus::Indeterminate,
                DnssecStatus::Secure | DnssecStatus::Insecure => {}
            }
        }
        worst
    }

    fn one(&self, reply: &Reply, name: &Name, rtype: Rtype) -> DnssecStatus {
        let keys: Vec<&Dnskey> = self.keys.iter().collect();
        let alias = reply.answers_of(name, Rtype::CNAME).next().is_some();
        let held = if alias { Rtype::CNAME } else { rtype };
        let set: Vec<&Rr> = reply.answers_of(name, held).collect();
        let denials = Denials::of(&reply.authority, &self.zone, &keys, &self.verifier);
        let proof = if set.is_empty() {
            if reply.rcode == NXDOMAIN && !denials.compact_no_name(name) {
                denials.no_name(name)
            } else {
                denials.no_type(name, rtype)
            }
        } else {
            let sigs: Vec<_> = signatures(&reply.answers, name, held).collect();
            match self.verifier.check_set(&set, &sigs, &keys, &self.zone) {
                Ok(()) => {}
                Err(Fault::OutOfBudget) => return DnssecStatus::Indeterminate,
                Err(_) => return DnssecStatus::Bogus,
            }
            let labels = sigs.iter().map(|s| usize::from(s.labels)).min().unwrap_or(0);
            if labels >= name.labels().len() {
                return DnssecStatus::Secure;
            }
            // Made from a wildcard: nothing closer may exist.
            denials.nothing_closer(name, labels)
        };
        match proof {
            Proof::Holds | Proof::Open => DnssecStatus::Secure,
            Proof::Missing if denials.is_undecided() => DnssecStatus::Indeterminate,
            Proof::Missing => DnssecStatus::Bogus,
        }
    }
}
