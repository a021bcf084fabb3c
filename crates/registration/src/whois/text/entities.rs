//! HTML entities that registries leave in their texts. In: a value; out: the same with the characters they stand for;
//! what is no entity stays as it is.

use std::borrow::Cow;

/// A text without the HTML entities that registries leave in it.
pub(crate) fn unescape(s: &str) -> Cow<'_, str> {
    if !s.contains('&') {
        return Cow::Borrowed(s);
    }
    let mut out = String::with_capacity(s.len());
    let mut rest = s;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        let tail = &rest[at + 1..];
        let end = tail.bytes().take(10).position(|b| b == b';');
        match end.and_then(|end| Some((entity(&tail[..end])?, end))) {
            Some((c, end)) => {
                out.push(c);
                rest = &tail[end + 1..];
            }
            None => {
                out.push('&');
                rest = tail;
            }
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The letter that an entity names or numbers; a letter with an accent is named by both.
fn entity(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok()?,
            None => number.parse().ok()?,
        };
        return char::from_u32(code).filter(|c| !c.is_control());
    }
    let plain = match name {
        "amp" => '&',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        "lt" => '<',
        "gt" => '>',
        "szlig" => 'ß',
        "oslash" => 'ø',
        "Oslash" => 'Ø',
        "aelig" => 'æ',
        "AElig" => 'Æ',
        "ordf" => 'ª',
        "ordm" => 'º',
        "reg" => '®',
        "copy" => '©',
        _ => return accented(name),
    };
    Some(plain)
}

/// `eacute`: the letter with the accent, where Unicode has one for both.
fn accented(name: &str) -> Option<char> {
    let letter = name.chars().next().filter(char::is_ascii_alphabetic)?;
    let rows = [
        ("acute", "aáeéiíoóuúyýAÁEÉIÍOÓUÚYÝ"),
        ("grave", "aàeèiìoòuùAÀEÈIÌOÒUÙ"),
        ("circ", "aâeêiîoôuûAÂEÊIÎOÔUÛ"),
        ("uml", "aäeëiïoöuüyÿAÄEËIÏOÖUÜ"),
        ("tilde", "aãnñoõAÃNÑOÕ"),
        ("cedil", "cçCÇ"),
        ("ring", "aåAÅ"),
        ("caron", "sšzžSŠZŽ"),
    ];
    let (_, pairs) = rows.iter().find(|(accent, _)| name[1..] == **accent)?;
    let mut pairs = pairs.chars();
    while let (Some(from), Some(to)) = (pairs.next(), pairs.next()) {
        if from == letter {
            return Some(to);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entities_become_letters() {
        for (from, to) in [
            ("Activ&eacute;", "Activé"),
            ("A &amp; B", "A & B"),
            ("&Ouml;l &#38; &#x43;o &#039;x&#039;", "Öl & Co 'x'"),
            ("S&atilde;o &ccedil;&ntilde;&Aring;", "São çñÅ"),
            ("A & B; C&D", "A & B; C&D"),
            ("&nosuch; &; &#; &#xZZ; &#0; &#99999999;", "&nosuch; &; &#; &#xZZ; &#0; &#99999999;"),
            ("&&eacute", "&&eacute"),
            ("&étoile;", "&étoile;"),
        ] {
            assert_eq!(unescape(from), to);
        }
    }
}
