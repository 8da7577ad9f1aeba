//! The options of a method, `a{sv}`, as far as they are read: anybody may send them, and a message of 32 MiB must take
//! neither long nor much memory.

use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use zbus::{OwnedVariant, Signature, Type};

use super::bounded;

/// By their keys; every value is a truth value, a number or a text.
#[derive(Type)]
#[zbus(signature = "a{sv}")]
pub struct Options(HashMap<String, OwnedVariant>);

impl Deref for Options {
    type Target = HashMap<String, OwnedVariant>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Options {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entries = bounded::dictionary::<Value, D>(deserializer)?;
        let options = entries.into_iter().map(|(key, value)| (key, value.0));
        Ok(Self(options.collect()))
    }
}

/// One value.
struct Value(OwnedVariant);

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor).map(Self)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = OwnedVariant;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a truth value, a number or a text")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<OwnedVariant, A::Error> {
        let missing = || Error::custom("an option has no value");
        let signature: Signature = seq.next_element()?.ok_or_else(missing)?;
        let value = match signature {
            Signature::Bool => seq.next_element::<bool>()?.map(OwnedVariant::from),
            Signature::U8 => seq.next_element::<u8>()?.map(OwnedVariant::from),
            Signature::I16 => seq.next_element::<i16>()?.map(OwnedVariant::from),
            Signature::U16 => seq.next_element::<u16>()?.map(OwnedVariant::from),
            Signature::I32 => seq.next_element::<i32>()?.map(OwnedVariant::from),
            Signature::U32 => seq.next_element::<u32>()?.map(OwnedVariant::from),
            Signature::I64 => seq.next_element::<i64>()?.map(OwnedVariant::from),
            Signature::U64 => seq.next_element::<u64>()?.map(OwnedVariant::from),
            Signature::F64 => seq.next_element::<f64>()?.map(OwnedVariant::from),
            Signature::Str => {
                let text = seq.next_element::<String>()?;
                text.map(|text| zbus::Str::from(text).into())
            }
            // What follows is not read: an array of bytes would become as many values.
            _ => {
                return Err(Error::custom(
                    "an option is a truth value, a number or a text",
                ));
            }
        };
        value.ok_or_else(missing)
    }
}
