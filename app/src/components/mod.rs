//! Parts of pages: each draws one idea with the classes of style/components.css.

pub(crate) mod address_claim;
pub(crate) mod area;
pub(crate) mod banner;
pub(crate) mod copy;
pub(crate) mod event_filters;
pub(crate) mod event_list;
pub(crate) mod frame;
pub(crate) mod health;
pub(crate) mod icon;
pub(crate) mod menus;
pub(crate) mod message;
pub(crate) mod negative;
pub(crate) mod pager;
pub(crate) mod palette;
pub(crate) mod scan;
pub(crate) mod skeleton;
pub(crate) mod status;
pub(crate) mod theme;
pub(crate) mod third_party;
pub(crate) mod time;
pub(crate) mod toast;
pub(crate) mod tool;
pub(crate) mod visitor;

pub(crate) use icon::{icon, icon_sm};
