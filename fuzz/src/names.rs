//! Names people type: read once is read for good, and what is refused is refused in words.

use model::names::{DomainName, Fqdn, NameError};

/// Panics when a promise of the reader is broken.
pub fn check(data: &[u8]) {
    let typed = String::from_utf8_lossy(data);
    match DomainName::read(&typed) {
        Ok(read) => {
            let name = read.name.as_str();
            normalised(name);
            assert!(name.contains('.') && !name.contains('_'), "{name:?} from {typed:?}");
            assert_eq!(
                DomainName::read(name).map(|u| u.name).as_ref(),
                Ok(&read.name),
                "{name:?} read again"
            );
            let shown = read.name.unicode();
            assert_eq!(
                DomainName::read(&shown).map(|u| u.name).as_ref(),
                Ok(&read.name),
                "{shown:?} as shown"
            );
            assert_eq!(read.name.fqdn().registrable().as_ref(), Some(&read.name), "{name:?}");
        }
        Err(error) => in_words(&error),
    }
    match Fqdn::read(&typed) {
        Ok(read) if read.name.as_str().is_empty() => assert_eq!(typed.trim(), "."),
        Ok(read) => {
            normalised(read.name.as_str());
            assert_eq!(Fqdn::read(read.name.as_str()).map(|u| u.name), Ok(read.name));
        }
        Err(error) => in_words(&error),
    }
    for entry in model::paste::read(&typed).entries {
        assert!(entry.line >= 1, "{entry:?}");
    }
}

fn normalised(name: &str) {
    assert!(!name.is_empty() && name.len() <= 253, "{name:?} has {} octets", name.len());
    for label in name.split('.') {
        assert!(!label.is_empty() && label.len() <= 63, "{name:?} has a label of {}", label.len());
        assert!(
            label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_'),
            "{name:?} is not in A-labels"
        );
    }
}

/// A refusal quotes what was typed, cut short.
fn in_words(error: &NameError) {
    let sentence = error.to_string();
    assert!(sentence.len() > 20 && sentence.len() < 1_000, "{sentence:?}");
}
