//! E-mail over the operator's SMTP server: implicit TLS, STARTTLS, or neither where the operator says so.

use crate::cluster::Cluster;
use crate::html;
use crate::message::Message;
use jiff::Timestamp;
use lettre::address::Envelope;
use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::message::{Mailbox, MultiPart};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, Tls, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use lettre::{AsyncSmtpTransport, AsyncTransport, Tokio1Executor};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use store::Failure;
use tokio::sync::Semaphore;
use url::Url;

/// How long the delivery to one recipient may take.
const TIMEOUT: Duration = Duration::from_secs(12);
/// How long after the beginning the last delivery of a message begins: both together are less than half a lease.
const LAST_START: Duration = Duration::from_secs(15);
/// Connections to the server at the same time: few servers take more from one client.
const CONNECTIONS: usize = 4;

/// How mail leaves the installation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SmtpSettings {
    /// `smtps://host:465` (TLS from the start), `smtp://host:587` (STARTTLS, required), `smtp://host:25?tls=none`.
    pub url: String,
    /// User name; empty for none. One in the URL counts when this is empty.
    pub user: String,
    /// Password.
    pub password: String,
    /// Sender: an address, or `Name <address>`.
    pub from: String,
    /// Certificate authorities trusted beside the public ones, PEM.
    pub extra_ca: Option<Vec<u8>>,
}

/// Sends mail. Cheap to clone.
#[derive(Clone)]
pub struct Smtp {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
    server: String,
    connections: Arc<Semaphore>,
}

impl std::fmt::Debug for Smtp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Smtp").field("server", &self.server).finish_non_exhaustive()
    }
}

impl Smtp {
    /// Reads the settings; connects to nothing yet.
    ///
    /// # Errors
    /// A sentence that names the setting and the rule it breaks.
    pub fn new(settings: &SmtpSettings) -> Result<Smtp, String> {
        let url = Url::parse(&settings.url).map_err(|e| format!("the SMTP address is not a URL: {e}"))?;
        let host = url.host_str().ok_or("the SMTP address names no host")?.to_string();
        let tls = url.query_pairs().find(|(k, _)| k == "tls").map(|(_, v)| v.into_owned());
        let (port, tls) = match (url.scheme(), tls.as_deref()) {
            ("smtps", None) => (465, Tls::Wrapper(trusted(settings, &host)?)),
            ("smtp", None | Some("required")) => (587, Tls::Required(trusted(settings, &host)?)),
            ("smtp", Some("none")) => (25, Tls::None),
            _ => {
                return Err(
                    "the SMTP address is smtps://HOST, smtp://HOST (STARTTLS) or smtp://HOST?tls=none"
                        .to_string(),
                );
            }
        };
        let from: Mailbox = settings
            .from
            .parse()
            .map_err(|_| format!("“{}” is not a sender: write ADDRESS or Name <ADDRESS>", settings.from))?;
        let port = url.port().unwrap_or(port);
        let hello = ClientId::Domain(from.email.domain().to_string());
        let mut builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(host.clone())
            .port(port)
            .tls(tls)
            .hello_name(hello)
            .timeout(Some(TIMEOUT));
        let user = if settings.user.is_empty() { url.username() } else { &settings.user };
        if !user.is_empty() {
            let password = if settings.password.is_empty() {
                url.password().unwrap_or_default().to_string()
            } else {
                settings.password.clone()
            };
            builder = builder.credentials(Credentials::new(user.to_string(), password));
        }
        Ok(Smtp {
            transport: builder.build(),
            from,
            server: format!("{host}:{port}"),
            connections: Arc::new(Semaphore::new(CONNECTIONS)),
        })
    }

    /// The server as `host:port`.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Sends a message to these addresses but those that have it already; what the server answered. Each recipient is a
    /// transaction of its own, so that one that is refused does not keep the message from the others.
    pub(crate) async fn send(
        &self,
        to: &[String],
        accepted: &[String],
        message: &Message,
        cluster: &Cluster,
    ) -> Result<String, Failure> {
        // The message may be older than the present identity.
        let cluster = Cluster { id: message.cluster.clone(), ..cluster.clone() };
        let mail = compose(&self.from, to, message, &cluster).map_err(Failure::permanent)?.formatted();
        let began = Instant::now();
        let (mut words, mut sent, mut failures) = (String::new(), Vec::new(), Vec::new());
        for address in to.iter().filter(|a| !accepted.contains(a)) {
            // The lease of the message does not last for every slow answer; the next attempt goes on here.
            let outcome = match began.elapsed() < LAST_START {
                true => self.send_one(address, &mail).await,
                false => Err(Failure::temporary(format!("{} answers slowly", self.server))),
            };
            match outcome {
                Ok(answer) => {
                    words = answer;
                    sent.push(address.clone());
                }
                Err(failure) => failures.push((address, failure)),
            }
        }
        let Some((address, first)) = failures.first() else { return Ok(words) };
        let reached = sent.len() + accepted.len();
        let reason = match (to.len(), reached) {
            (1, _) | (_, 0) => first.reason.clone(),
            (all, _) => format!("{reached} of {all} recipients have it; {address}: {}", first.reason),
        };
        Err(Failure {
            reason,
            permanent: failures.iter().all(|(_, f)| f.permanent),
            accepted: sent,
            ..Failure::default()
        })
    }

    /// Sends a text to one address; what the server answered.
    pub(crate) async fn send_text(
        &self,
        to: &str,
        subject: &str,
        text: &str,
        cluster: &Cluster,
    ) -> Result<String, Failure> {
        let mail = lettre::Message::builder()
            .from(self.from.clone())
            .to(mailbox(to).map_err(Failure::permanent)?)
            .subject(subject)
            .header(ContentType::TEXT_PLAIN)
            .body(text.to_string());
        let mut mail = mail.map_err(|e| Failure::permanent(format!("the mail can't be composed: {e}")))?;
        mail.headers_mut().insert_raw(field("Auto-Submitted", "auto-generated"));
        identify(&mut mail, cluster);
        self.send_one(to, &mail.formatted()).await
    }

    async fn send_one(&self, address: &str, mail: &[u8]) -> Result<String, Failure> {
        let to = mailbox(address).map_err(Failure::permanent)?.email;
        let envelope = Envelope::new(Some(self.from.email.clone()), vec![to])
            .map_err(|e| Failure::permanent(format!("{address}: {e}")))?;
        let Ok(_permit) = self.connections.acquire().await else {
            return Err(Failure::temporary("the server is stopping"));
        };
        match tokio::time::timeout(TIMEOUT, self.transport.send_raw(&envelope, mail)).await {
            Ok(Ok(answer)) => {
                let words = answer.first_line().unwrap_or("accepted").trim().to_string();
                Ok(format!("{} {words} by {}", answer.code(), self.server))
            }
            Ok(Err(e)) => Err(self.failure(&e)),
            Err(_) => Err(Failure::temporary(format!("{} did not answer in time", self.server))),
        }
    }

    fn failure(&self, e: &lettre::transport::smtp::Error) -> Failure {
        let server = &self.server;
        let cause = std::error::Error::source(e).map(ToString::to_string).unwrap_or_default();
        if let Some(code) = e.status() {
            let words = format!("{server} answered {code} {cause}").trim_end().to_string();
            // Greylisting and full mailboxes are 4xx: they pass.
            return Failure { reason: words, permanent: e.is_permanent(), ..Failure::default() };
        }
        let what = if e.is_timeout() {
            "did not answer in time"
        } else if e.is_tls() || cause.contains("certificate") {
            "could not be talked to over TLS"
        } else if cause.contains("STARTTLS") || e.to_string().contains("STARTTLS") {
            "does not offer STARTTLS, which is required; set tls=none only on a network you trust"
        } else {
            "could not be reached or closed the connection"
        };
        let cause = if cause.is_empty() { e.to_string() } else { cause };
        Failure::temporary(format!("{server} {what}: {cause}"))
    }
}

fn trusted(settings: &SmtpSettings, host: &str) -> Result<TlsParameters, String> {
    let mut builder = TlsParameters::builder(host.to_string());
    if let Some(pem) = &settings.extra_ca {
        let certificate = Certificate::from_pem(pem).map_err(|e| format!("the extra CA: {e}"))?;
        builder = builder.add_root_certificate(certificate);
    }
    builder.build_rustls().map_err(|e| format!("TLS for the SMTP server: {e}"))
}

/// An address as a mailbox.
///
/// # Errors
/// A sentence that names the address.
pub(crate) fn mailbox(text: &str) -> Result<Mailbox, String> {
    text.parse().map_err(|_| format!("“{text}” is not an e-mail address"))
}

/// Says which installation sends it.
fn identify(mail: &mut lettre::Message, cluster: &Cluster) {
    for (name, value) in cluster.fields() {
        mail.headers_mut().insert_raw(field(name, value));
    }
}

fn compose(from: &Mailbox, to: &[String], m: &Message, cluster: &Cluster) -> Result<lettre::Message, String> {
    let domain = from.email.domain();
    let mut builder = lettre::Message::builder()
        .from(from.clone())
        .subject(m.subject())
        .date(SystemTime::from(at_second(m.at)))
        .message_id(Some(format!("<{}@{domain}>", m.id)));
    for address in to {
        builder = builder.to(mailbox(address)?);
    }
    let mut mail = builder
        .multipart(MultiPart::alternative_plain_html(m.text(to), html::page(m, to)))
        .map_err(|e| format!("the mail can't be composed: {e}"))?;
    // No vacation notices in return (RFC 3834).
    mail.headers_mut().insert_raw(field("Auto-Submitted", "auto-generated"));
    mail.headers_mut().insert_raw(field("X-Domainscope-Message", &m.id));
    if let Some(link) = m.unsubscribe_link() {
        mail.headers_mut().insert_raw(field("List-Unsubscribe", &format!("<{link}>")));
    }
    identify(&mut mail, cluster);
    Ok(mail)
}

fn field(name: &'static str, value: &str) -> HeaderValue {
    HeaderValue::new(HeaderName::new_from_ascii_str(name), value.to_string())
}

fn at_second(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_settings_are_named() {
        let with = |url: &str, from: &str| {
            let settings = SmtpSettings { url: url.into(), from: from.into(), ..SmtpSettings::default() };
            Smtp::new(&settings).map(|s| s.server().to_string())
        };
        assert_eq!(with("smtp://mail.example", "a@b.example").unwrap(), "mail.example:587");
        assert_eq!(with("smtps://u:p@mail.example", "A <a@b.example>").unwrap(), "mail.example:465");
        assert_eq!(with("smtp://mail.example:2525?tls=none", "a@b.example").unwrap(), "mail.example:2525");
        for (url, from, word) in [
            ("mail.example", "a@b.example", "URL"),
            ("http://mail.example", "a@b.example", "smtps://HOST"),
            ("smtp://mail.example?tls=maybe", "a@b.example", "tls=none"),
            ("smtp://mail.example", "nobody", "sender"),
        ] {
            assert!(with(url, from).unwrap_err().contains(word), "{url} {from}");
        }
    }
}
