//! The received requests and their outcomes.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use http::{HeaderMap, Method};
use serde_json::Value;
use tokio::sync::watch;

use crate::fault::Fault;
use crate::parsed_request::ParsedRequest;
use crate::wire::Route;

/// The maximum size of stored bodies; older ones are dropped.
const MAX_BODY_BYTES: usize = 512 << 20;

/// A received request and its outcome.
#[derive(Clone, Debug)]
pub struct RecordedRequest {
    /// Its number, from 1.
    pub number: usize,
    /// When it was received completely.
    pub at: Instant,
    /// Its method.
    pub method: Method,
    /// Path and query.
    pub path: String,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body. Empty after half a gigabyte of later bodies.
    pub body: Bytes,
    /// The outcome.
    pub outcome: RequestOutcome,
    /// How the response ended; `None` while it is running.
    pub finish: Option<ResponseEnd>,
}

/// The outcome of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum RequestOutcome {
    /// The real reply of a turn.
    Turn {
        /// The turn, from 0.
        turn: usize,
    },
    /// A fault of a turn.
    Fault {
        /// The turn.
        turn: usize,
        /// The fault.
        fault: Fault,
    },
    /// The reply to requests without tools.
    Side,
    /// A closing sentence, because the script has no more turns.
    Over,
    /// An error, because the request violates the rules of the API.
    Refused {
        /// The reason.
        message: String,
    },
    /// A token count.
    Counted,
    /// A discovery response, such as a list of models.
    Discovery,
    /// 404.
    NotFound,
}

/// How a response ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseEnd {
    /// The whole response was sent (including a deliberately dropped connection).
    Sent,
    /// The client disconnected first.
    ClientDisconnected,
}

impl RecordedRequest {
    /// The body as JSON; null if it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The parsed request, if it is for a model.
    pub fn parsed(&self) -> Option<ParsedRequest> {
        let path = self.path.split('?').next().unwrap_or_default();
        let route = Route::of(&self.method, path)?;
        let mut seen = route.read(serde_json::from_slice(&self.body).ok()?);
        seen.path = self.path.clone();
        seen.headers = self.headers.clone();
        seen.turn = match self.outcome {
            RequestOutcome::Turn { turn } | RequestOutcome::Fault { turn, .. } => turn,
            _ => seen.progress(&[]),
        };
        Some(seen)
    }
}

/// All requests so far, with change notification.
#[derive(Debug, Default)]
pub(crate) struct Records {
    log: Mutex<Log>,
    changes: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Log {
    records: Vec<RecordedRequest>,
    /// The size of the stored bodies.
    kept: usize,
    /// The number of dropped bodies.
    forgotten: usize,
}

impl Records {
    pub(crate) fn all(&self) -> Vec<RecordedRequest> {
        self.log().records.clone()
    }

    pub(crate) fn get(&self, number: usize) -> Option<RecordedRequest> {
        self.log().records.get(number.checked_sub(1)?).cloned()
    }

    /// Adds the record for the next number and returns the number.
    pub(crate) fn add(&self, record: impl FnOnce(usize) -> RecordedRequest) -> usize {
        let number = self.log().add(record);
        self.changes.send_modify(|version| *version += 1);
        number
    }

    pub(crate) fn change(&self, number: usize, change: impl FnOnce(&mut RecordedRequest)) {
        if let Some(record) = self.log().records.get_mut(number - 1) {
            change(record);
        }
        self.changes.send_modify(|version| *version += 1);
    }

    pub(crate) async fn wait_until(&self, condition: impl Fn(&[RecordedRequest]) -> bool) {
        let mut changes = self.changes.subscribe();
        while !condition(&self.log().records) {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Log {
    fn add(&mut self, record: impl FnOnce(usize) -> RecordedRequest) -> usize {
        let record = record(self.records.len() + 1);
        self.kept += record.body.len();
        self.records.push(record);
        while self.kept > MAX_BODY_BYTES
            && let Some(oldest) = self.records.get_mut(self.forgotten)
        {
            self.kept -= std::mem::take(&mut oldest.body).len();
            self.forgotten += 1;
        }
        self.records.len()
    }
}
