//! A short overview of the project: its folders and files, and the number of changed files.

use std::collections::VecDeque;
use std::fs;

use crate::checkpoint::{StagedFile, tracked_files};
use crate::list::{EntryKind, IgnoreStatus};
use crate::{Location, Workspace, git, open};

/// With more tracked files than this, changed files are not counted.
const MAX_TRACKED: usize = 20_000;
/// At most this many files are compared by their content.
const MAX_COMPARED: usize = 200;
/// Larger files are not compared by their content.
const MAX_COMPARED_BYTES: u64 = 1 << 20;
/// Maximum number of entries per folder.
const MAX_ENTRIES: usize = 200;
/// Maximum number of folders read.
const MAX_FOLDERS: usize = 100;

/// In nanoseconds.
const SECOND: i128 = 1_000_000_000;

/// A file or folder of the overview.
struct OverviewNode {
    name: String,
    location: Option<Location>,
    depth: usize,
    /// Its entries, if it was read.
    inside: Vec<usize>,
    /// Whether entries are left out.
    cut: bool,
}

impl Workspace {
    /// The project's folders and files in at most `bytes` bytes, breadth first: one per line, indented by two spaces
    /// per level, the additional folders last. Names that start with a dot and ignored files are left out; `…` marks
    /// omissions. `None` if the project is empty.
    pub fn overview(&self, bytes: usize) -> Option<String> {
        let node = |name: String, location: Option<Location>, depth| OverviewNode {
            name,
            location,
            depth,
            inside: Vec::new(),
            cut: false,
        };
        let mut nodes = vec![node(String::new(), self.locate("").ok(), 0)];
        let more = self.more().iter();
        nodes.extend(more.map(|root| node(format!("{}/", root.display()), self.locate(root).ok(), 1)));
        let others = 1..nodes.len();
        let mut used: usize = nodes[1..].iter().map(|node| node.name.len() + 4).sum();
        let (mut open, mut opened) = ((0..nodes.len()).collect::<VecDeque<usize>>(), 0);
        while let Some(at) = open.pop_front() {
            let Some(location) = nodes[at].location.take() else {
                continue;
            };
            opened += 1;
            let listing = match opened <= MAX_FOLDERS {
                true => location.list(MAX_ENTRIES).ok(),
                false => None,
            };
            let Some(listing) = listing else {
                nodes[at].cut = true;
                continue;
            };
            nodes[at].cut = listing.total > listing.entries.len();
            let depth = nodes[at].depth + 1;
            for entry in listing.entries {
                if entry.ignore_status == IgnoreStatus::Ignored || entry.name.starts_with('.') {
                    continue;
                }
                let folder = entry.kind == EntryKind::Directory;
                let line = entry.name.len() + 2 * depth + 2;
                if used + line > bytes {
                    nodes[at].cut = true;
                    // The limit is reached; deeper folders do not fit either.
                    open.clear();
                    break;
                }
                used += line;
                let child = nodes.len();
                nodes[at].inside.push(child);
                let below = folder.then(|| location.with_path(&location.path().join(&entry.name)));
                nodes.push(node(entry.name + if folder { "/" } else { "" }, below, depth));
                if folder {
                    open.push_back(child);
                }
            }
        }
        nodes[0].inside.extend(others);
        let text = render(&nodes);
        (!text.is_empty()).then(|| text.trim_end().to_owned())
    }

    /// The number of tracked files that differ from the index; `None` without a repository or with too many files.
    pub fn changed_tracked_files(&self) -> Option<usize> {
        let files = tracked_files(self.root(), MAX_TRACKED)?;
        let mut compared = 0;
        let changed = files.iter().filter(|file| is_changed(file, &mut compared));
        Some(changed.count())
    }
}

/// Whether a tracked file has another content than when it was staged. If its time differs, its content is compared, for at
/// most [`MAX_COMPARED`] files.
fn is_changed(file: &StagedFile, compared: &mut usize) -> bool {
    let Ok(metadata) = fs::symlink_metadata(&file.path) else {
        return true;
    };
    // Git records no size for files it is not sure of, and some builds record no fractions of seconds.
    if file.size > 0 && metadata.len() != file.size {
        return true;
    }
    let now = crate::checkpoint::modified(&metadata);
    let is_same_time = match file.modified % SECOND {
        0 => now / SECOND == file.modified / SECOND,
        _ => now == file.modified,
    };
    if is_same_time || *compared >= MAX_COMPARED || metadata.len() > MAX_COMPARED_BYTES {
        return !is_same_time;
    }
    *compared += 1;
    let content = match metadata.is_symlink() {
        true => fs::read_link(&file.path).map(|target| target.into_os_string().into_encoded_bytes()),
        false => open::read(&file.path, MAX_COMPARED_BYTES),
    };
    content.map_or(true, |content| git::blob_name(&content) != file.blob)
}

fn render(nodes: &[OverviewNode]) -> String {
    enum RenderStep {
        Node(usize),
        Omission(usize),
    }
    let mut text = String::new();
    let mut steps = vec![RenderStep::Node(0)];
    while let Some(step) = steps.pop() {
        let at = match step {
            RenderStep::Node(at) => at,
            RenderStep::Omission(depth) => {
                text.push_str(&format!("{}…\n", "  ".repeat(depth)));
                continue;
            }
        };
        let node = &nodes[at];
        if node.depth > 0 {
            text.push_str(&format!("{}{}\n", "  ".repeat(node.depth), node.name));
        }
        if node.cut || node.location.is_some() {
            steps.push(RenderStep::Omission(node.depth + 1));
        }
        steps.extend(node.inside.iter().rev().map(|child| RenderStep::Node(*child)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(files: &[&str]) -> (tempfile::TempDir, Workspace) {
        let temp = tempfile::tempdir().unwrap();
        for file in files {
            let path = temp.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        let workspace = Workspace::open(temp.path()).unwrap();
        (temp, workspace)
    }

    #[test]
    fn the_overview_is_breadth_first_and_marks_omissions() {
        let (_temp, workspace) = project(&["src/deep/a.rs", "src/b.rs", "README.md", ".env", "target/x"]);
        fs::write(workspace.root().join(".gitignore"), "target\n").unwrap();
        assert_eq!(
            workspace.overview(1_000).as_deref(),
            Some("  src/\n    deep/\n      a.rs\n    b.rs\n  README.md")
        );
        assert_eq!(workspace.overview(25).as_deref(), Some("  src/\n    …\n  README.md"));
        let many: Vec<String> = (0..300).map(|number| format!("f{number:03}")).collect();
        let names: Vec<&str> = many.iter().map(String::as_str).collect();
        let (_temp, workspace) = project(&names);
        let sketch = workspace.overview(500).unwrap();
        assert!(sketch.len() <= 520 && sketch.ends_with("\n  …"), "{sketch}");
    }

    #[test]
    fn an_empty_project_has_no_overview_and_no_count() {
        let (_temp, workspace) = project(&[]);
        assert_eq!(
            (workspace.overview(100), workspace.changed_tracked_files()),
            (None, None)
        );
    }
}
