//! The recorded requests of a session: their sections, differences and content.

mod difference;
mod rebuild;
mod sections;
mod text;

pub use difference::RequestDifference;
pub use sections::RequestSections;

use crate::failure::{Failure, Result};
use crate::selection::SessionSelection;
use host::sessions::short_id;
use model::Cost;
use session::{LedgerSection, RequestEnd, RequestRecord, SessionMeta, Store, Time};
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use store::SqliteStore;

/// The purpose of requests in turns.
const TURN: &str = "turn";

/// A session's own requests.
pub struct SessionRequests {
    store: Arc<SqliteStore>,
    meta: SessionMeta,
    /// The recorded requests, oldest first: those of turns, then others.
    requests: Vec<RequestRecord>,
    /// How many of them are requests of turns.
    turns: usize,
    /// The selected request, if any.
    chosen: Option<usize>,
}

impl SessionRequests {
    /// Loads the requests of `SESSION[:REQUEST]`.
    pub async fn open(named: Option<&str>, store: Arc<SqliteStore>, project: &Path) -> Result<SessionRequests> {
        let (session, request) = match named.map(|named| named.split_once(':').unwrap_or((named, ""))) {
            Some((session, request)) => (Some(session), Some(request).filter(|request| !request.is_empty())),
            None => (None, None),
        };
        let selection = SessionSelection {
            session,
            all_projects: false,
            project,
            since: Time(0),
        };
        let meta = selection.find(&store).await?;
        let mut below: HashSet<session::RequestId> = HashSet::new();
        for child in store.children(meta.id).await? {
            below.extend(
                store
                    .request_records(child.id)
                    .await?
                    .into_iter()
                    .map(|record| record.id),
            );
        }
        let records = store.request_records(meta.id).await?;
        let (mut requests, beside): (Vec<RequestRecord>, Vec<RequestRecord>) = records
            .into_iter()
            .filter(|record| is_listed(record) && !below.contains(&record.id))
            .partition(|record| record.purpose == TURN);
        let turns = requests.len();
        requests.extend(beside);
        if requests.is_empty() {
            return Err(
                Failure::usage(format!("session {} has no recorded requests", short_id(meta.id)))
                    .hint("earlier versions of hew did not record requests"),
            );
        }
        let mut session = SessionRequests {
            store,
            meta,
            requests,
            turns,
            chosen: None,
        };
        session.chosen = request.map(|request| session.choose(request)).transpose()?;
        Ok(session)
    }

    /// The folder of the session's project.
    pub fn project(&self) -> &Path {
        &self.meta.root
    }

    /// The model of the selected request.
    pub fn model(&self) -> &str {
        &self.requests[self.chosen()].model
    }

    /// The selected request; the newest one of a turn if none is selected.
    fn chosen(&self) -> usize {
        self.chosen.unwrap_or(self.turns.max(1) - 1)
    }

    /// The display name.
    fn name(&self, index: usize) -> String {
        format!("{}:{}", short_id(self.meta.id), self.number(index))
    }

    /// Its number; requests outside turns are numbered by purpose, such as `title-1`.
    fn number(&self, index: usize) -> String {
        if index < self.turns {
            return (index + 1).to_string();
        }
        let purpose = &self.requests[index].purpose;
        let before = self.requests[self.turns..=index].iter();
        let number = before.filter(|record| record.purpose == *purpose).count();
        format!("{}-{number}", purpose.replace(' ', "-"))
    }

    /// Finds a request by its number, counting from 1, or a part of its id.
    fn choose(&self, name: &str) -> Result<usize> {
        let session = short_id(self.meta.id);
        let hint = format!("`hew prompt explain {session}` lists them");
        let last = self.turns;
        if name == "last" {
            return Ok(self.chosen());
        }
        if let Ok(number) = name.parse::<usize>()
            && name.len() < 8
        {
            return match number.checked_sub(1).filter(|index| *index < last) {
                Some(index) => Ok(index),
                None => {
                    Err(Failure::usage(format!("session {session} has {last} requests, but no {number}")).hint(hint))
                }
            };
        }
        if let Some(index) = (last..self.requests.len()).find(|index| self.number(*index) == name) {
            return Ok(index);
        }
        let is_it = |record: &RequestRecord| record.id.to_string().starts_with(name);
        match self.requests.iter().filter(|record| is_it(record)).count() {
            1 => Ok(self.requests.iter().position(is_it).unwrap_or(0)),
            0 => Err(Failure::usage(format!("session {session} has no request `{name}`")).hint(hint)),
            several => Err(Failure::usage(format!("`{name}` fits {several} requests")).hint("use more of the id")),
        }
    }
}

/// Whether the content of a request is known, or it was in flight when hew was killed.
fn is_listed(record: &RequestRecord) -> bool {
    record.prompt.is_some() || record.outcome == RequestEnd::Interrupted
}

/// The cost of each section of a prompt; empty if prices are unknown.
pub(crate) fn prices(record: &RequestRecord) -> Option<Vec<Cost>> {
    let paid = record.prompt.as_ref()?.cost?;
    // The provider's report counts: cached tokens are at the beginning.
    let mut sections = record.sections.clone();
    prompt::distribute_cached(&mut sections, record.usage.cache_read);
    let sum = |of: fn(&LedgerSection) -> u64| sections.iter().map(of).sum::<u64>();
    let (cached, fresh) = (sum(|s| s.cached), sum(|s| s.tokens - s.cached));
    let share = |cost: Cost, part: u64, all: u64| match all {
        0 => 0,
        all => i64::try_from(i128::from(cost.nano_usd) * i128::from(part) / i128::from(all)).unwrap_or(0),
    };
    let price = |section: &LedgerSection| Cost {
        nano_usd: share(paid.cached, section.cached, cached)
            + share(paid.fresh, section.tokens - section.cached, fresh),
    };
    Some(sections.iter().map(price).collect())
}
