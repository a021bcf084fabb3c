//! Encryption of what is secret in the database: addresses and keys of notification channels. In: a text and the row it
//! belongs to; out: `v1:` and base64 of nonce and ciphertext (ChaCha20-Poly1305, RFC 8439). The row is authenticated
//! with it, so that a ciphertext moved to another row can't be read.

use crate::api::{Error, Result};
use data_encoding::BASE64;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};
use std::io::Write;
use std::path::Path;

/// Marks a text that is encrypted; JSON begins otherwise.
const MARK: &str = "v1:";
/// Octets of a key.
const KEY: usize = 32;

/// The key that encrypts secrets in the database.
#[derive(Clone)]
pub struct SecretKey([u8; KEY]);

impl std::fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretKey")
    }
}

impl SecretKey {
    /// Reads a key: 32 octets in base64.
    ///
    /// # Errors
    /// A sentence with the rule; it never repeats the text.
    pub fn parse(text: &str) -> std::result::Result<Self, String> {
        let octets = BASE64.decode(text.trim().as_bytes()).ok();
        let octets = octets.and_then(|o| <[u8; KEY]>::try_from(o).ok());
        octets.map(SecretKey).ok_or_else(|| {
            "the key is not 32 octets in base64; make one with: openssl rand -base64 32".to_string()
        })
    }

    /// Reads the key from a file, or writes a new one there that only its owner can read.
    pub(crate) fn of_file(path: &Path) -> Result<Self> {
        let unavailable = |e: std::io::Error| Error::Unavailable(format!("key file {}: {e}", path.display()));
        let read = || -> Result<Option<Self>> {
            match std::fs::read_to_string(path) {
                Ok(text) => Self::parse(&text)
                    .map(Some)
                    .map_err(|e| Error::Broken(format!("key file {}: {e}", path.display()))),
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
                Err(e) => Err(unavailable(e)),
            }
        };
        if let Some(key) = read()? {
            return Ok(key);
        }
        let mut key = [0; KEY];
        SystemRandom::new().fill(&mut key).map_err(|_| Error::Broken("no random numbers".into()))?;
        // Written whole under another name first: a process that dies in between leaves no half of a key. The link fails
        // when another process was faster; then its key is used.
        let part = path.with_extension(format!("key.{}", std::process::id()));
        let mut options = std::fs::File::options();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let written = options.open(&part).and_then(|mut file| {
            file.write_all(BASE64.encode(&key).as_bytes())?;
            file.write_all(b"\n")?;
            file.sync_all()
        });
        let placed = written.and_then(|()| std::fs::hard_link(&part, path));
        let _ = std::fs::remove_file(&part);
        match placed {
            Ok(()) => Ok(SecretKey(key)),
            Err(e) => match read()? {
                Some(key) => Ok(key),
                None => Err(unavailable(e)),
            },
        }
    }

    fn aead(&self) -> Result<LessSafeKey> {
        let key = UnboundKey::new(&CHACHA20_POLY1305, &self.0);
        key.map(LessSafeKey::new).map_err(|_| Error::Broken("the secret key can't be used".into()))
    }

    /// Encrypts a text that belongs to a row.
    pub(crate) fn seal(&self, row: &str, text: &str) -> Result<String> {
        let mut nonce = [0; NONCE_LEN];
        let failed = |_| Error::Broken("encryption failed".into());
        SystemRandom::new().fill(&mut nonce).map_err(failed)?;
        let mut octets = text.as_bytes().to_vec();
        let of_row = Aad::from(row.as_bytes());
        self.aead()?
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), of_row, &mut octets)
            .map_err(failed)?;
        Ok(format!("{MARK}{}", BASE64.encode(&[&nonce[..], &octets].concat())))
    }

    /// Decrypts a text that belongs to a row; `None` when it was made with another key or for another row.
    pub(crate) fn open(&self, row: &str, text: &str) -> Option<String> {
        let octets = BASE64.decode(text.strip_prefix(MARK)?.as_bytes()).ok()?;
        let (nonce, rest) = octets.split_first_chunk::<NONCE_LEN>()?;
        let mut rest = rest.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let plain = self.aead().ok()?.open_in_place(nonce, Aad::from(row.as_bytes()), &mut rest).ok()?;
        String::from_utf8(plain.to_vec()).ok()
    }
}

/// True when a stored text is encrypted.
pub(crate) fn is_sealed(text: &str) -> bool {
    text.starts_with(MARK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_with_its_key_in_its_row_only() {
        let (a, b) = (SecretKey([1; KEY]), SecretKey([2; KEY]));
        let sealed = a.seal("1/channel/x", "hunter2").unwrap();
        assert!(is_sealed(&sealed) && !sealed.contains("hunter2"));
        assert_eq!(a.open("1/channel/x", &sealed).as_deref(), Some("hunter2"));
        assert_eq!(a.open("2/channel/x", &sealed), None);
        assert_eq!(b.open("1/channel/x", &sealed), None);
        assert_ne!(a.seal("1/channel/x", "hunter2").unwrap(), sealed, "a new nonce each time");
        let mut broken = sealed.clone();
        broken.replace_range(10..11, if &sealed[10..11] == "A" { "B" } else { "A" });
        assert_eq!(a.open("1/channel/x", &broken), None);
        for odd in ["", "v1:", "v1:AAAA", "{}", "v1:%"] {
            assert_eq!(a.open("1/channel/x", odd), None, "{odd}");
        }
    }

    #[test]
    fn a_key_file_is_made_once_for_its_owner_and_a_damaged_one_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.key");
        let first = SecretKey::of_file(&path).unwrap();
        assert_eq!(SecretKey::of_file(&path).unwrap().0, first.0);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
        std::fs::write(&path, "short").unwrap();
        let e = SecretKey::of_file(&path).unwrap_err().to_string();
        assert!(e.contains("x.key") && e.contains("openssl rand") && !e.contains("short"), "{e}");
    }
}
