//! Precompressed files: the server hands out FILE.br or FILE.gz beside FILE instead of compressing on every
//! request. In: a folder. Out: the two beside each file that gets smaller by it.

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};

/// How hard to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// For a bundle of the edit loop.
    Little,
    /// For a bundle that people download.
    Most,
}

/// One file and what became of it, in bytes.
#[derive(Debug)]
pub struct Done {
    /// Relative to the folder.
    pub name: PathBuf,
    /// As it is.
    pub raw: usize,
    /// As gzip.
    pub gzip: usize,
    /// As brotli.
    pub brotli: usize,
}

impl fmt::Display for Done {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, raw, gzip, brotli } = self;
        write!(formatter, "{:<58} {raw:>9} bytes  gzip {gzip:>8}  brotli {brotli:>8}", name.display())
    }
}

/// Compresses every file of a folder and its subfolders.
pub fn folder(folder: &Path, effort: Effort) -> Result<Vec<Done>> {
    let mut done = Vec::new();
    for file in files(folder)? {
        let content = std::fs::read(&file).with_context(|| format!("reading {}", file.display()))?;
        let gzip = gzip(&content, effort)?;
        let brotli = brotli(&content, effort)?;
        for (extension, compressed) in [("gz", &gzip), ("br", &brotli)] {
            if compressed.len() < content.len() {
                let mut name = file.clone().into_os_string();
                name.push(".");
                name.push(extension);
                std::fs::write(&name, compressed).with_context(|| format!("writing {}", name.display()))?;
            }
        }
        let name = file.strip_prefix(folder).unwrap_or(&file).to_owned();
        done.push(Done { name, raw: content.len(), gzip: gzip.len(), brotli: brotli.len() });
    }
    Ok(done)
}

fn gzip(content: &[u8], effort: Effort) -> Result<Vec<u8>> {
    let level = match effort {
        Effort::Little => Compression::fast(),
        Effort::Most => Compression::best(),
    };
    let mut encoder = GzEncoder::new(Vec::new(), level);
    encoder.write_all(content)?;
    Ok(encoder.finish()?)
}

fn brotli(content: &[u8], effort: Effort) -> Result<Vec<u8>> {
    let quality = match effort {
        Effort::Little => 1,
        Effort::Most => 11,
    };
    let mut out = Vec::new();
    let mut encoder = brotli::CompressorWriter::new(&mut out, 1 << 16, quality, 22);
    encoder.write_all(content)?;
    drop(encoder);
    Ok(out)
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("listing {}", folder.display()))? {
        let path = entry?.path();
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        let compressed = path.extension().is_some_and(|extension| extension == "br" || extension == "gz");
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if !hidden && !compressed {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn what_is_compressed_reads_back_and_what_would_grow_is_left_alone() {
        let root = std::env::temp_dir().join(format!("style-compress-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&root);
        std::fs::create_dir_all(root.join("deep")).expect("scratch folder");
        let text = "nameserver ".repeat(500);
        std::fs::write(root.join("deep/a.css"), &text).expect("scratch file");
        std::fs::write(root.join("tiny.txt"), "x").expect("scratch file");
        let done = folder(&root, Effort::Most).expect("compresses");
        assert_eq!(done.len(), 2);
        let mut back = String::new();
        let packed = std::fs::read(root.join("deep/a.css.gz")).expect("gzip is there");
        flate2::read::GzDecoder::new(packed.as_slice()).read_to_string(&mut back).expect("gzip reads");
        assert_eq!(back, text);
        let mut back = Vec::new();
        let packed = std::fs::read(root.join("deep/a.css.br")).expect("brotli is there");
        brotli::BrotliDecompress(&mut packed.as_slice(), &mut back).expect("brotli reads");
        assert_eq!(back, text.as_bytes());
        assert!(!root.join("tiny.txt.br").exists() && !root.join("tiny.txt.gz").exists());
        assert_eq!(
            folder(&root, Effort::Little).expect("compresses").len(),
            2,
            "compressed files were compressed again"
        );
        std::fs::remove_dir_all(&root).expect("cleanup");
    }
}
