//! What the text of a value says: dates, statuses, host names and the like.

pub(in crate::whois) mod date;
pub(in crate::whois) mod fields;
pub(in crate::whois) mod short_date;
pub(in crate::whois) mod states;
