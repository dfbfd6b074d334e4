//! Returns the current time.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::fmt::strtime;
use jiff::tz::TimeZone;
use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{CallContext, DynTool, Error, Output, PeerAgent, Tool, ToolEffect, ToolFacts, ToolSet, erase};

use crate::registry::{BuiltIn, ToolParts};

pub(crate) struct NowTool;

/// The date and time, in UTC or a time zone.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// Such as `Europe/Berlin`, `local` or `utc`.
    #[serde(alias = "tz", alias = "zone", alias = "time_zone")]
    timezone: Option<String>,
}

impl BuiltIn for NowTool {
    fn build(_: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        Some(erase(NowTool))
    }
}

impl Tool for NowTool {
    const NAME: &'static str = "now";
    const ALIASES: &'static [&'static str] = &["get_time", "get_current_time", "current_time", "datetime"];
    const EFFECT: ToolEffect = ToolEffect::ReadOnly;
    const FACTS: ToolFacts = ToolFacts {
        sets: &[ToolSet::AskProfile],
        peers: &[(PeerAgent::Zed, &["now"])],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, _: &Input) -> String {
        String::new()
    }

    fn actions(&self, _: &Input) -> Vec<Action> {
        Vec::new()
    }

    async fn run(&self, input: Input, _: CallContext) -> Result<Output, Error> {
        let zone = match &input.timezone {
            Some(name) => zone(name)?,
            None => TimeZone::UTC,
        };
        let text = format_time(Timestamp::now(), zone);
        Ok(Output::text(text.clone()).with_summary(text))
    }
}

/// The time zone with an IANA name or an offset such as `+02:00`.
fn zone(name: &str) -> Result<TimeZone, Error> {
    let name = name.trim();
    match name.to_ascii_lowercase().as_str() {
        "utc" | "gmt" | "z" => return Ok(TimeZone::UTC),
        "local" | "system" => return Ok(TimeZone::system()),
        _ => {}
    }
    let unknown = || Error::Failed(format!("`{name}` is not a time zone; use a name such as Europe/Berlin"));
    let offset = || strtime::parse("%:z", name).ok()?.offset();
    TimeZone::get(name)
        .ok()
        .or_else(|| offset().map(TimeZone::fixed))
        .ok_or_else(unknown)
}

fn format_time(time: Timestamp, zone: TimeZone) -> String {
    let zoned = time.to_zoned(zone);
    let offset = zoned.strftime("%:z").to_string();
    let name = match zoned.strftime("%Z").to_string() {
        name if name == "UTC" => name,
        name if name.starts_with(['+', '-']) => offset,
        name => format!("{name} ({offset})"),
    };
    format!(
        "{:?}, {} {} {name}",
        zoned.weekday(),
        zoned.date(),
        zoned.strftime("%H:%M:%S")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_has_weekday_and_zone() {
        let time = Timestamp::from_second(1_763_266_000).unwrap();
        for (name, expected) in [
            ("UTC", "Sunday, 2025-11-16 04:06:40 UTC"),
            ("Europe/Berlin", "Sunday, 2025-11-16 05:06:40 CET (+01:00)"),
            ("america/los_angeles", "Saturday, 2025-11-15 20:06:40 PST (-08:00)"),
            ("+05:30", "Sunday, 2025-11-16 09:36:40 +05:30"),
        ] {
            assert_eq!(format_time(time, zone(name).unwrap()), expected);
        }
        assert!(zone("Middle/Earth").is_err());
    }
}
