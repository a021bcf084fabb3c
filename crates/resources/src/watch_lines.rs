//! The lines of a watch in the form that its client accepts, and how long it lasts.

use crate::body::{Form, shaped};
use crate::failure::Failure;
use crate::kind::Column;
use crate::request::Options;
use crate::schema::Violation;
use crate::table::Include;
use crate::tail::{WatchLine, line};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Silence after which a bookmark is sent to those that want them.
pub(crate) const BOOKMARK: Duration = Duration::from_secs(30);
/// A watch ends after so long; the client begins another one where it ended.
const LONGEST: Duration = Duration::from_secs(3600);

/// Writes the events of one watch.
pub(crate) struct Lines {
    form: Form,
    include: Include,
    columns: &'static [Column],
    api_version: String,
    kind: &'static str,
    are_columns_sent: bool,
}

impl Lines {
    pub(crate) fn new(
        form: Form,
        options: &Options,
        (api_version, kind): (String, &'static str),
        columns: &'static [Column],
    ) -> Self {
        let include = Include::read(options.get("includeObject"));
        Lines { form, include, columns, api_version, kind, are_columns_sent: false }
    }

    /// True when an event holds the object as it is.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self.form, Form::Json | Form::Yaml | Form::Text)
    }

    /// An event about an object.
    pub(crate) fn event(&mut self, event: &str, object: &Value) -> WatchLine {
        if self.is_plain() {
            return line(event, object);
        }
        let mut object = shaped(object.clone(), self.form, self.columns, self.include);
        // As API servers do: the columns once.
        if matches!(self.form, Form::Table(_)) && std::mem::replace(&mut self.are_columns_sent, true) {
            object["columnDefinitions"] = Value::Null;
        }
        line(event, &object)
    }

    /// The position reached; `ends_state`: the state that the watch began with is complete.
    pub(crate) fn bookmark(&self, at: &str, ends_state: bool) -> WatchLine {
        let mut object = json!({
            "apiVersion": self.api_version, "kind": self.kind,
            "metadata": { "resourceVersion": at, "creationTimestamp": null },
        });
        if ends_state {
            object["metadata"]["annotations"] = json!({ "k8s.io/initial-events-end": "true" });
        }
        // Of a table, too: it has no row.
        let form = if self.is_plain() { Form::Json } else { Form::Partial };
        line("BOOKMARK", &shaped(object, form, self.columns, self.include))
    }
}

/// True when a watch begins with the state; `None` when the client leaves that to the position it names.
pub(crate) fn initial_events(options: &Options) -> Result<Option<bool>, Failure> {
    let (asked, how) = (options.get("sendInitialEvents"), options.get("resourceVersionMatch"));
    let field = "resourceVersionMatch";
    let broken = match (asked, how) {
        ("", "") => return Ok(None),
        ("", _) => {
            Violation::forbidden(field, "is forbidden for a watch unless sendInitialEvents is provided")
        }
        (_, "NotOlderThan") => return Ok(Some(options.is_set("sendInitialEvents"))),
        (_, "") => Violation::forbidden(field, "must be NotOlderThan where sendInitialEvents is provided"),
        (_, other) => Violation::not_supported(field, other, &["NotOlderThan"]),
    };
    Err(Failure::list_options(&[broken]))
}

/// When a watch ends.
pub(crate) fn end(options: &Options) -> Result<Instant, Failure> {
    let seconds = options.number("timeoutSeconds")?.and_then(|s| u64::try_from(s).ok()).filter(|s| *s > 0);
    Ok(Instant::now() + seconds.map_or(LONGEST, Duration::from_secs).min(LONGEST))
}
