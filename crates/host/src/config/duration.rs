//! Durations, as users write them.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A duration such as `90s`, `10m` or `1h30m`. A bare number counts seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct HumanDuration(pub Duration);

/// The error of a text that is not a duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a duration; write it like 90s, 10m or 1h30m")]
pub struct InvalidDuration(String);

impl FromStr for HumanDuration {
    type Err = InvalidDuration;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || InvalidDuration(text.into());
        if let Ok(seconds) = text.parse::<u64>() {
            return Ok(HumanDuration(Duration::from_secs(seconds)));
        }
        let mut total = 0_u64;
        let mut rest = text;
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(invalid)?;
            let (number, after) = rest.split_at(digits);
            let letters = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
            let (unit, after) = after.split_at(letters);
            let scale = match unit.trim() {
                "ms" => 1,
                "s" => 1_000,
                "m" => 60_000,
                "h" => 3_600_000,
                "d" => 86_400_000,
                _ => return Err(invalid()),
            };
            let number: u64 = number.parse().map_err(|_| invalid())?;
            total = number
                .checked_mul(scale)
                .and_then(|millis| total.checked_add(millis))
                .ok_or_else(invalid)?;
            rest = after;
        }
        if text.is_empty() {
            return Err(invalid());
        }
        Ok(HumanDuration(Duration::from_millis(total)))
    }
}

impl fmt::Display for HumanDuration {
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

impl Serialize for HumanDuration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for HumanDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a duration like 90s, 10m or 1h30m")]
        enum HumanDurationInput {
            Seconds(u64),
            Text(String),
        }
        match HumanDurationInput::deserialize(deserializer)? {
            HumanDurationInput::Seconds(seconds) => Ok(HumanDuration(Duration::from_secs(seconds))),
            HumanDurationInput::Text(text) => text.parse().map_err(D::Error::custom),
        }
    }
}

impl JsonSchema for HumanDuration {
    fn schema_name() -> Cow<'static, str> {
        "HumanDuration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A duration such as `90s`, `10m` or `1h30m`. A bare number counts seconds.",
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
    fn durations_are_parsed_and_formatted() {
        for (text, millis, shown) in [
            ("90", 90_000, "1m30s"),
            ("1500ms", 1_500, "1.5s"),
            ("10m", 600_000, "10m"),
            ("1h30m", 5_400_000, "1h30m"),
            ("2h", 7_200_000, "2h"),
            ("45s", 45_000, "45s"),
        ] {
            let duration: HumanDuration = text.parse().unwrap();
            assert_eq!(
                (duration.0.as_millis(), duration.to_string().as_str()),
                (millis, shown),
                "{text}"
            );
        }
        for text in [
            "",
            "m",
            "10x",
            "1h30",
            "-5s",
            "ten",
            "99999999999999999999s",
            "9999999999999999d",
        ] {
            assert!(text.parse::<HumanDuration>().is_err(), "{text}");
        }
    }
}
