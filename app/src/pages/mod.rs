//! The pages, one module an address.

#[cfg(feature = "ssr")]
pub(crate) mod access;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod configure;
#[cfg(feature = "ssr")]
pub(crate) mod connect;
pub(crate) mod domain;
pub(crate) mod events;
pub(crate) mod fleet;
pub(crate) mod fqdn;
pub(crate) mod inventory;
pub(crate) mod lazy;
pub(crate) mod networks;
pub(crate) mod not_found;
pub(crate) mod notifications;
#[cfg(feature = "ssr")]
pub(crate) mod object;
#[cfg(feature = "ssr")]
pub(crate) mod reference;
pub(crate) mod scan;
pub(crate) mod settings;
pub(crate) mod trace;
