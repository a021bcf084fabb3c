//! Reading the query of an address. The router's own map decodes twice, so `%2541` would not survive it.

use model::inventory::ListQuery;

/// The pairs of a query, with or without its question mark (the application/x-www-form-urlencoded parser of the
/// URL standard).
pub(crate) fn pairs(search: &str) -> Vec<(String, String)> {
    search
        .trim_start_matches('?')
        .split('&')
        .filter(|p| !p.is_empty())
        .map(|p| p.split_once('=').unwrap_or((p, "")))
        .map(|(k, v)| (decode(k), decode(v)))
        .collect()
}

/// The first value of a key.
pub(crate) fn value(search: &str, key: &str) -> Option<String> {
    pairs(search).into_iter().find(|(k, _)| k == key).map(|(_, v)| v)
}

/// The list a query asks for.
pub(crate) fn list_query(search: &str) -> ListQuery {
    let pairs = pairs(search);
    ListQuery::from_pairs(pairs.iter().map(|(k, v)| (k.as_str(), v.as_str())))
}

fn decode(s: &str) -> String {
    let b = s.as_bytes();
    let mut out = Vec::with_capacity(b.len());
    let mut i = 0;
    while i < b.len() {
        let hex = |at: usize| b.get(at).and_then(|c| char::from(*c).to_digit(16));
        match (b[i], hex(i + 1), hex(i + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push(u8::try_from(high * 16 + low).unwrap_or(b'?'));
                i += 2;
            }
            (b'+', ..) => out.push(b' '),
            (c, ..) => out.push(c),
        }
        i += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_and_links_decode_once() {
        assert_eq!(value("?q=a+b%26c&q=x", "q").as_deref(), Some("a b&c"));
        assert_eq!(value("q=%2541%", "q").as_deref(), Some("%41%"));
        assert_eq!(value("q=b%C3%BCcher", "q").as_deref(), Some("bücher"));
        assert_eq!(value("", "q"), None);
    }

    #[test]
    fn a_list_survives_its_own_address() {
        let q = list_query("registrar=A+%26+B&status=critical&sort=-change");
        let url = q.to_url();
        assert_eq!(list_query(url.trim_start_matches("/domains")), q);
        assert_eq!(q.registrar, ["A & B"]);
    }
}
