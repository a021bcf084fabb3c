//! Registrars by IANA registrar id, from `data/registrars.tsv`. The names are IANA's; an id that IANA reserved names no
//! company.

use std::sync::LazyLock;

pub(super) const TEXT: &str = include_str!("../../data/registrars.tsv");

struct Registrar {
    id: u32,
    name: &'static str,
    reserved: bool,
    rdap: &'static str,
}

/// Sorted by id.
static REGISTRARS: LazyLock<Vec<Registrar>> = LazyLock::new(|| {
    let mut all: Vec<Registrar> = super::rows(TEXT)
        .filter_map(|[id, name, status, rdap, _source]| {
            Some(Registrar { id: id.parse().ok()?, name, reserved: status == "R", rdap })
        })
        .collect();
    all.sort_by_key(|r| r.id);
    all
});

fn find(iana_id: &str) -> Option<&'static Registrar> {
    let id: u32 = iana_id.trim().parse().ok()?;
    let at = REGISTRARS.binary_search_by_key(&id, |r| r.id).ok()?;
    REGISTRARS.get(at).filter(|r| !r.reserved)
}

/// IANA's name of the registrar with this id; `None` for an id that is unknown or reserved.
pub fn registrar_name(iana_id: &str) -> Option<&'static str> {
    find(iana_id).map(|r| r.name)
}

/// The RDAP base URL of the registrar with this id, with a final slash, where IANA states one.
pub fn registrar_rdap(iana_id: &str) -> Option<&'static str> {
    find(iana_id).map(|r| r.rdap).filter(|url| !url.is_empty())
}
