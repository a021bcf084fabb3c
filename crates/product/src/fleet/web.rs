//! Whether a web server is ready, from all places: this server and every point of presence that is online.

use super::agents::{ask, online};
use super::places::{PATIENCE, chosen};
use crate::{Services, Work, unavailable};
use ::fleet::{Answer, Question};
use futures::future::{join, join_all};
use model::Timestamp;
use model::ids::Caller;
use model::names::Fqdn;
use model::places::Looked;
use model::web_places::{WebAnswer, WebPlace, checked_path};
use monitor::{Clock, Observer};
use service::{ApiError, ApiResult};
use store::{Agent, Store};

/// Reads what is to be asked: a host name and a path, `/` unless given.
///
/// # Errors
/// `Invalid`, with the rule.
pub fn web_question(name: &str, path: &str) -> ApiResult<(Fqdn, String)> {
    let name = Fqdn::read(name).map_err(|e| ApiError::invalid(e.to_string()))?.name;
    if name.as_str().is_empty() {
        return Err(ApiError::invalid("The root has no web server: name a host."));
    }
    Ok((name, checked_path(path).map_err(ApiError::invalid)?))
}

/// What a web server answers from here and from every point of presence that is online. This place comes first.
///
/// # Errors
/// `Unavailable` when the store does not answer.
pub async fn web_places(
    store: &dyn Store,
    clock: &dyn Clock,
    observer: &dyn Observer,
    here: &str,
    (name, path): (&Fqdn, &str),
) -> ApiResult<Looked<WebPlace>> {
    let (agents, left_out) = chosen(online(store, clock.now()).await.map_err(unavailable)?);
    let places = web_answers(store, clock, observer, here, &agents, (name, path)).await;
    Ok(Looked { places, left_out })
}

async fn web_answers(
    store: &dyn Store,
    clock: &dyn Clock,
    observer: &dyn Observer,
    here: &str,
    agents: &[Agent],
    (name, path): (&Fqdn, &str),
) -> Vec<WebPlace> {
    let question = Question::Web { name: name.to_string(), path: path.to_string() };
    let each = agents.iter().map(|agent| async {
        let (seen, error) = match ask(store, clock, agent, &question, PATIENCE).await {
            Ok(Answer::Web { seen }) => (Some(*seen), None),
            Ok(Answer::Failed { reason }) | Err(reason) => (None, Some(reason)),
            Ok(_) => (None, Some("the answer is of another kind".to_string())),
        };
        let (id, label, region) = (agent.id.clone(), agent.id.clone(), agent.region.clone());
        WebPlace { id, label, region, seen, error }
    });
    let (from_here, mut places) = join(look(observer, (name, path), clock.now()), join_all(each)).await;
    let (seen, error) = match from_here {
        Ok(seen) => (Some(seen), None),
        Err(reason) => (None, Some(reason)),
    };
    let region = String::new();
    places.insert(0, WebPlace { id: "local".into(), label: here.into(), region, seen, error });
    places
}

/// The look from here: redirects to hosts that are silent end with the patience that points of presence get.
async fn look(
    observer: &dyn Observer,
    (name, path): (&Fqdn, &str),
    now: Timestamp,
) -> Result<WebAnswer, String> {
    let seen = tokio::time::timeout(PATIENCE, observer.web(name, path, now)).await;
    seen.unwrap_or_else(|_| Err(format!("no answer within {} s", PATIENCE.as_secs())))
}

impl Services {
    pub(super) async fn web_from_places(
        &self,
        caller: &Caller,
        name: &str,
        path: &str,
    ) -> ApiResult<Looked<WebPlace>> {
        let (name, path) = web_question(name, path)?;
        let (agents, left_out) = chosen(self.online_agents().await?);
        let _permit = self.tools.limits.enter(caller, Work::Authority).await?;
        let (store, clock) = (&**self.store(), &*self.scanner.clock);
        let observer = self.scanner.observer.as_ref();
        let places = web_answers(store, clock, observer, "This server", &agents, (&name, &path)).await;
        Ok(Looked { places, left_out })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use async_trait::async_trait;
    use model::detail::RawAnswer;
    use model::names::DomainName;
    use model::observation::Part;
    use model::registration::RegistrationState;
    use monitor::DnsParts;
    use monitor::observer::Progress;

    struct Stuck;

    #[async_trait]
    impl Observer for Stuck {
        async fn registration(
            &self,
            _: &DomainName,
            _: Timestamp,
            _: &dyn Progress,
        ) -> (Part<RegistrationState>, Vec<RawAnswer>) {
            (Part::default(), vec![])
        }

        async fn dns(&self, _: &DomainName, _: Timestamp, _: &dyn Progress) -> DnsParts {
            DnsParts::default()
        }

        async fn web(&self, _: &Fqdn, _: &str, _: Timestamp) -> Result<WebAnswer, String> {
            std::future::pending().await
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_host_that_never_answers_ends_the_look() {
        let name = Fqdn::read("www.q7.io").unwrap().name;
        let seen = look(&Stuck, (&name, "/"), Timestamp::UNIX_EPOCH).await;
        assert_eq!(seen, Err("no answer within 20 s".to_string()));
    }
}
