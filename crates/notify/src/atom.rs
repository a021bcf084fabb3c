//! Events as an Atom feed (RFC 4287), newest first.

use jiff::Timestamp;
use model::event::Event;
use url::Url;

/// Where a feed comes from.
#[derive(Debug, Clone)]
pub struct AtomSource<'a> {
    /// Title.
    pub title: &'a str,
    /// Identity of the feed, which is no secret.
    pub id: &'a str,
    /// When the feed was created: its time as long as it has no entry.
    pub made: Timestamp,
    /// Address of the installation.
    pub base: Option<&'a Url>,
}

/// The feed.
pub fn atom(source: &AtomSource<'_>, events: &[Event]) -> String {
    let host = source.base.and_then(Url::host_str).unwrap_or("domainscope.invalid");
    // Tag URIs (RFC 4151) stay the same when the installation moves its pages.
    let tag = |path: String| format!("tag:{host},2026:{path}");
    let updated = events.first().map_or(source.made, |e| e.at);
    let mut out = String::from(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n",
    );
    let mut element = |depth: usize, name: &str, text: &str| {
        out.push_str(&format!("{}<{name}>{}</{name}>\n", "  ".repeat(depth), escaped(text)));
    };
    element(1, "id", &tag(format!("feed/{}", source.id)));
    element(1, "title", source.title);
    element(1, "updated", &second(updated));
    out.push_str("  <author><name>Domainscope</name></author>\n");
    out.push_str("  <generator>Domainscope</generator>\n");
    let page = |path: &str| source.base.map(|b| format!("{}{path}", b.as_str().trim_end_matches('/')));
    let link = |url: Option<String>| {
        url.map(|u| format!("<link rel=\"alternate\" type=\"text/html\" href=\"{}\"/>", escaped(&u)))
    };
    if let Some(link) = link(page("/events")) {
        out.push_str(&format!("  {link}\n"));
    }
    for e in events {
        let c = &e.change;
        let title = format!("[{}] {}: {}", c.severity.label(), e.domain.unicode(), c.headline());
        let mut words = c.sentence();
        words.push_str(&format!(" Source: {}", c.source));
        out.push_str("  <entry>\n");
        let mut element = |name: &str, text: &str| {
            out.push_str(&format!("    <{name}>{}</{name}>\n", escaped(text)));
        };
        element("id", &tag(format!("event/{}", e.id.0)));
        element("title", &title);
        element("updated", &second(e.at));
        element("summary", &words);
        out.push_str(&format!("    <category term=\"{}\"/>\n", c.kind.as_str()));
        // Of which installation and set it is, in the schemes of their claims.
        for (claim, name) in [("id.k8s.io", &e.cluster), ("clusterset.k8s.io", &e.clusterset)] {
            if let Some(name) = name {
                let name = escaped(name);
                out.push_str(&format!("    <category scheme=\"tag:{claim},2020:claim\" term=\"{name}\"/>\n"));
            }
        }
        if let Some(link) = link(page(&format!("/domains/{}/events", e.domain))) {
            out.push_str(&format!("    {link}\n"));
        }
        out.push_str("  </entry>\n");
    }
    out.push_str("</feed>\n");
    out
}

fn second(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Character data, also inside quotes. Characters that XML 1.0 can't contain are left out.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => out.push(c),
        }
    }
    out
}
