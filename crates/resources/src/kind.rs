//! The declaration of a kind. Discovery, OpenAPI, tables, validation and custom resource definitions are derived from it.

use crate::kinds;
use crate::schema::Violation;
use crate::store::Storage;
use serde_json::Value;
use service::policy::Action;

/// The API group of all kinds.
pub const GROUP: &str = "datumapis.com";
/// The version of all kinds.
pub const VERSION: &str = "v1alpha";

/// A verb of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the verbs of the Kubernetes API")]
pub enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
}

impl Verb {
    /// All verbs.
    pub const ALL: [Verb; 8] = [
        Verb::Create,
        Verb::Delete,
        Verb::DeleteCollection,
        Verb::Get,
        Verb::List,
        Verb::Patch,
        Verb::Update,
        Verb::Watch,
    ];

    /// The word of discovery and access reviews.
    pub fn as_str(self) -> &'static str {
        match self {
            Verb::Get => "get",
            Verb::List => "list",
            Verb::Watch => "watch",
            Verb::Create => "create",
            Verb::Update => "update",
            Verb::Patch => "patch",
            Verb::Delete => "delete",
            Verb::DeleteCollection => "deletecollection",
        }
    }
}

/// A column of the tables that `kubectl get` prints.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// Its heading.
    pub name: &'static str,
    /// `string`, `integer`, `boolean`, or `date` (shown as an age).
    pub kind: &'static str,
    /// A description of the value.
    pub description: &'static str,
    /// 0: always shown; 1: with `-o wide`.
    pub priority: i32,
    /// JSON path of the value ([`crate::paths`]).
    pub path: &'static str,
}

/// A column of a kind.
pub(crate) const fn column(
    name: &'static str,
    kind: &'static str,
    priority: i32,
    path: &'static str,
    description: &'static str,
) -> Column {
    Column { name, kind, description, priority, path }
}

/// A kind of resource.
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// The word of its addresses.
    pub plural: &'static str,
    /// One of it, in lower case.
    pub singular: &'static str,
    /// Short names that may be typed instead.
    pub short: &'static [&'static str],
    /// A description for people.
    pub description: &'static str,
    /// True when its objects belong to a namespace.
    pub is_namespaced: bool,
    /// The kind of its entries in the change log.
    pub log_kind: &'static str,
    /// Columns after the name.
    pub columns: &'static [Column],
    /// Its structural schema (OpenAPI v3) without `metadata`.
    pub schema: fn() -> Value,
    /// Paths that field selectors may name besides `metadata.name` and `metadata.namespace`.
    pub selectable: &'static [&'static str],
    /// The list below which selectable paths name fields of its entries; all conditions on them hold for one entry.
    pub selectable_list: Option<&'static str>,
    /// The action a verb needs; `None`: the kind does not have the verb.
    pub action: fn(Verb) -> Option<Action>,
    /// The action that writing the status subresource needs; `None`: only the server writes it.
    pub status_action: Option<Action>,
    /// Rules that the schema can't state, about a new object and the one before it.
    pub validate: fn(&Value, Option<&Value>) -> Vec<Violation>,
    /// Reads and writes its objects.
    pub(crate) storage: &'static dyn Storage,
}

impl Kind {
    /// The kind of a word in an address.
    pub fn of_plural(plural: &str) -> Option<&'static Kind> {
        kinds::ALL.iter().copied().find(|k| k.plural == plural)
    }

    /// Its verbs in the order of discovery.
    pub fn verbs(&self) -> Vec<&'static str> {
        Verb::ALL.into_iter().filter(|v| (self.action)(*v).is_some()).map(Verb::as_str).collect()
    }

    /// Verbs of its status subresource in the order of discovery.
    pub fn status_verbs(&self) -> &'static [&'static str] {
        if self.status_action.is_some() { &["get", "patch", "update"] } else { &["get"] }
    }

    /// `group/version` of its objects.
    pub fn api_version() -> String {
        format!("{GROUP}/{VERSION}")
    }
}
