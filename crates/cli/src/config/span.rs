//! Lengths of time as people write them.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de::Error};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A length of time such as `90s`, `10m` or `1h30m`; a bare number counts seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Span(pub(crate) Duration);

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || format!("`{text}` is not a length of time; write it like 90s, 10m or 1h30m");
        if let Ok(seconds) = text.parse::<u64>() {
            return Ok(Span(Duration::from_secs(seconds)));
        }
        let mut total = 0_u64;
        let mut rest = text;
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
            let (number, after) = rest.split_at(digits);
            let letters = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
            let (unit, after) = after.split_at(letters);
            let scale = match unit.trim() {
                "ms" => 1,
                "s" => 1_000,
                "m" => 60_000,
                "h" => 3_600_000,
                "d" => 86_400_000,
                _ => return Err(wrong()),
            };
            let number: u64 = number.parse().map_err(|_| wrong())?;
            total = number
                .checked_mul(scale)
                .and_then(|millis| total.checked_add(millis))
                .ok_or_else(wrong)?;
            rest = after;
        }
        if text.is_empty() {
            return Err(wrong());
        }
        Ok(Span(Duration::from_millis(total)))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0.as_millis();
        if millis < 10_000 && !millis.is_multiple_of(1_000) {
            return write!(f, "{:.1}s", self.0.as_secs_f64());
        }
        let seconds = self.0.as_secs();
        match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
            (0, 0, s) => write!(f, "{s}s"),
            (0, m, 0) => write!(f, "{m}m"),
            (0, m, s) => write!(f, "{m}m{s:02}s"),
            (h, 0, 0) => write!(f, "{h}h"),
            (h, m, _) => write!(f, "{h}h{m:02}m"),
        }
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a length of time like 90s, 10m or 1h30m")]
        enum Written {
            Seconds(u64),
            Text(String),
        }
        match Written::deserialize(deserializer)? {
            Written::Seconds(seconds) => Ok(Span(Duration::from_secs(seconds))),
            Written::Text(text) => text.parse().map_err(D::Error::custom),
        }
    }
}

impl JsonSchema for Span {
    fn schema_name() -> Cow<'static, str> {
        "Span".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A length of time such as `90s`, `10m` or `1h30m`; a bare number counts seconds.",
            "type": ["string", "integer"],
            "pattern": "^([0-9]+(ms|s|m|h|d)?)+$",
            "minimum": 0
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_are_read_and_shown_as_people_write_them() {
        for (text, millis, shown) in [
            ("90", 90_000, "1m30s"),
            ("1500ms", 1_500, "1.5s"),
            ("10m", 600_000, "10m"),
            ("1h30m", 5_400_000, "1h30m"),
            ("2h", 7_200_000, "2h"),
            ("45s", 45_000, "45s"),
        ] {
            let span: Span = text.parse().unwrap();
            assert_eq!(
                (span.0.as_millis(), span.to_string().as_str()),
                (millis, shown),
                "{text}"
            );
        }
        for wrong in [
            "",
            "m",
            "10x",
            "1h30",
            "-5s",
            "ten",
            "99999999999999999999s",
            "9999999999999999d",
        ] {
            assert!(wrong.parse::<Span>().is_err(), "{wrong}");
        }
    }
}
