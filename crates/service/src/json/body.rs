//! The encoding of server functions: JSON, read by [`from_slice`].

use super::{Unreadable, from_slice};
use serde::Serialize;
use serde::de::DeserializeOwned;
use server_fn::{Bytes, ContentType, Decodes, Encodes, Format, FormatType};

/// The encoding of server functions: JSON, read by [`from_slice`].
pub struct JsonBody;

/// JSON in the bodies of a `POST` request and its answer, for `#[server(output = …)]`.
pub type Json = server_fn::codec::Post<JsonBody>;

impl ContentType for JsonBody {
    const CONTENT_TYPE: &'static str = "application/json";
}

impl FormatType for JsonBody {
    const FORMAT_TYPE: Format = Format::Text;
}

impl<T: Serialize> Encodes<T> for JsonBody {
    type Error = serde_json::Error;

    fn encode(value: &T) -> Result<Bytes, serde_json::Error> {
        serde_json::to_vec(value).map(Bytes::from)
    }
}

impl<T: DeserializeOwned> Decodes<T> for JsonBody {
    type Error = Unreadable;

    fn decode(bytes: Bytes) -> Result<T, Unreadable> {
        from_slice(&bytes)
    }
}
