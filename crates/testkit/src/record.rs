//! The requests that came in, and what became of them.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use http::{HeaderMap, Method};
use serde_json::Value;
use tokio::sync::watch;

use crate::fault::Fault;
use crate::seen::Seen;
use crate::wire::Route;

/// Of more than this, the oldest bodies are forgotten.
const KEPT_BODIES: usize = 512 << 20;

/// A request that came in, and what became of it.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Its number, from 1.
    pub number: usize,
    /// When it was there in full.
    pub at: Instant,
    /// Its method.
    pub method: Method,
    /// Path and query.
    pub path: String,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body. Empty once half a gigabyte of later ones has come.
    pub body: Bytes,
    /// What it got.
    pub outcome: Outcome,
    /// How the response ended; `None` while it is under way.
    pub finish: Option<Finish>,
}

/// What a request got.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The real answer of a turn.
    Turn {
        /// Which, from 0.
        turn: usize,
    },
    /// A fault of a turn.
    Fault {
        /// Which turn.
        turn: usize,
        /// Which fault.
        fault: Fault,
    },
    /// The answer for requests without tools.
    Side,
    /// A closing sentence, since the script has no turn for it.
    Over,
    /// An error, since the request breaks the rules of the API.
    Refused {
        /// Why.
        message: String,
    },
    /// A count of tokens.
    Counted,
    /// A list of models or the like.
    Discovery,
    /// 404.
    NotFound,
}

/// How a response ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// All that was to be sent was handed over (a cut connection counts).
    Sent,
    /// The client went away first.
    Gone,
}

impl Recorded {
    /// The body as JSON; null if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The request in the form that all wires share, if it was one for a model.
    pub fn seen(&self) -> Option<Seen> {
        let path = self.path.split('?').next().unwrap_or_default();
        let route = Route::of(&self.method, path)?;
        let mut seen = route.read(serde_json::from_slice(&self.body).ok()?);
        seen.path = self.path.clone();
        seen.headers = self.headers.clone();
        seen.turn = match self.outcome {
            Outcome::Turn { turn } | Outcome::Fault { turn, .. } => turn,
            _ => seen.progress(&[]),
        };
        Some(seen)
    }
}

/// All requests so far, to be waited on.
#[derive(Debug, Default)]
pub(crate) struct Records {
    log: Mutex<Log>,
    changes: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Log {
    records: Vec<Recorded>,
    /// Bytes of the bodies that are still there.
    kept: usize,
    /// How many bodies are not.
    forgotten: usize,
}

impl Records {
    pub(crate) fn all(&self) -> Vec<Recorded> {
        self.log().records.clone()
    }

    pub(crate) fn get(&self, number: usize) -> Option<Recorded> {
        self.log().records.get(number.checked_sub(1)?).cloned()
    }

    /// Adds the record that is made for the next number, and returns the number.
    pub(crate) fn add(&self, record: impl FnOnce(usize) -> Recorded) -> usize {
        let number = self.log().add(record);
        self.changes.send_modify(|version| *version += 1);
        number
    }

    pub(crate) fn change(&self, number: usize, change: impl FnOnce(&mut Recorded)) {
        if let Some(record) = self.log().records.get_mut(number - 1) {
            change(record);
        }
        self.changes.send_modify(|version| *version += 1);
    }

    pub(crate) async fn until(&self, is_so: impl Fn(&[Recorded]) -> bool) {
        let mut changes = self.changes.subscribe();
        while !is_so(&self.log().records) {
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
    fn add(&mut self, record: impl FnOnce(usize) -> Recorded) -> usize {
        let record = record(self.records.len() + 1);
        self.kept += record.body.len();
        self.records.push(record);
        while self.kept > KEPT_BODIES
            && let Some(oldest) = self.records.get_mut(self.forgotten)
        {
            self.kept -= std::mem::take(&mut oldest.body).len();
            self.forgotten += 1;
        }
        self.records.len()
    }
}
