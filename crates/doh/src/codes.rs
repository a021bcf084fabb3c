//! Codes of DNS messages: RCODEs (RFC 1035, RFC 2136, RFC 6891) and extended errors (RFC 8914).

/// RCODEs used here.
pub(crate) mod rcode {
    pub(crate) const NOERROR: u16 = 0;
    pub(crate) const FORMERR: u16 = 1;
    pub(crate) const SERVFAIL: u16 = 2;
    pub(crate) const NXDOMAIN: u16 = 3;
    pub(crate) const NOTIMP: u16 = 4;
    pub(crate) const REFUSED: u16 = 5;
    pub(crate) const BADVERS: u16 = 16;
}

/// INFO-CODEs of extended errors (RFC 8914 section 4).
pub(crate) mod extended {
    pub(crate) const OTHER: u16 = 0;
    pub(crate) const UNSUPPORTED_ALGORITHM: u16 = 1;
    pub(crate) const STALE: u16 = 3;
    pub(crate) const INDETERMINATE: u16 = 5;
    pub(crate) const BOGUS: u16 = 6;
    pub(crate) const SIGNATURE_EXPIRED: u16 = 7;
    pub(crate) const SIGNATURE_NOT_YET_VALID: u16 = 8;
    pub(crate) const DNSKEY_MISSING: u16 = 9;
    pub(crate) const RRSIGS_MISSING: u16 = 10;
    pub(crate) const NSEC_MISSING: u16 = 12;
    pub(crate) const STALE_NXDOMAIN: u16 = 19;
    pub(crate) const NOT_AUTHORITATIVE: u16 = 20;
    pub(crate) const NOT_SUPPORTED: u16 = 21;
    pub(crate) const NO_REACHABLE_AUTHORITY: u16 = 22;
    pub(crate) const NETWORK: u16 = 23;
}

/// An extended error: its INFO-CODE and a sentence as EXTRA-TEXT.
pub(crate) type ExtendedError = (u16, String);
