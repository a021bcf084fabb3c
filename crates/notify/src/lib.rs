//! Notifications: turns recorded events into messages and sends them. In: rows of the outbox, channels and rules of an
//! organisation; out: messages that the other side accepted, or a later attempt, or a message given up and visible.
//!
//! What is sent to whom is decided by `model::notify`; this crate renders and delivers. Everything that leads to an
//! address a user chose goes through the guarded dialer of `net`; mail goes through the operator's SMTP server.

mod atom;
mod calendar;
mod cluster;
mod deliver;
mod dispatch;
mod history;
mod html;
mod mail;
mod message;
mod pagerduty;
mod payload;
mod repeat;
mod settle;
mod sign;

pub use atom::{AtomSource, atom};
pub use calendar::calendar;
pub use cluster::Cluster;
pub use deliver::{Deliverer, Endpoints};
pub use dispatch::{Dispatcher, Now};
pub use mail::{Smtp, SmtpSettings};
pub use message::{Message, Part};
pub use payload::{Post, posts};
pub use sign::{new_secret, signature};
