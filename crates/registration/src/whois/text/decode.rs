//! Bytes to text. UTF-8 when it is UTF-8, otherwise the encoding the TLD's table names, otherwise windows-1252 (a
//! superset of Latin-1). In: bytes as received; out: text without control characters but tabs and line ends, HTML
//! wrapping removed.

use crate::data::charsets;
use crate::whois::question::Question;
use encoding_rs::{Encoding, WINDOWS_1252};
use std::borrow::Cow;

pub(crate) fn decode<'a>(bytes: &'a [u8], asked: &Question, warnings: &mut Vec<String>) -> Cow<'a, str> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let text = match std::str::from_utf8(bytes) {
        // ISO-2022-JP is ASCII with escapes: valid UTF-8, but not meant as such.
        Ok(_) if bytes.contains(&0x1B) && bytes.windows(2).any(|w| w == b"\x1B$") => {
            encoding_rs::ISO_2022_JP.decode(bytes).0
        }
        Ok(s) => Cow::Borrowed(s),
        Err(e) if e.error_len().is_none() && e.valid_up_to() + 4 > bytes.len() => {
            // Cut in the middle of a character: UTF-8 all the same.
            Cow::Borrowed(std::str::from_utf8(&bytes[..e.valid_up_to()]).unwrap_or_default())
        }
        Err(_) if mostly_utf8(bytes) => {
            warnings.push("the answer holds bytes that are not UTF-8".into());
            String::from_utf8_lossy(bytes)
        }
        Err(_) => {
            let named = charsets::encoding(asked.server.as_deref(), &asked.tlds);
            legacy(bytes, named)
        }
    };
    let suspect = |b: u8| matches!(b, 0..=8 | 0x0B | 0x0C | 0x0E..=0x1F | 0x7F | 0xC2);
    let unfit = text.bytes().any(suspect) && text.contains(is_unfit);
    let text = if unfit { Cow::Owned(text.replace(is_unfit, "")) } else { text };
    if looks_like_html(&text) { Cow::Owned(strip_tags(&text)) } else { text }
}

/// Control characters that no answer needs: a NUL is refused by databases, an escape drives the terminal it is shown in.
fn is_unfit(c: char) -> bool {
    c.is_control() && !matches!(c, '\t' | '\n' | '\r')
}

/// Decodes with the named encoding unless that fails, then with windows-1252, which cannot fail.
fn legacy<'a>(bytes: &'a [u8], named: Option<&'static Encoding>) -> Cow<'a, str> {
    if let Some(e) = named {
        // Japanese servers that do not escape send Shift-JIS or EUC-JP.
        let family: &[&Encoding] =
            if e == encoding_rs::ISO_2022_JP { &[encoding_rs::SHIFT_JIS, encoding_rs::EUC_JP] } else { &[e] };
        for e in family {
            if let (t, false) = e.decode_without_bom_handling(bytes) {
                return t;
            }
        }
    }
    WINDOWS_1252.decode_without_bom_handling(bytes).0
}

/// True when nearly every non-ASCII byte belongs to a well-formed UTF-8 sequence: a text with a few bad bytes, not
/// a text in another encoding.
fn mostly_utf8(bytes: &[u8]) -> bool {
    let (mut good, mut bad) = (0usize, 0usize);
    for chunk in bytes.utf8_chunks() {
        good += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        bad += usize::from(!chunk.invalid().is_empty());
    }
    good > 4 * bad
}

fn looks_like_html(text: &str) -> bool {
    let mut end = text.len().min(4096);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].split('<').skip(1).any(|tag| {
        ["html", "br>", "br/", "br ", "pre", "!doctype", "body", "table", "div"]
            .iter()
            .any(|t| tag.get(..t.len()).is_some_and(|head| head.eq_ignore_ascii_case(t)))
    })
}

/// Drops tags; those that end a line in a browser end one here.
fn strip_tags(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('<') {
        out.push_str(&rest[..open]);
        let tail = &rest[open..];
        let starts_tag = tail[1..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '!');
        let Some(close) = (if starts_tag { tail.find('>') } else { None }) else {
            out.push('<');
            rest = &tail[1..];
            if !starts_tag {
                continue;
            }
            break;
        };
        let name: String = tail[1..close]
            .trim_start_matches('/')
            .chars()
            .take_while(char::is_ascii_alphanumeric)
            .flat_map(char::to_lowercase)
            .collect();
        if matches!(
            name.as_str(),
            "br" | "p" | "div" | "tr" | "li" | "pre" | "h1" | "h2" | "h3" | "table" | "dt"
        ) {
            out.push('\n');
        } else {
            out.push(' ');
        }
        rest = &tail[close + 1..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(tld: &str, bytes: &[u8]) -> String {
        decode(bytes, &Question::new("example", Some(tld), None), &mut Vec::new()).into_owned()
    }

    #[test]
    fn encodings_by_table() {
        let jis = encoding_rs::ISO_2022_JP.encode("[状態] Active").0.into_owned();
        assert_eq!(decoded("jp", &jis), "[状態] Active");
        let sjis = encoding_rs::SHIFT_JIS.encode("[状態] Active").0.into_owned();
        assert_eq!(decoded("jp", &sjis), "[状態] Active");
        let kr = encoding_rs::EUC_KR.encode("등록일 : 2012. 05. 19.").0.into_owned();
        assert_eq!(decoded("kr", &kr), "등록일 : 2012. 05. 19.");
        assert_eq!(decoded("de", b"Fl\xE4che"), "Fläche");
        assert_eq!(decoded("fr", "caf\u{e9}\0!".as_bytes()), "café!");
        assert_eq!(decoded("fr", "\u{1b}[31m\ta\u{85}\u{9b}b\r\n".as_bytes()), "[31m\tab\r\n");
        assert_eq!(decoded("ph", b"<html><b>Domain:</b> x.ph<br>Status: ok"), "  Domain:  x.ph\nStatus: ok");
    }

    #[test]
    fn unclosed_tags_take_linear_time() {
        let text = "<br".repeat(200_000);
        assert!(strip_tags(&text).len() <= text.len());
    }
}
