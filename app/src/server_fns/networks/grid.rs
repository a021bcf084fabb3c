//! A block of address space as a grid of sub-prefixes of one length: where space is taken, at a glance.

use super::space::Conflict;
use super::{Grid, GridPart, GridState};
use service::numbers::prefix::split;
use service::numbers::{IpNet, RangeSet};
use std::collections::BTreeSet;

/// Bits below the block's length that a cell has: 16 columns of 16 cells.
const BITS: u8 = 8;

/// The grid of a block from what is used of it and what of that others hold; `None` for a single address.
pub(super) fn of(
    shown: &IpNet,
    (used, foreign): (&RangeSet, &RangeSet),
    conflicts: &[Conflict<'_>],
) -> Option<Grid> {
    let bits = BITS.min(shown.max_prefix_len() - shown.prefix_len());
    if bits == 0 {
        return None;
    }
    let rows = bits / 2;
    let cell_length = shown.prefix_len() + bits;
    let column_length = cell_length - rows;
    let refused = RangeSet::of(conflicts.iter().map(|(p, ..)| p));
    let mut parts = Vec::new();
    let (mut taken, mut others) = (0, 0);
    for (at, cell) in split(*shown, cell_length).enumerate() {
        let is_used = used.intersects(&cell);
        taken += u32::from(is_used);
        others += u32::from(foreign.intersects(&cell));
        let state = match (refused.intersects(&cell), foreign.contains(&cell), used.contains(&cell)) {
            // A refused prefix that has room is shown where it would lie, else what it overlaps hides it.
            (true, ..) => GridState::Refused,
            (_, true, _) => GridState::Foreign,
            (.., true) => GridState::Allocated,
            _ if is_used => GridState::Partly,
            _ => continue,
        };
        let (column, row) = ((at >> rows) as u16, (at & ((1 << rows) - 1)) as u16);
        parts.push(GridPart { prefix: cell.to_string(), column, row, state });
    }
    let mut free = split(*shown, column_length).filter(|c| !used.intersects(c));
    let first = free.next();
    let columns = 1 + free.count();
    let free = match first {
        Some(first) if columns == 1 => format!("one whole /{column_length} is free, {first}"),
        Some(first) => format!("{columns} whole /{column_length} are free, the first is {first}"),
        None => format!("no whole /{column_length} is free"),
    };
    let verb = if taken == 1 { "is" } else { "are" };
    let others = match others {
        0 => String::new(),
        1 => ", one of them to other organisations".to_string(),
        n => format!(", {n} of them to other organisations"),
    };
    let names: BTreeSet<&str> = conflicts.iter().map(|(_, claim, _)| claim.name.as_str()).collect();
    let reds = parts.iter().filter(|p| p.state == GridState::Refused).count();
    let red = if reds == 1 { " The red cell is refused for" } else { " Red cells are refused for" };
    let names: Vec<&str> = names.into_iter().collect();
    let refused = match names.as_slice() {
        [] => String::new(),
        [one] => format!("{red} {one}."),
        [one, two] => format!("{red} {one} and {two}."),
        [one, two, rest @ ..] => format!("{red} {one}, {two} and {} more claims.", rest.len()),
    };
    let all = 1_u32 << bits;
    let words = format!(
        "A column is a /{column_length}, a cell a /{cell_length}. {taken} of {all} /{cell_length} {verb} allocated in whole or in part{others}; {free}.{refused}"
    );
    Some(Grid { columns: 1 << (bits - rows), rows: 1 << rows, parts, words })
}
