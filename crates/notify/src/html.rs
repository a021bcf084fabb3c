//! The HTML form of a message: tables with inline light values, since some mail programs drop style sheets; the one
//! style element only turns them dark. No image, no font, no script.

use crate::message::{Message, PARTS, Part};
use model::event::{Event, Severity};
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

fn reminder(e: &Event) -> String {
    let (class, fill, border, ..) = tone(e.change.severity);
    format!(
        "<tr><td style=\"padding:0 24px 20px\">{TABLE} class=\"{class}\" style=\"background-color:{fill};border:1px solid \
         {border};border-radius:8px;border-collapse:separate\"><tr><td style=\"padding:12px 16px\">\n\
         <p class=\"text\" style=\"margin:0;font-size:14px;line-height:20px;font-weight:600;color:#14171c\">{}</p>\n\
         <p class=\"text\" style=\"margin:4px 0 0;font-size:13px;line-height:20px;color:#14171c\">{}</p>\
         </td></tr></table></td></tr>\n",
        escape(&e.change.headline()),
        escape(&e.change.note_sentence().unwrap_or_default())
    )
}

fn event(e: &Event) -> String {
    let c = &e.change;
    let mut inner = format!(
        "{TABLE}><tr>\n<td class=\"text\" style=\"font-size:14px;line-height:20px;font-weight:600;color:#14171c;\
         padding-right:12px\">{}</td><td align=\"right\" valign=\"top\" width=\"90\">{}</td></tr></table>",
        escape(&title(e)),
        pill(c.severity)
    );
    if c.kind.shows_values() && (c.old.is_some() || c.new.is_some()) {
        let old = c.old.as_ref().map(|v| diff("del", "#fdeeed", "#b3211d", "&minus;", v));
        let new = c.new.as_ref().map(|v| diff("add", "#e9f6ee", "#13713e", "+", v));
        inner.push_str(&format!(
            "{TABLE} style=\"margin-top:8px\">{}{}</table>\n",
            old.unwrap_or_default(),
            new.unwrap_or_default()
        ));
    }
    let note = c.note_sentence().map_or_else(String::new, |note| note + " ");
    let words = format!("{note}Source: {}", c.source);
    inner.push_str(&format!(
        "<p class=\"muted\" style=\"margin:8px 0 0;font-size:13px;line-height:20px;color:#59616e\">{}</p>",
        escape(&words)
    ));
    line(&inner)
}

/// What changed, without the values that are shown below it.
fn title(e: &Event) -> String {
    let c = &e.change;
    if c.kind.shows_values() && c.field.contains(' ') {
        format!("{} changed", c.field)
    } else {
        c.kind.label().into()
    }
}

fn facts(part: &Part, message: &Message) -> String {
    let mut rows = Vec::new();
    if let Some(row) = &part.row {
        rows.push(("Status", row.status.kind.label().to_string()));
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

/// The document.
pub(crate) fn page(m: &Message) -> String {
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
        body.extend(reminders.into_iter().map(reminder));
        body.extend(changes.into_iter().map(event));
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
    if let (Some(open), Some(log), false) = (m.main_link(), m.link("/events?open=1"), m.test) {
        let label = match m.parts.as_slice() {
            [one] => format!("Open {}", escape(&one.unicode())),
            _ => "Open events".into(),
        };
        body.push_str(&line(&format!(
            "<table role=\"presentation\" cellpadding=\"0\" cellspacing=\"0\" border=\"0\"><tr>{}{}</tr></table>",
            button(&open, &label, true),
            button(&log, "Acknowledge", false)
        )));
    }
    let rules = m.link("/settings/notifications").map(|href| {
        format!(" <a class=\"link\" href=\"{}\" style=\"color:#2a4fcb\">Change rules</a>", escape(&href))
    });
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
         font-size:12px;line-height:18px;color:#59616e\">{sent}{rules}</td></tr></table>\n\
         </td></tr></table>\n</body>\n</html>\n",
        subject = escape(&m.subject()),
        organisation = escape(&m.organisation),
        at = human_instant(m.at),
        sent = escape(&m.sent_by()),
        rules = rules.unwrap_or_default(),
    )
}
