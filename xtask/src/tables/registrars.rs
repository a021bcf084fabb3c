//! Registrars by IANA id.

use super::sources::{self, Source};
use super::{Counts, Input, Table, head};
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::fmt::Write;

/// One letter each: the table has thousands of rows.
const SOURCES: [Source; 2] = [
    (
        "iana-names-2026-07",
        "n",
        "IANA registrar ids, names of 2026-07-19 (whisper-sec/whisper-opencti, Apache-2.0)",
    ),
    ("iana-csv-2026-03", "c", "IANA registrar ids, registrar-ids-1.csv of 2026-03-13 (public domain)"),
];

pub fn registrars(input: &Input) -> Result<Table> {
    let mut counts = Counts::default();
    let mut rows = BTreeMap::new();
    for [id, name, status, rdap, source] in
        input.facts("registrar-ids.tsv", ["id", "name", "status", "rdap", "source"])?
    {
        let number: u32 = id.parse().with_context(|| format!("registrar id {id}"))?;
        if name.is_empty()
            || !(rdap.is_empty() || rdap.starts_with("https://") || rdap.starts_with("http://"))
        {
            bail!("registrar {id}: no name, or {rdap} is no URL");
        }
        let slash = if rdap.is_empty() || rdap.ends_with('/') { "" } else { "/" };
        let sources = sources::short(&source, &SOURCES)?;
        counts.add(sources.len());
        let status = match status.as_str() {
            "Accredited" => "A",
            "Terminated" => "T",
            "Reserved" => "R",
            "not in the older copy" => "",
            other => bail!("registrar {id}: unknown status {other}"),
        };
        let rdap = if status == "T" { String::new() } else { format!("{rdap}{slash}") };
        let row = format!("{id}\t{name}\t{status}\t{rdap}\t{}", sources.concat());
        if rows.insert(number, row).is_some() {
            bail!("registrar {id} twice");
        }
    }
    let mut text = head("Registrars by IANA registrar id.");
    text.push_str(
        "# status: A accredited, T terminated (the id is never given out again), R reserved (no company); empty: not stated.\n\
         # rdap: base URL. Names as IANA writes them.\n",
    );
    text.push_str(&sources::legend(&SOURCES));
    text.push_str("id\tname\tstatus\trdap\tsource\n");
    for row in rows.values() {
        let _ = writeln!(text, "{row}");
    }
    Ok(Table { path: "crates/registration/data/registrars.tsv", text, counts })
}
