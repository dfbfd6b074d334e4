//! Commands that go on in the background. They survive a turn and end with the session.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use sandbox::{Cap, Capture, Exit, Output as Printed};
use serde::Deserialize;
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;
use tool::{Error, Expected, Notice, Notices};

use crate::command::{Running, ending};
use crate::text::one_line;

/// As many may run at the same time.
const MAX_RUNNING: usize = 32;
/// As many that have ended are still known.
const MAX_ENDED: usize = 32;
/// How much of the output is kept for the next look.
pub(crate) const UNREAD: Cap = Cap {
    head: 8_000,
    tail: 12_000,
};
/// How much of the end of the output goes with the news that a job has ended.
const LAST_WORDS: usize = 1_000;
/// The longest part of a command that stands for it.
pub(crate) const MAX_COMMAND: usize = 120;

/// The jobs of a session. Clones share them; they end when the last clone is gone.
#[derive(Debug, Clone, Default)]
pub struct Jobs {
    shared: Arc<Shared>,
}

/// A look at the jobs of a session that does not keep them alive.
#[derive(Debug, Clone, Default)]
pub struct JobsView(Weak<Shared>);

impl JobsView {
    /// The jobs, as long as the session has them.
    pub(crate) fn jobs(&self) -> Option<Jobs> {
        self.0.upgrade().map(|shared| Jobs { shared })
    }

    /// The jobs that run, such as ``2 `npm run dev` ``.
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
struct Shared {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    last: u32,
    jobs: BTreeMap<u32, Arc<Job>>,
}

/// A command in the background.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) id: u32,
    pub(crate) command: String,
    started: Instant,
    live: Mutex<Live>,
    state: watch::Sender<State>,
    stop: Notify,
}

/// What changes while a job runs.
#[derive(Debug)]
struct Live {
    unread: Capture,
    /// Where all of its output is, once that is too much to show.
    transcript: Option<String>,
    task: Option<AbortHandle>,
}

/// Whether a job runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum State {
    Running,
    /// How it ended, in a few words, and how long it had run.
    Ended(String, Duration),
}

/// Whether the end of a job is worth waiting for: that of a build is, that of a server is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Awaited {
    Yes,
    No,
}

/// What is new about a job.
pub(crate) struct News {
    pub(crate) printed: Printed,
    pub(crate) transcript: Option<String>,
    pub(crate) state: State,
    pub(crate) age: Duration,
}

impl Jobs {
    /// A look at them that does not keep them alive.
    pub fn view(&self) -> JobsView {
        JobsView(Arc::downgrade(&self.shared))
    }

    /// Whether one more may run; the error tells the model what to do about it.
    pub(crate) fn room(&self) -> Result<(), Error> {
        let running = self.list().into_iter().filter(|job| job.is_running()).count();
        match running < MAX_RUNNING {
            true => Ok(()),
            false => Err(Error::Failed(format!(
                "{running} jobs run already; end some with job_kill"
            ))),
        }
    }

    /// Takes a command into the background. Its end is told in the notices.
    pub(crate) fn adopt(&self, running: Running, notices: Notices, end: Awaited) -> Arc<Job> {
        let mut known = self.known();
        known.last += 1;
        let job = Arc::new(Job {
            id: known.last,
            command: running.command.clone(),
            started: running.started,
            live: Mutex::new(Live {
                unread: Capture::new(UNREAD),
                transcript: None,
                task: None,
            }),
            state: watch::Sender::new(State::Running),
            stop: Notify::new(),
        });
        let expected = match end {
            Awaited::Yes => Some(notices.announce()),
            Awaited::No => None,
        };
        let task = tokio::spawn(keep(Arc::clone(&job), running, notices, expected));
        job.live().task = Some(task.abort_handle());
        known.jobs.insert(job.id, Arc::clone(&job));
        known.forget();
        job
    }

    /// The job of this number.
    pub(crate) fn get(&self, id: u32) -> Result<Arc<Job>, Error> {
        let known = self.known();
        known.jobs.get(&id).cloned().ok_or_else(|| {
            let ids: Vec<String> = known.jobs.keys().map(u32::to_string).collect();
            Error::Failed(match ids.is_empty() {
                true => format!("there is no job {id}; no command runs in the background"),
                false => format!("there is no job {id}; there are {}", ids.join(", ")),
            })
        })
    }

    /// All that are known, in the order in which they were started.
    pub(crate) fn list(&self) -> Vec<Arc<Job>> {
        self.known().jobs.values().cloned().collect()
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.shared.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let known = self.known.get_mut().unwrap_or_else(PoisonError::into_inner);
        for job in known.jobs.values() {
            // With the task goes the process, and with that all it started.
            job.live().task.iter().for_each(AbortHandle::abort);
        }
    }
}

impl Known {
    /// Forgets the oldest of those that have ended, if there are too many.
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

impl Job {
    pub(crate) fn state(&self) -> State {
        self.state.borrow().clone()
    }

    pub(crate) fn is_running(&self) -> bool {
        *self.state.borrow() == State::Running
    }

    /// How long it has run.
    pub(crate) fn age(&self) -> Duration {
        match self.state() {
            State::Running => self.started.elapsed(),
            State::Ended(_, age) => age,
        }
    }

    /// Waits for its end, but no longer than this.
    pub(crate) async fn wait(&self, most: Duration) {
        let mut state = self.state.subscribe();
        let ended = state.wait_for(|state| *state != State::Running);
        // That it still runs is no failure.
        drop(tokio::time::timeout(most, ended).await);
    }

    /// Tells it to end, and waits until it has.
    pub(crate) async fn kill(&self, most: Duration) {
        self.stop.notify_one();
        self.wait(most).await;
    }

    /// What it has printed since the last look, and how it is.
    pub(crate) fn look(&self) -> News {
        let mut live = self.live();
        let unread = std::mem::replace(&mut live.unread, Capture::new(UNREAD));
        News {
            printed: unread.finish(),
            transcript: live.transcript.clone(),
            state: self.state(),
            age: self.age(),
        }
    }

    /// The end of what it has printed since the last look, which this does not count as.
    pub(crate) fn peek(&self, most: usize) -> String {
        let printed = self.live().unread.clone().finish();
        let text = match printed.tail.is_empty() {
            true => printed.head,
            false => printed.tail,
        };
        let start = text.ceil_char_boundary(text.len().saturating_sub(most));
        text[start..].to_owned()
    }

    fn live(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The number of a job, however the model writes it.
pub(crate) fn number<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Number {
        Plain(u32),
        Text(String),
    }
    match Number::deserialize(deserializer)? {
        Number::Plain(number) => Ok(number),
        Number::Text(text) => {
            let digits = text.trim().trim_start_matches("job").trim();
            digits
                .parse()
                .map_err(|_| serde::de::Error::custom(format!("`{text}` is not the number of a job")))
        }
    }
}

/// Reads what a job prints until it ends, and tells of that.
async fn keep(job: Arc<Job>, mut running: Running, notices: Notices, expected: Option<Expected>) {
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
        live.transcript = running.transcript();
    }
    let exit = running.process.exit().await;
    let end = ending(&exit, running.limit);
    // Whoever waits sees the end anyway.
    let watched = job.state.receiver_count() > 0;
    job.state.send_replace(State::Ended(end.clone(), exit.duration));
    if !watched {
        notices.tell(Notice {
            source: format!("job {}", job.id),
            text: told(&job, &exit, &end),
        });
    }
    drop(expected);
}

fn told(job: &Job, exit: &Exit, end: &str) -> String {
    let Printed { head, tail, .. } = &exit.output;
    let all = if tail.is_empty() { head } else { tail };
    let start = all.ceil_char_boundary(all.len().saturating_sub(LAST_WORDS));
    let words = all[start..].trim();
    let seconds = exit.duration.as_secs_f64();
    let command = one_line(&job.command, MAX_COMMAND);
    let first = format!("Job {} (`{command}`) has ended after {seconds:.0} s: {end}.", job.id);
    match words.is_empty() {
        true => first,
        false => format!("{first} The end of its output:\n{words}"),
    }
}
