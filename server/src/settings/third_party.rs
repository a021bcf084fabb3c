//! Settings of the measurement networks of third parties: flags and variables of `serve`.

use super::Wrong;
use anyhow::Result;
use clap::Args;
use product::{ThirdParties, ThirdPartyKind, ThirdPartyNetwork};
use url::Url;

/// Networks that the feature third-party-vantages asks.
#[derive(Debug, Clone, Args)]
#[command(
    next_help_heading = "Measurement networks of third parties (feature third-party-vantages, off by default)"
)]
pub struct ThirdPartyArgs {
    /// Address of Globalping's API; “none” leaves it out
    #[arg(
        long,
        env = "DOMAINSCOPE_GLOBALPING_URL",
        value_name = "URL",
        default_value = "https://api.globalping.io"
    )]
    globalping_url: String,
    /// Token for Globalping, for more measurements than it allows without one; set it as a variable
    #[arg(long, env = "DOMAINSCOPE_GLOBALPING_TOKEN", value_name = "TOKEN", hide_env_values = true)]
    globalping_token: Option<String>,
    /// Address of RIPE Atlas
    #[arg(long, env = "DOMAINSCOPE_ATLAS_URL", value_name = "URL", default_value = "https://atlas.ripe.net")]
    atlas_url: String,
    /// Key for RIPE Atlas, which is asked only with one; set it as a variable
    #[arg(long, env = "DOMAINSCOPE_ATLAS_KEY", value_name = "KEY", hide_env_values = true)]
    atlas_key: Option<String>,
    /// Places of each network that one look asks
    #[arg(long, env = "DOMAINSCOPE_THIRD_PARTY_PLACES", value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=20))]
    third_party_places: u32,
    /// Measurements of each network in a day (UTC)
    #[arg(long, env = "DOMAINSCOPE_THIRD_PARTY_DAILY", value_name = "N", default_value_t = 100)]
    third_party_daily: u32,
}

fn address(setting: &str, text: &str) -> Result<Url, Wrong> {
    let url = Url::parse(text).ok().filter(|u| matches!(u.scheme(), "https" | "http") && u.query().is_none());
    url.filter(|u| u.username().is_empty() && u.password().is_none()).ok_or_else(|| {
        Wrong(format!("{setting}: “{text}” is not an address as in https://api.globalping.io"))
    })
}

/// A key as it can be sent in a header field.
fn key(setting: &str, key: Option<&String>) -> Result<Option<String>, Wrong> {
    let Some(key) = key.map(|k| k.trim()).filter(|k| !k.is_empty()) else { return Ok(None) };
    if key.len() > 512 || !key.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(Wrong(format!("{setting}: a key is ASCII without spaces, at most 512 characters")));
    }
    Ok(Some(key.to_string()))
}

impl ThirdPartyArgs {
    /// The networks that these settings describe.
    ///
    /// # Errors
    /// [`Wrong`], with the setting; never with a key.
    pub fn networks(&self, dialer: net::Dialer) -> Result<ThirdParties, Wrong> {
        let mut networks = Vec::new();
        if self.globalping_url != "none" {
            networks.push(ThirdPartyNetwork {
                kind: ThirdPartyKind::Globalping,
                base: address("globalping_url", &self.globalping_url)?,
                key: key("globalping_token", self.globalping_token.as_ref())?,
            });
        }
        if let Some(key) = key("atlas_key", self.atlas_key.as_ref())? {
            let base = address("atlas_url", &self.atlas_url)?;
            networks.push(ThirdPartyNetwork { kind: ThirdPartyKind::Atlas, base, key: Some(key) });
        }
        let (places, daily) = (self.third_party_places, self.third_party_daily);
        Ok(ThirdParties { networks: networks.into(), places, daily, dialer })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: ThirdPartyArgs,
    }

    fn networks(flags: &[&str]) -> Result<ThirdParties, Wrong> {
        let cli = Cli::try_parse_from(std::iter::once(&"x").chain(flags)).unwrap();
        cli.args.networks(net::Dialer::new(net::Settings::default()).unwrap())
    }

    #[test]
    fn a_network_is_asked_where_it_has_what_it_needs_and_keys_are_not_shown() {
        let all = networks(&[]).unwrap();
        assert_eq!((all.networks.len(), all.places, all.daily), (1, 4, 100), "Atlas needs a key");
        let all = networks(&["--atlas-key", "k-1", "--globalping-url", "none"]).unwrap();
        assert_eq!(all.networks[0].kind, ThirdPartyKind::Atlas);
        assert!(!format!("{all:?}").contains("k-1"));
        for (flag, value) in [
            ("--globalping-url", "api.globalping.io"),
            ("--globalping-url", "ftp://x/"),
            ("--globalping-token", "a b"),
        ] {
            let e = networks(&[flag, value]).unwrap_err().to_string();
            assert!(e.contains("globalping_"), "{e}");
            assert!(!e.contains("a b"), "{e}");
        }
    }
}
