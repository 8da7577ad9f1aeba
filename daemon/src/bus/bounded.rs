//! Arguments of few entries: anybody may send them, and a message of 32 MiB must take neither long nor much memory,
//! so that reading ends at the first entry that is too many.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use zbus::Type;

/// More than any method has a use for.
const MAX_ENTRIES: usize = 16;

/// An array of texts.
#[derive(Debug, Type)]
#[zbus(signature = "as")]
pub struct Texts(Vec<String>);

impl Deref for Texts {
    type Target = [String];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ArrayVisitor).map(Self)
    }
}

/// A dictionary of texts.
#[derive(Debug, Type)]
#[zbus(signature = "a{ss}")]
pub struct TextsByKey(BTreeMap<String, String>);

impl Deref for TextsByKey {
    type Target = BTreeMap<String, String>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<'de> Deserialize<'de> for TextsByKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entries = dictionary(deserializer)?;
        Ok(Self(entries.into_iter().collect()))
    }
}

/// The entries of a dictionary whose values are read like this.
pub fn dictionary<'de, V: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<(String, V)>, D::Error> {
    deserializer.deserialize_map(DictionaryVisitor(PhantomData))
}

struct ArrayVisitor;

impl<'de> Visitor<'de> for ArrayVisitor {
    type Value = Vec<String>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "at most {MAX_ENTRIES} entries")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        collect(|| seq.next_element())
    }
}

/// Values of one kind.
struct DictionaryVisitor<V>(PhantomData<V>);

impl<'de, V: Deserialize<'de>> Visitor<'de> for DictionaryVisitor<V> {
    type Value = Vec<(String, V)>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "at most {MAX_ENTRIES} entries")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        collect(|| map.next_entry())
    }
}

fn collect<T, E: Error>(mut next: impl FnMut() -> Result<Option<T>, E>) -> Result<Vec<T>, E> {
    let mut entries = Vec::new();
    while let Some(entry) = next()? {
        if entries.len() == MAX_ENTRIES {
            let sentence = format!("there are more than {MAX_ENTRIES} entries");
            return Err(E::custom(sentence));
        }
        entries.push(entry);
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use zbus::wire::{LE, serialized::Context, to_bytes};

    use super::*;

    fn read<T: serde::Serialize + Type, U: for<'de> Deserialize<'de> + Type>(
        sent: &T,
    ) -> Result<U, String> {
        let bytes = to_bytes(Context::new(LE, 0), sent).expect("encoded");
        let read = bytes.deserialize().map(|(read, _)| read);
        read.map_err(|error| error.to_string())
    }

    #[test]
    fn as_many_entries_as_there_may_be_are_read_and_one_more_is_refused() {
        for (count, is_taken) in [(0, true), (MAX_ENTRIES, true), (MAX_ENTRIES + 1, false)] {
            let texts: Vec<_> = (0..count).map(|n| n.to_string()).collect();
            let map: HashMap<_, _> = texts.iter().map(|text| (text.as_str(), "x")).collect();
            let lengths = [
                read::<_, Texts>(&texts).map(|texts| texts.len()),
                read::<_, TextsByKey>(&map).map(|map| map.len()),
            ];
            for length in lengths {
                match length {
                    Ok(length) => assert_eq!((length, is_taken), (count, true)),
                    Err(error) => assert!(error.contains("more than 16") && !is_taken, "{error}"),
                }
            }
        }
    }
}
