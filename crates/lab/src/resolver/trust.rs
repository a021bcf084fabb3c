//! What validation of a name would find (RFC 4035 4.3). The lab knows how it signed, so nothing is verified here:
//! whether its signatures are what they should be is tested elsewhere. In: the world and a name. Out: [`Trust`].

use hickory_proto::rr::Name;

use super::answer::Extended;
use crate::{names, scenario::Signing, world::World};

const BOGUS: Extended = Extended { code: 6, text: "the signatures do not verify" };
const EXPIRED: Extended = Extended { code: 7, text: "the signatures have ended" };

/// A validator's verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    Secure,
    Insecure,
    Bogus(Extended),
}

/// The verdict on a name: the worst of all zones above it.
pub(super) fn judge(world: &World, name: &Name) -> Trust {
    let mut zone = world.zone_of_host(&names::text(name));
    let mut trust = Trust::Secure;
    while let Some(domain) = world.domains.get(&zone) {
        match domain.dnssec {
            Signing::Bogus | Signing::DsMismatch => return Trust::Bogus(BOGUS),
            Signing::Expired => return Trust::Bogus(EXPIRED),
            Signing::None | Signing::NoDs => trust = Trust::Insecure,
            _ => {}
        }
        let Some((_, above)) = zone.split_once('.') else { break };
        zone = world.zone_of_host(above);
    }
    let tld = world.tlds.get(names::tld_of(&zone));
    if tld.is_none_or(|t| matches!(t.dnssec, Signing::None | Signing::NoDs)) {
        trust = Trust::Insecure;
    }
    trust
}
