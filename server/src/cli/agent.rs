//! `domainscope agent`: a point of presence. It joins a server with a one-time token, then asks it for work over outgoing
//! connections and answers with the same engine and limits that the server has.

mod join;
mod state;
mod work;

use super::stops::Stops;
use super::{Outcome, print};
use crate::http::{AGENT, SIGNATURE, STAMP};
use crate::settings::{EngineArgs, Wrong};
use crate::wiring;
use anyhow::{Context, Result, bail};
use clap::Args;
use fleet::{KeyPair, SignedRequest, checked_id, verify};
use jiff::Timestamp;
use model::ids::OrgId;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::time::Instant;
use tokio_util::sync::CancellationToken;
use url::Url;

/// Longest exchange, with the wait of a poll.
const EXCHANGE: Duration = Duration::from_secs(40);
/// Pauses after failures: the first, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// Flags of `agent`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Example:\n  domainscope agent --join https://scope.example --id fra-1 --region eu-central --token dsj_…\n\n\
    The token comes from the page Fleet or from “domainscope admin join-token”; it works once. The agent makes its own key\n\
    and keeps it in the state file before it joins; started again with the same file it goes on without a token."
)]
pub(super) struct AgentArgs {
    /// Address of the server
    #[arg(long, value_name = "URL", env = "DOMAINSCOPE_JOIN")]
    join: Url,
    /// One-time token
    #[arg(long, value_name = "TOKEN", env = "DOMAINSCOPE_JOIN_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// Identity: an RFC 1123 label, unique in the set [default: a UUID]
    #[arg(long, value_name = "ID", default_value = "")]
    id: String,
    /// Where it is, in your words, as in eu-central
    #[arg(long, value_name = "TEXT", default_value = "")]
    region: String,
    /// File with identity and key
    #[arg(
        long,
        value_name = "FILE",
        default_value = "domainscope-agent.json",
        env = "DOMAINSCOPE_AGENT_STATE"
    )]
    state: PathBuf,
}

/// A member with its way to the server.
pub(super) struct Agent {
    base: Url,
    dialer: net::Dialer,
    id: String,
    set: String,
    key: KeyPair,
    server_key: String,
    stamp: AtomicI64,
    place: product::AgentEngine,
    /// Questions it works on, with the end of each: what a poll does not name is handed out again.
    working: Mutex<Vec<(String, Instant)>>,
}

/// Why an exchange failed.
struct Refusal {
    /// HTTP status; 0 when there was no answer of the server.
    status: u16,
    reason: String,
    /// Whether the same request may succeed later.
    is_transient: bool,
}

/// An agent for a URL with a token, without a state file: for the demo.
pub(super) async fn joined(
    args: &EngineArgs,
    base: &Url,
    token: &str,
    (id, region): (&str, &str),
) -> Result<Agent> {
    let flags = AgentArgs {
        join: base.clone(),
        token: Some(token.to_string()),
        id: id.into(),
        region: region.into(),
        state: PathBuf::new(),
    };
    Agent::start(args, &flags).await
}

pub(super) async fn run(args: AgentArgs, engine: &EngineArgs) -> Result<Outcome> {
    if !matches!(args.join.scheme(), "http" | "https") {
        return Err(Wrong(format!("--join: “{}” does not begin with https:// or http://", args.join)).into());
    }
    if !args.id.is_empty() {
        checked_id(&args.id).map_err(|e| Wrong(format!("--id: {e}")))?;
    }
    let agent = Arc::new(Agent::start(engine, &args).await?);
    super::log_cluster(&agent.id, &agent.set);
    print(&format!("Point of presence {} of {}. Stop: Ctrl-C", agent.id, agent.base))?;
    let stop = CancellationToken::new();
    let mut stops = Stops::catch().context("signals")?;
    tokio::spawn({
        let stop = stop.clone();
        async move {
            stops.asked().await;
            stop.cancel();
            stops.asked().await;
            std::process::exit(130);
        }
    });
    agent.work(stop).await;
    Ok(Outcome::Done)
}

impl Agent {
    async fn start(args: &EngineArgs, flags: &AgentArgs) -> Result<Agent> {
        let internet = wiring::internet(args)?;
        let extra_ca = args.extra_ca.as_ref().map(std::fs::read).transpose().context("--extra-ca")?;
        // The operator names this one target; what is looked at passes the guard of the engine.
        let settings = net::Settings {
            allow_private: true,
            extra_ca,
            total_timeout: EXCHANGE,
            ..net::Settings::default()
        };
        let mut agent = Agent {
            base: flags.join.clone(),
            dialer: net::Dialer::new(settings)?,
            id: String::new(),
            set: String::new(),
            key: KeyPair::generate()?,
            server_key: String::new(),
            stamp: AtomicI64::new(0),
            place: product::AgentEngine {
                comparer: wiring::comparer(args, &internet.engine)?,
                engine: internet.engine,
                web: internet.web,
            },
            working: Mutex::default(),
        };
        let kept = state::read(&flags.state)?;
        match kept {
            Some(kept) if kept.token.is_none() => agent.resume(flags, kept)?,
            kept => agent.join(flags, kept).await?,
        }
        Ok(agent)
    }

    /// A stamp that is newer than any before.
    fn next_stamp(&self) -> i64 {
        let now = Timestamp::now().as_microsecond();
        let before = self.stamp.fetch_max(now, Ordering::SeqCst);
        if before < now { now } else { self.stamp.fetch_add(1, Ordering::SeqCst) + 1 }
    }

    /// One signed request and its answer, whose signature is checked.
    async fn exchange<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, Refusal> {
        let failed = |reason: String| Refusal { status: 0, reason, is_transient: false };
        let url = self.base.join(path).map_err(|e| failed(e.to_string()))?;
        let body = serde_json::to_vec(body).map_err(|e| failed(e.to_string()))?;
        let stamp = self.next_stamp();
        // The address as the server sees it, without what a proxy has in front of it.
        let request = SignedRequest { path, agent: &self.id, stamp, body: &body };
        let (signature, stamp_text) = (self.key.sign(&request.of_agent()), stamp.to_string());
        let fields = [
            ("content-type", "application/json"),
            (AGENT, self.id.as_str()),
            (STAMP, stamp_text.as_str()),
            (SIGNATURE, signature.as_str()),
        ];
        let answer = self.dialer.http_post_with(&url, &fields, body.clone(), 1 << 20).await;
        let answer = answer.map_err(|e| Refusal { is_transient: true, ..failed(e.to_string()) })?;
        if answer.status != 200 {
            let said: serde_json::Value = serde_json::from_slice(&answer.body).unwrap_or_default();
            let detail = said["detail"]
                .as_str()
                .map_or_else(|| format!("HTTP status {}", answer.status), str::to_owned);
            let is_transient = matches!(answer.status, 429 | 500..);
            return Err(Refusal { status: answer.status, reason: detail, is_transient });
        }
        let response = SignedRequest { path, agent: &self.id, stamp, body: &answer.body };
        if !verify(&self.server_key, &response.of_server(), answer.header(SIGNATURE).unwrap_or_default()) {
            return Err(failed("the response is not signed by the server of the token".into()));
        }
        serde_json::from_slice(&answer.body).map_err(|e| failed(format!("the response can't be read: {e}")))
    }
}

/// Makes a token for the command line; `id` is who may join with it, empty: any.
pub(super) async fn token(store: &dyn store::Store, id: &str) -> Result<service::AgentToken> {
    if !id.is_empty() {
        checked_id(id).map_err(|e| Wrong(format!("--id: {e}")))?;
    }
    let by = model::account::Actor { who: "command line".into(), ..model::account::Actor::system() };
    let agents = store.feature_row(OrgId::BUILT_IN, product::agents::FEATURE).await.context("features")?;
    if agents.is_some_and(|f| !f.feature.state.is_used()) {
        bail!("the feature {} is turned off on this server", product::agents::FEATURE);
    }
    match product::join_token(store, &by, id, Timestamp::now()).await {
        Ok(token) => Ok(token),
        Err(e) => bail!("{e}"),
    }
}
