//! Joining, and going on as a member. The key is kept before the first request, so that a join whose response was lost, or
//! whose process ended, can be repeated: the server answers the same key in the same way.

use super::state::{self, Kept};
use super::{Agent, AgentArgs, PAUSES};
use crate::settings::Wrong;
use anyhow::{Context, Result, bail};
use fleet::{Join, JoinToken, Joined, KeyPair, PROTOCOL};
use std::time::{Duration, Instant};

/// How long joining is tried: as long as a token lives.
const JOIN_FOR: Duration = Duration::from_secs(15 * 60);

impl Agent {
    /// Goes on as the member of a state file.
    pub(super) fn resume(&mut self, flags: &AgentArgs, kept: Kept) -> Result<()> {
        let file = flags.state.display();
        if !flags.id.is_empty() && flags.id != kept.id {
            let words = format!(
                "--id: {file} is the state of {}; to rename, revoke it and join with another file",
                kept.id
            );
            return Err(Wrong(words).into());
        }
        self.key = KeyPair::read(&kept.key).with_context(|| file.to_string())?;
        (self.id, self.set, self.server_key) = (kept.id, kept.set, kept.server_key);
        Ok(())
    }

    /// Joins, or repeats a join that was not completed.
    pub(super) async fn join(&mut self, flags: &AgentArgs, before: Option<Kept>) -> Result<()> {
        let is_repeated = before.is_some();
        let (mut id, mut text) = (flags.id.clone(), flags.token.clone());
        if let Some(before) = before {
            self.key = KeyPair::read(&before.key).with_context(|| flags.state.display().to_string())?;
            text = text.or(before.token);
            if id.is_empty() {
                id = before.id;
            }
        }
        let Some(text) = text else {
            let words = "--token is needed to join: make one on the page Fleet or with “domainscope admin join-token”";
            return Err(Wrong(words.into()).into());
        };
        let token = JoinToken::read(&text)
            .ok_or_else(|| Wrong("--token: this is not a token to join with (dsj_….…)".into()))?;
        self.server_key.clone_from(&token.server_key);
        let joining = Kept {
            id: id.clone(),
            key: self.key.secret_text(),
            server: String::new(),
            server_key: token.server_key,
            set: String::new(),
            token: Some(text),
        };
        state::write(&flags.state, &joining).context("the token is still unused")?;
        let join = Join {
            protocol: PROTOCOL,
            token: token.secret,
            id,
            region: flags.region.clone(),
            version: env!("CARGO_PKG_VERSION").into(),
            key: self.key.public(),
        };
        let joined = self.repeat_join(flags, &join, is_repeated).await?;
        (self.id, self.set) = (joined.id.clone(), joined.set.clone());
        let kept = Kept { id: joined.id, server: joined.server, set: joined.set, token: None, ..joining };
        let again =
            format!("joined as {}, but this can’t be kept: start it again with the same file", self.id);
        state::write(&flags.state, &kept).context(again)
    }

    /// Sends a request to join until it is answered.
    async fn repeat_join(&self, flags: &AgentArgs, join: &Join, is_repeated: bool) -> Result<Joined> {
        let (mut pause, began, mut may_be_member) = (PAUSES.0, Instant::now(), is_repeated);
        loop {
            let refusal = match self.exchange::<Joined>("/agent/v1/join", join).await {
                Ok(joined) => return Ok(joined),
                Err(refusal) => refusal,
            };
            // Without an answer it may be a member nevertheless.
            may_be_member |= matches!(refusal.status, 0 | 500..);
            if !refusal.is_transient || began.elapsed() >= JOIN_FOR {
                if !may_be_member {
                    state::remove(&flags.state);
                }
                bail!("not joined: {}", refusal.reason);
            }
            tracing::warn!(
                reason = refusal.reason,
                status = refusal.status,
                pause_s = pause.as_secs(),
                "not joined yet; trying again"
            );
            tokio::time::sleep(pause.mul_f64(rand::random_range(0.75..1.25))).await;
            pause = (pause * 2).min(PAUSES.1);
        }
    }
}
