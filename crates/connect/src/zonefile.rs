//! Zone files (RFC 1035 section 5.1) into records: `$ORIGIN`, `$TTL`, parentheses, comments, quoted strings.
//! `$INCLUDE` and `$GENERATE` are refused: a plan reads one text and no other file.

use crate::error::{Error, Result};
use crate::names;
use crate::record::{MAX_TTL, Record};

/// Reads the records of a zone. Names become relative to `domain`; TXT data becomes the text without quotes;
/// `_service._protocol` of SRV records move from the name into their fields.
///
/// # Errors
/// `InvalidData`, naming the line.
pub fn parse(text: &str, domain: &str) -> Result<Vec<Record>> {
    let domain = names::domain(domain)?;
    let mut reader = Reader { origin: domain.clone(), domain, ttl: None, owner: None };
    let mut records = Vec::new();
    for entry in entries(text)? {
        let line = entry.line;
        let record = reader.entry(&entry).map_err(|error| error.within(&format!("line {line}")))?;
        records.extend(record);
    }
    Ok(records)
}

/// A token and whether it was quoted.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Token {
    text: String,
    is_quoted: bool,
}

/// One record or directive; parentheses join lines.
struct Entry {
    line: usize,
    /// The owner was left out: the line begins with white space.
    inherits: bool,
    tokens: Vec<Token>,
}

fn entries(text: &str) -> Result<Vec<Entry>> {
    let (mut found, mut depth) = (Vec::new(), 0_u32);
    let mut entry: Option<Entry> = None;
    for (number, line) in text.lines().enumerate() {
        let at = |message: &str| Error::data(format!("line {}: {message}", number + 1));
        let open = entry.get_or_insert_with(|| Entry {
            line: number + 1,
            inherits: line.starts_with([' ', '\t']),
            tokens: Vec::new(),
        });
        let mut chars = line.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                ';' => break,
                '(' => depth += 1,
                ')' => {
                    let closed = depth.checked_sub(1);
                    depth = closed.ok_or_else(|| at("a parenthesis is closed and was not opened"))?;
                }
                '"' => open.tokens.push(Token { text: quoted(&mut chars).map_err(at)?, is_quoted: true }),
                c if c.is_whitespace() => {}
                c => {
                    let mut text = String::from(c);
                    if c == '\\' {
                        text.extend(chars.next());
                    }
                    while let Some(c) =
                        chars.next_if(|c| !c.is_whitespace() && !matches!(c, ';' | '(' | ')' | '"'))
                    {
                        text.push(c);
                        if c == '\\' {
                            text.extend(chars.next());
                        }
                    }
                    open.tokens.push(Token { text, is_quoted: false });
                }
            }
        }
        if depth == 0 {
            found.extend(entry.take().filter(|entry| !entry.tokens.is_empty()));
        }
    }
    if depth > 0 { Err(Error::data("a parenthesis is not closed")) } else { Ok(found) }
}

/// The octets up to the closing quote, as text. Octets that are no UTF-8 are taken for Latin-1.
fn quoted(chars: &mut impl Iterator<Item = char>) -> std::result::Result<String, &'static str> {
    let mut octets = Vec::new();
    while let Some(c) = chars.next() {
        match c {
            '"' => {
                return Ok(String::from_utf8(octets)
                    .unwrap_or_else(|e| e.into_bytes().into_iter().map(char::from).collect()));
            }
            '\\' => escaped(chars, &mut octets).ok_or("an escape is cut off or out of range")?,
            c => octets.extend(c.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
    Err("a string is not closed")
}

/// `\DDD` is an octet by number, any other character stands for itself.
fn escaped(chars: &mut impl Iterator<Item = char>, octets: &mut Vec<u8>) -> Option<()> {
    let first = chars.next()?;
    let Some(hundreds) = first.to_digit(10) else {
        octets.extend(first.encode_utf8(&mut [0; 4]).bytes());
        return Some(());
    };
    let (tens, ones) = (chars.next()?.to_digit(10)?, chars.next()?.to_digit(10)?);
    octets.push(u8::try_from(hundreds * 100 + tens * 10 + ones).ok()?);
    Some(())
}

struct Reader {
    domain: String,
    origin: String,
    ttl: Option<u32>,
    /// Absolute owner of the last record.
    owner: Option<String>,
}

impl Reader {
    fn entry(&mut self, entry: &Entry) -> Result<Option<Record>> {
        let mut tokens = entry.tokens.as_slice();
        if let [Token { text, is_quoted: false }, rest @ ..] = tokens
            && text.starts_with('$')
        {
            return self.directive(text, rest).map(|()| None);
        }
        if !entry.inherits {
            let [owner, rest @ ..] = tokens else { return Ok(None) };
            self.owner = Some(self.absolute(&owner.text));
            tokens = rest;
        }
        let owner = self.owner.clone().ok_or_else(|| Error::data("the first record has no name"))?;
        let mut ttl = None;
        loop {
            match tokens {
                [Token { text, .. }, rest @ ..] if is_class(text) => tokens = rest,
                [Token { text, .. }, rest @ ..]
                    if ttl.is_none() && text.starts_with(|c: char| c.is_ascii_digit()) =>
                {
                    ttl = Some(seconds(text).ok_or_else(|| Error::data(format!("{text:?} is no TTL")))?);
                    tokens = rest;
                }
                _ => break,
            }
        }
        let [kind, data @ ..] = tokens else { return Err(Error::data("the record has no type")) };
        self.record(&owner, &kind.text.to_ascii_uppercase(), ttl.or(self.ttl), data).map(Some)
    }

    fn directive(&mut self, name: &str, rest: &[Token]) -> Result<()> {
        let first = rest.first().map(|token| token.text.as_str());
        match (name.to_ascii_uppercase().as_str(), first) {
            ("$ORIGIN", Some(origin)) => self.origin = self.absolute(origin),
            ("$TTL", Some(ttl)) => {
                self.ttl = Some(seconds(ttl).ok_or_else(|| Error::data(format!("{ttl:?} is no TTL")))?);
            }
            _ => return Err(Error::data(format!("{name} is not supported"))),
        }
        Ok(())
    }

    /// Lower case without the final dot; the root is `.`.
    fn absolute(&self, name: &str) -> String {
        let lower = name.to_lowercase();
        match lower.strip_suffix('.') {
            _ if lower == "@" => self.origin.clone(),
            Some("") => ".".into(),
            Some(absolute) => absolute.into(),
            None => format!("{lower}.{}", self.origin),
        }
    }

    fn record(&self, owner: &str, kind: &str, ttl: Option<u32>, data: &[Token]) -> Result<Record> {
        let name = names::of_zone(&format!("{owner}."), &self.domain);
        let short = || Error::data(format!("the {kind} record has too few fields"));
        let number = |token: &Token| {
            let wrong = || Error::data(format!("{:?} is not a number from 0 to 65535", token.text));
            token.text.parse::<u16>().map_err(|_| wrong())
        };
        let mut record = Record::new(kind, &name, "", ttl);
        match (kind, data) {
            ("CNAME" | "NS" | "PTR" | "DNAME", [target]) => record.data = self.absolute(&target.text),
            ("MX", [priority, target]) => {
                record.priority = Some(number(priority)?);
                record.data = self.absolute(&target.text);
            }
            ("SRV", [priority, weight, port, target]) => {
                record.priority = Some(number(priority)?);
                record.weight = Some(number(weight)?);
                record.port = Some(number(port)?);
                record.data = self.absolute(&target.text);
                if let Some((service, protocol, rest)) = service_labels(&record.name) {
                    let (service, protocol, rest) =
                        (service.to_string(), protocol.to_string(), rest.to_string());
                    (record.service, record.protocol, record.name) = (Some(service), Some(protocol), rest);
                }
            }
            ("TXT", [_, ..]) => record.data = data.iter().map(|token| token.text.as_str()).collect(),
            ("CNAME" | "NS" | "MX" | "SRV" | "TXT", _) | (_, []) => return Err(short()),
            ("A" | "AAAA", [address]) => record.data = address.text.to_lowercase(),
            _ => {
                let words = data.iter().map(|token| {
                    if token.is_quoted { crate::export::quote(&token.text) } else { token.text.clone() }
                });
                record.data = words.collect::<Vec<_>>().join(" ");
            }
        }
        Ok(record)
    }
}

/// Splits `_sip._tcp.host` into service, protocol and the rest, which is `@` when nothing is left.
fn service_labels(name: &str) -> Option<(&str, &str, &str)> {
    let (service, rest) = name.split_once('.')?;
    let (protocol, rest) = rest.split_once('.').unwrap_or((rest, "@"));
    (service.starts_with('_') && protocol.starts_with('_')).then_some((service, protocol, rest))
}

fn is_class(token: &str) -> bool {
    ["IN", "CH", "HS", "CS"].iter().any(|class| class.eq_ignore_ascii_case(token))
}

/// Seconds, or BIND's units: `1h30m`.
fn seconds(text: &str) -> Option<u32> {
    let (mut total, mut number) = (0_u64, None);
    for c in text.chars() {
        if let Some(digit) = c.to_digit(10) {
            number = Some(number.unwrap_or(0_u64).checked_mul(10)?.checked_add(u64::from(digit))?);
            continue;
        }
        let unit = match c.to_ascii_lowercase() {
            's' => 1,
            'm' => 60,
            'h' => 3600,
            'd' => 86_400,
            'w' => 604_800,
            _ => return None,
        };
        total = total.checked_add(number.take()?.checked_mul(unit)?)?;
    }
    u32::try_from(total.checked_add(number.unwrap_or(0))?).ok().filter(|ttl| *ttl <= MAX_TTL)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ZONE: &str = r#"
$TTL 1h
@       IN SOA ns1.example.net. host.example.net. ( 1 ; serial
            7200 1800 1209600 3600 )
        IN NS  ns1.example.net.
        600 IN MX 10 mail
WWW.Example.com.  CNAME other.host.example. ; comment
txt  30m TXT "v=spf1 a" " ~all"
     TXT "a;b\"c\" \228"
_sip._tls IN SRV 10 20 443 sip
@ CAA 0 issue "ca.example; x=y"
$ORIGIN sub
a A 192.0.2.1
"#;

    #[test]
    fn a_zone_file_becomes_records() {
        let records = parse(ZONE, "example.com").unwrap();
        let shown: Vec<String> = records
            .iter()
            .map(|r| {
                format!(
                    "{} {} {} {}",
                    crate::export::owner_name(r),
                    r.ttl.unwrap(),
                    r.kind,
                    crate::export::value(r)
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                "@ 3600 SOA ns1.example.net. host.example.net. 1 7200 1800 1209600 3600",
                "@ 3600 NS ns1.example.net",
                "@ 600 MX 10 mail.example.com",
                "www 3600 CNAME other.host.example",
                "txt 1800 TXT v=spf1 a ~all",
                "txt 3600 TXT a;b\"c\" ä",
                "_sip._tls 3600 SRV 10 20 443 sip.example.com",
                "@ 3600 CAA 0 issue \"ca.example; x=y\"",
                "a.sub 3600 A 192.0.2.1",
            ]
        );
        assert_eq!((records[6].name.as_str(), records[6].protocol.as_deref()), ("@", Some("_tls")));
    }

    #[test]
    fn faults_name_the_line() {
        for (text, line) in [
            ("@ 60 IN", "line 1: the record has no type"),
            ("a A 1.2.3.4\nb MX mail", "line 2: the MX record has too few fields"),
            ("a TXT \"x", "line 1: a string is not closed"),
            ("a TXT ( x", "a parenthesis is not closed"),
            ("a TXT x )", "line 1: a parenthesis is closed and was not opened"),
            (" A 1.2.3.4", "line 1: the first record has no name"),
            ("$INCLUDE /etc/passwd", "line 1: $INCLUDE is not supported"),
            ("a 99999999999999999999 A 1.2.3.4", "line 1: \"99999999999999999999\" is no TTL"),
        ] {
            assert_eq!(parse(text, "example.com").unwrap_err().message, line, "{text}");
        }
    }
}
