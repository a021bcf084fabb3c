//! What the labels of an answer state, values still as text. In: pushes of the walk; out: values by field and rank.

use crate::whois::values::fields;
use crate::whois::vocabulary::tables::{Field, Order};

/// A value as it stands, with the rank of its label.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Value<'a> {
    pub rank: u8,
    pub label: &'a str,
    pub text: &'a str,
}

/// What the labels of an answer state.
#[derive(Default)]
pub(crate) struct Facts<'a> {
    pub values: Vec<(Field, Value<'a>)>,
    pub names: Vec<&'a str>,
    pub hosts: Vec<String>,
    /// Labelled lines with a short value: an answer about a name has several.
    pub labelled: usize,
    /// The order of day and month that a remark states.
    pub order: Option<Order>,
}

impl<'a> Facts<'a> {
    pub fn all(&self, field: Field) -> impl Iterator<Item = Value<'a>> + '_ {
        self.values.iter().filter(move |(f, _)| *f == field).map(|(_, v)| *v)
    }

    /// The values of a field, the most believed label first.
    pub fn ranked(&self, field: Field) -> Vec<Value<'a>> {
        let mut all: Vec<Value<'a>> = self.all(field).collect();
        all.sort_by_key(|v| v.rank);
        all
    }

    pub fn has(&self, field: Field) -> bool {
        self.values.iter().any(|(f, _)| *f == field)
    }

    /// Keeps a name the answer states; records list a few variants, not hundreds.
    pub fn name(&mut self, name: &'a str) {
        if self.names.is_empty() {
            // A change told before anything is named may be the database's: one told later is believed more.
            for (_, v) in self.values.iter_mut().filter(|(f, _)| *f == Field::Updated) {
                v.rank = v.rank.max(9);
            }
        }
        if self.names.len() < 64 {
            self.names.push(name);
        }
    }

    pub fn push(&mut self, field: Field, rank: u8, label: &'a str, text: &'a str) {
        if self.values.len() > 4000 {
            return;
        }
        match field {
            Field::Nameserver => fields::hosts(text, &mut self.hosts),
            Field::Domain => self.name(text),
            _ => self.values.push((field, Value { rank, label, text })),
        }
    }
}

impl Facts<'_> {
    /// True when anything beside the name was stated; empty fields state nothing.
    pub fn has_content(&self) -> bool {
        !self.hosts.is_empty() || self.values.iter().any(|(_, v)| fields::stated(v.text).is_some())
    }
}
