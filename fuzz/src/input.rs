//! How an input of a registration target is laid out: `?NAME SUFFIX` in the first line (optional), then the answer.

/// Answers are repeated up to this size when the input asks for it, so that what grows faster than the text is felt.
const LARGE: usize = 256 << 10;

/// An input taken apart.
pub struct Input {
    /// The name asked for.
    pub domain: String,
    /// The suffix it was asked under.
    pub suffix: Option<String>,
    /// The answer.
    pub answer: Vec<u8>,
}

impl Input {
    /// Takes an input apart; `?NAME SUFFIX *` repeats the answer until it is large.
    pub fn read(data: &[u8]) -> Self {
        let Some(rest) = data.strip_prefix(b"?") else {
            return Input { domain: "harbour.example".into(), suffix: None, answer: data.to_vec() };
        };
        let end = rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
        let header = String::from_utf8_lossy(&rest[..end]);
        let answer = rest.get(end + 1..).unwrap_or_default();
        let mut words = header.split_whitespace();
        let domain = words.next().unwrap_or("harbour.example").to_string();
        let suffix = words.next().filter(|w| *w != "*").map(str::to_string);
        let large = header.ends_with('*') && !answer.is_empty();
        let answer = if large { answer.repeat(LARGE.div_ceil(answer.len())) } else { answer.to_vec() };
        Input { domain, suffix, answer }
    }
}
