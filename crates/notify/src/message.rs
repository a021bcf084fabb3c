//! A message before it takes the form of its channel: which domains, which events, in which words.

use jiff::Timestamp;
use model::ending::Ending;
use model::event::{Event, Severity};
use model::ids::{EventId, OrgId};
use model::inventory::Row;
use model::names::DomainName;
use model::outage;
use model::time::human_instant;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
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
    /// Events that are over, and since when.
    pub over: BTreeMap<EventId, Timestamp>,
    /// Events of the domain that end earlier ones.
    pub endings: BTreeMap<EventId, Ending>,
    /// Events that the channel was sent before: they are still open.
    pub repeated: BTreeSet<EventId>,
}

impl Part {
    /// Events of a domain that still hold and end nothing.
    pub fn new(domain: DomainName, events: Vec<Event>, row: Option<Row>) -> Self {
        Part {
            domain,
            events,
            row,
            over: BTreeMap::new(),
            endings: BTreeMap::new(),
            repeated: BTreeSet::new(),
        }
    }

    /// The name as people read it.
    pub fn unicode(&self) -> String {
        self.domain.unicode()
    }

    /// The events that are listed.
    pub fn listed(&self) -> &[Event] {
        &self.events[..self.events.len().min(EVENTS)]
    }

    /// The worst severity of what still holds.
    pub fn severity(&self) -> Severity {
        self.holding().map(|e| e.change.severity).max().unwrap_or_default()
    }

    /// The events that still hold.
    fn holding(&self) -> impl Iterator<Item = &Event> {
        self.events.iter().filter(|e| !self.over.contains_key(&e.id))
    }

    /// Since when an event is over, or open although it was sent before, in a sentence; `None` where there is nothing to say.
    pub fn since_sentence(&self, event: &Event) -> Option<String> {
        let over =
            self.over.get(&event.id).map(|at| format!("No longer the case since {}.", human_instant(*at)));
        let repeated = || format!("Open since {}; this is a repeat.", human_instant(event.at));
        over.or_else(|| self.repeated.contains(&event.id).then(repeated))
    }

    /// What has to be known of an event beside its values, in sentences.
    pub fn notes(&self, event: &Event) -> Vec<String> {
        let change = &event.change;
        let notes = change.note_sentence().into_iter().chain(change.confirmation_sentence());
        notes.chain(self.since_sentence(event)).collect()
    }

    /// How the domain stands now, and how it stood before the first of the events that changed that; `None` when it is not in
    /// the inventory any more.
    pub fn status_words(&self) -> Option<String> {
        let now = self.row.as_ref()?.status.kind;
        let changed = self.events.iter().filter(|e| e.change.status_before.is_some()).min_by_key(|e| e.id);
        let before = changed.and_then(|e| e.change.status_before).filter(|before| *before != now);
        let before = before.map(|before| format!(", before: {}", before.label())).unwrap_or_default();
        Some(format!("{}{before}", now.label()))
    }

    /// What happened, in a few words.
    pub fn headline(&self) -> String {
        if let Some(words) = outage::headline(self.holding().map(|e| &e.change)) {
            return words.into();
        }
        let holding: Vec<_> = self.holding().collect();
        let more = |n: usize| if n == 1 { "1 change".to_string() } else { format!("{n} changes") };
        match (holding.as_slice(), self.events.as_slice()) {
            ([], [one]) => format!("No longer the case: {}", one.change.headline()),
            ([], many) => format!("{} resolved", more(many.len())),
            ([one], _) => one.change.headline(),
            (many, _) => match many.first().filter(|e| e.change.kind.is_reminder()) {
                Some(e) => format!("{}, and {}", e.change.headline(), more(many.len() - 1)),
                None => more(many.len()),
            },
        }
    }
}

/// A message to one channel.
#[derive(Debug, Clone)]
pub struct Message {
    /// The same for every attempt to send it, and for no other message.
    pub id: String,
    /// Whose events.
    pub org: OrgId,
    /// Name of the organisation.
    pub organisation: String,
    /// Domains with their events, most severe first.
    pub parts: Vec<Part>,
    /// Names of the rules that want it.
    pub rules: Vec<String>,
    /// Identities of those that still exist, by name: links lead to the very rule.
    pub rule_ids: BTreeMap<String, String>,
    /// Its date: when the newest event was detected, or when it is sent again.
    pub at: Timestamp,
    /// Address of the installation, where it is known, for links.
    pub base: Option<Url>,
    /// True for a message that only tests its channel.
    pub test: bool,
    /// Identity of the installation that sends it (`id.k8s.io`); empty when it has none.
    pub cluster: String,
    /// The set that it is a member of (`clusterset.k8s.io`); empty when of none.
    pub clusterset: String,
}

impl Message {
    /// A message that tests a channel.
    pub fn test(id: String, organisation: String, base: Option<Url>, at: Timestamp) -> Self {
        Message {
            id,
            org: OrgId::BUILT_IN,
            organisation,
            parts: vec![],
            rules: vec![],
            rule_ids: BTreeMap::new(),
            at,
            base,
            test: true,
            cluster: String::new(),
            clusterset: String::new(),
        }
    }

    /// Puts the most severe first.
    pub fn sorted(mut self) -> Self {
        for part in &mut self.parts {
            let over = &part.over;
            part.events.sort_by_key(|e| (over.contains_key(&e.id), Reverse(e.change.severity), e.id));
        }
        self.parts.sort_by_key(|p| (Reverse(p.severity()), p.domain.clone()));
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
        let is_repeat = self.parts.iter().all(|p| p.events.iter().all(|e| p.repeated.contains(&e.id)));
        let open = if is_repeat { "still open: " } else { "" };
        match self.parts.as_slice() {
            [one] => format!("[{severity}] {}: {open}{}", one.unicode(), one.headline()),
            many => format!("[{severity}] {} domains: {open}{events} events", many.len()),
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

    /// Address of the page where its events are acknowledged.
    pub fn acknowledge_link(&self) -> Option<String> {
        match self.parts.as_slice() {
            _ if self.test => None,
            [one] => self.link(&format!("/domains/{}/events?open=1", one.domain)),
            _ => self.link("/events?open=1"),
        }
    }

    /// What acknowledging does, in a sentence.
    pub fn acknowledge_sentence(&self) -> String {
        format!("Acknowledging stops repeats of these events for everyone in {}.", self.organisation)
    }

    /// Where its domain is muted, where it is about one; with the words of the link.
    pub fn mute_link(&self) -> Option<(String, String)> {
        let [one] = self.parts.as_slice() else { return None };
        let link = self.link(&format!("/domains/{}#notifications", one.domain))?;
        Some((format!("Mute {}", one.unicode()), link))
    }

    /// Where the rule that sends it is changed or turned off: the very rule where it is one, else all of them; with the words
    /// of the link.
    pub fn rule_link(&self) -> Option<(&'static str, String)> {
        match (self.rules.as_slice(), self.rule_address()) {
            ([_], Some(link)) => Some(("Change or turn off the rule", link)),
            _ => Some(("Change or turn off rules", self.link("/settings/notifications")?)),
        }
    }

    /// Address of the only rule that wants it.
    fn rule_address(&self) -> Option<String> {
        let [one] = self.rules.as_slice() else { return None };
        self.link(&format!("/settings/notifications?rule={}#rule", self.rule_ids.get(one)?))
    }

    /// Address where whoever reads its mails ends them (RFC 2369), where one rule sends it.
    pub fn unsubscribe_link(&self) -> Option<String> {
        self.rule_address().filter(|link| link.is_ascii() && !link.contains(['<', '>', ' ']))
    }

    /// Why it was sent, by which installation and to whom, in a sentence.
    pub fn sent_by(&self, to: &[String]) -> String {
        let origin = match (self.cluster.as_str(), self.clusterset.as_str()) {
            ("", _) => String::new(),
            (id, "") => format!(" of {id}"),
            (id, set) => format!(" of {id} ({set})"),
        };
        let by = match self.rules.as_slice() {
            [] => format!("Sent by Domainscope{origin}"),
            [one] => format!("Sent by the rule “{one}”{origin}"),
            many => format!("Sent by the rules “{}”{origin}", many.join("”, “")),
        };
        if to.is_empty() { format!("{by}.") } else { format!("{by} to {}.", to.join(", ")) }
    }

    /// The whole message as plain text to these recipients.
    pub fn text(&self, to: &[String]) -> String {
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
                for words in part.notes(e) {
                    out.push_str(&format!("    {words}\n"));
                }
            }
            if part.events.len() > part.listed().len() {
                let more = part.events.len() - part.listed().len();
                out.push_str(&format!("\n  and {more} more\n"));
            }
            if let Some(status) = part.status_words() {
                out.push_str(&format!("\n  Status: {status}\n"));
            }
            if let Some(link) = self.link(&format!("/domains/{}", part.domain)) {
                out.push_str(&format!("  {link}\n"));
            }
        }
        if self.parts.len() > PARTS {
            out.push_str(&format!("\nand {} more domains\n", self.parts.len() - PARTS));
        }
        if let Some(link) = self.acknowledge_link() {
            out.push_str(&format!("\nAcknowledge: {link}\n{}\n", self.acknowledge_sentence()));
        }
        out.push_str(&format!("\n-- \n{}\n", self.sent_by(to)));
        for (words, link) in
            self.rule_link().map(|(w, l)| (w.to_string(), l)).into_iter().chain(self.mute_link())
        {
            out.push_str(&format!("{words}: {link}\n"));
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
