//! Server functions: what the browser may ask. Each takes backend and caller from the context, so each is
//! authorised by the backend; without them it fails cleanly. They are public endpoints under `/api/fn/`.

#[cfg(feature = "ssr")]
mod context;
#[allow(missing_docs)]
mod networks;
mod payload;
// The arguments of a server function become fields that cannot be documented.
#[allow(missing_docs)]
mod alerts;
#[allow(missing_docs)]
mod read;
#[allow(missing_docs)]
mod services;
#[allow(missing_docs)]
mod settings;
#[allow(missing_docs)]
mod tools;
#[allow(missing_docs)]
mod write;

pub use alerts::*;
pub use networks::*;
pub use payload::*;
pub use read::*;
pub use services::*;
pub use settings::*;
pub use tools::*;
pub use write::*;
