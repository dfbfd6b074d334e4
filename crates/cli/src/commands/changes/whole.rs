//! A file that is not text, or was not at some time: one change, to be taken as good or back as a whole.

use super::gather::Happening;
use crate::failure::Result;
use bytes::Bytes;
use edit::{Authors, Status};
use session::{BlobId, Store};

/// What counts as accepted and what the file holds. Nothing means no file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Whole {
    pub(super) base: Option<Bytes>,
    pub(super) current: Option<Bytes>,
    /// Whose the difference is. What others did to such a file cannot be told apart from what the agent did.
    pub(super) authors: Authors,
}

/// What became of a file that is not text.
pub(super) enum Traced {
    /// Nothing is left to look at.
    Settled,
    /// It waits for review.
    Waiting(Whole),
    /// A version that is needed was not kept.
    Lost,
}

/// The names of two versions, and who made the difference.
struct Between {
    base: Option<BlobId>,
    current: Option<BlobId>,
    authors: Authors,
}

/// What waits for review in a file, by what happened to it and what it holds now.
pub(super) async fn follow(store: &dyn Store, happenings: &[Happening<'_>], disk: Option<&Bytes>) -> Result<Traced> {
    let mut waiting: Option<Between> = None;
    for happening in happenings {
        let (first, second) = happening.contents();
        waiting = match happening {
            // Only its permissions have changed.
            Happening::Changed(_) if first == second => waiting,
            Happening::Changed(_) => {
                let before_id = first.cloned();
                let before = waiting.and_then(|between| between.person_wrote(&before_id));
                let (base, authors) = match before {
                    Some(between) => (between.base, between.authors),
                    None => (before_id, Authors::Agent),
                };
                Between::new(base, second.cloned(), authors)
            }
            Happening::Reviewed(_) => {
                let authors = waiting.map_or(Authors::Agent, |between| between.authors);
                Between::new(first.cloned(), second.cloned(), authors)
            }
        };
    }
    let Some(between) = waiting else {
        return Ok(Traced::Settled);
    };
    let versions = (read(store, between.base).await?, read(store, between.current).await?);
    let (Some(base), Some(then)) = versions else {
        return Ok(Traced::Lost);
    };
    let authors = match (&then, disk) {
        (then, disk) if then.as_ref() == disk => between.authors,
        // Whoever removes a file, or puts one where the agent removed it, has decided about it.
        (None, _) | (_, None) => return Ok(Traced::Settled),
        (Some(_), Some(_)) => Authors::Mixed,
    };
    let current = disk.cloned();
    if base == current {
        return Ok(Traced::Settled);
    }
    Ok(Traced::Waiting(Whole { base, current, authors }))
}

impl Whole {
    /// What happened to the file as a whole.
    pub(super) fn status(&self) -> Status {
        match (&self.base, &self.current) {
            (None, _) => Status::Created,
            (Some(_), None) => Status::Deleted,
            (Some(_), Some(_)) => Status::Modified,
        }
    }
}

impl Between {
    fn new(base: Option<BlobId>, current: Option<BlobId>, authors: Authors) -> Option<Self> {
        (base != current).then_some(Between { base, current, authors })
    }

    fn person_wrote(self, now: &Option<BlobId>) -> Option<Self> {
        match (&self.current, now) {
            (then, now) if then == now => Some(self),
            (None, _) | (_, None) => None,
            (Some(_), Some(_)) => Between::new(self.base, now.clone(), Authors::Mixed),
        }
    }
}

/// A version of a file, which may be that there was none; `None` where it was not kept.
async fn read(store: &dyn Store, id: Option<BlobId>) -> Result<Option<Option<Bytes>>> {
    match id {
        Some(id) => Ok(store.get_blob(id).await?.map(Some)),
        None => Ok(Some(None)),
    }
}
