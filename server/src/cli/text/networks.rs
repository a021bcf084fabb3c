//! What is known of a prefix as one reads it in a terminal: who holds it, what is free, which names point into it.

use super::Paint;
use crate::cli::networks::Report;
use model::time::human_day;
use service::addresses::{Place, PlacedAddress, component};
use service::space::{ClaimedPrefix, PrefixState};
use std::fmt::Write;

/// The whole report, with a final line break.
pub(in crate::cli) fn report(r: &Report, colour: bool) -> String {
    let paint = Paint(colour);
    let s = &r.space;
    let mut out = format!("{}\n{}\n", paint.with("1", &s.prefix.to_string()), s.sentence());
    let covering: Vec<_> = s.covering.iter().map(claim).collect();
    section(&mut out, &paint, "Claims that cover it", &covering, &more(s.more_covering as u64));
    let claims: Vec<_> = s.claims.iter().map(claim).collect();
    section(&mut out, &paint, "Claims inside it", &claims, &more(s.more_claims as u64));
    let free: Vec<_> = s.free.iter().map(|p| vec![(p.to_string(), PLAIN)]).collect();
    section(&mut out, &paint, "Free", &free, &more(s.more_free));
    let names: Vec<_> = r.names.iter().map(|(_, a)| name(a)).collect();
    let rest = r.next.as_ref().map(|next| format!("More names: --after '{next}'"));
    section(&mut out, &paint, "Names that point into it", &names, &rest);
    if s.is_partial {
        let _ = writeln!(
            out,
            "\nThere are more refused claims or released prefixes than were compared (1,000 of each)."
        );
    }
    out
}

fn more(count: u64) -> Option<String> {
    (count > 0).then(|| format!("{count} more"))
}

/// A text and its colour.
type Cell = (String, &'static str);

const PLAIN: &str = "0";

/// Rows in columns below a heading; nothing without rows.
fn section(out: &mut String, paint: &Paint, title: &str, rows: &[Vec<Cell>], more: &Option<String>) {
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{}", paint.with("1", title));
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |at: usize| {
        rows.iter().filter_map(|r| r.get(at)).map(|(text, _)| text.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for row in rows {
        let mut line = String::new();
        for (at, (text, colour)) in row.iter().enumerate() {
            // Escapes have no width, and nothing follows the last column.
            let blanks = if at + 1 < row.len() { widths[at] - text.chars().count() } else { 0 };
            let shown = if *colour == PLAIN { text.clone() } else { paint.with(colour, text) };
            let _ = write!(line, "  {shown}{:blanks$}", "");
        }
        let _ = writeln!(out, "{line}");
    }
    if let Some(more) = more {
        let _ = writeln!(out, "  {more}");
    }
}

fn claim(c: &ClaimedPrefix) -> Vec<Cell> {
    let since = format!("since {}", human_day(c.since));
    let words = match (c.state, c.released_at, &c.message) {
        (PrefixState::Released, Some(at), _) => format!("{since}, released on {}", human_day(at)),
        (PrefixState::Unavailable, _, Some(why)) => format!("{since}: {why}"),
        _ => since,
    };
    let colour = match c.state {
        PrefixState::Unavailable => "31",
        PrefixState::Released => "33",
        PrefixState::Allocated => PLAIN,
    };
    vec![
        (c.prefix.to_string(), PLAIN),
        (c.state.as_str().into(), colour),
        (c.claim.clone(), PLAIN),
        (component(&c.reference), PLAIN),
        (words, PLAIN),
    ]
}

fn name(a: &PlacedAddress) -> Vec<Cell> {
    let claim = a.cover.as_ref().map(|c| c.claim.as_str()).unwrap_or_default();
    let words = match a.place {
        Place::Claimed => format!("claimed by {claim}"),
        Place::Released => format!("released by {claim}"),
        Place::Unclaimed => "no claim covers it".into(),
        Place::Elsewhere => "outside of the registered address space".into(),
    };
    let colour = if a.place.is_problem() { "33" } else { PLAIN };
    vec![(a.name.clone(), PLAIN), (a.address.to_string(), PLAIN), (words, colour)]
}
