//! Text as deflated bytes (zlib, RFC 1950). In: a text, and perhaps a similar one that the reader will have too. Out:
//! bytes that hold the whole text, or little more than its difference to the other one, which serves as the preset
//! dictionary (RFC 1950 section 2.2).

use crate::api::{Error, Result};
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use std::cell::RefCell;

/// Longest text that is unpacked: far above any observation; a damaged length must not take all memory.
const MAX: usize = 256 << 20;
/// Octets before the deflated ones: the form and the length of the text.
const HEAD: usize = 5;

/// Packs a text of a form. `base` is what [`unpack`] has to be given again.
pub(crate) fn pack(form: u8, text: &str, base: Option<&str>) -> Result<Vec<u8>> {
    let fault = |e: &dyn std::fmt::Display| Error::Broken(format!("a text can't be packed: {e}"));
    let length = u32::try_from(text.len()).map_err(|e| fault(&e))?;
    let mut out = Vec::with_capacity(text.len() / 3 + 64);
    out.push(form);
    out.extend(length.to_be_bytes());
    ZLIB.with_borrow_mut(|zlib| {
        zlib.reset();
        if let Some(base) = base {
            zlib.set_dictionary(base.as_bytes()).map_err(|e| fault(&e))?;
        }
        loop {
            let taken = usize::try_from(zlib.total_in()).unwrap_or(usize::MAX);
            let rest = text.as_bytes().get(taken..).unwrap_or_default();
            match zlib.compress_vec(rest, &mut out, FlushCompress::Finish).map_err(|e| fault(&e))? {
                Status::StreamEnd => break,
                Status::Ok | Status::BufError => out.reserve(out.len().max(256)),
            }
        }
        Ok(out)
    })
}

thread_local! {
    /// A quarter of a megabyte that each thread allocates once.
    static ZLIB: RefCell<Compress> = RefCell::new(Compress::new(Compression::default(), true));
}

/// Form and text of what [`pack`] made with the same `base`. A wrong base or damaged bytes are an error: the stream
/// holds checksums of both texts.
pub(crate) fn unpack(bytes: &[u8], base: Option<&str>) -> Result<(u8, String)> {
    let fault = |what: &str| Error::Broken(format!("a stored text is damaged: {what}"));
    let (head, deflated) = bytes.split_at_checked(HEAD).ok_or_else(|| fault("too short"))?;
    let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
    if length > MAX {
        return Err(fault("too long"));
    }
    let mut zlib = Decompress::new(true);
    // One octet more than the text needs, so that a longer stream is noticed.
    let mut out = Vec::with_capacity(length + 1);
    loop {
        let taken = usize::try_from(zlib.total_in()).unwrap_or(usize::MAX);
        let rest = deflated.get(taken..).unwrap_or_default();
        match zlib.decompress_vec(rest, &mut out, FlushDecompress::Finish) {
            Ok(Status::StreamEnd) => break,
            Err(e) if e.needs_dictionary().is_some() => {
                let base = base.ok_or_else(|| fault("its base is missing"))?;
                zlib.set_dictionary(base.as_bytes()).map_err(|_| fault("its base is another one"))?;
            }
            _ => return Err(fault("the stream does not end")),
        }
    }
    if out.len() != length {
        return Err(fault("another length"));
    }
    Ok((head[0], String::from_utf8(out).map_err(|_| fault("not UTF-8"))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back_and_a_similar_base_leaves_little() {
        let long = |n: u64| {
            let mut x = n;
            let words = (0..20_000).map(|_| {
                x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                char::from(b'a' + (x >> 60) as u8)
            });
            words.collect::<String>()
        };
        let (one, other) = (long(1), long(2));
        for text in ["", "x", "ünï 🦀 \0", &one, &one.repeat(20)] {
            assert_eq!(unpack(&pack(1, text, None).unwrap(), None).unwrap(), (1, text.to_string()));
            let packed = pack(7, text, Some(&other)).unwrap();
            assert_eq!(unpack(&packed, Some(&other)).unwrap(), (7, text.to_string()));
        }
        let mut changed = one.clone();
        changed.replace_range(10_000..10_003, "XYZ");
        let whole = pack(1, &changed, None).unwrap().len();
        let difference = pack(1, &changed, Some(&one)).unwrap().len();
        assert!(difference * 20 < whole, "{difference} of {whole}");
    }

    #[test]
    fn a_wrong_base_and_damage_are_noticed() {
        let text = "a state of a domain, as it was".repeat(9);
        let packed = pack(1, &text, Some("a state of a domain, as it is")).unwrap();
        assert!(unpack(&packed, Some("another state")).is_err());
        assert!(unpack(&packed, None).is_err());
        for i in 0..packed.len() {
            assert!(unpack(&packed[..i], Some("a state of a domain, as it is")).is_err(), "cut at {i}");
            let mut flipped = packed.clone();
            flipped[i] ^= 0x10;
            let read = unpack(&flipped, Some("a state of a domain, as it is"));
            // The octet of the form is judged by its reader.
            assert!(read.is_err() || i == 0, "octet {i}: {read:?}");
        }
    }

    /// Bytes as they were written by the version that introduced them.
    #[test]
    fn bytes_of_the_first_version_are_read() {
        let old = data_encoding::BASE64.decode(FIRST.as_bytes()).unwrap();
        assert_eq!(
            unpack(&old, Some("{\"name\":\"a.example\"}")).unwrap(),
            (1, "{\"name\":\"b.example\"}".into())
        );
    }

    const FIRST: &str = "AQAAABR4u0XNBterhoklIcQARdgG2A==";
}
