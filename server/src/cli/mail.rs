//! Flags of `serve` about messages: the SMTP server, the sender, and the address of the installation. In: flags and
//! engine settings; out: what sends messages.

use crate::settings::{EngineArgs, Wrong};
use crate::wiring;
use anyhow::{Context, Result};
use clap::Args;
use notify::{Deliverer, Smtp, SmtpSettings};
use url::Url;

/// Flags of `serve` about messages.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Notifications")]
pub(super) struct MailArgs {
    /// SMTP server: smtps://HOST (TLS), smtp://HOST (STARTTLS, required), smtp://HOST?tls=none on a network you trust
    #[arg(
        long,
        env = "DOMAINSCOPE_SMTP_URL",
        value_name = "URL",
        hide_env_values = true,
        requires = "mail_from"
    )]
    pub(super) smtp_url: Option<String>,
    /// User name at the SMTP server
    #[arg(long, env = "DOMAINSCOPE_SMTP_USER", value_name = "NAME")]
    smtp_user: Option<String>,
    /// File with the password
    #[arg(long, env = "DOMAINSCOPE_SMTP_PASSWORD_FILE", value_name = "FILE", requires = "smtp_user")]
    smtp_password_file: Option<std::path::PathBuf>,
    /// Sender of e-mail: an address, or "Name <address>"
    #[arg(long, env = "DOMAINSCOPE_MAIL_FROM", value_name = "SENDER")]
    pub(super) mail_from: Option<String>,
    /// Address of this installation as people open it; messages link to it
    #[arg(long, env = "DOMAINSCOPE_PUBLIC_URL", value_name = "URL")]
    pub(super) public_url: Option<Url>,
    /// Days before an expiration at which a reminder is sent; 0 is the expiration itself
    #[arg(
        long,
        default_value = "30,15,7,3,1,0",
        env = "DOMAINSCOPE_EXPIRY_DAYS",
        value_name = "DAYS",
        value_parser = days
    )]
    pub(super) expiry_days: Days,
}

/// Thresholds, most days first.
#[derive(Debug, Clone, Default)]
pub(super) struct Days(pub(super) Vec<i64>);

fn days(text: &str) -> Result<Days, String> {
    model::expiry::parse_days(text).map(Days)
}

impl MailArgs {
    /// What sends messages.
    pub(super) fn deliverer(&self, engine: &EngineArgs, dns: &dns::Engine) -> Result<Deliverer> {
        let smtp = match (&self.smtp_url, &self.mail_from) {
            (Some(url), Some(from)) => {
                let password = match &self.smtp_password_file {
                    Some(path) => std::fs::read_to_string(path)
                        .with_context(|| format!("password file {}", path.display()))?
                        .trim_end_matches(['\r', '\n'])
                        .to_string(),
                    None => String::new(),
                };
                let extra_ca = match &engine.extra_ca {
                    Some(path) => {
                        Some(std::fs::read(path).with_context(|| format!("extra CA {}", path.display()))?)
                    }
                    None => None,
                };
                let settings = SmtpSettings {
                    url: url.clone(),
                    user: self.smtp_user.clone().unwrap_or_default(),
                    password,
                    from: from.clone(),
                    extra_ca,
                };
                Some(Smtp::new(&settings).map_err(Wrong)?)
            }
            _ => None,
        };
        if let Some(url) = self.public_url.as_ref().filter(|u| !matches!(u.scheme(), "http" | "https")) {
            return Err(Wrong(format!("public_url: “{url}” does not begin with https:// or http://")).into());
        }
        Ok(Deliverer::new(wiring::dialer(engine, dns)?, smtp, self.public_url.clone()))
    }
}
