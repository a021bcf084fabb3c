//! Expirations of domains as an iCalendar (RFC 5545): a whole-day event for each. In: rows of the inventory; out: a text
//! that is the same as long as nothing changed.

use jiff::Timestamp;
use jiff::tz::Offset;
use model::inventory::Row;
use url::Url;

/// Octets of a content line at most, without its end.
const LINE: usize = 75;

/// The calendar. `made` is when the feed was created: the time of entries that never changed.
pub fn calendar(name: &str, rows: &[Row], base: Option<&Url>, made: Timestamp) -> String {
    let host = base.and_then(Url::host_str).unwrap_or("domainscope.invalid");
    let mut out = String::new();
    for text in
        ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Domainscope//Expirations//EN", "CALSCALE:GREGORIAN"]
    {
        line(&mut out, text);
    }
    line(&mut out, &format!("X-WR-CALNAME:{}", escaped(name)));
    line(&mut out, "REFRESH-INTERVAL;VALUE=DURATION:PT1H");
    for row in rows {
        let Some(expires) = row.expires else { continue };
        let day = expires.date();
        let Ok(next) = day.tomorrow() else { continue };
        let mut about = Vec::new();
        if let Some(registrar) = &row.registrar {
            about.push(format!("Registered with {registrar}."));
        }
        about.push(
            match row.auto_renew {
                Some(true) => "Auto-renew is on.",
                Some(false) => "Auto-renew is off: renew before this day.",
                None => "Auto-renew is not known.",
            }
            .to_string(),
        );
        let changed = row.last_change_at.unwrap_or(made);
        line(&mut out, "BEGIN:VEVENT");
        line(&mut out, &format!("UID:expires-{}@{host}", row.name));
        line(&mut out, &format!("DTSTAMP:{}", Offset::UTC.to_datetime(changed).strftime("%Y%m%dT%H%M%SZ")));
        line(&mut out, &format!("DTSTART;VALUE=DATE:{}", day.strftime("%Y%m%d")));
        line(&mut out, &format!("DTEND;VALUE=DATE:{}", next.strftime("%Y%m%d")));
        line(&mut out, &format!("SUMMARY:{}", escaped(&format!("{} expires", row.unicode))));
        line(&mut out, &format!("DESCRIPTION:{}", escaped(&about.join(" "))));
        if let Some(base) = base {
            let path = format!("{}/domains/{}", base.as_str().trim_end_matches('/'), row.name);
            line(&mut out, &format!("URL:{path}"));
        }
        line(&mut out, "TRANSP:TRANSPARENT");
        line(&mut out, "END:VEVENT");
    }
    line(&mut out, "END:VCALENDAR");
    out
}

/// A text value (section 3.3.11).
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | ';' | ',' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

/// A content line, folded (section 3.1) between characters.
fn line(out: &mut String, text: &str) {
    let mut length = 0;
    for c in text.chars() {
        if length + c.len_utf8() > LINE {
            out.push_str("\r\n ");
            length = 1;
        }
        out.push(c);
        length += c.len_utf8();
    }
    out.push_str("\r\n");
}
