//! Who may join: an agent with a token that is unused, and with the key that it presents.

use super::agents::{FEATURE, Signed, parse};
use super::refuse::{Refusal, flood, refuse};
use super::{CLUSTERSET_CLAIM, pace, refusals};
use crate::{Services, unavailable};
use ::fleet::{Join, Joined, OLDEST_PROTOCOL, PROTOCOL, checked_id, suggested_id, verify};
use accounts::{Secret, SecretKind};
use service::{ApiError, ApiResult, RefusedJoin};
use store::{AGENTS_MAX, Agent, JoinOutcome};

/// Regions are as long as that, in characters.
const REGION_MAX: usize = 60;

fn bad_token() -> Refusal {
    Refusal("token", ApiError::forbidden("This token is unknown, used or expired: make another one."))
}

/// The answer to a request to join that shows no valid token. Only these count: an agent with a token gets in while others
/// fail.
fn stranger(network: &str, refusal: Refusal) -> ApiError {
    if pace::may_fail_to_join(network) { refusal.noted() } else { flood() }
}

impl Services {
    /// Reads a request to join, as far as that is possible without the store.
    fn join_request(&self, signed: Signed<'_>) -> Result<(::features::Use, Join, Secret), Refusal> {
        let held = self.using(FEATURE).map_err(|e| Refusal("feature_off", e))?;
        let join: Join = parse(signed.request.body)?;
        if join.protocol < OLDEST_PROTOCOL {
            let words = format!(
                "The agent speaks protocol {}, this server {OLDEST_PROTOCOL} to {PROTOCOL}: update the agent.",
                join.protocol
            );
            return Err(Refusal("protocol", ApiError::invalid(words)));
        }
        let secret = Secret::read(SecretKind::AgentJoin, &join.token).ok_or_else(bad_token)?;
        if !join.id.is_empty() {
            checked_id(&join.id).map_err(|e| Refusal("id", ApiError::invalid(format!("{e}."))))?;
        }
        if data_encoding::BASE64URL_NOPAD.decode(join.key.as_bytes()).map(|k| k.len()) != Ok(32) {
            let words = "The key is not an Ed25519 public key in base64url.";
            return Err(Refusal("key", ApiError::invalid(words)));
        }
        // Every version of the protocol signs with the key that it presents.
        if !verify(&join.key, &signed.request.of_agent(), signed.signature) {
            let words = "The request is not signed with the key that it presents.";
            return Err(Refusal("signature", ApiError::forbidden(words)));
        }
        Ok((held, join, secret))
    }

    /// Makes an agent a member; a request that is repeated, as after a lost response, gets the same answer.
    ///
    /// # Errors
    /// Why it is refused; the token stays unused then.
    pub async fn agent_join(&self, signed: Signed<'_>) -> ApiResult<Joined> {
        let network = signed.network;
        let (_use, join, secret) = self.join_request(signed).map_err(|e| stranger(network, e))?;
        let now = self.now();
        let mut asked = if join.id.is_empty() { ::fleet::new_id() } else { join.id.clone() };
        let one_line =
            |text: &str, n: usize| text.chars().filter(|c| !c.is_control()).take(n).collect::<String>();
        let mut agent = Agent {
            id: asked.clone(),
            region: one_line(join.region.trim(), REGION_MAX),
            key: join.key.clone(),
            version: one_line(&join.version, 40),
            protocol: join.protocol.min(PROTOCOL),
            joined_at: now,
            seen_at: now,
            first_answer_at: None,
            latency_ms: None,
            latency: Default::default(),
            running: 0,
            draining: false,
        };
        let hash = secret.hash();
        let mut outcome = self.store().join_agent(hash.as_str(), &agent, now).await.map_err(unavailable)?;
        if let JoinOutcome::Bound(id) = &outcome
            && join.id.is_empty()
        {
            (asked, agent.id) = (id.clone(), id.clone());
            outcome = self.store().join_agent(hash.as_str(), &agent, now).await.map_err(unavailable)?;
        }
        match outcome {
            JoinOutcome::Token => Err(stranger(network, bad_token())),
            JoinOutcome::Bound(id) => {
                let words = format!(
                    "This token was made for the id {id}: join as {id}, or make another token. The token is still unused."
                );
                Err(refuse("token_id", ApiError::conflict(words)))
            }
            JoinOutcome::Repeated(id) if !join.id.is_empty() && id != join.id => {
                Err(stranger(network, bad_token()))
            }
            JoinOutcome::NoSet => {
                let words = "This server is a member of no set: make another token, which makes the set.";
                Err(refuse("no_set", ApiError::conflict(words)))
            }
            JoinOutcome::Full => {
                let words = format!("The set has {AGENTS_MAX} points of presence, which is the limit.");
                Err(refuse("limit", ApiError::invalid(words)))
            }
            JoinOutcome::Exists => {
                let server = super::identity(&**self.store(), None, now).await?;
                let agents = self.store().agents().await.map_err(unavailable)?;
                let is_free = |id: &str| id != server && !agents.iter().any(|a| a.id == id);
                let suggested = suggested_id(&asked, is_free);
                let words = format!(
                    "The id {asked} exists, and two members never share one. Join as {suggested}, or revoke {asked} \
                     first. The token is still unused."
                );
                let join = RefusedJoin {
                    id: asked,
                    suggested,
                    network: network.into(),
                    region: agent.region,
                    version: agent.version,
                    at: now,
                };
                refusals::keep(&**self.store(), join).await?;
                Err(refuse("id_exists", ApiError::conflict(words)))
            }
            JoinOutcome::Joined => {
                tracing::info!(agent = asked, region = agent.region, "a point of presence joined");
                refusals::settle(&**self.store(), Some(network), &asked, now).await?;
                self.joined(agent).await
            }
            JoinOutcome::Repeated(id) => self.joined(Agent { id, ..agent }).await,
        }
    }

    /// The answer to an agent that is a member now.
    async fn joined(&self, agent: Agent) -> ApiResult<Joined> {
        pace::remember(&agent.id, &agent.key);
        let server = super::identity(&**self.store(), None, self.now()).await?;
        let set = self.store().cluster_claim(CLUSTERSET_CLAIM).await.map_err(unavailable)?;
        let set = set.map(|c| c.value).unwrap_or_default();
        Ok(Joined { id: agent.id, set, server, protocol: agent.protocol })
    }
}
