//! What pages and lists are made of: rows, filters, details, timelines, the progress of a scan.

pub mod detail;
pub mod feed;
pub mod fields;
pub mod health;
pub mod inventory;
pub mod lines;
pub mod list_query;
pub mod paste;
pub mod row;
pub mod scan;
pub mod timeline;
