//! Failed messages: sent again or dropped.

use model::Timestamp;
use model::ids::EventId;
use serde::{Deserialize, Serialize};
use service::{ApiError, ApiResult, FailedView};
use utoipa::ToSchema;

/// A message that was given up.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = FailedMessage)]
pub struct FailedMessageV1 {
    /// The first event of its scan.
    id: i64,
    /// Identifier of its channel.
    channel: String,
    channel_name: String,
    /// The domain; of a digest one of several.
    domain: String,
    /// How many domains it is about.
    domains: u64,
    failed_at: Timestamp,
    /// Why the last attempt failed.
    reason: String,
    attempts: u32,
}

impl From<FailedView> for FailedMessageV1 {
    fn from(f: FailedView) -> Self {
        FailedMessageV1 {
            id: f.id.0,
            channel: f.channel,
            channel_name: f.channel_name,
            domain: f.domain,
            domains: f.domains,
            failed_at: f.failed_at,
            reason: f.reason,
            attempts: f.attempts,
        }
    }
}

/// One failed message, or all when the body is `{}`.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ResendRequest {
    /// The first event of its scan.
    id: Option<i64>,
    /// Identifier of its channel.
    channel: Option<String>,
}

impl ResendRequest {
    /// The message; `None` for all.
    pub fn message(self) -> ApiResult<Option<(EventId, String)>> {
        match (self.id, self.channel) {
            (Some(id), Some(channel)) => Ok(Some((EventId(id), channel))),
            (None, None) => Ok(None),
            _ => Err(ApiError::invalid("A message is named by both `id` and `channel`.")),
        }
    }
}

/// How many messages are sent again.
#[derive(Debug, Serialize, ToSchema)]
pub struct Resent {
    /// The number.
    pub resent: u64,
}

/// One failed message, or all.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DropRequest {
    /// The first event of its scan.
    id: Option<i64>,
    /// Identifier of its channel.
    channel: Option<String>,
    /// True to drop all of them.
    all: bool,
}

impl DropRequest {
    /// The message; `None` for all.
    pub fn message(self) -> ApiResult<Option<(EventId, String)>> {
        match (self.id, self.channel, self.all) {
            (Some(id), Some(channel), false) => Ok(Some((EventId(id), channel))),
            (None, None, true) => Ok(None),
            _ => Err(ApiError::invalid("Name a message by `id` and `channel`, or set `all`.")),
        }
    }
}

/// How many messages were dropped.
#[derive(Debug, Serialize, ToSchema)]
pub struct Dropped {
    /// The number.
    pub dropped: u64,
}
