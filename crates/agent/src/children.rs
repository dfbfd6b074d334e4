//! The subtasks of a session that are at work, and how they are reached and ended.

use crate::inbox::Inbox;
use crate::{Agents, Delegation};
use model::{Cost, Usage};
use session::{Command, RequestId, SessionId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, Semaphore, mpsc, watch};
use tool::Waiting;

/// The subtasks of a session that are at work.
pub(crate) struct Children {
    pub(crate) delegation: Delegation,
    /// Other agents that work can be handed to.
    pub(crate) agents: Option<Arc<dyn Agents>>,
    /// As many as may work at the same time.
    pub(crate) slots: Arc<Semaphore>,
    /// Where their requests are told, to be counted by the session too.
    pub(crate) counted: mpsc::UnboundedSender<Counted>,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    at_work: HashMap<SessionId, Child>,
    /// Nobody is left to answer questions.
    nobody: bool,
}

/// A subtask at work.
#[derive(Clone)]
pub(crate) struct Child {
    pub(crate) commands: mpsc::Sender<Command>,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) children: Arc<Children>,
    /// Stops it in good order.
    pub(crate) stop: Arc<Notify>,
    pub(crate) waiting: Waiting,
    /// Closed when it has ended.
    pub(crate) ended: watch::Receiver<()>,
}

/// A request of a subtask.
#[derive(Debug, Clone)]
pub(crate) struct Counted {
    pub(crate) request: RequestId,
    pub(crate) usage: Usage,
    pub(crate) cost: Option<Cost>,
}

impl Children {
    /// Nobody yet; their requests are told at the other end.
    pub(crate) fn new(
        delegation: Delegation,
        agents: Option<Arc<dyn Agents>>,
    ) -> (Arc<Self>, mpsc::UnboundedReceiver<Counted>) {
        let (counted, requests) = mpsc::unbounded_channel();
        let children = Children {
            delegation,
            agents,
            slots: Arc::new(Semaphore::new(delegation.parallel.max(1))),
            counted,
            inner: Mutex::default(),
        };
        (Arc::new(children), requests)
    }

    pub(crate) fn add(&self, session: SessionId, child: Child) {
        let mut inner = self.lock();
        if inner.nobody {
            child.inbox.nobody_answers();
        }
        inner.at_work.insert(session, child);
    }

    pub(crate) fn remove(&self, session: SessionId) {
        self.lock().at_work.remove(&session);
    }

    pub(crate) fn is_at_work(&self, session: SessionId) -> bool {
        self.lock().at_work.contains_key(&session)
    }

    /// Passes a command on to a subtask, or to one of a subtask. Says whether there was anybody to pass it to.
    pub(crate) fn pass(&self, session: SessionId, command: Command) -> bool {
        let inner = self.lock();
        if let Some(child) = inner.at_work.get(&session) {
            // Whoever has so many commands waiting will not miss one more.
            return child.commands.try_send(command).is_ok();
        }
        let mut others = inner.at_work.values();
        others.any(|child| child.children.pass(session, command.clone()))
    }

    /// Nobody is left to answer questions of any subtask.
    pub(crate) fn nobody_answers(&self) {
        let mut inner = self.lock();
        inner.nobody = true;
        for child in inner.at_work.values() {
            child.inbox.nobody_answers();
            child.children.nobody_answers();
        }
    }

    /// Stops a subtask in good order, if it is still at work.
    pub(crate) fn stop(&self, session: SessionId) {
        if let Some(child) = self.lock().at_work.get(&session) {
            child.stop.notify_one();
        }
    }

    /// Waits for those to end whom nobody waits for any more, because the turn was stopped.
    pub(crate) async fn settle(&self) {
        self.end(|child| child.waiting == Waiting::UntilDone).await;
    }

    /// Ends all.
    pub(crate) async fn close(&self) {
        self.end(|_| true).await;
    }

    async fn end(&self, which: impl Fn(&Child) -> bool) {
        let ending: Vec<Child> = self
            .lock()
            .at_work
            .values()
            .filter(|child| which(child))
            .cloned()
            .collect();
        for child in &ending {
            child.stop.notify_one();
        }
        for mut child in ending {
            // It is over when the other end is gone.
            while child.ended.changed().await.is_ok() {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic while the lock is held cannot leave an insertion or a removal half done.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
