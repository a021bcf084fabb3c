//! A block of address space as a grid of sub-prefixes of one length: where space is taken, at a glance.

use super::space::Registry;
use super::{Grid, GridPart, GridState};
use service::numbers::prefix::{size, split};
use service::numbers::{IpNet, RangeSet};

/// Bits below the block's length that a cell has: 16 columns of 16 cells.
const BITS: u8 = 8;

impl Registry<'_> {
    /// The grid of a block; `None` for a single address.
    pub(super) fn grid(&self, shown: &IpNet) -> Option<Grid> {
        let bits = BITS.min(shown.max_prefix_len() - shown.prefix_len());
        if bits == 0 {
            return None;
        }
        let rows = bits / 2;
        let cell_length = shown.prefix_len() + bits;
        let column_length = cell_length - rows;
        let refused = RangeSet::of(self.conflicts(shown).iter().map(|(p, _)| p));
        let mut parts = Vec::new();
        for (at, cell) in split(*shown, cell_length).enumerate() {
            let used = self.used.count_within(&cell);
            let state = match used {
                // A refused prefix that has room is shown where it would lie, else what it overlaps hides it.
                _ if refused.intersects(&cell) => GridState::Refused,
                0 => continue,
                n if n == size(&cell) => GridState::Allocated,
                _ => GridState::Partly,
            };
            let (column, row) = ((at >> rows) as u16, (at & ((1 << rows) - 1)) as u16);
            parts.push(GridPart { prefix: cell.to_string(), column, row, state });
        }
        let taken = split(*shown, cell_length).filter(|c| self.used.intersects(c)).count();
        let mut free = split(*shown, column_length).filter(|c| !self.used.intersects(c));
        let first = free.next();
        let columns = 1 + free.count();
        let free = match first {
            Some(first) if columns == 1 => format!("one whole /{column_length} is free, {first}"),
            Some(first) => format!("{columns} whole /{column_length} are free, the first is {first}"),
            None => format!("no whole /{column_length} is free"),
        };
        let verb = if taken == 1 { "is" } else { "are" };
        let all = 1_u32 << bits;
        let words = format!(
            "A column is a /{column_length}, a cell a /{cell_length}. {taken} of {all} /{cell_length} {verb} allocated in whole or in part; {free}."
        );
        Some(Grid { columns: 1 << (bits - rows), rows: 1 << rows, parts, words })
    }
}
