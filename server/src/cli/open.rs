//! Flags of `serve` about the tools for visitors without an account, and the services that ask for them.

use crate::settings::{EngineArgs, Wrong};
use crate::wiring;
use anyhow::Result;
use clap::Args;
use model::open_tools::ToolSet;
use product::{Bounds, Services, Tools, Visitors};
use std::sync::Arc;

/// Points of one visitor a minute.
const RATE: u32 = 12;
/// Points of all visitors a minute.
const RATE_OF_ALL: u32 = 120;

/// The flags. What is left out comes from the settings file.
#[derive(Debug, Args)]
pub(super) struct OpenArgs {
    /// Tools for visitors without an account: any of scan,check,fqdn,compare,trace [default: none]
    #[arg(long, env = "DOMAINSCOPE_OPEN_TOOLS", value_name = "TOOLS")]
    open_tools: Option<ToolSet>,
    /// Origins whose pages may read and embed open tools, as in https://www.example.net
    #[arg(long, env = "DOMAINSCOPE_OPEN_ORIGINS", value_name = "ORIGIN", value_delimiter = ',')]
    open_origins: Vec<String>,
    /// Lookups per minute of visitors from one network (/24, of IPv6 /56); counted like --lookup-rate [default: 12]
    #[arg(long, env = "DOMAINSCOPE_OPEN_RATE", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    open_rate: Option<u32>,
    /// Lookups per minute of all visitors together [default: 120]
    #[arg(long, env = "DOMAINSCOPE_OPEN_RATE_ALL", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    open_rate_all: Option<u32>,
}

/// An origin as browsers send it; anything else would never match one.
fn origin(text: &str) -> Result<String, Wrong> {
    let text = text.trim();
    let wrong = || {
        Wrong(format!(
            "open_origins: “{text}” is not an origin: write scheme and host, as in https://www.example.net or \
             http://localhost:3000, without a path"
        ))
    };
    let url = url::Url::parse(text).map_err(|_| wrong())?;
    let exact = url.origin().ascii_serialization();
    if matches!(url.scheme(), "http" | "https") && exact == text { Ok(exact) } else { Err(wrong()) }
}

impl OpenArgs {
    /// The origins whose pages may read and embed open tools.
    ///
    /// # Errors
    /// [`Wrong`] for what is not an origin.
    pub(super) fn origins(&self, engine: &EngineArgs) -> Result<Vec<String>, Wrong> {
        let list = if self.open_origins.is_empty() { &engine.open_origins } else { &self.open_origins };
        list.iter().map(|text| origin(text)).collect()
    }

    /// Whether tools are named, by flag or in the settings file.
    pub(super) fn names_tools(&self, engine: &EngineArgs) -> bool {
        self.open_tools.map_or(!engine.open_tools.is_empty(), |tools| !tools.is_empty())
    }

    /// The services with the tools open that these settings name; `is_lab` when the engine asks the demo's lab.
    ///
    /// # Errors
    /// [`Wrong`] for an unknown tool, and as [`wiring::internet_for_visitors`].
    pub(super) fn open(
        &self,
        services: Services,
        engine: &EngineArgs,
        is_lab: bool,
        budgets: &net::Budgets,
    ) -> Result<Services> {
        let tools = match self.open_tools {
            Some(tools) => tools,
            None => engine
                .open_tools
                .join(",")
                .parse::<ToolSet>()
                .map_err(|e| Wrong(format!("open_tools: {e}")))?,
        };
        if tools.is_empty() {
            return Ok(services);
        }
        // The demo's lab is on this machine.
        let public = if is_lab { engine.clone() } else { wiring::public_only(engine) };
        let internet = wiring::internet_for_visitors(&public, services.store(), budgets)?;
        let rate = |flag: Option<u32>, file: Option<u32>, usual| flag.or(file).unwrap_or(usual).max(1);
        let bounds = Bounds::of_visitors(
            rate(self.open_rate, engine.open_rate, RATE),
            rate(self.open_rate_all, engine.open_rate_all, RATE_OF_ALL),
        );
        let dns = internet.engine.clone();
        let mut for_visitors = services.clone();
        for_visitors.tools =
            Tools::new(wiring::comparer(&public, &dns)?, bounds, services.tools.inspector.clone());
        for_visitors.engine = dns;
        for_visitors.scanner.observer = Arc::new(internet);
        Ok(services.with_visitors(Visitors { tools, services: for_visitors }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_what_browsers_send() {
        for good in ["https://www.example.net", "http://localhost:3000", "https://[2001:db8::1]:8443"] {
            assert_eq!(origin(good).unwrap(), good);
        }
        let wrong = [
            "*",
            "null",
            "www.example.net",
            "https://www.example.net/",
            "https://www.example.net/a",
            "https://WWW.example.net",
            "https://www.example.net:443",
            "ftp://www.example.net",
            "https://a.example;script-src *",
            "",
        ];
        for bad in wrong {
            let e = origin(bad).unwrap_err().to_string();
            assert!(e.contains("without a path") && e.contains(bad), "{bad}: {e}");
        }
    }

    #[test]
    fn private_addresses_stay_closed_to_visitors_outside_of_a_lab() {
        let allowed = EngineArgs {
            allow_private: true,
            allow_networks: vec!["10.0.0.0/8".into()],
            deny_networks: vec!["198.51.100.0/24".into()],
            web_ports: vec![8000],
            ..EngineArgs::default()
        };
        let public = wiring::public_only(&allowed);
        assert!(!public.allow_private && public.allow_networks.is_empty() && public.web_ports.is_empty());
        assert_eq!(public.deny_networks, allowed.deny_networks);
        let lab = EngineArgs { address_map: Some("map.toml".into()), ..allowed };
        assert!(wiring::public_only(&lab).allow_private);
    }
}
