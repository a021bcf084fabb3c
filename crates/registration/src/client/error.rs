//! Why a look-up failed. Each kind says what a caller can do about it.

use std::fmt;
use std::time::Duration;

/// The kind of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// Nothing came in time: try again later.
    Timeout,
    /// The server asked us to come back later: wait as long as it said.
    Throttled,
    /// The server will not answer us: asking again does not help.
    Refused,
    /// What came cannot be read: look at the raw answer.
    Unparsable,
    /// No connection, or a server that is broken: try again later.
    Unreachable,
    /// The answer exceeds the cap.
    TooLarge,
    /// The target is private and the operator has not allowed that.
    Blocked,
}

impl FailureKind {
    /// Stable word for metrics, JSON and part errors.
    pub fn label(self) -> &'static str {
        match self {
            FailureKind::Timeout => "timeout",
            FailureKind::Throttled => "throttled",
            FailureKind::Refused => "refused",
            FailureKind::Unparsable => "unparsable",
            FailureKind::Unreachable => "unreachable",
            FailureKind::TooLarge => "too_large",
            FailureKind::Blocked => "blocked",
        }
    }

    /// Which of several failures of one look-up is reported: the lowest, which says most about what to do.
    pub(crate) fn weight(self) -> u8 {
        match self {
            FailureKind::Throttled => 0,
            FailureKind::Blocked => 1,
            FailureKind::Refused => 2,
            FailureKind::TooLarge => 3,
            FailureKind::Unparsable => 4,
            FailureKind::Timeout => 5,
            FailureKind::Unreachable => 6,
        }
    }
}

/// Why a look-up failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookupError {
    /// What kind of failure.
    pub kind: FailureKind,
    /// What to tell people, naming the server.
    pub sentence: String,
    /// How long until it may be asked again (throttled only).
    pub retry_after: Option<Duration>,
    /// True when it was not asked at all: its turn comes later, by our own limits or because it asked us to wait.
    pub postponed: bool,
    /// True when the reason is a limit of our own: nothing is wrong, there is only much to ask.
    pub own_limit: bool,
}

impl LookupError {
    pub(crate) fn new(kind: FailureKind, sentence: impl Into<String>) -> Self {
        LookupError { kind, sentence: sentence.into(), retry_after: None, postponed: false, own_limit: false }
    }

    pub(crate) fn throttled(server: &str, wait: Duration) -> Self {
        LookupError {
            kind: FailureKind::Throttled,
            sentence: format!("{server} asked us to wait; it is asked again in {}", human(wait)),
            retry_after: Some(wait),
            postponed: false,
            own_limit: false,
        }
    }

    /// The stable word of the kind.
    pub fn label(&self) -> &'static str {
        self.kind.label()
    }
}

/// A wait as people say it, a second at least.
fn human(wait: Duration) -> String {
    model::time::human_seconds(wait.as_secs().max(1))
}

impl fmt::Display for LookupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl std::error::Error for LookupError {}

impl From<net::Error> for LookupError {
    fn from(e: net::Error) -> Self {
        let kind = match &e {
            net::Error::Blocked { .. } => FailureKind::Blocked,
            net::Error::Timeout { .. } => FailureKind::Timeout,
            net::Error::TooLarge { .. } => FailureKind::TooLarge,
            net::Error::Protocol { .. } => FailureKind::Unparsable,
            net::Error::Budget { host, wait, reason } => {
                return LookupError {
                    kind: FailureKind::Throttled,
                    sentence: format!("{host} is not asked for another {}: {}", human(*wait), reason.words()),
                    retry_after: Some(*wait),
                    postponed: true,
                    own_limit: matches!(reason, net::Reason::OwnLimit | net::Reason::DailyQuota),
                };
            }
            net::Error::NoAddress { .. }
            | net::Error::Unreachable { .. }
            | net::Error::Tls { .. }
            | net::Error::Settings(_) => FailureKind::Unreachable,
        };
        LookupError::new(kind, e.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_told_as_people_say_them() {
        let told = LookupError::throttled("whois.nic.test", Duration::from_secs(7200));
        assert_eq!(told.to_string(), "whois.nic.test asked us to wait; it is asked again in 2 h");
        let refused = LookupError::from(net::Error::Budget {
            host: "whois.nic.test".into(),
            wait: Duration::from_secs(86_400),
            reason: net::Reason::DailyQuota,
        });
        let want =
            "whois.nic.test is not asked for another 1 day: our own limit of a day for this host is reached";
        assert_eq!(refused.to_string(), want);
        assert!(refused.postponed && refused.own_limit);
    }
}
