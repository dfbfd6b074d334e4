//! Active calls of one server: which session it may ask, and who gets its progress.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::ProgressToken;
use tokio::time::Instant;
use tool::CallContext;

/// The active calls of one server.
#[derive(Clone, Default)]
pub(crate) struct McpCalls(Arc<Mutex<McpCallTable>>);

#[derive(Default)]
struct McpCallTable {
    next: u64,
    calls: BTreeMap<u64, McpCall>,
}

struct McpCall {
    context: CallContext,
    token: Option<ProgressToken>,
    /// Time of the last sign of activity.
    last_activity: Instant,
    /// Number of open questions to the user.
    asking: usize,
}

/// An active call, while this is held.
pub(crate) struct McpCallGuard {
    calls: McpCalls,
    id: u64,
}

/// An open question to the user, while this is held.
pub(crate) struct UserQuestionGuard {
    calls: McpCalls,
    id: u64,
}

impl McpCalls {
    fn table(&self) -> MutexGuard<'_, McpCallTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a call.
    pub(crate) fn begin(&self, context: CallContext) -> McpCallGuard {
        let mut table = self.table();
        table.next += 1;
        let id = table.next;
        let call = McpCall {
            context,
            token: None,
            last_activity: Instant::now(),
            asking: 0,
        };
        table.calls.insert(id, call);
        drop(table);
        McpCallGuard {
            calls: self.clone(),
            id,
        }
    }

    /// Begins a question of the server to the user or the model; it belongs to the newest call.
    pub(crate) fn begin_question(&self) -> Option<(CallContext, UserQuestionGuard)> {
        let mut table = self.table();
        let (id, call) = table.calls.iter_mut().next_back()?;
        call.asking += 1;
        let asking = UserQuestionGuard {
            calls: self.clone(),
            id: *id,
        };
        Some((call.context.clone(), asking))
    }

    /// Forwards a progress report.
    pub(crate) fn progress(&self, token: &ProgressToken, text: String) {
        let mut table = self.table();
        let only = table.calls.len() == 1;
        let call = table.calls.values_mut().find(|call| match &call.token {
            Some(own) => own == token,
            None => only,
        });
        if let Some(call) = call {
            call.last_activity = Instant::now();
            call.context.progress.send(&call.context.call, text);
        }
    }
}

impl McpCallGuard {
    /// Sets the progress token.
    pub(crate) fn set_progress_token(&self, token: ProgressToken) {
        if let Some(call) = self.calls.table().calls.get_mut(&self.id) {
            call.token = Some(token);
        }
    }

    /// Time of the last sign of activity; now, while a question is open.
    pub(crate) fn last_activity(&self) -> Instant {
        let table = self.calls.table();
        match table.calls.get(&self.id) {
            Some(call) if call.asking == 0 => call.last_activity,
            Some(_) | None => Instant::now(),
        }
    }
}

impl Drop for McpCallGuard {
    fn drop(&mut self) {
        self.calls.table().calls.remove(&self.id);
    }
}

impl Drop for UserQuestionGuard {
    fn drop(&mut self) {
        if let Some(call) = self.calls.table().calls.get_mut(&self.id) {
            call.asking = call.asking.saturating_sub(1);
            call.last_activity = Instant::now();
        }
    }
}
