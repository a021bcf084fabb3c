//! Mail: MX, SPF (RFC 7208), DKIM (RFC 6376), DMARC (RFC 7489), MTA-STS (RFC 8461) and TLS reports (RFC 8460).

use super::list;
use crate::error::Result;
use crate::template_record::TemplateRecord;
use serde_json::json;

/// A mail service.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Mail {
    /// Preference and host name of each mail server.
    pub servers: Vec<(u16, String)>,
    /// SPF rules without `v=spf1` and `all`; empty: the service sends no mail for the domain.
    pub spf_rules: String,
    /// Keys that sign outgoing mail.
    pub dkim: Vec<Dkim>,
    /// What receivers do with mail that fails both.
    pub dmarc: Option<Dmarc>,
    /// TLS enforced for incoming mail.
    pub mta_sts: Option<MtaSts>,
    /// Where reports of TLS failures go: `mailto:` or `https:`.
    pub tls_reports_to: Option<String>,
    /// TTL in seconds.
    pub ttl: u32,
}

/// A DKIM key under its selector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dkim {
    /// Label before `._domainkey`.
    pub selector: String,
    /// Where the key is.
    pub key: DkimKey,
}

/// Where a DKIM key is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DkimKey {
    /// The service publishes it under this name and can rotate it.
    Cname(String),
    /// The text of the record: `v=DKIM1; k=rsa; p=…`.
    Text(String),
}

/// A DMARC policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dmarc {
    /// `none`, `quarantine` or `reject`.
    pub policy: String,
    /// Where aggregate reports go: `mailto:…`.
    pub reports_to: Option<String>,
}

/// An MTA-STS policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MtaSts {
    /// Version of the policy; changes whenever the policy does.
    pub id: String,
    /// Host that serves the policy for `mta-sts.DOMAIN`.
    pub policy_host: String,
}

impl Mail {
    /// The records.
    ///
    /// # Errors
    /// None today; the signature is that of the other services.
    pub fn records(&self) -> Result<Vec<TemplateRecord>> {
        let ttl = self.ttl;
        // The value is one of a set: applying the service again, with other values, replaces it.
        let policy = |host: &str, prefix: &str, text: &str| {
            json!({"type": "TXT", "host": host, "data": text, "ttl": ttl,
                "txtConflictMatchingMode": "Prefix", "txtConflictMatchingPrefix": prefix})
        };
        let mut records = Vec::new();
        for (priority, server) in &self.servers {
            records.push(
                json!({"type": "MX", "host": "@", "pointsTo": server, "priority": priority, "ttl": ttl}),
            );
        }
        if !self.spf_rules.trim().is_empty() {
            records.push(json!({"type": "SPFM", "host": "@", "spfRules": self.spf_rules, "ttl": ttl}));
        }
        for dkim in &self.dkim {
            let host = format!("{}._domainkey", dkim.selector);
            records.push(match &dkim.key {
                DkimKey::Cname(target) => {
                    json!({"type": "CNAME", "host": host, "pointsTo": target, "ttl": ttl})
                }
                DkimKey::Text(text) => json!({"type": "TXT", "host": host, "data": text, "ttl": ttl,
                    "txtConflictMatchingMode": "All"}),
            });
        }
        if let Some(dmarc) = &self.dmarc {
            let reports = dmarc.reports_to.as_ref().map(|to| format!("; rua={to}")).unwrap_or_default();
            records.push(policy("_dmarc", "v=DMARC1", &format!("v=DMARC1; p={}{reports}", dmarc.policy)));
        }
        if let Some(sts) = &self.mta_sts {
            records.push(policy("_mta-sts", "v=STSv1", &format!("v=STSv1; id={};", sts.id)));
            records
                .push(json!({"type": "CNAME", "host": "mta-sts", "pointsTo": sts.policy_host, "ttl": ttl}));
        }
        if let Some(to) = &self.tls_reports_to {
            records.push(policy("_smtp._tls", "v=TLSRPTv1", &format!("v=TLSRPTv1; rua={to}")));
        }
        list(records)
    }
}
