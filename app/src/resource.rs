//! Data that a page waits for. As leptos' own resources, but decoded by [`service::json`], as answers of server
//! functions are: with two decoders, the code of every type would be in the bundle twice.

use leptos::prelude::*;
use leptos::server::codee::{Decoder, Encoder};
use leptos::task::spawn_local;
use serde::Serialize;
use serde::de::DeserializeOwned;
use service::json;

/// The encoding of [`JsonResource`].
#[derive(Debug)]
pub(crate) struct JsonBytes;

/// A resource whose value travels as JSON within the page.
pub(crate) type JsonResource<T> = Resource<T, JsonBytes>;

impl<T: Serialize> Encoder<T> for JsonBytes {
    type Error = serde_json::Error;
    type Encoded = String;

    fn encode(value: &T) -> Result<String, serde_json::Error> {
        serde_json::to_string(value)
    }
}

impl<T: DeserializeOwned> Decoder<T> for JsonBytes {
    type Error = json::Unreadable;
    type Encoded = str;

    fn decode(text: &str) -> Result<T, json::Unreadable> {
        json::from_slice(text.as_bytes())
    }
}

/// As [`Resource::new`].
pub(crate) fn json_resource<S, T, Fut>(
    source: impl Fn() -> S + Send + Sync + 'static,
    fetcher: impl Fn(S) -> Fut + Send + Sync + 'static,
) -> JsonResource<T>
where
    S: PartialEq + Clone + Send + Sync + 'static,
    T: Serialize + DeserializeOwned + Send + Sync + 'static,
    Fut: Future<Output = T> + Send + 'static,
{
    Resource::new_with_options(source, fetcher, false)
}

/// Data that the running page loads by itself; `None` until they are there. The server does not wait for them: what is
/// slow to come keeps no page from being sent.
pub(crate) fn late<T, Fut>(fetch: impl Fn() -> Fut + 'static) -> RwSignal<Option<T>>
where
    T: Send + Sync + 'static,
    Fut: Future<Output = T> + 'static,
{
    let data = RwSignal::new(None);
    // Effects run in the browser only.
    Effect::new(move |_| {
        let coming = fetch();
        spawn_local(async move {
            let value = coming.await;
            // The page may be gone by now.
            data.try_set(Some(value));
        });
    });
    data
}
