//! What the terminal shows of traces, reports on host names and comparisons. In: types of the model. Out: text, with
//! colours where they are wanted. Nothing is judged here.

pub mod compare;
pub mod fqdn;
pub(super) mod networks;
pub mod trace;

use model::event::Severity;

/// Colours by ANSI escape, or none.
pub(crate) struct Paint(pub bool);

impl Paint {
    pub(crate) fn with(&self, code: &str, text: &str) -> String {
        if self.0 { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_string() }
    }

    /// In the colour of a severity; what is well is green.
    pub(crate) fn severity(&self, severity: Severity, text: &str) -> String {
        let code = match severity {
            Severity::Info => "32",
            Severity::Notice => "36",
            Severity::Warning => "33",
            Severity::Critical => "31",
        };
        self.with(code, text)
    }
}
