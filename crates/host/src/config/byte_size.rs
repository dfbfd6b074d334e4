//! Sizes in bytes, as users write them.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// A size such as `500MB`, `1GiB` or `64k`. A bare number counts bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(pub u64);

/// The error of a text that is not a size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a size; write it like 500MB, 1GiB or 64k")]
pub struct InvalidSize(String);

impl FromStr for ByteSize {
    type Err = InvalidSize;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || InvalidSize(text.into());
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let number: u64 = number.parse().map_err(|_| invalid())?;
        let scale: u64 = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "k" | "kib" => 1 << 10,
            "m" | "mib" => 1 << 20,
            "g" | "gib" => 1 << 30,
            "t" | "tib" => 1 << 40,
            "kb" => 1_000,
            "mb" => 1_000_000,
            "gb" => 1_000_000_000,
            "tb" => 1_000_000_000_000,
            _ => return Err(invalid()),
        };
        number.checked_mul(scale).map(ByteSize).ok_or_else(invalid)
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
        let exact = units
            .iter()
            .find(|(_, unit)| self.0 >= *unit && self.0.is_multiple_of(*unit));
        match exact {
            Some((name, unit)) => write!(f, "{}{name}", self.0 / unit),
            None => self.0.fmt(f),
        }
    }
}

impl Serialize for ByteSize {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ByteSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a size like 500MB, 1GiB or 64k")]
        enum ByteSizeInput {
            Bytes(u64),
            Text(String),
        }
        match ByteSizeInput::deserialize(deserializer)? {
            ByteSizeInput::Bytes(bytes) => Ok(ByteSize(bytes)),
            ByteSizeInput::Text(text) => text.parse().map_err(D::Error::custom),
        }
    }
}

impl JsonSchema for ByteSize {
    fn schema_name() -> Cow<'static, str> {
        "ByteSize".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A size such as `500MB`, `1GiB` or `64k`. A bare number counts bytes.",
            "type": ["string", "integer"],
            "minimum": 0
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_parsed_with_and_without_units() {
        for (text, bytes) in [
            ("0", 0),
            ("512", 512),
            ("64k", 65_536),
            ("1 GiB", 1 << 30),
            ("500MB", 500_000_000),
            ("2mib", 2 << 20),
        ] {
            let size: ByteSize = text.parse().unwrap();
            assert_eq!(size, ByteSize(bytes), "{text}");
            assert_eq!(size.to_string().parse(), Ok(size), "{text}");
        }
        for text in ["", "GiB", "1.5G", "-1", "1 lot", "99999999999T"] {
            assert!(text.parse::<ByteSize>().is_err(), "{text}");
        }
    }
}
