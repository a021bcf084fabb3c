//! Feeds: expirations as a calendar (iCalendar, RFC 5545), events as Atom (RFC 4287). Pure: rows and events in, text out.

use crate::html::escape;
use jiff::Timestamp;
use jiff::ToSpan;
use model::event::Event;
use model::inventory::Row;
use model::time::human_date;
use url::Url;

/// Expirations as a calendar. Rows without an expiration are left out.
pub fn calendar(organisation: &str, rows: &[Row], base: Option<&Url>, now: Timestamp) -> String {
    let mut out = String::new();
    let mut line = |text: String| fold(&mut out, &text);
    line("BEGIN:VCALENDAR".into());
    line("VERSION:2.0".into());
    line("PRODID:-//Domainscope//Expirations//EN".into());
    line("CALSCALE:GREGORIAN".into());
    line(format!("X-WR-CALNAME:{}", text(&format!("Domain expirations · {organisation}"))));
    line("REFRESH-INTERVAL;VALUE=DURATION:PT6H".into());
    let stamp = now.strftime("%Y%m%dT%H%M%SZ").to_string();
    for row in rows {
        let Some(expires) = row.expires else { continue };
        let day = expires.date();
        let next = day.checked_add(1.day()).unwrap_or(day);
        line("BEGIN:VEVENT".into());
        // One entry a domain: a renewal moves it.
        line(format!("UID:expiration-{}@domainscope", row.name));
        line(format!("DTSTAMP:{stamp}"));
        line(format!("DTSTART;VALUE=DATE:{}", day.strftime("%Y%m%d")));
        line(format!("DTEND;VALUE=DATE:{}", next.strftime("%Y%m%d")));
        line(format!("SUMMARY:{}", text(&format!("{} expires", row.unicode))));
        let mut words = format!("Registration ends on {}. Status: {}.", human_date(day), row.status.kind.label());
        if let Some(registrar) = &row.registrar {
            words.push_str(&format!(" Registered with {registrar}."));
        }
        if row.auto_renew == Some(true) {
            words.push_str(" Marked auto-renew.");
        }
        line(format!("DESCRIPTION:{}", text(&words)));
        if let Some(base) = base {
            line(format!("URL:{}/domains/{}", base.as_str().trim_end_matches('/'), row.name));
        }
        line("TRANSP:TRANSPARENT".into());
        line("END:VEVENT".into());
    }
    line("END:VCALENDAR".into());
    out
}

/// A value of type TEXT (section 3.3.11).
fn text(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            '\\' | ';' | ',' => {
                out.push('\\');
                out.push(c);
            }
            '\n' => out.push_str("\\n"),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

/// Content lines have at most 75 octets; longer ones go on in the next line after a space (section 3.1).
fn fold(out: &mut String, line: &str) {
    let mut octets = 0;
    for c in line.chars() {
        if octets + c.len_utf8() > 75 {
            out.push_str("\r\n ");
            octets = 1;
        }
        out.push(c);
        octets += c.len_utf8();
    }
    out.push_str("\r\n");
}

/// Events as Atom, newest first. `id` names the feed for good, whatever its address.
pub fn atom(organisation: &str, id: &str, events: &[Event], base: Option<&Url>, now: Timestamp) -> String {
    let link = |path: &str| {
        base.map(|b| {
            let href = format!("{}{path}", b.as_str().trim_end_matches('/'));
            format!("  <link rel=\"alternate\" href=\"{}\"/>\n", escape(&href))
        })
        .unwrap_or_default()
    };
    let updated = events.iter().map(|e| e.at).max().unwrap_or(now);
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n  <id>urn:domainscope:{}</id>\n  \
         <title>Domain events · {}</title>\n  <updated>{updated}</updated>\n  <author><name>Domainscope</name></author>\n{}",
        escape(id),
        escape(organisation),
        link("/events"),
    );
    for e in events {
        let c = &e.change;
        out.push_str(&format!(
            "  <entry>\n    <id>urn:domainscope:{}:event:{}</id>\n    <title>{}</title>\n    <updated>{}</updated>\n  {}    \
             <category term=\"{}\"/>\n    <category term=\"{}\"/>\n    <content type=\"text\">{}</content>\n  </entry>\n",
            escape(id),
            e.id.0,
            xml(&format!("{}: {}", e.domain.unicode(), c.headline())),
            e.at,
            link(&format!("/domains/{}/events", e.domain)),
            c.severity.as_str(),
            c.kind.as_str(),
            xml(&c.sentence()),
        ));
    }
    out.push_str("</feed>\n");
    out
}

/// Text of an XML document: escaped, without the control characters that XML has no way to write.
fn xml(value: &str) -> String {
    let kept: String = value.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
    escape(&kept)
}
