//! The server's clock.

use model::Timestamp;

/// The server's clock, for rendering; tests and pictures pass their own.
#[derive(Clone, Copy)]
pub struct Clock(pub fn() -> Timestamp);
