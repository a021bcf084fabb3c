//! What every question of a look-up is asked with; shared by all look-ups of a client.

use super::bootstrap;
use super::dates::Dates;
use super::referrals::Referrals;
use super::settings::{Root, Settings};

/// Settings, the way out, budgets, and what was learnt about whom to ask.
pub(super) struct Context {
    pub settings: Settings,
    pub whois_root: Root,
    pub dialer: net::Dialer,
    pub budgets: net::Budgets,
    pub bootstrap: bootstrap::Source,
    pub referrals: Referrals,
    pub dates: Dates,
}
