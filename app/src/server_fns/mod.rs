//! Server functions: what the browser may ask. Each takes backend and caller from the context, so each is
//! authorised by the backend; without them it fails cleanly. They are public endpoints under `/api/fn/`.

#[cfg(feature = "ssr")]
mod context;
mod payload;
// The arguments of a server function become fields that cannot be documented.
#[allow(missing_docs)]
mod read;
#[allow(missing_docs)]
mod settings;
#[allow(missing_docs)]
mod tools;
#[allow(missing_docs)]
mod write;

pub use payload::*;
pub use read::*;
pub use settings::*;
pub use tools::*;
pub use write::*;
