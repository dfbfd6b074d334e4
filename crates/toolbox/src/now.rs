//! Says what time it is.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Context, Effect, Error, Output, Tool};

pub(crate) struct Now;

/// The date and time, in UTC.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// Models that know this ability from elsewhere name a zone; the answer names its own.
    #[schemars(skip)]
    #[serde(rename = "timezone")]
    _zone: Option<String>,
}

impl Tool for Now {
    const NAME: &'static str = "now";
    const ALIASES: &'static [&'static str] = &["get_time", "get_current_time", "current_time", "datetime"];
    const EFFECT: Effect = Effect::Reads;
    type Input = Input;

    fn title(&self, _: &Input) -> String {
        String::new()
    }

    fn actions(&self, _: &Input) -> Vec<Action> {
        Vec::new()
    }

    async fn run(&self, _: Input, _: Context) -> Result<Output, Error> {
        let text = say(Timestamp::now());
        Ok(Output::text(text.clone()).summary(text))
    }
}

fn say(time: Timestamp) -> String {
    let there = time.to_zoned(TimeZone::UTC);
    format!(
        "{:?}, {} {} UTC",
        there.weekday(),
        there.date(),
        there.strftime("%H:%M:%S")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_told_with_its_day_and_zone() {
        let time = Timestamp::from_second(1_763_266_000).unwrap();
        assert_eq!(say(time), "Sunday, 2025-11-16 04:06:40 UTC");
    }
}
