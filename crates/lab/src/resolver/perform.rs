//! Commands on resolvers, and the memory that a scenario starts them with.
//! In: an [`Act`] for one resolver or for all. Out: what happened, in words; an error has changed nothing, but for `all`
//! those before the one that failed.

use std::sync::PoisonError;

use hickory_proto::rr::{Name, RData, Record, RecordType};

use super::{
    Act, Resolver,
    answer::learn,
    cache::{Known, negative_ttl},
};
use crate::{Error, lab::Shared, names, scenario::Scenario, world::record_line};

fn refuse(reason: impl Into<String>) -> Error {
    Error::Command(reason.into())
}

fn wire(name: &str) -> Result<Name, Error> {
    names::normal(name).map(|n| names::wire(&n)).map_err(refuse)
}

fn record_type(text: &str) -> Result<RecordType, Error> {
    text.to_ascii_uppercase().parse().map_err(|_| refuse(format!("`{text}` is no record type")))
}

fn record(line: &str) -> Result<Record, Error> {
    let line = record_line(line, "").map_err(refuse)?;
    Ok(Record::from_rdata(line.name, line.ttl, line.data))
}

impl Shared {
    /// Applies an act to the resolver with this id, or to `all`.
    pub(crate) fn act(&self, id: &str, act: &Act) -> Result<String, Error> {
        let chosen: Vec<&Resolver> =
            self.resolvers.all().filter(|r| id == "all" || r.about.id == id).collect();
        if chosen.is_empty() {
            let known: Vec<&str> = self.resolvers.all().map(|r| r.about.id.as_str()).collect();
            return Err(refuse(format!("no resolver has the id `{id}`; known: all, {}", known.join(", "))));
        }
        let mut said = Vec::new();
        for resolver in chosen {
            said.push(format!("{}: {}", resolver.about.id, perform(self, resolver, act)?));
        }
        Ok(said.join("\n"))
    }

    /// What the scenario says resolvers already know.
    pub(crate) fn remember(&self, scenario: &Scenario) -> Result<(), Error> {
        for about in &scenario.resolver {
            let geo = about.geo.iter().map(|line| Act::Geo(line.clone()));
            let cached = about.cached.iter().map(|line| Act::Cache(line.clone()));
            let missing = about.missing.iter().map(|line| Act::PrimeNegative(line.clone()));
            for act in geo.chain(cached).chain(missing) {
                self.act(&about.id, &act).map_err(|e| Error::Scenario {
                    file: scenario.file.clone(),
                    reason: format!("[[resolver]] {}: {e}", about.id),
                })?;
            }
        }
        Ok(())
    }
}

fn perform(shared: &Shared, resolver: &Resolver, act: &Act) -> Result<String, Error> {
    Ok(match act {
        Act::Filter { mode, names } => {
            let names =
                names.iter().map(|n| names::normal(n)).collect::<Result<Vec<_>, _>>().map_err(refuse)?;
            let mut state = resolver.state();
            match mode {
                Some(mode) => state.filter.extend(names.into_iter().map(|n| (n, *mode))),
                None if names.is_empty() => state.filter.clear(),
                None => state.filter.retain(|n, _| !names.contains(n)),
            }
            format!("{} name(s) withheld", state.filter.len())
        }
        Act::Failing(how) => {
            resolver.state().failing = *how;
            how.map_or_else(|| "works".into(), |how| format!("fails: {how:?}"))
        }
        Act::Geo(line) => {
            let record = record(line)?;
            let said = format!("answers {record}");
            resolver.state().geo.push(record);
            said
        }
        Act::Truth(name) => {
            let name = name.as_deref().map(wire).transpose()?;
            resolver.state().geo.retain(|r| name.as_ref().is_some_and(|n| r.name != *n));
            "answers as everybody".into()
        }
        Act::MinTtl(n) => {
            resolver.state().clamp.min = *n;
            format!("least TTL {n:?}")
        }
        Act::MaxTtl(n) => {
            resolver.state().clamp.max = *n;
            format!("largest TTL {n:?}")
        }
        Act::MaxNegativeTtl(n) => {
            resolver.state().clamp.max_negative = *n;
            format!("largest TTL of negative answers {n:?}")
        }
        Act::Delay(ms) => {
            resolver.state().delay = *ms;
            format!("answers after {ms} ms")
        }
        Act::Prime { name, rtype } => prime(shared, resolver, &wire(name)?, record_type(rtype)?)?,
        Act::PrimeNegative(line) => prime_negative(shared, resolver, line)?,
        Act::Cache(line) => {
            let record = record(line)?;
            let said = format!("remembers {record}");
            let now = shared.resolvers.now();
            let mut state = resolver.state();
            // A set is learnt line by line.
            let name = record.name.clone();
            let rtype = record.record_type();
            let mut records = match state.cache.get(&name, rtype, now) {
                Some(Known::Records(known)) if known.iter().all(|r| r.record_type() == rtype) => known,
                _ => Vec::new(),
            };
            records.retain(|r| r.data != record.data);
            let ttl = record.ttl;
            records.push(record);
            for record in &mut records {
                record.ttl = ttl;
            }
            state.cache.put(&name, rtype, Known::Records(records), now, super::cache::Clamp::default());
            said
        }
        Act::Flush(name) => {
            let name = name.as_deref().map(wire).transpose()?;
            format!("{} answer(s) forgotten", resolver.state().cache.flush(name.as_ref()))
        }
    })
}

fn prime(shared: &Shared, resolver: &Resolver, name: &Name, rtype: RecordType) -> Result<String, Error> {
    let mut at = name.clone();
    for _ in 0..16 {
        let (known, _) = learn(shared, resolver, &at, rtype);
        let known = known.ok_or_else(|| refuse(format!("no server answers for {at}")))?;
        let next = match &known {
            Known::Records(records) => records.iter().find_map(|r| match &r.data {
                RData::CNAME(alias) if rtype != RecordType::CNAME => Some(alias.0.clone()),
                _ => None,
            }),
            Known::Nothing { .. } => None,
        };
        let Some(next) = next else {
            return Ok(match known {
                Known::Records(records) => format!("remembers {} {rtype} record(s) of {at}", records.len()),
                Known::Nothing { .. } => format!("remembers that {at} has no {rtype}"),
            });
        };
        at = next;
    }
    Err(refuse(format!("{name} is a loop of aliases")))
}

/// `NAME TYPE [nxdomain|nodata] [SECONDS]`, with the SOA of the zone that would have said it.
fn prime_negative(shared: &Shared, resolver: &Resolver, line: &str) -> Result<String, Error> {
    let form = || refuse("write: prime-negative NAME TYPE [nxdomain|nodata] [SECONDS]");
    let words: Vec<&str> = line.split_whitespace().collect();
    let (name, rtype, rest) = match words.as_slice() {
        [name, rtype, rest @ ..] if rest.len() <= 2 => (wire(name)?, record_type(rtype)?, rest),
        _ => return Err(form()),
    };
    let (kind, seconds) = match rest {
        [] => (None, None),
        [kind @ ("nxdomain" | "nodata")] => (Some(*kind), None),
        [kind @ ("nxdomain" | "nodata"), seconds] => (Some(*kind), Some(*seconds)),
        [seconds] => (None, Some(*seconds)),
        _ => return Err(form()),
    };
    let seconds: Option<u32> = seconds.map(str::parse).transpose().map_err(|_| form())?;
    let world = shared.world.read().unwrap_or_else(PoisonError::into_inner);
    let is_apex = world.zones.contains_key(&name);
    let nxdomain = kind.map_or(!is_apex, |kind| kind == "nxdomain");
    // A zone that was not there yet was denied by the one above it.
    let mut at = if is_apex && nxdomain { name.base_name() } else { name.clone() };
    let zone = loop {
        if let Some(zone) = world.zones.get(&at) {
            break zone;
        }
        if at.is_root() {
            return Err(refuse(format!("no zone of the lab is above {name}")));
        }
        at = at.base_name();
    };
    let (_, soa) = zone.soa().ok_or_else(|| refuse(format!("the zone {at} has no SOA")))?;
    let mut soa = soa.clone();
    let ttl = seconds.unwrap_or_else(|| zone.negative_ttl());
    soa.minimum = soa.minimum.max(ttl);
    let authority = vec![Record::from_rdata(at.clone(), ttl, RData::SOA(soa))];
    drop(world);
    let ttl = negative_ttl(&authority).unwrap_or(ttl);
    let known = Known::Nothing { nxdomain, authority };
    let now = shared.resolvers.now();
    resolver.state().cache.put(&name, rtype, known, now, super::cache::Clamp::default());
    let what = if nxdomain { "does not exist".to_owned() } else { format!("has no {rtype}") };
    Ok(format!("remembers for {ttl} s that {name} {what}"))
}
