//! Tables: objects as rows, for `kubectl get`.

use crate::kind::Column;
use crate::paths;
use jiff::Timestamp;
use serde_json::{Value, json};

/// The part of its object that each row carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Include {
    Nothing,
    Metadata,
    Object,
}

impl Include {
    pub(crate) fn read(word: &str) -> Self {
        match word {
            "None" => Include::Nothing,
            "Object" => Include::Object,
            _ => Include::Metadata,
        }
    }
}

/// The table of a list or of one object.
pub(crate) fn table(
    columns: &[Column],
    object: &Value,
    version: &str,
    include: Include,
    now: Timestamp,
) -> Value {
    let name = json!({
        "name": "Name", "type": "string", "format": "name", "priority": 0,
        "description": "Name of the object, unique in its namespace.",
    });
    let column = |c: &Column| {
        let shown = if c.kind == "date" { "string" } else { c.kind };
        json!({ "name": c.name, "type": shown, "format": "", "description": c.description, "priority": c.priority })
    };
    let definitions: Vec<Value> = std::iter::once(name).chain(columns.iter().map(column)).collect();
    let one = std::slice::from_ref(object);
    let items = object["items"].as_array().map_or(one, Vec::as_slice);
    let rows: Vec<Value> = items.iter().map(|o| row(columns, o, version, include, now)).collect();
    let mut metadata = json!({ "resourceVersion": object["metadata"]["resourceVersion"] });
    for key in ["continue", "remainingItemCount"] {
        if let Some(value) = object["metadata"].get(key).filter(|v| !v.is_null()) {
            metadata[key] = value.clone();
        }
    }
    json!({
        "kind": "Table", "apiVersion": format!("meta.k8s.io/{version}"), "metadata": metadata,
        "columnDefinitions": definitions, "rows": rows,
    })
}

fn row(columns: &[Column], object: &Value, version: &str, include: Include, now: Timestamp) -> Value {
    let mut cells = vec![object["metadata"]["name"].clone()];
    cells.extend(columns.iter().map(|c| cell(c, object, now)));
    let carried = match include {
        Include::Nothing => Value::Null,
        Include::Object => object.clone(),
        Include::Metadata => json!({
            "kind": "PartialObjectMetadata", "apiVersion": format!("meta.k8s.io/{version}"),
            "metadata": object["metadata"],
        }),
    };
    json!({ "cells": cells, "object": carried })
}

fn cell(column: &Column, object: &Value, now: Timestamp) -> Value {
    let Some(text) = paths::text(object, column.path) else {
        return if column.kind == "string" { "".into() } else { "<unknown>".into() };
    };
    match column.kind {
        "date" => text.parse::<Timestamp>().map_or_else(|_| text.into(), |at| age(at, now).into()),
        "integer" => text.parse::<i64>().map_or_else(|_| text.into(), Value::from),
        _ => text.into(),
    }
}

/// A span in the two largest units that matter, as `kubectl` prints it.
fn age(at: Timestamp, now: Timestamp) -> String {
    let seconds = (now.as_second() - at.as_second()).max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let two =
        |a: i64, x: &str, b: i64, y: &str| if b == 0 { format!("{a}{x}") } else { format!("{a}{x}{b}{y}") };
    match seconds {
        s if s < 120 => format!("{s}s"),
        s if s < 600 => two(minutes, "m", s % 60, "s"),
        s if s < 3 * 3600 => format!("{minutes}m"),
        s if s < 8 * 3600 => two(hours, "h", minutes % 60, "m"),
        s if s < 48 * 3600 => format!("{hours}h"),
        s if s < 8 * 86_400 => two(days, "d", hours % 24, "h"),
        s if s < 730 * 86_400 => format!("{days}d"),
        _ => two(days / 365, "y", days % 365, "d"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_read_as_those_of_kubectl() {
        let at: Timestamp = "2026-11-20T12:00:00Z".parse().unwrap();
        for (seconds, text) in [
            (0, "0s"),
            (119, "119s"),
            (125, "2m5s"),
            (1200, "20m"),
            (3 * 3600, "3h"),
            (4 * 3600 + 60, "4h1m"),
            (30 * 3600, "30h"),
            (3 * 86_400 + 7200, "3d2h"),
            (100 * 86_400, "100d"),
            (800 * 86_400, "2y70d"),
        ] {
            assert_eq!(age(at, at + jiff::SignedDuration::from_secs(seconds)), text);
        }
        assert_eq!(age(at, at - jiff::SignedDuration::from_secs(5)), "0s", "a clock that is behind");
    }
}
