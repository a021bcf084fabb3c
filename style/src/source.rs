//! Just enough of Rust's lexical grammar to find string literals and the words around them. In: source
//! text. Out: tokens with their line. Comments are dropped, except those that list classes on purpose
//! (`// classes: a b c`).

/// A piece of source text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// An identifier, keyword or number.
    Word(String),
    /// A string literal's content, escapes left as they are written.
    Text(String),
    /// One punctuation character.
    Mark(char),
    /// The rest of a `// classes:` comment.
    Listed(String),
}

/// A token and the line it begins on, from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Where it is.
    pub line: usize,
}

impl Token {
    /// Whether this is the given punctuation.
    pub fn is(&self, mark: char) -> bool {
        self.kind == Kind::Mark(mark)
    }

    /// The identifier, when it is one.
    pub fn word(&self) -> Option<&str> {
        match &self.kind {
            Kind::Word(word) => Some(word),
            _ => None,
        }
    }
}

/// Splits source text. Never fails: text that is no Rust yields odd tokens, not an error.
pub fn tokens(text: &str) -> Vec<Token> {
    Lexer { rest: text, line: 1 }.run()
}

struct Lexer<'a> {
    rest: &'a str,
    line: usize,
}

impl Lexer<'_> {
    fn run(mut self) -> Vec<Token> {
        let mut found = Vec::new();
        while let Some(first) = self.rest.chars().next() {
            let line = self.line;
            if let Some(kind) = self.next(first) {
                found.push(Token { kind, line });
            }
        }
        found
    }

    fn next(&mut self, first: char) -> Option<Kind> {
        if self.rest.starts_with("//") {
            let comment = self.take(self.rest.find('\n').unwrap_or(self.rest.len()));
            let listed = comment.trim_start_matches('/').trim().strip_prefix("classes:")?;
            return Some(Kind::Listed(listed.to_owned()));
        }
        if self.rest.starts_with("/*") {
            let end = self.rest.find("*/").map_or(self.rest.len(), |at| at + 2);
            self.take(end);
            return None;
        }
        if first == '"' {
            return Some(self.string(1));
        }
        if let Some(hashes) = raw_string(self.rest) {
            return Some(self.raw(hashes));
        }
        if first == '\'' {
            self.character();
            return None;
        }
        if first.is_alphanumeric() || first == '_' {
            let end = self.rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(self.rest.len());
            return Some(Kind::Word(self.take(end)));
        }
        self.take(first.len_utf8());
        (!first.is_whitespace()).then_some(Kind::Mark(first))
    }

    fn take(&mut self, length: usize) -> String {
        let (taken, rest) = self.rest.split_at(length);
        self.line += taken.matches('\n').count();
        self.rest = rest;
        taken.to_owned()
    }

    fn string(&mut self, quote: usize) -> Kind {
        self.take(quote);
        let mut escaped = false;
        let end = self.rest.find(|c: char| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        let content = self.take(end.unwrap_or(self.rest.len()));
        if end.is_some() {
            self.take(1);
        }
        Kind::Text(content)
    }

    fn raw(&mut self, hashes: usize) -> Kind {
        self.take(self.rest.find('"').map_or(self.rest.len(), |at| at + 1));
        let close = format!("\"{}", "#".repeat(hashes));
        let end = self.rest.find(&close);
        let content = self.take(end.unwrap_or(self.rest.len()));
        if end.is_some() {
            self.take(close.len());
        }
        Kind::Text(content)
    }

    /// A character literal, or the tick of a lifetime.
    fn character(&mut self) {
        let mut characters = self.rest.chars().skip(1);
        let first = characters.next();
        let closed = characters.next() == Some('\'');
        let length = match first {
            Some('\\') => self.rest.get(3..).and_then(|rest| rest.find('\'')).map_or(1, |at| at + 4),
            Some(one) if closed => 2 + one.len_utf8(),
            _ => 1,
        };
        self.take(length.min(self.rest.len()));
    }
}

/// The number of hashes when the text begins with a raw string.
fn raw_string(text: &str) -> Option<usize> {
    let after = text.strip_prefix("br").or_else(|| text.strip_prefix('r'))?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    after[hashes..].starts_with('"').then_some(hashes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<String> {
        let texts = tokens(source).into_iter().filter_map(|token| match token.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        });
        texts.collect()
    }

    #[test]
    fn unfinished_and_odd_text_ends_instead_of_looping() {
        for odd in ["\"open", "r#\"open\"", "/* open", "'", "'\\", "'a", "b'\\''", "r", "\u{1F600}'\u{1F600}"]
        {
            tokens(odd);
        }
    }

    #[test]
    fn quotes_in_comments_characters_and_lifetimes_are_no_strings() {
        let source = "// \"no\"\n/* \"no\" */ fn f<'a>(c: &'a str) { '\"'; '\\''; '\\u{22}'; g(\"yes\", r#\"a \"b\"\"#) }";
        assert_eq!(texts(source), ["yes", "a \"b\""]);
    }

    #[test]
    fn an_escaped_quote_does_not_end_a_string() {
        assert_eq!(texts(r#"x = "a \" b"; "\\"; "c""#), ["a \\\" b", "\\\\", "c"]);
    }

    #[test]
    fn lines_are_counted_through_strings_and_comments() {
        let all = tokens("/*\n*/\n\"a\nb\"\nend");
        assert_eq!(all.last().map(|token| token.line), Some(5));
    }
}
