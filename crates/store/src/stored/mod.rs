//! How observations, kept states and raw answers are stored: the one place that knows.
//!
//! Each is the JSON of a model type, packed ([`pack`]) behind one octet, the *form*, that says which words the JSON
//! has. The form that is written is [`FORM`]; older ones are brought up to it here, when they are read. Rows of schemas
//! up to 16 hold plain JSON in a column of their own: form 0.
//!
//! A change that renames a field or a variant of a stored type raises [`FORM`] and adds the step from the form before to
//! [`upgrade`]. What fails otherwise: `saved::todays_words_are_the_stored_words`.

mod pack;
mod states;

pub(crate) use states::{Kept, Packed, keep, raw, snapshot};

use crate::api::{Error, Result};
use crate::codec::read_json;
use crate::db::Cells;
use model::detail::RawAnswer;
use model::dns::latency::LatencyHistory;
use model::observation::Observation;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The form that is written.
const FORM: u8 = 1;

/// JSON text in the words of a form.
pub(crate) struct Text {
    form: u8,
    json: String,
}

impl Text {
    /// Today's text of a value.
    pub(crate) fn of<T: Serialize>(value: &T) -> Result<Text> {
        Ok(Text { form: FORM, json: serde_json::to_string(value)? })
    }

    /// A kept state: the observation without the latencies of earlier looks. These are kept once, in the newest
    /// observation, and no state of the past is read for them.
    pub(crate) fn of_state(observation: &Observation) -> Result<Text> {
        let mut state = observation.clone();
        if let Some(delegation) = &mut state.delegation.value {
            delegation.latency = LatencyHistory::default();
        }
        Text::of(&state)
    }

    /// The bytes to store; with a base, little more than the difference to it.
    pub(crate) fn pack(&self, base: Option<&Text>) -> Result<Vec<u8>> {
        pack::pack(self.form, &self.json, base.map(|b| b.json.as_str()))
    }

    /// The text of stored bytes.
    fn unpack(bytes: &[u8], base: Option<&Text>) -> Result<Text> {
        let (form, json) = pack::unpack(bytes, base.map(|b| b.json.as_str()))?;
        Ok(Text { form, json })
    }

    /// The text in the columns `json`, `packed` at `at` and behind it.
    fn of_columns(r: &Cells, at: usize, base: Option<&Text>) -> Result<Text> {
        match r.bytes_or_null(at + 1)? {
            Some(bytes) => Text::unpack(&bytes, base),
            None => Ok(Text { form: 0, json: r.text(at)? }),
        }
    }

    /// The value.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T> {
        read_json(&upgrade(self.form, &self.json)?)
    }
}

/// A JSON text in today's words.
fn upgrade(form: u8, json: &str) -> Result<std::borrow::Cow<'_, str>> {
    match form {
        // The words of plain rows are those of form 1; what was renamed before has an alias in the model.
        0 | FORM => Ok(json.into()),
        newer => Err(Error::Broken(format!("a stored text has form {newer}; this program knows {FORM}"))),
    }
}

/// The observation in the columns `json`, `packed` of a row of `observations`.
pub(crate) fn observation(r: &Cells, at: usize) -> Result<Observation> {
    Text::of_columns(r, at, None)?.read()
}

/// Whether an observation holds samples of points of presence.
pub(crate) fn is_sampled(observation: &Observation) -> bool {
    observation.delegation.value.as_ref().is_some_and(|d| !d.latency.places.is_empty())
}

/// What a row of `raw_answers` holds: all answers of a state, or one of several in plain rows.
fn answers(r: &Cells, at: usize, base: Option<&Text>) -> Result<Vec<RawAnswer>> {
    let text = Text::of_columns(r, at, base)?;
    if text.form == 0 { Ok(vec![text.read()?]) } else { text.read() }
}
