//! Panels for the directory tree, a file, and diagnostics.

use super::PanelError;
use super::polled_version::PolledVersion;
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};
use prompt::panel::{Panel, PanelContext, Volatility};
use workspace::{EntryKind, IgnoreStatus, Location, Workspace};

use crate::support::code_server::CodeServer;
use crate::support::project::{Project, run_blocking};

/// Maximum characters of the tree.
const TREE_CHARS: usize = 4_000;
/// Maximum entries shown per directory.
const ENTRIES: usize = 60;
/// Maximum size of a file.
const FILE_BYTES: usize = 5 * 1024 * 1024;
/// Maximum number of diagnostics shown.
const FINDINGS: usize = 50;

/// The project's directory tree.
pub(super) struct TreePanel {
    project: Project,
    version: PolledVersion,
}

impl TreePanel {
    pub(super) fn new(project: &Project) -> Self {
        TreePanel {
            project: project.clone(),
            version: PolledVersion::default(),
        }
    }

    async fn text(&self) -> Option<String> {
        let workspace = self.project.workspace.clone();
        run_blocking(move || Ok(tree(&workspace))).await.ok().flatten()
    }
}

impl Panel for TreePanel {
    fn name(&self) -> &str {
        "tree"
    }

    fn volatility(&self) -> Volatility {
        Volatility::Session
    }

    /// Other programs may create and remove files.
    fn version(&self) -> BoxFuture<'_, Option<u64>> {
        async { Some(self.version.get(self.text()).await) }.boxed()
    }

    fn snapshot<'a>(&'a self, _: &'a PanelContext<'a>) -> BoxFuture<'a, Option<String>> {
        self.text().boxed()
    }
}

/// Renders the tree breadth-first, up to the size limit, the additional folders of the project last.
fn tree(workspace: &Workspace) -> Option<String> {
    struct TreeLine {
        depth: usize,
        text: String,
        below: Vec<usize>,
    }
    let mut lines: Vec<TreeLine> = Vec::new();
    let mut roots = Vec::new();
    let mut queue = VecDeque::from([(workspace.locate("").ok()?, None::<usize>)]);
    for (index, folder) in workspace.more().iter().enumerate() {
        lines.push(TreeLine {
            depth: 0,
            text: format!("{}/", folder.display()),
            below: Vec::new(),
        });
        queue.extend(workspace.locate(folder).ok().map(|folder| (folder, Some(index))));
    }
    let more = 0..lines.len();
    let mut room = TREE_CHARS;
    while let Some((folder, parent)) = queue.pop_front() {
        let Ok(listing) = folder.list(ENTRIES) else { continue };
        let depth = parent.map_or(0, |parent| lines[parent].depth + 1);
        let hidden = listing.total - listing.entries.len();
        let shown = listing
            .entries
            .iter()
            .filter(|entry| entry.ignore_status == IgnoreStatus::Yes && !entry.name.starts_with('.'));
        let mut texts: Vec<(String, Option<Location>)> = shown
            .map(|entry| match entry.kind {
                EntryKind::Directory => (format!("{}/", entry.name), Some(folder.within(entry.name.as_ref()))),
                EntryKind::File { .. } | EntryKind::Link | EntryKind::Other => (entry.name.clone(), None),
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
            let index = lines.len();
            lines.push(TreeLine {
                depth,
                text,
                below: Vec::new(),
            });
            match parent {
                Some(parent) => lines[parent].below.push(index),
                None => roots.push(index),
            }
            queue.extend(below.map(|folder| (folder, Some(index))));
        }
    }
    let mut text = String::new();
    let mut open: Vec<usize> = roots.into_iter().chain(more).rev().collect();
    while let Some(index) = open.pop() {
        let line = &lines[index];
        text.push_str(&"\t".repeat(line.depth));
        text.push_str(&line.text);
        text.push('\n');
        open.extend(line.below.iter().rev());
    }
    Some(text).filter(|text| !text.is_empty())
}

/// The content of a file.
pub(super) struct FilePanel {
    name: String,
    file: Location,
}

impl FilePanel {
    pub(super) fn new(project: &Project, path: &str) -> Result<Self, PanelError> {
        let file = project.locate(path)?;
        if !file.exists() || file.is_dir() {
            return Err(PanelError::NotAFile(file.shown().to_string()));
        }
        Ok(FilePanel {
            name: format!("file:{path}"),
            file,
        })
    }
}

impl Panel for FilePanel {
    fn name(&self) -> &str {
        &self.name
    }

    fn volatility(&self) -> Volatility {
        Volatility::Live
    }

    /// Other programs may change the file.
    fn version(&self) -> BoxFuture<'_, Option<u64>> {
        let file = self.file.clone();
        async move {
            let fingerprint = run_blocking(move || Ok(file.fingerprint().ok())).await.ok().flatten();
            let mut hasher = DefaultHasher::new();
            fingerprint.hash(&mut hasher);
            Some(hasher.finish())
        }
        .boxed()
    }

    /// A missing file is shown as nothing.
    fn snapshot<'a>(&'a self, _: &'a PanelContext<'a>) -> BoxFuture<'a, Option<String>> {
        let file = self.file.clone();
        async move {
            run_blocking(move || {
                let text = file.read_text().map_err(crate::support::project::tool_error)?.content;
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

/// Diagnostics of the language server.
pub(super) struct DiagnosticsPanel(pub(super) Arc<dyn CodeServer>);

impl Panel for DiagnosticsPanel {
    fn name(&self) -> &str {
        "diagnostics"
    }

    fn volatility(&self) -> Volatility {
        Volatility::Turn
    }

    fn snapshot<'a>(&'a self, _: &'a PanelContext<'a>) -> BoxFuture<'a, Option<String>> {
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
