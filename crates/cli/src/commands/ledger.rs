//! What the requests of a session were made of: `hew prompt explain`, `hew prompt diff`, and the request itself again.

mod again;
mod diff;
mod explain;
mod readable;

pub(super) use again::{Form, show};
pub(super) use diff::diff;
pub(super) use explain::explain;

use super::run::{find, short};
use crate::args::Global;
use crate::environment::Environment;
use crate::failure::{Failure, Result};
use crate::{project, wiring};
use model::Cost;
use session::{Meta, Record, Section, Store};
use std::collections::HashSet;
use std::sync::Arc;
use store::Sqlite;

/// What requests of turns are for.
const TURN: &str = "turn";

/// A session's own requests.
struct Book {
    store: Arc<Sqlite>,
    meta: Meta,
    /// Those whose prompts are known, oldest first: the requests of turns, then those beside them.
    requests: Vec<Record>,
    /// How many of them are requests of turns.
    turns: usize,
    /// Which of them is meant, where one was named.
    chosen: Option<usize>,
}

impl Book {
    /// Opens the book at `SESSION[:REQUEST]`.
    async fn open(named: Option<&str>, global: &Global, env: &Environment) -> Result<Book> {
        let (session, request) = match named.map(|named| named.split_once(':').unwrap_or((named, ""))) {
            Some((session, request)) => (session, Some(request).filter(|request| !request.is_empty())),
            None => ("", None),
        };
        let store = wiring::open_store(env)?;
        let here = project::root(global.cwd.as_deref(), env)?;
        let session = Some(session).filter(|name| !name.is_empty() && *name != "last");
        let meta = find(&store, session, &here).await?;
        let mut below: HashSet<session::RequestId> = HashSet::new();
        for child in store.children(meta.id).await? {
            below.extend(store.records(child.id).await?.into_iter().map(|record| record.id));
        }
        let records = store.records(meta.id).await?;
        let (mut requests, beside): (Vec<Record>, Vec<Record>) = records
            .into_iter()
            .filter(|record| record.prompt.is_some() && !below.contains(&record.id))
            .partition(|record| record.purpose == TURN);
        let turns = requests.len();
        requests.extend(beside);
        if requests.is_empty() {
            return Err(Failure::usage(format!(
                "nothing is known of the requests of session {}",
                short(meta.id)
            ))
            .hint("sessions of earlier versions of hew did not keep what their requests were made of"));
        }
        let mut book = Book {
            store,
            meta,
            requests,
            turns,
            chosen: None,
        };
        book.chosen = request.map(|request| book.choose(request)).transpose()?;
        Ok(book)
    }

    /// The one that is meant; the newest of a turn if none was named.
    fn chosen(&self) -> usize {
        self.chosen.unwrap_or(self.turns.max(1) - 1)
    }

    /// What people call it.
    fn name(&self, place: usize) -> String {
        format!("{}:{}", short(self.meta.id), self.number(place))
    }

    /// Its number; those beside turns are counted by what they were for, such as `title-1`.
    fn number(&self, place: usize) -> String {
        if place < self.turns {
            return (place + 1).to_string();
        }
        let purpose = &self.requests[place].purpose;
        let before = self.requests[self.turns..=place].iter();
        let number = before.filter(|record| record.purpose == *purpose).count();
        format!("{}-{number}", purpose.replace(' ', "-"))
    }

    /// The request that a person means: its number, counting from 1, or a part of its id.
    fn choose(&self, name: &str) -> Result<usize> {
        let session = short(self.meta.id);
        let hint = format!("`hew prompt explain {session}` lists them");
        let last = self.turns;
        if name == "last" {
            return Ok(self.chosen());
        }
        if let Ok(number) = name.parse::<usize>()
            && name.len() < 8
        {
            return match number.checked_sub(1).filter(|place| *place < last) {
                Some(place) => Ok(place),
                None => {
                    Err(Failure::usage(format!("session {session} has {last} requests, but no {number}")).hint(hint))
                }
            };
        }
        if let Some(place) = (last..self.requests.len()).find(|place| self.number(*place) == name) {
            return Ok(place);
        }
        let is_it = |record: &Record| record.id.to_string().starts_with(name);
        match self.requests.iter().filter(|record| is_it(record)).count() {
            1 => Ok(self.requests.iter().position(is_it).unwrap_or(0)),
            0 => Err(Failure::usage(format!("session {session} has no request `{name}`")).hint(hint)),
            several => Err(Failure::usage(format!("`{name}` fits {several} requests")).hint("write more of its id")),
        }
    }
}

/// What each section of a prompt cost; nothing where prices are not known.
pub(super) fn prices(record: &Record) -> Option<Vec<Cost>> {
    let paid = record.prompt.as_ref()?.paid?;
    // The provider's word counts: what it read from its cache was the beginning.
    let mut sections = record.sections.clone();
    prompt::level(&mut sections, record.usage.cache_read);
    let sum = |of: fn(&Section) -> u64| sections.iter().map(of).sum::<u64>();
    let (cached, fresh) = (sum(|s| s.cached), sum(|s| s.tokens - s.cached));
    let share = |cost: Cost, part: u64, all: u64| match all {
        0 => 0,
        all => i64::try_from(i128::from(cost.nano_usd) * i128::from(part) / i128::from(all)).unwrap_or(0),
    };
    let price = |section: &Section| Cost {
        nano_usd: share(paid.cached, section.cached, cached)
            + share(paid.fresh, section.tokens - section.cached, fresh),
    };
    Some(sections.iter().map(price).collect())
}
