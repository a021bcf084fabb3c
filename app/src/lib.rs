//! The interface: pages, components and server-function signatures. Runs in the server (feature `ssr`) and in the
//! browser (feature `hydrate`).

pub mod answer;
#[cfg(feature = "ssr")]
pub mod backend;
