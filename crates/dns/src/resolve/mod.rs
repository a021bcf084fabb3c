//! Iterative resolution inside one operation: from the closest zone whose servers are known, down to the answer.
//! Used for the addresses of name servers without glue, for host look-ups, and for CNAME chains. Bounded in depth,
//! breadth (NXNS: few side look-ups per referral) and by the session's budget. RFC 1034 section 5.3.3.

pub(crate) mod classify;
pub(crate) mod origin;
pub(crate) mod reach;
mod servers;

use crate::error::Error;
use crate::session::{Learned, QueryResult, Session};
use crate::wire::{Data, Edns, Name, Question, Reply, Rtype};
use classify::ns_names;
use futures::future::{BoxFuture, join_all};
use futures::stream::StreamExt;
use model::dns::{AnswerKind, NsName};
use std::net::IpAddr;
use std::sync::{Arc, PoisonError};

/// Referrals followed in one walk.
pub(crate) const MAX_REFERRALS: usize = 32;
/// Name servers without glue that are looked up per referral.
pub(crate) const MAX_SIDE_LOOKUPS: usize = 6;
/// How deep looking up a name server may need another name server looked up.
const MAX_NESTING: usize = 4;
/// Name servers of one set that are looked at, and addresses of one of them: more than any zone needs, few enough that a
/// hostile referral cannot make us send questions to a crowd.
pub(crate) const MAX_SERVERS: usize = 26;
pub(crate) const MAX_ADDRESSES: usize = 8;
/// Hosts looked up at once: a server that turns out to be silent is then left alone by the rest.
const LOOKUPS_AT_ONCE: usize = 4;
/// Octets charged for remembering a zone besides its servers.
const KEPT_PER_ZONE: usize = 512;
/// Aliases followed.
pub(crate) const MAX_ALIASES: usize = 16;

/// Where a resolution ended.
#[derive(Debug, Clone)]
pub(crate) struct Resolved {
    /// The name the last answer is about.
    pub owner: Name,
    /// The zone whose server answered.
    pub zone: Name,
    /// What the answer amounts to.
    pub kind: AnswerKind,
    /// The answer.
    pub asked: Arc<QueryResult>,
    /// Aliases that were followed, in order: owner and target.
    pub aliases: Vec<(Name, Name)>,
}

/// How a circle of look-ups is called in words.
pub(crate) const CIRCULAR: &str = "circular dependency";

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stuck {
    /// Looking up the first name needs the others in turn; the last is the first again.
    Cycle(Vec<Name>),
    /// Too many referrals or nested look-ups.
    TooDeep,
    /// Aliases lead in a circle or are too many.
    AliasLoop(Name),
    /// No server of the zone gave an answer that counts.
    NoServer {
        zone: Name,
        /// False when none gave any answer, so that nothing is known.
        heard: bool,
    },
    /// Something on the way answers in place of the root servers: how many did.
    Intercepted(usize),
}

impl Stuck {
    pub(crate) fn words(&self) -> String {
        match self {
            Stuck::Cycle(names) => {
                let names: Vec<String> = names.iter().map(Name::to_string).collect();
                format!("{CIRCULAR}: {}", names.join(" → "))
            }
            Stuck::TooDeep => "the delegations are nested too deep".into(),
            Stuck::AliasLoop(name) => format!("the aliases of {name} lead in a circle or are too many"),
            Stuck::NoServer { zone, heard: true } => format!("no server of {zone} answers usefully"),
            Stuck::NoServer { zone, heard: false } => format!("no server of {zone} answers"),
            Stuck::Intercepted(servers) => Error::Intercepted { servers: *servers }.to_string(),
        }
    }
}

/// Addresses of a host, and how it went.
#[derive(Debug, Clone, Default)]
pub(crate) struct HostAddresses {
    pub addresses: Vec<IpAddr>,
    /// The name is an alias of this one (a name server's name must not be: RFC 2181 section 10.3).
    pub alias: Option<Name>,
    /// Why there is no address.
    pub problem: Option<String>,
    /// No address is known because no server answered: the name may well have one.
    pub unanswered: bool,
    /// The names in a circle, where finding the address needs the name itself; else empty.
    pub cycle: Vec<Name>,
}

impl Session {
    /// The closest zone at or above `name` whose servers are known.
    pub(crate) fn closest_zone(&self, name: &Name) -> (Name, Arc<Vec<NsName>>) {
        let zones = self.zones.lock().unwrap_or_else(PoisonError::into_inner);
        let mut zone = name.clone();
        loop {
            if let Some(learned) = zones.get(&zone) {
                return (zone, learned.servers.clone());
            }
            if zone.is_root() {
                return (zone, Arc::new(self.settings.root_hints.servers().to_vec()));
            }
            zone = zone.parent();
        }
    }

    /// Remembers the servers of a zone for the rest of the operation; `ttl` is for those who keep it longer.
    pub(crate) fn learn_zone(&self, zone: &Name, servers: Vec<NsName>, ttl: u32) {
        let strings = |s: &NsName| size_of::<NsName>() + s.name.len() + size_of_val(s.addresses.as_slice());
        if !self.budget.charge(servers.iter().map(strings).sum::<usize>() + KEPT_PER_ZONE) {
            return;
        }
        let learned = Learned { servers: Arc::new(servers), ttl };
        self.zones.lock().unwrap_or_else(PoisonError::into_inner).insert(zone.clone(), learned);
    }

    /// The zones on the way from the root down to `zone`, itself included, where this scan has walked it.
    pub(crate) fn cuts_down_to(&self, zone: &Name) -> Option<Vec<Name>> {
        let zones = self.zones.lock().unwrap_or_else(PoisonError::into_inner);
        zones.get(zone)?;
        let mut cuts: Vec<Name> = zones.keys().filter(|cut| zone.is_at_or_below(cut)).cloned().collect();
        cuts.retain(|cut| !cut.is_root());
        cuts.sort_by_key(|cut| cut.labels().len());
        Some(cuts)
    }

    /// Resolves a question from the closest known zone, following aliases when `follow` is set.
    pub(crate) fn resolve<'a>(
        &'a self,
        name: Name,
        rtype: Rtype,
        follow: bool,
        stack: Vec<Name>,
    ) -> BoxFuture<'a, Result<Resolved, Stuck>> {
        Box::pin(async move {
            let mut aliases: Vec<(Name, Name)> = Vec::new();
            let mut current = name;
            loop {
                let mut found = self.walk(&current, rtype, &stack).await?;
                let target = found.asked.reply().and_then(|r| alias(r, &current));
                match target {
                    Some(target) if follow && rtype != Rtype::CNAME && found.kind == AnswerKind::Answer => {
                        let seen = target == current || aliases.iter().any(|(owner, _)| *owner == target);
                        aliases.push((current.clone(), target.clone()));
                        if seen || aliases.len() > MAX_ALIASES {
                            return Err(Stuck::AliasLoop(aliases[0].0.clone()));
                        }
                        current = target;
                    }
                    _ => {
                        found.aliases = aliases;
                        return Ok(found);
                    }
                }
            }
        })
    }

    async fn walk(&self, name: &Name, rtype: Rtype, stack: &[Name]) -> Result<Resolved, Stuck> {
        let mut question = Question::new(name.clone(), rtype);
        question.edns = Some(Edns::ordinary(self.signatures));
        // DS lives at the parent's side of the cut.
        let from = if rtype == Rtype::DS && !name.is_root() { name.parent() } else { name.clone() };
        let (mut zone, mut servers) = self.closest_zone(&from);
        for _ in 0..MAX_REFERRALS {
            let (asked, kind) = self.first_useful(&zone, &servers, &question, stack).await?;
            let referral = asked.reply().filter(|_| kind == AnswerKind::Referral).and_then(|reply| {
                let to = classify::referral_zone(reply)?.clone();
                let servers = referred(reply, &to, &zone);
                let records =
                    reply.authority.iter().filter(|rr| rr.rtype == Rtype::NS).chain(&reply.additional);
                let ttl = records.map(|rr| rr.ttl).min().unwrap_or(0);
                Some((to, servers, ttl))
            });
            match referral {
                Some((to, next, ttl)) => {
                    self.learn_zone(&to, next.clone(), ttl);
                    zone = to;
                    servers = Arc::new(next);
                }
                None => {
                    return Ok(Resolved { owner: name.clone(), zone, kind, asked, aliases: Vec::new() });
                }
            }
        }
        Err(Stuck::TooDeep)
    }

    /// IPv4 and IPv6 addresses of a host.
    pub(crate) async fn host(&self, host: Name, mut stack: Vec<Name>) -> HostAddresses {
        if let Some(first) = stack.iter().position(|name| *name == host) {
            let cycle = [&stack[first..], &[host]].concat();
            let problem = Some(Stuck::Cycle(cycle.clone()).words());
            return HostAddresses { problem, cycle, ..HostAddresses::default() };
        }
        if stack.len() >= MAX_NESTING {
            return HostAddresses { problem: Some(Stuck::TooDeep.words()), ..HostAddresses::default() };
        }
        stack.push(host.clone());
        let (v4, v6) = futures::join!(
            self.resolve(host.clone(), Rtype::A, true, stack.clone()),
            self.resolve(host.clone(), Rtype::AAAA, true, stack)
        );
        let mut out = HostAddresses::default();
        let mut denied = None;
        for result in [v4, v6] {
            match result {
                Ok(found) => {
                    out.alias = out.alias.or(found.aliases.last().map(|(_, target)| target.clone()));
                    if found.kind == AnswerKind::NxDomain {
                        denied = Some(format!("{} does not exist", found.owner));
                    }
                    let records = found.asked.reply().map(|r| r.answers.as_slice()).unwrap_or_default();
                    out.addresses
                        .extend(records.iter().filter(|rr| rr.name == found.owner).filter_map(address));
                }
                Err(stuck) => {
                    out.problem = Some(stuck.words());
                    match stuck {
                        Stuck::Cycle(names) => out.cycle = names,
                        Stuck::NoServer { heard: false, .. } | Stuck::Intercepted(_) => out.unanswered = true,
                        _ => {}
                    }
                }
            }
        }
        // A denial of one type is one of the name.
        out.unanswered &= out.addresses.is_empty() && denied.is_none();
        out.addresses.sort();
        out.addresses.dedup();
        out.addresses.truncate(MAX_ADDRESSES);
        if out.addresses.is_empty() && out.problem.is_none() {
            out.problem = Some(denied.unwrap_or_else(|| format!("{host} has no address record")));
        }
        out
    }

    /// Addresses of several hosts, in their order, a few at a time.
    pub(crate) async fn hosts(&self, names: Vec<Name>) -> Vec<HostAddresses> {
        futures::stream::iter(names.into_iter().map(|name| self.host(name, Vec::new())))
            .buffered(LOOKUPS_AT_ONCE)
            .collect()
            .await
    }

    /// Looks up the addresses of servers that came without glue; few at most, because a referral may name many
    /// (NXNS). The notes say what was left out and what failed.
    pub(crate) async fn complete(&self, servers: &mut [NsName]) -> Vec<String> {
        let mut notes = Vec::new();
        let bare: Vec<usize> = (0..servers.len()).filter(|i| servers[*i].addresses.is_empty()).collect();
        if bare.len() > MAX_SIDE_LOOKUPS {
            notes.push(format!(
                "{} name servers came without addresses; only {MAX_SIDE_LOOKUPS} of them were looked up",
                bare.len()
            ));
        }
        let chosen = &bare[..bare.len().min(MAX_SIDE_LOOKUPS)];
        let found = join_all(chosen.iter().map(|i| async {
            match Name::from_text(&servers[*i].name) {
                Ok(host) => self.host(host, Vec::new()).await,
                Err(_) => HostAddresses { problem: Some("no valid name".into()), ..HostAddresses::default() },
            }
        }))
        .await;
        for (index, found) in chosen.iter().zip(found) {
            let server = &mut servers[*index];
            if let Some(alias) = found.alias {
                notes.push(format!(
                    "{} is an alias of {alias}; a name server's name must not be",
                    server.name
                ));
            }
            if let Some(problem) = found.problem.filter(|_| found.addresses.is_empty()) {
                notes.push(format!("{}: {problem}", server.name));
            }
            server.addresses = found.addresses;
        }
        notes
    }
}

/// The target of the alias at `name` in the answer section.
pub(crate) fn alias(reply: &Reply, name: &Name) -> Option<Name> {
    reply.answers.iter().find_map(|rr| match &rr.data {
        Data::Cname(target) if rr.name == *name => Some(target.clone()),
        _ => None,
    })
}

/// The address in an A or AAAA record.
pub(crate) fn address(rr: &crate::wire::Rr) -> Option<IpAddr> {
    match rr.data {
        Data::A(ip) => Some(ip.into()),
        Data::Aaaa(ip) => Some(ip.into()),
        _ => None,
    }
}

/// The servers a referral names, with the glue we may believe: names at or below the zone whose server spoke.
pub(crate) fn referred(reply: &Reply, to: &Name, from: &Name) -> Vec<NsName> {
    let names = ns_names(&reply.authority, to).into_iter().take(MAX_SERVERS);
    names.map(|name| glued(reply, &name, from)).collect()
}

/// One server with its glue.
pub(crate) fn glued(reply: &Reply, name: &Name, from: &Name) -> NsName {
    let mut addresses: Vec<IpAddr> = reply
        .additional
        .iter()
        .filter(|rr| rr.name == *name && name.is_at_or_below(from))
        .filter_map(address)
        .collect();
    addresses.sort();
    addresses.dedup();
    addresses.truncate(MAX_ADDRESSES);
    NsName { name: name.to_string(), glue: !addresses.is_empty(), addresses }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Rr;

    #[test]
    fn of_ten_thousand_servers_few_are_believed_in_and_few_addresses_of_each() {
        let name = |text: &str| Name::from_text(text).unwrap();
        let record = |owner: &str, rtype, data| Rr {
            name: name(owner),
            rtype,
            class: 1,
            ttl: 60,
            raw: Vec::new(),
            data,
        };
        let ns = |i: u32| record("zone.test", Rtype::NS, Data::Ns(name(&format!("n{i}.zone.test"))));
        let glue =
            |i: u32| record(&format!("n{}.zone.test", i % 5000), Rtype::A, Data::A((0xC000_0000 + i).into()));
        let mut message = vec![0, 1, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        message[2] = 0x84;
        let mut reply = Reply::read(&message).unwrap();
        reply.authority = (0..10_000).map(ns).collect();
        reply.additional = (0..100_000).map(glue).collect();
        let start = std::time::Instant::now();
        let servers = referred(&reply, &name("zone.test"), &name("test"));
        assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
        assert_eq!(servers.len(), MAX_SERVERS);
        assert!(servers.iter().any(|s| s.addresses.len() == MAX_ADDRESSES));
        assert!(servers.iter().all(|s| s.addresses.len() <= MAX_ADDRESSES));
        // Glue from outside is not believed, however much of it there is.
        let outside = referred(&reply, &name("zone.test"), &name("elsewhere"));
        assert!(outside.iter().all(|s| s.addresses.is_empty() && !s.glue));
    }
}
