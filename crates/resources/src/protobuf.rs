//! The OpenAPI 2 document in the protocol buffers form that older versions of `kubectl` ask for. Field numbers are those of
//! gnostic's `openapiv2/OpenAPIv2.proto`; what our documents do not use is left out.

use serde_json::Value;

/// A message under construction.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut n: u64) {
        while n >= 0x80 {
            self.0.push((n as u8 & 0x7f) | 0x80);
            n >>= 7;
        }
        self.0.push(n as u8);
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) -> &mut Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    fn text(&mut self, field: u64, value: &Value) -> &mut Self {
        match value.as_str() {
            Some(text) if !text.is_empty() => self.bytes(field, text.as_bytes()),
            _ => self,
        }
    }

    fn integer(&mut self, field: u64, value: &Value) -> &mut Self {
        if let Some(n) = value.as_u64().filter(|n| *n > 0) {
            self.varint(field << 3);
            self.varint(n);
        }
        self
    }

    fn truth(&mut self, field: u64, value: &Value) -> &mut Self {
        if value == true {
            self.varint(field << 3);
            self.varint(1);
        }
        self
    }

    fn message(&mut self, field: u64, inner: &Message) -> &mut Self {
        self.bytes(field, &inner.0)
    }

    /// `NamedX { name = 1, value = 2 }` for every entry of a map.
    fn named(&mut self, field: u64, map: &Value, write: fn(&Value) -> Message) -> &mut Self {
        for (name, value) in map.as_object().into_iter().flatten() {
            let mut entry = Message::default();
            entry.bytes(1, name.as_bytes()).message(2, &write(value));
            self.message(field, &entry);
        }
        self
    }

    /// Vendor extensions: what begins with `x-`, as YAML.
    fn extensions(&mut self, field: u64, value: &Value) -> &mut Self {
        for (name, value) in value.as_object().into_iter().flatten().filter(|(k, _)| k.starts_with("x-")) {
            let mut any = Message::default();
            // JSON is YAML.
            any.bytes(2, value.to_string().as_bytes());
            let mut entry = Message::default();
            entry.bytes(1, name.as_bytes()).message(2, &any);
            self.message(field, &entry);
        }
        self
    }
}

/// Encodes an OpenAPI 2 document.
pub(crate) fn document(v2: &Value) -> Vec<u8> {
    let mut info = Message::default();
    info.text(1, &v2["info"]["title"]).text(2, &v2["info"]["version"]);
    let mut paths = Message::default();
    paths.named(2, &v2["paths"], path_item);
    let mut definitions = Message::default();
    definitions.named(1, &v2["definitions"], schema);
    let mut document = Message::default();
    document.text(1, &v2["swagger"]).message(2, &info).message(8, &paths).message(9, &definitions);
    document.0
}

fn path_item(item: &Value) -> Message {
    let mut out = Message::default();
    for (field, method) in [(2, "get"), (3, "put"), (4, "post"), (5, "delete"), (8, "patch")] {
        if item.get(method).is_some() {
            out.message(field, &operation(&item[method]));
        }
    }
    out
}

fn operation(op: &Value) -> Message {
    let mut out = Message::default();
    out.text(3, &op["description"]).text(5, &op["operationId"]);
    for media in op["consumes"].as_array().into_iter().flatten() {
        out.text(7, media);
    }
    for parameter in op["parameters"].as_array().into_iter().flatten() {
        let (mut item, mut inner, mut body) = (Message::default(), Message::default(), Message::default());
        match parameter["in"].as_str() {
            Some("body") => {
                body.text(1, &parameter["description"]).text(2, &parameter["name"]).text(3, &parameter["in"]);
                body.truth(4, &parameter["required"]).message(5, &schema(&parameter["schema"]));
                inner.message(1, &body);
            }
            place => {
                // QueryParameterSubSchema and PathParameterSubSchema number their types differently.
                let (variant, kind) = if place == Some("path") { (4, 5) } else { (3, 6) };
                body.truth(1, &parameter["required"]).text(2, &parameter["in"]);
                body.text(3, &parameter["description"])
                    .text(4, &parameter["name"])
                    .text(kind, &parameter["type"]);
                let mut non_body = Message::default();
                non_body.message(variant, &body);
                inner.message(2, &non_body);
            }
        }
        item.message(1, &inner);
        out.message(8, &item);
    }
    let mut responses = Message::default();
    responses.named(1, &op["responses"], |response| {
        let (mut out, mut inner, mut item) = (Message::default(), Message::default(), Message::default());
        item.message(1, &schema(&response["schema"]));
        inner.text(1, &response["description"]).message(2, &item);
        out.message(1, &inner);
        out
    });
    out.message(9, &responses).extensions(13, op);
    out
}

fn schema(s: &Value) -> Message {
    let mut out = Message::default();
    out.text(1, &s["$ref"]).text(2, &s["format"]).text(4, &s["description"]);
    out.integer(11, &s["maxLength"]).integer(12, &s["minLength"]).integer(14, &s["maxItems"]);
    for name in s["required"].as_array().into_iter().flatten() {
        out.text(19, name);
    }
    for value in s["enum"].as_array().into_iter().flatten() {
        let mut any = Message::default();
        any.bytes(2, value.to_string().as_bytes());
        out.message(20, &any);
    }
    if s["additionalProperties"].is_object() {
        let mut item = Message::default();
        item.message(1, &schema(&s["additionalProperties"]));
        out.message(21, &item);
    }
    if s["type"].is_string() {
        let mut kind = Message::default();
        kind.text(1, &s["type"]);
        out.message(22, &kind);
    }
    if s["items"].is_object() {
        let mut item = Message::default();
        item.message(1, &schema(&s["items"]));
        out.message(23, &item);
    }
    if s["properties"].is_object() {
        let mut properties = Message::default();
        properties.named(1, &s["properties"], schema);
        out.message(25, &properties);
    }
    out.extensions(31, s);
    out
}
