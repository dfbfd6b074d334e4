//! Reads typed input out of JSON, and says where it does not fit.
//!
//! An error collects the steps of its path on its way out, so that reading what fits costs nothing for it, and the types
//! that are read, of which there are many, are built for one source only.

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, Error as _, Expected, IntoDeserializer as _, MapAccess,
    SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value};

/// Reads a value of this type.
pub fn read<'a, T: Deserialize<'a>>(value: &'a Value) -> Result<T, Misread> {
    T::deserialize(Source(value))
}

/// What did not fit, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misread {
    /// What is wrong.
    pub reason: String,
    /// The steps to the place, the last one first.
    path: Vec<Step>,
}

/// A step into a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// To the value of this key.
    Key(String),
    /// To the item at this place.
    Item(usize),
}

impl Misread {
    /// The steps to the place.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.path.iter().rev()
    }

    /// The place in writing, like `edits[2].path`; empty where the value as a whole is meant.
    pub fn place(&self) -> String {
        let mut place = String::new();
        for step in self.steps() {
            match step {
                Step::Key(key) if place.is_empty() => place.push_str(key),
                Step::Key(key) => place.extend([".", key]),
                Step::Item(at) => place.push_str(&format!("[{at}]")),
            }
        }
        place
    }

    /// The same, seen from one step further out.
    #[cold]
    pub fn under(mut self, step: Step) -> Self {
        self.path.push(step);
        self
    }
}

impl fmt::Display for Misread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place().as_str() {
            "" => f.write_str(&self.reason),
            place => write!(f, "{place}: {}", self.reason),
        }
    }
}

impl std::error::Error for Misread {}

impl serde::de::Error for Misread {
    #[cold]
    fn custom<T: fmt::Display>(message: T) -> Self {
        Misread {
            reason: message.to_string(),
            path: Vec::new(),
        }
    }

    #[cold]
    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        match unexpected {
            Unexpected::Unit => Self::custom(format_args!("invalid type: null, expected {expected}")),
            other => Self::custom(format_args!("invalid type: {other}, expected {expected}")),
        }
    }
}

struct Source<'a>(&'a Value);

macro_rules! only {
    ($($kind:ident: $($method:ident)*;)*) => {$($(
        fn $method<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Misread> {
            self.$kind(visitor)
        }
    )*)*};
}

impl<'a> Deserializer<'a> for Source<'a> {
    type Error = Misread;

    fn deserialize_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Misread> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(_) => self.number(visitor),
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(_) => self.seq(visitor),
            Value::Object(_) => self.map(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Misread> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'a>>(self, _: &'static str, visitor: V) -> Result<V::Value, Misread> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'a>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misread> {
        let (name, content) = match self.0 {
            Value::String(name) => (name, None),
            Value::Object(map) => match (map.iter().next(), map.len()) {
                (Some((name, content)), 1) => (name, Some(content)),
                (_, _) => return Err(Misread::invalid_value(Unexpected::Map, &"map with a single key")),
            },
            other => return Err(Misread::invalid_type(kind(other), &"string or map")),
        };
        visitor.visit_enum(Variant { name, content })
    }

    fn deserialize_ignored_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Misread> {
        visitor.visit_unit()
    }

    fn deserialize_bool<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Misread> {
        match self.0 {
            Value::Bool(value) => visitor.visit_bool(*value),
            other => Err(other_than(other, &visitor)),
        }
    }

    fn deserialize_unit<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Misread> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            other => Err(other_than(other, &visitor)),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'a>>(self, _: &'static str, visitor: V) -> Result<V::Value, Misread> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_tuple<V: Visitor<'a>>(self, _: usize, visitor: V) -> Result<V::Value, Misread> {
        self.seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'a>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Misread> {
        self.seq(visitor)
    }

    fn deserialize_struct<V: Visitor<'a>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misread> {
        self.map(visitor)
    }

    only! {
        number: deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128 deserialize_u8
            deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f32 deserialize_f64;
        text: deserialize_char deserialize_str deserialize_string deserialize_identifier;
        seq: deserialize_seq;
        map: deserialize_map;
    }

    forward_to_deserialize_any! { <V: Visitor<'a>> bytes byte_buf }
}

/// What is read as one kind of value only, so that nothing is built for the other kinds.
impl<'a> Source<'a> {
    fn number<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Misread> {
        let Value::Number(number) = self.0 else {
            return Err(other_than(self.0, &visitor));
        };
        match (number.as_u64(), number.as_i64(), number.as_f64()) {
            (Some(number), _, _) => visitor.visit_u64(number),
            (None, Some(number), _) => visitor.visit_i64(number),
            (None, None, number) => visitor.visit_f64(number.unwrap_or(f64::NAN)),
        }
    }

    fn text<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Misread> {
        match self.0 {
            Value::String(text) => visitor.visit_borrowed_str(text),
            other => Err(other_than(other, &visitor)),
        }
    }

    fn seq<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Misread> {
        let Value::Array(items) = self.0 else {
            return Err(other_than(self.0, &visitor));
        };
        let mut rest = Items { items, next: 0 };
        let value = visitor.visit_seq(&mut rest)?;
        match rest.next < items.len() {
            true => Err(Misread::invalid_length(items.len(), &"fewer elements in array")),
            false => Ok(value),
        }
    }

    fn map<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Misread> {
        let Value::Object(map) = self.0 else {
            return Err(other_than(self.0, &visitor));
        };
        let mut rest = Entries::of(map);
        let value = visitor.visit_map(&mut rest)?;
        match rest.entries.next() {
            Some(_) => Err(Misread::invalid_length(map.len(), &"fewer elements in map")),
            None => Ok(value),
        }
    }
}

#[cold]
fn other_than(value: &Value, expected: &dyn Expected) -> Misread {
    Misread::invalid_type(kind(value), expected)
}

fn kind(value: &Value) -> Unexpected<'_> {
    match value {
        Value::Null => Unexpected::Unit,
        Value::Bool(value) => Unexpected::Bool(*value),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => Unexpected::Unsigned(number),
            (None, Some(number)) => Unexpected::Signed(number),
            (None, None) => Unexpected::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => Unexpected::Str(text),
        Value::Array(_) => Unexpected::Seq,
        Value::Object(_) => Unexpected::Map,
    }
}

struct Items<'a> {
    items: &'a [Value],
    next: usize,
}

impl<'a> SeqAccess<'a> for Items<'a> {
    type Error = Misread;

    fn next_element_seed<S: DeserializeSeed<'a>>(&mut self, seed: S) -> Result<Option<S::Value>, Misread> {
        let Some(item) = self.items.get(self.next) else {
            return Ok(None);
        };
        let at = self.next;
        self.next += 1;
        let read = seed.deserialize(Source(item));
        read.map(Some).map_err(|error| error.under(Step::Item(at)))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len() - self.next)
    }
}

struct Entries<'a> {
    entries: serde_json::map::Iter<'a>,
    current: Option<(&'a String, &'a Value)>,
}

impl<'a> Entries<'a> {
    fn of(map: &'a Map<String, Value>) -> Self {
        Entries {
            entries: map.iter(),
            current: None,
        }
    }
}

impl<'a> MapAccess<'a> for Entries<'a> {
    type Error = Misread;

    fn next_key_seed<S: DeserializeSeed<'a>>(&mut self, seed: S) -> Result<Option<S::Value>, Misread> {
        self.current = self.entries.next();
        let Some((key, _)) = self.current else {
            return Ok(None);
        };
        let read = seed.deserialize(Name(key));
        read.map(Some).map_err(|error| error.under(Step::Key(key.clone())))
    }

    fn next_value_seed<S: DeserializeSeed<'a>>(&mut self, seed: S) -> Result<S::Value, Misread> {
        let Some((key, value)) = self.current.take() else {
            return Err(Misread::custom("value is missing"));
        };
        let read = seed.deserialize(Source(value));
        read.map_err(|error| error.under(Step::Key(key.clone())))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.len())
    }
}

/// A key. Where the map has numbers for keys, its text is read as one.
struct Name<'a>(&'a str);

macro_rules! number {
    ($($method:ident $visit:ident)*) => {$(
        fn $method<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Misread> {
            match self.0.parse() {
                Ok(number) => visitor.$visit(number),
                Err(_) => visitor.visit_borrowed_str(self.0),
            }
        }
    )*};
}

impl<'a> Deserializer<'a> for Name<'a> {
    type Error = Misread;

    fn deserialize_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Misread> {
        visitor.visit_borrowed_str(self.0)
    }

    fn deserialize_option<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Misread> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'a>>(self, _: &'static str, visitor: V) -> Result<V::Value, Misread> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'a>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misread> {
        visitor.visit_enum(Variant {
            name: self.0,
            content: None,
        })
    }

    number! {
        deserialize_u8 visit_u8 deserialize_u16 visit_u16 deserialize_u32 visit_u32 deserialize_u64 visit_u64
        deserialize_i8 visit_i8 deserialize_i16 visit_i16 deserialize_i32 visit_i32 deserialize_i64 visit_i64
    }

    forward_to_deserialize_any! {
        <V: Visitor<'a>>
        bool i128 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}

struct Variant<'a> {
    name: &'a str,
    content: Option<&'a Value>,
}

impl<'a> EnumAccess<'a> for Variant<'a> {
    type Error = Misread;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'a>>(self, seed: S) -> Result<(S::Value, Self), Misread> {
        let name: StrDeserializer<'_, Misread> = self.name.into_deserializer();
        Ok((seed.deserialize(name)?, self))
    }
}

impl<'a> Variant<'a> {
    fn content(&self, expected: &'static str) -> Result<&'a Value, Misread> {
        let missing = || Misread::invalid_type(Unexpected::UnitVariant, &expected);
        self.content.ok_or_else(missing)
    }

    fn under(&self, error: Misread) -> Misread {
        error.under(Step::Key(self.name.to_owned()))
    }
}

impl<'a> VariantAccess<'a> for Variant<'a> {
    type Error = Misread;

    fn unit_variant(self) -> Result<(), Misread> {
        match self.content {
            None => Ok(()),
            Some(content) => <()>::deserialize(Source(content)).map_err(|error| self.under(error)),
        }
    }

    fn newtype_variant_seed<S: DeserializeSeed<'a>>(self, seed: S) -> Result<S::Value, Misread> {
        let content = self.content("newtype variant")?;
        seed.deserialize(Source(content)).map_err(|error| self.under(error))
    }

    fn tuple_variant<V: Visitor<'a>>(self, _: usize, visitor: V) -> Result<V::Value, Misread> {
        let content = self.content("tuple variant")?;
        let read = Source(content).seq(visitor);
        read.map_err(|error| self.under(error))
    }

    fn struct_variant<V: Visitor<'a>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, Misread> {
        let content = self.content("struct variant")?;
        let read = Source(content).map(visitor);
        read.map_err(|error| self.under(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::collections::BTreeMap;

    #[derive(Debug, PartialEq, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Edits {
        path: String,
        #[serde(default)]
        edits: Vec<Edit>,
        mode: Option<Mode>,
        #[serde(default)]
        numbered: BTreeMap<u16, f32>,
    }

    #[derive(Debug, PartialEq, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Edit {
        line: u8,
    }

    #[derive(Debug, PartialEq, serde::Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Mode {
        Whole,
        Part(u32),
        Named { name: String },
    }

    /// What is read must be what serde_json reads, but for a list in the place of a struct.
    fn check(input: Value) {
        let expected = serde_json::from_value::<Edits>(input.clone()).map_err(|error| error.to_string());
        let read = read::<Edits>(&input).map_err(|error| error.reason);
        assert_eq!(read, expected, "{input}");
    }

    #[test]
    fn everything_is_read_as_serde_json_reads_it() {
        let modes = [
            json!("whole"),
            json!({"whole": null}),
            json!({"part": 7}),
            json!({"named": {"name": "x"}}),
            json!("part"),
            json!({"part": "x"}),
            json!({"named": {}}),
            json!({"a": 1, "b": 2}),
            json!("other"),
            json!(5),
            json!(null),
        ];
        for mode in modes {
            check(json!({"path": "a", "mode": mode}));
        }
        check(json!({"path": "a", "edits": [{"line": 1}, {"line": 255}], "numbered": {"5": 1, "6": 0.5, "7": -1}}));
        check(json!({"path": "a", "edits": [{"line": 256}]}));
        check(json!({"path": "a", "edits": [{"line": -1}]}));
        check(json!({"path": "a", "edits": [{"line": null}]}));
        check(json!({"path": "a", "edits": {"line": 1}}));
        check(json!({"path": 1.5}));
        check(json!({"path": "a", "pfad": 1}));
        check(json!({"edits": []}));
        check(json!("a"));
        check(json!({"path": "a", "edits": "b"}));
        check(json!({"path": "a", "edits": [1]}));
        check(json!({"path": "a", "edits": [{"line": true}]}));
        check(json!({"path": "a", "numbered": []}));
        check(json!({"path": ["a"]}));
        check(json!({"path": null}));
    }

    #[test]
    fn a_list_is_no_struct() {
        let wrong = read::<Edits>(&json!(["a", [], null, {}])).map_err(|error| error.reason);
        assert_eq!(wrong, Err("invalid type: sequence, expected struct Edits".to_owned()));
    }

    #[test]
    fn the_place_of_a_mistake_is_told() {
        for (input, place) in [
            (json!({"path": 5}), "path"),
            (
                json!({"path": "a", "edits": [{"line": 1}, {"line": "x"}]}),
                "edits[1].line",
            ),
            (json!({"path": "a", "edits": [{"lien": 1}]}), "edits[0].lien"),
            (json!({"path": "a", "mode": {"named": {"name": 1}}}), "mode.named.name"),
            (json!({"path": "a", "numbered": {"x": 1}}), "numbered.x"),
            (json!({}), ""),
        ] {
            assert_eq!(
                read::<Edits>(&input).map_err(|error| error.place()),
                Err(place.to_owned())
            );
        }
    }
}
