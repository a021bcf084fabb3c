//! What a line says behind its first statement: `Not registered. This name is reserved.` In: a prepared line; out: its
//! other statements, each as a sentence of its own about the name.

/// What ends a statement within a line.
const JOINTS: &[&str] = &[
    ". ",
    "! ",
    "? ",
    ", ",
    "; ",
    ": ",
    " - ",
    " – ",
    " — ",
    " (",
    "/",
    " but ",
    " and ",
    " however ",
    " although ",
    " though ",
    " as ",
    " since ",
    " because ",
    " due ",
    " owing ",
    " unless ",
];

/// What a line says behind its first statement, each part as a sentence of its own about the name.
pub(super) fn rest(line: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest = line;
    let next = |s: &str| JOINTS.iter().filter_map(|j| s.find(j).map(|at| (at, *j))).min_by_key(|(at, _)| *at);
    while let Some((at, joint)) = next(rest)
        && parts.len() < 16
    {
        // "Due to" begins what it joins.
        let keeps = matches!(joint, " due " | " because " | " owing ");
        rest = rest[at + if keeps { 1 } else { joint.len() }..].trim_start();
        let end = next(rest).map_or(rest.len(), |(at, _)| at);
        let mut part = rest[..end].trim_matches(|c: char| c.is_whitespace() || ".!)(\"".contains(c));
        if keeps {
            parts.push(part.to_string());
            part = part.strip_prefix("because ").unwrap_or(part);
        }
        for lead in ["please note that ", "note that ", "but ", "and ", "however ", "it "] {
            part = part.strip_prefix(lead).unwrap_or(part);
        }
        let verb = ["is", "has", "was", "can", "cannot", "can't", "may", "must"];
        let first = part.split(' ').next().unwrap_or_default();
        if verb.contains(&first) {
            parts.push(format!("@ {part}"));
        } else if first.len() == part.len() && !part.is_empty() {
            parts.push(format!("@ is {part}"));
            parts.push(part.to_string());
        } else {
            parts.push(part.to_string());
        }
    }
    parts
}
