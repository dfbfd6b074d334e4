//! The project's folders, an open file, and what a language server finds wrong.

use std::collections::VecDeque;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};
use prompt::panel::{Panel, Sight, Volatility};
use workspace::{Kind, Location, Tracked};

use crate::code_server::CodeServer;
use crate::project::{Project, aside};

/// What a tree takes at most, in characters.
const TREE_CHARS: usize = 4_000;
/// As many entries of one folder are shown.
const ENTRIES: usize = 60;
/// A longer file is not read.
const FILE_BYTES: usize = 5 * 1024 * 1024;
/// As many findings are shown.
const FINDINGS: usize = 50;

/// The project's folders and files, the upper ones first.
pub(super) struct Tree(pub(super) Project);

impl Panel for Tree {
    fn name(&self) -> &str {
        "tree"
    }

    fn volatility(&self) -> Volatility {
        Volatility::Session
    }

    fn snapshot<'a>(&'a self, _: &'a Sight<'a>) -> BoxFuture<'a, Option<String>> {
        let root = self.0.workspace.locate("").ok();
        async move { aside(move || Ok(root.and_then(tree))).await.ok().flatten() }.boxed()
    }
}

/// Folders are looked into as long as there is room, the upper ones first.
fn tree(root: Location) -> Option<String> {
    struct Line {
        depth: usize,
        text: String,
        below: Vec<usize>,
    }
    let mut lines: Vec<Line> = Vec::new();
    let mut roots = Vec::new();
    let mut queue = VecDeque::from([(root, None::<usize>)]);
    let mut room = TREE_CHARS;
    while let Some((folder, parent)) = queue.pop_front() {
        let Ok(listing) = folder.list(ENTRIES) else { continue };
        let depth = parent.map_or(0, |parent| lines[parent].depth + 1);
        let hidden = listing.total - listing.entries.len();
        let shown = listing
            .entries
            .iter()
            .filter(|entry| entry.tracked == Tracked::Yes && !entry.name.starts_with('.'));
        let mut texts: Vec<(String, Option<Location>)> = shown
            .map(|entry| match entry.kind {
                Kind::Directory => (
                    format!("{}/", entry.name),
                    folder.sibling(folder.path().join(&entry.name)).ok(),
                ),
                Kind::File { .. } | Kind::Link | Kind::Other => (entry.name.clone(), None),
            })
            .collect();
        if hidden > 0 {
            texts.push((format!("… {hidden} more"), None));
        }
        let cost: usize = texts.iter().map(|(text, _)| text.chars().count() + depth + 1).sum();
        if cost > room {
            continue;
        }
        room -= cost;
        for (text, below) in texts {
            let place = lines.len();
            lines.push(Line {
                depth,
                text,
                below: Vec::new(),
            });
            match parent {
                Some(parent) => lines[parent].below.push(place),
                None => roots.push(place),
            }
            queue.extend(below.map(|folder| (folder, Some(place))));
        }
    }
    let mut text = String::new();
    let mut open: Vec<usize> = roots.into_iter().rev().collect();
    while let Some(place) = open.pop() {
        let line = &lines[place];
        text.push_str(&"\t".repeat(line.depth));
        text.push_str(&line.text);
        text.push('\n');
        open.extend(line.below.iter().rev());
    }
    Some(text).filter(|text| !text.is_empty())
}

/// A file, as it is.
pub(super) struct File {
    name: String,
    file: Location,
}

impl File {
    pub(super) fn new(project: &Project, path: &str) -> Result<Self, String> {
        let file = project.locate(path).map_err(|error| error.to_string())?;
        if !file.exists() || file.is_dir() {
            return Err(format!("{} is no file", file.shown()));
        }
        Ok(File {
            name: format!("file:{path}"),
            file,
        })
    }
}

impl Panel for File {
    fn name(&self) -> &str {
        &self.name
    }

    fn volatility(&self) -> Volatility {
        Volatility::Live
    }

    /// A file that is gone has nothing to show.
    fn snapshot<'a>(&'a self, _: &'a Sight<'a>) -> BoxFuture<'a, Option<String>> {
        let file = self.file.clone();
        async move {
            aside(move || {
                let text = file.read_text().map_err(crate::project::explain)?.content;
                Ok(match text.len() > FILE_BYTES {
                    true => format!("(The file has {} bytes: too many for a panel.)", text.len()),
                    false => text,
                })
            })
            .await
            .ok()
        }
        .boxed()
    }
}

/// What a language server finds wrong.
pub(super) struct Wrong(pub(super) Arc<dyn CodeServer>);

impl Panel for Wrong {
    fn name(&self) -> &str {
        "diagnostics"
    }

    fn volatility(&self) -> Volatility {
        Volatility::Turn
    }

    fn snapshot<'a>(&'a self, _: &'a Sight<'a>) -> BoxFuture<'a, Option<String>> {
        async move {
            let mut found = self.0.diagnostics(None).await?;
            found.sort();
            found.dedup();
            let total = found.len();
            let lines = found.iter().take(FINDINGS).map(|one| {
                let message = one.message.lines().next().unwrap_or_default();
                format!("{}:{} {}: {message}", one.path, one.line, one.severity.word())
            });
            let mut lines: Vec<String> = lines.collect();
            if total > FINDINGS {
                lines.push(format!("… {} more", total - FINDINGS));
            }
            Some(match lines.is_empty() {
                true => "nothing wrong".to_owned(),
                false => lines.join("\n"),
            })
        }
        .boxed()
    }
}
