//! A short picture of the project for whoever sees it for the first time: how its folders and files lie, and how far it is
//! from what git has.

use std::collections::VecDeque;
use std::fs;
use std::path::PathBuf;

use crate::checkpoint::tracked_files;
use crate::list::{Kind, Tracked};
use crate::{Location, Workspace};

/// More tracked files than this are not looked at for a count.
const MOST_TRACKED: usize = 20_000;
/// As many entries of one folder as are looked at.
const MOST_ENTRIES: usize = 200;
/// As many folders as are opened.
const MOST_FOLDERS: usize = 100;

/// In nanoseconds.
const SECOND: i128 = 1_000_000_000;

/// A folder of the picture.
struct Node {
    name: String,
    place: Option<Location>,
    depth: usize,
    /// What it holds, once it was opened.
    inside: Vec<usize>,
    /// Whether something in it is left out.
    cut: bool,
}

impl Workspace {
    /// The project's folders and files in at most so many bytes, a level at a time, so that what lies on top is always there:
    /// one a line, indented by two spaces for each folder around it. Names that begin with a dot and what ignore files name
    /// are left out; `…` marks what had no room. Nothing where the project is empty.
    pub fn sketch(&self, bytes: usize) -> Option<String> {
        let mut nodes = vec![Node {
            name: String::new(),
            place: self.locate("").ok(),
            depth: 0,
            inside: Vec::new(),
            cut: false,
        }];
        let (mut open, mut used, mut opened) = (VecDeque::from([0]), 0, 0);
        while let Some(at) = open.pop_front() {
            let Some(place) = nodes[at].place.take() else { continue };
            opened += 1;
            let listing = match opened <= MOST_FOLDERS {
                true => place.list(MOST_ENTRIES).ok(),
                false => None,
            };
            let Some(listing) = listing else {
                nodes[at].cut = true;
                continue;
            };
            nodes[at].cut = listing.total > listing.entries.len();
            let depth = nodes[at].depth + 1;
            for entry in listing.entries {
                if entry.tracked == Tracked::Ignored || entry.name.starts_with('.') {
                    continue;
                }
                let folder = entry.kind == Kind::Directory;
                let line = entry.name.len() + 2 * depth + 2;
                if used + line > bytes {
                    nodes[at].cut = true;
                    // The rest of this folder is as long; what is deeper has no room either.
                    open.clear();
                    break;
                }
                used += line;
                let child = nodes.len();
                nodes[at].inside.push(child);
                nodes.push(Node {
                    place: folder.then(|| place.beside(&place.path().join(&entry.name))),
                    name: entry.name + if folder { "/" } else { "" },
                    depth,
                    inside: Vec::new(),
                    cut: false,
                });
                if folder {
                    open.push_back(child);
                }
            }
        }
        let mut text = String::new();
        draw(&nodes, 0, &mut text);
        (!text.is_empty()).then(|| text.trim_end().to_owned())
    }

    /// How many tracked files are not as git has them staged; nothing without a repository, or where it has too many files.
    pub fn dirty(&self) -> Option<usize> {
        let files: Vec<(PathBuf, _)> = tracked_files(self.root(), MOST_TRACKED)?;
        let differs = |(path, (size, modified)): &(PathBuf, (u64, i128))| match fs::symlink_metadata(path) {
            Ok(about) => {
                // Git notes no size where it is not sure of the file, and some builds of it no fractions of seconds.
                let (size_is_known, now) = (*size > 0, crate::checkpoint::modified(&about));
                let is_later = match modified % SECOND {
                    0 => now / SECOND != modified / SECOND,
                    _ => now != *modified,
                };
                is_later || (size_is_known && about.len() != *size)
            }
            Err(_) => true,
        };
        Some(files.iter().filter(|file| differs(file)).count())
    }
}

fn draw(nodes: &[Node], at: usize, text: &mut String) {
    let node = &nodes[at];
    if node.depth > 0 {
        text.push_str(&format!("{}{}\n", "  ".repeat(node.depth), node.name));
    }
    for child in &node.inside {
        draw(nodes, *child, text);
    }
    if node.cut || node.place.is_some() {
        text.push_str(&format!("{}…\n", "  ".repeat(node.depth + 1)));
    }
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
    fn the_sketch_shows_what_lies_on_top_first_and_marks_what_has_no_room() {
        let (_temp, workspace) = project(&["src/deep/a.rs", "src/b.rs", "README.md", ".env", "target/x"]);
        fs::write(workspace.root().join(".gitignore"), "target\n").unwrap();
        assert_eq!(
            workspace.sketch(1_000).as_deref(),
            Some("  src/\n    deep/\n      a.rs\n    b.rs\n  README.md")
        );
        assert_eq!(workspace.sketch(25).as_deref(), Some("  src/\n    …\n  README.md"));
        let many: Vec<String> = (0..300).map(|number| format!("f{number:03}")).collect();
        let names: Vec<&str> = many.iter().map(String::as_str).collect();
        let (_temp, workspace) = project(&names);
        let sketch = workspace.sketch(500).unwrap();
        assert!(sketch.len() <= 520 && sketch.ends_with("\n  …"), "{sketch}");
    }

    #[test]
    fn an_empty_project_has_no_sketch_and_no_count() {
        let (_temp, workspace) = project(&[]);
        assert_eq!((workspace.sketch(100), workspace.dirty()), (None, None));
    }
}
