//! Sends a message to a channel and says what the other side answered.

use crate::cluster::Cluster;
use crate::mail::Smtp;
use crate::message::Message;
pub use crate::payload::Endpoints;
use crate::payload::{Post, posts};
use features::{Closed, Gates, Use};
use jiff::Timestamp;
use model::notify::{Channel, Target};
use net::{Dialer, HttpAnswer};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};
use store::Failure;
use url::Url;

/// Octets of an answer that are read: enough for the reason of a refusal.
const ANSWER: usize = 4096;

/// How long after the first request of a message its last one begins: well within the lease of the message.
const LAST_POST: Duration = Duration::from_secs(12);

/// Sends messages. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Deliverer {
    dialer: Dialer,
    smtp: Option<Smtp>,
    base: Option<Url>,
    endpoints: Endpoints,
    gates: Gates,
    cluster: Arc<RwLock<Cluster>>,
}

impl Deliverer {
    /// A deliverer; without `smtp` e-mail channels fail with a sentence that says so. `base` is the address of the
    /// installation, for links.
    pub fn new(dialer: Dialer, smtp: Option<Smtp>, base: Option<Url>) -> Self {
        Deliverer {
            dialer,
            smtp,
            base,
            endpoints: Endpoints::default(),
            gates: Gates::default(),
            cluster: Arc::default(),
        }
    }

    /// The same with other addresses of services.
    pub fn with_endpoints(self, endpoints: Endpoints) -> Self {
        Deliverer { endpoints, ..self }
    }

    /// The same with the features of a process.
    #[must_use]
    pub fn with_gates(self, gates: Gates) -> Self {
        Deliverer { gates, ..self }
    }

    /// The same with the identity of the installation, which every message carries.
    #[must_use]
    pub fn with_cluster(self, cluster: Cluster) -> Self {
        Deliverer { cluster: Arc::new(RwLock::new(cluster)), ..self }
    }

    /// Another identity from now on, for all clones: the installation was renamed, joined a set or left it.
    pub fn set_cluster(&self, cluster: Cluster) {
        *self.cluster.write().unwrap_or_else(PoisonError::into_inner) = cluster;
    }

    /// Identity of the installation.
    pub fn cluster(&self) -> Cluster {
        self.cluster.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Address of the installation.
    pub fn base(&self) -> Option<&Url> {
        self.base.as_ref()
    }

    /// True when e-mail can be sent.
    pub fn has_mail(&self) -> bool {
        self.smtp.is_some()
    }

    /// Checks what can be checked of a channel without sending anything.
    ///
    /// # Errors
    /// A sentence that names the value and the rule.
    pub fn check(&self, target: &Target) -> Result<(), String> {
        self.using(target).map_err(|f| f.reason)?;
        if let Target::Email { to } = target {
            if self.smtp.is_none() {
                return Err(NO_MAIL.into());
            }
            return to.iter().try_for_each(|a| crate::mail::mailbox(a).map(drop));
        }
        let sample = Message::test("sample".into(), String::new(), None, Timestamp::UNIX_EPOCH);
        posts(target, &sample, &self.endpoints, Timestamp::UNIX_EPOCH).map(drop)
    }

    /// Sends a message; what the other side answered, in words. Recipients in `accepted` have it already and are left out.
    ///
    /// # Errors
    /// Why it was not accepted, and whether another attempt makes sense.
    pub async fn send(
        &self,
        channel: &Channel,
        message: &Message,
        accepted: &[String],
        now: Timestamp,
    ) -> Result<String, Failure> {
        let _use = self.using(&channel.target)?;
        if let Target::Email { to } = &channel.target {
            let smtp = self.smtp.as_ref().ok_or_else(|| Failure::temporary(NO_MAIL))?;
            return smtp.send(to, accepted, message, &self.cluster()).await;
        }
        let requests = posts(&channel.target, message, &self.endpoints, now).map_err(Failure::permanent)?;
        self.post_all(&requests, accepted).await
    }

    /// Posts the requests of a message but for parts that were accepted before; what the other side answered to the last.
    async fn post_all(&self, requests: &[Post], accepted: &[String]) -> Result<String, Failure> {
        let began = Instant::now();
        let (mut words, mut done) = ("Already delivered".to_string(), Vec::new());
        for request in requests.iter().filter(|r| r.part.is_empty() || !accepted.contains(&r.part)) {
            // The lease of the message does not last for any number of slow answers; the next attempt goes on here.
            let outcome = match began.elapsed() < LAST_POST {
                true => self.post(request).await,
                false => Err(Failure::temporary("The receiver responds slowly")),
            };
            match outcome {
                Ok(answer) => words = answer,
                Err(failure) => return Err(Failure { accepted: done, ..failure }),
            }
            if !request.part.is_empty() {
                done.push(request.part.clone());
            }
        }
        Ok(words)
    }

    /// Mails a text that concerns an account, not a channel; what the mail server answered.
    ///
    /// # Errors
    /// Why it was not accepted, and whether another attempt makes sense.
    pub async fn mail(&self, to: &str, subject: &str, text: &str) -> Result<String, Failure> {
        let smtp = self.smtp.as_ref().ok_or_else(|| Failure::permanent(NO_MAIL))?;
        smtp.send_text(to, subject, text, &self.cluster()).await
    }

    /// Begins a use of the feature that guards this kind of channel.
    fn using(&self, target: &Target) -> Result<Use, Failure> {
        let feature = features::alerts(target.kind());
        self.gates.admit(feature).map_err(|closed| match closed {
            // A message that is given up stays visible and can be sent again once the feature is on.
            Closed::Off => Failure::permanent(format!("The feature {feature} is turned off on this server")),
            // Another process takes it at one of the next attempts.
            Closed::OffHere => Failure {
                is_off: true,
                ..Failure::temporary(format!("The feature {feature} is turned off in this process by a flag"))
            },
            Closed::NotNow => Failure::postponed(format!(
                "The feature {feature} can't be used at this moment; it is tried again once its state is known"
            )),
        })
    }

    async fn post(&self, request: &Post) -> Result<String, Failure> {
        let mut fields: Vec<(&str, &str)> =
            request.fields.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        let cluster = self.cluster();
        let ours = [
            ("x-domainscope-cluster", cluster.id.as_str()),
            ("x-domainscope-clusterset", cluster.set.as_str()),
        ];
        fields.extend(ours.into_iter().filter(|(_, value)| !value.is_empty()));
        let began = Instant::now();
        let answer = self.dialer.http_post_with(&request.url, &fields, request.body.clone(), ANSWER).await;
        let ms = began.elapsed().as_millis();
        match answer {
            Ok(a) if (200..300).contains(&a.status) => Ok(format!("{} in {ms} ms", status_words(a.status))),
            Ok(a) => Err(refused(&a)),
            Err(e) => Err(Failure {
                reason: format!("{e}"),
                permanent: matches!(e, net::Error::Blocked { .. }),
                ..Failure::default()
            }),
        }
    }
}

const NO_MAIL: &str =
    "No SMTP server is configured: the operator sets DOMAINSCOPE_SMTP_URL and DOMAINSCOPE_MAIL_FROM";

fn refused(a: &HttpAnswer) -> Failure {
    let what_to_do = match a.status {
        300..=399 => "The address redirects; enter the address it leads to.",
        401 | 403 => "The address or its key is not accepted; replace it.",
        404 | 410 => "The address does not exist any more; create a new one there and replace it.",
        413 => "The message is too large for the other side.",
        _ => "",
    };
    let body = String::from_utf8_lossy(&a.body);
    let body: String =
        body.chars().filter(|c| !c.is_control()).take(200).collect::<String>().trim().to_string();
    let mut reason = status_words(a.status);
    // A page for people says nothing more than the status does.
    if !body.is_empty() && !body.starts_with('<') {
        reason.push_str(&format!(": {body}"));
    }
    if !what_to_do.is_empty() {
        reason.push_str(&format!(". {what_to_do}"));
    }
    Failure {
        reason,
        permanent: (300..500).contains(&a.status) && !matches!(a.status, 408 | 425 | 429),
        retry_after: retry_after(a),
        ..Failure::default()
    }
}

/// What the other side asks for: seconds in a field, or in the JSON of Telegram and Discord.
fn retry_after(a: &HttpAnswer) -> Option<Duration> {
    let field = a.header("retry-after").and_then(|v| v.trim().parse::<u64>().ok());
    let body = || {
        let v: serde_json::Value = serde_json::from_slice(&a.body).ok()?;
        let seconds = v.pointer("/parameters/retry_after").or_else(|| v.get("retry_after"))?.as_f64()?;
        (seconds.is_finite() && seconds >= 0.0).then_some(seconds.ceil().min(86_400.0))
    };
    field.map(Duration::from_secs).or_else(|| body().map(Duration::from_secs_f64))
}

fn status_words(status: u16) -> String {
    let words = match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        301 | 308 => "Moved Permanently",
        302 | 307 => "Found elsewhere",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        410 => "Gone",
        413 => "Content Too Large",
        422 => "Unprocessable Content",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "",
    };
    format!("{status} {words}").trim_end().to_string()
}
