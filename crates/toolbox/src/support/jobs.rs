//! Background jobs. They survive a turn and end with the session.

pub(crate) mod summary;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use sandbox::{CaptureCap, CapturedOutput as Printed, OutputCapture, ProcessExit};
use serde::Deserialize;
use session::CommandExit;
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;
use tool::{Error, NotificationSender, Output, PendingNotification, ToolNotification};

use crate::support::arguments::id_number;
use crate::support::commands::{RunningCommand, command_exit, describe_exit, render_output};
use crate::support::text::one_line;

/// Maximum number of running jobs.
const MAX_RUNNING: usize = 32;
/// Maximum number of ended jobs that are kept.
const MAX_ENDED: usize = 32;
/// The maximum bytes of output that the user is shown.
const RECENT_CAP: usize = 20_000;
/// How much unread output is kept.
pub(crate) const UNREAD_CAP: CaptureCap = CaptureCap {
    head: 8_000,
    tail: 12_000,
};
/// Maximum bytes of output in the notification about a job's end.
const MAX_NOTIFICATION_BYTES: usize = 1_000;
/// Maximum length of a command in a list.
pub(crate) const MAX_COMMAND: usize = 120;

/// The jobs of a session. Clones share them; they are killed when the last clone is dropped.
#[derive(Debug, Clone, Default)]
pub struct JobRegistry {
    shared: Arc<JobTable>,
}

/// A weak reference to the jobs of a session.
#[derive(Debug, Clone, Default)]
pub struct JobRegistryView(Weak<JobTable>);

impl JobRegistryView {
    /// The jobs, if the session still holds them.
    pub(crate) fn jobs(&self) -> Option<JobRegistry> {
        self.0.upgrade().map(|shared| JobRegistry { shared })
    }

    /// The running jobs, such as ``2 `npm run dev` ``.
    pub fn running(&self) -> Vec<String> {
        let Some(jobs) = self.jobs() else {
            return Vec::new();
        };
        let running = jobs.list().into_iter().filter(|job| job.is_running());
        running
            .map(|job| format!("{} `{}`", job.id, one_line(&job.command, MAX_COMMAND)))
            .collect()
    }
}

#[derive(Debug, Default)]
struct JobTable {
    known: Mutex<JobEntries>,
    foreground: ForegroundCommands,
}

/// Commands that calls wait for, and the request to move them to the background.
#[derive(Debug, Default)]
struct ForegroundCommands {
    count: AtomicUsize,
    detach: Notify,
}

#[derive(Debug, Default)]
struct JobEntries {
    last: u32,
    jobs: BTreeMap<u32, Arc<ShellJob>>,
}

/// A background job.
#[derive(Debug)]
pub(crate) struct ShellJob {
    pub(crate) id: u32,
    pub(crate) command: String,
    started: Instant,
    live: Mutex<JobCapture>,
    state: watch::Sender<JobState>,
    stop: Notify,
}

/// The output of a job.
#[derive(Debug)]
struct JobCapture {
    unread: OutputCapture,
    /// The end of all output, for the user.
    recent: String,
    /// The path of the full output, if it is too long to show.
    transcript: Option<String>,
    task: Option<AbortHandle>,
}

/// The state of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum JobState {
    Running,
    /// It has ended.
    Ended {
        /// The exit status as text.
        status: String,
        /// The typed exit status.
        exit: CommandExit,
        /// How long it ran.
        age: Duration,
    },
}

/// New output and the state of a job.
pub(crate) struct JobUpdate {
    pub(crate) printed: Printed,
    pub(crate) transcript: Option<String>,
    pub(crate) state: JobState,
    pub(crate) age: Duration,
}

impl JobRegistry {
    /// Returns a weak reference.
    pub fn view(&self) -> JobRegistryView {
        JobRegistryView(Arc::downgrade(&self.shared))
    }

    /// Fails if the maximum number of jobs is running.
    pub(crate) fn check_capacity(&self) -> Result<(), Error> {
        let running = self.list().into_iter().filter(|job| job.is_running()).count();
        match running < MAX_RUNNING {
            true => Ok(()),
            false => Err(Error::Failed(format!(
                "{running} jobs are running; stop some with job_kill"
            ))),
        }
    }

    /// Moves a command to the background. A notification is sent when it ends.
    pub(crate) fn adopt(&self, running: RunningCommand, notices: NotificationSender) -> Arc<ShellJob> {
        let printed = running.process.output_so_far();
        let mut known = self.known();
        known.last += 1;
        let job = Arc::new(ShellJob {
            id: known.last,
            command: running.command.clone(),
            started: running.started,
            live: Mutex::new(JobCapture {
                unread: OutputCapture::new(UNREAD_CAP),
                recent: match printed.tail.is_empty() {
                    true => printed.head,
                    false => printed.tail,
                },
                transcript: None,
                task: None,
            }),
            state: watch::Sender::new(JobState::Running),
            stop: Notify::new(),
        });
        let expected = notices.expect();
        let task = tokio::spawn(run_job(Arc::clone(&job), running, notices, expected));
        job.live().task = Some(task.abort_handle());
        known.jobs.insert(job.id, Arc::clone(&job));
        known.forget();
        job
    }

    /// Completes when the user moves the running command to the background.
    pub(crate) async fn detached(&self) {
        let foreground = &self.shared.foreground;
        foreground.count.fetch_add(1, Ordering::AcqRel);
        let _guard = CountGuard(&foreground.count);
        foreground.detach.notified().await;
    }

    /// Moves the commands that calls wait for to the background. Returns whether there were any.
    pub(crate) fn detach(&self) -> bool {
        let foreground = &self.shared.foreground;
        foreground.detach.notify_waiters();
        foreground.count.load(Ordering::Acquire) > 0
    }

    /// The job with this number.
    pub(crate) fn get(&self, id: u32) -> Result<Arc<ShellJob>, Error> {
        let known = self.known();
        known.jobs.get(&id).cloned().ok_or_else(|| {
            let ids: Vec<String> = known.jobs.keys().map(u32::to_string).collect();
            Error::Failed(match ids.is_empty() {
                true => format!("there is no job {id}; there are no jobs"),
                false => format!("there is no job {id}; there are {}", ids.join(", ")),
            })
        })
    }

    /// All jobs, in the order of their start.
    pub(crate) fn list(&self) -> Vec<Arc<ShellJob>> {
        self.known().jobs.values().cloned().collect()
    }

    fn known(&self) -> MutexGuard<'_, JobEntries> {
        self.shared.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Decrements a counter when it is dropped.
struct CountGuard<'a>(&'a AtomicUsize);

impl Drop for CountGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Drop for JobTable {
    fn drop(&mut self) {
        let known = self.known.get_mut().unwrap_or_else(PoisonError::into_inner);
        for job in known.jobs.values() {
            // Aborting the task kills the process group.
            job.live().task.iter().for_each(AbortHandle::abort);
        }
    }
}

impl JobEntries {
    /// Removes the oldest ended jobs if there are too many.
    fn forget(&mut self) {
        let ended: Vec<u32> = self
            .jobs
            .values()
            .filter(|job| !job.is_running())
            .map(|job| job.id)
            .collect();
        for id in ended.iter().take(ended.len().saturating_sub(MAX_ENDED)) {
            self.jobs.remove(id);
        }
    }
}

impl ShellJob {
    pub(crate) fn state(&self) -> JobState {
        self.state.borrow().clone()
    }

    pub(crate) fn is_running(&self) -> bool {
        *self.state.borrow() == JobState::Running
    }

    /// How long the job has run.
    pub(crate) fn age(&self) -> Duration {
        match self.state() {
            JobState::Running => self.started.elapsed(),
            JobState::Ended { age, .. } => age,
        }
    }

    /// Waits for the job to end, up to `most`.
    pub(crate) async fn wait(&self, most: Duration) {
        let mut state = self.state.subscribe();
        let ended = state.wait_for(|state| *state != JobState::Running);
        // A timeout is not an error.
        drop(tokio::time::timeout(most, ended).await);
    }

    /// Stops the job and waits until it has ended, up to `most`.
    pub(crate) async fn kill(&self, most: Duration) {
        self.stop.notify_one();
        self.wait(most).await;
    }

    /// Takes the unread output and returns it with the state.
    pub(crate) fn take_update(&self) -> JobUpdate {
        let mut live = self.live();
        let unread = std::mem::replace(&mut live.unread, OutputCapture::new(UNREAD_CAP));
        JobUpdate {
            printed: unread.finish(),
            transcript: live.transcript.clone(),
            state: self.state(),
            age: self.age(),
        }
    }

    /// The end of the unread output, which stays unread.
    pub(crate) fn peek(&self, most: usize) -> String {
        let printed = self.live().unread.clone().finish();
        let text = match printed.tail.is_empty() {
            true => printed.head,
            false => printed.tail,
        };
        let start = text.ceil_char_boundary(text.len().saturating_sub(most));
        text[start..].to_owned()
    }

    /// The end of the output, read or unread.
    pub(crate) fn recent_output(&self) -> String {
        let live = self.live();
        let start = live.recent.len().saturating_sub(RECENT_CAP);
        live.recent[live.recent.ceil_char_boundary(start)..].to_owned()
    }

    fn live(&self) -> MutexGuard<'_, JobCapture> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// New output and the state of a job, for the model.
pub(crate) fn render_update(update: JobUpdate) -> Output {
    let seconds = update.age.as_secs_f64();
    let (state, exit) = match update.state {
        JobState::Running => (format!("running for {seconds:.0} s"), None),
        JobState::Ended { status, exit, .. } => (format!("{status}, after {seconds:.1} s"), Some(exit)),
    };
    let text = render_output(update.printed, update.transcript.as_deref());
    let text = match text.is_empty() {
        true => "no new output\n".to_owned(),
        false => text,
    };
    Output {
        exit,
        ..Output::text(format!("{text}[{state}]")).with_summary(state)
    }
}

/// Deserializes a job number, also from text.
pub(crate) fn number<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected the number of a job")]
    enum JobNumber {
        Plain(u32),
        Text(String),
    }
    match JobNumber::deserialize(deserializer)? {
        JobNumber::Plain(number) => Ok(number),
        JobNumber::Text(text) => {
            let number = id_number(&text).and_then(|number| u32::try_from(number).ok());
            number.ok_or_else(|| serde::de::Error::custom(format!("`{text}` is not a job number; job_list shows them")))
        }
    }
}

/// Collects the output of a job until it ends, then sends a notification.
async fn run_job(
    job: Arc<ShellJob>,
    mut running: RunningCommand,
    notices: NotificationSender,
    expected: PendingNotification,
) {
    loop {
        let text = tokio::select! {
            biased;
            () = job.stop.notified() => {
                running.process.stop();
                continue;
            }
            text = running.next() => text,
        };
        let Some(text) = text else { break };
        let mut live = job.live();
        live.unread.add(text.as_bytes());
        live.recent.push_str(&text);
        if live.recent.len() > 2 * RECENT_CAP {
            let start = live.recent.ceil_char_boundary(live.recent.len() - RECENT_CAP);
            live.recent.drain(..start);
        }
        live.transcript = running.transcript();
    }
    let exit = running.process.exit().await;
    let end = describe_exit(&exit, running.timeout);
    // A waiting call reports the end itself.
    let watched = job.state.receiver_count() > 0;
    job.state.send_replace(JobState::Ended {
        status: end.clone(),
        exit: command_exit(exit.status),
        age: exit.duration,
    });
    if !watched {
        notices.send(ToolNotification {
            source: format!("job {}", job.id),
            text: notification_text(&job, &exit, &end),
        });
    }
    drop(expected);
}

fn notification_text(job: &ShellJob, exit: &ProcessExit, end: &str) -> String {
    let Printed { head, tail, .. } = &exit.output;
    let all = if tail.is_empty() { head } else { tail };
    let start = all.ceil_char_boundary(all.len().saturating_sub(MAX_NOTIFICATION_BYTES));
    let words = all[start..].trim();
    let seconds = exit.duration.as_secs_f64();
    let command = one_line(&job.command, MAX_COMMAND);
    let first = format!("Job {} (`{command}`) ended after {seconds:.0} s: {end}.", job.id);
    match words.is_empty() {
        true => first,
        false => format!("{first} End of output:\n{words}"),
    }
}
