//! Sends reminders to the model.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::task::JoinHandle;
use tool::{
    CallContext, DynTool, Error, NotificationSender, Output, PeerAgent, Tool, ToolEffect, ToolFacts, ToolNotification,
    ToolSet, erase,
};

use crate::registry::{BuiltIn, ToolParts};
use crate::support::arguments;

const MAX_REMINDERS: usize = 32;
/// Maximum delay.
const MAX_DELAY: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Minimum interval in seconds.
const MIN_INTERVAL: u64 = 60;

/// Reminders end when this is dropped.
pub(crate) struct RemindTool {
    pub(crate) notices: NotificationSender,
    pub(crate) due: ReminderList,
}

#[derive(Default)]
pub(crate) struct ReminderList(Mutex<Vec<(String, JoinHandle<()>)>>);

impl Drop for ReminderList {
    fn drop(&mut self) {
        let entries = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        entries.iter().for_each(|(_, task)| task.abort());
    }
}

/// Reminds you of something while the session runs. Without text: lists the reminders.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(alias = "message", alias = "reminder")]
    text: Option<String>,
    #[serde(alias = "delay_seconds", alias = "seconds")]
    in_seconds: Option<u64>,
    /// Alternatively, a time such as 2026-01-31T09:00:00Z.
    #[serde(alias = "datetime")]
    at: Option<String>,
    /// Repeat at this interval.
    #[serde(alias = "repeat_seconds", alias = "recurrence_seconds")]
    every_seconds: Option<u64>,
    /// Number of a reminder to cancel.
    cancel: Option<usize>,
}

impl BuiltIn for RemindTool {
    fn build(parts: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        Some(erase(RemindTool {
            notices: parts.options.commands.notifications.clone(),
            due: Default::default(),
        }))
    }
}

impl Tool for RemindTool {
    const NAME: &'static str = "remind";
    const ALIASES: &'static [&'static str] = &["coucou", "set_reminder", "reminder"];
    const EFFECT: ToolEffect = ToolEffect::Mutating;
    const FACTS: ToolFacts = ToolFacts {
        sets: &[ToolSet::MainSession],
        peers: &[(PeerAgent::ContextPilot, &["coucou"])],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.text.clone().unwrap_or_default()
    }

    /// Context Pilot writes durations like `1h30m`, or as a number of seconds.
    fn adapt(&self, _called: &str, input: &mut Map<String, Value>) {
        let duration = |text: &str| {
            let text = text.trim();
            let seconds = text
                .parse::<SignedDuration>()
                .ok()
                .and_then(|span| span.as_secs().try_into().ok());
            seconds.or_else(|| text.parse().ok())
        };
        let interval = arguments::text(input, "interval").and_then(duration);
        let every: Option<u64> = match arguments::text(input, "recurrence") {
            Some("hourly") => Some(60 * 60),
            Some("daily") => Some(24 * 60 * 60),
            Some("weekly") => Some(7 * 24 * 60 * 60),
            Some(_) | None => interval,
        };
        if let Some(every) = every {
            input.entry("every_seconds").or_insert(every.into());
        }
        if let Some(delay) = arguments::text(input, "delay").and_then(duration) {
            input.entry("in_seconds").or_insert(u64::into(delay));
        }
        if let Some(number) = arguments::text(input, "cancel_id").and_then(arguments::id_number) {
            // Context Pilot counts from 0.
            input.insert("cancel".into(), (number + 1).into());
        }
    }

    fn actions(&self, _: &Input) -> Vec<Action> {
        Vec::new()
    }

    async fn run(&self, input: Input, _: CallContext) -> Result<Output, Error> {
        let mut due = self.due.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = input.cancel {
            let entry = number.checked_sub(1).and_then(|at| due.get(at));
            let Some((_, task)) = entry else {
                return Err(Error::Failed(format!("there is no reminder {number}")));
            };
            task.abort();
            return Ok(Output::text(format!("Reminder {number} is cancelled.")));
        }
        let Some(text) = input.text.clone().filter(|text| !text.trim().is_empty()) else {
            let open = due.iter().zip(1..).filter(|((_, task), _)| !task.is_finished());
            let lines: Vec<String> = open.map(|((text, _), number)| format!("{number}: {text}")).collect();
            return Ok(Output::text(match lines.is_empty() {
                true => "No reminders.".into(),
                false => lines.join("\n"),
            }));
        };
        let wait = wait(&input)?;
        if !self.notices.has_receiver() {
            return Err(Error::Failed("reminders are not available here".into()));
        }
        if due.iter().filter(|(_, task)| !task.is_finished()).count() >= MAX_REMINDERS {
            return Err(Error::Failed(format!(
                "there are {MAX_REMINDERS} reminders; cancel one first"
            )));
        }
        let number = due.len() + 1;
        let every = input
            .every_seconds
            .map(|seconds| Duration::from_secs(seconds.max(MIN_INTERVAL)));
        let notice = ToolNotification {
            source: format!("reminder {number}"),
            text: text.chars().take(2_000).collect(),
        };
        due.push((text, tokio::spawn(remind(self.notices.clone(), notice, wait, every))));
        Ok(Output::text(format!(
            "Reminder {number} fires in {} s.",
            wait.as_secs()
        )))
    }
}

async fn remind(notices: NotificationSender, notice: ToolNotification, wait: Duration, every: Option<Duration>) {
    tokio::time::sleep(wait).await;
    loop {
        notices.send(notice.clone());
        match every {
            Some(pause) if notices.has_receiver() => tokio::time::sleep(pause).await,
            Some(_) | None => return,
        }
    }
}

/// Parses a time; without a zone it is in the zone of the system.
fn point_in_time(text: &str) -> Option<Timestamp> {
    let local = || {
        let local: DateTime = text.parse().ok()?;
        Some(local.to_zoned(TimeZone::system()).ok()?.timestamp())
    };
    text.parse().ok().or_else(local)
}

fn wait(input: &Input) -> Result<Duration, Error> {
    let wait = match (input.in_seconds, &input.at) {
        (Some(seconds), _) => Duration::from_secs(seconds),
        (None, Some(at)) => {
            let time = point_in_time(at.trim())
                .ok_or_else(|| Error::Failed(format!("`{at}` is not a time; write it like 2026-01-31T09:00:00Z")))?;
            let seconds = u64::try_from(time.as_second()).unwrap_or(0);
            let time = UNIX_EPOCH + Duration::from_secs(seconds);
            time.duration_since(SystemTime::now())
                .map_err(|_| Error::Failed(format!("{at} is in the past")))?
        }
        (None, None) => return Err(Error::Failed("missing time: set in_seconds or at".into())),
    };
    match wait > MAX_DELAY {
        true => Err(Error::Failed(
            "that is too far ahead; a reminder ends with the session".into(),
        )),
        false => Ok(wait),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_without_a_zone_is_local() {
        let utc = point_in_time("2030-01-01T00:00:00Z").unwrap();
        assert_eq!(utc.as_second(), 1_893_456_000);
        let local = point_in_time("2030-01-01T00:00").unwrap();
        let offset = TimeZone::system().to_offset(local).seconds();
        assert_eq!(local.as_second() + i64::from(offset), utc.as_second());
        assert_eq!(point_in_time("tomorrow"), None);
    }
}
