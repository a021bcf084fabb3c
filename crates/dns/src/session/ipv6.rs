//! Whether IPv6 leads anywhere from this machine. In: who answered in this operation. Out: a verdict, once several root
//! servers are silent over IPv6 and nothing else has answered over it.

use super::Session;
use std::net::IpAddr;

/// Root servers that must agree before anything is concluded from them: their operators do not fail together.
pub(crate) const QUORUM: usize = 3;

pub(crate) const V6_NOWHERE: &str =
    "IPv6 servers were not asked: no root server answers over IPv6, so IPv6 leads nowhere from this machine";

impl Session {
    /// True when IPv6 packets leave this machine and none comes back: several root servers were asked over IPv6, all of
    /// them are silent, and no other IPv6 address has answered either.
    pub(crate) fn v6_leads_nowhere(&self) -> bool {
        !self.silence.any_replied(IpAddr::is_ipv6)
            && self.root_v6().filter(|ip| self.silence.is_quiet(*ip)).count() >= QUORUM
    }

    fn root_v6(&self) -> impl Iterator<Item = IpAddr> {
        let servers = self.settings.root_hints.servers().iter();
        servers.flat_map(|s| s.addresses.iter().copied()).filter(IpAddr::is_ipv6)
    }
}
