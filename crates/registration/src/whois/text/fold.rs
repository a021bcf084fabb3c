//! Folding: the form in which labels and words of tables are compared. In: any text; out: lower-case letters and
//! digits.

/// Folds a label: bracketed parts, punctuation and trailing digits go (`Name Server (DB) 1:` becomes `nameserver`).
pub(crate) fn label(text: &str, into: &mut String) {
    into.clear();
    let mut depth = 0u32;
    for c in text.chars().take(96) {
        match c {
            '(' | '（' => depth += 1,
            ')' | '）' => depth = depth.saturating_sub(1),
            _ if depth > 0 => {}
            c if c.is_ascii_alphanumeric() => into.push(c.to_ascii_lowercase()),
            c if c.is_ascii() => {}
            c if c.is_alphanumeric() => into.extend(c.to_lowercase().filter(|l| l.is_alphanumeric())),
            _ => {}
        }
    }
    let kept = into.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    if kept > 0 {
        into.truncate(kept);
    }
}

/// Folds a value for comparing with the words of a table: letters and digits, lower case.
pub(crate) fn word(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(200));
    for c in text.chars().take(200) {
        match c {
            c if c.is_ascii_alphanumeric() => out.push(c.to_ascii_lowercase()),
            c if c.is_alphanumeric() => out.extend(c.to_lowercase()),
            _ => {}
        }
    }
    out
}

/// A name in A-labels; as it is when it cannot be converted.
pub(crate) fn to_ascii(name: &str) -> String {
    if name.is_ascii() {
        return name.to_string();
    }
    idna::domain_to_ascii(name).unwrap_or_else(|_| name.to_string())
}

/// FNV-1a: the keys are a few thousand words of our own, and short.
#[derive(Default)]
pub(crate) struct Fnv(u64);

impl std::hash::Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.0 = (self.0 ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// A letter in lower case without its accent; a combining accent is nothing.
pub(crate) fn plain(c: char) -> impl Iterator<Item = char> {
    c.to_lowercase().filter(|l| !matches!(l, '\u{300}'..='\u{36f}')).map(|l| match l {
        'á' | 'à' | 'â' | 'ä' | 'ã' | 'å' | 'ă' | 'ą' | 'ā' | 'æ' | 'ạ'..='ặ' => 'a',
        'é' | 'è' | 'ê' | 'ë' | 'ě' | 'ę' | 'ē' | 'ė' | 'ẹ'..='ệ' => 'e',
        'í' | 'ì' | 'î' | 'ï' | 'ı' | 'ī' | 'į' | 'ĩ' | 'ỉ'..='ị' => 'i',
        'ó' | 'ò' | 'ô' | 'ö' | 'õ' | 'ø' | 'ő' | 'ơ' | 'ọ'..='ợ' => 'o',
        'ú' | 'ù' | 'û' | 'ü' | 'ů' | 'ū' | 'ų' | 'ű' | 'ũ' | 'ư' | 'ụ'..='ự' => 'u',
        'ç' | 'ć' | 'č' => 'c',
        'ñ' | 'ń' | 'ň' | 'ņ' => 'n',
        'š' | 'ş' | 'ś' | 'ș' => 's',
        'ž' | 'ź' | 'ż' => 'z',
        'ț' | 'ţ' | 'ť' => 't',
        'ý' | 'ỳ'..='ỹ' => 'y',
        'ğ' => 'g',
        'ř' => 'r',
        'ł' | 'ļ' | 'ľ' => 'l',
        'đ' | 'ď' => 'd',
        'ё' => 'е',
        'ά' => 'α',
        'έ' => 'ε',
        'ή' => 'η',
        'ί' => 'ι',
        'ό' => 'ο',
        'ύ' => 'υ',
        'ώ' => 'ω',
        l => l,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_fold() {
        let mut s = String::new();
        for (from, to) in [
            ("Name Server (DB)", "nameserver"),
            ("ns_name_01", "nsname"),
            ("Registrar URL (registration services)", "registrarurl"),
            ("domain.............", "domain"),
            ("등록대행자   ", "등록대행자"),
            ("123", "123"),
            ("Date d'expiration", "datedexpiration"),
        ] {
            label(from, &mut s);
            assert_eq!(s, to);
        }
    }
}
