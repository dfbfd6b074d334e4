//! The reader thread. It starts with the first read.

use crate::connect;
use crate::queue::ReadJob;
use rusqlite::Connection;
use session::Error;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread::{Builder, JoinHandle};

/// The reader thread.
pub(crate) struct DbReader {
    path: PathBuf,
    state: Mutex<ReaderState>,
}

enum ReaderState {
    NotStarted,
    Running(ReaderThread),
    Closed,
}

struct ReaderThread {
    jobs: mpsc::Sender<ReadJob>,
    thread: JoinHandle<()>,
}

impl DbReader {
    pub(crate) fn new(path: PathBuf) -> Self {
        DbReader {
            path,
            state: Mutex::new(ReaderState::NotStarted),
        }
    }

    /// Enqueues a read. A job that cannot run is dropped, which notifies its caller.
    pub(crate) fn read(&self, job: ReadJob) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let ReaderState::NotStarted = *state {
            match start(self.path.clone()) {
                Ok(running) => *state = ReaderState::Running(running),
                Err(error) => {
                    return job(Err(Error::Unusable {
                        path: self.path.clone(),
                        detail: error.to_string(),
                    }));
                }
            }
        }
        match &*state {
            ReaderState::Running(running) => running.jobs.send(job).unwrap_or_default(),
            ReaderState::NotStarted | ReaderState::Closed => {}
        }
    }

    /// Ends the thread after the pending reads.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let last = std::mem::replace(&mut *state, ReaderState::Closed);
        drop(state);
        if let ReaderState::Running(ReaderThread { jobs, thread }) = last {
            drop(jobs);
            thread.join().unwrap_or_default();
        }
    }
}

fn start(path: PathBuf) -> std::io::Result<ReaderThread> {
    let (jobs, inbox) = mpsc::channel();
    let thread = Builder::new()
        .name("store-reader".into())
        .spawn(move || serve(&path, &inbox))?;
    Ok(ReaderThread { jobs, thread })
}

fn serve(path: &Path, inbox: &mpsc::Receiver<ReadJob>) {
    let mut connection: Option<Connection> = None;
    while let Ok(job) = inbox.recv() {
        if connection.is_none() {
            match connect::open_reader(path) {
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
