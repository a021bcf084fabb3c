//! Referrals of the WHOIS root that were learnt, and how they are read from its answers. In: the root's text about a
//! TLD. Out: which host answers for it.

use super::error::LookupError;
use model::Timestamp;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// How long a referral is good, and how long it is believed that there is none: that may have been a bad moment.
const GOOD_FOR: i64 = 86_400;
const NONE_FOR: i64 = 600;
/// How long a root that failed is not asked again about the same: those who waited meanwhile would fail one by one.
const FAILED_FOR: i64 = 5;

/// The root's answer about a TLD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Referral {
    /// This host answers.
    To(String),
    /// The root names no server.
    NoServer,
    /// It could not be asked.
    Failed(LookupError),
}

/// Referrals of the root that were learnt.
#[derive(Debug, Default)]
pub(super) struct Referrals {
    known: Mutex<HashMap<String, (Referral, Timestamp)>>,
    asking: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

impl Referrals {
    /// What is known; `None`: the root is to be asked.
    pub fn get(&self, tld: &str, now: Timestamp) -> Option<Referral> {
        let all = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (referral, at) = all.get(tld)?;
        // One that was learnt in the future is a wrong clock's, and would be good for ever.
        let good_for = match referral {
            Referral::To(_) => GOOD_FOR,
            Referral::NoServer => NONE_FOR,
            Referral::Failed(_) => FAILED_FOR,
        };
        (0..good_for).contains(&(now.as_second() - at.as_second())).then(|| referral.clone())
    }

    pub fn put(&self, tld: &str, referral: Referral, now: Timestamp) {
        let mut all = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // There are about 1,500 TLDs; anything beyond is someone's noise.
        if all.len() < 10_000 || all.contains_key(tld) {
            all.insert(tld.to_string(), (referral, now));
        }
    }

    /// The lock under which one look-up asks about a TLD; the others wait and use its result. Without it every look-up of a
    /// TLD's first minute would ask the root, and take a place in its queue.
    pub fn turn(&self, tld: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut asking = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        if asking.len() >= 1_000 {
            asking.retain(|_, turn| Arc::strong_count(turn) > 1);
        }
        asking.entry(tld.to_string()).or_default().clone()
    }
}

/// The server a root's answer refers to: `refer:`, else `whois:`.
pub(super) fn referral(text: &str) -> Option<String> {
    let of = |label: &str| {
        text.lines().take(500).find_map(|l| {
            let (k, v) = l.split_once(':')?;
            if !k.trim().eq_ignore_ascii_case(label) {
                return None;
            }
            crate::whois::host_name(v.split_whitespace().next()?)
        })
    };
    of("refer").or_else(|| of("whois"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_referral_is_good_for_a_day_by_whatever_clock() {
        let known = Referrals::default();
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        known.put("test", Referral::To("whois.nic.test".into()), at("2026-11-20T12:00:00Z"));
        assert!(known.get("test", at("2026-11-21T11:59:59Z")).is_some());
        assert!(known.get("test", at("2026-11-21T12:00:00Z")).is_none());
        assert!(known.get("test", at("2016-11-20T12:00:00Z")).is_none(), "learnt by a clock that was ahead");
        // The root was tired, or in trouble: that is not believed for a day.
        known.put("zz", Referral::NoServer, at("2026-11-20T12:00:00Z"));
        assert_eq!(known.get("zz", at("2026-11-20T12:09:00Z")), Some(Referral::NoServer));
        assert_eq!(known.get("zz", at("2026-11-20T12:10:00Z")), None);
    }

    #[test]
    fn referrals_are_read() {
        assert_eq!(referral("% x\nrefer:        whois.nic.uk\n\nwhois: b.c"), Some("whois.nic.uk".into()));
        assert_eq!(
            referral("domain: COM\nwhois:        whois.verisign-grs.com\n"),
            Some("whois.verisign-grs.com".into())
        );
        assert_eq!(referral("whois:\nstatus: ACTIVE\n"), None);
    }
}
