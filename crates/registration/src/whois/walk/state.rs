//! What the walk keeps while it reads line after line.

use super::facts::Facts;
use crate::whois::layout::lines::Line;
use crate::whois::question::Question;
use crate::whois::vocabulary::tables::{Field, Kind};

/// A label whose value may go on in the following lines.
pub(super) struct Open<'a> {
    pub(super) field: Field,
    pub(super) rank: u8,
    pub(super) label: &'a str,
    pub(super) indent: usize,
    /// The label had no value of its own.
    pub(super) empty: bool,
    /// The label stood first in its paragraph.
    pub(super) begins: bool,
    pub(super) taken: bool,
    /// A blank line came in between.
    pub(super) gap: bool,
}

/// The walk so far.
pub(super) struct Walk<'a, 'l> {
    pub(super) lines: &'l [Line<'a>],
    pub(super) asked: &'l Question,
    pub(super) facts: Facts<'a>,
    /// The line being read.
    pub(super) at: usize,
    pub(super) section: Kind,
    pub(super) section_indent: usize,
    pub(super) section_full: bool,
    /// The section is an object of its own, parted from others by blank lines, not a block of the record.
    pub(super) section_object: bool,
    /// The lines of the section are deeper than its heading.
    pub(super) section_deep: bool,
    /// A blank line came after the section had content.
    pub(super) section_ending: bool,
    pub(super) paragraph: bool,
    pub(super) open: Option<Open<'a>>,
    pub(super) scratch: String,
}

pub(super) fn first(s: &str) -> &str {
    s.split_whitespace().next().unwrap_or_default()
}
