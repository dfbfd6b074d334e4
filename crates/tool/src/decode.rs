//! Deserializes typed input from JSON and reports the path of an error.
//!
//! An error collects its path while it propagates, so that valid input costs nothing extra. The many input types are
//! compiled for this deserializer only.

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{
    Deserialize, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error as _, Expected,
    IntoDeserializer as _, MapAccess, SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value};

use crate::registry::fold_name;

/// Deserializes a value.
pub fn decode<'a, T: Deserialize<'a>>(value: &'a Value) -> Result<T, InputDecodeError> {
    T::deserialize(ValueDeserializer(value, Strictness::Exact))
}

/// Deserializes the input of a call. Values that can have only one meaning are accepted: empty optional arguments, fields
/// in another spelling, `"10"` for 10 and `"true"` for true.
pub(crate) fn decode_call<T: DeserializeOwned>(value: &Value) -> Result<T, InputDecodeError> {
    T::deserialize(ValueDeserializer(value, Strictness::Tolerant)).or_else(|error| match error.is_repeated {
        true => decode_merged(value, error),
        false => Err(error),
    })
}

/// Decodes input that has an argument under two names, such as `path` and `file_path`, if the values are equal. `error`
/// names the second.
#[cold]
fn decode_merged<T: DeserializeOwned>(value: &Value, error: InputDecodeError) -> Result<T, InputDecodeError> {
    let Some((PathSegment::Key(second), parents)) = error.path.split_first() else {
        return Err(error);
    };
    let mut reduced = value.clone();
    let Some(object) = object_at(&mut reduced, parents) else {
        return Err(error);
    };
    let is_same_argument = |name: &String| {
        let mut both = value.clone();
        if let Some(object) = object_at(&mut both, parents) {
            object.retain(|key, _| key == name || key == second);
        }
        let read = T::deserialize(ValueDeserializer(&both, Strictness::Tolerant));
        read.is_err_and(|other| other.is_repeated && other.path == error.path)
    };
    let first = object
        .keys()
        .find(|name| *name != second && is_same_argument(name))
        .cloned();
    let Some(first) = first else {
        return Err(error);
    };
    if object.get(&first) != object.get(second) {
        return Err(InputDecodeError {
            path: parents.to_vec(),
            ..InputDecodeError::custom(format_args!(
                "`{first}` and `{second}` are names of one argument, and their values differ"
            ))
        });
    }
    object.shift_remove(second);
    decode_call(&reduced)
}

/// The object at a path, whose segments are ordered from the innermost.
fn object_at<'a>(value: &'a mut Value, path: &[PathSegment]) -> Option<&'a mut Map<String, Value>> {
    let value = path.iter().rev().try_fold(value, |value, segment| match segment {
        PathSegment::Key(key) => value.get_mut(key),
        PathSegment::Item(at) => value.get_mut(at),
    });
    value?.as_object_mut()
}

/// Whether values of another form are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Strictness {
    Exact,
    Tolerant,
}

/// A value of the wrong type, and its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputDecodeError {
    /// The problem.
    pub reason: String,
    /// The path segments, innermost first.
    path: Vec<PathSegment>,
    /// Whether a field is given twice; the path ends with its second name.
    is_repeated: bool,
}

/// A segment of a path into a JSON value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathSegment {
    /// An object key.
    Key(String),
    /// An array index.
    Item(usize),
}

impl InputDecodeError {
    /// The path segments, outermost first.
    pub fn steps(&self) -> impl Iterator<Item = &PathSegment> {
        self.path.iter().rev()
    }

    /// The path as text, like `edits[2].path`; empty for the value itself.
    pub fn path(&self) -> String {
        let mut path = String::new();
        for step in self.steps() {
            match step {
                PathSegment::Key(key) if path.is_empty() => path.push_str(key),
                PathSegment::Key(key) => path.extend([".", key]),
                PathSegment::Item(at) => path.push_str(&format!("[{at}]")),
            }
        }
        path
    }

    /// Prepends the parent's segment.
    #[cold]
    pub fn with_parent(mut self, step: PathSegment) -> Self {
        self.path.push(step);
        self
    }
}

impl fmt::Display for InputDecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path().as_str() {
            "" => f.write_str(&self.reason),
            path => write!(f, "{path}: {}", self.reason),
        }
    }
}

impl std::error::Error for InputDecodeError {}

impl serde::de::Error for InputDecodeError {
    #[cold]
    fn custom<T: fmt::Display>(message: T) -> Self {
        InputDecodeError {
            reason: message.to_string(),
            path: Vec::new(),
            is_repeated: false,
        }
    }

    #[cold]
    fn duplicate_field(field: &'static str) -> Self {
        InputDecodeError {
            is_repeated: true,
            ..Self::custom(format_args!("duplicate field `{field}`"))
        }
    }

    #[cold]
    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let found = match unexpected {
            Unexpected::Unit => "null".to_owned(),
            Unexpected::Map => "object".to_owned(),
            Unexpected::Seq => "list".to_owned(),
            other => other.to_string(),
        };
        let expected = json_term(&expected.to_string());
        Self::custom(format_args!("invalid type: {found}, expected {expected}"))
    }
}

/// The JSON term for what a Rust type expects.
fn json_term(expected: &str) -> String {
    match expected {
        "a sequence" => "a list".to_owned(),
        "a map" => "an object".to_owned(),
        "usize" | "u8" | "u16" | "u32" | "u64" | "isize" | "i8" | "i16" | "i32" | "i64" => "an integer".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        other if other.starts_with("struct ") => "an object".to_owned(),
        other => other.to_owned(),
    }
}

struct ValueDeserializer<'a>(&'a Value, Strictness);

macro_rules! only {
    ($($kind:ident: $($method:ident)*;)*) => {$($(
        fn $method<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, InputDecodeError> {
            self.$kind(visitor)
        }
    )*)*};
}

impl<'a> Deserializer<'a> for ValueDeserializer<'a> {
    type Error = InputDecodeError;

    fn deserialize_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, InputDecodeError> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(_) => self.number(visitor),
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(_) => self.seq(visitor),
            Value::Object(_) => self.map(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, InputDecodeError> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            // Models fill in optional arguments that they do not need.
            Value::String(text) if text.is_empty() && self.is_tolerant() => visitor.visit_none(),
            Value::Array(items) if items.is_empty() && self.is_tolerant() => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'a>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, InputDecodeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'a>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, InputDecodeError> {
        let (name, content) = match self.0 {
            Value::String(name) => (name, None),
            Value::Object(map) => match (map.iter().next(), map.len()) {
                (Some((name, content)), 1) => (name, Some(content)),
                (_, _) => {
                    return Err(InputDecodeError::invalid_value(
                        Unexpected::Map,
                        &"map with a single key",
                    ));
                }
            },
            other => return Err(InputDecodeError::invalid_type(kind(other), &"string or map")),
        };
        visitor.visit_enum(EnumVariantAccess {
            name,
            content,
            strictness: self.1,
        })
    }

    fn deserialize_ignored_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, InputDecodeError> {
        visitor.visit_unit()
    }

    fn deserialize_bool<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, InputDecodeError> {
        match self.0 {
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::String(text) if self.is_tolerant() => match text.trim() {
                "true" | "True" => visitor.visit_bool(true),
                "false" | "False" => visitor.visit_bool(false),
                _ => Err(other_than(self.0, &visitor)),
            },
            other => Err(other_than(other, &visitor)),
        }
    }

    fn deserialize_unit<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, InputDecodeError> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            other => Err(other_than(other, &visitor)),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'a>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, InputDecodeError> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_tuple<V: Visitor<'a>>(self, _: usize, visitor: V) -> Result<V::Value, InputDecodeError> {
        self.seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'a>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, InputDecodeError> {
        self.seq(visitor)
    }

    fn deserialize_struct<V: Visitor<'a>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, InputDecodeError> {
        self.fields(fields, visitor)
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

/// Deserializers that accept only one kind of value, so that no code is generated for the others.
impl<'a> ValueDeserializer<'a> {
    fn is_tolerant(&self) -> bool {
        self.1 == Strictness::Tolerant
    }

    fn number<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, InputDecodeError> {
        let parsed = match self.0 {
            Value::Number(number) if self.is_tolerant() => Some(whole(number)),
            Value::Number(number) => Some(number.clone()),
            Value::String(text) if self.is_tolerant() => text.trim().parse().ok().as_ref().map(whole),
            _ => None,
        };
        let Some(number) = parsed else {
            return Err(other_than(self.0, &visitor));
        };
        match (number.as_u64(), number.as_i64(), number.as_f64()) {
            (Some(number), _, _) => visitor.visit_u64(number),
            (None, Some(number), _) => visitor.visit_i64(number),
            (None, None, number) => visitor.visit_f64(number.unwrap_or(f64::NAN)),
        }
    }

    fn text<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, InputDecodeError> {
        match self.0 {
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Number(number) if self.is_tolerant() => visitor.visit_string(number.to_string()),
            other => Err(other_than(other, &visitor)),
        }
    }

    fn seq<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, InputDecodeError> {
        let Value::Array(items) = self.0 else {
            return Err(other_than(self.0, &visitor));
        };
        let mut rest = ArrayAccess {
            items,
            next: 0,
            strictness: self.1,
        };
        let value = visitor.visit_seq(&mut rest)?;
        match rest.next < items.len() {
            true => Err(InputDecodeError::invalid_length(
                items.len(),
                &"fewer elements in array",
            )),
            false => Ok(value),
        }
    }

    fn map<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, InputDecodeError> {
        self.fields(&[], visitor)
    }

    /// An object with these fields.
    fn fields<V: Visitor<'a>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value, InputDecodeError> {
        let Value::Object(map) = self.0 else {
            return Err(other_than(self.0, &visitor));
        };
        let mut rest = ObjectAccess {
            map,
            fields: if self.is_tolerant() { fields } else { &[] },
            strictness: self.1,
            entries: map.iter(),
            current: None,
        };
        let value = match (visitor.visit_map(&mut rest), rest.current) {
            (Err(error), Some((key, _))) if error.is_repeated && error.path.is_empty() => {
                return Err(error.with_parent(PathSegment::Key(key.clone())));
            }
            (value, _) => value?,
        };
        match rest.entries.next() {
            Some(_) => Err(InputDecodeError::invalid_length(map.len(), &"fewer elements in map")),
            None => Ok(value),
        }
    }
}

/// The number as an integer, if it is one.
fn whole(number: &serde_json::Number) -> serde_json::Number {
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 1e15 => (float as i64).into(),
        Some(_) | None => number.clone(),
    }
}

#[cold]
fn other_than(value: &Value, expected: &dyn Expected) -> InputDecodeError {
    InputDecodeError::invalid_type(kind(value), expected)
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

struct ArrayAccess<'a> {
    items: &'a [Value],
    next: usize,
    strictness: Strictness,
}

impl<'a> SeqAccess<'a> for ArrayAccess<'a> {
    type Error = InputDecodeError;

    fn next_element_seed<S: DeserializeSeed<'a>>(&mut self, seed: S) -> Result<Option<S::Value>, InputDecodeError> {
        let Some(item) = self.items.get(self.next) else {
            return Ok(None);
        };
        let at = self.next;
        self.next += 1;
        let read = seed.deserialize(ValueDeserializer(item, self.strictness));
        read.map(Some).map_err(|error| error.with_parent(PathSegment::Item(at)))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len() - self.next)
    }
}

struct ObjectAccess<'a> {
    map: &'a Map<String, Value>,
    /// The names and aliases of a struct's fields, if they may be spelled in another way.
    fields: &'static [&'static str],
    strictness: Strictness,
    entries: serde_json::map::Iter<'a>,
    current: Option<(&'a String, &'a Value)>,
}

impl<'a> ObjectAccess<'a> {
    /// The field that a key stands for: `filePath` and `file_path` are one name.
    fn field(&self, key: &'a str) -> &'a str {
        if self.fields.contains(&key) {
            return key;
        }
        let folded = fold_name(key);
        let mut same = self.fields.iter().filter(|field| fold_name(field) == folded);
        match same.next() {
            Some(field) if !self.map.contains_key(*field) => field,
            Some(_) | None => key,
        }
    }

    /// The next entry. In a struct, `null` means that the field is absent.
    fn next_entry(&mut self) -> Option<(&'a String, &'a Value)> {
        let is_map = self.fields.is_empty();
        self.entries.find(|(_, value)| is_map || !value.is_null())
    }
}

impl<'a> MapAccess<'a> for ObjectAccess<'a> {
    type Error = InputDecodeError;

    fn next_key_seed<S: DeserializeSeed<'a>>(&mut self, seed: S) -> Result<Option<S::Value>, InputDecodeError> {
        self.current = self.next_entry();
        let Some((key, _)) = self.current else {
            return Ok(None);
        };
        let read = seed.deserialize(KeyDeserializer(self.field(key)));
        read.map(Some)
            .map_err(|error| error.with_parent(PathSegment::Key(key.clone())))
    }

    fn next_value_seed<S: DeserializeSeed<'a>>(&mut self, seed: S) -> Result<S::Value, InputDecodeError> {
        let Some((key, value)) = self.current.take() else {
            return Err(InputDecodeError::custom("value is missing"));
        };
        let read = seed.deserialize(ValueDeserializer(value, self.strictness));
        read.map_err(|error| error.with_parent(PathSegment::Key(key.clone())))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.len())
    }
}

/// An object key, parsed as a number if the map's keys are numbers.
struct KeyDeserializer<'a>(&'a str);

macro_rules! number {
    ($($method:ident $visit:ident)*) => {$(
        fn $method<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, InputDecodeError> {
            match self.0.parse() {
                Ok(number) => visitor.$visit(number),
                Err(_) => visitor.visit_borrowed_str(self.0),
            }
        }
    )*};
}

impl<'a> Deserializer<'a> for KeyDeserializer<'a> {
    type Error = InputDecodeError;

    fn deserialize_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, InputDecodeError> {
        visitor.visit_borrowed_str(self.0)
    }

    fn deserialize_option<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, InputDecodeError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'a>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, InputDecodeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'a>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, InputDecodeError> {
        visitor.visit_enum(EnumVariantAccess {
            name: self.0,
            content: None,
            strictness: Strictness::Exact,
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

struct EnumVariantAccess<'a> {
    name: &'a str,
    content: Option<&'a Value>,
    strictness: Strictness,
}

impl<'a> EnumAccess<'a> for EnumVariantAccess<'a> {
    type Error = InputDecodeError;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'a>>(self, seed: S) -> Result<(S::Value, Self), InputDecodeError> {
        let name: StrDeserializer<'_, InputDecodeError> = self.name.into_deserializer();
        Ok((seed.deserialize(name)?, self))
    }
}

impl<'a> EnumVariantAccess<'a> {
    fn content(&self, expected: &'static str) -> Result<&'a Value, InputDecodeError> {
        let missing = || InputDecodeError::invalid_type(Unexpected::UnitVariant, &expected);
        self.content.ok_or_else(missing)
    }

    fn under(&self, error: InputDecodeError) -> InputDecodeError {
        error.with_parent(PathSegment::Key(self.name.to_owned()))
    }
}

impl<'a> VariantAccess<'a> for EnumVariantAccess<'a> {
    type Error = InputDecodeError;

    fn unit_variant(self) -> Result<(), InputDecodeError> {
        match self.content {
            None => Ok(()),
            Some(content) => {
                <()>::deserialize(ValueDeserializer(content, self.strictness)).map_err(|error| self.under(error))
            }
        }
    }

    fn newtype_variant_seed<S: DeserializeSeed<'a>>(self, seed: S) -> Result<S::Value, InputDecodeError> {
        let content = self.content("newtype variant")?;
        seed.deserialize(ValueDeserializer(content, self.strictness))
            .map_err(|error| self.under(error))
    }

    fn tuple_variant<V: Visitor<'a>>(self, _: usize, visitor: V) -> Result<V::Value, InputDecodeError> {
        let content = self.content("tuple variant")?;
        let read = ValueDeserializer(content, self.strictness).seq(visitor);
        read.map_err(|error| self.under(error))
    }

    fn struct_variant<V: Visitor<'a>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, InputDecodeError> {
        let content = self.content("struct variant")?;
        let read = ValueDeserializer(content, self.strictness).map(visitor);
        read.map_err(|error| self.under(error))
    }
}

#[cfg(test)]
mod tests;
