//! Bodies: JSON or YAML in, JSON, YAML, a table or metadata alone out, as the client accepts.

use crate::failure::Failure;
use crate::kind::Column;
use crate::repeated;
use crate::table::{Include, table};
use jiff::Timestamp;
use serde_json::{Value, json};

/// Longest body that is read, octets.
pub const BODY_MAX: usize = 3 << 20;
/// Objects and lists within each other, in a body and in what a patch makes of an object.
pub(crate) const DEPTH_MAX: usize = 64;

/// Values of a YAML text, those that aliases stand for included.
const NODES_MAX: usize = 100_000;

/// Media types of YAML.
const YAML: [&str; 4] = ["application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"];

/// Reads a body as one value.
pub(crate) fn read(body: &[u8], content_type: &str) -> Result<Value, Failure> {
    read_noting(body, content_type).map(|(value, _)| value)
}

/// Reads a body as one value, and the paths of keys that an object of it has more than once; the last of them counts. In
/// YAML such keys are an error.
pub(crate) fn read_noting(body: &[u8], content_type: &str) -> Result<(Value, Vec<String>), Failure> {
    if body.len() > BODY_MAX {
        return Err(Failure::body_too_large(Some(body.len())));
    }
    let media = media_type(content_type);
    if YAML.contains(&media.as_str()) {
        let text = std::str::from_utf8(body).map_err(|_| Failure::bad_body("the body is not UTF-8"))?;
        return Ok((yaml(text)?, Vec::new()));
    }
    // Without a media type it is JSON, as API servers have it.
    if !media.is_empty() && media != "application/json" {
        let shown: String = media.chars().take(100).collect();
        let message = format!(
            "the body of the request was in an unknown format ({shown:?}) - accepted media types include: application/json, \
             application/yaml"
        );
        return Err(Failure::new(415, "UnsupportedMediaType", message));
    }
    repeated::read(body).map_err(|e| Failure::bad_body(format!("the body is not JSON that is accepted: {e}")))
}

/// Reads YAML. What aliases stand for counts each time, so that a few lines can't become gigabytes.
fn yaml(text: &str) -> Result<Value, Failure> {
    let options = serde_saphyr::options! {
        with_snippet: false,
        budget: serde_saphyr::budget! {
            max_depth: DEPTH_MAX,
            max_nodes: NODES_MAX,
            max_events: 2 * NODES_MAX,
            max_total_scalar_bytes: BODY_MAX,
            max_recorded_anchor_bytes: BODY_MAX,
        },
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|e| {
        Failure::bad_body(format!("the body is not YAML that is accepted: {}", first_line(&e.to_string())))
    })
}

/// The first line of a text, as much of it as a message needs: it may repeat a key of the body.
fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(200).collect()
}

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Json,
    Yaml,
    /// YAML as plain text, for a browser to show.
    Text,
    /// A table in the `meta.k8s.io` version that was asked for.
    Table(&'static str),
    /// Metadata alone.
    Partial,
}

impl Form {
    /// True where the answer is written as YAML.
    pub(crate) fn is_yaml(self) -> bool {
        matches!(self, Form::Yaml | Form::Text)
    }

    /// The `Content-Type` of an answer.
    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Form::Yaml => "application/yaml",
            Form::Text => "text/plain; charset=utf-8",
            Form::Json | Form::Table(_) | Form::Partial => "application/json",
        }
    }
}

/// The media type of a `Content-Type` without its parameters, in lower case: it compares without regard to case (RFC 9110,
/// section 8.3.1).
pub(crate) fn media_type(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or("").trim().to_ascii_lowercase()
}

/// True for the parameter `q=0` of a range: what the client does not accept (RFC 9110, section 12.4.2).
fn is_refused(parameter: &str) -> bool {
    let Some((name, weight)) = parameter.split_once('=') else { return false };
    name.trim().eq_ignore_ascii_case("q") && weight.trim().parse() == Ok(0.0_f32)
}

/// The first form of an `Accept` header that can be produced: JSON without a header, `None` when there is none.
pub(crate) fn form(accept: &str) -> Option<Form> {
    if accept.trim().is_empty() {
        return Some(Form::Json);
    }
    for range in accept.split(',') {
        let mut parts = range.split(';').map(str::trim);
        let media = media_type(parts.next().unwrap_or(""));
        let parameters: Vec<_> = parts.collect();
        if parameters.iter().any(|p| is_refused(p)) {
            continue;
        }
        let has = |p: &str| parameters.contains(&p);
        match media.as_str() {
            "application/json" => {}
            "*/*" | "application/*" => return Some(Form::Json),
            "text/html" | "text/plain" | "text/*" => return Some(Form::Text),
            media if YAML.contains(&media) => return Some(Form::Yaml),
            _ => continue,
        }
        if has("as=Table") && has("g=meta.k8s.io") {
            return Some(Form::Table(if has("v=v1beta1") { "v1beta1" } else { "v1" }));
        }
        if has("as=PartialObjectMetadata") || has("as=PartialObjectMetadataList") {
            return Some(Form::Partial);
        }
        if !parameters.iter().any(|p| p.starts_with("as=")) {
            return Some(Form::Json);
        }
    }
    None
}

/// The metadata of an object or of the objects of a list.
pub(crate) fn partial(object: &Value) -> Value {
    let meta = |o: &Value, kind: &str| json!({ "kind": kind, "apiVersion": "meta.k8s.io/v1", "metadata": o["metadata"] });
    let Some(items) = object["items"].as_array() else { return meta(object, "PartialObjectMetadata") };
    let mut list = meta(object, "PartialObjectMetadataList");
    list["items"] = items.iter().map(|o| meta(o, "PartialObjectMetadata")).collect();
    list
}

/// An object or a list with columns, in the form that was asked for.
pub(crate) fn shaped(value: Value, form: Form, columns: &[Column], include: Include) -> Value {
    match form {
        Form::Table(version) => table(columns, &value, version, include, Timestamp::now()),
        Form::Partial => partial(&value),
        Form::Json | Form::Yaml | Form::Text => value,
    }
}

/// The bytes of an answer and their media type.
pub(crate) fn write(value: &Value, form: Form) -> (Vec<u8>, &'static str) {
    if form.is_yaml()
        && let Ok(text) = serde_saphyr::to_string(value)
    {
        return (text.into_bytes(), form.media_type());
    }
    let mut bytes = serde_json::to_vec(value).unwrap_or_default();
    bytes.push(b'\n');
    (bytes, "application/json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_form_that_can_be_produced_is_taken() {
        for (accept, expected) in [
            ("", Form::Json),
            ("*/*", Form::Json),
            ("application/json", Form::Json),
            ("application/yaml", Form::Yaml),
            ("text/html,application/xhtml+xml,*/*;q=0.8", Form::Text),
            (
                "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json",
                Form::Table("v1"),
            ),
            ("application/json;as=Table;v=v1beta1;g=meta.k8s.io, application/json", Form::Table("v1beta1")),
            ("application/vnd.kubernetes.protobuf,application/json", Form::Json),
            ("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", Form::Partial),
            ("application/json;stream=watch", Form::Json),
            ("application/xml, application/*;q=0.1", Form::Json),
            ("text/x-yaml", Form::Yaml),
            ("Application/YAML", Form::Yaml),
            ("application/yaml;q=0, Application/JSON; Q=0.5", Form::Json),
            ("application/json;as=Table;v=v1;g=meta.k8s.io;q=0.000, */*", Form::Json),
        ] {
            assert_eq!(form(accept), Some(expected), "{accept}");
        }
        for accept in [
            "application/xml",
            "application/vnd.kubernetes.protobuf",
            "image/*",
            "application/json;as=Graph",
            "*/*;q=0",
        ] {
            assert_eq!(form(accept), None, "{accept}");
        }
    }

    #[test]
    fn bodies_that_cannot_be_read_say_why() {
        for media in ["application/yaml", "Text/X-YAML; charset=utf-8"] {
            let yaml = read(b"kind: Domain\nspec: { name: q7.io }\n", media).unwrap();
            assert_eq!(yaml["spec"]["name"], "q7.io");
        }
        let nested = "[".repeat(100_000);
        // 9 levels of 9 aliases each: 387 million values.
        let level = |n: usize| format!("l{n}: &l{n} [{}]\n", vec![format!("*l{}", n - 1); 9].join(","));
        let many: String = (1..10).map(level).collect();
        let many = format!("l0: &l0 [x,x,x,x,x,x,x,x,x]\n{many}");
        // A text of 1 MB, ten thousand times.
        let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(1 << 20), vec!["*a"; 10_000].join(","));
        // A key of 1 MB, twice.
        let keys = format!("? {0}\n: 1\n? {0}\n: 2\n", "k".repeat(1 << 20));
        for (body, media, code, words) in [
            (&b"{"[..], "application/json", 400, "is not JSON"),
            (keys.as_bytes(), "application/yaml", 400, "is not YAML"),
            (b"a: [", "application/yaml", 400, "is not YAML"),
            (nested.as_bytes(), "application/json", 400, "64 levels deep"),
            (nested.as_bytes(), "application/yaml", 400, "is not YAML"),
            (many.as_bytes(), "application/yaml", 400, "is not YAML"),
            (long.as_bytes(), "application/yaml", 400, "is not YAML"),
            (b"{}", "application/vnd.kubernetes.protobuf", 415, "application/json, application/yaml"),
            (b"{}", "application/x-www-form-urlencoded", 415, "application/json, application/yaml"),
            (b"{}", "application/xml; charset=utf-8", 415, "application/json, application/yaml"),
            (&vec![b' '; BODY_MAX + 1], "application/json", 413, "the limit is 3145728"),
        ] {
            let began = std::time::Instant::now();
            let e = read(body, media).unwrap_err();
            assert_eq!(e.code, code);
            assert!(e.message.contains(words) && e.message.len() < 500, "{}", e.message);
            assert!(code == 415 || e.details["causes"][0]["field"] == "body", "{e:?}");
            assert!(began.elapsed() < std::time::Duration::from_secs(20), "{media}: {:?}", began.elapsed());
        }
    }
}
