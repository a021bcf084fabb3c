//! `domainscope agent`: a point of presence. It joins a server with a one-time token, then asks it for work over outgoing
//! connections and answers with the same engine and limits that the server has.

use super::stops::Stops;
use super::{Outcome, print};
use crate::http::{AGENT, SIGNATURE, STAMP};
use crate::settings::{EngineArgs, Wrong};
use crate::wiring;
use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use fleet::{
    AnswerSent, Join, JoinToken, Joined, KeyPair, PROTOCOL, Poll, PollReply, SignedRequest, Work, checked_id,
    verify,
};
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use url::Url;

/// Questions worked on at the same time.
const AT_ONCE: usize = 16;
/// How long a poll waits for work: shorter than what proxies cut off.
const WAIT: Duration = Duration::from_secs(15);
/// Longest exchange, with the wait of a poll.
const EXCHANGE: Duration = Duration::from_secs(40);
/// Pauses after failures: the first, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// How long work under way may take at the end.
const DRAIN: Duration = Duration::from_secs(25);
/// Attempts to deliver an answer.
const DELIVERIES: usize = 3;

/// Flags of `agent`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Example:\n  domainscope agent --join https://scope.example --id fra-1 --region eu-central --token dsj_…\n\n\
    The token comes from the page Fleet or from “domainscope admin join-token”; it works once. The agent makes its own key\n\
    and keeps it in the state file; started again with the same file it goes on without a token."
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

/// What an agent keeps: who it is, its key, and the key of its server.
#[derive(Clone, Serialize, Deserialize)]
struct Kept {
    id: String,
    key: String,
    server: String,
    server_key: String,
    /// The set it is a member of.
    #[serde(default)]
    set: String,
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
}

/// Why an exchange failed.
struct Refusal {
    /// HTTP status; 0 when there was no answer.
    status: u16,
    reason: String,
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

fn read_state(path: &Path) -> Result<Option<Kept>> {
    if path.as_os_str().is_empty() || !path.exists() {
        return Ok(None);
    }
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let kept = serde_json::from_str(&text)
        .map_err(|e| anyhow!("{} is not the state of an agent: {e}", path.display()))?;
    Ok(Some(kept))
}

/// Writes a file that only its owner reads.
fn write_state(path: &Path, kept: &Kept) -> Result<()> {
    if path.as_os_str().is_empty() {
        return Ok(());
    }
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path).with_context(|| path.display().to_string())?;
    file.write_all(serde_json::to_string_pretty(kept)?.as_bytes())
        .and_then(|()| file.sync_all())
        .with_context(|| path.display().to_string())
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
        };
        if let Some(kept) = read_state(&flags.state)? {
            if !flags.id.is_empty() && flags.id != kept.id {
                let file = flags.state.display();
                return Err(Wrong(format!(
                    "--id: {file} is the state of {}; to rename, revoke it and join with another file",
                    kept.id
                ))
                .into());
            }
            agent.key = KeyPair::read(&kept.key).with_context(|| flags.state.display().to_string())?;
            (agent.id, agent.set, agent.server_key) = (kept.id, kept.set, kept.server_key);
            return Ok(agent);
        }
        let Some(token) = &flags.token else {
            let words = "--token is needed to join: make one on the page Fleet or with “domainscope admin join-token”";
            return Err(Wrong(words.into()).into());
        };
        let token = JoinToken::read(token)
            .ok_or_else(|| Wrong("--token: this is not a token to join with (dsj_….…)".into()))?;
        agent.server_key = token.server_key;
        let join = Join {
            protocol: PROTOCOL,
            token: token.secret,
            id: flags.id.clone(),
            region: flags.region.clone(),
            version: env!("CARGO_PKG_VERSION").into(),
            key: agent.key.public(),
        };
        let joined: Joined =
            agent.exchange("/agent/v1/join", &join).await.map_err(|e| anyhow!("not joined: {}", e.reason))?;
        (agent.id, agent.set) = (joined.id.clone(), joined.set.clone());
        let (key, server_key) = (agent.key.secret_text(), agent.server_key.clone());
        let kept = Kept { id: joined.id, key, server: joined.server, server_key, set: joined.set };
        write_state(&flags.state, &kept)?;
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
        let failed = |reason: String| Refusal { status: 0, reason };
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
        let answer = answer.map_err(|e| failed(e.to_string()))?;
        if answer.status != 200 {
            let said: serde_json::Value = serde_json::from_slice(&answer.body).unwrap_or_default();
            let detail = said["detail"]
                .as_str()
                .map_or_else(|| format!("HTTP status {}", answer.status), str::to_owned);
            return Err(Refusal { status: answer.status, reason: detail });
        }
        let response = SignedRequest { path, agent: &self.id, stamp, body: &answer.body };
        if !verify(&self.server_key, &response.of_server(), answer.header(SIGNATURE).unwrap_or_default()) {
            return Err(failed("the response is not signed by the server of the token".into()));
        }
        serde_json::from_slice(&answer.body).map_err(|e| failed(format!("the response can't be read: {e}")))
    }

    /// Asks for work and does it until cancelled; then ends what is under way.
    pub(super) async fn work(self: Arc<Self>, stop: CancellationToken) {
        let slots = Arc::new(Semaphore::new(AT_ONCE));
        let (mut pause, mut latency_ms) = (PAUSES.0, None);
        loop {
            let capacity = slots.available_permits();
            let poll = self.poll(capacity, latency_ms, false, WAIT);
            // With all hands full a poll only says that the agent lives.
            let wait = if capacity == 0 { Duration::ZERO } else { WAIT };
            let poll = Poll { wait_ms: u32::try_from(wait.as_millis()).unwrap_or(u32::MAX), ..poll };
            let began = Instant::now();
            let outcome = tokio::select! {
                biased;
                () = stop.cancelled() => break,
                outcome = self.exchange::<PollReply>("/agent/v1/poll", &poll) => outcome,
            };
            match outcome {
                Ok(reply) => {
                    pause = PAUSES.0;
                    if began.elapsed() < WAIT / 2 && reply.work.is_empty() {
                        tokio::time::sleep(Duration::from_millis(200)).await;
                    }
                    for work in reply.work {
                        let Ok(slot) = slots.clone().try_acquire_owned() else { break };
                        let agent = self.clone();
                        tokio::spawn(async move {
                            agent.one(work).await;
                            drop(slot);
                        });
                    }
                    // When nothing was asked for the length of a poll, and at the start.
                    if latency_ms.is_none() || began.elapsed() >= WAIT / 2 {
                        latency_ms = self.measure().await.or(latency_ms);
                    }
                }
                Err(e) => {
                    tracing::warn!(
                        reason = e.reason,
                        status = e.status,
                        pause_s = pause.as_secs(),
                        "the server can't be asked for work; trying again"
                    );
                    latency_ms = None;
                    let jitter = rand::random_range(0.75..1.25);
                    tokio::select! {
                        biased;
                        () = stop.cancelled() => break,
                        () = tokio::time::sleep(pause.mul_f64(jitter)) => {}
                    }
                    pause = (pause * 2).min(PAUSES.1);
                }
            }
        }
        tracing::info!("stopping: ending questions under way");
        let _ = self
            .exchange::<PollReply>("/agent/v1/poll", &self.poll(0, latency_ms, true, Duration::ZERO))
            .await;
        let all = u32::try_from(AT_ONCE).unwrap_or(u32::MAX);
        let _ = tokio::time::timeout(DRAIN, slots.acquire_many(all)).await;
    }

    fn poll(&self, capacity: usize, latency_ms: Option<u32>, draining: bool, wait: Duration) -> Poll {
        Poll {
            protocol: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").into(),
            running: u32::try_from(AT_ONCE - capacity.min(AT_ONCE)).unwrap_or(0),
            capacity: u32::try_from(capacity).unwrap_or(0),
            latency_ms,
            draining,
            wait_ms: u32::try_from(wait.as_millis()).unwrap_or(u32::MAX),
        }
    }

    /// The time of a request that waits for nothing, in milliseconds; the next poll reports it.
    async fn measure(&self) -> Option<u32> {
        let began = Instant::now();
        let poll = self.poll(0, None, false, Duration::ZERO);
        self.exchange::<PollReply>("/agent/v1/poll", &poll).await.ok()?;
        u32::try_from(began.elapsed().as_millis()).ok()
    }

    /// Answers a question, and tries again when the answer does not arrive.
    async fn one(&self, work: Work) {
        let answer = product::answer_question(&self.place, &work.question, Timestamp::now()).await;
        let sent = AnswerSent { work: work.id, answer };
        for attempt in 1..=DELIVERIES {
            match self.exchange::<()>("/agent/v1/answer", &sent).await {
                Ok(()) => return,
                // Another request overtook it, or the server was away.
                Err(e)
                    if attempt < DELIVERIES
                        && matches!(e.status, 0 | 409 | 429 | 500..)
                        && Timestamp::now() < work.until =>
                {
                    tokio::time::sleep(PAUSES.0 / 4).await;
                }
                Err(e) => {
                    tracing::warn!(reason = e.reason, status = e.status, "an answer was not taken");
                    return;
                }
            }
        }
    }
}

/// Makes a token for the command line.
pub(super) async fn token(store: &dyn store::Store) -> Result<service::AgentToken> {
    let by = model::account::Actor { who: "command line".into(), ..model::account::Actor::system() };
    let stored = store.features().await.context("features")?;
    let agents = stored.iter().map(|s| &s.feature).find(|f| f.name == product::agents::FEATURE);
    if agents.is_some_and(|f| !f.state.is_used()) {
        bail!("the feature {} is turned off on this server", product::agents::FEATURE);
    }
    match product::join_token(store, &by, Timestamp::now()).await {
        Ok(token) => Ok(token),
        Err(e) => bail!("{e}"),
    }
}
