//! Platforms at which an abandoned CNAME target can be claimed, from `data/takeover.tsv` (attribution there).

use std::sync::LazyLock;

/// How an unclaimed target shows.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    /// The target does not exist.
    NoSuchName,
    /// The page has one of these texts.
    Answer(Vec<&'static str>),
}

/// A row of the table.
#[derive(Debug)]
pub(crate) struct Platform {
    pub service: &'static str,
    pub suffix: &'static str,
    pub sign: Sign,
    pub source: &'static str,
}

static TABLE: LazyLock<Vec<Platform>> = LazyLock::new(|| {
    let rows = include_str!("../data/takeover.tsv").lines().filter(|line| !line.starts_with('#')).skip(1);
    rows.filter_map(row).collect()
});

fn row(line: &'static str) -> Option<Platform> {
    let mut fields = line.split('\t');
    let (service, suffix, sign) = (fields.next()?, fields.next()?, fields.next()?);
    let (texts, source) = (fields.next()?, fields.next()?);
    let sign = match sign {
        "no-such-name" => Sign::NoSuchName,
        "answer" => Sign::Answer(texts.split(" || ").collect()),
        _ => return None,
    };
    Some(Platform { service, suffix, sign, source })
}

/// The platform a target belongs to, when the target shows as unclaimed.
pub(crate) fn unclaimed(target: &str, exists: bool, page: Option<&str>) -> Option<&'static Platform> {
    TABLE.iter().find(|row| {
        let below =
            target.strip_suffix(row.suffix).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
        below
            && match &row.sign {
                Sign::NoSuchName => !exists,
                Sign::Answer(texts) => exists && page.is_some_and(|p| texts.iter().any(|t| p.contains(t))),
            }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_reads_and_names_its_source() {
        let lines = include_str!("../data/takeover.tsv").lines().filter(|l| !l.starts_with('#')).count();
        assert_eq!(TABLE.len(), lines - 1);
        assert!(TABLE.len() >= 40);
        for row in TABLE.iter() {
            assert!(!row.service.is_empty() && row.suffix.contains('.') && !row.source.is_empty(), "{row:?}");
            assert!(
                !matches!(&row.sign, Sign::Answer(texts) if texts.iter().any(|t| t.len() < 12)),
                "{row:?}"
            );
        }
    }

    #[test]
    fn a_target_is_unclaimed_by_its_platforms_sign_only() {
        let shown = |target, exists, page| unclaimed(target, exists, page).map(|p| p.service);
        assert_eq!(shown("gone.azurewebsites.net", false, None), Some("Microsoft Azure"));
        assert_eq!(shown("here.azurewebsites.net", true, None), None);
        assert_eq!(shown("notazurewebsites.net", false, None), None);
        let page = Some("<Message>The specified bucket does not exist</Message>");
        assert_eq!(shown("x.s3.amazonaws.com", true, page), Some("AWS/S3"));
        assert_eq!(shown("x.s3.amazonaws.com", true, Some("welcome")), None);
        assert_eq!(shown("x.example.com", true, page), None);
    }
}
