//! Requests and replies without an HTTP framework, and the meaning of paths.

use crate::access::{REVIEW_VERSION, REVIEWS, Review};
use crate::failure::Failure;
use crate::kind::{GROUP, Kind, VERSION};
use crate::namespaces;
use crate::tail::WatchLine;
use futures::stream::BoxStream;
use model::ids::{Caller, OrgId};
use percent_encoding::percent_decode_str;
use std::collections::HashMap;

/// A request.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// `GET`, `POST`, ….
    pub method: String,
    /// The path as sent.
    pub path: String,
    /// The query as sent.
    pub query: String,
    /// `Accept`.
    pub accept: String,
    /// `Content-Type`.
    pub content_type: String,
    /// `User-Agent`: names the field manager when the client does not.
    pub user_agent: String,
    /// The body.
    pub body: Vec<u8>,
}

/// A response.
pub enum Reply {
    /// One body.
    Whole {
        /// HTTP status.
        status: u16,
        /// `Content-Type`.
        content_type: &'static str,
        /// Values of `Warning` headers.
        warnings: Vec<String>,
        /// Seconds after which to try again.
        retry_after: Option<u64>,
        /// The body.
        body: Vec<u8>,
    },
    /// A list that is longer than what is read at once. It is read as it is sent; one that ends with an error is not whole.
    List {
        /// `Content-Type`.
        content_type: &'static str,
        /// Parts of the body.
        parts: BoxStream<'static, Result<Vec<u8>, Failure>>,
    },
    /// Lines of a watch, as they come.
    Watch(BoxStream<'static, WatchLine>),
}

/// The media type of a watch; the parameter keeps proxies and our own compression from gathering it.
pub const WATCH_TYPE: &str = "application/json;stream=watch";

/// Options of a request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Options(HashMap<String, String>);

impl Options {
    pub(crate) fn read(query: &str) -> Self {
        Options(url::form_urlencoded::parse(query.as_bytes()).into_owned().collect())
    }

    pub(crate) fn get(&self, key: &str) -> &str {
        self.0.get(key).map_or("", String::as_str)
    }

    pub(crate) fn is_set(&self, key: &str) -> bool {
        matches!(self.get(key), "true" | "1")
    }

    /// True for `dryRun=All`.
    pub(crate) fn dry_run(&self) -> Result<bool, Failure> {
        match self.get("dryRun") {
            "" => Ok(false),
            "All" => Ok(true),
            other => Err(Failure::bad_request(format!("dryRun is {other:?}, must be All"))),
        }
    }

    pub(crate) fn number(&self, key: &str) -> Result<Option<i64>, Failure> {
        match self.get(key) {
            "" => Ok(None),
            text => match text.parse() {
                Ok(n) if n >= 0 => Ok(Some(n)),
                _ => Err(Failure::bad_request(format!("{key} is {text:?}, must be a whole number from 0"))),
            },
        }
    }
}

/// Objects of a kind that an address names.
#[derive(Clone, Copy)]
pub(crate) struct Collection {
    pub(crate) kind: &'static Kind,
}

/// The target of an address.
pub(crate) enum Target {
    /// Discovery and descriptions.
    Document(Vec<String>),
    /// `POST` of a review.
    Review(&'static Review),
    /// All namespaces of the core group, or the one of this name.
    Namespaces(Option<String>),
    /// All objects of a kind.
    Collection(Collection, String),
    /// One object.
    Object(Collection, String, String),
    /// Its status.
    Status(Collection, String, String),
}

/// The namespace of an organisation.
pub(crate) fn namespace_of(org: OrgId) -> String {
    format!("org-{org}")
}

/// Reads a path on behalf of a caller.
pub(crate) fn target(path: &str, caller: &Caller) -> Result<Target, Failure> {
    let parts: Vec<String> = path
        .split('/')
        .filter(|p| !p.is_empty())
        .map(|p| percent_decode_str(p).decode_utf8_lossy().into_owned())
        .collect();
    let words: Vec<&str> = parts.iter().map(String::as_str).collect();
    match &words[..] {
        ["api", "v1", namespaces::PLURAL] => return Ok(Target::Namespaces(None)),
        ["api", "v1", namespaces::PLURAL, name] => return Ok(Target::Namespaces(Some((*name).to_string()))),
        _ => {}
    }
    let [first, group, version, rest @ ..] = &words[..] else { return Ok(Target::Document(parts)) };
    if let ("apis", REVIEW_VERSION, [plural]) = (*first, *version, rest)
        && let Some(review) = REVIEWS.iter().find(|r| (r.group, r.plural) == (*group, *plural))
    {
        return Ok(Target::Review(review));
    }
    if (*first, *group, *version) != ("apis", GROUP, VERSION) || rest.is_empty() {
        return Ok(Target::Document(parts));
    }
    let own = namespace_of(caller.org);
    let names_namespace = rest.first() == Some(&"namespaces");
    let (namespace, rest) = match rest {
        // `default` is the namespace of clients that name none: the caller's organisation.
        ["namespaces", ns, rest @ ..] if *ns == "default" || *ns == own => ((*ns).to_string(), rest),
        ["namespaces", ns, ..] => {
            let message = format!("namespace {ns:?} is not that of these credentials, which is {own:?}");
            return Err(Failure::new(403, "Forbidden", message));
        }
        rest => (own, rest),
    };
    let kind = |plural: &str| {
        let found = Kind::of_plural(plural).filter(|kind| kind.is_namespaced || !names_namespace);
        found.map(|kind| Collection { kind }).ok_or_else(Failure::no_such_path)
    };
    match rest {
        [plural] => Ok(Target::Collection(kind(plural)?, namespace)),
        [plural, name] => Ok(Target::Object(kind(plural)?, namespace, (*name).to_string())),
        [plural, name, "status"] => Ok(Target::Status(kind(plural)?, namespace, (*name).to_string())),
        _ => Err(Failure::no_such_path()),
    }
}
