//! Tables of facts about registries and registrars, shipped with the program and written by `cargo xtask tables`:
//! WHOIS and RDAP servers by suffix, encodings by server, registrars by IANA id. In: a suffix, host or id. Out: what the
//! sources named in the table say. Nothing here knows the parsers or the client.

pub(crate) mod charsets;
pub(crate) mod rdap_servers;
pub(crate) mod registrars;
#[cfg(test)]
mod tests;
pub(crate) mod whois_servers;

/// The rows of a shipped table of `N` columns: tab-separated, `#` comments and one header row passed over. A row of
/// another length is left out; a test counts them.
fn rows<const N: usize>(text: &'static str) -> impl Iterator<Item = [&'static str; N]> {
    text.lines().filter(|line| !line.starts_with('#')).skip(1).filter_map(|line| {
        let mut cells = line.split('\t');
        let mut row = [""; N];
        for slot in &mut row {
            *slot = cells.next()?;
        }
        cells.next().is_none().then_some(row)
    })
}
