//! Test-only: which rows of the tables a reading used, and switching rows off, so that tests can ask how the parser
//! reads a registry whose words it has never seen.

use std::cell::RefCell;
use std::collections::HashSet;

#[derive(Default)]
struct Probe {
    used: HashSet<String>,
    off: HashSet<String>,
}

thread_local! {
    static PROBE: RefCell<Probe> = RefCell::default();
}

/// True when the row `word` of `table` may be used; keeps that it was asked for.
pub(crate) fn open(table: &str, word: &str) -> bool {
    let key = format!("{table}:{word}");
    PROBE.with_borrow_mut(|p| {
        let allowed = !p.off.contains(&key);
        p.used.insert(key);
        allowed
    })
}

/// The same for rows that have a number only.
pub(crate) fn open_nth(table: &str, n: usize) -> bool {
    open(table, &n.to_string())
}

/// Runs `f` with the rows of `off` switched off; what it used comes back too.
pub(crate) fn without<T>(off: HashSet<String>, f: impl FnOnce() -> T) -> (T, HashSet<String>) {
    PROBE.with_borrow_mut(|p| *p = Probe { used: HashSet::new(), off });
    let out = f();
    let used = PROBE.take().used;
    (out, used)
}
