//! The fleet: identity, points of presence, and the view of a name from all of them.

pub mod agents;
mod join;
mod pace;
mod places;
mod refusals;
mod refuse;
mod second;
mod third;
mod turn;
mod web;

pub use places::{AgentEngine, answer as answer_question};
pub use second::SecondLook;
pub use third::{ThirdParties, ThirdPartyKind, ThirdPartyNetwork};
pub use web::{web_places, web_question};

use super::{Services, unavailable};
use ::fleet::{
    CLUSTERSET_CLAIM, ID_CLAIM, JoinToken, KeyPair, OLDEST_PROTOCOL, PROTOCOL, check_claim, checked_id,
    suggested_id,
};
use accounts::{Secret, SecretKind};
use async_trait::async_trait;
use jiff::SignedDuration;
use model::Timestamp;
use model::account::Actor;
use model::ids::{Caller, LogPosition, OrgId};
use model::places::{Looked, PlaceAnswer};
use model::third_party::ThirdPartyLook;
use model::web_places::WebPlace;
use service::policy::{Action, authorize};
use service::{
    AgentState, AgentToken, AgentView, ApiError, ApiResult, ClusterClaim, ClusterClaimDraft, FleetBackend,
    FleetReport, LatencyHour,
};
use store::{Agent, ClusterClaimWrite, IdentityRule, Store, StoredClusterClaim};

/// Seconds without a request after which an agent counts as offline, or as stopped if it said so: three polls.
const ONLINE_SECONDS: i64 = 45;
/// Minutes that a token to join with lives.
const TOKEN_MINUTES: i64 = 15;
/// Claims that one list reads at most.
const CLAIMS_MAX: u32 = 1_000;
/// The setting that holds the server's key.
const KEY_SETTING: &str = "fleet-key";

fn claim(c: StoredClusterClaim) -> ClusterClaim {
    let StoredClusterClaim { name, rv, metadata, value, created_at } = c;
    ClusterClaim { name, rv, metadata, value, created_at }
}

fn refused(rule: IdentityRule) -> ApiError {
    let word = match rule {
        IdentityRule::IsMember => "is_member",
        IdentityRule::IsRequired => "is_required",
        IdentityRule::HasAgents(_) => "has_agents",
        IdentityRule::TooMany(_) => "too_many",
        IdentityRule::TooLarge(_) => "too_large",
    };
    metrics::counter!("domainscope_cluster_claims_refused_total", "rule" => word).increment(1);
    ApiError::invalid(match rule {
        IdentityRule::IsMember => {
            "id.k8s.io can't change while the installation is a member of a set: leave it (delete clusterset.k8s.io), \
             rename, and join again."
                .to_string()
        }
        IdentityRule::IsRequired => "id.k8s.io can't be deleted: an installation always has an identity.".into(),
        IdentityRule::HasAgents(n) => {
            format!("clusterset.k8s.io stays while the set has {n} points of presence: revoke them first.")
        }
        IdentityRule::TooMany(max) => {
            format!("An installation has at most {max} claims besides those of its identity: delete one first.")
        }
        IdentityRule::TooLarge(octets) => format!(
            "The values of all claims would have {octets} octets together; the limit is {}, which is 128 KB.",
            ::fleet::VALUE_MAX
        ),
    })
}

fn changed(name: &str) -> impl Fn(store::Error) -> ApiError {
    move |e| match e {
        store::Error::Conflict => {
            ApiError::conflict(format!("{name} was changed meanwhile, or exists already. Read it again."))
        }
        store::Error::NotFound => ApiError::not_found(format!("There is no claim {name}.")),
        e => unavailable(e),
    }
}

/// Gives the installation an identity at its first start, or the one the operator names; returns it.
///
/// # Errors
/// `Invalid` when the named one is no label, or another one can't be changed because the installation is a member.
pub async fn identity(store: &dyn Store, named: Option<&str>, now: Timestamp) -> ApiResult<String> {
    if let Some(id) = named {
        check_claim(ID_CLAIM, id).map_err(|e| ApiError::invalid(e.to_string()))?;
    }
    // Of several replicas that start at once, one is first; the others find its claim.
    for _ in 0..3 {
        let old = store.cluster_claim(ID_CLAIM).await.map_err(unavailable)?;
        if let Some(c) = old.as_ref().filter(|c| named.is_none_or(|id| id == c.value)) {
            return Ok(c.value.clone());
        }
        let write = ClusterClaimWrite {
            name: ID_CLAIM.into(),
            expected: old.as_ref().map(|c| c.rv),
            metadata: old.map_or_else(|| "{}".into(), |c| c.metadata),
            value: named.map_or_else(::fleet::new_id, str::to_owned),
            dry_run: false,
        };
        match store.write_cluster_claim(&Actor::system(), &write, now).await {
            Ok(Ok(written)) => return Ok(written.value),
            Ok(Err(rule)) => return Err(refused(rule)),
            Err(store::Error::Conflict) => {}
            Err(e) => return Err(unavailable(e)),
        }
    }
    Err(ApiError::unavailable("The identity of the installation could not be written; start again."))
}

/// Makes a token with which one agent can join, and the set if there is none. `id` is what the agent will be called; empty
/// where that is open.
///
/// # Errors
/// `Unavailable` when the store does not answer.
pub async fn join_token(store: &dyn Store, by: &Actor, id: &str, now: Timestamp) -> ApiResult<AgentToken> {
    if store.cluster_claim(CLUSTERSET_CLAIM).await.map_err(unavailable)?.is_none() {
        let server = identity(store, None, now).await?;
        let stem: String = server.chars().take(57).collect();
        let write = ClusterClaimWrite {
            name: CLUSTERSET_CLAIM.into(),
            expected: None,
            metadata: "{}".into(),
            value: format!("{}-fleet", stem.trim_end_matches('-')),
            dry_run: false,
        };
        match store.write_cluster_claim(by, &write, now).await {
            Ok(_) | Err(store::Error::Conflict) => {}
            Err(e) => return Err(unavailable(e)),
        }
    }
    let key = server_key(store, now).await?;
    let secret = Secret::generate(SecretKind::AgentJoin);
    let expires_at = now + SignedDuration::from_mins(TOKEN_MINUTES);
    store.add_agent_token(by, secret.hash().as_str(), id, expires_at, now).await.map_err(unavailable)?;
    let token = JoinToken { secret: secret.expose().to_string(), server_key: key.public() };
    Ok(AgentToken { token: token.text(), expires_at })
}

/// The key by which agents know this installation; made when it is first needed.
async fn server_key(store: &dyn Store, now: Timestamp) -> ApiResult<KeyPair> {
    let broken = |e: ::fleet::KeyError| {
        tracing::error!(error = %e, "the key of the fleet can't be used");
        ApiError::internal()
    };
    let kept = store.setting(OrgId::BUILT_IN, KEY_SETTING).await.map_err(unavailable)?;
    let text = match kept {
        Some(text) => text,
        None => {
            let fresh = KeyPair::generate().map_err(broken)?.secret_text();
            store.first_setting(OrgId::BUILT_IN, KEY_SETTING, &fresh, now).await.map_err(unavailable)?
        }
    };
    KeyPair::read(&text).map_err(broken)
}

fn hour(h: ::fleet::HourLatency) -> LatencyHour {
    LatencyHour { at: h.at, median: h.median, p95: h.p95 }
}

fn state(agent: &Agent, now: Timestamp) -> AgentState {
    let is_gone = now.duration_since(agent.seen_at) > SignedDuration::from_secs(ONLINE_SECONDS);
    match (is_gone, agent.draining) {
        (true, true) => AgentState::Stopped,
        (true, false) => AgentState::Offline,
        (false, true) => AgentState::Draining,
        (false, false) => AgentState::Online,
    }
}

/// The fleet as the store has it.
///
/// # Errors
/// `Unavailable` when the store does not answer.
pub async fn report(store: &dyn Store, now: Timestamp) -> ApiResult<FleetReport> {
    let of = async |name: &str| {
        let claim = store.cluster_claim(name).await.map_err(unavailable)?;
        Ok::<_, ApiError>(claim.map(|c| c.value))
    };
    let used = store.cluster_claims_used().await.map_err(unavailable)?;
    let queues = store.agent_queues(now).await.map_err(unavailable)?;
    let agents = store.agents().await.map_err(unavailable)?.into_iter().map(|a| AgentView {
        state: state(&a, now),
        queue: queues.iter().find(|(id, _)| *id == a.id).map_or(0, |(_, n)| *n),
        id: a.id,
        region: a.region,
        version: a.version,
        protocol: a.protocol,
        joined_at: a.joined_at,
        seen_at: a.seen_at,
        first_answer_at: a.first_answer_at,
        latency_ms: a.latency_ms,
        hours: a.latency.hours(now).into_iter().map(hour).collect(),
    });
    Ok(FleetReport {
        id: of(ID_CLAIM).await?.unwrap_or_default(),
        set: of(CLUSTERSET_CLAIM).await?,
        third_parties: Vec::new(),
        claims: (used.count, used.octets),
        agents: agents.collect(),
        refused: Vec::new(),
        version: env!("CARGO_PKG_VERSION").into(),
        protocols: (OLDEST_PROTOCOL, PROTOCOL),
        feature_off: None,
        may_change: false,
        now,
    })
}

impl Services {
    /// The fleet belongs to the first organisation.
    fn own_fleet(caller: &Caller, action: Action) -> ApiResult<()> {
        authorize(caller, action)?;
        if caller.org == OrgId::BUILT_IN {
            return Ok(());
        }
        Err(ApiError::not_found("The fleet is managed in the first organisation of this server."))
    }
}

#[async_trait]
impl FleetBackend for Services {
    async fn cluster_claims(&self, caller: &Caller, after: &str, limit: u32) -> ApiResult<Vec<ClusterClaim>> {
        authorize(caller, Action::ClusterClaims)?;
        let all = self.store().cluster_claims(after, limit.min(CLAIMS_MAX)).await.map_err(unavailable)?;
        let is_shown = |c: &StoredClusterClaim| {
            caller.org == OrgId::BUILT_IN || matches!(c.name.as_str(), ID_CLAIM | CLUSTERSET_CLAIM)
        };
        Ok(all.into_iter().filter(is_shown).map(claim).collect())
    }

    async fn save_cluster_claim(
        &self,
        caller: &Caller,
        draft: &ClusterClaimDraft,
    ) -> ApiResult<ClusterClaim> {
        Self::own_fleet(caller, Action::SaveClusterClaim)?;
        check_claim(&draft.name, &draft.value).map_err(|e| {
            metrics::counter!("domainscope_cluster_claims_refused_total", "rule" => "format").increment(1);
            ApiError::invalid(format!("{e}."))
        })?;
        let ClusterClaimDraft { name, expected, metadata, value, dry_run } = draft.clone();
        let write = ClusterClaimWrite { name, expected, metadata, value, dry_run };
        let written = self.store().write_cluster_claim(&caller.actor(), &write, self.now()).await;
        let written = written.map_err(changed(&draft.name))?.map_err(refused)?;
        self.scanner.hub.recorded();
        Ok(claim(written))
    }

    async fn delete_cluster_claim(
        &self,
        caller: &Caller,
        name: &str,
        expected: Option<LogPosition>,
    ) -> ApiResult<ClusterClaim> {
        Self::own_fleet(caller, Action::DeleteClusterClaim)?;
        let gone = self.store().delete_cluster_claim(&caller.actor(), name, expected, self.now()).await;
        let gone = gone.map_err(changed(name))?.map_err(refused)?;
        self.scanner.hub.recorded();
        Ok(claim(gone))
    }

    async fn fleet(&self, caller: &Caller) -> ApiResult<FleetReport> {
        authorize(caller, Action::Fleet)?;
        let mut report = report(&**self.store(), self.now()).await?;
        if caller.org != OrgId::BUILT_IN {
            (report.agents, report.claims) = (Vec::new(), (0, 0));
        }
        if caller.org == OrgId::BUILT_IN {
            report.refused = refusals::of_last_day(&**self.store(), report.now).await?;
            report.third_parties = self.third_party_views().await?;
        }
        report.feature_off = (!self.gates.is_on(agents::FEATURE)).then(|| agents::FEATURE.to_string());
        report.may_change = caller.org == OrgId::BUILT_IN && authorize(caller, Action::InviteAgent).is_ok();
        Ok(report)
    }

    async fn invite_agent(&self, caller: &Caller, id: &str) -> ApiResult<AgentToken> {
        Self::own_fleet(caller, Action::InviteAgent)?;
        if !id.is_empty() {
            checked_id(id).map_err(|e| ApiError::invalid(format!("{e}.")))?;
            let server = identity(&**self.store(), None, self.now()).await?;
            let agents = self.store().agents().await.map_err(unavailable)?;
            let is_free = |id: &str| id != server && !agents.iter().any(|a| a.id == id);
            if !is_free(id) {
                let other = suggested_id(id, is_free);
                let words = format!(
                    "The id {id} exists, and two members never share one. Take {other}, or revoke {id} first."
                );
                return Err(ApiError::conflict(words));
            }
        }
        let _use = self.using(agents::FEATURE)?;
        let made = join_token(&**self.store(), &caller.actor(), id, self.now()).await?;
        self.scanner.hub.recorded();
        Ok(made)
    }

    async fn revoke_agent(&self, caller: &Caller, id: &str) -> ApiResult<()> {
        Self::own_fleet(caller, Action::RevokeAgent)?;
        let found = self.store().revoke_agent(&caller.actor(), id, self.now()).await.map_err(unavailable)?;
        refusals::settle(&**self.store(), None, id, self.now()).await?;
        let shown: String = id.chars().take(80).collect();
        found
            .then_some(())
            .ok_or_else(|| ApiError::not_found(format!("There is no point of presence {shown}.")))
    }

    async fn ask_places(&self, caller: &Caller, name: &str, rtype: &str) -> ApiResult<Looked<PlaceAnswer>> {
        authorize(caller, Action::AskPlaces)?;
        self.places(caller, name, rtype).await
    }

    async fn ask_web(&self, caller: &Caller, name: &str, path: &str) -> ApiResult<Looked<WebPlace>> {
        authorize(caller, Action::AskWeb)?;
        self.web_from_places(caller, name, path).await
    }

    async fn ask_third_parties(
        &self,
        caller: &Caller,
        name: &str,
        rtype: &str,
        server: &str,
    ) -> ApiResult<ThirdPartyLook> {
        authorize(caller, Action::AskThirdParties)?;
        self.third_party_look(caller, name, rtype, server).await
    }
}
