//! The calls that are under way at one server: whom it may ask, and who is told of its progress.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::ProgressToken;
use tokio::time::Instant;
use tool::Context;

/// The calls that are under way at one server.
#[derive(Clone, Default)]
pub(crate) struct Calls(Arc<Mutex<Table>>);

#[derive(Default)]
struct Table {
    next: u64,
    calls: BTreeMap<u64, Call>,
}

struct Call {
    context: Context,
    token: Option<ProgressToken>,
    /// When the server last showed that it is at work.
    heard: Instant,
    /// How many questions to the person are open.
    asking: usize,
}

/// A call that is under way, as long as this is held.
pub(crate) struct Underway {
    calls: Calls,
    id: u64,
}

/// A question to the person that is open, as long as this is held.
pub(crate) struct Asking {
    calls: Calls,
    id: u64,
}

impl Calls {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call begins.
    pub(crate) fn begin(&self, context: Context) -> Underway {
        let mut table = self.table();
        table.next += 1;
        let id = table.next;
        let call = Call {
            context,
            token: None,
            heard: Instant::now(),
            asking: 0,
        };
        table.calls.insert(id, call);
        drop(table);
        Underway {
            calls: self.clone(),
            id,
        }
    }

    /// The server wants something of the person or the model: the newest call is what it is about.
    pub(crate) fn ask(&self) -> Option<(Context, Asking)> {
        let mut table = self.table();
        let (id, call) = table.calls.iter_mut().next_back()?;
        call.asking += 1;
        let asking = Asking {
            calls: self.clone(),
            id: *id,
        };
        Some((call.context.clone(), asking))
    }

    /// The server tells how far it is.
    pub(crate) fn progress(&self, token: &ProgressToken, text: String) {
        let mut table = self.table();
        let only = table.calls.len() == 1;
        let call = table.calls.values_mut().find(|call| match &call.token {
            Some(own) => own == token,
            None => only,
        });
        if let Some(call) = call {
            call.heard = Instant::now();
            call.context.progress.show(&call.context.call, text);
        }
    }
}

impl Underway {
    /// What the server calls its progress by.
    pub(crate) fn known_as(&self, token: ProgressToken) {
        if let Some(call) = self.calls.table().calls.get_mut(&self.id) {
            call.token = Some(token);
        }
    }

    /// When the server last showed that it is at work; now, while the person is asked something.
    pub(crate) fn heard(&self) -> Instant {
        let table = self.calls.table();
        match table.calls.get(&self.id) {
            Some(call) if call.asking == 0 => call.heard,
            Some(_) | None => Instant::now(),
        }
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        self.calls.table().calls.remove(&self.id);
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        if let Some(call) = self.calls.table().calls.get_mut(&self.id) {
            call.asking = call.asking.saturating_sub(1);
            call.heard = Instant::now();
        }
    }
}
