//! Feeds: their addresses, and what is read there.

use super::{Services, unavailable};
use accounts::{Secret, SecretKind, random_id};
use model::event::EventQuery;
use model::feed::{FEEDS_MAX, Feed, FeedKind};
use model::ids::{Caller, Role};
use model::inventory::ListQuery;
use model::notify::NAME_MAX;
use notify::{AtomSource, atom, calendar};
use service::policy::{Action, authorize};
use service::{ApiError, ApiResult, Backend, NewFeed};

/// Domains of a calendar at most: those that expire first.
const DOMAINS: usize = 5000;
/// Events of a news feed.
const EVENTS: u32 = 100;

impl Services {
    pub(crate) async fn feeds_of(&self, caller: &Caller) -> ApiResult<Vec<Feed>> {
        authorize(caller, Action::Feeds)?;
        self.store().feeds(caller.org).await.map_err(unavailable)
    }

    pub(crate) async fn new_feed(&self, caller: &Caller, name: &str, kind: FeedKind) -> ApiResult<NewFeed> {
        authorize(caller, Action::CreateFeed)?;
        let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
        if name.is_empty() || name.chars().count() > NAME_MAX {
            return Err(ApiError::invalid(format!("The name of a feed has 1 to {NAME_MAX} characters.")));
        }
        if self.store().feeds(caller.org).await.map_err(unavailable)?.len() >= FEEDS_MAX {
            return Err(ApiError::invalid(format!("An organisation has at most {FEEDS_MAX} feeds.")));
        }
        let secret = Secret::generate(SecretKind::Feed);
        let feed = Feed {
            id: random_id(),
            name,
            kind,
            created_by: caller.who.clone(),
            created_at: self.now(),
            used_at: None,
        };
        let log = self.identity.entry(caller, "feed.create", &feed.name, Some(kind.as_str().into()));
        let hash = secret.hash();
        self.store().create_feed(caller.org, hash.as_str(), &feed, &log).await.map_err(unavailable)?;
        let path = format!("/feeds/{}.{}", secret.expose(), kind.extension());
        Ok(NewFeed { feed, path })
    }

    pub(crate) async fn end_feed(&self, caller: &Caller, id: &str) -> ApiResult<()> {
        authorize(caller, Action::RevokeFeed)?;
        let log = self.identity.entry(caller, "feed.revoke", "", None);
        match self.store().delete_feed(caller.org, id, &log).await.map_err(unavailable)? {
            true => Ok(()),
            false => Err(ApiError::not_found("This feed was revoked already.")),
        }
    }

    /// What stands at the address of a feed: its kind and its text. `file` is the last part of the address.
    ///
    /// # Errors
    /// Not found for every address that leads nowhere, whatever the reason.
    pub async fn feed(&self, file: &str) -> ApiResult<(FeedKind, String)> {
        let gone = || ApiError::not_found("This feed does not exist, or was revoked.");
        let (secret, extension) = file.rsplit_once('.').ok_or_else(gone)?;
        let secret = Secret::read(SecretKind::Feed, secret).ok_or_else(gone)?;
        let hash = secret.hash();
        let found = self.store().feed_by_hash(hash.as_str(), self.now()).await.map_err(unavailable)?;
        let (org, feed) = found.filter(|(_, f)| f.kind.extension() == extension).ok_or_else(gone)?;
        let organisation = self.store().organisation_name(org).await.map_err(unavailable)?;
        let organisation = organisation.unwrap_or_else(|| "Domains".into());
        // It reads what a viewer of its organisation may, and nothing else.
        let reader = Caller::new(org, format!("feed {}", feed.name), Role::Viewer);
        let base = self.deliverer.base();
        Ok(match feed.kind {
            FeedKind::Calendar => {
                let mut rows = Vec::new();
                for page in 1.. {
                    let query = ListQuery { page, per_page: ListQuery::MAX_PER_PAGE, ..ListQuery::default() };
                    let read = self.list(&reader, &query).await?;
                    let last = read.rows.len() < query.per_page as usize;
                    rows.extend(read.rows.into_iter().filter(|r| r.expires.is_some()));
                    if last || rows.len() >= DOMAINS {
                        break;
                    }
                }
                rows.truncate(DOMAINS);
                let title = format!("Expirations of {organisation}");
                (feed.kind, calendar(&title, &rows, base, feed.created_at))
            }
            FeedKind::Events => {
                let query = EventQuery { per_page: EVENTS, ..EventQuery::default() };
                let events = self.events(&reader, &query).await?.events;
                let title = format!("Events of {organisation}");
                let source = AtomSource { title: &title, id: &feed.id, made: feed.created_at, base };
                (feed.kind, atom(&source, &events))
            }
        })
    }
}
