//! Returns the current time.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{CallContext, DynTool, Error, Output, PeerAgent, Tool, ToolEffect, ToolFacts, erase};

use crate::registry::{BuiltIn, ToolParts};

pub(crate) struct NowTool;

/// The date and time, in UTC.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// Some models pass a zone; the result names its own.
    #[schemars(skip)]
    #[serde(rename = "timezone")]
    _zone: Option<String>,
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

    async fn run(&self, _: Input, _: CallContext) -> Result<Output, Error> {
        let text = format_time(Timestamp::now());
        Ok(Output::text(text.clone()).with_summary(text))
    }
}

fn format_time(time: Timestamp) -> String {
    let zoned = time.to_zoned(TimeZone::UTC);
    format!(
        "{:?}, {} {} UTC",
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
        assert_eq!(format_time(time), "Sunday, 2025-11-16 04:06:40 UTC");
    }
}
