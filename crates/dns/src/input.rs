//! Names and types as callers write them. In: text. Out: what goes on the wire, or an error to show.

use crate::error::Error;
use crate::wire::{Name, Rtype};

pub(crate) fn wire_name(name: &str) -> Result<Name, Error> {
    Name::from_text(name).map_err(|e| Error::Name(name.to_string(), e.to_string()))
}

/// Whether a text is a record type that can be asked for.
///
/// # Errors
/// [`Error::Type`].
pub fn known_type(rtype: &str) -> Result<(), Error> {
    wire_type(rtype).map(|_| ())
}

pub(crate) fn wire_type(rtype: &str) -> Result<Rtype, Error> {
    Rtype::from_text(rtype).ok_or_else(|| Error::Type(rtype.to_string()))
}
