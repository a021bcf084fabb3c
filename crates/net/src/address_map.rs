//! Where a closed network can't have its own addresses (a host with 127.0.0.1 only), what is dialled for an
//! address and port instead. Data about servers keeps showing the address itself.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::Path;

/// A table from what is asked for to what is dialled. Empty on the real Internet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AddressMap(HashMap<SocketAddr, SocketAddr>);

impl AddressMap {
    /// Reads a TOML file of lines `"127.1.2.3:53" = "127.0.0.1:20053"`.
    ///
    /// # Errors
    /// A sentence naming the file and the line's rule.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        text.parse::<AddressMap>().map_err(|e| format!("{}: {e}", path.display()))
    }

    /// What to dial for `target`.
    pub fn dial(&self, target: SocketAddr) -> SocketAddr {
        self.0.get(&target).copied().unwrap_or(target)
    }

    /// True when nothing is mapped.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl std::str::FromStr for AddressMap {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rows: HashMap<String, String> = toml::from_str(text).map_err(|e| e.to_string())?;
        rows.into_iter()
            .map(|(from, to)| {
                let read = |s: &str| s.parse().map_err(|_| format!("“{s}” is not ADDRESS:PORT"));
                Ok((read(&from)?, read(&to)?))
            })
            .collect::<Result<_, String>>()
            .map(AddressMap)
    }
}

impl FromIterator<(SocketAddr, SocketAddr)> for AddressMap {
    fn from_iter<T: IntoIterator<Item = (SocketAddr, SocketAddr)>>(iter: T) -> Self {
        AddressMap(iter.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_exact_pairs_and_leaves_the_rest() {
        let m: AddressMap = "\"127.1.2.3:53\" = \"127.0.0.1:20053\"".parse().unwrap();
        let a = |s: &str| s.parse::<SocketAddr>().unwrap();
        assert_eq!(m.dial(a("127.1.2.3:53")), a("127.0.0.1:20053"));
        assert_eq!(m.dial(a("127.1.2.3:54")), a("127.1.2.3:54"));
        assert!("\"x\" = \"y\"".parse::<AddressMap>().unwrap_err().contains("ADDRESS:PORT"));
    }
}
