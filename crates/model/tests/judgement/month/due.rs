//! What is to be reported of a domain within the simulated month, and when at the earliest and the latest.

use super::*;

/// A change that is to be reported: its values, and from when to when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Due {
    kind: EventKind,
    old: Option<String>,
    new: Option<String>,
    from: Timestamp,
    until: Timestamp,
}

impl Due {
    pub(super) fn is(&self, at: Timestamp, change: &Change) -> bool {
        (self.kind, &self.old, &self.new) == (change.kind, &change.old, &change.new)
            && (self.from..=self.until).contains(&at)
    }
}

/// What is to be reported of a domain within the month.
pub(super) fn due(domain: u64) -> Vec<Due> {
    use EventKind as K;
    let happens = happens(domain);
    let some = |text: &str| Some(text.to_string());
    // Reported with the first look that sees it.
    let at_once = |kind, old: Option<&str>, new: Option<&str>, hour, by_registry| {
        let first = at(seen(domain, hour, by_registry), 0);
        Due { kind, old: old.map(Into::into), new: new.map(Into::into), from: first, until: first }
    };
    // Reported when a second look confirms it, six minutes later.
    let confirmed = |kind, old: &str, new: &str, by_registry| {
        let first = seen(domain, happens, by_registry);
        Due { kind, old: some(old), new: some(new), from: at(first, 6), until: at(first, 6) }
    };
    // With the second look at an answer that alarms, six minutes later.
    let alarming = |kind, old, new, hour| {
        let due = at_once(kind, old, new, hour, true);
        let second = due.from.checked_add(6.minutes()).unwrap();
        Due { from: second, until: second, ..due }
    };
    let alarm = |flag, hour| alarming(K::StatusAdded, None, Some(flag), hour);
    let with_alarm = |flag, hour| alarming(K::StatusRemoved, Some(flag), None, hour);
    let flag = |flag, hour| at_once(K::StatusAdded, None, Some(flag), hour, true);
    let no_flag = |flag, hour| at_once(K::StatusRemoved, Some(flag), None, hour, true);
    let moved_on = |kind| at_once(kind, Some(EXPIRES), Some(MOVED_ON), happens, true);
    let moved = |kind, old, new, hour| at_once(kind, Some(old), Some(new), hour, true);
    let key = |tag| format!("{tag} 13 2 {}", "AB".repeat(32));
    match Truth::of(domain) {
        Quiet => vec![],
        AutoRenew => vec![flag("autoRenewPeriod", happens), moved_on(K::ExpirationChanged)],
        GraceEnds => vec![
            flag("autoRenewPeriod", happens),
            moved_on(K::ExpirationChanged),
            no_flag("autoRenewPeriod", happens + STEP),
            moved(K::Renewed, MOVED_ON, MOVED_ON, happens + STEP),
        ],
        Redemption => vec![
            flag("autoRenewPeriod", happens),
            moved_on(K::ExpirationChanged),
            with_alarm("autoRenewPeriod", happens + STEP),
            alarm("redemptionPeriod", happens + STEP),
            with_alarm("redemptionPeriod", happens + 2 * STEP),
            alarm("pendingDelete", happens + 2 * STEP),
        ],
        Renewal | RegistrarFollows | RegistrarSilent => {
            // Announced when the registrar says the same, or says nothing for long enough.
            let first = seen(domain, happens, true);
            let both = |from: i64| {
                (from..).find(|h| registry_answers(domain, *h) && registrar_answers(domain, *h)).unwrap()
            };
            let said = match Truth::of(domain) {
                Renewal => both(happens),
                RegistrarFollows => both(happens + STEP),
                _ => seen(domain, first + OVERTAKEN, true),
            };
            if said == first {
                return vec![moved_on(K::Renewed)];
            }
            vec![moved_on(K::ExpirationChanged), moved(K::Renewed, MOVED_ON, MOVED_ON, said)]
        }
        Transfer | LeavesRegistrar => {
            vec![alarming(K::RegistrarChanged, Some("NAMECHEAP INC"), Some("Lantern Registrar"), happens)]
        }
        PendingTransfer => vec![
            alarm("pendingTransfer", happens),
            with_alarm("pendingTransfer", happens + STEP),
            alarming(K::RegistrarChanged, Some("NAMECHEAP INC"), Some("Lantern Registrar"), happens + STEP),
        ],
        Lock => vec![flag("clientDeleteProhibited", happens)],
        Unlock => vec![no_flag("clientTransferProhibited", happens)],
        NameserverMove => {
            // By a second look at the parent zone, or at once by the registry, which follows two hours later, if that is seen
            // no later than the zone.
            let (zone, registry) = (seen(domain, happens, false), seen(domain, happens + 2, true));
            let first = at(zone, 6).min(at(registry, 0));
            let old = some("ns1.digitalocean.com, ns2.digitalocean.com");
            let new = some("ns1.meridian-dns.example, ns2.meridian-dns.example");
            vec![Due { kind: K::NameserversChanged, old, new, from: first, until: first }]
        }
        KeyRollover => {
            vec![confirmed(K::DnssecChanged, &key(1), &key(2), false)]
        }
        Bogus => {
            let (old, new) = (DnssecStatus::Secure.label(), DnssecStatus::Bogus.label());
            vec![confirmed(K::DnssecStatusChanged, old, new, false)]
        }
        ServerDies => {
            let (old, new) = (ServerHealth::Authoritative.label(), ServerHealth::Dead.label());
            vec![confirmed(K::DelegationHealthChanged, old, new, false)]
        }
        AllServersDie => {
            let (old, new) = (ServerHealth::Authoritative.label(), ServerHealth::Dead.label());
            let due = confirmed(K::DelegationHealthChanged, old, new, false);
            // Where packets were lost in the day before, the first server changed too often to be believed at once: an outage
            // is when it lasts an hour.
            let until = at(seen(domain, happens, false) + 2, 12);
            vec![due.clone(), Due { until, ..due }]
        }
        AddressLost => {
            let (has, none) = (ServerHealth::Authoritative.label(), ServerHealth::Unresolvable.label());
            let back = at(seen(domain, happens + STEP, false), 6);
            let due = confirmed(K::DelegationHealthChanged, has, none, false);
            vec![due.clone(), Due { old: due.new, new: due.old, from: back, until: back, ..due }]
        }
        RecordMoves => {
            let moved = confirmed(K::RecordChanged, "192.0.2.1", "192.0.2.2", false);
            // Where packets were lost in the day before, the record changed too often to be believed at once: when it
            // has been the same for a day.
            let first = seen(domain, happens, false);
            let calm = |hour: i64| !(hour - 26..=hour).any(|h| loses_packets(domain, h));
            let last = (first..).find(|h| calm(*h)).unwrap();
            vec![Due { until: at(last, 12), ..moved }]
        }
        Expires(days) => {
            let end = at(24 * days, 0);
            let new = some(&model::time::StatedTime::utc(end).to_string());
            // At the first look of the day with so many left; the first one at the start, if that is later.
            let reached = REMINDER_DAYS.iter().map(|left| (*left, 24 * (days - left)));
            let within = reached.filter(|(left, hour)| *hour < HOURS && (*hour >= 0 || *left == 30));
            let kind = |left| if left == 0 { K::Expired } else { K::ExpiresSoon };
            within
                .map(|(left, hour)| {
                    let from = at(seen(domain, 0, true).max(hour), 0);
                    Due { kind: kind(left), old: None, new: new.clone(), from, until: from }
                })
                .collect()
        }
        Released => {
            let released = confirmed(K::Released, "NAMECHEAP INC", "available", true);
            let (registry, zone) = (seen(domain, happens, true), seen(domain, happens, false));
            // Not before it is seen that the zone dropped it.
            let first = if zone > registry { at(zone, 0) } else { at(registry, 6) };
            let old = some("ns1.digitalocean.com, ns2.digitalocean.com");
            let (from, until) = (at(zone, 6), at(zone, 6));
            let gone = Due { kind: K::NameserversChanged, old, new: None, from, until };
            vec![Due { from: first, until: first, ..released }, gone]
        }
        StillDelegated => {
            let released = confirmed(K::Released, "NAMECHEAP INC", "available", true);
            // A day later.
            let day = at(seen(domain, seen(domain, happens, true) + 24, true), 0);
            vec![Due { from: day, until: day, ..released }]
        }
    }
}
