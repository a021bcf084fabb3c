//! What commands write: results to standard output, complaints to standard error. A reader that has gone away
//! (`| head`) is not an error, and neither stream can bring a command down.

use super::{Outcome, wrap};
use anyhow::{Context, Result};
use std::io::{ErrorKind, Write};

/// Prints a JSON value, indented.
pub(crate) fn print_json(value: &impl serde::Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value)?;
    print_as_is(&text)
}

/// Prints a text for people, no wider than the terminal.
pub(crate) fn print(text: &str) -> Result<()> {
    match wrap::width() {
        Some(width) => print_as_is(&wrap::wrapped(text, width)),
        None => print_as_is(text),
    }
}

fn print_as_is(text: &str) -> Result<()> {
    let mut out = anstream::stdout().lock();
    written(writeln!(out, "{text}").and_then(|()| out.flush()))
}

/// What writing to standard output came to.
pub(super) fn written(result: std::io::Result<()>) -> Result<()> {
    match result {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(e).context("standard output"),
        _ => Ok(()),
    }
}

/// A sentence on standard error.
pub(crate) fn complain(words: &str) {
    note(&format!("domainscope: {words}\n"));
}

/// Writes text to standard error, unchanged. Errors are ignored: there is nowhere to report them.
pub(super) fn note(text: &str) {
    let mut err = anstream::stderr().lock();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}

/// Invalid input: a message on standard error, exit code 2.
pub(crate) fn usage(words: &str) -> Outcome {
    complain(words);
    Outcome::Usage
}

/// An error with its causes, without repetition: many contain the text of their cause.
pub(super) fn sentence(error: &anyhow::Error) -> String {
    let mut said = String::new();
    for cause in error.chain().map(|c| c.to_string().trim_end().to_string()) {
        if said.is_empty() {
            said = cause;
        } else if !said.contains(&cause) {
            said = format!("{said}: {cause}");
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_said_once_and_nothing_is_lost() {
        let io = || std::io::Error::from(ErrorKind::NotFound);
        let e = anyhow::Error::new(io()).context(format!("/x: {}", io())).context("the lab");
        assert_eq!(sentence(&e), format!("the lab: /x: {}", io()));
        assert_eq!(sentence(&anyhow::anyhow!("parse error\n")), "parse error");
    }

    #[test]
    fn a_reader_that_left_is_no_error_and_a_full_disk_is_one() {
        assert!(written(Err(ErrorKind::BrokenPipe.into())).is_ok());
        let e = written(Err(ErrorKind::StorageFull.into())).unwrap_err();
        assert!(sentence(&e).starts_with("standard output: "), "{e:#}");
    }
}
