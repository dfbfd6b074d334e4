//! Updates in the background: a thread that callers wait for as long as they want.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::{CodeIndex, Error, RefreshOutcome, RefreshPriority};

/// The thread that updates an index, if there is one.
#[derive(Debug, Default)]
pub(crate) struct UpdateWorker {
    state: Mutex<WorkerState>,
    changed: Condvar,
    /// Whether its priority is low, because nothing waits for it.
    is_unattended: AtomicBool,
}

#[derive(Debug, Default)]
struct WorkerState {
    is_running: bool,
    /// The outcome of the last update.
    outcome: Option<Result<RefreshOutcome, Error>>,
}

impl UpdateWorker {
    fn state(&self) -> MutexGuard<'_, WorkerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_unattended(&self) -> bool {
        self.is_unattended.load(Ordering::Relaxed)
    }
}

impl CodeIndex {
    /// Updates the index in a thread and waits for it up to a time limit, after which it continues at low priority. Returns
    /// `None` if it is not finished; what is finished can be searched.
    pub fn update_within(&self, limit: Duration) -> Result<Option<RefreshOutcome>, Error> {
        let deadline = Instant::now() + limit;
        // An update that began earlier may have missed the latest changes.
        if self.worker().state().is_running && self.wait(deadline)?.is_none() {
            return Ok(None);
        }
        self.start()?;
        self.wait(deadline)
    }

    fn start(&self) -> Result<(), Error> {
        let mut state = self.worker().state();
        if state.is_running {
            return Ok(());
        }
        let (index, stop) = self.for_worker();
        self.worker().is_unattended.store(false, Ordering::Relaxed);
        let work = move || {
            let refresh = || index.refresh(&stop, RefreshPriority::Adaptive);
            let mut outcome = refresh();
            // Another process updates the index: each attempt loads what that has written.
            while matches!(&outcome, Ok(outcome) if !outcome.is_complete)
                && index.progress().is_some()
                && !stop.is_due()
            {
                outcome = refresh();
            }
            let mut state = index.worker().state();
            *state = WorkerState {
                is_running: false,
                outcome: Some(outcome),
            };
            index.worker().changed.notify_all();
        };
        let started = std::thread::Builder::new().name("search-index".into()).spawn(work);
        state.is_running = started.map_err(|source| self.storage_error(source)).is_ok();
        Ok(())
    }

    fn wait(&self, deadline: Instant) -> Result<Option<RefreshOutcome>, Error> {
        let mut state = self.worker().state();
        while state.is_running {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                self.worker().is_unattended.store(true, Ordering::Relaxed);
                return Ok(None);
            }
            let waited = self.worker().changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        match &state.outcome {
            Some(Ok(outcome)) => Ok(Some(*outcome)),
            Some(Err(_)) | None => state.outcome.take().transpose(),
        }
    }
}
