//! Recorded WHOIS answers, served as they are. In: a folder and an index (JSON lines with `domain`, `tld`, `raw`).
//! Out: bytes by domain. Nothing of it is kept in the repository; the folder is read when the lab starts.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::{Error, names, scenario::Replay};

/// The largest recording that is read.
const CAP: u64 = 1 << 20;

/// One recorded answer.
#[derive(Clone, Debug)]
pub(crate) struct Replayed {
    pub tld: String,
    pub bytes: Vec<u8>,
}

#[derive(Deserialize)]
struct Line {
    domain: String,
    tld: String,
    raw: String,
}

/// Reads the index and every file it names; when a domain is recorded twice, the first one counts.
pub(crate) fn read(replay: &Replay) -> Result<BTreeMap<String, Replayed>, Error> {
    let index = std::fs::read_to_string(&replay.index).map_err(|e| Error::file(&replay.index, e))?;
    let mut all = BTreeMap::new();
    for (number, text) in index.lines().enumerate().filter(|(_, text)| !text.trim().is_empty()) {
        let wrong = |reason: String| Error::Scenario {
            file: replay.index.display().to_string(),
            reason: format!("line {}: {reason}", number + 1),
        };
        let line: Line = serde_json::from_str(text).map_err(|e| wrong(e.to_string()))?;
        // A recording of something that is no domain name can't be asked for, so it is left out.
        let (Ok(domain), Ok(tld)) = (names::normal(&line.domain), names::normal(&line.tld)) else { continue };
        if !domain.contains('.') || names::tld_of(&domain) != names::tld_of(&tld) {
            continue;
        }
        let path = replay.dir.join(&line.raw);
        let size = std::fs::metadata(&path).map_err(|e| Error::file(&path, e))?.len();
        if size > CAP {
            return Err(wrong(format!("{} is larger than 1 MiB", path.display())));
        }
        let bytes = std::fs::read(&path).map_err(|e| Error::file(&path, e))?;
        all.entry(domain).or_insert(Replayed { tld: names::tld_of(&tld).to_owned(), bytes });
    }
    Ok(all)
}
