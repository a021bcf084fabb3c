//! Which rows of the tables a reading may use: all of them. In tests, rows can be switched off and those that were used
//! are kept, so that a test can ask how the parser reads a registry whose words it has never seen.

#[cfg(test)]
pub(crate) use test_only::{open, open_nth, without};

#[cfg(not(test))]
pub(crate) const fn open(_table: &str, _word: &str) -> bool {
    true
}

#[cfg(not(test))]
pub(crate) const fn open_nth(_table: &str, _n: usize) -> bool {
    true
}

#[cfg(test)]
mod test_only {
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
}
