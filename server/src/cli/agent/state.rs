//! The state file of an agent: readable by its owner only, written before the agent joins and replaced as a whole.

use anyhow::{Context, Result, anyhow};
use serde::{Deserialize, Serialize};
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;

/// What an agent keeps: who it is, its key, and the key of its server.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Kept {
    /// Its identity; empty while it joins without having named one.
    pub(super) id: String,
    pub(super) key: String,
    /// The identity of the server; empty while it joins.
    pub(super) server: String,
    pub(super) server_key: String,
    /// The set it is a member of.
    #[serde(default)]
    pub(super) set: String,
    /// The token that it joins with, until it is a member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) token: Option<String>,
}

/// Reads a file; `None` when there is none, or when the demo needs none (an empty path).
pub(super) fn read(path: &Path) -> Result<Option<Kept>> {
    if path.as_os_str().is_empty() || !path.exists() {
        return Ok(None);
    }
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let kept = serde_json::from_str(&text)
        .map_err(|e| anyhow!("{} is not the state of an agent: {e}", path.display()))?;
    Ok(Some(kept))
}

/// Writes a file as a whole: it is what it was before or what it is to be, whenever the machine stops.
pub(super) fn write(path: &Path, kept: &Kept) -> Result<()> {
    if path.as_os_str().is_empty() {
        return Ok(());
    }
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let mut options = OpenOptions::new();
    // The rest of a write that was cut off; whatever else stands there is not written into.
    let _ = fs::remove_file(&name);
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let text = serde_json::to_string_pretty(kept)?;
    options
        .open(&name)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&name, path))
        .and_then(|()| sync_folder(path))
        .with_context(|| path.display().to_string())
}

/// Makes a rename last through a power cut.
fn sync_folder(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if cfg!(unix) { fs::File::open(folder)?.sync_all() } else { Ok(()) }
}

/// Removes the file of an agent that did not become a member.
pub(super) fn remove(path: &Path) {
    if !path.as_os_str().is_empty()
        && let Err(e) = fs::remove_file(path)
    {
        tracing::warn!(error = %e, path = %path.display(), "the state file could not be removed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_as_a_whole_and_read_by_its_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fra-1.json");
        assert!(read(&path).unwrap().is_none() && read(Path::new("")).unwrap().is_none());
        let joining = Kept {
            id: "fra-1".into(),
            key: "key".into(),
            server: String::new(),
            server_key: "server".into(),
            set: String::new(),
            token: Some("dsj_x.y".into()),
        };
        // What a cut-off write left, or others put there, is not written into.
        #[cfg(unix)]
        {
            fs::write(folder.path().join("other"), "").unwrap();
            std::os::unix::fs::symlink(folder.path().join("other"), folder.path().join("fra-1.json.new"))
                .unwrap();
        }
        write(&path, &joining).unwrap();
        #[cfg(unix)]
        {
            assert_eq!(fs::read_to_string(folder.path().join("other")).unwrap(), "");
            fs::remove_file(folder.path().join("other")).unwrap();
        }
        assert_eq!(read(&path).unwrap().unwrap().token.as_deref(), Some("dsj_x.y"));
        write(&path, &Kept { token: None, set: "alder-fleet".into(), ..joining }).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains("alder-fleet") && !text.contains("dsj_"), "{text}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing beside it");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        fs::write(&path, "{").unwrap();
        assert!(read(&path).is_err());
        assert!(write(&folder.path().join("none/x.json"), &read_back()).is_err());
    }

    fn read_back() -> Kept {
        serde_json::from_str(r#"{"id":"a","key":"k","server":"s","server_key":"p"}"#).unwrap()
    }
}
