//! Reminds the model of something later.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::task::JoinHandle;
use tool::{Context, Effect, Error, Notice, Notices, Output, Tool};

const MOST: usize = 32;
/// The longest time ahead.
const LATEST: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// What repeats does so at most this often.
const SHORTEST: u64 = 60;

/// Reminders end with the session: with this.
pub(crate) struct Remind {
    pub(crate) notices: Notices,
    pub(crate) due: Due,
}

#[derive(Default)]
pub(crate) struct Due(Mutex<Vec<(String, JoinHandle<()>)>>);

impl Drop for Due {
    fn drop(&mut self) {
        let entries = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        entries.iter().for_each(|(_, task)| task.abort());
    }
}

/// Reminds you of something while the session runs. Without text: lists what is due.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(alias = "message", alias = "reminder")]
    text: Option<String>,
    #[serde(alias = "delay_seconds", alias = "seconds")]
    in_seconds: Option<u64>,
    /// Instead: a time such as 2026-01-31T09:00:00Z.
    #[serde(alias = "datetime")]
    at: Option<String>,
    /// Again and again, this many seconds apart.
    #[serde(alias = "repeat_seconds", alias = "recurrence_seconds")]
    every_seconds: Option<u64>,
    /// Number of a reminder to cancel.
    cancel: Option<usize>,
}

impl Tool for Remind {
    const NAME: &'static str = "remind";
    const ALIASES: &'static [&'static str] = &["coucou", "set_reminder", "reminder"];
    const EFFECT: Effect = Effect::Changes;
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.text.clone().unwrap_or_default()
    }

    fn actions(&self, _: &Input) -> Vec<Action> {
        Vec::new()
    }

    async fn run(&self, input: Input, _: Context) -> Result<Output, Error> {
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
                true => "Nothing is due.".into(),
                false => lines.join("\n"),
            }));
        };
        let wait = wait(&input)?;
        if !self.notices.is_heard() {
            return Err(Error::Failed("nobody would hear of it here".into()));
        }
        if due.iter().filter(|(_, task)| !task.is_finished()).count() >= MOST {
            return Err(Error::Failed(format!(
                "{MOST} reminders wait already; cancel one first"
            )));
        }
        let number = due.len() + 1;
        let every = input
            .every_seconds
            .map(|seconds| Duration::from_secs(seconds.max(SHORTEST)));
        let notice = Notice {
            source: format!("reminder {number}"),
            text: text.chars().take(2_000).collect(),
        };
        due.push((text, tokio::spawn(remind(self.notices.clone(), notice, wait, every))));
        Ok(Output::text(format!(
            "Reminder {number} comes in {} s.",
            wait.as_secs()
        )))
    }
}

async fn remind(notices: Notices, notice: Notice, wait: Duration, every: Option<Duration>) {
    tokio::time::sleep(wait).await;
    loop {
        notices.tell(notice.clone());
        match every {
            Some(pause) if notices.is_heard() => tokio::time::sleep(pause).await,
            Some(_) | None => return,
        }
    }
}

fn wait(input: &Input) -> Result<Duration, Error> {
    let wait = match (input.in_seconds, &input.at) {
        (Some(seconds), _) => Duration::from_secs(seconds),
        (None, Some(at)) => {
            let time: Timestamp = at
                .trim()
                .parse()
                .map_err(|_| Error::Failed(format!("`{at}` is not a time; write it like 2026-01-31T09:00:00Z")))?;
            let seconds = u64::try_from(time.as_second()).unwrap_or(0);
            let time = UNIX_EPOCH + Duration::from_secs(seconds);
            time.duration_since(SystemTime::now())
                .map_err(|_| Error::Failed(format!("{at} is over already")))?
        }
        (None, None) => return Err(Error::Failed("say when: in_seconds, or at".into())),
    };
    match wait > LATEST {
        true => Err(Error::Failed(
            "that is too far ahead; a reminder ends with the session".into(),
        )),
        false => Ok(wait),
    }
}
