//! Measurement networks of third parties as places to look from: Globalping and RIPE Atlas. In: a name, a type, and
//! perhaps a name server. Out: what each of their places got. Off unless the feature is turned on, because names leave this
//! server; capped per day; what is left of credits is kept for the Fleet page.

mod atlas;
mod globalping;

use crate::{Services, Work, query_error, unavailable};
use futures::future::join_all;
use model::Timestamp;
use model::ids::Caller;
use model::names::Fqdn;
use model::third_party::{ThirdPartyAnswer, ThirdPartyLook};
use net::{Dialer, HttpAnswer};
use serde::{Deserialize, Serialize};
use service::{ApiError, ApiResult, ThirdPartyView};
use std::sync::Arc;
use std::time::Duration;
use store::Store;
use url::Url;

/// The feature that guards them.
pub(crate) const FEATURE: &str = "third-party-vantages";
/// Octets of an answer.
const BODY_MAX: usize = 1 << 20;
/// Records of one place.
const RECORDS_MAX: usize = 100;
/// Characters of a text of theirs.
const TEXT_MAX: usize = 200;
/// Characters of a record's name or data: what fits in a record (RFC 1035 section 3.2.1), so that sets compare whole.
const DATA_MAX: usize = 65_535;
/// Attempts to count a measurement while other processes count theirs.
const ATTEMPTS: usize = 8;
/// How long results are waited for.
const PATIENCE: Duration = Duration::from_secs(45);
/// How long further results of a measurement are waited for after the last new one.
const QUIET: Duration = Duration::from_secs(5);
/// Pause between looks at a measurement in progress.
const PAUSE: Duration = Duration::from_millis(700);
/// Name of the rows about their use, before the name of the network.
const USAGE: &str = "third-party/";

/// One line without control characters, not too long.
fn clean(text: &str) -> String {
    clean_to(text, TEXT_MAX)
}

fn clean_to(text: &str, max: usize) -> String {
    text.chars().filter(|c| !c.is_control()).take(max).collect::<String>().trim().to_string()
}

/// A measurement network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThirdPartyKind {
    /// Globalping.
    Globalping,
    /// RIPE Atlas.
    Atlas,
}

impl ThirdPartyKind {
    /// The name people see.
    pub fn label(self) -> &'static str {
        match self {
            ThirdPartyKind::Globalping => "Globalping",
            ThirdPartyKind::Atlas => "RIPE Atlas",
        }
    }

    fn word(self) -> &'static str {
        match self {
            ThirdPartyKind::Globalping => "globalping",
            ThirdPartyKind::Atlas => "atlas",
        }
    }
}

/// A network that may be asked. Its `Debug` form leaves the key out.
#[derive(Clone)]
pub struct ThirdPartyNetwork {
    /// Which one.
    pub kind: ThirdPartyKind,
    /// Address of its API, without a path.
    pub base: Url,
    /// Token or key.
    pub key: Option<String>,
}

impl std::fmt::Debug for ThirdPartyNetwork {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at {}", self.kind.label(), self.base)
    }
}

/// The networks that may be asked, and how much. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ThirdParties {
    /// The networks.
    pub networks: Arc<[ThirdPartyNetwork]>,
    /// Places of each that one look asks.
    pub places: u32,
    /// Measurements of each in a day (UTC).
    pub daily: u32,
    /// Connections.
    pub dialer: Dialer,
}

/// What is asked: name and type, and the name server to ask (empty: the resolver of each place).
#[derive(Debug, Clone, Copy)]
struct Asked<'a> {
    name: &'a str,
    rtype: &'a str,
    server: &'a str,
}

/// What was used of a network, as it is stored.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Usage {
    /// The day that `used` is about.
    day: String,
    used: u32,
    credits: Option<i64>,
    credits_at: Option<Timestamp>,
}

/// Why no measurement came about.
struct NotMade {
    words: String,
    /// The network refused, or was not reached; otherwise it may have made one.
    is_certain: bool,
}

impl ThirdPartyNetwork {
    fn host(&self) -> String {
        format!("{USAGE}{}", self.kind.word())
    }

    async fn usage(&self, store: &dyn Store, now: Timestamp) -> Result<(Option<i64>, Usage), store::Error> {
        let day = now.strftime("%Y-%m-%d").to_string();
        let row = store.budget(&self.host()).await?;
        let (version, mut usage): (_, Usage) = match row {
            Some((version, text)) => (Some(version), serde_json::from_str(&text).unwrap_or_default()),
            None => (None, Usage::default()),
        };
        if usage.day != day {
            (usage.day, usage.used) = (day, 0);
        }
        Ok((version, usage))
    }

    /// Changes what is stored about its use; `change` says no by an error.
    async fn change(
        &self,
        store: &dyn Store,
        now: Timestamp,
        change: impl Fn(&mut Usage) -> Result<(), String> + Send + Sync,
    ) -> Result<(), String> {
        let words = |e: store::Error| {
            tracing::error!(error = %e, network = self.kind.word(), "the use of a measurement network can't be counted");
            "the database did not respond".to_string()
        };
        for _ in 0..ATTEMPTS {
            let (version, mut usage) = self.usage(store, now).await.map_err(words)?;
            change(&mut usage)?;
            let text = serde_json::to_string(&usage).map_err(|e| e.to_string())?;
            if store.swap_budget(&self.host(), version, &text, now).await.map_err(words)?.is_some() {
                return Ok(());
            }
        }
        Err("too many measurements at the same time".into())
    }

    fn url(&self, path: &str) -> Result<Url, String> {
        self.base.join(path).map_err(|e| e.to_string())
    }

    fn authorization(&self) -> Option<String> {
        let key = self.key.as_ref()?;
        Some(match self.kind {
            ThirdPartyKind::Globalping => format!("Bearer {key}"),
            ThirdPartyKind::Atlas => format!("Key {key}"),
        })
    }

    fn refusal(&self, answer: &HttpAnswer) -> String {
        let words = match self.kind {
            ThirdPartyKind::Globalping => globalping::refusal(&answer.body),
            ThirdPartyKind::Atlas => atlas::refusal(&answer.body),
        };
        match words {
            Some(words) => format!("status {}: {words}", answer.status),
            None => format!("status {}", answer.status),
        }
    }

    async fn get(&self, dialer: &Dialer, path: &str) -> Result<HttpAnswer, String> {
        let authorization = self.authorization();
        let fields: Vec<_> = authorization.iter().map(|v| ("authorization", v.as_str())).collect();
        let answer = dialer.http_get_once_with(&self.url(path)?, "application/json", &fields, BODY_MAX).await;
        let answer = answer.map_err(|e| e.to_string())?;
        if answer.status == 200 { Ok(answer) } else { Err(self.refusal(&answer)) }
    }

    /// Creates a measurement; the answer names it.
    async fn create(&self, dialer: &Dialer, asked: &Asked<'_>, places: u32) -> Result<HttpAnswer, NotMade> {
        let (path, body) = match self.kind {
            ThirdPartyKind::Globalping => ("/v1/measurements", globalping::request(asked, places)),
            ThirdPartyKind::Atlas => ("/api/v2/measurements/", atlas::request(asked, places)),
        };
        let authorization = self.authorization();
        let mut fields = vec![("content-type", "application/json"), ("accept", "application/json")];
        fields.extend(authorization.iter().map(|v| ("authorization", v.as_str())));
        let body = body.to_string().into_bytes();
        let url = self.url(path).map_err(|words| NotMade { words, is_certain: true })?;
        let answer = dialer.http_post_with(&url, &fields, body, BODY_MAX).await;
        let answer = answer.map_err(|e| NotMade {
            is_certain: matches!(
                e,
                net::Error::NoAddress { .. } | net::Error::Blocked { .. } | net::Error::Unreachable { .. }
            ),
            words: e.to_string(),
        })?;
        match answer.status {
            200..=202 => Ok(answer),
            _ => Err(NotMade { words: self.refusal(&answer), is_certain: true }),
        }
    }

    /// The results of a measurement: what each place got, and the credits that are left, where the network says.
    async fn results(
        &self,
        dialer: &Dialer,
        made: &HttpAnswer,
        asked: &Asked<'_>,
        places: u32,
    ) -> Result<(Vec<ThirdPartyAnswer>, Option<i64>), String> {
        match self.kind {
            ThirdPartyKind::Globalping => self.globalping(dialer, made, asked, places).await,
            ThirdPartyKind::Atlas => self.atlas(dialer, made, asked, places).await,
        }
    }
}

impl ThirdParties {
    /// One network's part of a look; what it could not do is in words, without its key.
    async fn ask(
        &self,
        network: &ThirdPartyNetwork,
        store: &dyn Store,
        now: Timestamp,
        asked: &Asked<'_>,
    ) -> Result<Vec<ThirdPartyAnswer>, String> {
        let daily = self.daily;
        let book = |u: &mut Usage| {
            if u.used >= daily {
                return Err(format!("the {daily} measurements of today are used up (--third-party-daily)"));
            }
            u.used += 1;
            Ok(())
        };
        network.change(store, now, book).await?;
        let outcome = match network.create(&self.dialer, asked, self.places).await {
            Ok(made) => network.results(&self.dialer, &made, asked, self.places).await,
            Err(why) => {
                if why.is_certain {
                    let take_back = |u: &mut Usage| {
                        u.used = u.used.saturating_sub(1);
                        Ok(())
                    };
                    // If this fails, the daily count stays one too high.
                    let _ = network.change(store, now, take_back).await;
                }
                Err(why.words)
            }
        };
        let label = if outcome.is_ok() { "answered" } else { "failed" };
        metrics::counter!("domainscope_third_party_measurements_total", "network" => network.kind.word(), "outcome" => label)
            .increment(1);
        let (answers, credits) = outcome?;
        if credits.is_some() {
            let note = |u: &mut Usage| {
                (u.credits, u.credits_at) = (credits, Some(now));
                Ok(())
            };
            // The answers count, whatever becomes of the note.
            let _ = network.change(store, now, note).await;
        }
        Ok(answers)
    }

    /// Each network with what was used of it.
    pub(super) async fn views(
        &self,
        store: &dyn Store,
        now: Timestamp,
    ) -> Result<Vec<ThirdPartyView>, store::Error> {
        let mut out = Vec::new();
        for network in self.networks.iter() {
            let (_, usage) = network.usage(store, now).await?;
            out.push(ThirdPartyView {
                name: network.kind.label().into(),
                address: network.base.to_string(),
                has_key: network.key.is_some(),
                used_today: usage.used,
                daily: self.daily,
                credits: usage.credits,
                credits_at: usage.credits_at,
            });
        }
        Ok(out)
    }
}

impl Services {
    pub(super) async fn third_party_look(
        &self,
        caller: &Caller,
        name: &str,
        rtype: &str,
        server: &str,
    ) -> ApiResult<ThirdPartyLook> {
        let name = Fqdn::read(name).map_err(|e| ApiError::invalid(e.to_string()))?.name;
        if name.as_str().is_empty() {
            return Err(ApiError::invalid("Measurement networks are not asked about the root: name a host."));
        }
        let rtype = if rtype.trim().is_empty() { "A" } else { rtype.trim() };
        dns::known_type(rtype).map_err(|e| query_error(&e))?;
        let server = match server.trim() {
            "" => String::new(),
            host => Fqdn::read(host).map_err(|e| ApiError::invalid(e.to_string()))?.name.to_string(),
        };
        let rtype = rtype.to_ascii_uppercase();
        let mut look = ThirdPartyLook { name: name.to_string(), rtype, server, ..ThirdPartyLook::default() };
        let Some(parties) = &self.tools.third_parties else { return Ok(look) };
        // Off: an empty look, as where no network is set up.
        let Some(_use) = self.gates.enter(FEATURE) else { return Ok(look) };
        let _permit = self.tools.limits.enter(caller, Work::Compare).await?;
        let (store, now) = (&**self.store(), self.now());
        let asked = Asked { name: name.as_str(), rtype: &look.rtype, server: &look.server };
        let asked = &asked;
        let each =
            parties.networks.iter().map(|n| async move { (n, parties.ask(n, store, now, asked).await) });
        let (mut answers, mut problems) = (Vec::new(), Vec::new());
        for (network, outcome) in join_all(each).await {
            match outcome {
                Ok(seen) => answers.extend(seen),
                Err(why) => {
                    tracing::info!(
                        network = network.kind.word(),
                        why,
                        "a measurement network gave no answer"
                    );
                    problems.push(format!("{}: {}.", network.kind.label(), why.trim_end_matches('.')));
                }
            }
        }
        (look.answers, look.problems) = (answers, problems);
        Ok(look)
    }

    pub(super) async fn third_party_views(&self) -> ApiResult<Vec<ThirdPartyView>> {
        let Some(parties) = self.tools.third_parties.as_ref().filter(|_| self.gates.is_on(FEATURE)) else {
            return Ok(Vec::new());
        };
        parties.views(&**self.store(), self.now()).await.map_err(unavailable)
    }
}
