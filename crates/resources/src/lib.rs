//! The state of the product as resources, served with the conventions of the Kubernetes API, so that `kubectl`, its client
//! libraries and GitOps tools work against it unchanged.
//!
//! In: a caller and an HTTP request without its framework ([`Request`]). Out: a [`Reply`]. Every read and write goes
//! through [`service::Backend`], which authorises it. Kinds are declared in [`kinds`], one file each: schema, columns,
//! validation, and how their objects are stored; everything else is derived from these declarations.
//! Conventions: <https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md>

mod access;
mod admit;
mod api;
mod apply;
mod body;
mod collect;
mod crd;
mod create;
mod delete;
mod discovery;
mod failure;
mod fields;
mod kind;
pub mod kinds;
mod list;
mod managed;
mod meta;
mod namespaces;
mod openapi;
mod patch;
mod paths;
mod protobuf;
mod repeated;
mod request;
mod schema;
mod selector;
mod store;
mod streamed;
mod table;
mod tail;
mod watch;
mod watch_lines;
mod write;

pub use api::Api;
pub use body::BODY_MAX;
pub use collect::{Collected, Linked};
pub use crd::definitions;
pub use failure::Failure;
pub use kind::{Column, GROUP, Kind, VERSION, Verb};
pub use request::{Reply, Request, WATCH_TYPE};
pub use store::{to_yaml, version_of, with_version, yaml_of};
pub use tail::{TailLimits, WatchLine};
