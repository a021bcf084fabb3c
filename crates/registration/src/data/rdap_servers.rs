//! RDAP servers by TLD, from `data/rdap-servers.tsv`.

pub(super) const TEXT: &str = include_str!("../../data/rdap-servers.tsv");

/// One TLD's RDAP server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RdapServer {
    /// The TLD, in A-labels.
    pub tld: &'static str,
    /// Base URL.
    pub url: &'static str,
    /// Whether IANA's bootstrap file lists it.
    pub listed: bool,
}

/// All TLDs with an RDAP server.
pub(crate) fn all() -> impl Iterator<Item = RdapServer> {
    super::rows::<4>(TEXT).filter(|[_, url, ..]| *url != "-").map(|[tld, url, listed, _source]| RdapServer {
        tld,
        url,
        listed: listed == "yes",
    })
}
