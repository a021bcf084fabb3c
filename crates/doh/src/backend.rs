//! Where answers come from. In: name and type. Out: an [`Entry`], always: a lookup that fails is one too.
//! Here the walk from the root hints with our own engine; `upstream` asks other DoH servers instead.

use crate::entry::{Entry, rcode};
use crate::validate::Validator;
use async_trait::async_trait;
use dns::wire::{Data, Name, Reply, Rr, Rtype};
use dns::{Engine, Error, Fetched};
use jiff::Timestamp;
use model::dns::AnswerKind;

/// Extended errors of RFC 8914.
pub(crate) mod extended {
    pub(crate) const OTHER: u16 = 0;
    pub(crate) const UNSUPPORTED_ALGORITHM: u16 = 1;
    pub(crate) const STALE: u16 = 3;
    pub(crate) const BOGUS: u16 = 6;
    pub(crate) const SIGNATURE_EXPIRED: u16 = 7;
    pub(crate) const SIGNATURE_NOT_YET_VALID: u16 = 8;
    pub(crate) const DNSKEY_MISSING: u16 = 9;
    pub(crate) const RRSIGS_MISSING: u16 = 10;
    pub(crate) const NSEC_MISSING: u16 = 12;
    pub(crate) const STALE_NXDOMAIN: u16 = 19;
    pub(crate) const NOT_AUTHORITATIVE: u16 = 20;
    pub(crate) const NOT_SUPPORTED: u16 = 21;
    pub(crate) const NO_REACHABLE_AUTHORITY: u16 = 22;
    pub(crate) const NETWORK: u16 = 23;
}

/// Looks one name and type up.
#[async_trait]
pub trait Backend: Send + Sync {
    /// What is known about it now; `unchecked` when the client validates by itself.
    async fn look_up(&self, name: &Name, rtype: Rtype, unchecked: bool, now: Timestamp) -> Entry;

    /// True when `unchecked` makes a difference to what comes back.
    fn minds_unchecked(&self) -> bool {
        false
    }
}

/// Our own recursion: from the root hints down, validated.
pub struct Recursive {
    engine: Engine,
    validator: Validator,
}

impl Recursive {
    /// Recursion with this engine's root hints, trust anchors, address map and guard.
    pub fn new(engine: Engine) -> Self {
        Recursive { validator: Validator::new(engine.clone()), engine }
    }
}

#[async_trait]
impl Backend for Recursive {
    async fn look_up(&self, name: &Name, rtype: Rtype, _: bool, now: Timestamp) -> Entry {
        let fetched = match self.engine.fetch(name, rtype).await {
            Ok(fetched) => fetched,
            Err(e @ Error::Exhausted { .. }) => return Entry::failure(now, extended::NETWORK, e.to_string()),
            Err(e) => return Entry::failure(now, extended::NO_REACHABLE_AUTHORITY, e.to_string()),
        };
        let Some(mut entry) = entry(name, rtype, &fetched, now) else {
            let why = format!("the servers of {} give no usable answer", fetched.zone);
            return Entry::failure(now, extended::NO_REACHABLE_AUTHORITY, why);
        };
        let judged = self.validator.judge(name, rtype, &fetched, now).await;
        entry.hold_for(judged.seconds);
        entry.security = judged.security;
        entry.explained = judged.explained;
        entry
    }
}

fn entry(name: &Name, rtype: Rtype, fetched: &Fetched, now: Timestamp) -> Option<Entry> {
    let usable = |rr: &&Rr| rr.class == 1 && rr.data != Data::Malformed;
    let Reply { answers, authority, rcode, .. } = &fetched.reply;
    match fetched.kind {
        AnswerKind::Answer | AnswerKind::NonAuthoritative | AnswerKind::NoData | AnswerKind::NxDomain => {}
        _ => return None,
    }
    let covers = |rr: &Rr, wanted: Rtype| {
        rr.rtype == wanted || matches!(&rr.data, Data::Rrsig(sig) if sig.type_covered == wanted)
    };
    let at_name =
        |wanted: Rtype| answers.iter().filter(usable).any(|rr| rr.name == *name && rr.rtype == wanted);
    let proofs = |rr: &&Rr| [Rtype::NSEC, Rtype::NSEC3].into_iter().any(|t| covers(rr, t));
    let kind = if at_name(rtype) { rtype } else { Rtype::CNAME };
    if at_name(kind) {
        let wanted = |rr: &&Rr| {
            (rr.name == *name && covers(rr, kind))
                || (kind == Rtype::CNAME && name.is_below(&rr.name) && covers(rr, Rtype::DNAME))
        };
        let found = answers.iter().filter(usable).filter(wanted).cloned().collect();
        let denials = authority.iter().filter(usable).filter(proofs).cloned().collect();
        let mut entry = Entry::found(now, found, denials);
        if kind != rtype {
            entry.next = entry.answers.iter().find_map(|rr| match &rr.data {
                Data::Cname(target) if rr.name == *name => Some(target.clone()),
                _ => None,
            });
        }
        return Some(entry);
    }
    let code = match (*rcode, fetched.kind) {
        (rcode::NXDOMAIN, _) => rcode::NXDOMAIN,
        (rcode::NOERROR, _) => rcode::NOERROR,
        _ => return None,
    };
    let wanted = |rr: &&Rr| proofs(rr) || (covers(rr, Rtype::SOA) && name.is_at_or_below(&rr.name));
    Some(Entry::denial(now, code, authority.iter().filter(usable).filter(wanted).cloned().collect()))
}
