//! What is posted for each kind of channel: address, header fields, body. Pure, so that the payloads can be held against
//! the published schemas.

use crate::html::escape;
use crate::message::{Message, Part, clip};
use crate::pagerduty;
use crate::sign::signature;
use jiff::Timestamp;
use model::event::{Event, Severity};
use model::notify::Target;
use serde_json::{Value, json};
use url::Url;

/// A request to be posted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Post {
    /// Where.
    pub url: Url,
    /// Header fields.
    pub fields: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// Which part of the message it is, where a message is several requests; empty otherwise.
    pub part: String,
}

/// Addresses of services that have one for everybody.
#[derive(Debug, Clone)]
pub struct Endpoints {
    /// The Telegram bot interface.
    pub telegram: String,
    /// The PagerDuty events interface, version 2.
    pub pagerduty: String,
}

impl Default for Endpoints {
    fn default() -> Self {
        Endpoints {
            telegram: "https://api.telegram.org".into(),
            pagerduty: "https://events.pagerduty.com/v2/enqueue".into(),
        }
    }
}

/// The requests for a message: one, or one for each incident of PagerDuty; none for e-mail, which is not posted.
///
/// # Errors
/// A sentence that names what in the channel can't be used.
pub fn posts(
    target: &Target,
    m: &Message,
    endpoints: &Endpoints,
    now: Timestamp,
) -> Result<Vec<Post>, String> {
    if let Target::Pagerduty { key } = target {
        let incidents = pagerduty::incidents(m, key);
        return incidents
            .into_iter()
            .map(|(part, body)| as_json(&endpoints.pagerduty, &body, part))
            .collect();
    }
    Ok(post(target, m, endpoints, now)?.into_iter().collect())
}

fn as_json(url: &str, body: &Value, part: String) -> Result<Post, String> {
    let fields = vec![("content-type".to_string(), "application/json".to_string())];
    Ok(Post { url: address(url)?, fields, body: body.to_string().into_bytes(), part })
}

fn post(target: &Target, m: &Message, endpoints: &Endpoints, now: Timestamp) -> Result<Option<Post>, String> {
    let as_json = |url: &str, body: Value| as_json(url, &body, String::new()).map(Some);
    match target {
        Target::Email { .. } | Target::Pagerduty { .. } => Ok(None),
        Target::Webhook { url, secret } => {
            let mut post = as_json(url, webhook(m, now))?;
            if let Some(p) = &mut post {
                let signature = signature(secret, &m.id, now, &p.body)
                    .ok_or("the signing secret is not whsec_ followed by base64")?;
                p.fields.push(("webhook-id".into(), m.id.clone()));
                p.fields.push(("webhook-timestamp".into(), now.as_second().to_string()));
                p.fields.push(("webhook-signature".into(), signature));
            }
            Ok(post)
        }
        Target::Slack { url } => as_json(url, slack(m)),
        Target::Discord { url } => as_json(url, discord(m)),
        Target::Teams { url } => as_json(url, teams(m)),
        Target::Ntfy { url, token } => {
            let mut root = address(url)?;
            let topic = root.path().trim_matches('/').rsplit('/').next().unwrap_or_default().to_string();
            if topic.is_empty() {
                return Err("the ntfy address ends with the topic, as in https://ntfy.sh/my-topic".into());
            }
            let path = root.path().trim_end_matches('/');
            let parent = path.strip_suffix(&topic).unwrap_or("/").to_string();
            root.set_path(&parent);
            let mut post = as_json(root.as_str(), ntfy(m, &topic))?;
            if let (Some(p), false) = (&mut post, token.is_empty()) {
                p.fields.push(("authorization".into(), format!("Bearer {token}")));
            }
            Ok(post)
        }
        Target::Telegram { token, chat } => {
            if !token.chars().all(|c| c.is_ascii_alphanumeric() || ":_-".contains(c)) {
                return Err("the token of the Telegram bot has characters that none has".into());
            }
            as_json(&format!("{}/bot{token}/sendMessage", endpoints.telegram), telegram(m, chat))
        }
    }
}

fn address(url: &str) -> Result<Url, String> {
    let url = Url::parse(url).map_err(|_| "the address is not a URL".to_string())?;
    match url.scheme() {
        "https" | "http" => Ok(url),
        other => Err(format!("{other} is not a scheme that messages are posted to; use https")),
    }
}

fn webhook(m: &Message, now: Timestamp) -> Value {
    let domains: Vec<Value> = m
        .parts
        .iter()
        .map(|p| {
            let events: Vec<Value> = p.events.iter().map(|e| event_json(p, e)).collect();
            json!({
                "domain": p.domain.as_str(),
                "status": p.row.as_ref().map(|r| r.status.kind.as_str()),
                "tags": p.row.as_ref().map(|r| r.tags.clone()),
                "events": events,
                "url": m.link(&format!("/domains/{}", p.domain)),
            })
        })
        .collect();
    json!({
        "type": if m.test { "test" } else { "domain.events" },
        "timestamp": now.to_string(),
        "data": {
            "organisation": m.organisation,
            "cluster": named(&m.cluster),
            "clusterset": named(&m.clusterset),
            "severity": m.severity().as_str(),
            "summary": m.subject(),
            "rules": m.rules,
            "domains": domains,
        },
    })
}

fn named(name: &str) -> Option<&str> {
    (!name.is_empty()).then_some(name)
}

fn event_json(part: &Part, e: &Event) -> Value {
    let c = &e.change;
    let mut out = json!({
        "id": e.id.0,
        "at": e.at.to_string(),
        "kind": c.kind.as_str(),
        "severity": c.severity.as_str(),
        "field": c.field,
        "old": c.old,
        "new": c.new,
        "source": c.source,
        "sentence": c.sentence(),
        "cluster": e.cluster,
        "clusterset": e.clusterset,
    });
    if let Some(at) = c.first_seen_at {
        out["first_seen_at"] = json!(at.to_string());
    }
    if let Some(status) = c.status_before {
        out["status_before"] = json!(status);
    }
    if let Some(at) = part.over.get(&e.id) {
        out["over_since"] = json!(at.to_string());
    }
    if part.repeated.contains(&e.id) {
        out["is_repeat"] = json!(true);
    }
    if let Some(ending) = part.endings.get(&e.id) {
        out["ends"] = ending.of.iter().map(|id| id.0).collect();
    }
    out
}

/// The events of a message, one line each, at most so many; the others are counted. A line is made of the domain and the
/// sentence about the event.
fn lines(m: &Message, most: usize, line: impl Fn(&str, String) -> String) -> Vec<String> {
    let all: Vec<(&Part, &Event)> =
        m.parts.iter().flat_map(|p| p.events.iter().map(move |e| (p, e))).collect();
    let words = |(p, e): &(&Part, &Event)| {
        let sentence = e.change.sentence();
        let more: Vec<_> = e.change.confirmation_sentence().into_iter().chain(p.since_sentence(e)).collect();
        let whole = match more.is_empty() {
            true => sentence,
            false => format!("{}. {}", sentence.trim_end_matches('.'), more.join(" ")),
        };
        line(&p.unicode(), whole)
    };
    let mut out: Vec<String> = all.iter().take(most).map(words).collect();
    if all.len() > most {
        out.push(format!("and {} more", all.len() - most));
    }
    if m.test {
        out.push("This message tests a notification channel. No domain changed.".into());
    }
    out
}

pub(crate) fn plain(m: &Message, most: usize) -> Vec<String> {
    let many = m.parts.len() > 1;
    lines(m, most, |name, sentence| {
        let prefix = if many { format!("{name}: ") } else { String::new() };
        clip(&format!("{prefix}{sentence}"), 700)
    })
}

/// Text in Slack's markup: three characters mean something everywhere.
fn mrkdwn(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn slack(m: &Message) -> Value {
    let title = m.subject();
    let mut blocks = vec![json!({
        "type": "header",
        "text": { "type": "plain_text", "text": clip(&title, 150), "emoji": false },
    })];
    for line in plain(m, 20) {
        blocks.push(json!({
            "type": "section",
            "text": { "type": "mrkdwn", "text": clip(&mrkdwn(&line), 2900) },
        }));
    }
    if let Some(url) = m.main_link() {
        blocks.push(json!({
            "type": "actions",
            "elements": [{
                "type": "button",
                "text": { "type": "plain_text", "text": "Open in Domainscope" },
                "url": url,
            }],
        }));
    }
    let foot = format!("{} · {} · {}", m.organisation, m.sent_by(&[]), m.id);
    blocks.push(json!({
        "type": "context",
        "elements": [{ "type": "mrkdwn", "text": clip(&mrkdwn(&foot), 1900) }],
    }));
    json!({ "text": clip(&mrkdwn(&title), 3000), "blocks": blocks })
}

/// Colour of a severity as a number.
fn colour(severity: Severity) -> u32 {
    match severity {
        Severity::Critical => 0x00b3_211d,
        Severity::Warning => 0x00c8_8a12,
        Severity::Notice | Severity::Info => 0x000b_5a91,
    }
}

/// Text without the marks of Markdown.
fn unmarked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if "\\`*_~|[]()<>#".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

fn discord(m: &Message) -> Value {
    // All embeds of a message together have at most 6000 characters.
    let text = plain(m, 15).iter().map(|l| format!("• {}", unmarked(l))).collect::<Vec<_>>().join("\n");
    let mut embed = json!({
        "title": clip(&m.subject(), 256),
        "description": clip(&text, 4000),
        "color": colour(m.severity()),
        "timestamp": m.at.to_string(),
        "footer": { "text": clip(&format!("{} · {}", m.organisation, m.id), 1000) },
    });
    if let Some(url) = m.main_link() {
        embed["url"] = json!(url);
    }
    json!({ "username": "Domainscope", "embeds": [embed], "allowed_mentions": { "parse": [] } })
}

fn teams(m: &Message) -> Value {
    let colour = match m.severity() {
        Severity::Critical => "attention",
        Severity::Warning => "warning",
        Severity::Notice | Severity::Info => "default",
    };
    let block = |text: &str, extra: Value| {
        let mut b = json!({ "type": "TextBlock", "text": text, "wrap": true });
        if let (Some(b), Value::Object(extra)) = (b.as_object_mut(), extra) {
            b.extend(extra);
        }
        b
    };
    let mut body = vec![block(
        &unmarked(&clip(&m.subject(), 300)),
        json!({ "weight": "bolder", "size": "medium", "color": colour }),
    )];
    body.extend(plain(m, 20).iter().map(|l| block(&unmarked(l), json!({}))));
    let foot = format!("{} · {}", m.organisation, m.sent_by(&[]));
    body.push(block(&unmarked(&foot), json!({ "isSubtle": true, "size": "small" })));
    let actions: Vec<Value> = m
        .main_link()
        .map(|url| json!({ "type": "Action.OpenUrl", "title": "Open in Domainscope", "url": url }))
        .into_iter()
        .collect();
    json!({
        "type": "message",
        "attachments": [{
            "contentType": "application/vnd.microsoft.card.adaptive",
            "contentUrl": null,
            "content": {
                "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
                "type": "AdaptiveCard",
                "version": "1.4",
                "body": body,
                "actions": actions,
            },
        }],
    })
}

fn ntfy(m: &Message, topic: &str) -> Value {
    let (priority, tag) = match m.severity() {
        Severity::Critical => (5, "rotating_light"),
        Severity::Warning => (4, "warning"),
        Severity::Notice => (3, "information_source"),
        Severity::Info => (2, "information_source"),
    };
    let mut out = json!({
        "topic": topic,
        "title": clip(&m.subject(), 250),
        // Longer messages become attachments.
        "message": clip(&plain(m, 20).join("\n"), 3500),
        "priority": if m.test { 3 } else { priority },
        "tags": [tag],
    });
    if let Some(url) = m.main_link() {
        out["click"] = json!(url);
    }
    out
}

fn telegram(m: &Message, chat: &str) -> Value {
    // A message has at most 4096 characters after its markup was read.
    let listed =
        lines(m, 15, |name, sentence| format!("<b>{}</b>: {}", escape(name), escape(&clip(&sentence, 200))));
    let mut text = format!("<b>{}</b>\n\n{}", escape(&clip(&m.subject(), 300)), listed.join("\n"));
    if let Some(url) = m.main_link() {
        text.push_str(&format!("\n\n<a href=\"{}\">Open in Domainscope</a>", escape(&url)));
    }
    json!({
        "chat_id": chat,
        "text": text,
        "parse_mode": "HTML",
        "link_preview_options": { "is_disabled": true },
    })
}
