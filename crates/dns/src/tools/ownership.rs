//! What the authoritative servers return for an ownership challenge (SPEC section 7). In: a challenge and the record it
//! expects. Out: `model::ownership::Observed`, every address of every server that speaks for the name on its own.
//!
//! Nothing comes from a cache or through a resolver. A single server must not be able to redirect the question: the
//! servers are all those that any server of the parent names, and those that answer for the name themselves; below the
//! registered domain all servers of a set must agree on a delegation before it is followed.

use crate::delegation::trace::{ServerReply, Step, ask_all, descend, question};
use crate::dnssec::validate::Validation;
use crate::engine::{Engine, within_memory};
use crate::error::Error;
use crate::input::{wire_name, wire_type};
use crate::present;
use crate::resolve::classify::ns_names;
use crate::resolve::reach::intercepted;
use crate::resolve::referred;
use crate::session::transport::Failure;
use crate::session::{QueryMode, Session};
use crate::wire::{Data, Name, Reply as Message, Rtype};
use futures::future::join_all;
use jiff::Timestamp;
use model::dns::{AnswerKind, NsName};
use model::ownership::near_miss::other_names;
use model::ownership::{Challenge, Elsewhere, ExpectedRecord, Observed, Reply, ServerAnswer, Value};

/// Addresses asked about near misses: the servers have the same zone mostly.
const ASKED_ELSEWHERE: usize = 2;
/// Values of one reply that are kept, and characters of each.
const VALUES: usize = 40;
const CHARACTERS: usize = 600;
/// Values at the domain itself that have to do with us: there are many others.
const OURS: &str = model::ownership::challenge::APEX_PREFIX;

impl Engine {
    /// Asks every address of every authoritative server for the record a challenge expects.
    ///
    /// # Errors
    /// [`Error::Name`] for names that can't be asked for, [`Error::Intercepted`] and [`Error::TooMuchData`]; servers
    /// that fail are part of the result.
    pub async fn ownership(
        &self,
        challenge: &Challenge,
        expected: &ExpectedRecord,
        now: Timestamp,
    ) -> Result<Observed, Error> {
        let domain = wire_name(&challenge.domain)?;
        let (name, rtype) = (wire_name(&expected.name)?, wire_type(&expected.rtype)?);
        let session = self.check_session();
        let found = speakers(&session, &domain).await?;
        let nothing = |reason: &str| Observed {
            at: now,
            servers: vec![ServerAnswer {
                nameserver: challenge.domain.clone(),
                address: None,
                serial: None,
                reply: Reply::Unusable { reason: reason.to_string() },
            }],
            dnssec: model::dns::DnssecStatus::Insecure,
            elsewhere: Vec::new(),
            negative_ttl: None,
        };
        let (zone, servers) = match found {
            Ok(found) => found,
            Err(reason) => return Ok(nothing(&reason)),
        };
        session.learn_zone(&zone, servers.clone(), 0);
        let (record, soa) = (question(&name, rtype), question(&zone, Rtype::SOA));
        let (replies, soas) = futures::join!(
            ask_all(&session, &zone, &servers, &record, QueryMode::Resolver),
            ask_all(&session, &zone, &servers, &soa, QueryMode::Resolver)
        );
        let serial = |i: usize| {
            let reply = soas.get(i).and_then(|s| s.asked.as_ref()?.reply()).filter(|r| r.aa)?;
            present::soa_of(reply).map(|soa| soa.serial)
        };
        let answers: Vec<ServerAnswer> = replies
            .iter()
            .enumerate()
            .map(|(i, reply)| ServerAnswer {
                nameserver: reply.server.clone(),
                address: reply.address,
                serial: serial(i),
                reply: answer(reply, &name, expected),
            })
            .collect();
        let messages: Vec<&Message> =
            replies.iter().filter(|r| r.kind.is_authoritative()).filter_map(message).collect();
        let dnssec = Validation::of(&session, &zone, now).await.judge(&messages, &name, rtype);
        let holds = |s: &ServerAnswer| match &s.reply {
            Reply::Records { values } => {
                values.iter().any(|v| v.rtype == expected.rtype && v.text == expected.value)
            }
            _ => false,
        };
        let answering: Vec<_> = answers.iter().filter(|s| s.reply.is_answer()).collect();
        let elsewhere = match answering.iter().all(|s| holds(s)) {
            true => Vec::new(),
            false => elsewhere(&session, challenge, expected, &answering).await,
        };
        let negative_ttl = messages
            .iter()
            .filter(|m| m.answers.is_empty())
            .find_map(|m| m.authority.iter().find_map(present::soa).map(|soa| soa.negative_ttl()));
        within_memory(&session, &domain)?;
        Ok(Observed { at: now, servers: answers, dnssec, elsewhere, negative_ttl })
    }
}

fn message(reply: &ServerReply) -> Option<&Message> {
    reply.asked.as_ref()?.reply()
}

/// The zone the domain is in, and every server that speaks for it; the inner error says why there is none.
async fn speakers(session: &Session, domain: &Name) -> Result<Result<(Name, Vec<NsName>), String>, Error> {
    let (steps, _) = descend(session, domain, Rtype::NS, Some(domain)).await;
    let Some(last) = steps.last() else { return Err(Error::Hints("no root server".into())) };
    let asked = last.replies.iter().filter_map(|s| s.asked.as_deref());
    if let Some(e) = intercepted(&last.zone, &question(domain, Rtype::NS), asked) {
        return Err(e);
    }
    let text = domain.to_string();
    let registered = model::names::Fqdn::trusted(&text).registrable();
    let registered =
        registered.and_then(|d| Name::from_text(d.as_str()).ok()).unwrap_or_else(|| domain.clone());
    if let Some(step) = steps.iter().find(|s| s.zone.is_at_or_below(&registered) && !agrees(s)) {
        return Ok(Err(format!("the servers of {} disagree about the delegation of {text}", step.zone)));
    }
    let is_cut = last.referral.as_ref().is_some_and(|(to, _)| to == domain);
    let (zone, mut servers) = if is_cut || last.replies.iter().any(|r| serves_apex(r, domain)) {
        (domain.clone(), named_by_any(last, domain))
    } else if last.zone.is_at_or_below(&registered) {
        (last.zone.clone(), servers_of(last))
    } else {
        return Ok(Err(format!("{registered} is not delegated")));
    };
    session.complete(&mut servers).await;
    Ok(Ok((zone, servers)))
}

/// True when all servers of a step that said something useful said the same kind of thing.
fn agrees(step: &Step) -> bool {
    let mut kinds = step.replies.iter().filter_map(|reply| match reply.kind {
        AnswerKind::Referral => {
            let zone = message(reply).and_then(crate::resolve::classify::referral_zone);
            Some(zone.map(ToString::to_string))
        }
        kind if kind.is_authoritative() => Some(None),
        _ => None,
    });
    let first = kinds.next();
    kinds.all(|kind| Some(&kind) == first.as_ref())
}

/// True when the server answers with authority as a server of the domain itself.
fn serves_apex(reply: &ServerReply, domain: &Name) -> bool {
    reply.kind == AnswerKind::Answer
        && message(reply).is_some_and(|m| !ns_names(&m.answers, domain).is_empty())
}

/// The servers that any server of the step names for the domain, and those that answer for it themselves.
fn named_by_any(step: &Step, domain: &Name) -> Vec<NsName> {
    let mut servers: Vec<NsName> = Vec::new();
    for reply in &step.replies {
        let Some(message) = message(reply) else { continue };
        let named = match reply.kind {
            AnswerKind::Referral => referred(message, domain, &step.zone),
            kind if kind.is_authoritative() => {
                let own = reply.address.into_iter().collect();
                vec![NsName { name: reply.server.clone(), addresses: own, glue: true }]
            }
            _ => continue,
        };
        for server in named {
            match servers.iter_mut().find(|s| s.name == server.name) {
                Some(known) => {
                    known.addresses.extend(server.addresses);
                    known.addresses.sort();
                    known.addresses.dedup();
                }
                None => servers.push(server),
            }
        }
    }
    servers
}

/// The servers of a step themselves.
fn servers_of(step: &Step) -> Vec<NsName> {
    let mut servers: Vec<NsName> = Vec::new();
    for reply in &step.replies {
        match servers.iter_mut().find(|s| s.name == reply.server) {
            Some(known) => known.addresses.extend(reply.address),
            None => {
                let addresses: Vec<_> = reply.address.into_iter().collect();
                servers.push(NsName { name: reply.server.clone(), glue: !addresses.is_empty(), addresses });
            }
        }
    }
    servers
}

/// What a reply counts as: only an authoritative NOERROR or NXDOMAIN is an answer.
fn answer(reply: &ServerReply, name: &Name, expected: &ExpectedRecord) -> Reply {
    let unusable = |reason: &str| Reply::Unusable { reason: reason.to_string() };
    let Some(asked) = &reply.asked else { return unusable("no address is known for this name server") };
    match (reply.kind, asked.reply()) {
        (AnswerKind::NxDomain, _) => Reply::NoSuchName,
        (kind, Some(message)) if kind.is_authoritative() => {
            Reply::Records { values: values(message, name, expected) }
        }
        (AnswerKind::Referral, _) => unusable("refers to other servers: the name is delegated"),
        (kind, _) => match &asked.result {
            Err(Failure::Unreachable(why) | Failure::NotAsked(why)) => unusable(why),
            _ => unusable(kind.words()),
        },
    }
}

/// Values at the name, whatever their type; at the domain itself only those that look like ours.
fn values(message: &Message, name: &Name, expected: &ExpectedRecord) -> Vec<Value> {
    let at_apex = expected.value.starts_with(OURS);
    let nonce = expected.value.rsplit('=').next().unwrap_or_default().to_string();
    let read = message.answers.iter().filter(|rr| rr.name == *name).filter_map(|rr| {
        let text = match &rr.data {
            Data::Txt(strings) => String::from_utf8_lossy(&strings.concat()).into_owned(),
            Data::Cname(target) => target.to_string().trim_end_matches('.').to_string(),
            Data::Rrsig(_) => return None,
            _ => present::data_text(rr),
        };
        let is_ours =
            text.contains("domainscope") || (!nonce.is_empty() && text.to_lowercase().contains(&nonce));
        let text = text.chars().take(CHARACTERS).collect();
        (!at_apex || is_ours).then(|| Value { rtype: rr.rtype.to_string(), text })
    });
    // The expected value may be one of hundreds.
    let mut all: Vec<Value> = read.collect();
    all.sort_by_key(|v| v.text != expected.value);
    all.truncate(VALUES);
    all
}

/// Values at names where people put the record by mistake, asked of a few servers that answer.
async fn elsewhere(
    session: &Session,
    challenge: &Challenge,
    expected: &ExpectedRecord,
    answering: &[&ServerAnswer],
) -> Vec<Elsewhere> {
    let addresses: Vec<_> = answering.iter().filter_map(|s| s.address).take(ASKED_ELSEWHERE).collect();
    let mut names = other_names(challenge, expected);
    names.insert(0, expected.name.clone());
    let types = [Rtype::TXT, Rtype::CNAME];
    let places = join_all(names.into_iter().map(|text| {
        let addresses = &addresses;
        async move {
            let name = Name::from_text(&text).ok()?;
            let mut found: Vec<Value> = Vec::new();
            for rtype in types {
                let asked = join_all(addresses.iter().map(|ip| async {
                    session.ask(*ip, &question(&name, rtype), QueryMode::Resolver).await
                }));
                for reply in asked.await.iter().filter_map(|a| a.reply()).filter(|r| r.aa) {
                    for value in values(reply, &name, expected) {
                        if !found.contains(&value) {
                            found.push(value);
                        }
                    }
                }
            }
            (!found.is_empty()).then_some(Elsewhere { name: text, values: found })
        }
    }));
    places.await.into_iter().flatten().collect()
}
