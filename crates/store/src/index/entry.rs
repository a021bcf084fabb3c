//! The entries of the list index: one small record a holding, kept sorted by name.

use std::collections::HashMap;

/// What a holding has in place of an instant that is not known.
pub(super) const NONE: i64 = i64::MIN;

/// A holding as the database gives it to the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Raw {
    pub(crate) name: String,
    pub(crate) unicode: String,
    pub(crate) owned: bool,
    pub(crate) tags: Vec<String>,
    pub(crate) status_rank: i64,
    pub(crate) expires_at: Option<i64>,
    pub(crate) registrar: Option<String>,
    pub(crate) provider: Option<String>,
    pub(crate) last_change_at: Option<i64>,
    pub(crate) last_dns_change_at: Option<i64>,
    pub(crate) modified_at: Option<i64>,
    pub(crate) certificate_ends: Option<i64>,
}

/// A holding in the index.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: Box<str>,
    /// The name with U-labels in lower case, when it differs.
    pub(super) unicode: Option<Box<str>>,
    /// Which letter groups the names have: most names a search does not match are passed over by one look.
    pub(super) signature: Signature,
    pub(super) expires: i64,
    pub(super) changed: i64,
    pub(super) dns_changed: i64,
    pub(super) modified: i64,
    pub(super) certificate_ends: i64,
    pub(super) registrar: u32,
    pub(super) provider: u32,
    pub(super) status: u8,
    pub(super) owned: bool,
    pub(super) tags: Box<[u32]>,
}

/// A Bloom filter over the three-byte groups of a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Signature([u64; 2]);

impl Signature {
    pub(super) fn of(texts: &[&str]) -> Self {
        let mut s = Signature::default();
        for text in texts {
            for w in text.as_bytes().windows(3) {
                let group = u32::from(w[0]) | u32::from(w[1]) << 8 | u32::from(w[2]) << 16;
                // Multiplicative hashing; the top seven bits choose one of 128.
                let bit = group.wrapping_mul(0x9E37_79B1) >> 25;
                s.0[(bit >> 6) as usize] |= 1 << (bit & 63);
            }
        }
        s
    }

    /// False when a text with these groups can't contain one with those of `needle`.
    pub(super) fn may_contain(self, needle: Signature) -> bool {
        self.0[0] & needle.0[0] == needle.0[0] && self.0[1] & needle.0[1] == needle.0[1]
    }
}

/// Texts by number; number 0 is the empty text, which stands for "unknown".
#[derive(Debug)]
pub(super) struct Words {
    pub(super) texts: Vec<Box<str>>,
    numbers: HashMap<Box<str>, u32>,
    /// Alphabetical place of every number: letter case last, unknown at the end.
    pub(super) places: Vec<u32>,
}

impl Words {
    pub(super) fn new() -> Self {
        Words { texts: vec!["".into()], numbers: HashMap::from([("".into(), 0)]), places: vec![0] }
    }

    fn number(&mut self, text: &str) -> u32 {
        if let Some(n) = self.numbers.get(text) {
            return *n;
        }
        let n = u32::try_from(self.texts.len()).unwrap_or(0);
        self.texts.push(text.into());
        self.numbers.insert(text.into(), n);
        n
    }

    pub(super) fn find(&self, text: &str) -> Option<u32> {
        self.numbers.get(text).copied()
    }

    /// Orders the numbers again when texts were added.
    fn arrange(&mut self) {
        if self.places.len() == self.texts.len() {
            return;
        }
        let mut order: Vec<_> =
            self.texts.iter().enumerate().map(|(i, t)| (t.is_empty(), t.to_lowercase(), t, i)).collect();
        order.sort();
        let mut places = vec![0; order.len()];
        for (place, (.., i)) in (0u32..).zip(order) {
            places[i] = place;
        }
        self.places = places;
    }
}

/// All holdings of an organisation.
#[derive(Debug)]
pub(crate) struct Entries {
    /// Sorted by name, each name once.
    pub(super) all: Vec<Entry>,
    pub(super) registrars: Words,
    pub(super) providers: Words,
    pub(super) tags: Words,
}

impl Entries {
    pub(crate) fn new() -> Self {
        Entries { all: Vec::new(), registrars: Words::new(), providers: Words::new(), tags: Words::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    fn entry(&mut self, raw: &Raw) -> Entry {
        let lower = raw.unicode.to_lowercase();
        let unicode = (lower != raw.name).then_some(lower);
        let signature = Signature::of(&[&raw.name, unicode.as_deref().unwrap_or_default()]);
        Entry {
            name: raw.name.as_str().into(),
            unicode: unicode.map(Into::into),
            signature,
            expires: raw.expires_at.unwrap_or(NONE),
            changed: raw.last_change_at.unwrap_or(NONE),
            dns_changed: raw.last_dns_change_at.unwrap_or(NONE),
            modified: raw.modified_at.unwrap_or(NONE),
            certificate_ends: raw.certificate_ends.unwrap_or(NONE),
            registrar: self.registrars.number(raw.registrar.as_deref().unwrap_or_default()),
            provider: self.providers.number(raw.provider.as_deref().unwrap_or_default()),
            status: u8::try_from(raw.status_rank).unwrap_or(u8::MAX),
            owned: raw.owned,
            tags: raw.tags.iter().map(|t| self.tags.number(t)).collect(),
        }
    }

    fn place(&self, name: &str) -> Result<usize, usize> {
        self.all.binary_search_by(|e| (*e.name).cmp(name))
    }

    /// Puts holdings in or in the place of older readings, and takes those out that are gone.
    pub(crate) fn apply(&mut self, present: &[Raw], gone: &[String]) {
        /// Up to so many new names are put in one by one; more are appended and sorted.
        const FEW: usize = 16;
        let mut new = Vec::new();
        for raw in present {
            let entry = self.entry(raw);
            match self.place(&raw.name) {
                Ok(i) => self.all[i] = entry,
                Err(_) => new.push(entry),
            }
        }
        if new.len() <= FEW {
            for entry in new {
                match self.place(&entry.name) {
                    Ok(i) => self.all[i] = entry,
                    Err(i) => self.all.insert(i, entry),
                }
            }
        } else {
            self.all.extend(new);
            // Stable, so of two readings of one name the later stands last; it is the one to keep.
            self.all.sort_by(|a, b| a.name.cmp(&b.name));
            self.all.dedup_by(|later, kept| {
                let same = later.name == kept.name;
                if same {
                    std::mem::swap(later, kept);
                }
                same
            });
        }
        if gone.len() <= FEW {
            for name in gone {
                if let Ok(i) = self.place(name) {
                    self.all.remove(i);
                }
            }
        } else {
            let gone: std::collections::HashSet<&str> = gone.iter().map(String::as_str).collect();
            self.all.retain(|e| !gone.contains(&*e.name));
        }
        self.registrars.arrange();
        self.providers.arrange();
    }
}
