//! The thread that reads, beside the one that writes. It starts with the first question.

use crate::connect;
use crate::queue::Job;
use rusqlite::Connection;
use session::Error;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread::{Builder, JoinHandle};

/// The thread that reads.
pub(crate) struct Reader {
    path: PathBuf,
    state: Mutex<State>,
}

enum State {
    Unasked,
    Running(Running),
    Closed,
}

struct Running {
    jobs: mpsc::Sender<Job>,
    thread: JoinHandle<()>,
}

impl Reader {
    pub(crate) fn new(path: PathBuf) -> Self {
        Reader {
            path,
            state: Mutex::new(State::Unasked),
        }
    }

    /// Has something read. A job that cannot be is dropped, which whoever waits for it notices.
    pub(crate) fn read(&self, job: Job) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let State::Unasked = *state {
            match start(self.path.clone()) {
                Ok(running) => *state = State::Running(running),
                Err(error) => {
                    return job(Err(Error::Unusable {
                        path: self.path.clone(),
                        detail: error.to_string(),
                    }));
                }
            }
        }
        match &*state {
            State::Running(running) => running.jobs.send(job).unwrap_or_default(),
            State::Unasked | State::Closed => {}
        }
    }

    /// Ends the thread after the questions that were asked.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let last = std::mem::replace(&mut *state, State::Closed);
        drop(state);
        if let State::Running(Running { jobs, thread }) = last {
            drop(jobs);
            thread.join().unwrap_or_default();
        }
    }
}

fn start(path: PathBuf) -> std::io::Result<Running> {
    let (jobs, inbox) = mpsc::channel();
    let thread = Builder::new()
        .name("store-reader".into())
        .spawn(move || answer(&path, &inbox))?;
    Ok(Running { jobs, thread })
}

fn answer(path: &Path, inbox: &mpsc::Receiver<Job>) {
    let mut connection: Option<Connection> = None;
    while let Ok(job) = inbox.recv() {
        if connection.is_none() {
            match connect::reading(path) {
                Ok(opened) => connection = Some(opened),
                Err(error) => {
                    job(Err(error));
                    continue;
                }
            }
        }
        if let Some(connection) = &connection {
            job(Ok(connection));
        }
    }
}
