//! Settings of the sign-in provider (OpenID Connect): flags of `serve`, variables, and the table `[oidc]` of the
//! configuration file.

use super::{Wrong, list};
use anyhow::{Context, Result};
use clap::Args;
use model::ids::Role;
use product::identity::{OidcSettings, RoleMapping};
use serde::Deserialize;
use std::path::PathBuf;
use url::Url;

/// A provider that people sign in with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[command(next_help_heading = "Single sign-on (OpenID Connect)")]
pub struct OidcArgs {
    /// Issuer of the sign-in provider, as in https://login.example.com; its discovery document is below it
    #[arg(long = "oidc-issuer", env = "DOMAINSCOPE_OIDC_ISSUER", value_name = "URL")]
    pub issuer: Option<String>,
    /// Identifier of this installation at the provider
    #[arg(long = "oidc-client-id", env = "DOMAINSCOPE_OIDC_CLIENT_ID", value_name = "ID")]
    pub client_id: Option<String>,
    /// Its secret; set it as a variable, or use a file: flags can be seen by others on the machine
    #[arg(
        long = "oidc-client-secret",
        env = "DOMAINSCOPE_OIDC_CLIENT_SECRET",
        value_name = "SECRET",
        hide_env_values = true,
        conflicts_with = "client_secret_file"
    )]
    #[serde(skip)]
    pub client_secret: Option<String>,
    /// File with its secret
    #[arg(
        long = "oidc-client-secret-file",
        env = "DOMAINSCOPE_OIDC_CLIENT_SECRET_FILE",
        value_name = "FILE"
    )]
    pub client_secret_file: Option<PathBuf>,
    /// Scopes to ask for, separated by commas [default: openid,email,profile]
    #[arg(
        long = "oidc-scopes",
        env = "DOMAINSCOPE_OIDC_SCOPES",
        value_name = "SCOPES",
        value_delimiter = ','
    )]
    pub scopes: Vec<String>,
    /// Claim with the groups or roles of a person: a name, or a path as in realm_access.roles
    #[arg(long = "oidc-role-claim", env = "DOMAINSCOPE_OIDC_ROLE_CLAIM", value_name = "CLAIM")]
    pub role_claim: Option<String>,
    /// A value of that claim and the role it gives, as in dns-admins=admin; may be repeated
    #[arg(
        long = "oidc-role",
        env = "DOMAINSCOPE_OIDC_ROLES",
        value_name = "VALUE=ROLE",
        value_delimiter = ','
    )]
    pub roles: Vec<String>,
    /// Role of people with none of these values; without it they are refused
    #[arg(long = "oidc-default-role", env = "DOMAINSCOPE_OIDC_DEFAULT_ROLE", value_name = "ROLE")]
    pub default_role: Option<String>,
    /// Organisation that people join, by name or key [default: the first one]
    #[arg(long = "oidc-organisation", env = "DOMAINSCOPE_OIDC_ORGANISATION", value_name = "NAME")]
    pub organisation: Option<String>,
    /// Create an account at the first sign-in
    #[arg(long = "oidc-create-accounts", env = "DOMAINSCOPE_OIDC_CREATE_ACCOUNTS")]
    pub create_accounts: bool,
    /// Link an existing account of the same e-mail address at the first sign-in, if the provider has verified the address
    #[arg(long = "oidc-link-by-email", env = "DOMAINSCOPE_OIDC_LINK_BY_EMAIL")]
    pub link_by_email: bool,
    /// Take the provider's e-mail addresses for verified where it does not say (no email_verified claim): only for a
    /// provider where people can't choose their address themselves
    #[arg(long = "oidc-trust-email", env = "DOMAINSCOPE_OIDC_TRUST_EMAIL")]
    pub trust_email: bool,
    /// Words of the button after "Sign in with" [default: the host of the issuer]
    #[arg(long = "oidc-label", env = "DOMAINSCOPE_OIDC_LABEL", value_name = "WORDS")]
    pub label: Option<String>,
}

impl OidcArgs {
    /// These settings with the gaps filled from the configuration file's.
    #[must_use]
    pub fn over(self, file: OidcArgs) -> OidcArgs {
        OidcArgs {
            issuer: self.issuer.or(file.issuer),
            client_id: self.client_id.or(file.client_id),
            // A secret of a flag or variable goes before a file of the configuration.
            client_secret_file: match &self.client_secret {
                Some(_) => None,
                None => self.client_secret_file.or(file.client_secret_file),
            },
            client_secret: self.client_secret,
            scopes: list(self.scopes, file.scopes),
            role_claim: self.role_claim.or(file.role_claim),
            roles: list(self.roles, file.roles),
            default_role: self.default_role.or(file.default_role),
            organisation: self.organisation.or(file.organisation),
            create_accounts: self.create_accounts || file.create_accounts,
            link_by_email: self.link_by_email || file.link_by_email,
            trust_email: self.trust_email || file.trust_email,
            label: self.label.or(file.label),
        }
    }

    /// The provider these settings describe, when they name one.
    ///
    /// # Errors
    /// Names the setting and the rule it breaks.
    pub fn settings(self) -> Result<Option<OidcSettings>> {
        let Some(issuer) = self.issuer else {
            return match self == OidcArgs::default() {
                true => Ok(None),
                false => Err(wrong("oidc_issuer is missing: other settings of the provider are set")),
            };
        };
        let url = Url::parse(&issuer).ok().filter(is_issuer);
        let url = url.ok_or_else(|| {
            wrong("oidc_issuer: write an address as in https://login.example.com, without a query (http only for this machine)")
        })?;
        let client_id = self.client_id.ok_or_else(|| wrong("oidc_client_id is missing"))?;
        let client_secret = match (self.client_secret, self.client_secret_file) {
            (Some(secret), _) => Some(secret),
            (None, Some(path)) => {
                let text = std::fs::read_to_string(&path);
                let text = text.with_context(|| format!("oidc_client_secret_file {}", path.display()))?;
                Some(text.trim_end_matches(['\r', '\n']).to_string())
            }
            (None, None) => None,
        };
        if self.role_claim.is_none() != self.roles.is_empty() {
            return Err(wrong("oidc_role_claim and oidc_role belong together: set both or none"));
        }
        let values = self.roles.iter().map(|text| {
            let (value, word) = text.rsplit_once('=').filter(|(value, _)| !value.is_empty()).unzip();
            let (value, word) = value.zip(word).ok_or_else(|| {
                wrong(&format!("oidc_role: “{text}” is not VALUE=ROLE, as in dns-admins=admin"))
            })?;
            Ok((value.to_string(), role("oidc_role", word)?))
        });
        let roles = RoleMapping {
            claim: self.role_claim,
            values: values.collect::<Result<_>>()?,
            default: self.default_role.map(|word| role("oidc_default_role", &word)).transpose()?,
        };
        if self.create_accounts && roles == RoleMapping::default() {
            return Err(wrong(
                "oidc_create_accounts needs the role of new people: oidc_role_claim with oidc_role, or oidc_default_role",
            ));
        }
        let label = self.label.unwrap_or_else(|| url.host_str().unwrap_or("the provider").to_string());
        let scopes = match self.scopes.is_empty() {
            true => vec!["email".into(), "profile".into()],
            false => self.scopes,
        };
        Ok(Some(OidcSettings {
            issuer,
            client_id,
            client_secret,
            scopes,
            roles,
            organisation: self.organisation,
            create_accounts: self.create_accounts,
            link_by_email: self.link_by_email,
            trust_email: self.trust_email,
            label,
        }))
    }
}

fn wrong(words: &str) -> anyhow::Error {
    Wrong(words.into()).into()
}

/// OpenID Connect Discovery section 3: https, without query and fragment. On this machine http is no risk.
fn is_issuer(url: &Url) -> bool {
    let is_here = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    let scheme = url.scheme() == "https" || (url.scheme() == "http" && is_here);
    scheme && url.has_host() && url.query().is_none() && url.fragment().is_none()
}

fn role(setting: &str, word: &str) -> Result<Role> {
    Role::from_word(word.trim())
        .ok_or_else(|| wrong(&format!("{setting}: “{word}” is not a role: viewer, member, admin or owner")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named() -> OidcArgs {
        OidcArgs {
            issuer: Some("https://login.alder.example".into()),
            client_id: Some("scope".into()),
            ..OidcArgs::default()
        }
    }

    #[test]
    fn settings_come_from_flags_and_the_file_and_have_defaults() {
        assert_eq!(OidcArgs::default().settings().unwrap(), None);
        let file: OidcArgs = toml::from_str(
            "issuer = \"https://other.example\"\nrole_claim = \"groups\"\nroles = [\"a=b=member\"]\ncreate_accounts = true\n",
        )
        .unwrap();
        let got = named().over(file).settings().unwrap().unwrap();
        assert_eq!(
            (got.issuer.as_str(), got.label.as_str()),
            ("https://login.alder.example", "login.alder.example")
        );
        assert_eq!(got.scopes, ["email", "profile"]);
        assert_eq!(got.roles.values, [("a=b".to_string(), Role::Member)]);
        assert!(got.create_accounts && !got.link_by_email && !got.trust_email && got.client_secret.is_none());
        assert!(toml::from_str::<OidcArgs>("isuer = \"x\"").is_err());
        assert!(
            toml::from_str::<OidcArgs>("client_secret = \"x\"").is_err(),
            "secrets have a file of their own"
        );
    }

    #[test]
    fn a_secret_is_read_from_its_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "s3cret \n").unwrap();
        let args = OidcArgs { client_secret_file: Some(file.path().into()), ..named() };
        assert_eq!(args.clone().settings().unwrap().unwrap().client_secret.as_deref(), Some("s3cret "));
        let both = OidcArgs { client_secret: Some("flag".into()), ..named() }.over(args);
        assert_eq!(both.settings().unwrap().unwrap().client_secret.as_deref(), Some("flag"));
    }

    #[test]
    fn what_can_not_work_names_the_setting() {
        let issuer = |text: &str| OidcArgs { issuer: Some(text.into()), ..named() };
        let roles = |claim: Option<&str>, roles: &[&str]| OidcArgs {
            role_claim: claim.map(String::from),
            roles: roles.iter().map(ToString::to_string).collect(),
            ..named()
        };
        for (args, word) in [
            (OidcArgs { issuer: None, ..named() }, "oidc_issuer"),
            (issuer("http://login.alder.example"), "oidc_issuer"),
            (issuer("https://login.alder.example?x=1"), "oidc_issuer"),
            (issuer("login.alder.example"), "oidc_issuer"),
            (OidcArgs { client_id: None, ..named() }, "oidc_client_id"),
            (roles(Some("groups"), &[]), "oidc_role"),
            (roles(None, &["a=viewer"]), "oidc_role_claim"),
            (roles(Some("groups"), &["viewer"]), "VALUE=ROLE"),
            (roles(Some("groups"), &["a=root"]), "not a role"),
            (OidcArgs { default_role: Some("boss".into()), ..named() }, "oidc_default_role"),
            (OidcArgs { create_accounts: true, ..named() }, "oidc_create_accounts"),
            (OidcArgs { client_secret_file: Some("nowhere".into()), ..named() }, "oidc_client_secret_file"),
        ] {
            let e = format!("{:#}", args.settings().unwrap_err());
            assert!(e.contains(word), "{e}");
        }
        assert!(issuer("http://127.0.0.1:3000").settings().is_ok());
    }
}
