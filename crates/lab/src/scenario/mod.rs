//! Scenario files: an Internet written down. In: TOML (built in, a path, or text). Out: [`Scenario`], checked.
//! Strict: a key that the lab does not know is an error that names the file and the key.

mod check;
mod hosting;
mod registry;
mod resolver;
pub mod when;

use std::path::Path;

pub use hosting::{
    Certificate, DomainConnect, FaultLine, Measurements, Provider, Server, Signing, Web, Zone,
};
pub use registry::{Bulk, Domain, Registrar, Replay, Standing, Tld, WhoisStyle};
pub use resolver::{Failing, FilterMode, Filtering, Network, Resolver, Transport};
use serde::{Deserialize, Serialize};

use crate::Error;

/// The demo: about sixty domains with a story each.
const DEMO: &str = include_str!("../../scenarios/demo.toml");
/// Three domains; for tests that start many labs.
const SMALL: &str = include_str!("../../scenarios/small.toml");

/// A whole little Internet.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Short name, shown in listings.
    pub name: String,
    /// What it is for.
    #[serde(default)]
    pub about: String,
    /// Number of root servers, at least 1.
    #[serde(default = "two")]
    pub root_servers: u8,
    /// DNS hosting companies.
    #[serde(default)]
    pub provider: Vec<Provider>,
    /// DNS servers that belong to no provider.
    #[serde(default)]
    pub server: Vec<Server>,
    /// Top-level domains and their registries.
    #[serde(default)]
    pub tld: Vec<Tld>,
    /// Registrars.
    #[serde(default)]
    pub registrar: Vec<Registrar>,
    /// Domains, registered or not.
    #[serde(default)]
    pub domain: Vec<Domain>,
    /// Zones below domains.
    #[serde(default)]
    pub zone: Vec<Zone>,
    /// Many domains at once.
    #[serde(default)]
    pub bulk: Vec<Bulk>,
    /// Faults that are not written beside what they break.
    #[serde(default)]
    pub fault: Vec<FaultLine>,
    /// Web servers with certificates of the lab's authority.
    #[serde(default)]
    pub web: Vec<Web>,
    /// Recursive resolvers with caches.
    #[serde(default)]
    pub resolver: Vec<Resolver>,
    /// Who announces which addresses, beside the networks of providers.
    #[serde(default)]
    pub origin: Vec<Network>,
    /// Recorded WHOIS answers to serve as they are.
    #[serde(default)]
    pub replay: Option<Replay>,
    /// Where this came from, for messages.
    #[serde(skip)]
    pub file: String,
}

fn two() -> u8 {
    2
}

impl Scenario {
    /// A built-in scenario: `demo` or `small`.
    ///
    /// # Errors
    /// [`Error::Scenario`] when there is none of that name.
    pub fn named(name: &str) -> Result<Self, Error> {
        let text = match name {
            "demo" => DEMO,
            "small" => SMALL,
            _ => {
                return Err(Error::Scenario {
                    file: name.into(),
                    reason: "no built-in scenario has this name; there are `demo` and `small`".into(),
                });
            }
        };
        Self::parse(text, &format!("built-in {name}"))
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`Error::File`] when it can't be read, else as [`Scenario::parse`].
    pub fn load(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path).map_err(|e| Error::file(path, e))?;
        Self::parse(&text, &path.display().to_string())
    }

    /// Reads a text; `file` is what messages call it.
    ///
    /// # Errors
    /// [`Error::Scenario`] for anything that is not TOML, for unknown keys and for references to what is not there.
    pub fn parse(text: &str, file: &str) -> Result<Self, Error> {
        let wrong = |reason: String| Error::Scenario { file: file.to_owned(), reason };
        let mut scenario: Self = toml::from_str(text).map_err(|e| wrong(e.to_string().trim().to_owned()))?;
        scenario.file = file.to_owned();
        scenario.normalise().map_err(wrong)?;
        scenario.check().map_err(wrong)?;
        Ok(scenario)
    }

    /// Adds recorded WHOIS answers: `index` has a JSON object a line with `domain`, `tld` and `raw`, the latter a path
    /// relative to `dir`.
    #[must_use]
    pub fn with_replay(
        mut self,
        dir: impl Into<std::path::PathBuf>,
        index: impl Into<std::path::PathBuf>,
    ) -> Self {
        self.replay = Some(Replay { dir: dir.into(), index: index.into() });
        self
    }
}
