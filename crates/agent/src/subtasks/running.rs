//! The running subtasks of a session: forwards commands to them and stops them.

use crate::inbox::Inbox;
use model::{Cost, Usage};
use session::{Command, RequestId, SessionId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, Semaphore, mpsc, watch};
use tool::SubtaskWait;

/// The maximum number of separate usage entries; further ones are added to the last entry.
const MAX_USAGE_ENTRIES: usize = 1024;

/// The running subtasks of a session.
pub(crate) struct RunningSubtasks {
    /// Limits the number of concurrent subtasks.
    pub(crate) slots: Arc<Semaphore>,
    table: Mutex<SubtaskTable>,
}

#[derive(Default)]
struct SubtaskTable {
    running: HashMap<SessionId, RunningSubtask>,
    /// The usage of subtasks that the session has not counted.
    ///
    /// A list and not a channel: subtasks also run while the session does not read, and must not wait for it.
    usage: Vec<SubtaskUsage>,
    /// No front end is left to answer questions.
    disconnected: bool,
}

/// A running subtask.
#[derive(Clone)]
pub(crate) struct RunningSubtask {
    pub(crate) commands: mpsc::Sender<Command>,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) subtasks: Arc<RunningSubtasks>,
    /// Interrupts and closes the subtask.
    pub(crate) stop: Arc<Notify>,
    pub(crate) wait: SubtaskWait,
    /// Closed when the subtask has ended.
    pub(crate) ended: watch::Receiver<()>,
}

/// The usage of one request of a subtask.
#[derive(Debug, Clone)]
pub(crate) struct SubtaskUsage {
    pub(crate) request: RequestId,
    pub(crate) usage: Usage,
    pub(crate) cost: Option<Cost>,
}

impl RunningSubtasks {
    /// An empty set that runs at most `parallel` subtasks.
    pub(crate) fn new(parallel: usize) -> Self {
        RunningSubtasks {
            slots: Arc::new(Semaphore::new(parallel.max(1))),
            table: Mutex::default(),
        }
    }

    pub(crate) fn add(&self, session: SessionId, subtask: RunningSubtask) {
        let mut table = self.lock();
        if table.disconnected {
            subtask.inbox.disconnect();
        }
        table.running.insert(session, subtask);
    }

    pub(crate) fn remove(&self, session: SessionId) {
        self.lock().running.remove(&session);
    }

    pub(crate) fn is_running(&self, session: SessionId) -> bool {
        self.lock().running.contains_key(&session)
    }

    /// Adds the usage of a subtask's request.
    pub(crate) fn add_usage(&self, added: SubtaskUsage) {
        let mut table = self.lock();
        let usage = &mut table.usage;
        if usage.len() < MAX_USAGE_ENTRIES {
            usage.push(added);
        } else if let Some(last) = usage.last_mut() {
            last.usage += added.usage;
            last.cost = match (last.cost, added.cost) {
                (Some(cost), Some(more)) => Some(cost + more),
                (cost, more) => cost.or(more),
            };
        }
    }

    /// Removes and returns the usage that the session has not counted.
    pub(crate) fn take_usage(&self) -> Vec<SubtaskUsage> {
        std::mem::take(&mut self.lock().usage)
    }

    /// Forwards a command to a subtask at any depth. Returns whether it was delivered.
    pub(crate) fn forward(&self, session: SessionId, command: Command) -> bool {
        let table = self.lock();
        if let Some(subtask) = table.running.get(&session) {
            // A full queue means that the subtask does not respond; the command is rejected.
            return subtask.commands.try_send(command).is_ok();
        }
        let mut others = table.running.values();
        others.any(|subtask| subtask.subtasks.forward(session, command.clone()))
    }

    /// Cancels the questions of all subtasks, also future ones, because no front end is left.
    pub(crate) fn disconnect(&self) {
        let mut table = self.lock();
        table.disconnected = true;
        for subtask in table.running.values() {
            subtask.inbox.disconnect();
            subtask.subtasks.disconnect();
        }
    }

    /// Stops a subtask if it is running.
    pub(crate) fn stop(&self, session: SessionId) {
        if let Some(subtask) = self.lock().running.get(&session) {
            subtask.stop.notify_one();
        }
    }

    /// Stops the subtasks that a call waited for, after the turn was interrupted, and waits for their end.
    pub(crate) async fn stop_awaited(&self) {
        self.stop_where(|subtask| subtask.wait == SubtaskWait::UntilDone).await;
    }

    /// The number of running subtasks.
    pub(crate) fn count(&self) -> usize {
        self.lock().running.len()
    }

    /// Stops all subtasks and waits for their end.
    pub(crate) async fn stop_all(&self) {
        self.stop_where(|_| true).await;
    }

    async fn stop_where(&self, is_stopped: impl Fn(&RunningSubtask) -> bool) {
        let stopped: Vec<RunningSubtask> = {
            let table = self.lock();
            table.running.values().filter(|it| is_stopped(it)).cloned().collect()
        };
        for subtask in &stopped {
            subtask.stop.notify_one();
        }
        for mut subtask in stopped {
            // The sender is dropped when the subtask has ended.
            while subtask.ended.changed().await.is_ok() {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, SubtaskTable> {
        // A panic while the lock is held cannot leave an operation incomplete.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
