//! A message before it takes the form of its channel: which domains, which events, in which words.

use jiff::Timestamp;
use model::event::{Event, Severity};
use model::inventory::Row;
use model::names::DomainName;
use model::outage;
use model::time::human_instant;
use url::Url;

/// Events of one domain that a message lists; the others are counted.
const EVENTS: usize = 30;
/// Domains that a message lists; the others are counted.
pub(crate) const PARTS: usize = 50;

/// The events of one domain in a message.
#[derive(Debug, Clone)]
pub struct Part {
    /// The domain.
    pub domain: DomainName,
    /// The events, most severe first.
    pub events: Vec<Event>,
    /// How the domain stands now; `None` when it is not in the inventory any more.
    pub row: Option<Row>,
}

impl Part {
    /// The name as people read it.
    pub fn unicode(&self) -> String {
        self.domain.unicode()
    }

    /// The events that are listed.
    pub fn listed(&self) -> &[Event] {
        &self.events[..self.events.len().min(EVENTS)]
    }

    /// The worst severity.
    pub fn severity(&self) -> Severity {
        self.events.iter().map(|e| e.change.severity).max().unwrap_or_default()
    }

    /// What happened, in a few words.
    pub fn headline(&self) -> String {
        if let Some(words) = outage::headline(self.events.iter().map(|e| &e.change)) {
            return words.into();
        }
        match self.events.as_slice() {
            [one] => one.change.headline(),
            many => match many.first().filter(|e| e.change.kind.is_reminder()) {
                Some(e) if many.len() == 2 => format!("{}, and 1 change", e.change.headline()),
                Some(e) => format!("{}, and {} changes", e.change.headline(), many.len() - 1),
                None => format!("{} changes", many.len()),
            },
        }
    }
}

/// A message to one channel.
#[derive(Debug, Clone)]
pub struct Message {
    /// The same for every attempt to send it, and for no other message.
    pub id: String,
    /// Name of the organisation.
    pub organisation: String,
    /// Domains with their events, most severe first.
    pub parts: Vec<Part>,
    /// Names of the rules that want it.
    pub rules: Vec<String>,
    /// When it was made.
    pub at: Timestamp,
    /// Address of the installation, where it is known, for links.
    pub base: Option<Url>,
    /// True for a message that only tests its channel.
    pub test: bool,
    /// Identity of the installation that sends it (`id.k8s.io`); empty when it has none.
    pub cluster: String,
}

impl Message {
    /// A message that tests a channel.
    pub fn test(id: String, organisation: String, base: Option<Url>, at: Timestamp) -> Self {
        Message {
            id,
            organisation,
            parts: vec![],
            rules: vec![],
            at,
            base,
            test: true,
            cluster: String::new(),
        }
    }

    /// Puts the most severe first.
    pub fn sorted(mut self) -> Self {
        for part in &mut self.parts {
            part.events.sort_by_key(|e| (std::cmp::Reverse(e.change.severity), e.id));
        }
        self.parts.sort_by_key(|p| (std::cmp::Reverse(p.severity()), p.domain.clone()));
        self
    }

    /// The worst severity.
    pub fn severity(&self) -> Severity {
        self.parts.iter().map(Part::severity).max().unwrap_or_default()
    }

    /// One line: how bad, which domain, what.
    pub fn subject(&self) -> String {
        if self.test {
            return "Test message: this channel works".into();
        }
        let severity = self.severity().label();
        let events: usize = self.parts.iter().map(|p| p.events.len()).sum();
        match self.parts.as_slice() {
            [one] => format!("[{severity}] {}: {}", one.unicode(), one.headline()),
            many => format!("[{severity}] {} domains: {events} events", many.len()),
        }
    }

    /// The domains that are listed.
    pub fn listed(&self) -> &[Part] {
        &self.parts[..self.parts.len().min(PARTS)]
    }

    /// Address of a page of the installation.
    pub fn link(&self, path: &str) -> Option<String> {
        let base = self.base.as_ref()?;
        Some(format!("{}{path}", base.as_str().trim_end_matches('/')))
    }

    /// Address of the page to open: the domain's, or the event log.
    pub fn main_link(&self) -> Option<String> {
        match self.parts.as_slice() {
            [one] => self.link(&format!("/domains/{}", one.domain)),
            _ => self.link("/events"),
        }
    }

    /// Why it was sent, in a sentence.
    pub fn sent_by(&self) -> String {
        match self.rules.as_slice() {
            [] => "Sent by Domainscope.".into(),
            [one] => format!("Sent by the rule “{one}”."),
            many => format!("Sent by the rules “{}”.", many.join("”, “")),
        }
    }

    /// The whole message as plain text.
    pub fn text(&self) -> String {
        let mut out = format!("{}\n{} · {}\n", self.subject(), self.organisation, human_instant(self.at));
        if self.test {
            out.push_str("\nThis message tests a notification channel. No domain changed.\n");
        }
        for part in self.listed() {
            out.push_str(&format!("\n{}\n", part.unicode()));
            for e in part.listed() {
                let c = &e.change;
                out.push_str(&format!("\n  {}: {}\n", c.severity.label(), c.headline()));
                if c.kind.shows_values() {
                    for (sign, value) in [("-", &c.old), ("+", &c.new)] {
                        if let Some(v) = value {
                            out.push_str(&format!("    {sign} {v}\n"));
                        }
                    }
                }
                if let Some(note) = c.note_sentence() {
                    out.push_str(&format!("    {note}\n"));
                }
            }
            if part.events.len() > part.listed().len() {
                let more = part.events.len() - part.listed().len();
                out.push_str(&format!("\n  and {more} more\n"));
            }
            if let Some(row) = &part.row {
                out.push_str(&format!("\n  Status: {}\n", row.status.kind.label()));
            }
            if let Some(link) = self.link(&format!("/domains/{}", part.domain)) {
                out.push_str(&format!("  {link}\n"));
            }
        }
        if self.parts.len() > PARTS {
            out.push_str(&format!("\nand {} more domains\n", self.parts.len() - PARTS));
        }
        out.push_str(&format!("\n--\n{}\n", self.sent_by()));
        if let Some(link) = self.link("/settings/notifications") {
            out.push_str(&format!("Change rules: {link}\n"));
        }
        out.push_str(&format!("Message {}\n", self.id));
        out
    }
}

/// A text cut to so many characters, with an ellipsis where something is missing.
pub(crate) fn clip(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_string();
    }
    let mut out: String = text.chars().take(max.saturating_sub(1)).collect();
    out.push('…');
    out
}
