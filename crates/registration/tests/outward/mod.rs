//! The outward form of an answer changed: line ends, tabs, capitals, banners, empty fields. What it says stays the same.

pub fn each_line(text: &str, change: impl Fn(&str) -> String) -> String {
    text.split('\n').map(change).collect::<Vec<_>>().join("\n")
}

/// The label of `label: value`, where the line has that form.
pub fn label(line: &str) -> Option<(&str, &str)> {
    let (label, value) = line.split_once(':')?;
    let short = label.trim().len() <= 40 && label.split_whitespace().count() <= 5;
    (short && !value.starts_with("//") && !label.contains(['%', '#', '>', '['])).then_some((label, value))
}

pub type Change = fn(&str) -> String;

/// Fields that are present and say nothing.
const EMPTY: &str = "Reseller: \nUpdated Date: \nCreation Date: null\nExpiry Date: -\nName Server: null\nDomain Status: \
                     -\nRegistrar: N/A\nDNSSEC: \n";

pub const CHANGES: [(&str, Change); 21] = [
    ("CRLF", |t| t.replace('\n', "\r\n")),
    ("trailing blanks", |t| each_line(t, |l| format!("{l} \t "))),
    ("tabs after labels", |t| {
        each_line(t, |l| match label(l) {
            Some((k, v)) if v.starts_with(' ') => format!("{k}:\t{}", v.trim_start()),
            _ => l.to_string(),
        })
    }),
    ("capital labels", |t| {
        each_line(t, |l| match label(l) {
            Some((k, v)) => format!("{}:{v}", k.to_uppercase()),
            _ => l.to_string(),
        })
    }),
    ("small labels", |t| {
        each_line(t, |l| match label(l) {
            Some((k, v)) => format!("{}:{v}", k.to_lowercase()),
            _ => l.to_string(),
        })
    }),
    ("indented", |t| each_line(t, |l| if l.is_empty() { String::new() } else { format!("    {l}") })),
    ("capitals", |t| t.to_uppercase()),
    ("small letters", |t| {
        each_line(t, |l| if l.starts_with(['%', '#']) { l.to_string() } else { l.to_lowercase() })
    }),
    ("doubled line ends", |t| t.replace('\n', "\n\n")),
    ("CR CR LF", |t| t.replace('\n', "\r\r\n")),
    ("nothing after the colon", |t| {
        each_line(t, |l| match label(l) {
            Some((k, v)) => format!("{k}:{}", v.trim_start()),
            _ => l.to_string(),
        })
    }),
    ("blank before the colon", |t| {
        each_line(t, |l| match label(l) {
            Some((k, v)) if v.starts_with([' ', '\t']) => format!("{k} :{v}"),
            _ => l.to_string(),
        })
    }),
    ("wide colon", |t| {
        each_line(t, |l| match label(l) {
            Some((k, v)) if v.starts_with([' ', '\t']) => format!("{k}：{v}"),
            _ => l.to_string(),
        })
    }),
    ("no-break space", |t| {
        each_line(t, |l| match label(l) {
            Some((k, v)) if v.starts_with([' ', '\t']) => format!("{k}:\u{a0}{}", v.trim_start()),
            _ => l.to_string(),
        })
    }),
    ("HTML around", |t| format!("<html><body><pre>\n{t}\n</pre></body></html>")),
    ("empty fields first", |t| format!("{EMPTY}{t}")),
    ("empty fields last", |t| format!("{t}\n{EMPTY}")),
    ("leading banner", |t| {
        format!(
            "% This is the whois server of a registry.\n% Rights restricted. Queries are limited; do not exceed \
                 the limit.\n%\n\n{t}"
        )
    }),
    ("comments at the end", |t| {
        format!("{t}\n\n% Served by whois-3 at 2021-01-01 00:00:00\n# End of answer.\n")
    }),
    ("database time at the end", |t| {
        format!("{t}\n\n>>> Last update of WHOIS database: 2021-01-01T00:00:00Z <<<\n")
    }),
    ("terms at the end", |t| {
        format!(
            "{t}\n\nTERMS OF USE: You are not authorized to access or query our WHOIS\ndatabase through the use of \
                 electronic processes that are high-volume.\nThe data is available for information purposes \
                 only.\nWe may restrict or block your access when limits are exceeded.\n"
        )
    }),
];
