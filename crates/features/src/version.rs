//! Versions of the program: major and minor, the patch counts for nothing.

/// Major and minor version, in the order of releases.
pub(crate) fn minor(version: &str) -> (u64, u64) {
    let mut parts = version.split('.').map(|p| p.parse::<u64>().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

/// How many releases lie between two versions, at least: how many minor versions an old major had is not known here, so a
/// step of the major version counts as one.
pub(crate) fn releases_between(older: &str, newer: &str) -> u64 {
    let ((old_major, old_minor), (new_major, new_minor)) = (minor(older), minor(newer));
    match new_major.checked_sub(old_major) {
        Some(0) => new_minor.saturating_sub(old_minor),
        Some(majors) => majors.saturating_add(new_minor),
        None => 0,
    }
}

/// Releases for which a feature is kept that this program does not know.
pub(crate) const KEPT_VERSIONS: u64 = 3;

/// The release that forgets a feature which no version after `known_by` knows.
pub fn kept_until(known_by: &str) -> String {
    let (major, minor) = minor(known_by);
    format!("{major}.{}", minor.saturating_add(KEPT_VERSIONS).saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_that_forgets_is_the_first_that_is_more_than_three_ahead() {
        let until = kept_until("0.2.4");
        assert_eq!(until, "0.6");
        assert!(releases_between("0.2.4", &until) > KEPT_VERSIONS);
        assert!(releases_between("0.2.4", "0.5.9") <= KEPT_VERSIONS);
        assert_eq!(kept_until("1.0"), "1.4");
    }

    #[test]
    fn a_major_step_is_one_release() {
        for (older, newer, n) in [
            ("0.1", "0.1.9", 0),
            ("0.1.3", "0.4.2", 3),
            ("0.9", "1.0", 1),
            ("0.9.4", "1.2.0", 3),
            ("0.9", "1.3", 4),
            ("0.9", "2.0", 2),
            ("1.0", "0.9", 0),
            ("1.2", "1.1", 0),
        ] {
            assert_eq!(releases_between(older, newer), n, "{older} to {newer}");
        }
        assert!(minor("0.1000") < minor("1.0") && minor("0.9") < minor("0.10"));
    }
}
