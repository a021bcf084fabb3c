//! Schemas of keys whose value is one of a fixed set of words, made of the sets themselves.

use model::account::TokenScope;
use model::configure::ServiceKind;
use model::event::{EventKind, Severity};
use model::ids::Role;
use model::item::Ownership;
use model::notify::DeliveryState;
use model::ownership::Method;
use model::status::StatusKind;
use utoipa::openapi::schema::{ArrayBuilder, Object, ObjectBuilder, Schema, SchemaType, Type};

fn one_of(words: impl IntoIterator<Item = &'static str>) -> Object {
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words)).build()
}

fn list(items: Object) -> Schema {
    ArrayBuilder::new().items(items).build().into()
}

/// `owned` or `watched`.
pub fn ownership() -> Object {
    one_of([Ownership::Owned, Ownership::Watched].map(Ownership::as_str))
}

/// The same, or `null`.
pub fn ownership_or_null() -> Object {
    let words = [Ownership::Owned, Ownership::Watched].map(|o| serde_json::Value::from(o.as_str()));
    let or_null = words.into_iter().chain([serde_json::Value::Null]);
    ObjectBuilder::new()
        .schema_type(SchemaType::from_iter([Type::String, Type::Null]))
        .enum_values(Some(or_null))
        .build()
}

/// Kinds of status.
pub fn status() -> Object {
    one_of(StatusKind::ALL.map(StatusKind::as_str))
}

/// Kinds of events.
pub fn event_kind() -> Object {
    one_of(EventKind::ALL.map(EventKind::as_str))
}

/// A kind of event, or `null`.
pub fn event_kind_or_null() -> Object {
    let words = EventKind::ALL.map(|k| serde_json::Value::from(k.as_str()));
    let or_null = words.into_iter().chain([serde_json::Value::Null]);
    ObjectBuilder::new()
        .schema_type(SchemaType::from_iter([Type::String, Type::Null]))
        .enum_values(Some(or_null))
        .build()
}

/// A list of kinds of events.
pub fn event_kinds() -> Schema {
    list(event_kind())
}

/// Severities of events.
pub fn severity() -> Object {
    one_of(Severity::ALL.map(Severity::as_str))
}

/// States of messages.
pub fn delivery_state() -> Object {
    one_of(DeliveryState::WORDS)
}

/// Roles of members.
pub fn role() -> Object {
    one_of(Role::ALL.map(Role::as_str))
}

/// Scopes of API tokens.
pub fn scope() -> Object {
    one_of(TokenScope::ALL.map(TokenScope::as_str))
}

/// Ways to prove control of a domain.
pub fn method() -> Object {
    one_of(Method::ALL.map(Method::as_str))
}

/// A list of them.
pub fn methods() -> Schema {
    list(method())
}

/// Kinds of services.
pub fn service() -> Object {
    one_of(ServiceKind::ALL.map(ServiceKind::as_str))
}
