//! Static files: the browser bundle as it was built into the binary (or from a folder, for the edit loop), immutable
//! and precompressed, and the tags that the shell puts into the head of every page.

use super::AppState;
use anyhow::{Context, Result};
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::header::{ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, VARY};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

/// The files of a bundle inside a binary.
pub type BuiltIn = &'static [(&'static str, &'static [u8])];

/// The browser bundle.
pub struct Bundle {
    files: HashMap<String, Cow<'static, [u8]>>,
    head: String,
    styles: String,
    /// The files of each part of the program.
    parts: HashMap<String, Vec<String>>,
}

impl Bundle {
    /// The bundle that was built into the binary: names below its root and contents; none are an empty bundle.
    pub fn built_in(files: BuiltIn) -> Self {
        Bundle::new(files.iter().map(|(n, b)| ((*n).to_string(), Cow::Borrowed(*b))).collect())
    }

    /// The bundle in a folder that Trunk wrote.
    ///
    /// # Errors
    /// When a file can't be read.
    pub fn folder(path: &std::path::Path) -> Result<Self> {
        fn collect(
            root: &std::path::Path,
            path: &std::path::Path,
            files: &mut HashMap<String, Cow<'static, [u8]>>,
        ) -> Result<()> {
            for entry in std::fs::read_dir(path).with_context(|| path.display().to_string())? {
                let path = entry?.path();
                if path.is_dir() {
                    collect(root, &path, files)?;
                } else {
                    let name = path.strip_prefix(root)?.to_string_lossy().replace('\\', "/");
                    files.insert(name, Cow::Owned(std::fs::read(&path)?));
                }
            }
            Ok(())
        }
        let mut files = HashMap::new();
        collect(path, path, &mut files)?;
        Ok(Bundle::new(files))
    }

    fn new(files: HashMap<String, Cow<'static, [u8]>>) -> Self {
        let head = files
            .get("index.html")
            .and_then(|b| std::str::from_utf8(b).ok())
            .map(lift_head)
            .unwrap_or_default();
        let is_style =
            |tag: &&str| ["rel=\"stylesheet\"", "rel=\"icon\""].iter().any(|rel| tag.contains(rel));
        let styles = head.split_inclusive('>').filter(is_style).collect();
        let list = files.get("parts.txt").and_then(|b| std::str::from_utf8(b).ok()).unwrap_or_default();
        let (head, parts) = parts(head, list);
        Bundle { files, head, styles, parts }
    }

    /// The tags for the head of a page that needs these parts of the program (`app::parts_of`).
    pub fn head_tags(&self, parts: &[&str]) -> String {
        let files: BTreeSet<&String> =
            parts.iter().filter_map(|part| self.parts.get(*part)).flatten().collect();
        // Without `crossorigin` the preloaded response does not match the program's `fetch`.
        let links = files.into_iter().map(|file| {
            format!(
                r#"<link rel="preload" href="/assets/{file}" as="fetch" type="application/wasm" crossorigin="anonymous">"#
            )
        });
        std::iter::once(self.head.clone()).chain(links).collect()
    }

    /// Of those the style sheets and icons: for pages that load no program.
    pub fn style_tags(&self) -> &str {
        &self.styles
    }

    /// True when there is no bundle: pages work, without script.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}

/// Adds the script that loads the parts to the head of every page, and collects the files of each part. `list` is the
/// bundle's `parts.txt`: the script's name, then a line `PART: FILE FILE …` for each part.
fn parts(head: String, list: &str) -> (String, HashMap<String, Vec<String>>) {
    let Some((script, list)) = list.split_once('\n') else { return (head, HashMap::new()) };
    let head = format!(r#"{head}<link rel="modulepreload" href="/assets/{script}">"#);
    let parts = list.lines().filter_map(|line| line.split_once(": "));
    let files = |files: &str| files.split(' ').map(str::to_string).collect();
    (head, parts.map(|(part, list)| (part.to_string(), files(list))).collect())
}

/// The scripts, preloads, style sheets and icons in the head of Trunk's page.
fn lift_head(page: &str) -> String {
    let head = page.split_once("<head>").map_or("", |(_, rest)| rest);
    let head = head.split_once("</head>").map_or(head, |(head, _)| head);
    let mut out = String::new();
    let mut rest = head;
    while let Some(start) = rest.find('<') {
        rest = &rest[start..];
        let whole_script = rest.starts_with("<script");
        let end = if whole_script {
            rest.find("</script>").map(|i| i + "</script>".len())
        } else {
            rest.find('>').map(|i| i + 1)
        };
        let Some(end) = end else { break };
        let tag = &rest[..end];
        if whole_script || tag.starts_with("<link") {
            out.push_str(tag);
        }
        rest = &rest[end..];
    }
    out
}

fn media_type(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or("") {
        "js" => "text/javascript; charset=utf-8",
        "wasm" => "application/wasm",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "html" => "text/html; charset=utf-8",
        "json" | "webmanifest" => "application/json",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

fn serve(bundle: &Bundle, name: &str, headers: &HeaderMap) -> Response {
    let Some(plain) = bundle.files.get(name) else {
        return (StatusCode::NOT_FOUND, "Not found.\n").into_response();
    };
    let accepted = headers.get(ACCEPT_ENCODING).and_then(|v| v.to_str().ok()).unwrap_or("");
    let accepts = |coding: &str| {
        accepted.split(',').any(|a| {
            let (name, weight) = a.split_once(';').unwrap_or((a, ""));
            name.trim() == coding && !matches!(weight.trim(), "q=0" | "q=0.0")
        })
    };
    let compressed = [("br", "br"), ("gzip", "gz")].into_iter().find_map(|(coding, ending)| {
        let body = accepts(coding).then(|| bundle.files.get(&format!("{name}.{ending}"))).flatten()?;
        Some((coding, body))
    });
    // Files whose name carries a hash of their content never change; the others may with the next release.
    let hashed = name.rsplit('/').next().is_some_and(|file| {
        file.split(['-', '_', '.']).any(|p| p.len() >= 12 && p.bytes().all(|b| b.is_ascii_hexdigit()))
    });
    let cache = if hashed { "public, max-age=31536000, immutable" } else { "public, max-age=300" };
    let mut response = Response::builder()
        .header(CONTENT_TYPE, media_type(name))
        .header(CACHE_CONTROL, cache)
        .header(VARY, "accept-encoding");
    let body = match compressed {
        Some((coding, body)) => {
            response = response.header(CONTENT_ENCODING, coding);
            body
        }
        None => plain,
    };
    let body = match body {
        Cow::Borrowed(b) => Body::from(*b),
        Cow::Owned(b) => Body::from(b.clone()),
    };
    response.body(body).unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
}

/// `/assets/NAME`
pub async fn file(State(state): State<AppState>, Path(name): Path<String>, headers: HeaderMap) -> Response {
    serve(&state.bundle, &name, &headers)
}

/// `/favicon.svg`, where browsers and bookmarks look for it.
pub async fn icon(State(state): State<AppState>, headers: HeaderMap) -> Response {
    serve(&state.bundle, "public/favicon.svg", &headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle() -> Bundle {
        let file = |s: &'static str| Cow::Borrowed(s.as_bytes());
        let index = "<html><head><meta charset=utf-8><link rel=\"stylesheet\" href=\"/assets/app-0123456789abcdef.css\">\
                     <script type=\"module\">import('/assets/x.js')</script></head><body></body></html>";
        Bundle::new(HashMap::from([
            ("index.html".into(), file(index)),
            ("app-0123456789abcdef.css".into(), file("a{}")),
            ("app-0123456789abcdef.css.br".into(), file("BR")),
            ("public/favicon.svg".into(), file("<svg/>")),
            ("parts.txt".into(), file("parts-01.js\nlist: a-01.wasm b-01.wasm\ntools: b-01.wasm\n")),
        ]))
    }

    #[test]
    fn the_head_keeps_links_and_scripts_only() {
        let head = bundle().head;
        assert!(head.starts_with("<link rel=\"stylesheet\"") && head.contains("</script>"), "{head}");
        assert!(!head.contains("<meta"));
    }

    #[test]
    fn a_page_preloads_its_own_parts_each_file_once() {
        let files = |parts: &[&str]| {
            let head = bundle().head_tags(parts);
            ["parts-01.js", "a-01.wasm", "b-01.wasm"].map(|file| head.matches(file).count())
        };
        assert_eq!(files(&[]), [1, 0, 0]);
        assert_eq!(files(&["list"]), [1, 1, 1]);
        assert_eq!(files(&["tools"]), [1, 0, 1]);
        assert_eq!(files(&["list", "tools"]), [1, 1, 1]);
        assert_eq!(files(&["other"]), [1, 0, 0]);
    }

    #[test]
    fn hashed_files_are_immutable_and_precompressed() {
        let b = bundle();
        let ask = |name: &str, encodings: &'static str| {
            let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, encodings.parse().unwrap())]);
            let r = serve(&b, name, &headers);
            let h = |n| r.headers().get(n).map(|v| v.to_str().unwrap().to_string());
            (r.status(), h(CONTENT_ENCODING), h(CACHE_CONTROL))
        };
        let (status, coding, cache) = ask("app-0123456789abcdef.css", "gzip, br");
        assert_eq!((status, coding.as_deref()), (StatusCode::OK, Some("br")));
        assert!(cache.unwrap().contains("immutable"));
        assert_eq!(ask("app-0123456789abcdef.css", "br;q=0").1, None);
        assert!(!ask("public/favicon.svg", "").2.unwrap().contains("immutable"));
        assert_eq!(ask("../Cargo.toml", "").0, StatusCode::NOT_FOUND);
    }
}
