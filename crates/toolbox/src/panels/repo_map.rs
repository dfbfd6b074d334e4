//! The panel with the most important files of the project.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use prompt::panel::{Panel, PanelContext, Volatility};
use search::CodeIndex;

use crate::support::project::{Project, run_blocking};
use crate::tools::repo_map::{RepoMapRequest, TOKENS, repo_map};

/// How long the first content waits for the index.
const LOAD_TIME: Duration = Duration::from_secs(10);
/// How long a later state waits for it.
const UPDATE_TIME: Duration = Duration::from_secs(1);

/// The most referenced files with their definitions, those about some words first.
pub(super) struct RepoMapPanel {
    name: String,
    project: Project,
    index: CodeIndex,
    words: String,
}

impl RepoMapPanel {
    pub(super) fn new(project: &Project, index: &CodeIndex, words: &str) -> Self {
        let name = match words {
            "" => "repo_map".to_owned(),
            words => format!("repo_map:{words}"),
        };
        Self {
            name,
            project: project.clone(),
            index: index.clone(),
            words: words.to_owned(),
        }
    }
}

impl Panel for RepoMapPanel {
    fn name(&self) -> &str {
        &self.name
    }

    fn volatility(&self) -> Volatility {
        Volatility::Session
    }

    /// An update in the background changes the index.
    fn version(&self) -> BoxFuture<'_, Option<u64>> {
        let current = self.index.current();
        let mut hasher = DefaultHasher::new();
        (current.file_count(), current.chunk_count(), current.stale_files()).hash(&mut hasher);
        async move { Some(hasher.finish()) }.boxed()
    }

    fn load(&self) -> BoxFuture<'_, ()> {
        let index = self.index.clone();
        async move {
            // The snapshot reports an error by its absence.
            drop(run_blocking(move || Ok(index.update_within(LOAD_TIME).ok())).await);
        }
        .boxed()
    }

    fn snapshot<'a>(&'a self, _: &'a PanelContext<'a>) -> BoxFuture<'a, Option<String>> {
        let (index, project) = (self.index.clone(), self.project.clone());
        let request = RepoMapRequest {
            words: self.words.clone(),
            folder: String::new(),
            tokens: TOKENS,
            patience: UPDATE_TIME,
        };
        async move {
            let map = run_blocking(move || repo_map(&index, &project, &request)).await.ok()?;
            let note = map.note.map(|note| format!("({note})\n")).unwrap_or_default();
            Some(map.text + &note).filter(|text| !text.is_empty())
        }
        .boxed()
    }
}
