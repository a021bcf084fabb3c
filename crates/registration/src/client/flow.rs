//! The order of questions of one look-up. In: a name; out: what was found, what failed. The whole is bounded in time;
//! what was found before the end counts.

use super::context::Context;
use super::error::{FailureKind, LookupError};
use super::exchange::{rdap, whois};
use super::merge::{self, Found};
use super::pace::{Pace, Turn};
use super::referrals::{self, Referral};
use super::result::{Failure, LookupResult};
use crate::data::{registrars, whois_servers};
use model::Timestamp;
use model::detail::RawAnswer;
use model::names::DomainName;
use model::registration::{Outcome, Party, Protocol, Provenance, Registration, RegistrationState};
use url::Url;

/// WHOIS servers asked at most, the registry's included.
const WHOIS_DEPTH: usize = 3;

#[derive(Default)]
struct Trail {
    raw: Vec<RawAnswer>,
    failures: Vec<Failure>,
    found: Vec<Found>,
    /// The registry said that there is no registration.
    settled: Option<RegistrationState>,
    /// The registry's RDAP server that answered 404 without an error object: WHOIS must agree.
    bare: Option<String>,
}

impl Trail {
    fn keep(&mut self, protocol: Protocol, party: Party, server: String, registration: Registration) {
        self.found.push(Found { by: Provenance { protocol, party, server }, registration });
    }
}

/// What a look-up asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Scope {
    /// RDAP, WHOIS where it has something to add, and the registrar.
    Whole,
    /// WHOIS alone.
    Whois,
}

pub(super) async fn lookup(
    context: &Context,
    name: &DomainName,
    now: Timestamp,
    pace: Pace,
    scope: Scope,
) -> LookupResult {
    let mut trail = Trail::default();
    let whole = context.settings.timeout;
    let walk = Walk { context, name, now, pace };
    let questions = async {
        match scope {
            Scope::Whole => walk.all(&mut trail).await,
            Scope::Whois => by_whois(walk, &mut trail).await,
        }
    };
    let in_time = tokio::time::timeout(whole, questions).await.is_ok();
    if !in_time && trail.found.is_empty() {
        let sentence = format!("no server answered about {name} within {} s", whole.as_secs_f32());
        trail.failures.push(Failure {
            protocol: if scope == Scope::Whois { Protocol::Whois } else { Protocol::Rdap },
            party: Party::Registry,
            server: String::new(),
            error: LookupError::new(FailureKind::Timeout, sentence),
        });
    }
    let Trail { raw, failures, found, settled, bare } = trail;
    let outcome = match settled {
        Some(state) => Ok(state),
        None if !found.is_empty() => Ok(RegistrationState::Registered(Box::new(merge::merge(found)))),
        None => Err(match bare {
            Some(server) => unconfirmed(&server, &failures, name),
            None => most_useful(&failures, name),
        }),
    };
    LookupResult { outcome, raw, failures }
}

/// The failure to report when nothing was found.
fn most_useful(failures: &[Failure], name: &DomainName) -> LookupError {
    failures.iter().map(|f| &f.error).min_by_key(|e| e.kind.weight()).cloned().unwrap_or_else(|| {
        LookupError::new(
            FailureKind::Unreachable,
            format!("neither an RDAP nor a WHOIS server is known for .{}", name.tld()),
        )
    })
}

/// A bare 404 that WHOIS did not confirm: the name may be free, and may not. What to do is what WHOIS's failure says.
fn unconfirmed(server: &str, failures: &[Failure], name: &DomainName) -> LookupError {
    let others = failures.iter().filter(|f| f.server != server).map(|f| &f.error);
    let cause = others.min_by_key(|e| e.kind.weight()).cloned().unwrap_or_else(|| {
        LookupError::new(FailureKind::Unparsable, format!("no WHOIS server is known for .{}", name.tld()))
    });
    let sentence = format!(
        "the registry's RDAP server answered 404 without a body and WHOIS could not confirm it: {}",
        cause.sentence
    );
    LookupError { sentence, ..cause }
}

/// One look-up under way.
#[derive(Clone, Copy)]
struct Walk<'a> {
    context: &'a Context,
    name: &'a DomainName,
    now: Timestamp,
    pace: Pace,
}

impl Walk<'_> {
    /// For the next question: when it is, and how long it may wait for its turn.
    fn when(self, trail: &Trail) -> Turn {
        let (first, later) = self.pace.patience(&self.context.settings);
        let patience = if trail.found.is_empty() { first } else { later };
        Turn { now: self.now, patience, later }
    }

    async fn all(self, trail: &mut Trail) {
        by_rdap(self, trail).await;
        // A registry whose turn comes soon is not asked by its other protocol instead.
        let soon =
            |f: &Failure| f.error.postponed && f.error.retry_after.is_some_and(|w| self.pace.comes_back(w));
        if trail.found.is_empty() && trail.failures.iter().any(soon) {
            return;
        }
        let wanting = |f: &Found| f.by.party == Party::Registry && lacks(&f.registration, self.name.tld());
        if trail.settled.is_none() && (trail.found.is_empty() || trail.found.iter().any(wanting)) {
            by_whois(self, trail).await;
        }
    }
}

/// True when a registry's RDAP answer lacks something that its WHOIS may state. Registries known to publish no
/// expiration publish little else; they are asked again only when the answer is empty.
fn lacks(r: &Registration, tld: &str) -> bool {
    let little = crate::publishes_no_expiration(tld);
    !holds_data(r) || !little && (r.created.is_none() || r.expires.is_none() || r.registrar.name.is_none())
}

/// True when an answer holds more than the name and its statuses.
fn holds_data(r: &Registration) -> bool {
    r.created.is_some()
        || r.expires.is_some()
        || r.registrar.name.is_some()
        || r.nameservers.as_ref().is_some_and(|n| !n.is_empty())
}

async fn by_rdap(walk: Walk<'_>, trail: &mut Trail) {
    let Walk { context, name, now, .. } = walk;
    let table = context.bootstrap.table(&context.dialer, &context.dates, now).await;
    // The registry of .com answers "not found" about every name below uk.com, which another registry runs.
    if context.bootstrap.is_public() && whois_servers::below_tld(name.as_str()).is_some() {
        return;
    }
    let mut silent: Option<String> = None;
    for base in table.bases(name.as_str()).iter().take(2) {
        let Some(url) = rdap::address(base, name.as_str()) else { continue };
        // The same host by http, or under another path, would only be silent once more, at the expense of WHOIS.
        if silent.is_some() && silent.as_deref() == url.host_str() {
            continue;
        }
        let when = walk.when(trail);
        match rdap::ask(context, &url, Party::Registry, name.as_str(), when, &mut trail.raw).await {
            Ok(answer) => {
                let related = registrar_address(walk, &answer.reading.registration);
                match answer.reading.outcome {
                    Outcome::Available if answer.is_bare => {
                        let error =
                            LookupError::new(FailureKind::Unparsable, "HTTP status 404 without a body");
                        let (protocol, party, server) = (Protocol::Rdap, Party::Registry, answer.server);
                        trail.bare = Some(server.clone());
                        trail.failures.push(Failure { protocol, party, server, error });
                    }
                    Outcome::Available => trail.settled = Some(RegistrationState::Available),
                    Outcome::Reserved => trail.settled = Some(RegistrationState::Reserved),
                    _ => {
                        trail.keep(
                            Protocol::Rdap,
                            Party::Registry,
                            answer.server,
                            answer.reading.registration,
                        );
                        if let Some(related) = related.filter(|_| context.settings.ask_registrar) {
                            registrar_rdap(walk, &related, &url, trail).await;
                        }
                    }
                }
                return;
            }
            Err(f) => {
                let final_word = matches!(f.error.kind, FailureKind::Throttled | FailureKind::Refused);
                if matches!(f.error.kind, FailureKind::Timeout | FailureKind::Unreachable) {
                    silent = url.host_str().map(str::to_string);
                }
                trail.failures.push(f);
                if final_word {
                    return;
                }
            }
        }
    }
}

/// Where the registrar answers about the name: the registry's link; where it gives none and lacks something, the address
/// that IANA's list of registrars states for the registrar's id.
fn registrar_address(walk: Walk<'_>, answer: &Registration) -> Option<String> {
    let Walk { context, name, .. } = walk;
    if answer.registrar_rdap.is_some() || !context.bootstrap.is_public() || !lacks(answer, name.tld()) {
        return answer.registrar_rdap.clone();
    }
    let base = registrars::registrar_rdap(answer.registrar.iana_id.as_deref()?)?;
    Some(rdap::address(&Url::parse(base).ok()?, name.as_str())?.into())
}

async fn registrar_rdap(walk: Walk<'_>, related: &str, registry: &Url, trail: &mut Trail) {
    let Walk { context, name, .. } = walk;
    let Ok(url) = Url::parse(related) else { return };
    let other = url.host_str() != registry.host_str() || url.port() != registry.port();
    if !other || !matches!(url.scheme(), "https" | "http") {
        return;
    }
    let when = walk.when(trail);
    match rdap::ask(context, &url, Party::Registrar, name.as_str(), when, &mut trail.raw).await {
        Ok(a) if a.reading.outcome == Outcome::Registered => {
            trail.keep(Protocol::Rdap, Party::Registrar, a.server, a.reading.registration);
        }
        // A registrar does not decide whether a name exists.
        Ok(a) => trail.failures.push(Failure {
            protocol: Protocol::Rdap,
            party: Party::Registrar,
            server: a.server,
            error: LookupError::new(FailureKind::Unparsable, "the registrar does not know the name"),
        }),
        Err(f) => trail.failures.push(f),
    }
}

async fn by_whois(walk: Walk<'_>, trail: &mut Trail) {
    let Walk { context, name, .. } = walk;
    let Some((mut host, port)) = registry_server(walk, trail).await else { return };
    let mut party = Party::Registry;
    // Beside RDAP, WHOIS only fills gaps: the registrar was asked by RDAP where the registry names one.
    let alone = trail.found.is_empty();
    let mut visited: Vec<String> = Vec::new();
    while visited.len() < WHOIS_DEPTH && !visited.contains(&host) {
        visited.push(host.clone());
        let when = walk.when(trail);
        let reading = match whois::ask(context, &host, port, party, name.as_str(), when, &mut trail.raw).await
        {
            Ok(r) => r,
            Err(f) => return trail.failures.push(f),
        };
        match (reading.outcome, party) {
            (Outcome::Registered, _) => {}
            (Outcome::Available, Party::Registry) => {
                // Had RDAP found a registration, a WHOIS server that lags behind does not undo it.
                if trail.found.is_empty() {
                    trail.settled = Some(RegistrationState::Available);
                }
                return;
            }
            (Outcome::Reserved, Party::Registry) => {
                if trail.found.is_empty() {
                    trail.settled = Some(RegistrationState::Reserved);
                }
                return;
            }
            _ => {
                return trail.failures.push(Failure {
                    protocol: Protocol::Whois,
                    party,
                    server: host,
                    error: LookupError::new(FailureKind::Unparsable, "the registrar does not know the name"),
                });
            }
        }
        let next = reading.registration.registrar_whois_server.clone();
        trail.keep(Protocol::Whois, party, host.clone(), reading.registration);
        let Some(next) = next.filter(|_| context.settings.ask_registrar && alone) else { return };
        host = next;
        party = Party::Registrar;
    }
}

/// The registry's WHOIS server: that of a second level with a registry of its own, else by referral of the root, else
/// by the shipped table. The root is asked also about a TLD that the table says has no server, since it may have one by
/// now, but not when RDAP has answered already.
async fn registry_server(walk: Walk<'_>, trail: &mut Trail) -> Option<(String, u16)> {
    let Walk { context, name, now, .. } = walk;
    let root = &context.whois_root;
    // Where the root is on another port (a closed network), so is everything it refers to.
    let port = root.port;
    let tld = name.tld();
    if !root.configured
        && let Some(host) = whois_servers::below_tld(name.as_str())
    {
        return Some((host.to_string(), port));
    }
    let shipped = if root.configured { None } else { whois_servers::of_suffix(tld) };
    if shipped == Some(None) && !trail.found.is_empty() {
        return None;
    }
    let shipped = shipped.flatten();
    let referred = match context.referrals.get(tld, now) {
        Some(known) => known,
        None => ask_root(walk, trail).await,
    };
    let referred = match referred {
        Referral::To(host) => Some(host),
        Referral::NoServer => None,
        Referral::Failed(error) => {
            let server = root.host.clone();
            trail.failures.push(Failure { protocol: Protocol::Whois, party: Party::Registry, server, error });
            None
        }
    };
    // A root that refers to itself has nothing to say, unless it is the registry (IANA for .int).
    let host = referred
        .filter(|h| !h.eq_ignore_ascii_case(&root.host) || shipped == Some(root.host.as_str()))
        .or_else(|| shipped.map(str::to_string));
    if host.is_none() && trail.failures.is_empty() {
        let error =
            LookupError::new(FailureKind::Unreachable, format!("no server is known that answers for .{tld}"));
        trail.failures.push(Failure {
            protocol: Protocol::Whois,
            party: Party::Registry,
            server: root.host.clone(),
            error,
        });
    }
    host.map(|h| (h, port))
}

/// Asks the root who answers for the TLD, unless someone does already.
async fn ask_root(walk: Walk<'_>, trail: &Trail) -> Referral {
    let Walk { context, name, now, .. } = walk;
    let (root, tld) = (&context.whois_root, name.tld());
    let turn = context.referrals.turn(tld);
    let _turn = turn.lock().await;
    if let Some(known) = context.referrals.get(tld, now) {
        return known;
    }
    let patience = walk.when(trail).patience;
    let referral =
        match whois::exchange(context, &root.host, root.port, &format!("{tld}\r\n"), patience).await {
            Ok((bytes, permit)) => {
                permit.went_well();
                match referrals::referral(&crate::whois::decode_text(tld, &bytes)) {
                    Some(host) => Referral::To(host),
                    None => Referral::NoServer,
                }
            }
            // Whose turn comes later gave up by his own patience; the next may have more.
            Err(error) if error.postponed => return Referral::Failed(error),
            Err(error) => Referral::Failed(error),
        };
    context.referrals.put(tld, referral.clone(), now);
    referral
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_rdap_answer_lacks_depends_on_what_the_registry_publishes() {
        let time = |s: &str| Some(s.parse().expect("a time"));
        let mut r = Registration { created: time("2001-02-03T04:05:06Z"), ..Registration::default() };
        assert!(lacks(&r, "com") && !lacks(&r, "de"), ".de publishes no expiration, and no more by WHOIS");
        r.expires = time("2031-02-03");
        assert!(lacks(&r, "com"), "no registrar");
        r.registrar.name = Some("Sample Names".into());
        assert!(!lacks(&r, "com"));
        let thin = Registration { statuses: Some([].into()), ..Registration::default() };
        assert!(lacks(&thin, "com") && lacks(&thin, "de"), "nothing at all");
    }
}
