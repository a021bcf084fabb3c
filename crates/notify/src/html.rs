//! The HTML form of a message: tables with inline light values, since some mail programs drop style sheets; the one
//! style element only turns them dark. No image, no font, no script.

use crate::message::{Message, PARTS, Part};
use model::event::{Event, EventKind, Severity};
use model::time::human_instant;

const SANS: &str = "-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,'Noto Sans','Liberation Sans','DejaVu Sans Condensed',Arial,sans-serif";
const MONO: &str =
    "ui-monospace,SFMono-Regular,Menlo,Consolas,'Liberation Mono','DejaVu Sans Mono',monospace";
const TABLE: &str =
    "<table role=\"presentation\" width=\"100%\" cellpadding=\"0\" cellspacing=\"0\" border=\"0\"";

const DARK: &str = ":root { color-scheme: light dark; supported-color-schemes: light dark; }
@media (max-width: 620px) {
  .wrap { padding: 0 !important; } .box { border-left: 0 !important; border-right: 0 !important; border-radius: 0 !important; }
}
@media (prefers-color-scheme: dark) {
  .canvas { background-color: #0b0d10 !important; }
  .box { background-color: #12151a !important; border-color: #353c47 !important; }
  .line { border-color: #232830 !important; }
  .text { color: #e7eaef !important; } .muted { color: #9ba4b2 !important; } .link { color: #97aeff !important; }
  .fill { background-color: #4465e4 !important; } .btn2 { background-color: #12151a !important; border-color: #353c47 !important; }
  .critical { background-color: #331719 !important; border-color: #6b2a2b !important; color: #ff8f87 !important; }
  .warn { background-color: #2a2111 !important; border-color: #54431d !important; color: #efb751 !important; }
  .info { background-color: #0f2333 !important; border-color: #214763 !important; color: #78bef1 !important; }
  .critical .text, .warn .text, .info .text { color: #e7eaef !important; }
  .del { background-color: #331719 !important; color: #ff8f87 !important; } .add { background-color: #11261b !important; color: #62d092 !important; }
}";

/// Text inside an element or a quoted attribute.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// Class, fill, line and text colour of a severity, and its sign: shapes that practically every font has (WGL4).
fn tone(severity: Severity) -> (&'static str, &'static str, &'static str, &'static str, &'static str) {
    match severity {
        Severity::Critical => ("critical", "#fdeeed", "#f2bfbc", "#b3211d", "&#9632;"),
        Severity::Warning => ("warn", "#fdf3de", "#efd79f", "#835100", "&#9650;"),
        Severity::Notice | Severity::Info => ("info", "#e9f3fb", "#bcdaf0", "#0b5a91", "&#9679;"),
    }
}

fn pill(severity: Severity) -> String {
    let (class, fill, line, colour, sign) = tone(severity);
    format!(
        "<span class=\"{class}\" style=\"display:inline-block;padding:1px 8px;border:1px solid {line};border-radius:12px;\
         background-color:{fill};color:{colour};font-size:12px;line-height:18px;font-weight:500;white-space:nowrap\">\
         {sign} {}</span>",
        severity.label()
    )
}

fn line(inner: &str) -> String {
    format!(
        "<tr><td class=\"line\" style=\"padding:16px 24px;border-top:1px solid #e6e8ec\">\n{inner}</td></tr>\n"
    )
}

fn diff(class: &str, fill: &str, colour: &str, sign: &str, value: &str) -> String {
    format!(
        "<tr><td class=\"{class}\" style=\"padding:4px 8px;background-color:{fill};color:{colour};font-family:{MONO};\
         font-size:12px;line-height:18px;word-break:break-word\">{sign}&nbsp;{}</td></tr>",
        escape(value)
    )
}

fn reminder(e: &Event, part: &Part) -> String {
    let (class, fill, border, ..) = tone(e.change.severity);
    format!(
        "<tr><td style=\"padding:0 24px 20px\">{TABLE} class=\"{class}\" style=\"background-color:{fill};border:1px solid \
         {border};border-radius:8px;border-collapse:separate\"><tr><td style=\"padding:12px 16px\">\n\
         <p class=\"text\" style=\"margin:0;font-size:14px;line-height:20px;font-weight:600;color:#14171c\">{}</p>\n\
         <p class=\"text\" style=\"margin:4px 0 0;font-size:13px;line-height:20px;color:#14171c\">{}</p>\
         </td></tr></table></td></tr>\n",
        escape(&e.change.headline()),
        escape(&part.notes(e).join(" "))
    )
}

fn event(e: &Event, part: &Part) -> String {
    let c = &e.change;
    let mut inner = format!(
        "{TABLE}><tr>\n<td class=\"text\" style=\"font-size:14px;line-height:20px;font-weight:600;color:#14171c;\
         padding-right:12px\">{}</td><td align=\"right\" valign=\"top\" width=\"90\">{}</td></tr></table>",
        escape(&title(e)),
        pill(c.severity)
    );
    if shows_diff(e) && (c.old.is_some() || c.new.is_some()) {
        let old = c.old.as_ref().map(|v| diff("del", "#fdeeed", "#b3211d", "&minus;", v));
        let new = c.new.as_ref().map(|v| diff("add", "#e9f6ee", "#13713e", "+", v));
        inner.push_str(&format!(
            "{TABLE} style=\"margin-top:8px\">{}{}</table>\n",
            old.unwrap_or_default(),
            new.unwrap_or_default()
        ));
    }
    let words = format!("{} Source: {}", part.notes(e).join(" "), c.source);
    inner.push_str(&format!(
        "<p class=\"muted\" style=\"margin:8px 0 0;font-size:13px;line-height:20px;color:#59616e\">{}</p>",
        escape(words.trim())
    ));
    line(&inner)
}

/// What changed, without the values that are shown below it.
fn title(e: &Event) -> String {
    let c = &e.change;
    if c.kind == EventKind::DelegationHealthChanged {
        c.headline()
    } else if c.kind.shows_values() && c.field.contains(' ') {
        format!("{} changed", c.field)
    } else {
        c.kind.label().into()
    }
}

/// True when the values before and after are shown one below the other. Not how a server does: its failure would be green.
fn shows_diff(e: &Event) -> bool {
    e.change.kind.shows_values() && e.change.kind != EventKind::DelegationHealthChanged
}

fn facts(part: &Part, message: &Message) -> String {
    let mut rows = Vec::new();
    rows.extend(part.status_words().map(|words| ("Status", words)));
    if let Some(row) = &part.row {
        if !row.tags.is_empty() {
            rows.push(("Tags", row.tags.join(", ")));
        }
        rows.extend(row.registrar.clone().map(|r| ("Registrar", r)));
        rows.extend(row.provider.as_ref().map(|p| ("DNS Provider", p.name.clone())));
    }
    if message.parts.len() == 1 {
        rows.push(("Message id", message.id.clone()));
    }
    if rows.is_empty() {
        return String::new();
    }
    let cells: String = rows
        .iter()
        .map(|(name, value)| {
            format!(
                "<tr><td class=\"muted\" style=\"padding:3px 12px 3px 0;font-size:12px;line-height:18px;color:#59616e;\
                 white-space:nowrap\" valign=\"top\">{name}</td><td class=\"text\" style=\"padding:3px 0;font-size:12px;\
                 line-height:18px;color:#14171c;word-break:break-word\">{}</td></tr>",
                escape(value)
            )
        })
        .collect();
    line(&format!(
        "<table role=\"presentation\" cellpadding=\"0\" cellspacing=\"0\" border=\"0\">{cells}</table>"
    ))
}

fn heading(part: &Part, first: bool) -> String {
    let border = if first { "" } else { ";border-top:1px solid #cfd4dc" };
    format!(
        "<tr><td class=\"line\" style=\"padding:12px 24px 4px{border}\"><h1 class=\"text\" style=\"margin:0;font-family:{MONO};\
         font-size:24px;line-height:32px;font-weight:600;letter-spacing:-.02em;color:#14171c;word-break:break-word\">{}</h1>\n\
         <p class=\"text\" style=\"margin:4px 0 16px;font-size:14px;line-height:20px;color:#14171c\">{}.</p></td></tr>\n",
        escape(&part.unicode()),
        escape(&part.headline())
    )
}

fn button(href: &str, label: &str, filled: bool) -> String {
    let href = escape(href);
    if filled {
        format!(
            "<td class=\"fill\" style=\"border-radius:6px;background-color:#2f55d4\"><a class=\"onfill\" href=\"{href}\" \
             style=\"display:inline-block;padding:10px 16px;font-size:14px;line-height:20px;font-weight:500;color:#ffffff;\
             text-decoration:none\">{label}</a></td>"
        )
    } else {
        format!(
            "<td width=\"8\" style=\"width:8px;font-size:0\">&nbsp;</td><td class=\"btn2\" style=\"border-radius:6px;border:1px \
             solid #cfd4dc;background-color:#ffffff\"><a class=\"text\" href=\"{href}\" style=\"display:inline-block;padding:9px \
             15px;font-size:14px;line-height:20px;font-weight:500;color:#14171c;text-decoration:none\">{label}</a></td>"
        )
    }
}

/// The document, to these recipients.
pub(crate) fn page(m: &Message, to: &[String]) -> String {
    let mut body = String::new();
    if m.test {
        body.push_str(
            "<tr><td style=\"padding:12px 24px 20px\"><h1 class=\"text\" style=\"margin:0;font-size:20px;line-height:28px;\
             font-weight:600;color:#14171c\">This channel works</h1>\n<p class=\"text\" style=\"margin:4px 0 0;font-size:14px;\
             line-height:20px;color:#14171c\">This message tests a notification channel. No domain changed.</p></td></tr>\n",
        );
    }
    for (i, part) in m.listed().iter().enumerate() {
        body.push_str(&heading(part, i == 0));
        let (reminders, changes): (Vec<_>, Vec<_>) =
            part.listed().iter().partition(|e| e.change.kind.is_reminder());
        body.extend(reminders.into_iter().map(|e| reminder(e, part)));
        body.extend(changes.into_iter().map(|e| event(e, part)));
        let more = part.events.len() - part.listed().len();
        if more > 0 {
            body.push_str(&line(&format!(
                "<p class=\"muted\" style=\"margin:0;font-size:13px;color:#59616e\">and {more} more events</p>"
            )));
        }
        body.push_str(&facts(part, m));
    }
    if m.parts.len() > PARTS {
        let more = m.parts.len() - PARTS;
        body.push_str(&line(&format!(
            "<p class=\"muted\" style=\"margin:0;font-size:13px;color:#59616e\">and {more} more domains</p>"
        )));
    }
    if let (Some(open), Some(log)) = (m.main_link(), m.acknowledge_link()) {
        let label = match m.parts.as_slice() {
            [one] => format!("Open {}", escape(&one.unicode())),
            _ => "Open events".into(),
        };
        body.push_str(&line(&format!(
            "<table role=\"presentation\" cellpadding=\"0\" cellspacing=\"0\" border=\"0\"><tr>{}{}</tr></table>\n\
             <p class=\"muted\" style=\"margin:12px 0 0;font-size:12px;line-height:18px;color:#59616e\">{}</p>",
            button(&open, &label, true),
            button(&log, "Acknowledge", false),
            escape(&m.acknowledge_sentence())
        )));
    }
    let links = m.rule_link().map(|(words, href)| (words.to_string(), href)).into_iter().chain(m.mute_link());
    let links: Vec<_> = links
        .map(|(words, href)| {
            let (words, href) = (escape(&words), escape(&href));
            format!("<a class=\"link\" href=\"{href}\" style=\"color:#2a4fcb\">{words}</a>")
        })
        .collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"supported-color-schemes\" content=\"light dark\">\n\
         <title>{subject}</title>\n<style>\n{DARK}\n</style>\n</head>\n\
         <body class=\"canvas\" style=\"margin:0;padding:0;background-color:#f8f9fa\">\n\
         <div style=\"display:none;max-height:0;overflow:hidden;mso-hide:all\">{subject}</div>\n\
         {TABLE} class=\"canvas\" style=\"background-color:#f8f9fa\"><tr><td class=\"wrap\" align=\"center\" \
         style=\"padding:24px 12px\">\n{TABLE} class=\"box\" style=\"max-width:600px;background-color:#ffffff;border:1px solid \
         #cfd4dc;border-radius:8px;border-collapse:separate;font-family:{SANS};text-align:left\">\n\
         <tr><td style=\"padding:20px 24px 0\">{TABLE}><tr><td class=\"muted\" style=\"font-size:13px;line-height:20px;\
         color:#59616e\">Domainscope · {organisation}</td><td class=\"muted\" align=\"right\" style=\"font-size:12px;\
         line-height:20px;color:#59616e;white-space:nowrap\">{at}</td></tr></table></td></tr>\n{body}</table>\n\
         {TABLE} style=\"max-width:600px;font-family:{SANS}\"><tr><td class=\"muted\" align=\"left\" style=\"padding:16px 24px;\
         font-size:12px;line-height:18px;color:#59616e\">{sent} {links}</td></tr></table>\n\
         </td></tr></table>\n</body>\n</html>\n",
        subject = escape(&m.subject()),
        organisation = escape(&m.organisation),
        at = human_instant(m.at),
        sent = escape(&m.sent_by(to)),
        links = links.join(" · "),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Part;
    use jiff::Timestamp;
    use model::event::Change;
    use model::ids::{EventId, OrgId};
    use model::inventory::Row;
    use model::item::{Item, Ownership};
    use model::names::DomainName;
    use model::status::{Status, StatusKind};

    fn event(id: i64, kind: EventKind, severity: Severity, field: &str, values: [Option<&str>; 2]) -> Event {
        let [old, new] = values.map(|v| v.map(str::to_string));
        let change = Change {
            kind,
            severity,
            field: field.into(),
            old,
            new,
            source: "authoritative servers".into(),
            note: if kind.is_reminder() {
                "30 days are left. The next reminder comes 15 days before the date".into()
            } else {
                String::new()
            },
            first_seen_at: None,
            status_before: None,
        };
        Event {
            id: EventId(id),
            org: OrgId::BUILT_IN,
            domain: DomainName::trusted("alder.example"),
            at: "2026-11-13T09:12:00Z".parse().unwrap(),
            change,
            acknowledged: None,
            cluster: None,
            clusterset: None,
            maintenance: None,
        }
    }

    /// How the domain stands now.
    fn row() -> Row {
        let (name, at) = (DomainName::trusted("alder.example"), "2026-11-01T00:00:00Z".parse().unwrap());
        let mut item = Item::new(OrgId::BUILT_IN, name, Ownership::Owned, at);
        item.status = Status { kind: StatusKind::Warning, reasons: vec![], judge_again_at: None };
        Row::of(&item, "alder.example".into(), None)
    }

    /// A reminder, a server that failed, one that is back, a record that is what it was.
    fn message() -> Message {
        let (dead, back) = ([Some("answers"), Some("no answer")], [Some("no answer"), Some("answers")]);
        let health = EventKind::DelegationHealthChanged;
        let events = vec![
            event(1, EventKind::ExpiresSoon, Severity::Warning, "expires", [None, Some("2026-12-13")]),
            event(2, health, Severity::Warning, "old-ns.alder.example (192.0.2.4)", dead),
            event(
                3,
                EventKind::RecordChanged,
                Severity::Info,
                "alder.example A",
                [Some("203.0.113.40"), Some("203.0.113.80")],
            ),
            event(4, health, Severity::Info, "ns2.alder.example (192.0.2.5)", back),
        ];
        let at: Timestamp = "2026-11-13T09:14:00Z".parse().unwrap();
        let mut part = Part::new(DomainName::trusted("alder.example"), events, None);
        part.events[1].change.first_seen_at = Some("2026-11-13T09:07:00Z".parse().unwrap());
        part.events[1].change.status_before = Some(StatusKind::Normal);
        part.row = Some(row());
        part.over.insert(EventId(3), at);
        part.repeated.insert(EventId(2));
        let base = Some("https://scope.alder.example".parse().unwrap());
        Message {
            parts: vec![part],
            rules: vec!["Production".into()],
            rule_ids: [("Production".to_string(), "r7".to_string())].into(),
            test: false,
            ..Message::test("mail-1-7".into(), "Alder Labs".into(), base, at)
        }
        .sorted()
    }

    /// `DOMAINSCOPE_MAIL_FILE` names a file to look at in a browser.
    #[test]
    fn a_page_has_its_links_and_says_what_is_over_and_what_is_still_open() {
        let html = page(&message(), &["ops@alder.example".into()]);
        if let Some(file) = std::env::var_os("DOMAINSCOPE_MAIL_FILE") {
            std::fs::write(file, &html).unwrap();
        }
        let base = "https://scope.alder.example";
        for part in [
            "<title>[Warning] alder.example: Registration ends on Dec 13, 2026, and 2 changes</title>",
            "old-ns.alder.example (192.0.2.4) went from answers to no answer",
            "Open since Nov 13, 2026, 09:12 UTC; this is a repeat.",
            "No longer the case since Nov 13, 2026, 09:14 UTC.",
            "First seen Nov 13, 2026, 09:07 UTC, and confirmed by a later check. Open since",
            ">Warning, before: Normal</td>",
            "Acknowledging stops repeats of these events for everyone in Alder Labs.",
            "Sent by the rule “Production” to ops@alder.example.",
            &format!("href=\"{base}/domains/alder.example/events?open=1\""),
            &format!("href=\"{base}/domains/alder.example#notifications\""),
            &format!("href=\"{base}/settings/notifications?rule=r7#rule\""),
        ] {
            assert!(html.contains(part), "no {part} in {html}");
        }
        let text = message().text(&[]);
        assert!(text.contains("\n  Status: Warning, before: Normal\n"), "{text}");
        assert!(
            text.contains("    First seen Nov 13, 2026, 09:07 UTC, and confirmed by a later check.\n"),
            "{text}"
        );
        // Nothing is loaded, and nothing of it runs.
        assert!(!["<img", "<script", "<link", "url("].iter().any(|w| html.contains(w)));
    }

    #[test]
    fn a_message_about_several_domains_leads_to_the_event_log() {
        let mut m = message();
        let other = Part { domain: DomainName::trusted("birch.example"), ..m.parts[0].clone() };
        m.parts.push(other);
        m.rules.push("Second".into());
        assert_eq!(m.acknowledge_link().unwrap(), "https://scope.alder.example/events?open=1");
        assert_eq!((m.mute_link(), m.unsubscribe_link()), (None, None));
        let html = page(&m, &[]);
        assert!(
            html.contains("href=\"https://scope.alder.example/settings/notifications\"")
                && !html.contains("Mute ")
        );
    }
}
