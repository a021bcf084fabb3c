//! Where a fetched bootstrap outlives the process, so that neither a restart nor a second replica fetches it again.

use async_trait::async_trait;
use model::Timestamp;
use serde::{Deserialize, Serialize};

/// A cache of one text, shared by all replicas. What can't be kept is fetched again.
#[async_trait]
pub trait BootstrapCache: Send + Sync + 'static {
    /// Returns the cached text, if there is one that can be read.
    async fn get(&self) -> Option<String>;
    /// Replaces the cached text.
    async fn put(&self, text: &str, now: Timestamp);
}

/// A bootstrap file as it is cached, with its validators.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CachedFile {
    /// Where it is from: another URL's is not used.
    pub url: String,
    /// `ETag` (RFC 9110 section 8.8.3).
    pub etag: Option<String>,
    /// `Last-Modified`, as it was sent.
    pub last_modified: Option<String>,
    /// When its server last said that it is current.
    pub checked_at: Timestamp,
    /// The file itself.
    pub body: String,
}

impl CachedFile {
    /// Larger files are fetched again rather than cached.
    const CAP: usize = 2 << 20;

    /// A file that was just fetched; `None` when it is not one to keep.
    pub fn of(url: &str, answer: &net::HttpAnswer, now: Timestamp) -> Option<Self> {
        let body = String::from_utf8(answer.body.clone()).ok().filter(|b| b.len() <= CachedFile::CAP)?;
        let field = |name| answer.header(name).filter(|v| v.len() <= 256).map(str::to_string);
        Some(CachedFile {
            url: url.to_string(),
            etag: field("etag"),
            last_modified: field("last-modified"),
            checked_at: now,
            body,
        })
    }

    /// Header fields that ask whether there is a newer one.
    pub fn conditions(&self) -> Vec<(&str, &str)> {
        let tag = self.etag.as_deref().map(|t| ("if-none-match", t));
        let date = self.last_modified.as_deref().map(|t| ("if-modified-since", t));
        tag.into_iter().chain(date).collect()
    }
}
